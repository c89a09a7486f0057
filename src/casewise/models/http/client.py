"""Posting to an endpoint: connections are reused, what may pass is tried again, and the number of calls under way adapts.

What is posted and how the answer reads is the business of whoever calls.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

import lazy_loader
from pydantic_core import to_json

from casewise.errors import ModelError, Unavailable
from casewise.models.http.capabilities import Capabilities
from casewise.models.http.concurrency import AdaptiveGate
from casewise.models.http.endpoints import Endpoint, Key
from casewise.models.http.outage import CONNECT_WITHIN_S, LONGEST_OUTAGE_S, Outage
from casewise.models.http.retry import Fault, RetryPolicy, meaning
from casewise.models.http.wire import WrongShape, read_error
from casewise.models.protocol import Rejected

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")

__all__ = ["ClientOptions", "Collected", "EndpointClient", "Exchange", "Request", "ToAskAgain", "cannot_connect"]

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

    concurrency: int = 32
    timeout_s: float = 120.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    longest_outage_s: float = LONGEST_OUTAGE_S
    """How long a server is waited for that answered before and cannot be connected to."""


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

    def _collected(self, found: Collected, request: Request[T]) -> Called[T]:
        outcome = self._read(found.exchange, request.body(found.asked_as), request)
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
        found = meaning(status, exchange.headers, error, endpoint=self.endpoint, model=request.model)
        if isinstance(found, ModelError):
            raise found
        return found

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
