"""One durable run: every ask of a plan answered once, whatever happens in between.

        plan ──asks──▶ what the log does not settle ──calls──▶ executor ──answers──▶ log
                          ▲ held, copied                (live, or collected later)         │
                          └────────────────────── the same command again ◀─────────────────┘

It knows asks and answers, and nothing of what they mean: that is a `RunKind`'s to say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

from casewise.runs.engine import Call, Control, Executor, Workload
from casewise.runs.limits import Budget, Limits, Spend
from casewise.runs.progress import RunProgress, Watch
from casewise.runs.resuming import HeldByKey, HeldInColumns, HeldOfPlan, LastAttempt
from casewise.runs.run_kind import Asks, Attempted, RunKind
from casewise.runs.run_log import RunLog, hashed
from casewise.runs.stopping import stopping_on_signals

__all__ = ["DurableRun"]

A = TypeVar("A", bound=Attempted)
B = TypeVar("B")
P = TypeVar("P", bound=RunProgress)


@dataclass
class DurableRun(Generic[A, B]):
    """One session of work on a plan. The same plan with the same log later goes on with what is left."""

    kind: RunKind[A, B]
    plan: Asks[A]
    log: RunLog[A, B]
    executor: Executor[A, B]
    limits: Limits = field(default_factory=Limits)
    at_most: Callable[[A], Spend] = lambda _ask: Spend()
    """What a call can take at most; only a budget asks."""
    watch: Watch = field(default_factory=Watch)

    async def perform(self, progress: P) -> P:
        """Do what is left of the plan, and count it in `progress`. A first Ctrl-C lets what is in flight finish."""
        self.count_held(progress)
        self.show(progress)
        control = Control[B](
            self.watch.stop,
            Budget(self.limits, spent=self.log.spent),
            took=lambda answer: self.kind.took(answer).spend,
        )
        work = Workload(
            self.calls(progress),
            lambda call, answer: self.keep(call.payload, answer, progress),
            self.name,
            control,
            self.at_most,
        )
        started = time.monotonic()
        try:
            with stopping_on_signals(control.stop, say=self.watch.say):
                tally = await self.executor.execute(work)
            progress.stopped, progress.n_pending = tally.stopped, tally.pending
        finally:
            self.log.sync()
            progress.seconds = time.monotonic() - started
        return progress

    def show(self, progress: RunProgress) -> None:
        if self.watch.progress is not None:
            self.watch.progress(progress, self.plan.size)

    def name(self, ask: A) -> str:
        """What names a call wherever it is answered: what is asked, by whichever of the asks that share it."""
        shared = self.plan.shared_key(ask)
        whole = self.kind.key(ask) if shared is None else (str(shared),)
        return hashed((*whole, str(ask.attempt))).hex()

    def count_held(self, progress: RunProgress) -> None:
        if not self.log.empty:
            self.held.count(progress)

    @cached_property
    def held(self) -> HeldOfPlan[A]:
        """What earlier sessions left of the plan."""
        columns = self.log.columns()
        if columns is None or self.plan.numbered is None:
            return HeldByKey(self.plan, self.kind.key, self.log.last)
        return HeldInColumns(self.plan.numbered(), columns, self.plan.retries)

    def calls(self, progress: RunProgress) -> Iterator[Call[tuple[A, ...]]]:
        """The calls that are left; what another ask's call in the log answers is copied from there."""
        if self.log.empty:
            yield from map(self.call, self.plan.groups())
            return
        for bundle, found in self.held.left():
            last = dict(zip(map(self.kind.key, bundle), found, strict=True))
            for group in self.plan.grouped(bundle):
                if left := self.left_after_copying(group, last, progress):
                    yield self.call(left)

    def left_after_copying(
        self, group: tuple[A, ...], last: Mapping[tuple[str, ...], LastAttempt | None], progress: RunProgress
    ) -> tuple[A, ...]:
        """Copy to the asks of `group` what the log holds for another of them; those that must still be asked."""
        known = [(there, ask) for ask in group if (there := last[self.kind.key(ask)]) is not None]
        if not known:
            return group
        best, holder = max(known, key=lambda pair: (pair[0].usable, pair[0].attempt))
        for ask in group:
            mine = last[self.kind.key(ask)]
            if mine is None or (best.usable and not mine.usable):
                attempt = best.attempt if mine is None else max(best.attempt, mine.attempt + 1)
                copy = self.kind.shared(self.log.answer(best), holder)
                self.write(replace(ask, attempt=attempt), copy, progress, known=mine is not None)
        return () if best.settles(self.plan.retries) else self.another(group, best.attempt + 1)

    def another(self, group: tuple[A, ...], attempt: int) -> tuple[A, ...]:
        return tuple(replace(ask, attempt=attempt) for ask in group)

    def call(self, group: tuple[A, ...]) -> Call[tuple[A, ...]]:
        return Call(group, self.at_most(group[0]) if self.limits.bounded else Spend())

    def keep(self, group: tuple[A, ...], answer: B, progress: RunProgress) -> tuple[Call[tuple[A, ...]], ...]:
        """Write an answer for every ask it answers; ask again where it is of no use and that is wanted."""
        first, attempt = group[0], group[0].attempt
        progress.count_call(self.kind.took(answer))
        for ask in group:
            mine = answer if ask is first else self.kind.shared(answer, first)
            self.write(ask, mine, progress, known=attempt > 0)
        self.show(progress)
        if attempt < self.plan.retries and self.kind.problem(answer) is not None:
            return (self.call(self.another(group, attempt + 1)),)
        return ()

    def write(self, ask: A, answer: B, progress: RunProgress, *, known: bool) -> None:
        self.log.write(ask, answer)
        progress.count_outcome(self.kind.problem(answer), known=known)
