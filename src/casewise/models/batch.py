"""Batch interfaces: terms of the providers, requests, and the protocol of an interface."""

from __future__ import annotations

import asyncio
import json
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import lazy_loader

from casewise.errors import ConfigurationError, ModelError, Unavailable
from casewise.models.client import CONNECT_WITHIN_S, EndpointClient, Fault, cannot_connect, meaning
from casewise.models.endpoints import Endpoint
from casewise.models.wire import WrongShape, parsed, read_error

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")


# Limits and discounts of each provider's batch interface. `scripts/write_reference.py` makes a page of them.


Shape = Literal["openai", "together", "mistral", "anthropic", "gemini"]

MB = 1_000_000


@dataclass(frozen=True)
class Terms:
    """Limits of one batch, and the discount on the price.

    A discount that differs between models is 0 here, so that a limit on cost is kept.
    """

    source: str
    shape: Shape = "openai"
    most_requests: int = 50_000
    most_bytes: int = 200 * MB
    hours: int = 24
    """Hours until a batch that is not done expires."""
    discount: float = 0.5
    unverified: str = ""
    """Facts without documentation, in words."""


TERMS: dict[str, Terms] = {
    "openai": Terms("https://developers.openai.com/api/reference/resources/batches"),
    "azure": Terms(
        "https://learn.microsoft.com/en-us/azure/foundry/reference/rest/batches-create-batch",
        unverified="the discount",
    ),
    "groq": Terms(
        "https://console.groq.com/docs/batch",
        most_bytes=100 * MB,
        discount=0.25,
        unverified="the limits; the discount is the lowest that was documented",
    ),
    "together": Terms(
        "https://docs.together.ai/docs/inference/batch/overview",
        "together",
        most_bytes=100 * MB,
        discount=0.0,
        unverified="only some models have a discount, so costs are estimated without it",
    ),
    "mistral": Terms(
        "https://docs.mistral.ai/studio-api/batch-processing",
        "mistral",
        1_000_000,
        100 * MB,
        unverified="the limit in bytes",
    ),
    "anthropic": Terms(
        "https://platform.claude.com/docs/en/build-with-claude/batch-processing", "anthropic", 100_000, 256 * MB
    ),
    "google": Terms(
        "https://ai.google.dev/gemini-api/docs/batch-api",
        "gemini",
        most_bytes=19 * MB,
        hours=48,
        unverified="the limit in requests; requests go inline, so that a batch holds less than 20 MB",
    ),
}
"""By an endpoint's name."""

COMPATIBLE = Terms("", discount=0.0, unverified="everything: any server that speaks OpenAI's protocol")
"""A server of one's own, or a gateway."""


def terms_of(endpoint: Endpoint) -> Terms:
    """Return the terms of an endpoint's batch interface. Raises ConfigurationError: none is known."""
    terms = TERMS.get(endpoint.name) or (COMPATIBLE if endpoint.key_optional else None)
    if terms is None:
        raise ConfigurationError(
            f"{endpoint.name} is not known to have a batch interface; remove --batch, or use {', '.join(TERMS)} or a "
            "server of your own (--base-url)"
        )
    return terms


# Requests to a batch interface. A repeatable request is tried again. For others an error tells whether the provider
# may have accepted them.


GONE = frozenset({404, 410})


class NobodyKnows(Exception):
    """A request that must not be repeated was sent, and no answer tells whether it was accepted."""


class Gone(Exception):
    """The requested resource no longer exists."""


