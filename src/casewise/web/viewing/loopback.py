"""Who may ask: this machine's browser, on a page of ours. Another site's page, or a name that leads here, may not."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["HOSTS", "LoopbackOnly"]

HOSTS = ("127.0.0.1", "localhost", "[::1]")


class LoopbackOnly:
    """Refuses what did not ask for this address by its own name, and what another page sent here.

    A page of another site can have its own name lead to 127.0.0.1 (DNS rebinding): its requests come with that name as their
    host. It can link here, but a form of its that writes something names its origin.
    """

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app = app
        self._hosts = {f"{host}:{port}" for host in HOSTS} | ({*HOSTS} if port == 80 else set())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self.refusal(Headers(scope=scope), scope["method"])):
            await PlainTextResponse(refusal, 403)(scope, receive, send)
            return
        if scope["type"] == "websocket":
            return
        await self._app(scope, receive, send)

    def refusal(self, headers: Headers, method: str) -> str | None:
        """Why a request is not answered; None where it is."""
        if headers.getlist("host") != [host := headers.get("host", "")] or host.lower() not in self._hosts:
            return "This page answers on this machine only, under its own address."
        origin = headers.get("origin")
        if origin is None:
            return None if method in ("GET", "HEAD") else "A page of ours says where it comes from."
        return None if origin.lower() == f"http://{host.lower()}" else "Another page may not ask this one."
