"""The HTTP client: connections, retries, concurrency and outages."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

import lazy_loader
from pydantic_core import to_json

from casewise.errors import ConnectionLost, ModelError, Unauthorised, Unavailable, Unreachable
from casewise.models.choice import WIDE_LOGPROBS, first_token, label_texts, mark_choice, tokenize_body
from casewise.models.consent import require_consent
from casewise.models.endpoints import ApiKey, Endpoint, Extra, parse_model_name
from casewise.models.label_tokens import spellings
from casewise.models.prices import note_unreported
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, check_options
from casewise.models.wire import (
    Capabilities,
    InvalidResponse,
    ServerError,
    parse_json,
    read_error,
    read_reply,
    request_body,
)
from casewise.options import CONCURRENCY, Flat, Hidden, Parameter

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")


# The number of calls under way: few at first, more after successes, fewer when the server is overloaded.


COOLDOWN_S = 1.0
"""Refusals within so many seconds are one overload."""


class AdaptiveGate:
    """Lets at most `limit` calls through at a time; the limit adapts, as TCP's congestion window does.

    Each success adds one to the limit (so it doubles with every round of calls) until the first `overloaded`; from
    then on a whole round of successes adds one. `overloaded` halves it, at most once in `COOLDOWN_S`.
    """

    def __init__(self, *, most: int, start: int) -> None:
        self.most = most
        self.limit = float(min(start, most))
        self.in_flight = 0
        self._shrunk_at = float("-inf")
        self._room = asyncio.Condition()

    async def __aenter__(self) -> Self:
        async with self._room:
            try:
                await self._room.wait_for(lambda: self.in_flight < int(self.limit))
            except asyncio.CancelledError:
                self._room.notify()  # it may have been told of room that it does not take
                raise
            self.in_flight += 1
        return self

    async def __aexit__(self, *_error: object) -> None:
        async with self._room:
            self.in_flight -= 1
            self._room.notify(int(self.limit) - self.in_flight)

    def reset(self) -> None:
        """Prepare for another event loop. No call is under way or waiting."""
        self._room = asyncio.Condition()

    def succeeded(self) -> None:
        """Count a successful call."""
        if self.limit < self.most:
            ever_shrunk = self._shrunk_at > float("-inf")
            self.limit = min(float(self.most), self.limit + (1 / self.limit if ever_shrunk else 1.0))

    def overloaded(self) -> None:
        """Count a refusal because of too many calls."""
        now = time.monotonic()
        if now - self._shrunk_at >= COOLDOWN_S:
            self._shrunk_at = now
            self.limit = max(1.0, self.limit / 2)


# The meaning of an endpoint's refusal: the run stops, the call fails, or it is tried again after a wait.


RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""Statuses below 500 that another try may cure; of those from 500 on, all may."""

BILLED_STATUSES = frozenset({408, 504, 524})
"""Statuses of a server or gateway that waited too long: the work may be billed. So may a filter's refusal, as Azure's
documentation says."""

LONGEST_HONOURED_WAIT_S = 300.0
"""Longest wait that a server may ask for."""


def is_retried(status: int) -> bool:
    """Return whether another try may succeed after an answer with this status."""
    return status >= 500 or status in RETRIED_STATUSES


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with full jitter (each wait is uniform between half of its ceiling and the ceiling)."""

    retries: int = 6
    """Maximum number of further attempts if a call fails."""
    first_wait_s: Hidden[float] = 0.5
    longest_wait_s: Hidden[float] = 30.0

    def wait_s(self, attempt: int, *, requested_s: float | None, rng: random.Random) -> float:
        """Return the seconds to wait after the failed `attempt` (1 is the first).

        A wait that the server asked for is kept, with up to a tenth added so that callers do not return at once.
        """
        if requested_s is not None:
            return min(requested_s, LONGEST_HONOURED_WAIT_S) * rng.uniform(1.0, 1.1)
        ceiling = min(self.first_wait_s * 2.0 ** (attempt - 1), self.longest_wait_s)
        return rng.uniform(ceiling / 2, ceiling)


def requested_wait_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that the server asks to wait, if it does: `retry-after-ms`, or `Retry-After` (seconds or a date)."""
    for name, unit_s in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        with suppress(ValueError):
            if isfinite(wait := float(headers.get(name, ""))):
                return wait * unit_s if wait >= 0 else None
    try:
        at = parsedate_to_datetime(headers.get("Retry-After", ""))
    except ValueError:
        return None
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - (now or datetime.now(UTC))).total_seconds())


