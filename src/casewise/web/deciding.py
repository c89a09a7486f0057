"""The service of a decider."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import hmac
import json
import re
import secrets
import signal
import sys
import threading
import time
from collections import Counter as EventCounts
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StringConstraints
from pydantic.config import JsonDict
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response

from casewise.deciding.decider import (
    LONGEST_ID,
    ChatRole,
    Decider,
    DeciderAnswer,
    DecisionRequest,
    from_messages,
    group_context,
    message_text,
)
from casewise.deciding.health import KINDS, RecentDecisions
from casewise.deciding.monitor import LogEvent, ServiceOptions, TrafficLog, traffic_line
from casewise.errors import CasewiseError, ConfigurationError, did_you_mean
from casewise.models.protocol import Message
from casewise.records import Action
from casewise.records.context import Statement
from casewise.stats.thresholds import Decision
from casewise.storage.actions import action_words, arguments_digest
from casewise.storage.files import read_text
from casewise.text import count_of
from casewise.transforms.user_function import MOST_HUNG
from casewise.web.security import BodyLimit

# How a decider is served.


SHORTEST_KEY = 20


def key_digest(key: str) -> str:
    """Return what is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def keys_in(path: Path) -> frozenset[str]:
    """Return digests of the keys in a file, one a line; lines that begin with # are left out.

    Raises DataError: it cannot be read. ConfigurationError: it holds none, or one that is short.
    """
    lines = [line.strip() for line in read_text(path).splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys or any(len(key) < SHORTEST_KEY for key in keys):
        raise ConfigurationError(f"{path}: write keys of at least {SHORTEST_KEY} random characters, one a line")
    return frozenset(map(key_digest, keys))


# What goes in and out: the service's own form, and that of a moderation endpoint.


NonBlankText = Annotated[str, StringConstraints(min_length=1, max_length=200_000, pattern=r"\S")]
OwnId = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=r"^[^\x00-\x1f\x7f]+$")]
ContextIn = dict[str, dict[str, Statement | None] | Statement | None] | NonBlankText
"""Groups of parameters, parameters by dotted name, or a text."""


class RequestBody(BaseModel):
    """The body of a request, or a part of it; unknown fields and numbers that are infinite are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class MessagePart(BaseModel):
    """A part of a message or of an input; only texts are decided on."""

    type: str
    text: str | None = None


Parts = Annotated[list[MessagePart], Field(min_length=1, max_length=32)]


class ChatTurn(RequestBody):
    """One message of a chat."""

    role: ChatRole
    content: Annotated[str, StringConstraints(max_length=200_000)] | Parts


ONE_OF_TWO: JsonDict = {
    "oneOf": [
        {"required": ["query"], "properties": {"query": {"type": "string"}, "messages": {"type": "null"}}},
        {
            "required": ["messages"],
            "properties": {"messages": {"type": "array"}, "query": {"type": "null"}, "reply": {"type": "null"}},
        },
    ]
}
"""What the schema of a decision's request says beside its fields: a query, or the messages of a chat."""


class RequestFields(RequestBody):
    """What may come with every request."""

    context: ContextIn | None = None
    id: OwnId | None = None
    """The caller's own id of the request; without one, that of the header X-Request-Id, else a new one."""


class DecideIn(RequestFields):
    """A query or a chat, and the circumstances as far as they are known."""

    model_config = ConfigDict(json_schema_extra=ONE_OF_TWO)

    query: NonBlankText | None = None
    messages: list[ChatTurn] | None = Field(default=None, max_length=1000)
    reply: NonBlankText | None = None
    category: NonBlankText | None = None

    def request(self, request_id: str) -> DecisionRequest:
        """Return what is to be decided."""
        if (self.query is None) == (self.messages is None):
            raise ConfigurationError("give either query or messages")
        own: dict[str, Any] = {"category": self.category, "id": self.id or request_id}
        if self.query is not None:
            return DecisionRequest(self.query, self.context, reply=self.reply, **own)
        if self.reply is not None:
            raise ConfigurationError("with messages, give the reply as the last message")
        return replace(from_messages([turn.model_dump() for turn in self.messages or ()], self.context), **own)


