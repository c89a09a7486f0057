"""What a batch interface is to a run: requests in, an id back, and after hours what came of each request.

line ──▶ upload ──▶ create ──id──▶ look … look ──▶ results
                      │ no answer?
                      └──▶ find, by the mark that the job bears
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from casewise.errors import Unavailable
from casewise.models.batch.terms import Terms
from casewise.models.batch.wire import BatchWire

__all__ = [
    "BatchInterface",
    "HandedJob",
    "Landed",
    "SeenBatch",
    "State",
    "found_by_names",
    "has_ended",
    "landed_by",
    "of_known_shape",
]

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
        what = f"{type(problem).__name__}: {problem}"
        raise error(f"{provider} answered in another shape than its documentation says ({what})") from problem


def landed_by(read: Callable[[Mapping[str, Any]], Landed], line: Mapping[str, Any]) -> Landed:
    """What came of one request; where nobody can tell, a fault that another try may cure, so that it costs no other request."""
    try:
        found = read(line)
    except OTHER_SHAPE:
        return Landed("", 500, json.dumps(line))
    return found if 200 <= found.status < 600 else replace(found, status=500)


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
    async for batch, size, made in listed:
        if made is not None and made < job.at - CLOCKS_DIFFER:
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
        async for one in opened:
            return one.name
    return None
