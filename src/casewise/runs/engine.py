"""Many calls at once, within limits; results do not depend on their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from casewise.runs.limits import Budget, Limits, Spend, Stop

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Call(Generic[T]):
    """Something to ask once."""

    payload: T
    at_most: Spend = field(default_factory=Spend)
    """What it can take at most; only a budget asks."""


@dataclass
class Control(Generic[R]):
    """How a run is watched: who may stop it, what it may spend, and how to tell what a result took."""

    stop: Stop = field(default_factory=Stop)
    budget: Budget | None = None
    took: Callable[[R], Spend] = lambda _result: Spend()


@dataclass
class Tally:
    """What was done, and why no more than that was (None: there was no more to do)."""

    done: int = 0
    stopped: str | None = None
    pending: int = 0
    """Calls that were handed over and are not answered yet; a later session collects their answers."""


class Backlog(Generic[T]):
    """Calls still to be made: those that follow from a result first, then the plan, which is never held as a whole."""

    def __init__(self, calls: Iterable[Call[T]]) -> None:
        self._plan = iter(calls)
        self._follow_ups: deque[Call[T]] = deque()

    def add(self, calls: Iterable[Call[T]]) -> None:
        self._follow_ups.extend(calls)

    def next(self) -> Call[T] | None:
        return self._follow_ups.popleft() if self._follow_ups else next(self._plan, None)


async def perform(
    calls: Iterable[Call[T]],
    work: Callable[[Call[T]], Awaitable[R]],
    *,
    on_result: Callable[[Call[T], R], Iterable[Call[T]] | None],
    limits: Limits = Limits(),
    control: Control[R] | None = None,
) -> Tally:
    """Do every call, `limits.concurrency` of them at a time.

    `on_result` is called once a call, in the order of completion, and may return calls that follow from the result.
    An error of `work` or `on_result` stops the run: what is in flight is cancelled, and the error is raised. A stop
    that `control` is asked for lets what is in flight finish.
    """
    control = control or Control[R]()
    backlog, tally = Backlog(calls), Tally()

    async def worker() -> None:
        while not control.stop and (call := backlog.next()) is not None:
            result = await within_budget(call, work, control)
            if result is None:
                return
            backlog.add(on_result(call, result.value) or ())
            tally.done += 1

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, limits.concurrency)):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    tally.stopped = control.stop.reason
    return tally


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """A result, which may itself be None."""

    value: R


async def within_budget(call: Call[T], work: Callable[[Call[T]], Awaitable[R]], control: Control[R]) -> Done[R] | None:
    """The result of `call`, or None where the budget does not allow it any more; then the run is asked to stop."""
    budget = control.budget
    if budget is None or not budget.limits.bounded:
        return Done(await work(call))
    if (limit := await budget.reserve(call.at_most)) is not None:
        control.stop.ask(limit)
        return None
    actual = Spend()
    try:
        result = await work(call)
        actual = control.took(result)
        return Done(result)
    finally:
        budget.settle(call.at_most, actual)
        budget.in_flight.ended(call.at_most)


A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class Workload(Generic[A, B]):
    """Calls to be made, and what becomes of their answers."""

    calls: Iterator[Call[tuple[A, ...]]]
    """The calls that the log does not answer, made when they are asked for. The first ask of each makes the call."""
    on_answer: Callable[[Call[tuple[A, ...]], B], Iterable[Call[tuple[A, ...]]]]
    """Keeps an answer; gives the calls that follow from it. Once a call, in any order."""
    name: Callable[[A], str]
    """A call's name by its first ask: the same in every session and on every machine, another for each attempt."""
    control: Control[B]
    """Who may stop it and what it may spend. What a call can take is set aside before it is made."""
    at_most: Callable[[A], Spend]
    """What the call of a first ask can take, whether or not there is a budget."""


class Executor(Protocol[A, B]):
    """Makes calls, or has them made."""

    async def execute(self, work: Workload[A, B]) -> Tally:
        """Do all that can be done now: no more calls are begun once `work.control.stop` is asked for.

        An error that no further call can survive is raised; what was kept before stays.
        """


@dataclass(frozen=True)
class LiveExecutor(Generic[A, B]):
    """Makes calls from this process, many at once, and waits for their answers."""

    answer: Callable[[A], Awaitable[B]]
    concurrency: int

    async def execute(self, work: Workload[A, B]) -> Tally:
        return await perform(
            work.calls,
            lambda call: self.answer(call.payload[0]),
            on_result=work.on_answer,
            limits=Limits(self.concurrency),
            control=work.control,
        )
