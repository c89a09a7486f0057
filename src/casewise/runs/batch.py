"""Runs through batch interfaces: jobs handed over, found again after a kill, and their results read.

Every step is on the disk before the next: the intent before the upload, the id after it. A job of unknown state counts as out
until a listing says otherwise, so that no request is paid for twice.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Final, Generic

from casewise.errors import ModelError, NoBatchAnswer, Unavailable
from casewise.models.batches.interface import BatchInterface, BatchStatus, documented_shape
from casewise.models.batches.named import batch_interface
from casewise.models.batches.wire import AcceptanceUnknown, ResourceGone
from casewise.models.client import EndpointClient, Exchange, Request, Transport, UnusableResult, is_retried
from casewise.models.prices import Spend, metered, spend_of
from casewise.models.wire import Capabilities
from casewise.runs.engine import A, C, PlannedCall, RunSession
from casewise.storage.batch_jobs import BatchJob, JobEvent, JobLog, JobStage, ResultPlace
from casewise.text import count_of

QUEUE_FULL = re.compile(r"token[ _]limit[ _]exceeded|enqueued|queue", re.IGNORECASE)
"""A provider's description of a batch that it accepted although its queue was full."""

GONE: Final = "gone"
"""The state of a job whose results the provider no longer has."""

SEARCH_PERIOD = timedelta(hours=48)
"""Time during which a job is searched for that was given up for lost."""

STOP_CHECK_S = 0.25
"""Longest wait after a stop was asked for."""


@dataclass(frozen=True)
class BatchOptions:
    """Options of sending batches and waiting for them; no answer depends on it."""

    first_live: bool = True
    """Make the run's first call live, to learn which options the model refuses before a batch is sent."""
    wait: bool = False
    """Wait until all requests are answered, instead of sending batches, collecting finished ones, and ending."""
    tries: int = 3
    """Maximum batches that a request is put into until it is answered."""
    first_look_s: float = 1.0
    longest_look_s: float = 60.0
    lost_after_s: float = 300.0
    """Seconds after which a job that no listing shows is lost; then its requests are handed over again."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


def reserved_spend(job: BatchJob) -> Spend:
    """Return the budget that is set aside for a job."""
    return Spend(job.intended.cost_at_most_usd or 0.0, job.intended.tokens_at_most)


def unaccounted_spend(job: BatchJob) -> Spend:
    """Return an upper bound of a settled job's cost that no answer reports: all of it if the job or its results are lost,
    else the share of its late answers."""
    most = reserved_spend(job)
    if job.stage == "lost" or job.state == GONE:
        return most
    share = len(job.late) / max(1, len(job.intended.names))
    return Spend(share * most.cost_usd, ceil(share * most.tokens))


def total_reserved(log: JobLog) -> Spend:
    """Return the budget that is reserved for all pending jobs, and for the unreported cost of settled ones."""
    return sum((reserved_spend(job) if job.unsettled else unaccounted_spend(job) for job in log.jobs.values()), Spend())


def exceeded_queue(job: BatchJob) -> bool:
    """Return whether a job was accepted and then failed as a whole because the provider's queue was full."""
    return job.state == "failed" and QUEUE_FULL.search(job.words) is not None


async def run_in_batches(
    session: RunSession[A, C],
    answer: Callable[[A], Awaitable[C]],
    client: EndpointClient,
    options: BatchOptions,
    *,
    asker: str,
    priced: bool,
) -> None:
    """Make the calls of a session over the batch interface of a client's endpoint. `answer` makes one."""
    session.log.jobs.mkdir(parents=True, exist_ok=True)
    interface, log = batch_interface(client, asker), JobLog.at(session.log.jobs)
    if log.jobs:  # the capabilities that the endpoint was found to have
        client.can = Capabilities(**list(log.jobs.values())[-1].intended.capabilities)
    try:
        await BatchSession(session, interface, log, options, answer, priced=priced).work()
    finally:
        await interface.wire.close()


