"""What no request of ours holds (NUL bytes, more than any page sends), and answers to what browsers do not ask: HEAD."""

from __future__ import annotations

import asyncio

from fastapi import HTTPException, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LONGEST_BODY", "BodyLimit", "HeadAsGet", "refuse_nul"]

NUL = (b"\0", b"%00", b"\\u0000")
"""As itself, in an address or a form, and in JSON. PostgreSQL keeps no text with one."""


async def refuse_nul(request: Request) -> None:
    """Refuse a request with a NUL in its address or its body. `check_request` asks for it."""
    address = request.scope.get("raw_path", b"") + request.scope.get("query_string", b"")
    body = b"" if request.method in {"GET", "HEAD", "OPTIONS"} else await request.body()
    if "\0" in request.url.path or any(nul in address or nul in body for nul in NUL):
        raise HTTPException(400, "There is a character in this request that no page of ours sends.")


class HeadAsGet:
    """Answers HEAD as GET is answered, without the body: for those who only ask whether a page is there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)


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