class DeployedDecision(DeciderAnswer):
    """A decision with the decider that made it, and what that is worth."""

    shadow: bool
    """True if it is let through whatever was decided: `decision` is then `answer`, and `permission` is `allow`."""
    decider: str
    """The hash of the decider's file."""
    measured: dict[str, Any]


class DecideOut(DeployedDecision):
    """A decision on a request."""

    decided: Decision
    """The decision itself, also where all is let through."""


class CallIn(RequestFields):
    """A call of a tool that an agent is about to make, as a gateway asks about it."""

    caller: NonBlankText
    """The person or program whose agent calls."""
    tool: NonBlankText
    arguments: dict[str, JsonValue] | None = None
    """Left out where the gateway keeps them to itself: the judge is then told that they are not known."""
    arguments_digest: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    """Binds the decision to these arguments; computed where they are given (`casewise.storage.actions.arguments_digest`)."""
    purpose: NonBlankText | None = None
    recipient: NonBlankText | None = None
    subject: NonBlankText | None = None
    information: list[NonBlankText] = []
    messages: list[ChatTurn] = Field(default=[], max_length=1000)
    """Turns that went before."""

    @property
    def digest(self) -> str | None:
        """The digest of the arguments; None where neither is known. Raises ConfigurationError: it is of other arguments."""
        if self.arguments is None:
            return self.arguments_digest
        digest = arguments_digest(self.arguments)
        if self.arguments_digest not in (None, digest):
            raise ConfigurationError("arguments_digest does not match the arguments")
        return digest

    def request(self, request_id: str) -> DecisionRequest:
        """Return what is to be decided: the action in words, and the circumstances as contexts of actions state them."""
        action = Action(
            tool=self.tool, arguments=self.arguments, subject=self.subject, information=tuple(self.information)
        )
        stated = {
            "sender.agent": self.caller,
            "recipient.who": self.recipient,
            "transmission_principle.purpose": self.purpose,
        }
        groups, own_groups = group_context(stated) or {}, group_context(self.context) or {}
        merged = {
            name: {**groups.get(name, {}), **value} if isinstance(value, Mapping) else value
            for name, value in {**groups, **own_groups}.items()
        }
        earlier = tuple(
            Message("user" if turn.role == "user" else "assistant", message_text(turn.model_dump()["content"]))
            for turn in self.messages
        )
        words = action_words().render(action)
        return DecisionRequest(words, merged, earlier, judged="action", id=self.id or request_id)


Permission = Literal["allow", "deny", "ask"]

PERMISSIONS: dict[Decision, Permission] = {"answer": "allow", "refuse": "deny", "ask": "ask"}


class CallOut(DeployedDecision):
    """The answer to whether an agent may make a call."""

    permission: Permission
    tool: str
    arguments_digest: str | None
    """The decision is about these arguments alone."""


class ModerationIn(RequestFields):
    """A request as OpenAI's clients send it, with the context."""

    input: NonBlankText | Annotated[list[NonBlankText], Field(min_length=1, max_length=32)] | Parts
    model: str | None = None
    category: NonBlankText | None = None

    def requests(self, request_id: str) -> list[DecisionRequest]:
        """Return what is to be decided: one for each text; parts of one input are one text.

        Of several, each has the id of the request and its place behind it.
        """
        own_id = self.id or request_id
        if isinstance(self.input, str):
            texts = [self.input]
        elif isinstance(self.input[0], str):
            texts = [text for text in self.input if isinstance(text, str)]
        else:
            texts = [message_text([part.model_dump() for part in self.input if isinstance(part, MessagePart)])]
        ids = [own_id] if len(texts) == 1 else [f"{own_id[: LONGEST_ID - 3]}.{place}" for place in range(len(texts))]
        return [
            DecisionRequest(text, self.context, category=self.category, id=id_)
            for text, id_ in zip(texts, ids, strict=True)
        ]


