"""No request is longer than anything that a page of ours sends."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LONGEST_BODY", "BodyLimit"]

LONGEST_BODY = 1_000_000
"""Bytes. A page with every field of a context full sends a third of that."""


class BodyLimit:
    """Stops reading a request when it gets too long, whether or not it says so beforehand."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > LONGEST_BODY:
                raise HTTPException(413, "That is more than any page of ours sends.")
            return message

        await self._app(scope, limited, send)
