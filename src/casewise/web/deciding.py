"""The service of a decider."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints
from pydantic_core import from_json
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from casewise.deciding.decider import Decided, Decider, DecisionRequest, from_messages, text_of
from casewise.deciding.monitor import Sealer, TrafficLog, traffic_line
from casewise.errors import CasewiseError, ConfigurationError, did_you_mean
from casewise.records.context import Statement
from casewise.stats.thresholds import Decision
from casewise.storage.files import read_text
from casewise.transforms.user_function import MOST_HUNG
from casewise.web.security import BodyLimit

# How a decider is served.


SHORTEST_KEY = 20


@dataclass(frozen=True)
class ServiceOptions:
    """How a decider is served."""

    keys: frozenset[str] = frozenset()
    """Digests of the keys of which one must come with a request; without any, whoever reaches the port is answered."""
    per_minute: int | None = None
    """Requests a minute that a key (or, without keys, an address) may make; None for no limit."""
    timeout_s: float = 10.0
    """How long the judge is waited for; then it counts as having given no value."""
    ask_as: Literal["flagged", "passed"] = "flagged"
    """What `ask` is in the form of a moderation endpoint, which has two answers: `flagged` or `passed`."""
    shadow: bool = False
    """Decide, count and write down, and let everything through."""
    capture: Path | None = None
    """A file to which a line a decision is written; None writes nothing."""
    capture_key: str | None = field(default=None, repr=False)
    """Encrypts the texts in it; without it they are left out."""

    def knows(self, key: str) -> bool:
        """Whether a request with this key is answered."""
        if not self.keys:
            return True
        given = key_digest(key)
        found = [hmac.compare_digest(given, known) for known in self.keys]  # all of them: no time tells which
        return True in found


def key_digest(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def keys_in(path: Path) -> frozenset[str]:
    """Digests of the keys in a file, one a line; lines that begin with # are left out.

    Raises DataError: it cannot be read. ConfigurationError: it holds none, or one that is short.
    """
    lines = [line.strip() for line in read_text(path).splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys or any(len(key) < SHORTEST_KEY for key in keys):
        raise ConfigurationError(f"{path}: write keys of at least {SHORTEST_KEY} random characters, one a line")
    return frozenset(map(key_digest, keys))


# What goes in and out: the service's own form, and that of a moderation endpoint.


Said = Annotated[str, StringConstraints(min_length=1, max_length=200_000, pattern=r"\S")]
ContextIn = dict[str, dict[str, Statement | None] | Statement | None] | Said
"""Groups of parameters, parameters by dotted name, or a text."""


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Part(BaseModel):
    """A part of a message or of an input; only texts are decided on."""

    type: str
    text: str | None = None


Parts = Annotated[list[Part], Field(min_length=1, max_length=32)]


class Turn(Form):
    """One message of a chat."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, StringConstraints(max_length=200_000)] | Parts


class DecideIn(Form):
    """A query or a chat, and the circumstances as far as they are known."""

    query: Said | None = None
    messages: list[Turn] | None = Field(default=None, max_length=1000)
    context: ContextIn | None = None
    reply: Said | None = None
    category: Said | None = None

    def request(self) -> DecisionRequest:
        """What is to be decided."""
        if (self.query is None) == (self.messages is None):
            raise ConfigurationError("give either query or messages")
        if self.query is not None:
            return DecisionRequest(self.query, self.context, reply=self.reply, category=self.category)
        if self.reply is not None:
            raise ConfigurationError("with messages, give the reply as the last message")
        asked = from_messages([turn.model_dump() for turn in self.messages or ()], self.context)
        return replace(asked, category=self.category)


class DecideOut(Decided):
    """What to do with it."""

    shadow: bool
    """Whether it is let through whatever was decided: `decision` is then `answer`."""
    decided: Decision
    decider: str
    """The hash of the decider's file."""
    measured: dict[str, Any]


