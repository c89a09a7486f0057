"""The app's cookies: signed, HttpOnly, SameSite, and Secure where browsers come over TLS."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["drop_cookie", "read_cookie", "set_cookie"]


def read_cookie(request: Request, name: str) -> str | None:
    """What the cookie `name` says, if we signed it."""
    value: str | None = request.app.state.signing.unsign(request.cookies.get(name), use=f"cookie:{name}")
    return value


def set_cookie(request: Request, response: Response, name: str, value: str, *, lasts_s: int | None = None) -> None:
    """Give the browser a signed cookie; without `lasts_s` it goes when the browser is closed."""
    response.set_cookie(
        name,
        request.app.state.signing.sign(value, use=f"cookie:{name}"),
        max_age=lasts_s,
        httponly=True,
        samesite="lax",
        secure=request.app.state.settings.behind_tls,
    )


def drop_cookie(response: Response, name: str) -> None:
    """Have the browser forget the cookie."""
    response.delete_cookie(name)