class ModerationResult(BaseModel):
    """The moderation of one text."""

    flagged: StrictBool
    categories: dict[str, bool]
    category_scores: dict[str, float]
    category_applied_input_types: dict[str, list[str]]
    casewise: DecideOut


class ModerationOut(BaseModel):
    """An answer as OpenAI's clients read it."""

    id: str
    """The request's: the caller's own, or a new one."""
    model: str
    results: list[ModerationResult]


class ProblemDetail(BaseModel):
    """The problem with a request; never a part of it."""

    message: str
    type: str
    code: int


class Problem(BaseModel):
    """An error, in the form that OpenAI's clients read."""

    error: ProblemDetail


def decide_out(decider: Decider, decided: DeciderAnswer, *, shadow: bool) -> DecideOut:
    """Return a decision as it goes out."""
    fields = {**dict(decided), "decision": "answer" if shadow else decided.decision}
    return DecideOut(**fields, shadow=shadow, decided=decided.decision, decider=decider.hash, measured=decider.measured)


def moderation_result(decider: Decider, decided: DeciderAnswer, *, shadow: bool, ask_flags: bool) -> ModerationResult:
    """Return a decision in the form of a moderation endpoint."""
    flagged = not shadow and (decided.decision == "refuse" or (decided.decision == "ask" and ask_flags))
    names = ("inappropriate_in_context", *(decided.categories or ()))
    unsafe = 1 - decided.p_safe if decided.p_safe is not None else float(decided.decision != "answer")
    return ModerationResult(
        flagged=flagged,
        categories=dict.fromkeys(names, flagged),
        category_scores=dict.fromkeys(names, unsafe),
        category_applied_input_types={name: ["text"] for name in names},
        casewise=decide_out(decider, decided, shadow=shadow),
    )


# What Prometheus reads. Nothing here holds a text, a key or an address.


BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServiceMetrics:
    """Counts since the service began."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"casewise_{name}", meaning, labels, registry=self.registry)

        self.decisions = counter("decisions", "Decisions, by outcome.", "decision", "shadow")
        self.failures = counter("failures", "Requests to which the judge gave no value.", "reason")
        self.unmeasured = counter("unmeasured", "Requests of a kind that was not measured.")
        self.capture_errors = counter("capture_errors", "Decisions that could not be written to the log.")
        self.log_events: dict[LogEvent, Counter] = {
            "torn": counter("torn_lines", "Incomplete lines of the log that were removed."),
            "lost": counter("capture_lost", "Decisions in files of the log that were removed."),
            "shortened": counter("capture_shortened", "Number of times another program shortened the log."),
            "cut": counter("capture_cut", "Decisions in what was cut off the log so."),
            "reopened": counter("capture_reopened", "Number of times the service reopened the log at its path."),
        }

        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"casewise_recent_{name}", meaning, labels, registry=self.registry)

        self.recent_share = gauge("share", "Share of the judge's last replies, by kind.", "kind", "window")
        self.recent_limit = gauge("limit", "The share that the fitting data allow.", "kind", "window")
        self.recent_drift = gauge("drift", "p value of the last requests compared with the benchmark.", "quantity")
        self.requests = counter("requests", "Requests, by route and status.", "route", "status")
        self.seconds = Histogram(
            "casewise_decision_seconds",
            "Seconds that a decision took, including the judge.",
            buckets=BUCKETS_S,
            registry=self.registry,
        )


# The service: its routes, and what each request goes through before and after the judge is asked.


ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}

NO_ANSWER = ("timeout", "unavailable", "judge_failed")

MOST_CALLERS = 10_000
"""The maximum number of callers whose requests are counted at a time; the longest silent is forgotten first."""


class Service:
    """A decider with what a service needs around it: a limit of time, counts, and a log where one is wanted."""

    def __init__(self, decider: Decider, options: ServiceOptions = ServiceOptions()) -> None:
        self.decider, self.options, self.metrics = decider, options, ServiceMetrics()
        self.keys = keys_in(options.keys) if options.keys else frozenset[str]()
        """Digests of the accepted keys. Without any, every client that reaches the port is answered."""
        self.log = TrafficLog(options.capture) if options.capture else None
        self.silent = 0
        """Decisions in a row for which the judge could not be asked, or did not answer."""
        self.unwritten = 0
        """Decisions that could not be written down, since the service began or was told to reopen its log."""
        self.noted: EventCounts[LogEvent] = EventCounts()
        """What had happened to the log when metrics were brought up to it."""
        self.acknowledged: EventCounts[LogEvent] = EventCounts()
        """What had happened to the log when the service was last told to reopen it."""
        self.recent = RecentDecisions(decider.file)
        self.callers: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def decide(self, request: DecisionRequest) -> DeciderAnswer:
        """Return the decision on a request, within the time that it may take; counted, and written down where a log is wanted."""
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self.options.timeout):
                decided = await self.decider.decide_async(request)
        except TimeoutError:
            decided = self.decider.failed_decision(request, "timeout")
        decided = self.written(request, decided)
        self.recent.add(decided)
        self.silent = self.silent + 1 if decided.failed in NO_ANSWER else 0
        self.metrics.seconds.observe(time.perf_counter() - began)
        self.metrics.decisions.labels(decided.decision, str(self.options.shadow).lower()).inc()
        if decided.failed:
            self.metrics.failures.labels(decided.failed).inc()
        if decided.unmeasured:
            self.metrics.unmeasured.inc()
        return decided

    def written(self, request: DecisionRequest, decided: DeciderAnswer) -> DeciderAnswer:
        """Write a decision to the log, where one is wanted; return it, or what is decided where it cannot be written."""
        if self.log is None:
            return decided
        try:
            self.log.write(traffic_line(request, decided, decider=self.decider.hash, shadow=self.options.shadow))
        except OSError:
            self.unwritten += 1
            self.metrics.capture_errors.inc()
            if self.options.on_full == "refuse":
                reason = "the decision could not be written to the log (--on-full refuse)"
                return decided.model_copy(update={"decision": "refuse", "why": reason})
        return decided

    def check_log(self) -> EventCounts[LogEvent]:
        """Check what happened to the log, bring the metrics up to it, and return the counts of all events."""
        if self.log is not None:
            with suppress(OSError):  # the next decision that cannot be written is counted
                self.log.reopen_if_moved()
            for event, n in (self.log.events - self.noted).items():
                self.metrics.log_events[event].inc(n)
            self.noted = EventCounts(self.log.events)
        return self.noted

    def reopen(self) -> None:
        """Reopen the log, as after log rotation; what was noticed of it until now is no problem any more."""
        if self.log is None:
            return
        try:
            self.log.reopen()
            self.acknowledged, self.unwritten = self.check_log(), 0
            print(f"the log {self.log.path} was reopened", file=sys.stderr)
        except OSError as error:
            print(f"the log {self.log.path} could not be reopened: {error}", file=sys.stderr)

    def health(self) -> dict[str, Any]:
        """Return the state of the service with its problems, and the recent shares with their limits."""
        shares, drift = list(self.recent.shares()), self.recent.drift()
        problems = [*self.problems(), *self.recent.problems(shares, drift)]
        tests = {test.quantity: {"p": test.adjusted, "smallest_shift": test.smallest_shift} for test in drift}
        return {
            "status": "degraded" if problems else "ok",
            "problems": problems,
            "recent": {kind: [share.as_json() for share in shares if share.kind == kind] for kind in KINDS},
            "drift": {"requests": len(self.recent.decisions), "tests": tests},
            "labels": self.decider.file.benchmark.label_words,
        }

    def exposition(self) -> bytes:
        """Return the metrics as Prometheus reads them."""
        self.check_log()
        for share in self.recent.shares():
            labels = share.kind, str(share.window)
            self.metrics.recent_share.labels(*labels).set(share.share)
            self.metrics.recent_limit.labels(*labels).set(1.0 if share.limit is None else share.limit)
        for test in self.recent.drift():
            self.metrics.recent_drift.labels(test.quantity).set(test.adjusted)
        return generate_latest(self.metrics.registry)

    def problems(self) -> list[str]:
        """Return sentences about what is not as it should be, without anything of a request."""
        hung, log = self.decider.hung_calls, self.check_log() - self.acknowledged
        sentences = {
            f"{hung} calls of the judge have not returned": hung,
            "the service does not call the judge until they return; restart the service": hung >= MOST_HUNG,
            f"the judge gave no answer to the last {self.silent} requests": self.silent,
            f"{count_of(self.unwritten, 'decision')} could not be written to the log": self.unwritten,
            f"another program removed the log ({count_of(log['lost'], 'decision')}); SIGHUP acknowledges it": log[
                "lost"
            ],
            f"another program shortened the log ({count_of(log['cut'], 'decision')}); SIGHUP acknowledges it": log[
                "shortened"
            ],
        }
        return [sentence for sentence, holds in sentences.items() if holds]

    async def admit(self, request: Request) -> None:
        """Refuse a client that has no key, or has sent too many requests. Raises HTTPException: 401 or 429.

        It is async because FastAPI calls what is not in a thread, which takes longer than all of it.
        """
        key = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        digest = key_digest(key)
        matching = [hmac.compare_digest(digest, listed) for listed in self.keys]  # all of them: no time tells which
        if self.keys and True not in matching:
            raise HTTPException(401, "give one of this service's keys as a bearer token")
        if self.options.per_minute is not None:
            host = request.client.host if request.client else ""
            if not self.takes_token(digest if self.keys else host, time.monotonic()):
                raise HTTPException(429, "too many requests; wait a minute", {"Retry-After": "60"})

    def takes_token(self, caller: str, now: float) -> bool:
        """Take one request from the bucket of a caller, which fills evenly and holds a minute's worth; return whether there was one."""
        most = float(self.options.per_minute or 0)
        left, at = self.callers.pop(caller, (most, now))
        left = min(most, left + (now - at) * most / 60)
        self.callers[caller] = (left - 1 if left >= 1 else left, now)
        while len(self.callers) > MOST_CALLERS:
            self.callers.popitem(last=False)
        return left >= 1

    def problem(self, request: Request, error: Exception) -> Response:
        """Return an error, in the one form that they have, counted; nothing of what was sent is repeated."""
        status, message, headers = 500, "The service failed on this request.", None
        if isinstance(error, RequestValidationError):
            error = validation_problem(error)
        if isinstance(error, StarletteHTTPException):
            status, message, headers = error.status_code, str(error.detail), error.headers
        elif isinstance(error, CasewiseError):
            status, message = 422, str(error)
        route = request.url.path if request.url.path in {"/v1/decide", "/v1/calls", "/v1/moderations"} else "other"
        self.metrics.requests.labels(route, str(status)).inc()
        detail = ProblemDetail(message=message, type=ERROR_TYPES.get(status, "invalid_request_error"), code=status)
        return JSONResponse(Problem(error=detail).model_dump(), status, headers)

    async def close(self) -> None:
        """Close the judge and the log."""
        await self.decider.judge.close()
        if self.log is not None:
            self.log.close()


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        400: "No request",
        401: "No key",
        405: "Another method",
        413: "Too long",
        422: "Not of this form",
        429: "Too many",
    }.items()
}


