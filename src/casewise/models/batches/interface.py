"""A batch interface: requests in, an id back, and after hours the result of each request.

line ──▶ upload ──▶ create ──id──▶ look … look ──▶ results
                      │ no answer?
                      └──▶ find, by the mark of the job
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from casewise.errors import ConfigurationError, Unavailable
from casewise.models.batches.terms import Terms
from casewise.models.batches.wire import BatchWire
from casewise.storage.batch_jobs import BatchJob

State = Literal["waiting", "completed", "expired", "cancelled", "failed", "gone"]


@dataclass(frozen=True)
class BatchStatus:
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


class BatchResult(NamedTuple):
    """The result of one request: the status and the body of an HTTP answer."""

    name: str
    status: int
    text: str


SHAPE_ERRORS = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
"""Errors of reading an answer with other keys, or other kinds of values, than its documentation describes."""


@contextmanager
def documented_shape(provider: str, error: type[Exception] = Unavailable) -> Iterator[None]:
    """Raise an `error` if the block cannot read an answer."""
    try:
        yield
    except SHAPE_ERRORS as problem:
        detail = f"{type(problem).__name__}: {problem}"
        raise error(f"{provider} sent an answer that does not match its documentation ({detail})") from problem


def read_result(read: Callable[[Mapping[str, Any]], BatchResult], line: Mapping[str, Any]) -> BatchResult:
    """Return the result of one request; an unreadable line is a fault that can be tried again, and costs no other request."""
    try:
        result = read(line)
    except SHAPE_ERRORS:
        return BatchResult("", 500, json.dumps(line))
    return result if 200 <= result.status < 600 else result._replace(status=500)


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

    async def upload(self, _job: BatchJob, _lines: Sequence[bytes]) -> str | None:
        """Upload the requests, and return the file's id; None if they go with `create`."""
        return None

    @abstractmethod
    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> BatchStatus:
        """Submit the job. Raises AcceptanceUnknown: it may have been accepted. ModelError: it was not."""

    @abstractmethod
    def parse_status(self, record: Mapping[str, Any]) -> BatchStatus:
        """Return the state of a batch from the provider's record of it."""

    @abstractmethod
    def results(self, batch: str) -> AsyncGenerator[BatchResult, None]:
        """Yield the results of a batch's requests, in any order."""

    async def get_status(self, batch: str) -> BatchStatus:
        """Return the state of a batch."""
        return self.parse_status(await self.wire.get(f"{self.batches}/{batch}"))

    async def list_records(self) -> AsyncGenerator[Mapping[str, Any], None]:
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

    async def find(self, job: BatchJob, others: Collection[str]) -> BatchStatus | Literal["perhaps"] | None:
        """Return the batch of a job by the names of its requests; `perhaps` if one may be it and is not done yet.

        Results alone have names. The names of other runs never begin with this run's mark, so no batch of theirs is taken.

        `others`: ids of batches that belong to other jobs of this run.
        """
        perhaps: Literal["perhaps"] | None = None
        async with aclosing(self.list_records()) as records:
            async for record in records:
                batch = self.parse_status(record)
                created = self.wire.by_our_clock(batch.created)
                if created is not None and created < job.intended.at - CLOCKS_DIFFER:
                    break
                if batch.id in others or batch.size not in (None, len(job.intended.names)):
                    continue
                if not batch.has_ended:
                    perhaps = "perhaps"
                    continue
                async with aclosing(self.results(batch.id)) as results:
                    async for result in results:
                        if result.name in job.intended.names:
                            return batch
                        break
        return perhaps


# Reading and writing what several providers have in common.


STATES: Mapping[str, State] = {
    "completed": "completed",
    "succeeded": "completed",
    "success": "completed",
    "ended": "completed",
    "expired": "expired",
    "timeout_exceeded": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The providers' words for a batch that has ended, in lower case."""


def state_of(word: Any) -> State:
    """Return the state that a provider's word means: Gemini writes `BATCH_STATE_…`, in some versions `JOB_STATE_…`."""
    return STATES.get(str(word).rpartition("STATE_")[2].lower(), "waiting")


def failure_words(errors: Any) -> str:
    """Return a provider's description of a batch's failure."""
    if not errors:
        return ""
    listed = errors.get("data") if isinstance(errors, Mapping) and "data" in errors else errors
    first = (listed[0] if listed else "") if isinstance(listed, list) else listed
    if isinstance(first, Mapping):
        return " ".join(str(first[key]) for key in ("code", "message") if first.get(key))[:300]
    return str(first)[:300]


def optional_count(value: Any) -> int | None:
    """Return a count, which some providers write as text; None if it is none."""
    return int(value) if str(value).isdecimal() else None


def parse_time(value: Any) -> datetime | None:
    """Return a time given in seconds since 1970 or in ISO format (UTC by default); None if it is none."""
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
        parsed_time = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)


TRANSLATED = frozenset({"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed"}) | {
    "response_format"
}
"""Fields of a request that have their place in every interface."""


def split_system(body: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the turns of a chat completion's request, and the texts of its system messages.

    Raises ConfigurationError: the request has fields that cannot be written in another protocol's words.
    """
    if others := sorted(body.keys() - TRANSLATED):
        raise ConfigurationError(
            f"{', '.join(others)} cannot be sent over this batch interface, which has a protocol of its own; leave it out, or "
            "leave out --batch"
        )
    turns = [message for message in body["messages"] if message["role"] != "system"]
    return turns, [message["content"] for message in body["messages"] if message["role"] == "system"]


def completion(
    model: Any, text: str, finish_reason: Any, usage: Mapping[str, Any], reasoning: str | None = None
) -> dict[str, Any]:
    """Return a chat completion."""
    message = {"content": text} if reasoning is None else {"content": text, "reasoning": reasoning}
    return {
        "model": model,
        "choices": [{"message": message, "finish_reason": finish_reason}],
        "usage": dict(usage),
    }


def join_texts(parts: Sequence[Mapping[str, Any]], key: str = "text") -> str:
    return "".join(str(part.get(key) or "") for part in parts)
