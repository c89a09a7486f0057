"""Headers on every answer: nothing but our own files is loaded, nobody frames us, nothing is cached or leaked."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SecurityHeaders", "add_headers", "content_policy"]


def content_policy(*, form_targets: tuple[str, ...] = ()) -> str:
    """The Content-Security-Policy: no inline script or style, no other host.

    `form_targets` are origins to which a form may lead, by a redirect or directly. A route that needs some sets the
    header itself, which is then left as it is.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            " ".join(("form-action 'self'", *form_targets)),
            "frame-ancestors 'none'",
            "base-uri 'none'",
        )
    )


FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
A_YEAR_S = 31_536_000


class SecurityHeaders:
    """Adds the headers to every answer that does not set them itself."""

    def __init__(self, app: ASGIApp, *, behind_tls: bool) -> None:
        self._app = app
        self._behind_tls = behind_tls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(MutableHeaders(scope=message), scope, behind_tls=self._behind_tls)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def add_headers(headers: MutableHeaders, scope: Scope, *, behind_tls: bool) -> None:
    """Add to `headers` what the answer to the request in `scope` does not set itself."""
    for name, value in FIXED.items():
        headers.setdefault(name, value)
    headers.setdefault("Content-Security-Policy", content_policy())
    named_by_content = scope["path"].startswith("/static/") and scope.get("query_string", b"").startswith(b"v=")
    headers.setdefault("Cache-Control", f"public, max-age={A_YEAR_S}, immutable" if named_by_content else "no-store")
    if behind_tls:
        headers.setdefault("Strict-Transport-Security", f"max-age={A_YEAR_S}; includeSubDomains")
