"""Batch interfaces: their protocol, requests and terms."""

from __future__ import annotations

import asyncio
import json
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

import lazy_loader

from casewise.errors import ConfigurationError, ModelError, Unavailable
from casewise.models.client import CONNECT_WITHIN_S, EndpointClient, Fault, cannot_connect, meaning
from casewise.models.endpoints import Endpoint
from casewise.models.wire import WrongShape, parsed, read_error

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")


# What each provider's batch interface takes and what it costs. `scripts/write_reference.py` makes a page of it.


Shape = Literal["openai", "together", "mistral", "anthropic", "gemini", "openrouter"]

MB = 1_000_000


@dataclass(frozen=True)
class Terms:
    """Limits of one batch, and what is taken off the price.

    A discount that is not the same for every model is 0 here, so that no limit on cost is passed.
    """

    shape: Shape
    most_requests: int
    most_bytes: int
    hours: int
    """After so long a batch that is not done expires."""
    discount: float
    source: str
    unverified: str = ""
    """What no documentation was found for, in words."""


TERMS: dict[str, Terms] = {
    "openai": Terms(
        "openai", 50_000, 200 * MB, 24, 0.5, "https://developers.openai.com/api/reference/resources/batches"
    ),
    "azure": Terms(
        "openai",
        50_000,
        200 * MB,
        24,
        0.5,
        "https://learn.microsoft.com/en-us/azure/foundry/reference/rest/batches-create-batch",
        "the discount",
    ),
    "groq": Terms(
        "openai",
        50_000,
        100 * MB,
        24,
        0.25,
        "https://console.groq.com/docs/batch",
        "the limits; the discount is the lowest that was documented",
    ),
    "together": Terms(
        "together",
        50_000,
        100 * MB,
        24,
        0.0,
        "https://docs.together.ai/docs/inference/batch/overview",
        "only some models have a discount, so costs are estimated without it",
    ),
    "mistral": Terms(
        "mistral",
        1_000_000,
        100 * MB,
        24,
        0.5,
        "https://docs.mistral.ai/studio-api/batch-processing",
        "the limit in bytes",
    ),
    "anthropic": Terms(
        "anthropic",
        100_000,
        256 * MB,
        24,
        0.5,
        "https://platform.claude.com/docs/en/build-with-claude/batch-processing",
    ),
    "google": Terms(
        "gemini",
        50_000,
        19 * MB,
        48,
        0.5,
        "https://ai.google.dev/gemini-api/docs/batch-api",
        "the limit in requests; requests go inline, so that a batch holds less than 20 MB",
    ),
    "openrouter": Terms(
        "openrouter",
        10_000,
        50 * MB,
        24,
        0.0,
        "https://openrouter.ai/docs/batch-quickstart",
        "limits in requests and bytes; the provider sets the discount, so costs are estimated without it",
    ),
}
"""By an endpoint's name."""

COMPATIBLE = Terms("openai", 50_000, 200 * MB, 24, 0.0, "", "everything: any server that speaks OpenAI's protocol")
"""A server of one's own, or a gateway."""


def terms_of(endpoint: Endpoint) -> Terms:
    """The terms of an endpoint's batch interface. Raises ConfigurationError: it is not known to have one."""
    terms = TERMS.get(endpoint.name) or (COMPATIBLE if endpoint.key_optional else None)
    if terms is None:
        raise ConfigurationError(
            f"{endpoint.name} is not known to have a batch interface; remove --batch, or use {', '.join(TERMS)} or a "
            "server of your own (--base-url)"
        )
    return terms


# Requests to a batch interface. What may be repeated is repeated; of what may not, it is said whether anybody
# knows what became
# of it.


GONE = frozenset({404, 410})


class NobodyKnows(Exception):
    """A request that must not be repeated was sent, and no answer tells whether it was accepted."""


class Gone(Exception):
    """What was asked for is not there any more."""


