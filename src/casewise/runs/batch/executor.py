"""An executor that hands calls over in batches.

Of every call of the plan it asks, in this order: has its answer come? Is it out? Then it is written down as a request, and
requests become jobs that fit what the provider takes. With `wait` it stays, and asks the same of what was out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from casewise.errors import ModelError
from casewise.models.batch.load import batch_interface
from casewise.models.http.client import EndpointClient
from casewise.runs.batch.asking import Answered, ThroughClient, Written
from casewise.runs.batch.jobs import BatchOptions, Desk, Lot, is_too_much
from casewise.runs.engine import Call, Tally, Workload
from casewise.runs.limits import Budget, Limits, Spend
from casewise.storage.runs.batch_jobs import BatchJob, JobLog

__all__ = ["BatchExecutor"]

A = TypeVar("A")
B = TypeVar("B")

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
        desk = Desk(
            interface,
            self.log,
            self.options,
            work.control.budget or Budget(Limits()),
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
        self.stop = work.control.stop
        self.tally, self.lot = Tally(), Lot()
        self.waiting: dict[str, list[Call[tuple[A, ...]]]] = {}
        """Calls that are out, by name. Asks of one name are one question, and share the answer."""
        self.later: list[Call[tuple[A, ...]]] = []
        """Calls for which there was no room."""
        self.full: str | None = None
        """Why nothing more can be handed over now."""

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

    def let_go(self, job: BatchJob) -> list[Call[tuple[A, ...]]]:
        """The calls that waited for a job, to be asked about anew."""
        return [call for name in job.intended.names for call in self.waiting.pop(name, ())]

    async def slept(self, seconds: float) -> None:
        while seconds > 0 and not self.stop:
            await asyncio.sleep(min(seconds, SLICE_S))
            seconds -= SLICE_S

    async def take(self, call: Call[tuple[A, ...]]) -> None:
        """Answer a call, and those that follow from it, or see to it that they are handed over."""
        queue = deque([call])
        while queue:
            one = queue.popleft()
            name = f"{self.desk.run}-{self.work.name(one.payload[0])}"
            found = await self.come(one, name)
            if found is None and not self.is_out(one, name):
                found = await self.to_hand_over(one, name)
            if found is not None:
                queue.extend(self.work.on_answer(one, found.value))
                self.desk.budget.spent += self.work.control.took(found.value)
                self.tally.done += 1

    async def come(self, call: Call[tuple[A, ...]], name: str) -> Answered[B] | None:
        """The answer that has come of a call; one that says so, where it was asked for too often."""
        ask, desk = call.payload[0], self.desk
        for place in desk.results.of(name):
            can = desk.log.jobs[place.job].intended.can
            try:
                found = await self.asking.read(ask, status=place.status, text=desk.log.text_at(place), can=can)
            except ModelError:
                if place.job not in desk.results.earlier:
                    raise
                continue  # it was said when it came; whoever goes on has put it right
            if found is not None:
                return found
        if (times := desk.results.asked(name)) >= desk.options.tries:
            return await self.asking.give_up(ask, f"{times} batches came back without an answer to it")
        return None

    def is_out(self, call: Call[tuple[A, ...]], name: str) -> bool:
        """Whether a call is out, or about to be; then it waits."""
        if name not in self.desk.out and name not in self.waiting:
            return False
        self.waiting.setdefault(name, []).append(call)
        return True

    async def to_hand_over(self, call: Call[tuple[A, ...]], name: str) -> Answered[B] | None:
        """Write a call down for the next job, if there is room; its answer, where none need be asked."""
        if self.stop or self.full is not None:
            self.later.append(call)
            return None
        most = self.work.at_most(call.payload[0])
        if (lack := self.desk.budget.lacks(most)) is not None:
            self.full = lack
            self.later.append(call)
            return None
        written = await self.asking.write(call.payload[0], name)
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