class ModerationIn(Form):
    """As OpenAI's clients send it, and the context beside it."""

    input: Said | Annotated[list[Said], Field(min_length=1, max_length=32)] | Parts
    model: str | None = None
    context: ContextIn | None = None
    category: Said | None = None

    def requests(self) -> list[DecisionRequest]:
        """What is to be decided: one for each text; parts of one input are one text."""
        if isinstance(self.input, str):
            texts = [self.input]
        elif isinstance(self.input[0], str):
            texts = [one for one in self.input if isinstance(one, str)]
        else:
            texts = [text_of([part.model_dump() for part in self.input if isinstance(part, Part)])]
        return [DecisionRequest(text, self.context, category=self.category) for text in texts]


class ModerationResult(BaseModel):
    """What is said of one text."""

    flagged: StrictBool
    categories: dict[str, bool]
    category_scores: dict[str, float]
    category_applied_input_types: dict[str, list[str]]
    casewise: DecideOut


class ModerationOut(BaseModel):
    """As OpenAI's clients read it."""

    id: str
    model: str
    results: list[ModerationResult]


class ProblemDetail(BaseModel):
    """What was wrong with a request; never a part of it."""

    message: str
    type: str
    code: int


class Problem(BaseModel):
    """An error, in the form that OpenAI's clients read."""

    error: ProblemDetail


def decide_out(decider: Decider, found: Decided, *, shadow: bool) -> DecideOut:
    """A decision as it goes out."""
    said = {**dict(found), "decision": "answer" if shadow else found.decision}
    return DecideOut(**said, shadow=shadow, decided=found.decision, decider=decider.hash, measured=decider.measured)


def moderation_result(decider: Decider, found: Decided, *, shadow: bool, ask_flags: bool) -> ModerationResult:
    """A decision in the form of a moderation endpoint."""
    flagged = not shadow and (found.decision == "refuse" or (found.decision == "ask" and ask_flags))
    names = ("inappropriate_in_context", *(found.categories or ()))
    unsafe = 1 - found.p_safe if found.p_safe is not None else float(found.decision != "answer")
    return ModerationResult(
        flagged=flagged,
        categories=dict.fromkeys(names, flagged),
        category_scores=dict.fromkeys(names, unsafe),
        category_applied_input_types={name: ["text"] for name in names},
        casewise=decide_out(decider, found, shadow=shadow),
    )


# What Prometheus reads. Nothing here holds a text, a key or an address.


BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServiceMetrics:
    """What has happened since the service began."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"casewise_{name}", what, labels, registry=self.registry)

        self.decisions = counter("decisions", "Decisions, by outcome.", "decision", "shadow")
        self.failures = counter("failures", "Requests to which the judge gave no value.", "reason")
        self.unmeasured = counter("unmeasured", "Requests of a kind that was not measured.")
        self.capture_errors = counter("capture_errors", "Decisions that could not be written down.")
        self.torn_lines = counter("torn_lines", "Incomplete lines of the log that were removed.")
        self.requests = counter("requests", "Requests, by route and status.", "route", "status")
        self.seconds = Histogram(
            "casewise_decision_seconds",
            "How long decisions took, the judge included.",
            buckets=BUCKETS_S,
            registry=self.registry,
        )

    def text(self) -> str:
        """In Prometheus' text format 0.0.4."""
        return generate_latest(self.registry).decode()


# The service: its routes, and what each request goes through before and after the judge is asked.


KINDS = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}

NO_ANSWER = ("timeout", "unavailable", "judge_failed")

MOST_CALLERS = 10_000
"""Whose requests are counted at a time; the longest silent is forgotten first."""


