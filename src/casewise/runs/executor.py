"""Who makes the calls of a run. A run does not assume that an answer comes in the process that asked for it.

`LiveExecutor` asks and waits. Another executor may hand calls over, say so (`Tally.pending`) and end; the same run
later gives it the same calls again, under the same names, and it hands in the answers that have come meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from casewise.runs.engine import Call, Control, Tally, perform
from casewise.runs.limits import Limits

__all__ = ["Executor", "LiveExecutor", "Workload"]

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
