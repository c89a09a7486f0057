"""Counting: how often intervals hold, and how often tests reject, in one setting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from benchmarks.covered.rows import Row

from casewise.stats.estimates import Estimate

__all__ = ["Held", "Limits", "coverage", "rejections", "rows"]

Limits = tuple[float | None, float | None] | None
"""Of an interval; None where there is none."""


@dataclass
class Held:
    """How often intervals of one name held, in one setting."""

    held: int = 0
    studies: int = 0
    widths: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    def add(self, found: Estimate, truth: float, yardstick: float | None = None) -> None:
        self.of((found.ci_low, found.ci_high), truth, yardstick)

    def of(self, limits: Limits, truth: float, yardstick: float | None = None) -> None:
        if limits is None or limits[0] is None or limits[1] is None or np.isnan(limits[0]):
            return
        self.studies += 1
        self.held += limits[0] - 1e-9 <= truth <= limits[1] + 1e-9
        self.widths.append(limits[1] - limits[0] if np.isfinite(limits[0]) else 0.0)
        if yardstick is not None:
            self.beside.append(yardstick)

    def row(self, name: str, setting: str, wanted: str = "≥ 92 %") -> Row:
        width = float(np.median(self.widths)) if self.widths else None
        beside = float(np.median(self.beside)) if self.beside else None
        return Row(name, setting, "holds the truth", self.held, self.studies, wanted, width, beside)


def rows(found: Mapping[str, Held], names: Iterable[str], setting: str, wanted: str = "≥ 92 %") -> Iterator[Row]:
    for name in names:
        if found[name].studies:
            yield found[name].row(name, setting, wanted)


def coverage(
    studies: int,
    drawn: Callable[[], Mapping[str, Limits]],
    truth: Mapping[str, float],
    setting: str,
    wanted: str = "≥ 92 %",
) -> Iterator[Row]:
    """A row a name: how often the limits of a study hold its truth."""
    found: dict[str, Held] = defaultdict(Held)
    for _ in range(studies):
        for name, limits in drawn().items():
            found[name].of(limits, truth[name])
    yield from rows(found, truth, setting, wanted)


def rejections(
    studies: int,
    drawn: Callable[[], Mapping[str, float | None]],
    setting: str,
    *,
    measure: str = "rejects without a difference",
    wanted: Mapping[str, str] | str = "4 to 6.5 %",
    alpha: float = 0.05,
) -> Iterator[Row]:
    """A row a name: how often its p lies at or below `alpha`; a study without a p does not count."""
    asked: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    for _ in range(studies):
        for name, p in drawn().items():
            if p is not None:
                asked[name] += 1
                rejected[name] += p <= alpha
    for name in asked:
        bound = wanted if isinstance(wanted, str) else wanted.get(name, "no claim")
        yield Row(name, setting, measure, rejected[name], asked[name], bound)