class BatchWire:
    """A client's endpoint, key and patience, for the requests that batches take."""

    def __init__(self, client: EndpointClient, *, model: str, base_url: str, headers: Mapping[str, str]) -> None:
        self.client, self.model, self.base_url = client, model, base_url
        self._headers = dict(headers)
        self._rng = random.Random()  # noqa: S311 - spreads retries; no result depends on it
        self._session: aiohttp.ClientSession | None = None
        self._ahead = timedelta()

    def by_our_clock(self, at: datetime | None) -> datetime | None:
        """A moment of the other side's by our clock, as far as its last answer was dated."""
        return at and at - self._ahead

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON at `path`."""
        return await self._send("GET", path, repeatable=True)

    async def post(self, path: str, body: bytes | Mapping[str, Any], *, repeatable: bool = False) -> dict[str, Any]:
        """The JSON that answers a JSON `body`. Raises NobodyKnows: it is not repeatable, and may have been accepted."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._send("POST", path, data=data, repeatable=repeatable)

    async def upload(self, path: str, *, name: str, content: bytes, fields: Mapping[str, str]) -> dict[str, Any]:
        """Upload a file. Repeated, it lies there twice and costs nothing."""
        return await self._send("POST", path, file=(name, content, fields), repeatable=True)

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """A file of JSON lines, as it comes; a line among others that is no JSON is passed over, and its request not answered.

        Raises Gone: it is there no more; Unavailable: it was cut off, or none of it is JSON.
        """
        answer = await self._answer("GET", path)
        async with answer:
            if answer.status in GONE:
                raise Gone(path)
            if answer.status >= 300:
                raise Unavailable(
                    f"{self.client.endpoint.name} answered {answer.status} for its results; they stay at the provider"
                )
            rest, good, damaged = b"", False, None
            try:
                async for piece in answer.content.iter_any():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, whole):
                        try:
                            record = self._read(line)
                        except Unavailable as error:
                            damaged = error
                        else:
                            good = True
                            yield record
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unavailable(
                    f"{self.client.endpoint.name}: its results were cut off ({error}); they stay at the provider"
                ) from error
            if rest.strip():
                yield self._read(rest)
            elif damaged is not None and not good:
                raise damaged

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(
        self,
        method: str,
        path: str,
        *,
        data: bytes | None = None,
        file: tuple[str, bytes, Mapping[str, str]] | None = None,
        repeatable: bool,
    ) -> dict[str, Any]:
        policy, attempt = self.client.options.retry, 0
        while True:
            attempt += 1
            outcome = await self._try(method, path, data if file is None else form(*file), repeatable=repeatable)
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
            if repeatable or cannot_connect(error):
                return Fault(self._said(error))
            raise NobodyKnows(self._said(error)) from error
        if method == "GET" and status in GONE:
            raise Gone(path)
        if status < 300:
            try:
                return parsed(text)
            except WrongShape as problem:
                fault: Fault | ModelError = Fault(f"{self.client.endpoint.name}: {problem}")
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
        address = path if path.startswith("http") else f"{self.base_url}/{path}"
        kind = {"Content-Type": "application/json"} if isinstance(data, bytes) else {}
        # To another host aiohttp takes no `Authorization` along, but every other header: a key that stands in one of those stays here.
        led_on = method == "GET" and "Authorization" in self._headers
        answer = await self._open().request(
            method, address, data=data, headers=kind, proxy=self.client.proxy, allow_redirects=led_on
        )
        with suppress(ValueError, TypeError):
            self._ahead = parsedate_to_datetime(answer.headers.get("Date", "")) - datetime.now(UTC)
        return answer

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            patience = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_WITHIN_S, sock_read=self.client.options.timeout_s
            )
            self._session = aiohttp.ClientSession(
                timeout=patience, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
            )
        return self._session

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            return parsed(self.client.redact(line.decode("utf-8-sig", errors="replace")))
        except WrongShape as problem:
            raise Unavailable(
                f"{self.client.endpoint.name}: a line of its results is not JSON ({problem})"
            ) from problem

    def _said(self, error: BaseException) -> str:
        problem = "no answer" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
        return self.client.redact(f"{self.client.endpoint.name} at {self.base_url}: {problem}")


def form(name: str, content: bytes, fields: Mapping[str, str]) -> aiohttp.FormData:
    """A file with its fields; made anew for every try, since it can be sent once."""
    form_data = aiohttp.FormData(dict(fields))
    form_data.add_field("file", content, filename=name, content_type="application/jsonl")
    return form_data


# What a batch interface is to a run: requests in, an id back, and after hours what came of each request.
#
# line ──▶ upload ──▶ create ──id──▶ look … look ──▶ results
#                       │ no answer?
#                       └──▶ find, by the mark that the job bears