def skip_batch_calls(session: RunSession[A, C]) -> None:
    """Skip the calls of a session that a batch job of the run has paid for or may still pay for."""
    log = JobLog.read(session.log.jobs)
    names: set[str] = set()
    for job in log.jobs.values():
        if job.unsettled:
            names.update(job.intended.names)
        elif job.stage == "ended":
            names.update(name for name, place in log.places(job.mark) if place.status == 200)
    if log.jobs:
        session.skip({name.removeprefix(f"{log.run}-") for name in names}, total_reserved(log))


# The calls of a run. The order of questions about each call of the plan: is there a result that answers it? Is it out? Then it
# is written as a request, and requests become jobs that fit the provider's limits. With `wait` the session stays, and asks
# this again of calls that were out.


@dataclass
class JobRequests:
    """Requests that become one job."""

    model: str = ""
    path: str = ""
    lines: dict[str, bytes] = field(default_factory=dict)
    """Requests by name."""
    n_bytes: int = 0
    most: Spend = field(default_factory=Spend)


class PreparedRequest(Exception):
    """A request in the form of the interface, raised instead of posting it."""

    def __init__(self, path: str, model: str, line: bytes) -> None:
        super().__init__(path)
        self.path, self.model, self.line = path, model, line


def replay_result(exchange: Exchange) -> Transport:
    """Return a transport that answers with a result of a batch."""
    return lambda _request, _can: exchange


