"""The HTTP client: connections, retries, concurrency and outages."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

import lazy_loader
from pydantic_core import to_json

from casewise.errors import ModelError, Unauthorised, Unavailable, Unreachable, WentAway
from casewise.models.endpoints import Endpoint, Key, find_endpoint, parse_model_name, read_key
from casewise.models.protocol import Message, ModelDefaults, Rejected, Reply, ReplyOptions, check_taken
from casewise.models.wire import Capabilities, ServerError, WrongShape, read_error, read_reply, request_body
from casewise.options import CONCURRENCY, Flat, Hidden, Parameter

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")


# How many calls may be under way at once: few at first, more while it goes well, fewer when the server says so.


class AdaptiveGate:
    """Lets calls through, at most `limit` at a time; the limit adapts, as TCP's congestion window does.

    Each success adds one to the limit (so it doubles with every round of calls) until the first `overloaded`; from
    then on a whole round of successes adds one. `overloaded` multiplies it by `shrink`, at most once in `cooldown_s`:
    the many refusals of one overload are one piece of news.
    """

    def __init__(self, *, most: int, start: int, shrink: float = 0.5, cooldown_s: float = 1.0) -> None:
        self.most = most
        self.limit = float(min(start, most))
        self.in_flight = 0
        self._shrink = shrink
        self._cooldown_s = cooldown_s
        self._shrunk_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Self:
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return self
        ticket = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            ticket = self._waiting.popleft()
            if not ticket.done():
                self.in_flight += 1
                ticket.set_result(None)

    def succeeded(self) -> None:
        """A call came back well."""
        if self.limit < self.most:
            ever_shrunk = self._shrunk_at > float("-inf")
            self.limit = min(float(self.most), self.limit + (1 / self.limit if ever_shrunk else 1.0))
            self._admit()

    def overloaded(self) -> None:
        """The server said that there are too many calls."""
        now = time.monotonic()
        if now - self._shrunk_at >= self._cooldown_s:
            self._shrunk_at = now
            self.limit = max(1.0, self.limit * self._shrink)


# What an endpoint's refusal means: for the run, for this call, or that it is tried again after a wait.


RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 that another try may cure; of those from 500 on, all may."""

LONGEST_HONOURED_WAIT_S = 300.0
"""A server that asks for more is met with an error, not with a run that seems to hang."""


def is_retried(status: int) -> bool:
    return status >= 500 or status in RETRIED_STATUSES


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with full jitter (each wait is uniform between half of its ceiling and the ceiling)."""

    retries: int = 6
    """Maximum number of further attempts if a call fails."""
    first_wait_s: Hidden[float] = 0.5
    longest_wait_s: Hidden[float] = 30.0

    def wait_s(self, attempt: int, *, requested_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after the failed `attempt` (1 is the first).

        A wait that the server asked for is kept, with up to a tenth added so that callers do not all come back at
        once.
        """
        if requested_s is not None:
            return min(requested_s, LONGEST_HONOURED_WAIT_S) * rng.uniform(1.0, 1.1)
        ceiling = min(self.first_wait_s * 2.0 ** (attempt - 1), self.longest_wait_s)
        return rng.uniform(ceiling / 2, ceiling)