@dataclass(frozen=True)
class Fault:
    """A failure after which another try may succeed."""

    message: str
    wait_s: float | None = None
    overloaded: bool = False
    unreachable: bool = False
    """No connection could be made."""
    learnt: Capabilities | None = None
    """The endpoint refused a parameter: what it may take instead. The same call is repeated so."""
    unexplained: bool = False
    """The server failed without a word on the reason, which may be a parameter."""


FILTERED = re.compile(r"content[ _-]?(filter|policy|management)|moderat|flagged|responsible.?ai", re.IGNORECASE)
NO_SUCH_MODEL = re.compile(
    r"model[_ ]not[_ ]found|(?:no such|unknown|invalid) model|model\b.{0,80}\b(?:does not exist|not found|not exist)",
    re.IGNORECASE | re.DOTALL,
)
REFUSES_EFFORT = re.compile(r"reasoning[ _.]effort", re.IGNORECASE)
NO_CREDIT = re.compile(r"insufficient[ _](?:quota|balance|credit|funds)|billing|credit balance", re.IGNORECASE)


def interpret_failure(
    status: int,
    headers: Mapping[str, str],
    error: ServerError,
    *,
    endpoint: Endpoint,
    model: str,
    has_answered: bool = False,
) -> Fault | ModelError:
    """Return the error that a status and an error body mean.

    A `Fault` is tried again; an `Unauthorised` stops the run; a `Rejected` costs this call alone.

    `has_answered`: there were good answers in this session, so that key, address and model are right. Then a gateway's
    302, 403 or 404 may pass.
    """
    words = f"{error.code} {error.message}"
    problem = f"{endpoint.name} answered {status}: {error.message}"
    if NO_CREDIT.search(words) and status in (400, 402, 403, 429):
        return Unauthorised(f"{problem}. Top up the account that {endpoint.key_variable} belongs to, then resume.")
    if is_retried(status):
        return Fault(problem, requested_wait_s(headers), overloaded=status in (429, 529))
    if FILTERED.search(words):
        return Rejected("content_filter", problem)
    if has_answered and (status < 400 or status in {403, 404, 405}):
        return Fault(problem, requested_wait_s(headers))
    if status in {401, 403}:
        return Unauthorised(
            f"{problem}. Check {endpoint.key_variable or 'the address'}, and that it may use {model!r}."
        )
    if status < 400 or status in {402, 404, 405} or (NO_SUCH_MODEL.search(words) and not has_answered):
        return Unauthorised(
            f"{problem}. Check the model's name, {model!r}, and the address, {endpoint.base_url} (it usually ends in /v1)."
        )
    return Rejected("bad_request", problem)


# An unreachable server: an error within seconds at the start of a session, a wait later.


CONNECT_WITHIN_S = 4.0
"""Longest wait for a connection, and for the first connection of a session with all its tries."""

LONGEST_OUTAGE_S = 900.0
"""Longest wait for a server that has answered before."""

PORTS = {"http": 80, "https": 443}


async def accepts_connections(address: str, *, within_s: float = CONNECT_WITHIN_S) -> bool:
    """Return whether a server accepts a connection; nothing is sent over it."""
    parts = urlsplit(address)
    try:
        async with asyncio.timeout(within_s):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS[parts.scheme])
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


# Posting to an endpoint: connections are reused, faults that may pass are tried again, and the number of calls under way
# adapts. The caller knows what is posted and how the answer is read.


T = TypeVar("T")


def is_unreachable(error: BaseException) -> bool:
    """Return whether no server was reached."""
    kinds = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientProxyConnectionError)
    return isinstance(error, kinds)


NOT_LEARNT_FROM = frozenset({401, 402, 407, 408, 413, 429})
"""Statuses that say something else than which parameters a server takes."""

MOST_BYTES = 64_000_000
"""A longer answer is not read to its end."""

LONG_WAIT_S = 20.0
"""A server that asks for a longer wait is said to."""


@dataclass(frozen=True)
class ClientOptions:
    """Options of making calls; nothing here changes a reply."""

    concurrency: Hidden[int] = CONCURRENCY
    timeout_s: Annotated[float, Parameter(name="--timeout")] = 120.0
    """Seconds to wait for a reply."""
    retry: Flat[RetryPolicy] = field(default_factory=RetryPolicy)
    longest_outage_s: Hidden[float] = LONGEST_OUTAGE_S
    """Longest wait for a server that answered before and can no longer be reached, in seconds."""