class BatchSession(Generic[A, C]):
    """One session over a batch interface. It makes all calls that can be made now, and with `wait` all calls of the plan.

    `answer` answers each call as it would live, through a client that does not post.
    """

    def __init__(
        self,
        session: RunSession[A, C],
        interface: BatchInterface,
        log: JobLog,
        options: BatchOptions,
        answer: Callable[[A], Awaitable[C]],
        *,
        priced: bool,
    ) -> None:
        self.session, self.interface, self.log, self.options = session, interface, log, options
        self.answer, self.priced, self.run = answer, priced, log.run
        self.stop, self.budget, self.say = session.stop, session.budget, session.watch.say
        self.client = interface.wire.client
        self.provider = self.client.endpoint.name
        self.lot = JobRequests()
        self.waiting: dict[str, list[PlannedCall[A]]] = {}
        """Calls that are out, by name. Asks of one name are one question, and share the answer."""
        self.later: list[PlannedCall[A]] = []
        """Calls without room."""
        self.full: str | None = None
        """The reason why nothing more can be handed over now."""
        self.tried = False
        """True if a first call was made live."""
        self.results: dict[str, list[ResultPlace]] = {}
        """The results that may answer a request, by its name, in the order in which they came."""
        self.n_ended: Counter[str] = Counter()
        """Number of ended jobs that a request was in, by its name."""
        ended = [job for job in log.jobs.values() if job.stage == "ended"]
        self.earlier = frozenset(job.mark for job in ended)
        """Jobs whose results came in earlier sessions."""
        for job in ended:
            self.read_results(job)
        for job in self.unsettled():
            self.budget.set_aside(reserved_spend(job))
        settled = (job for job in log.jobs.values() if not job.unsettled)
        self.budget.hold_back(sum(map(unaccounted_spend, settled), Spend()))
        self.unreported: dict[str, Spend] = {}
        """What is held back for results that could not be read, by the name of the request."""
        self.out = self.pending_names()
        """Names of requests that are out."""

    async def work(self) -> None:
        """Make all calls that can be made now; with `wait` all that there are."""
        await self.recover()
        await self.poll_jobs()
        for call in self.session.calls:
            await self.process_call(call)
        await self.hand_over()
        while self.options.wait and not self.stop and (self.waiting or self.later):
            await self.wait_for_a_job()
        if self.full is not None and self.later:
            self.stop.ask(self.full)
        self.session.progress.n_pending = sum(len(calls) for calls in self.waiting.values())

    async def wait_for_a_job(self) -> None:
        """Wait until a job ends, take in its results, and hand over the calls that are left."""
        ended: list[BatchJob] = []
        pause = self.options.first_look_s
        while not ended and self.unsettled() and not self.stop:
            left_s = pause
            while left_s > 0 and not self.stop:
                await asyncio.sleep(min(left_s, STOP_CHECK_S))
                left_s -= STOP_CHECK_S
            pause = min(pause * 1.5, self.options.longest_look_s)
            ended = [*await self.recover(), *await self.poll_jobs()]
        if not ended and self.full is not None:
            self.stop.ask(self.full)
            return
        too_much = next((job for job in ended if exceeded_queue(job)), None)
        self.full = None
        if too_much is not None:
            if self.unsettled():
                self.full = too_much.words  # nothing can be handed over before other jobs have ended
            elif len(too_much.intended.names) == 1:
                self.stop.ask(too_much.words)
        calls = [call for job in ended for name in job.intended.names for call in self.waiting.pop(name, ())]
        postponed, self.later = self.later, []
        for call in (*calls, *postponed):
            await self.process_call(call)
        await self.hand_over()

    async def process_call(self, call: PlannedCall[A]) -> None:
        """Answer a call and those that follow from it, or prepare them for a job."""
        queue = deque([call])
        while queue:
            current = queue.popleft()
            name = f"{self.run}-{self.session.name(current.asks[0])}"
            ask = current.asks[0]
            with metered() as meter:
                answered = await self.answer_from_results(ask, name)
                if answered is None and (name in self.out or name in self.waiting):
                    self.waiting.setdefault(name, []).append(current)
                elif answered is None:
                    answered = await self.prepare_request(current, name)
            self.budget.hold_back(Spend() - self.unreported.pop(name, Spend()))
            if answered is not None:
                answered = self.session.with_assumed_usage(ask, answered, n_unreported=meter.n_unreported)
                queue.extend(self.session.store_answer(current, answered))
                self.budget.count(spend_of(answered))
            elif meter.n_unreported:
                self.unreported[name] = self.session.max_spend(ask) * meter.n_unreported
                self.budget.hold_back(self.unreported[name])

    async def answer_from_results(self, ask: A, name: str) -> C | None:
        """Return the answer to a call in the results; or, after too many jobs, the answer that there is none."""
        for place in self.results.get(name, ()):
            exchange = Exchange(place.status, {}, self.log.text_at(place), 0.0)
            can = Capabilities(**self.log.jobs[place.job].intended.capabilities)
            try:
                return await self.answer_through(ask, replay_result(exchange), can)
            except UnusableResult:
                continue
            except ModelError:
                if place.job not in self.earlier:
                    raise
                continue  # an earlier session raised it, and the user has resumed the run
        if (times := self.n_ended[name]) < self.options.tries:
            return None

        def failed(_request: Request[Any], _can: Capabilities) -> Exchange:
            raise NoBatchAnswer(f"{count_of(times, 'batch')} ended without an answer to it")

        return await self.answer_through(ask, failed)

    async def prepare_request(self, call: PlannedCall[A], name: str) -> C | None:
        """Write a call for the next job, if there is room. Return its answer if it needs no request, or is the run's first."""
        ask = call.asks[0]
        if self.stop or self.full is not None:
            self.later.append(call)
            return None
        most = self.session.max_spend(ask)
        if (lack := self.budget.exceeded_limit(most)) is not None:
            self.full = lack
            self.later.append(call)
            return None
        if self.options.first_live and not self.log.jobs and not self.tried:
            self.tried = True
            return await self.answer(ask)

        def write(request: Request[Any], can: Capabilities) -> Exchange:
            line = self.interface.line(name, request.path, request.body(can))
            raise PreparedRequest(request.path, request.model, line)

        try:
            return await self.answer_through(ask, write)
        except PreparedRequest as request:
            written = request
        if not self.has_room(self.lot, written.line):
            await self.hand_over()
        lot = self.lot
        lot.model, lot.path, lot.lines[name] = written.model, written.path, written.line
        lot.n_bytes, lot.most = lot.n_bytes + len(written.line) + 2, lot.most + most
        self.budget.set_aside(most)
        self.waiting[name] = [call]
        return None

    async def answer_through(self, ask: A, transport: Transport, asked_as: Capabilities | None = None) -> C:
        """Answer an ask through a transport instead of a request."""
        with self.client.use_transport(transport, asked_as):
            return await self.answer(ask)

    async def hand_over(self) -> None:
        """Make a job of the written requests."""
        if not self.lot.lines:
            return
        lot, self.lot = self.lot, JobRequests()
        if self.stop:
            self.budget.settle(lot.most, Spend())
            return
        if (refusal := await self.make_job(lot)) is not None:
            self.full = refusal
            self.later += [call for name in lot.lines for call in self.waiting.pop(name, ())]

    # The jobs at the provider.

    def unsettled(self) -> list[BatchJob]:
        """Return the jobs whose requests may still be answered."""
        return [job for job in self.log.jobs.values() if job.unsettled]

    def pending_names(self) -> set[str]:
        """Return the names of requests in unsettled jobs."""
        return {name for job in self.unsettled() for name in job.intended.names}

    def read_results(self, job: BatchJob) -> tuple[str, ...]:
        """Read the results of an ended job; return the names of requests that already had a good result."""
        late = []
        self.n_ended.update(job.intended.names)
        for name, place in self.log.places(job.mark):
            if is_retried(place.status):
                continue  # another try may bring more
            places = self.results.setdefault(name, [])
            if place.status == 200 and any(earlier.status == 200 for earlier in places):
                late.append(name)
            places.append(place)
        return tuple(late)

    def has_room(self, lot: JobRequests, line: bytes) -> bool:
        """Return whether one more request fits the batch. After a full queue, a batch holds half as many requests as the refused
        one."""
        terms = self.interface.terms
        refused = [len(job.intended.names) for job in self.log.jobs.values() if exceeded_queue(job)]
        most = min(terms.most_requests, *(max(1, n // 2) for n in refused), 10**9)
        return len(lot.lines) < most and lot.n_bytes + len(line) + 2 <= terms.most_bytes

    async def recover(self) -> list[BatchJob]:
        """Search for jobs that the provider may or may not have accepted; return those that are lost."""
        since = self.options.now() - SEARCH_PERIOD
        jobs = [job for job in self.log.jobs.values() if job.stage in ("intended", "uploaded", "lost")]
        return [job for job in jobs if (job.unsettled or job.intended.at > since) and await self.is_lost(job)]

    async def is_lost(self, job: BatchJob) -> bool:
        """Search for a job in the provider's listing, and return whether it is lost."""
        uploaded = job.file is not None or not self.interface.uploads
        others = {entry.batch for mark, entry in self.log.jobs.items() if entry.batch and mark != job.mark}
        n_requests = f"{count_of(len(job.intended.names), 'request')}"
        try:
            with documented_shape(self.provider):
                batch = await self.interface.find(job, others) if uploaded else None
        except (Unavailable, ResourceGone) as error:
            self.say(f"a batch of {n_requests}: the provider cannot be searched for it: {error}")
            return False
        if isinstance(batch, BatchStatus):
            if job.stage == "lost":
                self.budget.hold_back(Spend() - reserved_spend(job))
                self.budget.set_aside(reserved_spend(job))
            self.record_accepted(job, batch)
            self.say(f"found again: batch {batch.id} of {n_requests}")
        elif batch is None and job.stage != "lost":
            age = (self.options.now() - job.intended.at).total_seconds()
            if not uploaded or age > self.options.lost_after_s:
                self.record_settled(job, "lost")
                return True
        return False

    async def poll_jobs(self) -> list[BatchJob]:
        """Poll the submitted jobs; return those that have ended, with their results kept."""
        ended = []
        for job in self.unsettled():
            if job.batch is None:
                continue
            try:
                if await self.has_ended(job, job.batch):
                    ended.append(job)
            except Unavailable as error:
                self.say(f"batch {job.batch}: {error}")
        return ended

    async def has_ended(self, job: BatchJob, batch: str) -> bool:
        """Poll a job, keep its results if it has ended, and return whether it has."""
        try:
            with documented_shape(self.provider):
                status = await self.interface.get_status(batch)
            if not status.has_ended:
                if status.n_done is not None and status.n_done != job.n_done:
                    self.note(job, "seen", n_done=status.n_done, state=status.state)
                return False
            with documented_shape(self.provider):
                await self.log.keep_results(job.mark, self.interface.results(batch))
        except ResourceGone:
            status = BatchStatus(batch, GONE, words="the provider no longer has it")
        job.state, job.words = status.state, status.words
        if exceeded_queue(job):
            self.record_settled(job, "refused", state=status.state, words=status.words)
            return True
        late = self.read_results(job)
        good = {name for name, place in self.log.places(job.mark) if place.status == 200}
        n_done = len(good.intersection(job.intended.names))
        self.record_settled(job, "ended", state=status.state, words=status.words, late=late, n_done=n_done)
        if status.state != "completed":
            words = f": {status.words}" if status.words else ""
            self.say(f"batch {batch} {status.state}{words}; requests without an answer are sent again")
        return True

    async def make_job(self, lot: JobRequests) -> str | None:
        """Make a job of a lot. Return the provider's reason if it takes none now.

        Raises ModelError: no job of this run will be taken.
        """
        names, lines = tuple(lot.lines), list(lot.lines.values())
        self.out.update(names)
        job = self.log.note(
            JobEvent(
                job=f"{self.run}-{len(self.log.jobs) + 1}",
                stage="intended",
                at=self.options.now(),
                provider=self.provider,
                model=lot.model,
                path=lot.path,
                names=names,
                capabilities=asdict(self.client.can),
                cost_at_most_usd=lot.most.cost_usd if self.priced else None,
                tokens_at_most=lot.most.tokens,
            )
        )
        try:
            with documented_shape(self.provider):
                file = await self.interface.upload(job, lines)
            if file is not None:
                self.note(job, "uploaded", file=file)
            with documented_shape(self.provider, AcceptanceUnknown):
                status = await self.interface.create(job, lines)
            self.record_accepted(job, status)
        except AcceptanceUnknown as error:
            self.say(
                f"no answer to a batch of {count_of(len(names), 'request')} ({error}): searching for it at the provider"
            )
            return str(error) if await self.is_lost(job) else None
        except ModelError as error:
            self.record_settled(job, "refused", words=str(error)[:300])
            if not isinstance(error, Unavailable):
                raise
            return str(error)
        return None

    def record_accepted(self, job: BatchJob, status: BatchStatus) -> None:
        """Record that the provider has accepted a job."""
        expires = status.expires or job.intended.at + timedelta(hours=self.interface.terms.hours)
        self.note(job, "out", batch=status.id, expires=expires, state=status.state)
        self.out.update(job.intended.names)

    def record_settled(self, job: BatchJob, stage: JobStage, **more: Any) -> None:
        """Record the end of a job: its requests are no longer out, and its budget is free if its cost is known."""
        self.note(job, stage, **more)
        self.budget.settle(reserved_spend(job), Spend())
        if (most := unaccounted_spend(job)) != Spend():
            self.budget.hold_back(most)
            self.say(f"the log lacks a part of a batch's cost; it counts as spent with ${most.cost_usd:.4f} at most")
        self.out = self.pending_names()

    def note(self, job: BatchJob, stage: JobStage, **more: Any) -> None:
        self.log.note(JobEvent(job=job.mark, stage=stage, at=self.options.now(), **more))
