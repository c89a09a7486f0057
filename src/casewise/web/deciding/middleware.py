"""A decider in front of an app of one's own: what it refuses never gets there."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from casewise.deciding.decider import Decider
from casewise.deciding.requests import DecisionRequest, from_messages
from casewise.errors import CasewiseError
from casewise.web.deciding.options import ServiceOptions
from casewise.web.deciding.service import Service

__all__ = ["DeciderMiddleware"]

LONGEST_BODY = 1_000_000


def chat_in(body: Any) -> DecisionRequest:
    """The request in a chat-completions body; its `context`, where it has one, is the circumstances."""
    return from_messages(body["messages"], body.get("context"))


class DeciderMiddleware:
    """Asks a decider about each POST to `paths`, and lets through what is answered.

    What is refused gets 403, and what a person is to decide 409, each with the decision as JSON. A body that cannot be read as
    a request gets 400: what was not looked at is not let through.

    Parameters
    ----------
    read
        From a body's JSON to the request; by default a chat-completions body.

    Examples
    --------
    >>> app.add_middleware(DeciderMiddleware, decider=Decider.load("decider.toml"), paths=["/v1/chat/completions"])  # doctest: +SKIP
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        decider: Decider,
        paths: Collection[str],
        read: Callable[[Any], DecisionRequest] = chat_in,
        options: ServiceOptions = ServiceOptions(),
    ) -> None:
        self.app, self.paths, self.read = app, frozenset(paths), read
        self.service = Service(decider, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self.paths:
            await self.app(scope, receive, send)
            return
        body = await whole(receive)
        if body is None:
            await told(413, "that is too long")(scope, receive, send)
            return
        try:
            request = self.read(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CasewiseError):
            await told(400, "this is no request that can be decided on")(scope, receive, send)
            return
        try:
            found = await self.service.decided(request)
        except CasewiseError as error:
            await told(422, str(error))(scope, receive, send)
            return
        if found.decision == "answer" or self.service.options.shadow:
            await self.app(scope, again(body, receive), send)
            return
        status = 403 if found.decision == "refuse" else 409
        await JSONResponse({"decision": found.decision, "why": found.why}, status)(scope, receive, send)


def told(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": status}}, status)


async def whole(receive: Receive) -> bytes | None:
    """A request's body; None where it is too long."""
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > LONGEST_BODY:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """The body once more, for the app behind."""
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once