def requested_wait_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds that the server asks us to wait: `retry-after-ms`, `Retry-After` (seconds or a date), or the reset of
    whichever rate limit is used up. None where it does not say."""
    if (milliseconds := number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if after := headers.get("Retry-After"):
        return wait_until(after, now=now or datetime.now(UTC))
    waits = [
        wait
        for kind in ("requests", "tokens")
        if number(headers.get(f"x-ratelimit-remaining-{kind}")) == 0
        and (wait := duration_s(headers.get(f"x-ratelimit-reset-{kind}", ""))) is not None
    ]
    return max(waits, default=None)


def wait_until(after: str, *, now: datetime) -> float | None:
    if (seconds := number(after)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(after)
    except ValueError:
        return None
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now.timestamp())


def number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


DURATION = re.compile(r"(?:(?P<h>[\d.]+)h)?(?:(?P<m>[\d.]+)m(?!s))?(?:(?P<s>[\d.]+)s)?(?:(?P<ms>[\d.]+)ms)?")
UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def duration_s(text: str) -> float | None:
    """`6m0s`, `1.5s`, `20ms` or a bare number of seconds, in seconds."""
    if (seconds := number(text)) is not None:
        return seconds
    match = DURATION.fullmatch(text.strip())
    if not text.strip() or match is None:
        return None
    return sum(UNITS_S[unit] * (number(value) or 0.0) for unit, value in match.groupdict().items() if value)


@dataclass(frozen=True)
class Fault:
    """A failure that another try may cure."""

    message: str
    wait_s: float | None = None
    overloaded: bool = False
    unreachable: bool = False
    """Nobody could be connected to."""


FILTERED = re.compile(r"content[ _-]?(filter|policy|management)|moderat|flagged|responsible.?ai", re.IGNORECASE)
NO_SUCH_MODEL = re.compile(
    r"model[_ ]not[_ ]found|(?:no such|unknown|invalid) model|model\b.{0,80}\b(?:does not exist|not found|not exist)",
    re.IGNORECASE | re.DOTALL,
)
NO_CREDIT = re.compile(r"insufficient[ _](?:quota|balance|credit|funds)|billing|credit balance", re.IGNORECASE)


def meaning(
    status: int, headers: Mapping[str, str], error: ServerError, *, endpoint: Endpoint, model: str
) -> Fault | ModelError:
    """What an answer of `status` with `error` in its body comes to.

    A `Fault` is tried again; an `Unauthorised` stops the run; a `Rejected` costs this call alone.
    """
    words = f"{error.code} {error.message}"
    problem = f"{endpoint.name} answered {status}: {error.message}"
    if NO_CREDIT.search(words) and status in (400, 402, 403, 429):
        return Unauthorised(f"{problem}. Top up the account that {endpoint.key_variable} belongs to, then resume.")
    if is_retried(status):
        return Fault(problem, requested_wait_s(headers), overloaded=status in (429, 529))
    if FILTERED.search(words):
        return Rejected("content_filter", problem)
    if status in {401, 403}:
        return Unauthorised(
            f"{problem}. Check {endpoint.key_variable or 'the address'}, and that it may use {model!r}."
        )
    if status < 400 or status in {402, 404, 405} or NO_SUCH_MODEL.search(words):
        return Unauthorised(
            f"{problem}. Check the model's name, {model!r}, and the address, {endpoint.base_url} (it usually ends in /v1)."
        )
    return Rejected("bad_request", problem)


# A server that nobody can connect to: said within seconds at the start of a session, waited for later.


CONNECT_WITHIN_S = 4.0
"""At the start: with no connection after so long, nothing is there. Later a try to connect may take as long."""

LONGEST_OUTAGE_S = 900.0
"""A server that has answered before is waited for as long as this."""

PORTS = {"http": 80, "https": 443}


@dataclass
class Outage:
    """Whether a server can be connected to, for all calls to it together."""

    address: str
    """Of the server, or of the proxy before it."""
    said_of: str
    """What messages call it."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    longest_s: float = LONGEST_OUTAGE_S
    tell: Callable[[str], None] = lambda _line: None
    """Where a line goes when a run pauses and when it goes on."""
    answered: bool = False
    """Whether the server has answered anything in this session."""
    _began: float | None = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def ask(self) -> None:
        """Note that a call is about to be made: the first of them begins the session."""
        if self._began is None:
            self._began = time.monotonic()

    async def refused(self, problem: str, *, next_wait_s: float) -> bool:
        """Take note of a call that could not connect. Gives True once the server can be connected to again.

        Raises Unreachable: it never answered in this session, and the next try would come too late. WentAway: it did
        not come back.
        """
        if self.answered:
            await self._back(problem)
            return True
        if time.monotonic() - (self._began or 0.0) + next_wait_s > CONNECT_WITHIN_S:
            raise Unreachable(
                f"nothing answers: {problem}. Check that the server runs and listens on that port, that the "
                "address is right (it usually ends in /v1), and that no proxy or firewall stands in between"
            )
        return False

    async def _back(self, problem: str) -> None:
        """Wait until the server can be connected to; one call tries, the others wait for it."""
        async with self._one:
            since, wait, announced = time.monotonic(), self.first_wait_s, False
            while not await connects(self.address):
                if not announced:
                    self.tell(f"the run waits for a server that stopped answering: {problem}")
                    announced = True
                if time.monotonic() - since + wait > self.longest_s:
                    raise WentAway(
                        f"a server stopped answering and did not return within {self.longest_s:g} s: {problem}. "
                        "Answers so far are kept; the same command resumes"
                    )
                await asyncio.sleep(wait)
                wait = min(wait * 2, self.longest_wait_s)
            if announced:
                self.tell(f"{self.said_of} answers again")