class DecisionRoute(APIRoute):
    """A route that reads a valid request and writes its answer itself: FastAPI takes longer for that than a decision takes.

    FastAPI handles every other request, so errors are its own.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        general = super().get_route_handler()
        if self.body_field is None:
            return general
        form = cast("type[RequestBody]", self.body_field.field_info.annotation)
        admissions = [check.dependency for check in self.dependencies if check.dependency is not None]

        async def answer(request: Request) -> Response:
            if request.headers.get("content-type") != "application/json":
                return await general(request)
            try:
                body = form.model_validate(json.loads(await request.body()))
            except (ValueError, RecursionError):
                return await general(request)
            for admit in admissions:
                await admit(request)
            answered: BaseModel = await self.endpoint(body=body, request=request)
            return Response(answered.model_dump_json(), media_type="application/json")

        return answer


def create_service(decider: Decider, options: ServiceOptions = ServiceOptions()) -> FastAPI:
    """Return the service as an ASGI app."""
    service = Service(decider, options)

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # what is loaded stays: to look through it again took a tenth of a second each time, at any request
        if threading.current_thread() is threading.main_thread():  # no handler can be set in another
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, service.reopen)
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
    app.router.route_class = DecisionRoute
    app.state.service = service
    for kind in (StarletteHTTPException, RequestValidationError, CasewiseError, Exception):
        app.add_exception_handler(kind, service.problem)
    app.add_middleware(BodyLimit)

    @app.post("/v1/decide", dependencies=[Depends(service.admit)])
    async def decide(body: DecideIn, request: Request) -> DecideOut:
        decided = await service.decide(body.request(request_id_of(request)))
        service.metrics.requests.labels("/v1/decide", "200").inc()
        return decide_out(decider, decided, shadow=options.shadow)

    @app.post("/v1/calls", dependencies=[Depends(service.admit)])
    async def calls(body: CallIn, request: Request) -> CallOut:
        """Return whether an agent may make a call of a tool."""
        digest = body.digest
        decided = await service.decide(body.request(request_id_of(request)))
        service.metrics.requests.labels("/v1/calls", "200").inc()
        return CallOut(
            **dict(decided),
            permission="allow" if options.shadow else PERMISSIONS[decided.decision],
            tool=body.tool,
            arguments_digest=digest,
            shadow=options.shadow,
            decider=decider.hash,
            measured=decider.measured,
        )

    @app.post("/v1/moderations", dependencies=[Depends(service.admit)])
    async def moderations(body: ModerationIn, request: Request) -> ModerationOut:
        request_id = body.id or request_id_of(request)
        decisions = await asyncio.gather(*map(service.decide, body.requests(request_id)))
        flags = options.ask_as == "flagged"
        service.metrics.requests.labels("/v1/moderations", "200").inc()
        return ModerationOut(
            id=request_id,
            model=f"casewise-decider-{decider.hash[:12]}",
            results=[moderation_result(decider, d, shadow=options.shadow, ask_flags=flags) for d in decisions],
        )

    @app.get("/healthz")
    async def health(response: Response) -> dict[str, Any]:
        """Return the state of the service, its problems and its decider. The status is 503 where its judge cannot be
        asked."""
        response.status_code = 503 if decider.hung_calls >= MOST_HUNG else 200
        return {**service.health(), "decider": decider.hash, "judge": decider.file.judge.name}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """Return what has happened, for Prometheus."""
        return PlainTextResponse(service.exposition(), media_type="text/plain; version=0.0.4")

    return app


def request_id_of(request: Request) -> str:
    """Return the id that a proxy or a caller gave the request in its header, or a new one."""
    return request.headers.get("x-request-id") or secrets.token_hex(12)


FIELDS = frozenset((*DecideIn.model_fields, *CallIn.model_fields, *ModerationIn.model_fields, *ChatTurn.model_fields))


STATEMENT_PROBLEM = "a parameter is a text, a number, true or false, or these in a list or under headings"
"""The message for every statement of the wrong type. The message of pydantic would repeat the statement."""


HALF_CHARACTER = "string_unicode"
"""The pydantic error type of half of a character in a text: no JSON in UTF-8 has it."""


def validation_problem(invalid: RequestValidationError) -> HTTPException:
    """Return what is wrong with a body, without repeating any of it but the name of an unknown field, where it can be a name."""
    errors = invalid.errors()
    first = next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])
    if first["type"] in ("json_invalid", HALF_CHARACTER):
        return HTTPException(400, "Invalid JSON")
    problem = STATEMENT_PROBLEM if first["type"] == "value_error" else first["msg"]
    if first["type"] == "extra_forbidden":
        name = str(first["loc"][-1])
        named = f"{name!r} is an unknown field{did_you_mean(name, FIELDS)}"
        problem = named if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", name) else "the request has an unknown field"
    place = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or str(part) in FIELDS)
    return HTTPException(422, f"{place}: {problem}" if place else problem)
