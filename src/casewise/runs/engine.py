"""Many calls at once, within limits; results do not depend on their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from casewise.runs.limits import Budget, Spend, Stop

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Group(Generic[A]):
    """Asks that one call answers; the first of them makes it."""

    asks: tuple[A, ...]
    at_most: Spend = field(default_factory=Spend)
    """What the call can take at most; only a budget asks."""


@dataclass
class Tally:
    """What was done, and why no more than that was (None: there was no more to do)."""

    done: int = 0
    stopped: str | None = None
    pending: int = 0
    """Calls that were handed over and are not answered yet; a later session collects their answers."""


@dataclass(frozen=True)
class Workload(Generic[A, B]):
    """Calls to be made, and what becomes of their answers."""

    calls: Iterator[Group[A]]
    """The calls that the log does not answer, made when they are asked for."""
    on_answer: Callable[[Group[A], B], Iterable[Group[A]]]
    """Keeps an answer; gives the calls that follow from it. Once a call, in any order."""
    name: Callable[[A], str]
    """A call's name by its first ask: the same in every session and on every machine, another for each attempt."""
    at_most: Callable[[A], Spend]
    """What the call of a first ask can take, whether or not there is a budget."""
    took: Callable[[B], Spend] = lambda _answer: Spend()
    """What an answer took."""
    stop: Stop = field(default_factory=Stop)
    """Who may stop the run."""
    budget: Budget | None = None
    """What the run may spend. What a call can take is set aside before the call is made."""


class Executor(Protocol[A, B]):
    """Makes calls, or has them made."""

    async def execute(self, work: Workload[A, B]) -> Tally:
        """Do all that can be done now: no more calls are begun once `work.stop` is asked for.

        An error that no further call can survive is raised; what was kept before stays.
        """


@dataclass(frozen=True)
class LiveExecutor(Generic[A, B]):
    """Makes calls from this process, `concurrency` of them at a time, and waits for their answers.

    An error of `answer` or `on_answer` stops the run: what is in flight is cancelled, and the error is raised. A stop
    lets what is in flight finish.
    """

    answer: Callable[[A], Awaitable[B]]
    concurrency: int

    async def execute(self, work: Workload[A, B]) -> Tally:
        follow_ups: deque[Group[A]] = deque()
        budget = work.budget if work.budget is not None and work.budget.limits.bounded else None
        tally = Tally()

        async def worker() -> None:
            while not work.stop:
                group = follow_ups.popleft() if follow_ups else next(work.calls, None)
                if group is None:
                    return
                if budget is not None and (limit := await budget.reserve(group.at_most)) is not None:
                    work.stop.ask(limit)
                    return
                actual = Spend()
                try:
                    answer = await self.answer(group.asks[0])
                    actual = work.took(answer)
                finally:
                    if budget is not None:
                        budget.settle(group.at_most, actual)
                        budget.in_flight.ended(group.at_most)
                follow_ups.extend(work.on_answer(group, answer))
                tally.done += 1

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(max(1, self.concurrency)):
                    tasks.create_task(worker())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        tally.stopped = work.stop.reason
        return tally
