"""The app's cookies: signed, HttpOnly, SameSite, and Secure where browsers come over TLS; and what signs them.

Each use of the secret key has a salt of its own, so that one signature never passes for another.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import lru_cache

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

__all__ = ["Signing", "drop_cookie", "read_cookie", "set_cookie"]

READ = "casewise.cookies"


class Signing:
    """Signs and checks short texts with the app's secret key."""

    def __init__(self, secret_key: str) -> None:
        self._key = secret_key
        self._serializer = lru_cache(maxsize=64)(lambda use: URLSafeSerializer(secret_key, salt=use))
        self._unsigned = lru_cache(maxsize=4096)(self._checked)  # a browser sends its cookies with every page

    def sign(self, value: str, *, use: str) -> str:
        """`value` with a signature that holds for `use` alone."""
        return str(self._serializer(use).dumps(value))

    def unsign(self, signed: str | None, *, use: str) -> str | None:
        """What was signed for `use`; None when nothing was."""
        return None if signed is None else self._unsigned(signed, use)

    def _checked(self, signed: str, use: str) -> str | None:
        try:
            value = self._serializer(use).loads(signed)
        except BadSignature:
            return None
        return value if isinstance(value, str) else None

    def mac(self, value: str, *, use: str) -> str:
        """A keyed hash: for form tokens, and for what must be recognised but not kept."""
        return hmac.new(self._key.encode(), f"{use}\0{value}".encode(), hashlib.sha256).hexdigest()


def read_cookie(request: Request, name: str) -> str | None:
    """What the cookie `name` says, if we signed it. A signature is checked once a request."""
    read: dict[str, str | None] = request.scope.setdefault(READ, {})
    if name not in read:
        read[name] = request.app.state.signing.unsign(request.cookies.get(name), use=f"cookie:{name}")
    return read[name]


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
