"""No request is longer than anything that a page of ours sends."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LONGEST_BODY", "BodyLimit"]

LONGEST_BODY = 1_000_000
"""Bytes. A page with every field of a context full sends a third of that."""


PATIENCE_S = 30.0
"""As long is waited for the next piece of a request: who opens a connection and says nothing holds nothing."""


class BodyLimit:
    """Stops reading a request that gets too long, whether or not it says so beforehand, or that stops in the middle."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received, more = 0, True

        async def limited() -> Message:
            nonlocal received, more
            try:
                async with asyncio.timeout(PATIENCE_S if more else None):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The rest of this request did not arrive.") from None
            more = message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > LONGEST_BODY:
                raise HTTPException(413, "That is more than any page of ours sends.")
            return message

        await self._app(scope, limited, send)