async def connects(address: str, *, within_s: float = CONNECT_WITHIN_S) -> bool:
    """Whether a server accepts a connection; nothing is sent over it."""
    parts = urlsplit(address)
    try:
        async with asyncio.timeout(within_s):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS[parts.scheme])
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


# Posting to an endpoint: connections are reused, what may pass is tried again, and the number of calls under way
# adapts.
#
# What is posted and how the answer reads is the business of whoever calls.


T = TypeVar("T")


def cannot_connect(error: BaseException) -> bool:
    """Whether nobody was reached."""
    kinds = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientProxyConnectionError)
    return isinstance(error, kinds)


LEARNABLE = frozenset({400, 403, 404, 415, 422})
"""Statuses with which servers refuse a parameter."""


@dataclass(frozen=True)
class ClientOptions:
    """How calls are made; nothing here changes what a reply says."""

    concurrency: Hidden[int] = CONCURRENCY
    timeout_s: Annotated[float, Parameter(name="--timeout")] = 120.0
    """Seconds to wait for a reply."""
    retry: Flat[RetryPolicy] = field(default_factory=RetryPolicy)
    longest_outage_s: Hidden[float] = LONGEST_OUTAGE_S
    """Longest wait for a server that answered before and can no longer be reached, in seconds."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """What is posted, made anew for every try, and how the body of a good answer is read.

    `read` raises `WrongShape` for what is no answer; that is then tried again.
    """

    path: str
    model: str
    body: Callable[[Capabilities], dict[str, Any]]
    read: Callable[[str], T]


@dataclass(frozen=True)
class Called(Generic[T]):
    """An answer, how long the successful try took, and how many tries it took."""

    value: T
    latency_s: float
    attempts: int


@dataclass(frozen=True)
class Exchange:
    """One answer from the server, as it came, without the key."""

    status: int
    headers: Mapping[str, str]
    text: str
    latency_s: float


@dataclass(frozen=True)
class Collected:
    """An answer that was not waited for, and what the endpoint was thought to be able to do when it was asked."""

    exchange: Exchange
    asked_as: Capabilities


class ToAskAgain(Exception):
    """What was collected is no answer, and another try may bring one."""


Instead = Callable[["EndpointClient", Request[Any]], Collected]
"""Takes a call that would be made now: gives what has come of it already, or raises what it pleases."""


@dataclass(frozen=True)
class Lesson:
    """The endpoint refused a parameter; the same call goes again without it."""

    message: str


FIRST_CALLS = 16
"""How many calls go at once to a server elsewhere before it has answered any; one on this machine refuses nobody's quota."""

LONGEST_SCHOOLING = 6
"""Lessons that one call may bring before we stop believing that the next try will differ."""