class Service:
    """A decider with what a service needs around it: a limit of time, counts, and a log where one is wanted."""

    def __init__(self, decider: Decider, options: ServiceOptions = ServiceOptions()) -> None:
        self.decider, self.options, self.metrics = decider, options, ServiceMetrics()
        self.sealer = Sealer(options.capture_key) if options.capture_key else None
        self.log = TrafficLog(options.capture) if options.capture else None
        if self.log is not None and self.log.torn:
            self.metrics.torn_lines.inc()
        self.silent = 0
        """Decisions in a row for which the judge could not be asked, or did not answer."""
        self.unwritten = False
        """Whether the last decision could not be written down."""
        self.recent: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def decided(self, request: DecisionRequest) -> Decided:
        """The decision on a request, within the time that it may take."""
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self.options.timeout_s):
                found = await self.decider.decision(request)
        except TimeoutError:
            found = self.decider.failed("timeout")
        self.silent = self.silent + 1 if found.failed in NO_ANSWER else 0
        self.metrics.seconds.observe(time.perf_counter() - began)
        self.metrics.decisions.labels(found.decision, str(self.options.shadow).lower()).inc()
        if found.failed:
            self.metrics.failures.labels(found.failed).inc()
        if found.unmeasured:
            self.metrics.unmeasured.inc()
        self.write(request, found)
        return found

    def write(self, request: DecisionRequest, found: Decided) -> None:
        if self.log is None:
            return
        line = traffic_line(request, found, decider=self.decider.hash, shadow=self.options.shadow, sealer=self.sealer)
        try:
            self.log.write(line)
            self.unwritten = False
        except OSError:
            self.unwritten = True
            self.metrics.capture_errors.inc()

    def problems(self) -> list[str]:
        """What is not as it should be, in sentences without anything of a request."""
        found = []
        if hung := self.decider.hung_calls:
            found.append(f"{hung} calls of the judge have not returned")
        if hung >= MOST_HUNG:
            found.append("the judge is not called until they do: restart the service")
        if self.silent:
            found.append(f"the judge gave no answer to the last {self.silent} requests")
        if self.unwritten:
            found.append("the last decision could not be written to the log")
        return found

    def admit(self, request: Request) -> None:
        """Refuse who has no key, or has asked too much. Raises HTTPException: 401 or 429."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not self.options.knows(key):
            raise HTTPException(401, "give one of this service's keys as a bearer token")
        if self.options.per_minute is not None:
            host = request.client.host if request.client else ""
            if not self.may(key_digest(key) if self.options.keys else host, time.monotonic()):
                raise HTTPException(429, "too many requests; wait a minute", {"Retry-After": "60"})

    def may(self, caller: str, now: float) -> bool:
        """Whether a caller may ask once more: a bucket that fills evenly, with a minute's worth in it."""
        most = float(self.options.per_minute or 0)
        left, at = self.recent.pop(caller, (most, now))
        left = min(most, left + (now - at) * most / 60)
        self.recent[caller] = (left - 1 if left >= 1 else left, now)
        while len(self.recent) > MOST_CALLERS:
            self.recent.popitem(last=False)
        return left >= 1

    def problem(self, request: Request, error: Exception) -> Response:
        """An error, in the one form that they have, counted; nothing of what was sent is repeated."""
        status, message, headers = 500, "Something is broken here.", None
        if isinstance(error, StarletteHTTPException):
            status, message, headers = error.status_code, str(error.detail), error.headers
        elif isinstance(error, RequestValidationError):
            status, message = what_is_wrong(error)
        elif isinstance(error, CasewiseError):
            status, message = 422, str(error)
        route = request.url.path if request.url.path in {"/v1/decide", "/v1/moderations"} else "other"
        self.metrics.requests.labels(route, str(status)).inc()
        said = ProblemDetail(message=message, type=KINDS.get(status, "invalid_request_error"), code=status)
        return JSONResponse({"error": said.model_dump()}, status, headers)

    async def close(self) -> None:
        """Let go of the judge and the log."""
        await self.decider.judge.close()
        if self.log is not None:
            self.log.close()


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": what}
    for status, what in (
        (400, "No request"),
        (401, "No key"),
        (405, "Another method"),
        (413, "Too long"),
        (422, "Not of this form"),
        (429, "Too many"),
    )
}


