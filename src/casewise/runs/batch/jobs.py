"""The jobs of a run: handed over, looked for where nobody knows, looked at, and their results kept.

Every step is on the disk before the next: the intent before the upload, the id after it. What nobody knows is out until a
listing says otherwise, so that no request is paid for twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from casewise.errors import ModelError, Unavailable
from casewise.models.batch.interface import BatchInterface, HandedJob, Landed, SeenBatch, has_ended, of_known_shape
from casewise.models.batch.wire import Gone, NobodyKnows
from casewise.models.http.capabilities import Capabilities
from casewise.models.http.retry import is_retried
from casewise.runs.limits import Budget, Spend
from casewise.storage.runs.batch_jobs import BatchJob, JobEvent, JobLog, ResultPlace, What

__all__ = ["BatchOptions", "Desk", "Lot", "is_too_much", "reserved"]

QUEUE_FULL = re.compile(r"token[ _]limit[ _]exceeded|enqueued|queue", re.IGNORECASE)
"""What a provider says of a batch that it accepted and then found to be too much for now."""

LOOKED_FOR = timedelta(hours=48)
"""How long a job is looked for that was given up for lost."""


@dataclass(frozen=True)
class BatchOptions:
    """How batches are handed over and waited for; nothing that an answer depends on."""

    wait: bool = False
    """Stay until all is answered, rather than hand over, collect what is ready, and end."""
    tries: int = 3
    """Batches that a request is put into at most, where none brings an answer."""
    first_look_s: float = 1.0
    longest_look_s: float = 60.0
    lost_after_s: float = 300.0
    """How long a job that no listing shows may yet appear there; then its requests are handed over again."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass
class Lot:
    """Requests that become one job."""

    model: str = ""
    path: str = ""
    names: list[str] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    n_bytes: int = 0
    most: Spend = field(default_factory=Spend)

    def fits(self, line: bytes, *, requests: int, n_bytes: int) -> bool:
        """Whether one more request would still be within a batch's limits."""
        return len(self.names) < requests and self.n_bytes + len(line) + 2 <= n_bytes

    def add(self, name: str, line: bytes, most: Spend) -> None:
        """Take in a request, and what it can take."""
        self.names.append(name)
        self.lines.append(line)
        self.n_bytes += len(line) + 2
        self.most += most


class Results:
    """Results by request, in the order in which they came; and how often a request was asked for nothing."""

    def __init__(self, log: JobLog) -> None:
        self.log = log
        self._places: dict[str, list[ResultPlace]] = {}
        self._asked: Counter[str] = Counter()
        self.earlier = frozenset(mark for mark, job in log.jobs.items() if job.stands == "ended")
        """Jobs whose results came in earlier sessions."""
        for job in log.jobs.values():
            if job.stands == "ended":
                self.take_in(job)

    def take_in(self, job: BatchJob) -> tuple[str, ...]:
        """Take in the results of a job that has ended; the names of those that had a good one before."""
        late = []
        for name in job.intended.names:
            self._asked[name] += 1
        for name, place in self.log.places(job.mark):
            if is_retried(place.status):
                continue  # another try may bring more
            there = self._places.setdefault(name, [])
            if place.status == 200 and any(one.status == 200 for one in there):
                late.append(name)
            there.append(place)
        return tuple(late)

    def of(self, name: str) -> Iterable[ResultPlace]:
        """The results of a request that may be its answer."""
        return self._places.get(name, ())

    def asked(self, name: str) -> int:
        """In how many jobs that ended it was."""
        return self._asked[name]