@dataclass(frozen=True)
class Request(Generic[T]):
    """A body, made for every try, and the reader of a good answer's body.

    `read` raises `InvalidResponse` for a body that is no answer; the call is then tried again.
    """

    path: str
    model: str
    body: Callable[[Capabilities], dict[str, Any]]
    read: Callable[[str], T]


@dataclass(frozen=True)
class ClientAnswer(Generic[T]):
    """The answer to a request, with the latency of the successful try and the number of tries."""

    value: T
    latency_s: float
    attempts: int


@dataclass(frozen=True)
class Exchange:
    """One answer of the server, without the key."""

    status: int
    headers: Mapping[str, str]
    text: str
    latency_s: float


class UnexplainedFailure(Exception):
    """The server failed without a word on the reason, which may be a parameter."""

    def __init__(self, failure: Rejected | Unavailable, learnt: Capabilities | None) -> None:
        super().__init__(str(failure))
        self.failure, self.learnt = failure, learnt


class UnusableResult(Exception):
    """A collected result has no answer; another try may have one."""


Transport = Callable[[Request[Any], Capabilities], Exchange]
"""Takes a call in the place of posting it: returns the answer that a batch brought, or raises."""


FIRST_CALLS = 16
"""Number of simultaneous calls to a remote server that has not answered yet; a server on this machine has no quota."""

MOST_LESSONS = 6
"""Number of refused parameters after which a call is given up."""


