"""Runs through batch interfaces: jobs handed over, found again after a kill, and read."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from casewise.errors import LeftUnanswered, ModelError, Unavailable
from casewise.models.batch import (
    BatchInterface,
    Gone,
    HandedJob,
    Landed,
    NobodyKnows,
    SeenBatch,
    has_ended,
    of_known_shape,
)
from casewise.models.batch_providers import batch_interface
from casewise.models.client import Collected, EndpointClient, Exchange, Request, ToAskAgain, is_retried
from casewise.models.wire import Capabilities
from casewise.runs.engine import Executor, Group, Tally, Workload
from casewise.runs.limits import Budget, Limits, Spend
from casewise.storage.batch_jobs import BatchJob, JobEvent, JobLog, ResultPlace, What

# One call at a time through a client that does not post: written down as a request, or answered by what has come
# of it.


A = TypeVar("A")
B = TypeVar("B")


class Written(Exception):
    """A request, as its interface wants it: raised where the client would have posted it."""

    def __init__(self, path: str, model: str, line: bytes) -> None:
        super().__init__(path)
        self.path, self.model, self.line = path, model, line


@dataclass(frozen=True)
class Answered(Generic[B]):
    """An answer."""

    value: B


@dataclass(frozen=True)
class ThroughClient(Generic[A, B]):
    """How an ask is answered, and the client through which that goes."""

    answer: Callable[[A], Awaitable[B]]
    client: EndpointClient
    interface: BatchInterface

    async def write(self, ask: A, name: str) -> Written | Answered[B]:
        """The request of `ask`; or its answer, where none is needed or the interface cannot be asked so."""

        def written(client: EndpointClient, request: Request[Any]) -> Collected:
            raise Written(
                request.path, request.model, self.interface.line(name, request.path, request.body(client.can))
            )

        try:
            return Answered(await self.through(written, ask))
        except Written as request:
            return request

    async def read(self, ask: A, *, status: int, text: str, can: dict[str, Any]) -> Answered[B] | None:
        """The answer that a result holds; None where it is none, and another try may bring one."""

        def come(_client: EndpointClient, _request: Request[Any]) -> Collected:
            return Collected(Exchange(status, {}, text, 0.0), Capabilities(**can))

        try:
            return Answered(await self.through(come, ask))
        except ToAskAgain:
            return None

    async def give_up(self, ask: A, why: str) -> Answered[B]:
        """The answer to an ask that no batch brought an answer to."""

        def failed(_client: EndpointClient, _request: Request[Any]) -> Collected:
            raise LeftUnanswered(why)

        return Answered(await self.through(failed, ask))

    async def through(self, instead: Callable[[EndpointClient, Request[Any]], Collected], ask: A) -> B:
        self.client.instead = instead
        try:
            return await self.answer(ask)
        finally:
            self.client.instead = None


# The jobs of a run: handed over, looked for where nobody knows, looked at, and their results kept.
#
# Every step is on the disk before the next: the intent before the upload, the id after it. What nobody knows is out until a
# listing says otherwise, so that no request is paid for twice.


QUEUE_FULL = re.compile(r"token[ _]limit[ _]exceeded|enqueued|queue", re.IGNORECASE)
"""What a provider says of a batch that it accepted and then found to be too much for now."""

LOOKED_FOR = timedelta(hours=48)
"""How long a job is looked for that was given up for lost."""


@dataclass(frozen=True)
class BatchOptions:
    """How batches are handed over and waited for; nothing that an answer depends on."""

    first_live: bool = True
    """Make the run's first call live, to learn which options the model refuses before a batch is sent."""
    wait: bool = False
    """Wait until all requests are answered, instead of sending batches, collecting finished ones, and ending."""
    tries: int = 3
    """Maximum batches that a request is put into until it is answered."""
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
            places = self._places.setdefault(name, [])
            if place.status == 200 and any(earlier.status == 200 for earlier in places):
                late.append(name)
            places.append(place)
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
                seen_batch = await self.interface.find(self.handed(job)) if uploaded else None
        except (Unavailable, Gone) as error:
            self.say(
                f"a batch of {len(job.intended.names):,} requests: the provider cannot be searched for it: {error}"
            )
            return None
        if isinstance(seen_batch, SeenBatch):
            if job.stands == "lost":
                self.budget.set_aside(reserve(job))
            self.accepted(job, seen_batch)
            self.say(f"found again: batch {seen_batch.id} of {len(job.intended.names):,} requests")
        elif seen_batch is None and job.stands != "lost":
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
                status = await self.interface.look(batch)
            if not has_ended(status.state):
                if status.n_done is not None and status.n_done != job.n_done:
                    self.note(job, "seen", n_done=status.n_done, state=status.state)
                return False
            with of_known_shape(self.provider):
                await self.log.keep_results(job.mark, kept(self.interface.results(batch)))
        except Gone:
            status = SeenBatch(batch, "expired", words="the provider no longer has it")
        job.state, job.words = status.state, status.words
        if is_too_much(job):
            self.settled(job, "refused", state=status.state, words=status.words)
            return True
        late = self.results.take_in(job)
        good = {name for name, place in self.log.places(job.mark) if place.status == 200}
        n_done = len(good.intersection(job.intended.names))
        self.settled(job, "ended", state=status.state, words=status.words, late=late, n_done=n_done)
        if status.state != "completed":
            self.say(
                f"batch {batch} {status.state}{f': {status.words}' if status.words else ''}; requests without an answer are sent again"
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
                status = await self.interface.create(self.handed(job), lot.lines)
            self.accepted(job, status)
        except NobodyKnows as error:
            self.say(f"no answer to a batch of {len(lot.names):,} requests ({error}): searching for it at the provider")
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

    def accepted(self, job: BatchJob, status: SeenBatch) -> None:
        expires = status.expires or job.intended.at + timedelta(hours=self.interface.terms.hours)
        self.note(job, "out", batch=status.id, expires=expires, state=status.state)
        self.out.update(job.intended.names)

    def settled(self, job: BatchJob, event: What, **more: Any) -> None:
        """Note the end of a job: nothing is set aside for it any more, and its requests are not out."""
        self.note(job, event, **more)
        self.budget.settle(reserve(job), Spend())
        self.out = {name for job_out in self.unsettled() for name in job_out.intended.names}

    def note(self, job: BatchJob, event: What, **more: Any) -> None:
        self.log.note(JobEvent(job=job.mark, what=event, at=self.options.now(), **more))

    def handed(self, job: BatchJob) -> HandedJob:
        others_batches = frozenset(
            other_job.batch for other_job in self.log.jobs.values() if other_job.batch and other_job is not job
        )
        intended = job.intended
        return HandedJob(job.mark, intended.model, intended.path, intended.names, intended.at, job.file, others_batches)


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
    async for landed in results:
        yield landed.name, landed.status, landed.text


# A live session of a run that has gone over a batch interface before: what may be paid for there is not asked for
# here.


@dataclass(frozen=True)
class BesideBatches(Generic[A, B]):
    """Has calls made, but for those that are out, or answered and not in the run's log: a session over the interface collects them."""

    live: Executor[A, B]
    log: JobLog

    async def execute(self, work: Workload[A, B]) -> Tally:
        paid = {name for job in self.log.jobs.values() for name in self.paid(job)}
        left: list[Group[A]] = []

        def others() -> Iterator[Group[A]]:
            for call in work.calls:
                if f"{self.log.run}-{work.name(call.asks[0])}" in paid:
                    left.append(call)
                else:
                    yield call

        if work.budget is not None:
            work.budget.reserved += reserved(self.log)
        tally = await self.live.execute(replace(work, calls=others()))
        tally.pending += len(left)
        return tally

    def paid(self, job: BatchJob) -> Iterator[str]:
        """The requests of a job that are paid for, or may be yet."""
        if job.unsettled:
            yield from job.intended.names
        elif job.stands == "ended":
            yield from (name for name, place in self.log.places(job.mark) if place.status == 200)


# An executor that hands calls over in batches.
#
# Of every call of the plan it asks, in this order: has its answer come? Is it out? Then it is written down as a request, and
# requests become jobs that fit what the provider takes. With `wait` it stays, and asks the same of what was out.


SLICE_S = 0.25
"""How long a wait goes on at most after a stop was asked for."""


@dataclass(frozen=True)
class BatchExecutor(Generic[A, B]):
    """Has calls made by a provider's batch interface."""

    answer: Callable[[A], Awaitable[B]]
    """What would be done live: it is done with each call, by a client that does not post."""
    client: EndpointClient
    model: str
    log: JobLog
    priced: bool
    """Whether it is known what the calls cost."""
    options: BatchOptions = field(default_factory=BatchOptions)
    say: Callable[[str], None] = lambda _text: None

    async def execute(self, work: Workload[A, B]) -> Tally:
        interface = batch_interface(self.client, self.model)
        if self.log.jobs:  # what the endpoint was found to take
            vars(self.client.can).update(list(self.log.jobs.values())[-1].intended.can)
        desk = Desk(
            interface,
            self.log,
            self.options,
            work.budget or Budget(Limits()),
            self.client.can,
            self.priced,
            self.say,
        )
        try:
            return await BatchSession(work, desk, ThroughClient(self.answer, self.client, interface)).run()
        finally:
            await interface.wire.close()


class BatchSession(Generic[A, B]):
    """One session: everything that can be done now, and with `wait` everything."""

    def __init__(self, work: Workload[A, B], desk: Desk, asking: ThroughClient[A, B]) -> None:
        self.work, self.desk, self.asking = work, desk, asking
        self.stop = work.stop
        self.tally, self.lot = Tally(), Lot()
        self.waiting: dict[str, list[Group[A]]] = {}
        """Calls that are out, by name. Asks of one name are one question, and share the answer."""
        self.later: list[Group[A]] = []
        """Calls for which there was no room."""
        self.full: str | None = None
        """Why nothing more can be handed over now."""
        self.tried = False
        """Whether a first call was made live."""

    async def run(self) -> Tally:
        await self.desk.recover()
        await self.desk.look()
        for call in self.work.calls:
            await self.take(call)
        await self.hand_over()
        while self.desk.options.wait and not self.stop and (self.waiting or self.later):
            await self.once_more()
        if self.full is not None and self.later:
            self.stop.ask(self.full)
        self.tally.pending = sum(len(calls) for calls in self.waiting.values())
        self.tally.stopped = self.stop.reason
        return self.tally

    async def once_more(self) -> None:
        """Wait for any of the jobs, take what has come of it, and hand over what is left."""
        ended: list[BatchJob] = []
        pause = self.desk.options.first_look_s
        while not ended and self.desk.unsettled() and not self.stop:
            await self.slept(pause)
            pause = min(pause * 1.5, self.desk.options.longest_look_s)
            ended = [*await self.desk.recover(), *await self.desk.look()]
        if not ended and self.full is not None:
            self.stop.ask(self.full)
            return
        left, self.later, self.full = self.later, [], self.no_room(ended)
        for call in (*(call for job in ended for call in self.let_go(job)), *left):
            await self.take(call)
        await self.hand_over()

    def no_room(self, ended: list[BatchJob]) -> str | None:
        """Why nothing can be handed over before other jobs have ended: the provider's queue was full."""
        full = [job for job in ended if is_too_much(job)]
        if full and len(full[0].intended.names) == 1 and not self.desk.unsettled():
            self.stop.ask(full[0].words)
        return full[0].words if full and self.desk.unsettled() else None

    def let_go(self, job: BatchJob) -> list[Group[A]]:
        """The calls that waited for a job, to be asked about anew."""
        return [call for name in job.intended.names for call in self.waiting.pop(name, ())]

    async def slept(self, seconds: float) -> None:
        while seconds > 0 and not self.stop:
            await asyncio.sleep(min(seconds, SLICE_S))
            seconds -= SLICE_S

    async def take(self, call: Group[A]) -> None:
        """Answer a call, and those that follow from it, or see to it that they are handed over."""
        queue = deque([call])
        while queue:
            waiting_call = queue.popleft()
            name = f"{self.desk.run}-{self.work.name(waiting_call.asks[0])}"
            outcome = await self.come(waiting_call, name)
            if outcome is None and not self.is_out(waiting_call, name):
                outcome = await self.to_hand_over(waiting_call, name)
            if outcome is not None:
                queue.extend(self.work.on_answer(waiting_call, outcome.value))
                self.desk.budget.spent += self.work.took(outcome.value)
                self.tally.done += 1

    async def come(self, call: Group[A], name: str) -> Answered[B] | None:
        """The answer that has come of a call; one that says so, where it was asked for too often."""
        ask, desk = call.asks[0], self.desk
        for place in desk.results.of(name):
            can = desk.log.jobs[place.job].intended.can
            try:
                outcome = await self.asking.read(ask, status=place.status, text=desk.log.text_at(place), can=can)
            except ModelError:
                if place.job not in desk.results.earlier:
                    raise
                continue  # it was said when it came; whoever goes on has put it right
            if outcome is not None:
                return outcome
        if (times := desk.results.asked(name)) >= desk.options.tries:
            return await self.asking.give_up(ask, f"{times} batches came back without an answer to it")
        return None

    def is_out(self, call: Group[A], name: str) -> bool:
        """Whether a call is out, or about to be; then it waits."""
        if name not in self.desk.out and name not in self.waiting:
            return False
        self.waiting.setdefault(name, []).append(call)
        return True

    async def to_hand_over(self, call: Group[A], name: str) -> Answered[B] | None:
        """Write a call down for the next job, if there is room; its answer, where none need be asked, or it is the run's first."""
        if self.stop or self.full is not None:
            self.later.append(call)
            return None
        most = self.work.at_most(call.asks[0])
        if (lack := self.desk.budget.lacks(most)) is not None:
            self.full = lack
            self.later.append(call)
            return None
        if self.desk.options.first_live and not self.desk.log.jobs and not self.tried:
            self.tried = True
            return Answered(await self.asking.answer(call.asks[0]))
        written = await self.asking.write(call.asks[0], name)
        if isinstance(written, Answered):
            return written
        if not self.fits(written):
            await self.hand_over()
        self.lot.model, self.lot.path = written.model, written.path
        self.lot.add(name, written.line, most)
        self.desk.budget.set_aside(most)
        self.waiting[name] = [call]
        return None

    def fits(self, written: Written) -> bool:
        limits = self.desk.interface.terms
        return self.lot.fits(written.line, requests=self.desk.most_requests, n_bytes=limits.most_bytes)

    async def hand_over(self) -> None:
        """Make a job of what was written down."""
        if not self.lot.names:
            return
        lot, self.lot = self.lot, Lot()
        if self.stop:
            self.desk.budget.settle(lot.most, Spend())
            return
        if (refused := await self.desk.hand_over(lot)) is not None:
            self.full = refused
            self.later += [call for name in lot.names for call in self.waiting.pop(name, ())]
