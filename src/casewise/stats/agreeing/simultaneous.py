"""Ranks of judges as intervals that hold together: 1 + how many are significantly better, to J − how many are worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.core.measured import Measured

__all__ = ["RankIntervals", "rank_intervals"]

LEAST_SPREAD = 1e-9
"""Judges whose difference never varies are the same judge as far as the items can tell."""


@dataclass(frozen=True)
class RankIntervals:
    """Best and worst rank of each judge; with probability `level` all true ranks lie within.

    Attributes
    ----------
    best, worst
        (judges,) ranks, 1 the best.
    better
        (judges, judges): whether the one of the row is significantly better than the one of the column.
    critical
        How many standard errors a difference must have.
    """

    best: IntArray
    worst: IntArray
    better: BoolArray
    critical: float
    level: float


def rank_intervals(
    judges: Sequence[Measured], *, direction: Literal["higher", "lower"] = "higher", level: float = 0.95
) -> RankIntervals:
    r"""Simultaneous intervals of the judges' ranks on one metric.

    All differences :math:`d_{jk}` are held against one critical value *c*, the `level` quantile over the shared
    resamples of :math:`\max_{j<k} |d^*_{jk} - d_{jk}| / s_{jk}` (max-T), so that the probability of any false "better"
    is at most 1 − `level`. A judge's rank lies between 1 + the number significantly better and *J* − the number
    significantly worse. A judge on which the metric is undefined gets 1 to *J*.

    Parameters
    ----------
    judges
        The metric of each, measured on the same items with the same resamples.

    Raises
    ------
    StatisticsError
        There are no judges, they were resampled differently, or there is one query only.

    References
    ----------
    .. [1] Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91, 476-518.
    .. [2] Romano & Wolf (2005), Econometrica 73, 1237-1282.
    """
    if not judges:
        raise StatisticsError("there are no judges to rank")
    values = np.array([found.value for found in judges]) * (1 if direction == "higher" else -1)
    drawn = resampled(judges) * (1 if direction == "higher" else -1)
    difference = values[:, None] - values[None, :]
    spread, critical = spread_and_critical(values, drawn, level)
    with np.errstate(invalid="ignore"):
        better: BoolArray = (difference > critical * spread) & (spread > LEAST_SPREAD)
    n = len(judges)
    return RankIntervals(
        best=1 + better.sum(axis=0),
        worst=n - better.sum(axis=1),
        better=better,
        critical=critical,
        level=level,
    )


def resampled(judges: Sequence[Measured]) -> FloatArray:
    """(judges, resamples)."""
    drawn = [found.resampled for found in judges if found.resampled is not None]
    if len(drawn) < len(judges):
        raise StatisticsError("ranks need resamples: at least two queries, and no more than casewise resamples")
    if len({len(one) for one in drawn}) > 1:
        raise StatisticsError("the judges were resampled differently; measure them with the same settings")
    return np.array(drawn)


def spread_and_critical(values: FloatArray, drawn: FloatArray, level: float) -> tuple[FloatArray, float]:
    """Standard errors of all differences (judges, judges), and the critical value of the largest of them."""
    n = len(values)
    spread = np.zeros((n, n))
    largest = np.zeros(drawn.shape[1])
    for one in range(n):
        for other in range(one + 1, n):
            deviation = drawn[one] - drawn[other] - (values[one] - values[other])
            error = float(np.nanstd(deviation)) if np.isfinite(deviation).any() else 0.0
            spread[one, other] = spread[other, one] = error
            if error > LEAST_SPREAD:
                largest = np.fmax(largest, np.abs(deviation) / error)
    return spread, float(np.quantile(largest, level))
