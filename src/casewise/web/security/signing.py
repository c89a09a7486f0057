"""What is signed with the secret key. Each use has a salt of its own, so that one signature never passes for another."""

from __future__ import annotations

import hashlib
import hmac

from itsdangerous import BadSignature, URLSafeSerializer

__all__ = ["Signing"]


class Signing:
    """Signs and checks short texts with the app's secret key."""

    def __init__(self, secret_key: str) -> None:
        self._key = secret_key

    def sign(self, value: str, *, use: str) -> str:
        """`value` with a signature that holds for `use` alone."""
        return str(URLSafeSerializer(self._key, salt=use).dumps(value))

    def unsign(self, signed: str | None, *, use: str) -> str | None:
        """What was signed for `use`; None when nothing was."""
        if signed is None:
            return None
        try:
            value = URLSafeSerializer(self._key, salt=use).loads(signed)
        except BadSignature:
            return None
        return value if isinstance(value, str) else None

    def mac(self, value: str, *, use: str) -> str:
        """A keyed hash: for form tokens, and for what must be recognised but not kept."""
        return hmac.new(self._key.encode(), f"{use}\0{value}".encode(), hashlib.sha256).hexdigest()
