"""A decider in front of an app of one's own: what it refuses never gets there."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from casewise.deciding.decider import Decider
from casewise.deciding.requests import DecisionRequest, from_messages
from casewise.errors import CasewiseError, ConfigurationError
from casewise.web.deciding.options import ServiceOptions
from casewise.web.deciding.service import Service

__all__ = ["DeciderMiddleware"]

LONGEST_BODY = 1_000_000


def trusted_chat_in(body: Any) -> DecisionRequest:
    """The request in a chat-completions body; its `context` and its system messages are the circumstances."""
    return from_messages(body["messages"], body.get("context"))


def chat_in(body: Any) -> DecisionRequest:
    """The request in a chat-completions body, without what whoever wrote it says of the circumstances."""
    return from_messages([one for one in body["messages"] if one["role"] not in ("system", "developer")])


class DeciderMiddleware:
    """Asks a decider about each POST to `paths`, and lets through what is answered.

    What is refused gets 403, and what a person is to decide 409, each with the decision as JSON. A body that cannot be read as
    a request gets 400: what was not looked at is not let through. In shadow everything is let through, and counted.

    Parameters
    ----------
    read
        From a body's JSON to the request; by default a chat-completions body.
    trust_body_context
        Take the body's `context` and its system messages for the circumstances. Only where your own server writes the body: whoever
        else does can say to be a nurse. Without it, and without `read`, requests are decided without a context.
    options
        As of the service, without `keys` and `per_minute`: the app behind is to see to these.

    Raises
    ------
    ConfigurationError
        `keys` or `per_minute` are given, or both `read` and `trust_body_context`.

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
        read: Callable[[Any], DecisionRequest] | None = None,
        trust_body_context: bool = False,
        options: ServiceOptions = ServiceOptions(),
    ) -> None:
        if options.keys or options.per_minute is not None:
            raise ConfigurationError(
                "keys and per_minute are of the service: in front of your app, the app sees to them"
            )
        if read is not None and trust_body_context:
            raise ConfigurationError("give either read, which says what a body's context is, or trust_body_context")
        self.app, self.paths = app, frozenset(paths)
        self.read = read or (trusted_chat_in if trust_body_context else chat_in)
        self.service = Service(decider, options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in self.paths:
            await self.app(scope, receive, send)
            return
        body = await begun(receive)
        answer = await self.answer(body)
        if answer is None or self.service.options.shadow:
            await self.app(scope, again(body, receive), send)
            return
        await answer(scope, receive, send)

    async def answer(self, body: Body) -> JSONResponse | None:
        """What is said instead of the app; None where it is to be asked."""
        if body.too_long:
            return self.unread(413, "that is too long")
        try:
            request = self.read(from_json(body.so_far))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CasewiseError):
            return self.unread(400, "this is no request that can be decided on")
        try:
            found = await self.service.decided(request)
        except CasewiseError as error:
            return self.unread(422, str(error))
        if found.decision == "answer":
            return None
        return JSONResponse({"decision": found.decision, "why": found.why}, 403 if found.decision == "refuse" else 409)

    def unread(self, status: int, message: str) -> JSONResponse:
        self.service.metrics.count("casewise_requests_total", route="middleware", status=str(status))
        return told(status, message)


@dataclass(frozen=True)
class Body:
    """What was read of a request's body."""

    so_far: bytes
    too_long: bool
    more: bool
    """Whether there is more of it to read."""


def told(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": status}}, status)


async def begun(receive: Receive) -> Body:
    """A request's body, as far as it is not too long."""
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        parts.append(part)
        if size > LONGEST_BODY or not message.get("more_body"):
            return Body(b"".join(parts), size > LONGEST_BODY, bool(message.get("more_body")))


def again(body: Body, receive: Receive) -> Receive:
    """The body once more, and what was not read of it, for the app behind."""
    given = False

    async def once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body.so_far, "more_body": body.more}

    return once