State = Literal["waiting", "completed", "expired", "cancelled", "failed"]


def has_ended(state: State) -> bool:
    """Whether nothing more will come of a batch in this state."""
    return state != "waiting"


@dataclass(frozen=True)
class HandedJob:
    """A batch job as this side knows it, whether or not the other side does."""

    mark: str
    """Ours alone, and its beginning that of every request's name."""
    model: str
    path: str
    """What each request would have been posted to."""
    names: Sequence[str]
    at: datetime
    file: str | None = None
    """Of the uploaded requests, where they are uploaded."""
    known: frozenset[str] = frozenset()
    """Ids that belong to other jobs of this run."""

    @property
    def run(self) -> str:
        """What all jobs of one run are marked with."""
        return self.mark.partition("-")[0]


@dataclass(frozen=True)
class SeenBatch:
    """How a batch stands."""

    id: str
    state: State
    expires: datetime | None = None
    words: str = ""
    """What the provider says of a failure."""
    n_done: int | None = None


@dataclass(frozen=True)
class Landed:
    """What came of one request: a status, and the body that it has or would have had as a call."""

    name: str
    status: int
    text: str


OTHER_SHAPE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
"""What reading an answer raises that has other keys, or other kinds of values under them, than its documentation says."""


@contextmanager
def of_known_shape(provider: str, error: type[Exception] = Unavailable) -> Iterator[None]:
    """An answer that the block cannot read is an `error` that says so."""
    try:
        yield
    except OTHER_SHAPE as problem:
        detail = f"{type(problem).__name__}: {problem}"
        raise error(f"{provider} sent an answer that does not match its documentation ({detail})") from problem


def landed_by(read: Callable[[Mapping[str, Any]], Landed], line: Mapping[str, Any]) -> Landed:
    """What came of one request; where nobody can tell, a fault that another try may cure, so that it costs no other request."""
    try:
        landed = read(line)
    except OTHER_SHAPE:
        return Landed("", 500, json.dumps(line))
    return landed if 200 <= landed.status < 600 else replace(landed, status=500)


class BatchInterface(ABC):
    """One provider's interface, spoken over a wire."""

    uploads = False
    """Whether requests are uploaded as a file first: without its id no batch can have been made."""

    def __init__(self, wire: BatchWire, terms: Terms) -> None:
        self.wire, self.terms = wire, terms

    @abstractmethod
    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        """A chat completion's request as this interface wants it.

        Raises Rejected: it has no words for what is asked.
        """

    async def upload(self, job: HandedJob, lines: Sequence[bytes]) -> str | None:  # noqa: ARG002  (most send them inline)
        """Upload the requests; the file's id, or None where they go with `create`."""
        return None

    @abstractmethod
    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:
        """Hand the job over. Raises NobodyKnows: it may have been accepted. ModelError: it was not."""

    @abstractmethod
    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        """The batch that bears the job's mark; `perhaps` where one may be it, and will only be known by its results."""

    @abstractmethod
    async def look(self, batch: str) -> SeenBatch:
        """How a batch stands."""

    @abstractmethod
    def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        """What came of its requests, in any order."""


CLOCKS_DIFFER = timedelta(minutes=5)


async def found_by_names(
    job: HandedJob,
    listed: AsyncIterator[tuple[SeenBatch, int, datetime | None]],
    results: Callable[[str], AsyncGenerator[Landed, None]],
) -> SeenBatch | Literal["perhaps"] | None:
    """The batch whose requests bear the job's names.

    Names are shown with the results only: a batch that may be it and is not done yet is `perhaps` it. Those of other runs never
    have the run's mark before their names, so that nothing of theirs is taken.

    `listed`: the account's batches, the newest first, each with how many requests it holds and when it was made.
    `results`: what came of a batch's requests.
    """
    perhaps: Literal["perhaps"] | None = None
    async for batch, size, made_at in listed:
        if made_at is not None and made_at < job.at - CLOCKS_DIFFER:
            break
        if batch.id in job.known or size != len(job.names):
            continue
        if not has_ended(batch.state):
            perhaps = "perhaps"
        elif await first_name(results(batch.id)) in job.names:
            return batch
    return perhaps


async def first_name(results: AsyncGenerator[Landed, None]) -> str | None:
    async with aclosing(results) as opened:
        async for landed in opened:
            return landed.name
    return None