class EndpointClient:
    """An endpoint with its key, its connections, and what it was found to be able to do."""

    def __init__(self, endpoint: Endpoint, *, key: Key | None, options: ClientOptions) -> None:
        self.endpoint = endpoint
        self.options = options
        self.can = Capabilities()
        most = options.concurrency
        self.gate = AdaptiveGate(most=most, start=FIRST_CALLS if endpoint.remote else most)
        self.instead: Instead | None = None
        """Takes the calls while it is set; nothing is posted then."""
        self._key = key
        self._rng = random.Random()  # noqa: S311 - spreads retries; no result depends on it
        self._broken_off = (aiohttp.ClientError, TimeoutError, OSError)
        """What a call may end with. Naming it loads aiohttp, for a tenth of a second: here, and not while the first calls wait."""
        self._session: aiohttp.ClientSession | None = None
        self.proxy = proxy_for(endpoint.base_url)
        self.outage = Outage(
            self.proxy or endpoint.base_url,
            f"{endpoint.name} at {endpoint.base_url}",
            options.retry.first_wait_s,
            options.retry.longest_wait_s,
            options.longest_outage_s,
        )

    async def call(self, request: Request[T]) -> Called[T]:
        """Post until there is an answer. Raises Rejected, Unavailable, Unauthorised: as `Model.reply` says."""
        if self.instead is not None:
            return self._collected(self.instead(self, request), request)
        attempt, lessons, waited = 1, 0, 0
        self.outage.ask()
        while True:
            outcome = await self._attempt(request)
            if isinstance(outcome, Called):
                return Called(outcome.value, outcome.latency_s, attempt + waited)
            if isinstance(outcome, Lesson):
                lessons += 1
                if lessons > LONGEST_SCHOOLING:
                    raise Rejected("bad_request", outcome.message)
                continue
            if attempt > self.options.retry.retries and not outcome.unreachable:
                raise Unavailable(f"{outcome.message} (tried {attempt} times)")
            counts = await self._again(outcome, attempt)
            attempt, waited = attempt + counts, waited + (not counts)

    def _collected(self, collected: Collected, request: Request[T]) -> Called[T]:
        outcome = self._read(collected.exchange, request.body(collected.asked_as), request)
        if isinstance(outcome, Called):
            return outcome
        raise ToAskAgain(outcome.message)

    async def _again(self, fault: Fault, attempt: int) -> bool:
        """Wait before another try; whether this one counts."""
        wait = self.options.retry.wait_s(attempt, requested_s=fault.wait_s, rng=self._rng)
        if fault.unreachable and await self.outage.refused(fault.message, next_wait_s=wait):
            return False
        await asyncio.sleep(wait)
        return True

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _attempt(self, request: Request[T]) -> Called[T] | Fault | Lesson:
        async with self.gate:
            body = request.body(self.can)
            try:
                exchange = await self._post(request.path, body)
            except self._broken_off as error:
                if isinstance(error, TimeoutError) and not cannot_connect(error):
                    self.gate.overloaded()  # its answers take too long with so many calls under way
                return Fault(
                    f"{self.endpoint.name} at {self.endpoint.base_url}: {self._spoken(error)}",
                    unreachable=cannot_connect(error),
                )
        self.outage.answered = True
        outcome = self._read(exchange, body, request)
        if isinstance(outcome, Called):
            self.gate.succeeded()
        elif isinstance(outcome, Fault) and outcome.overloaded:
            self.gate.overloaded()
        return outcome

    async def _post(self, path: str, body: dict[str, Any]) -> Exchange:
        session = self._open()
        started = time.perf_counter()
        async with session.post(
            f"{self.endpoint.base_url}/{path}",
            data=written(body),
            proxy=self.proxy,
            allow_redirects=False,
        ) as answer:
            text = (await answer.read()).decode("utf-8", errors="replace")
            return Exchange(answer.status, answer.headers, self.redact(text), time.perf_counter() - started)

    def _read(self, exchange: Exchange, body: dict[str, Any], request: Request[T]) -> Called[T] | Fault | Lesson:
        """What `exchange` comes to. Raises what stops the call or the run."""
        if exchange.status == 200 and not is_error(exchange.text):
            try:
                return Called(request.read(exchange.text), exchange.latency_s, 1)
            except WrongShape as problem:
                return Fault(f"{self.endpoint.name}: {problem}")
        error = read_error(exchange.text)
        status = status_of(exchange.status, error.code)
        if status in LEARNABLE and self.can.learn(body, f"{error.code} {exchange.text[:2000]}"):
            return Lesson(f"{self.endpoint.name} answered {status}: {error.message}")
        fault = meaning(status, exchange.headers, error, endpoint=self.endpoint, model=request.model)
        if isinstance(fault, ModelError):
            raise fault
        return fault

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self.options.timeout_s, sock_connect=CONNECT_WITHIN_S),
                headers={"Content-Type": "application/json", **self.key_header()},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def key_header(self, name: str | None = None) -> dict[str, str]:
        """The header that holds the key, under another `name` where an interface wants it so."""
        if self._key is None:
            return {}
        header, secret = name or self.endpoint.key_header, self._key.reveal()
        return {header: f"Bearer {secret}" if header == "Authorization" else secret}

    def redact(self, text: str) -> str:
        """`text` without the key."""
        return self._key.redact(text) if self._key is not None else text

    def _spoken(self, error: BaseException) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self.options.timeout_s:g} s"
        return self.redact(f"{type(error).__name__}: {error}")