class BatchWire:
    """The requests of a batch interface, with the endpoint, key and retries of a client."""

    def __init__(self, client: EndpointClient, *, model: str, base_url: str, headers: Mapping[str, str]) -> None:
        self.client, self.model, self.base_url = client, model, base_url
        self.name = client.endpoint.name
        self._headers = dict(headers)
        self._rng = random.Random()  # noqa: S311 - spreads retries; no result depends on it
        self._session: aiohttp.ClientSession | None = None
        self._ahead = timedelta()

    def by_our_clock(self, at: datetime | None) -> datetime | None:
        """Convert a moment of the server's clock to this machine's, by the date of its last answer."""
        return at and at - self._ahead

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON at `path`."""
        return await self._send("GET", path, repeatable=True)

    async def post(self, path: str, body: bytes | Mapping[str, Any]) -> dict[str, Any]:
        """Post a JSON `body` once, and return the JSON answer. Raises NobodyKnows: it may have been accepted."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._send("POST", path, data, repeatable=False)

    async def upload(self, path: str, *, name: str, content: bytes, fields: Mapping[str, str]) -> dict[str, Any]:
        """Upload a file of JSON lines. A repeated upload costs nothing."""

        def form() -> aiohttp.FormData:  # it can be sent once
            form_data = aiohttp.FormData(dict(fields))
            form_data.add_field("file", content, filename=name, content_type="application/jsonl")
            return form_data

        return await self._send("POST", path, form, repeatable=True)

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the records of a file of JSON lines as they arrive. A line that is not JSON is skipped if others are JSON.

        Raises Gone: the file no longer exists; Unavailable: it was cut off, or none of it is JSON.
        """
        async with await self._answer("GET", path) as answer:
            if answer.status in GONE:
                raise Gone(path)
            if answer.status >= 300:
                raise Unavailable(f"{self.name} answered {answer.status} for its results; they stay at the provider")
            rest, has_good, damaged = b"", False, None
            try:
                async for piece in answer.content.iter_any():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, whole):
                        try:
                            record = self._read(line)
                        except Unavailable as error:
                            damaged = error
                        else:
                            has_good = True
                            yield record
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unavailable(
                    f"{self.name}: its results were cut off ({error}); they stay at the provider"
                ) from error
            if rest.strip():
                yield self._read(rest)
            elif damaged is not None and not has_good:
                raise damaged

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(
        self, method: str, path: str, data: bytes | Callable[[], aiohttp.FormData] | None = None, *, repeatable: bool
    ) -> dict[str, Any]:
        policy, attempt = self.client.options.retry, 0
        while True:
            attempt += 1
            outcome = await self._try(method, path, data() if callable(data) else data, repeatable=repeatable)
            if not isinstance(outcome, Fault):
                return outcome
            if attempt > policy.retries:
                raise Unavailable(f"{outcome.message} (tried {attempt} times)")
            await asyncio.sleep(policy.wait_s(attempt, requested_s=outcome.wait_s, rng=self._rng))

    async def _try(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None, *, repeatable: bool
    ) -> dict[str, Any] | Fault:
        try:
            async with await self._answer(method, path, data) as answer:
                status, headers = answer.status, answer.headers
                text = self.client.redact((await answer.read()).decode("utf-8", errors="replace"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            detail = "no answer" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
            problem = self.client.redact(f"{self.name} at {self.base_url}: {detail}")
            if repeatable or cannot_connect(error):
                return Fault(problem)
            raise NobodyKnows(problem) from error
        if method == "GET" and status in GONE:
            raise Gone(path)
        if status < 300:
            try:
                return parsed(text)
            except WrongShape as error:
                fault: Fault | ModelError = Fault(f"{self.name}: {error}")
        else:
            fault = meaning(status, headers, read_error(text), endpoint=self.client.endpoint, model=self.model)
        if isinstance(fault, ModelError):
            raise fault
        if not repeatable and not fault.overloaded:
            raise NobodyKnows(fault.message)
        return fault

    async def _answer(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None = None
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            patience = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_WITHIN_S, sock_read=self.client.options.timeout_s
            )
            self._session = aiohttp.ClientSession(
                timeout=patience, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
            )
        answer = await self._session.request(
            method,
            path if path.startswith("http") else f"{self.base_url}/{path}",
            data=data,
            headers={"Content-Type": "application/json"} if isinstance(data, bytes) else {},
            proxy=self.client.proxy,
            # aiohttp removes only `Authorization` on a redirect to another host: no other key may be redirected.
            allow_redirects=method == "GET" and "Authorization" in self._headers,
        )
        with suppress(ValueError, TypeError):
            self._ahead = parsedate_to_datetime(answer.headers.get("Date", "")) - datetime.now(UTC)
        return answer

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            return parsed(self.client.redact(line.decode("utf-8-sig", errors="replace")))
        except WrongShape as problem:
            raise Unavailable(f"{self.name}: a line of its results is not JSON ({problem})") from problem


# A batch interface: requests in, an id back, and after hours the result of each request.
#
# line ──▶ upload ──▶ create ──id──▶ look … look ──▶ results
#                       │ no answer?
#                       └──▶ find, by the mark of the job


State = Literal["waiting", "completed", "expired", "cancelled", "failed"]


@dataclass(frozen=True)
class HandedJob:
    """A batch job as this side knows it, whether or not the provider has it."""

    mark: str
    """Unique; the name of every request begins with it."""
    model: str
    path: str
    """The path that each request would have been posted to."""
    names: Sequence[str]
    at: datetime
    file: str | None = None
    """Id of the uploaded requests."""
    known: frozenset[str] = frozenset()
    """Ids of batches that belong to other jobs of this run."""


@dataclass(frozen=True)
class SeenBatch:
    """The state of a batch at the provider."""

    id: str
    state: State
    expires: datetime | None = None
    words: str = ""
    """The provider's description of a failure."""
    n_done: int | None = None
    size: int | None = None
    """Number of requests, if the interface reports it."""
    created: datetime | None = None

    @property
    def has_ended(self) -> bool:
        """True if no more results will come."""
        return self.state != "waiting"