class EndpointClient:
    """An endpoint with its key, its connections, and the capabilities learnt from its answers."""

    def __init__(
        self, endpoint: Endpoint, *, key: ApiKey | None, options: ClientOptions, extra: Extra = Extra()
    ) -> None:
        self.endpoint, self.options, self.extra = endpoint, options, extra
        usual, wide = Capabilities(), Capabilities(most_top_logprobs=WIDE_LOGPROBS, choice=True)
        self.can, most = wide if endpoint.is_open else usual, options.concurrency
        self.gate = AdaptiveGate(most=most, start=FIRST_CALLS if endpoint.remote else most)
        self._transport: Transport | None = None
        self._asked_as: Capabilities | None = None
        self._key, self._rng = key, random.Random()  # noqa: S311 - it spreads retries; no result depends on it
        self._broken_off = (aiohttp.ClientError, TimeoutError, OSError)
        """Errors that end a call. Naming them loads aiohttp, for a tenth of a second: here, and not while calls wait."""
        self._session: aiohttp.ClientSession | None = None
        address = urlsplit(endpoint.base_url)
        bypassed = urllib.request.proxy_bypass(address.hostname or "")
        self.proxy = None if bypassed else urllib.request.getproxies().get(address.scheme)
        """The proxy that the environment names; read once, since aiohttp would read it for each call."""
        self.server = f"{endpoint.name} at {endpoint.base_url}"
        self._tell: Callable[[str], None] = lambda _line: None
        self._answered = False
        """True if the server has answered in this session."""
        self._answered_with: frozenset[str] | None = None
        """The parameters that bodies held to which there were good answers in this session; None before the first."""
        self._said_wait_at, self._waiting = float("-inf"), asyncio.Lock()
        self._began: float | None = None
        """Time of the first call of the session."""

    async def call(self, request: Request[T]) -> ClientAnswer[T]:
        """Post until there is an answer. Raises Rejected, Unavailable, Unauthorised: as `Model.reply` says."""
        if self._transport is not None:
            return self._collected(request, self._transport)
        if self._began is None:
            self._began = time.monotonic()
        try:
            return await self._posted(request)
        except UnexplainedFailure as error:
            if self._answered_with is None and (called := await self._without_a_parameter(request, error)):
                return called
            raise error.failure from error

    def _collected(self, request: Request[T], transport: Transport) -> ClientAnswer[T]:
        can = self._asked_as or self.can
        outcome = self._read(transport(request, can), request.body(can), request, self.can)
        if isinstance(outcome, Fault):
            self.can = outcome.learnt or self.can
            raise UnusableResult(outcome.message)
        return outcome

    async def _posted(self, request: Request[T]) -> ClientAnswer[T]:
        """Post until there is an answer. Raises UnexplainedFailure: a parameter of the body may be the reason.

        What refusals teach is for this call, and for others once there is an answer: a refusal may only repeat its request.
        """
        attempt, n_lessons, n_waits = 1, 0, 0
        learnt: Capabilities | None = None
        while True:
            try:
                outcome = await self._attempt(request, learnt)
            except Rejected as error:
                if error.reason == "bad_request":
                    raise UnexplainedFailure(error, learnt) from error
                if error.reason == "no_logprobs":
                    self.can = learnt or self.can
                raise
            if isinstance(outcome, ClientAnswer):
                return ClientAnswer(outcome.value, outcome.latency_s, attempt + n_waits)
            if outcome.learnt is not None:
                learnt, n_lessons = outcome.learnt, n_lessons + 1
                if n_lessons > MOST_LESSONS:
                    raise Rejected("bad_request", outcome.message)
                continue
            if attempt > self.options.retry.retries and not outcome.unreachable:
                failure = Unavailable(f"{outcome.message} (tried {attempt} times)")
                raise UnexplainedFailure(failure, learnt) if outcome.unexplained else failure
            wait = self.options.retry.wait_s(attempt, requested_s=outcome.wait_s, rng=self._rng)
            self.report_wait(outcome.wait_s, wait)
            if outcome.unreachable and await self._reached_again(outcome.message, next_wait_s=wait):
                n_waits += 1
            else:
                await asyncio.sleep(wait)
                attempt += 1

    async def first_token_of(self, model: str, text: str) -> tuple[int, str] | None:
        """Return id and text of the first token of `text`, from the server's own `/tokenize`; None if it shows none."""
        address = f"{self.endpoint.base_url.removesuffix('/v1')}/tokenize"
        try:
            exchange = await self._post(address, tokenize_body(model, text))
            return first_token(parse_json(exchange.text)) if exchange.status == 200 else None
        except (*self._broken_off, InvalidResponse):
            return None

    def set_notifier(self, notify: Callable[[str], None]) -> None:
        """Set the receiver of a line when calls wait because the server is away, and when it answers again."""
        self._tell = notify

    @contextmanager
    def use_transport(self, transport: Transport, can: Capabilities | None = None) -> Iterator[None]:
        """Give all calls of the block to `transport`; nothing is posted.

        `can`: the capabilities when the calls were written; None for those of today.
        """
        self._transport, self._asked_as = transport, can
        try:
            yield
        finally:
            self._transport = self._asked_as = None

    async def close(self) -> None:
        """Close all connections."""
        self.gate.reset()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _without_a_parameter(self, request: Request[T], error: UnexplainedFailure) -> ClientAnswer[T] | None:
        """Repeat the request once without each parameter that may be the reason of a failure, and keep the form that is
        answered.

        What was refused a single time is asked for once more before, as it may pass.
        """
        asked_as, once = error.learnt or self.can, isinstance(error.failure, Rejected)
        narrower = tuple(asked_as.narrower(request.body(asked_as)))
        for can in (asked_as, *narrower) if once and narrower else narrower:
            try:
                outcome = await self._attempt(request, can)
            except ModelError:
                continue
            if isinstance(outcome, ClientAnswer):
                return outcome
        return None

    def report_wait(self, requested_s: float | None, wait_s: float) -> None:
        """Report a long wait that the server asks for, once while it lasts."""
        now = time.monotonic()
        if (requested_s or 0.0) > LONG_WAIT_S and now - self._said_wait_at > wait_s:
            self._said_wait_at = now
            self._tell(f"{self.server} asks to wait {requested_s:,.0f} s; its calls are tried again in {wait_s:,.0f} s")

    async def _reached_again(self, problem: str, *, next_wait_s: float) -> bool:
        """Return True once a server can be reached again that answered in this session, and False if it never did.

        One call tries, the others wait for it. Raises Unreachable: the server never answered, and the next try would come too
        late. ConnectionLost: it did not come back.
        """
        if not self._answered:
            if time.monotonic() - (self._began or 0.0) + next_wait_s > CONNECT_WITHIN_S:
                raise Unreachable(
                    f"nothing answers: {problem}. Check that the server runs and listens on that port, that the "
                    "address is right (it usually ends in /v1), and that no proxy or firewall stands in between"
                )
            return False
        longest_s, retry = self.options.longest_outage_s, self.options.retry
        async with self._waiting:
            since, wait, announced = time.monotonic(), retry.first_wait_s, False
            while not await accepts_connections(self.proxy or self.endpoint.base_url):
                if not announced:
                    self._tell(f"the run waits for a server that stopped answering: {problem}")
                    announced = True
                if time.monotonic() - since + wait > longest_s:
                    raise ConnectionLost(
                        f"a server stopped answering and did not return within {longest_s:g} s: {problem}. "
                        "Answers so far are kept; the same command resumes"
                    )
                await asyncio.sleep(wait)
                wait = min(wait * 2, retry.longest_wait_s)
            if announced:
                self._tell(f"{self.server} answers again")
        return True

    async def _attempt(self, request: Request[T], learnt: Capabilities | None) -> ClientAnswer[T] | Fault:
        async with self.gate:
            can = learnt or self.can
            body = request.body(can)
            try:
                exchange = await self._post(f"{self.endpoint.base_url}/{request.path}", body)
            except self._broken_off as error:
                if isinstance(error, aiohttp.ClientSSLError):
                    raise Unreachable(self.redact(tls_problem(self.server, error))) from error
                unreachable, detail = is_unreachable(error), f"{type(error).__name__}: {error}"
                if isinstance(error, TimeoutError):
                    detail = f"no answer within {self.options.timeout_s:g} s"
                    if not unreachable:
                        self.gate.overloaded()  # its answers take too long with so many calls under way
                if not unreachable:
                    note_unreported()  # the request was sent, and the server may have answered it
                return Fault(f"{self.server}: {self.redact(detail)}", unreachable=unreachable)
        self._answered = True
        outcome = self._read(exchange, body, request, can)
        if isinstance(outcome, ClientAnswer):
            self.can = learnt or self.can
            self._answered_with = (self._answered_with or frozenset()) | body.keys()
            self.can.limit_is_settled = True
            self.gate.succeeded()
        elif outcome.overloaded:
            self.gate.overloaded()
        return outcome

    async def _post(self, address: str, body: dict[str, Any]) -> Exchange:
        if self._session is None:
            require_consent(self.endpoint.receiver)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=self.options.timeout_s, sock_connect=CONNECT_WITHIN_S),
                headers={"Content-Type": "application/json", **self.extra.revealed(), **self.key_header()},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        started = time.perf_counter()
        async with self._session.post(
            address, params=self.extra.query, data=encode_body(body), proxy=self.proxy, allow_redirects=False
        ) as answer:
            text = (await response_body(answer)).decode("utf-8", errors="replace")
            return Exchange(answer.status, answer.headers, self.redact(text), time.perf_counter() - started)

    def _read(
        self, exchange: Exchange, body: dict[str, Any], request: Request[T], can: Capabilities
    ) -> ClientAnswer[T] | Fault:
        """Return what an answer means. Raises ModelError: the call or the run ends."""
        text, status = exchange.text, exchange.status
        # Some routers send an error with status 200.
        is_error = text.lstrip()[:9].replace(" ", "").startswith('{"error"') and '"choices"' not in text
        if status == 200 and not is_error:
            try:
                return ClientAnswer(request.read(text), exchange.latency_s, 1)
            except InvalidResponse as problem:
                note_unreported()
                return Fault(f"{self.endpoint.name}: {problem}")
        error = read_error(text)
        if status == 200:
            status = next((int(word) for word in error.code.split() if word.isdigit() and 400 <= int(word) < 600), 502)
        words = f"{error.code} {error.message}"
        learnable = status not in NOT_LEARNT_FROM and not 200 <= status < 400
        learnt = replace(can)
        if learnable and (
            learnt.learn(body, words) or learnt.learn(body, text[:2000], answered=self._answered_with or ())
        ):
            return Fault(f"{self.endpoint.name} answered {status}: {error.message}", learnt=learnt)
        if learnable and "reasoning_effort" in body and REFUSES_EFFORT.search(words):
            answered = f"{self.endpoint.name} answered {status}: {error.message}"
            raise Unauthorised(f"{answered}. Leave out --reasoning-effort, or give one that {request.model!r} takes")
        fault = interpret_failure(
            status,
            exchange.headers,
            error,
            endpoint=self.endpoint,
            model=request.model,
            has_answered=self._answered_with is not None,
        )
        if status in BILLED_STATUSES or (isinstance(fault, Rejected) and fault.reason == "content_filter"):
            note_unreported()
        if isinstance(fault, ModelError):
            raise fault
        return replace(fault, unexplained=status in {500, 501})

    def key_header(self, name: str | None = None) -> dict[str, str]:
        """Return the header that holds the key, under another `name` if an interface wants that."""
        if self._key is None:
            return {}
        header, secret = name or self.endpoint.key_header, self._key.reveal()
        return {header: f"Bearer {secret}" if header == "Authorization" else secret}

    def redact(self, text: str) -> str:
        """Return `text` without the key and the values of further headers."""
        for secret in (*filter(None, (self._key,)), *self.extra.values.values()):
            text = secret.redact(text)
        return text


