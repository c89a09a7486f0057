"""Ranks of judges as intervals that hold together: 1 + how many are significantly better, to J − how many are worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import apart
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.intervals import degrees_of_freedom, student_quantile
from casewise.stats.core.measured import Measured

__all__ = ["RankIntervals", "rank_intervals"]

DRAWS = 20_000

LEVEL = 0.95

LEAST_SPREAD = 1e-9
"""Judges whose difference never varies are the same judge as far as the items can tell."""


@dataclass(frozen=True)
class RankIntervals:
    """Best and worst rank of each judge; with probability `LEVEL` all true ranks lie within."""

    best: IntArray
    worst: IntArray
    """(judges,) ranks, 1 the best."""
    better: BoolArray
    """(judges, judges): whether the one of the row is significantly better than the one of the column."""
    critical: float
    """How many standard errors a difference must have where many queries carry it."""


def rank_intervals(judges: Sequence[Measured], *, direction: Literal["higher", "lower"] = "higher") -> RankIntervals:
    r"""Simultaneous intervals of the judges' ranks on one metric.

    All differences :math:`d_{jk}` are tested at one level :math:`\alpha^*`, chosen so that normal :math:`z_{jk}` that go
    together as the differences' influences do have :math:`P(\max |z_{jk}| > z_{\alpha^*}) = 0.95` (max-T); each is
    held against Student's *t* at that level with its own degrees of freedom. So the probability of any false "better" is
    about 0.05 at most. A judge's rank lies between 1 + the number significantly better and *J* − the number
    significantly worse. A judge on which the metric is undefined gets 1 to *J*.

    `judges`: the metric of each, measured on the same items. Differences hold what annotators add, where they are known.

    Raises StatisticsError: there are no judges, they were measured on different queries, or there is one query only.

    Sources: Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91, 476-518.
    Hothorn, Bretz & Westfall (2008), Biometrical Journal 50, 346-363 (one level from the joint distribution).
    """
    influence = influences(judges)
    values = np.array([found.value for found in judges]) * (1 if direction == "higher" else -1)
    first, second = np.triu_indices(len(judges), 1)
    between = np.array([apart(one, other) for one, other in combinations(judges, 2)])
    spread = np.array([np.sqrt(cluster_variance(each)) for each in between])
    known = (spread > LEAST_SPREAD) & np.isfinite(values[first] - values[second])
    critical = largest_normal(influence, first[known], second[known], rng=np.random.default_rng(0))
    difference = values[first] - values[second]
    n = len(judges)
    better = np.zeros((n, n), dtype=bool)
    for pair in np.flatnonzero(known):
        df = min(degrees_of_freedom(between[pair]), *(judges[j].at_risk - 1 for j in (first[pair], second[pair])))
        if abs(difference[pair]) > critical.t(df) * spread[pair]:
            one, other = (first[pair], second[pair]) if difference[pair] > 0 else (second[pair], first[pair])
            better[one, other] = True
    return RankIntervals(best=1 + better.sum(axis=0), worst=n - better.sum(axis=1), better=better, critical=critical.z)


def influences(judges: Sequence[Measured]) -> FloatArray:
    """(judges, queries)."""
    if not judges:
        raise StatisticsError("there are no judges to rank")
    if len({len(found.influence) for found in judges}) > 1:
        raise StatisticsError("the judges were measured on different queries")
    if len(judges[0].influence) < 2:
        raise StatisticsError("ranks need at least two queries: their intervals are over queries")
    return np.array([found.influence for found in judges])


@dataclass(frozen=True)
class Critical:
    """One level for many tests: `z` of the normal distribution, and of Student's the same tail."""

    z: float

    def t(self, df: float) -> float:
        from scipy.special import ndtr

        return student_quantile(float(ndtr(self.z)), df)


def largest_normal(influence: FloatArray, first: IntArray, second: IntArray, *, rng: np.random.Generator) -> Critical:
    """The `LEVEL` quantile of the largest standardised difference, normal and as correlated as the influences."""
    if not len(first):
        return Critical(float("inf"))
    values, vectors = np.linalg.eigh(influence @ influence.T)
    root = vectors * np.sqrt(np.maximum(values, 0))
    drawn = rng.standard_normal((DRAWS, len(root))) @ root.T
    apart = root[first] - root[second]
    largest = np.zeros(DRAWS)
    for one, other, size in zip(first, second, np.sqrt((apart**2).sum(axis=1)), strict=True):
        np.maximum(largest, np.abs(drawn[:, one] - drawn[:, other]) / size, out=largest)
    return Critical(float(np.quantile(largest, LEVEL)))