class Landed(NamedTuple):
    """The result of one request: a status and a body, as a call has them."""

    name: str
    status: int
    text: str


OTHER_SHAPE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
"""Errors of reading an answer with other keys, or other kinds of values, than its documentation describes."""


@contextmanager
def of_known_shape(provider: str, error: type[Exception] = Unavailable) -> Iterator[None]:
    """Raise an `error` if the block cannot read an answer."""
    try:
        yield
    except OTHER_SHAPE as problem:
        detail = f"{type(problem).__name__}: {problem}"
        raise error(f"{provider} sent an answer that does not match its documentation ({detail})") from problem


def landed_by(read: Callable[[Mapping[str, Any]], Landed], line: Mapping[str, Any]) -> Landed:
    """Return the result of one request; an unreadable line is a fault that can be tried again, and costs no other request."""
    try:
        landed = read(line)
    except OTHER_SHAPE:
        return Landed("", 500, json.dumps(line))
    return landed if 200 <= landed.status < 600 else landed._replace(status=500)


CLOCKS_DIFFER = timedelta(minutes=5)


class BatchInterface(ABC):
    """One provider's interface, over a wire."""

    uploads = False
    """True if requests are uploaded as a file first: without its id no batch can exist."""
    batches = "batches"
    """Path of the batches."""
    next_page: tuple[str, str] | None = None
    """Query of a page of the listing, and the parameter of the next one; None if the listing has one page."""
    most_pages: int | None = None
    """Maximum number of pages of a listing that are read."""

    def __init__(self, wire: BatchWire, terms: Terms) -> None:
        self.wire, self.terms = wire, terms

    @abstractmethod
    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        """Return the request of a chat completion in the form of this interface.

        Raises Rejected: the interface cannot express it.
        """

    async def upload(self, _job: HandedJob, _lines: Sequence[bytes]) -> str | None:
        """Upload the requests, and return the file's id; None if they go with `create`."""
        return None

    @abstractmethod
    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:
        """Hand the job over. Raises NobodyKnows: it may have been accepted. ModelError: it was not."""

    @abstractmethod
    def seen(self, record: Mapping[str, Any]) -> SeenBatch:
        """Return the state of a batch from the provider's record of it."""

    @abstractmethod
    def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        """Yield the results of a batch's requests, in any order."""

    async def look(self, batch: str) -> SeenBatch:
        """Return the state of a batch."""
        return self.seen(await self.wire.get(f"{self.batches}/{batch}"))

    async def listed(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the records of the account's batches, the newest first."""
        query, parameter = self.next_page or ("", "")
        after, n_pages = "", 0
        while self.most_pages is None or n_pages < self.most_pages:
            page = await self.wire.get(f"{self.batches}{query}{after}")
            records = page.get("data") or page.get("operations") or page.get("batches") or ()
            for record in records:
                yield record
            token = page.get("nextPageToken") or (records[-1]["id"] if records and page.get("has_more") else None)
            if not token or not parameter:
                return
            after, n_pages = f"&{parameter}={token}", n_pages + 1

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        """Return the batch of a job by the names of its requests; `perhaps` if one may be it and is not done yet.

        Results alone have names. The names of other runs never begin with this run's mark, so no batch of theirs is taken.
        """
        perhaps: Literal["perhaps"] | None = None
        async with aclosing(self.listed()) as records:
            async for record in records:
                batch = self.seen(record)
                created = self.wire.by_our_clock(batch.created)
                if created is not None and created < job.at - CLOCKS_DIFFER:
                    break
                if batch.id in job.known or batch.size not in (None, len(job.names)):
                    continue
                if not batch.has_ended:
                    perhaps = "perhaps"
                    continue
                async with aclosing(self.results(batch.id)) as results:
                    async for landed in results:
                        if landed.name in job.names:
                            return batch
                        break
        return perhaps