async def response_body(answer: aiohttp.ClientResponse) -> bytes:
    """Return an answer's body, or its beginning if it is too long."""
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > MOST_BYTES:
            answer.close()
            break
    return bytes(body[:MOST_BYTES])


def tls_problem(server: str, error: aiohttp.ClientSSLError) -> str:
    """Describe the problem of an encrypted connection, and its remedy."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return (
            f"{server}: its certificate cannot be verified ({error.certificate_error}). If you trust it, set SSL_CERT_FILE to a "
            "file with the certificate of its authority"
        )
    return (
        f"{server}: no encrypted connection ({error}). If the server speaks plain HTTP, its address begins with http://"
    )


def encode_body(body: dict[str, Any]) -> bytes:
    """Return a request's body as JSON. Half a character has no UTF-8 and is written as an escape."""
    try:
        return to_json(body)
    except ValueError:
        return json.dumps(body).encode()


class OpenAICompatibleModel(Model):
    """A model behind an endpoint that speaks OpenAI's chat completions.

    Parameters that the endpoint has refused are left out.
    """

    def __init__(self, name: str, client: EndpointClient) -> None:
        self.name, self.client = name, client
        self.endpoint = client.endpoint
        self.model = parse_model_name(name)[1]
        self.sends_to = self.endpoint.receiver
        self._passes_over_choice = False
        self._labels: dict[tuple[str, ...], Mapping[str, tuple[str, ...]] | None] = {}
        self._tokenizing = asyncio.Lock()

    def settings(self) -> dict[str, Any]:
        """Return the model's name, and the address of a remote endpoint: the ports of this machine change."""
        address = self.endpoint.base_url if self.endpoint.remote else "this machine"
        return {"model": self.name, "base_url": address, **self.client.extra.settings()}

    @property
    def takes(self) -> frozenset[str]:  # type: ignore[override]  # it changes with the endpoint's answers
        """Options that endpoints of its kind take and this one has not refused."""
        return self.client.can.takes | self.endpoint.takes

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        check_options(self.name, options, self.takes)

        def body(can: Capabilities) -> dict[str, Any]:
            if options.first_words and not can.logprobs:
                raise Rejected("no_logprobs", f"{self.endpoint.name} gives no log probabilities for {self.model!r}")
            asked = request_body(self.model, messages, options=options, can=can)
            return {**self.client.extra.fields, **asked}

        answer = await self.client.call(Request("chat/completions", self.model, body, read_reply))
        text = f"{options.prefill or ''}{answer.value.text}"
        reply = replace(answer.value, text=text, latency_s=answer.latency_s, attempts=answer.attempts)
        if not (options.one_word and self.client.can.choice):
            return reply
        chosen = mark_choice(reply, options.first_words, await self._labels_of(options.first_words))
        self._passes_over_choice |= bool(reply.text) and not chosen.forced
        return reply if self._passes_over_choice else chosen

    def notes(self) -> tuple[str, ...]:
        """Return a note if the server passes over the restriction to some words."""
        if not self._passes_over_choice:
            return ()
        sentence = f"{self.name} was asked for one of two labels, by a grammar, and replied with something else"
        return (f"{sentence}: a probability counts only where a label comes first.",)

    async def _labels_of(self, words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]] | None:
        """Return the tokens with which a reply of each word begins, as far as the server shows them; asked for once."""
        async with self._tokenizing:
            if words not in self._labels:
                first: dict[str, tuple[int, str]] = {}
                for spelling in chain.from_iterable(map(spellings, words)):
                    if (token := await self.client.first_token_of(self.model, spelling)) is None:
                        break
                    first[spelling] = token
                else:
                    self._labels[words] = label_texts(words, first)
                self._labels.setdefault(words, None)
        return self._labels[words]

    def label_tokens(self, words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        return self._labels.get(words) or {}

    def set_notifier(self, notify: Callable[[str], None]) -> None:
        self.client.set_notifier(notify)

    async def close(self) -> None:
        self._tokenizing = asyncio.Lock()  # of the next event loop
        await self.client.close()
