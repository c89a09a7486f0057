"""What the log of a run settles of its plan before a session begins: counted, and what is left, a bundle at a time.

A log in columns is held against a plan whose asks have numbers, all at once: some 20 bytes an ask beside the columns. Any other is looked up key by key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import polars as pl

from casewise.runs.limits import Spend
from casewise.runs.progress import RunProgress
from casewise.runs.run_kind import Asks, Numbered

__all__ = ["HeldByKey", "HeldInColumns", "HeldOfPlan", "LastAttempt", "spent_in_columns"]

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class LastAttempt(NamedTuple):
    """The last attempt at an ask: where it stands in the log, its number, and whether it settled the ask.

    One that failed for a reason that passes, such as a server that was down, is asked again by every later session.
    """

    place: int
    attempt: int
    usable: bool
    passing: bool = False

    def settles(self, retries: int) -> bool:
        """Whether nothing is left to ask: there is an answer, or there were enough attempts and no failure that passes."""
        return self.usable or (not self.passing and self.attempt >= retries)


LastOfBundle = Sequence[LastAttempt | None]


class HeldOfPlan(Protocol[A_co]):
    """What earlier sessions left of a plan."""

    def count(self, progress: RunProgress) -> None:
        """Count it."""

    def left(self) -> Iterator[tuple[tuple[A_co, ...], LastOfBundle]]:
        """The bundles of which something is left, with the last attempt at each of their asks."""


class HeldByKey(Generic[A]):
    """By a log that is asked for one key after another."""

    def __init__(
        self, plan: Asks[A], key: Callable[[A], tuple[str, ...]], last: Callable[[tuple[str, ...]], LastAttempt | None]
    ) -> None:
        self.plan, self.key, self.last = plan, key, last

    def count(self, progress: RunProgress) -> None:
        for ask in self.plan:
            if (last := self.last(self.key(ask))) is not None:
                settled = last.settles(self.plan.retries)
                progress.count_held(n=1, usable=int(last.usable), settled=int(settled))

    def left(self) -> Iterator[tuple[tuple[A, ...], LastOfBundle]]:
        for bundle in self.plan.bundles():
            found = [self.last(self.key(ask)) for ask in bundle]
            if any(one is None or not one.settles(self.plan.retries) for one in found):
                yield bundle, found


class HeldInColumns(Generic[A]):
    """By a log in columns (see `LoggedKind.in_columns`), of a plan whose asks have numbers."""

    def __init__(self, plan: Numbered[A], log: pl.DataFrame, retries: int) -> None:
        self.plan, numbers = plan, plan.numbers(log)
        attempts = log["attempt"].to_numpy()
        rows = np.argsort(attempts, kind="stable") if attempts.any() else np.arange(len(log))
        rows = rows[numbers[rows] >= 0]
        self._row = np.full(plan.ends[-1] if len(plan.ends) else 0, -1, dtype=np.int32)
        """For each ask the row of its last attempt; of two with one number, of the one that stands later."""
        self._row[numbers[rows]] = rows
        self._log = tuple(log[name].to_numpy() for name in LastAttempt._fields)
        _place, attempt, usable, passing = self._log
        self._usable, self._settles = usable, usable | (~passing & (attempt >= retries))

    def count(self, progress: RunProgress) -> None:
        rows = self._row[self._row >= 0]
        progress.count_held(n=len(rows), usable=int(self._usable[rows].sum()), settled=int(self._settles[rows].sum()))

    def left(self) -> Iterator[tuple[tuple[A, ...], LastOfBundle]]:
        ends, settled = self.plan.ends, self._row >= 0
        settled[settled] = self._settles[self._row[settled]]
        for place in np.unique(np.searchsorted(ends, np.flatnonzero(~settled), side="right")).tolist():
            rows = self._row[ends[place - 1] if place else 0 : ends[place]]
            yield self.plan.bundle(place), [None if row < 0 else self._last(row) for row in rows.tolist()]

    def _last(self, row: int) -> LastAttempt:
        return LastAttempt(*(column[row].item() for column in self._log))


def spent_in_columns(log: pl.DataFrame) -> Spend:
    """What the calls took that are in a log in columns."""
    return Spend(float(log["cost_usd"].sum()), int(log["tokens"].sum()))