@dataclass
class Desk:
    """One session's work on the jobs of a run."""

    interface: BatchInterface
    log: JobLog
    options: BatchOptions
    budget: Budget
    can: Capabilities
    priced: bool
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self.run, self.results = self.log.run, Results(self.log)
        for job in self.unsettled():
            self.budget.set_aside(reserve(job))
        self.out = {name for job in self.unsettled() for name in job.intended.names}

    def unsettled(self) -> list[BatchJob]:
        """Jobs whose requests may be answered yet."""
        return [job for job in self.log.jobs.values() if job.unsettled]

    @property
    def provider(self) -> str:
        return self.interface.wire.client.endpoint.name

    @property
    def most_requests(self) -> int:
        """What a job may hold: half of what was too much for the provider's queue."""
        refused = [len(job.intended.names) for job in self.log.jobs.values() if is_too_much(job)]
        return min(self.interface.terms.most_requests, *(max(1, n // 2) for n in refused), 10**9)

    async def recover(self) -> list[BatchJob]:
        """Look for jobs of which nobody knows whether they were accepted; those that are lost."""
        since = self.options.now() - LOOKED_FOR
        jobs = [job for job in self.log.jobs.values() if job.stands in ("intended", "uploaded", "lost")]
        lost = [await self.looked_for(job) for job in jobs if job.unsettled or job.intended.at > since]
        return [job for job in lost if job is not None]

    async def looked_for(self, job: BatchJob) -> BatchJob | None:
        """Find a job in the provider's listing; the job, where it is lost."""
        uploaded = job.file is not None or not self.interface.uploads
        try:
            with of_known_shape(self.provider):
                found = await self.interface.find(self.handed(job)) if uploaded else None
        except (Unavailable, Gone) as error:
            self.say(f"a batch of {len(job.intended.names):,} requests cannot be looked for: {error}")
            return None
        if isinstance(found, SeenBatch):
            if job.stands == "lost":
                self.budget.set_aside(reserve(job))
            self.accepted(job, found)
            self.say(f"found again: batch {found.id} of {len(job.intended.names):,} requests")
        elif found is None and job.stands != "lost":
            age = (self.options.now() - job.intended.at).total_seconds()
            if not uploaded or age > self.options.lost_after_s:
                self.settled(job, "lost")
                return job
        return None

    async def look(self) -> list[BatchJob]:
        """See how the jobs stand that are out; those that have ended, their results kept."""
        ended = []
        for job in [job for job in self.unsettled() if job.batch is not None]:
            try:
                if await self.has_come(job, str(job.batch)):
                    ended.append(job)
            except Unavailable as error:
                self.say(f"batch {job.batch}: {error}")
        return ended

    async def has_come(self, job: BatchJob, batch: str) -> bool:
        try:
            with of_known_shape(self.provider):
                seen = await self.interface.look(batch)
            if not has_ended(seen.state):
                if seen.n_done is not None and seen.n_done != job.n_done:
                    self.note(job, "seen", n_done=seen.n_done, state=seen.state)
                return False
            with of_known_shape(self.provider):
                await self.log.keep_results(job.mark, kept(self.interface.results(batch)))
        except Gone:
            seen = SeenBatch(batch, "expired", words="the provider has it no more")
        job.state, job.words = seen.state, seen.words
        if is_too_much(job):
            self.settled(job, "refused", state=seen.state, words=seen.words)
            return True
        late = self.results.take_in(job)
        good = {name for name, place in self.log.places(job.mark) if place.status == 200}
        n_done = len(good.intersection(job.intended.names))
        self.settled(job, "ended", state=seen.state, words=seen.words, late=late, n_done=n_done)
        if seen.state != "completed":
            self.say(
                f"batch {batch} {seen.state}{f': {seen.words}' if seen.words else ''}; what it lacks is asked again"
            )
        return True

    async def hand_over(self, lot: Lot) -> str | None:
        """Make a job of a lot; why the provider takes none now, in its words, where it does not.

        Raises ModelError: no job of this run will be taken.
        """
        job = self.intend(lot)
        try:
            with of_known_shape(self.provider):
                file = await self.interface.upload(self.handed(job), lot.lines)
            if file is not None:
                self.note(job, "uploaded", file=file)
            with of_known_shape(self.provider, NobodyKnows):
                seen = await self.interface.create(self.handed(job), lot.lines)
            self.accepted(job, seen)
        except NobodyKnows as error:
            self.say(f"no answer to a batch of {len(lot.names):,} requests ({error}): it is looked for")
            return str(error) if await self.looked_for(job) is not None else None
        except Unavailable as error:
            self.settled(job, "refused", words=str(error)[:300])
            return str(error)
        except ModelError as error:
            self.settled(job, "refused", words=str(error)[:300])
            raise
        return None

    def intend(self, lot: Lot) -> BatchJob:
        self.out.update(lot.names)
        return self.log.note(
            JobEvent(
                job=self.log.next_mark(self.run),
                what="intended",
                at=self.options.now(),
                provider=self.provider,
                model=lot.model,
                path=lot.path,
                names=tuple(lot.names),
                can=asdict(self.can),
                cost_at_most_usd=lot.most.cost_usd if self.priced else None,
                tokens_at_most=lot.most.tokens,
            )
        )

    def accepted(self, job: BatchJob, seen: SeenBatch) -> None:
        expires = seen.expires or job.intended.at + timedelta(hours=self.interface.terms.hours)
        self.note(job, "out", batch=seen.id, expires=expires, state=seen.state)
        self.out.update(job.intended.names)

    def settled(self, job: BatchJob, what: What, **more: Any) -> None:
        """Note the end of a job: nothing is set aside for it any more, and its requests are not out."""
        self.note(job, what, **more)
        self.budget.settle(reserve(job), Spend())
        self.out = {name for other in self.unsettled() for name in other.intended.names}

    def note(self, job: BatchJob, what: What, **more: Any) -> None:
        self.log.note(JobEvent(job=job.mark, what=what, at=self.options.now(), **more))

    def handed(self, job: BatchJob) -> HandedJob:
        known = frozenset(other.batch for other in self.log.jobs.values() if other.batch and other is not job)
        told = job.intended
        return HandedJob(job.mark, told.model, told.path, told.names, told.at, job.file, known)


def reserved(log: JobLog) -> Spend:
    """What the calls that are out may take."""
    return sum((reserve(job) for job in log.jobs.values() if job.unsettled), Spend())


def reserve(job: BatchJob) -> Spend:
    """What is set aside for a job."""
    return Spend(job.intended.cost_at_most_usd or 0.0, job.intended.tokens_at_most)


def is_too_much(job: BatchJob) -> bool:
    """Whether a job was accepted and then failed as a whole because the provider's queue was full."""
    return job.state == "failed" and QUEUE_FULL.search(job.words) is not None


async def kept(results: AsyncIterator[Landed]) -> AsyncIterator[tuple[str, int, str]]:
    async for one in results:
        yield one.name, one.status, one.text