def create_service(decider: Decider, options: ServiceOptions = ServiceOptions()) -> FastAPI:
    """The service as an ASGI app."""
    service = Service(decider, options)

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # what is loaded stays: to look through it again took a tenth of a second each time, at any request
        yield
        gc.unfreeze()
        await service.close()

    app = FastAPI(
        title="casewise decider",
        redoc_url=None,
        docs_url=None,
        lifespan=running,
        redirect_slashes=False,
        strict_content_type=False,
        responses=PROBLEMS,
    )
    app.state.service = service
    for kind in (StarletteHTTPException, RequestValidationError, CasewiseError, Exception):
        app.add_exception_handler(kind, service.problem)
    app.add_middleware(BodyLimit)
    add_routes(app, service)
    return app


def add_routes(app: FastAPI, service: Service) -> None:
    decider, options = service.decider, service.options

    @app.post("/v1/decide", dependencies=[Depends(service.admit)])
    async def decide(asked: DecideIn) -> DecideOut:
        found = await service.decided(asked.request())
        service.metrics.requests.labels("/v1/decide", "200").inc()
        return decide_out(decider, found, shadow=options.shadow)

    @app.post("/v1/moderations", dependencies=[Depends(service.admit)])
    async def moderations(asked: ModerationIn) -> ModerationOut:
        found = await asyncio.gather(*map(service.decided, asked.requests()))
        flags = options.ask_as == "flagged"
        service.metrics.requests.labels("/v1/moderations", "200").inc()
        return ModerationOut(
            id=f"modr-{secrets.token_hex(12)}",
            model=f"casewise-decider-{decider.hash[:12]}",
            results=[moderation_result(decider, one, shadow=options.shadow, ask_flags=flags) for one in found],
        )

    @app.get("/healthz")
    async def health(response: Response) -> dict[str, Any]:
        """Whether the service runs as it should, what is not so, and which decider it serves; 503 where its judge cannot be asked."""
        problems = service.problems()
        response.status_code = 503 if decider.hung_calls >= MOST_HUNG else 200
        said = {"status": "degraded" if problems else "ok", "problems": problems}
        return {**said, "decider": decider.hash, "judge": decider.file.judge.name}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """What has happened, for Prometheus."""
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")


FIELDS = frozenset((*DecideIn.model_fields, *ModerationIn.model_fields, *Turn.model_fields))


def unknown_field(name: str) -> str:
    """A field that no request has, by its name where it can be the name of one; whatever else it is, is not repeated."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", name):
        return "the request has an unknown field"
    return f"{name!r} is an unknown field{did_you_mean(name, FIELDS)}"


NO_STATEMENT = "a parameter is a text, a number, true or false, or these in a list or under headings"
"""What is said of every statement that is none: what pydantic would say repeats it."""


UNICODE = "string_unicode"
"""What pydantic calls half of a character in a text: no JSON in UTF-8 has it."""


class Wrong(NamedTuple):
    """An error's status and message."""

    status: int
    message: str


def what_is_wrong(error: RequestValidationError) -> Wrong:
    """What is wrong with a body, without repeating any of it but the name of an unknown field."""
    errors = error.errors()
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    if first["type"] in ("json_invalid", UNICODE):
        return Wrong(400, "Invalid JSON")
    problem = NO_STATEMENT if first["type"] == "value_error" else first["msg"]
    if first["type"] == "extra_forbidden":
        problem = unknown_field(str(first["loc"][-1]))
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or str(part) in FIELDS)
    return Wrong(422, f"{where}: {problem}" if where else problem)


# A decider in front of an app of one's own: what it refuses never gets there.


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
    >>> app.add_middleware(DeciderMiddleware, decider=Decider.load("decider.json"), paths=["/v1/chat/completions"])  # doctest: +SKIP
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
                "keys and per_minute belong to the service: in front of your app, the app handles them"
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
        except ConfigurationError as error:
            return self.unread(422, str(error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CasewiseError):
            return self.unread(400, "this is not a request that can be decided on")
        try:
            found = await self.service.decided(request)
        except CasewiseError as error:
            return self.unread(422, str(error))
        if found.decision == "answer":
            return None
        return JSONResponse({"decision": found.decision, "why": found.why}, 403 if found.decision == "refuse" else 409)

    def unread(self, status: int, message: str) -> JSONResponse:
        self.service.metrics.requests.labels("middleware", str(status)).inc()
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