def written(body: dict[str, Any]) -> bytes:
    """A request's body. Half a character has no UTF-8 and is written as an escape."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body).encode()


def is_error(text: str) -> bool:
    """Whether a body that came with status 200 is an error all the same, as some routers send it."""
    return text.lstrip()[:9].replace(" ", "").startswith('{"error"') and '"choices"' not in text


def status_of(status: int, code: str) -> int:
    """The status that an error means: some routers send 200 and put it into the body."""
    if status != 200:
        return status
    return next((int(word) for word in code.split() if word.isdigit() and 400 <= int(word) < 600), 502)


def proxy_for(address: str) -> str | None:
    """The proxy that the environment names for `address`; read once, since aiohttp would read it for each call."""
    host = urlsplit(address)
    if urllib.request.proxy_bypass(host.hostname or ""):
        return None
    return urllib.request.getproxies().get(host.scheme)


# Any server that speaks OpenAI's chat completions.
#
# Parameters that it does not take are left out once it has said so.


class OpenAICompatibleModel(ModelDefaults):
    """A model behind a chat-completions endpoint."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        *,
        key: Key | None = None,
        options: ClientOptions | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.model = parse_model_name(name).model
        self.client = EndpointClient(endpoint, key=key, options=options or ClientOptions())
        self.sends_to = endpoint.host if endpoint.remote else None

    @classmethod
    def connect(
        cls,
        name: str,
        *,
        environment: Mapping[str, str],
        base_url: str | None = None,
        options: ClientOptions | None = None,
        needs_key: bool = True,
    ) -> OpenAICompatibleModel:
        """The model called `name`, with the key that `environment` holds for its endpoint.

        Raises ConfigurationError: the prefix is unknown, the address unusable, or the key is not set.
        """
        endpoint = find_endpoint(name, base_url=base_url, environment=environment)
        key = read_key(endpoint, environment) if needs_key else None
        return cls(name, endpoint, key=key, options=options)

    def settings(self) -> dict[str, Any]:
        """The model's name, and the address of its endpoint where that is not this machine, whose ports change."""
        return {"model": self.name, "base_url": self.endpoint.base_url if self.endpoint.remote else "this machine"}

    @property
    def can(self) -> Capabilities:
        """What the endpoint was found to be able to do."""
        return self.client.can

    @property
    def takes(self) -> frozenset[str]:  # type: ignore[override]  # it changes with what the endpoint says
        """What endpoints of its kind take and this one has not complained of."""
        return self.can.takes | self.endpoint.takes

    @property
    def gate(self) -> AdaptiveGate:
        """How many calls may be under way."""
        return self.client.gate

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply; see `Model.reply` for what is raised."""
        check_taken(self.name, options, self.takes)

        def body(can: Capabilities) -> dict[str, Any]:
            if options.first_words and not can.logprobs:
                raise Rejected("no_logprobs", f"{self.endpoint.name} gives no log probabilities for {self.model!r}")
            return request_body(self.model, messages, options=options, can=can)

        called = await self.client.call(Request("chat/completions", self.model, body, read_reply))
        text = f"{options.prefill or ''}{called.value.text}"
        return replace(called.value, text=text, latency_s=called.latency_s, attempts=called.attempts)

    def tell_with(self, tell: Callable[[str], None]) -> None:
        """Where a line goes when the server is waited for."""
        self.client.outage.tell = tell

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()
