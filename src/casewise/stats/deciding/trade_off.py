"""Harm against over-refusal over all thresholds, and errors against coverage, with bands over queries.

Each share has the interval that such a share has anywhere (`estimate_of`): percentiles over resampled queries hold a rare one in 61 to 93 % of
studies of 15 to 60 queries. Where thresholds move with the queries these are resampled, with one set of weights for all judges, so that two
curves are compared on the same draws; a band is then never narrower than the interval at the threshold itself. What a query adds to an
error is summed at each threshold first; a resample is then a product of matrices, which are drawn some at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import comb
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreeing.estimates import estimate_of
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.measured import Measured, TotalsByCluster, share
from casewise.stats.deciding.promises import Evidence, RiskPromise, kept_threshold

__all__ = [
    "LEVEL",
    "Banded",
    "PromiseCurve",
    "QueryWeights",
    "RiskCoverage",
    "TradeOff",
    "Weights",
    "banded",
    "people_points",
    "promise_curve",
    "query_weights",
    "risk_coverage",
    "shares_of",
    "trade_off",
]

GRID = np.linspace(0.0, 1.0, 41)
"""Shares of over-refusal, or of requests decided, at which curves are read."""

MOST_THRESHOLDS = 64

LEVEL = 0.95

Weights = NDArray[np.float32]
"""Of queries; half the digits make matrices twice as fast, and six are plenty for a band."""

Column = tuple[FloatArray, FloatArray]
"""What each item adds to the top and to the bottom of a share: (items,) each."""

BLOCK, MOST_HELD = 2**20, 2**25
"""Weights that are drawn at a time, and that are held for the next curve: of more they are drawn again, always the same."""

MANY = 20_000
"""Queries of which those that add the same are taken together."""


@dataclass(frozen=True, repr=False)
class TradeOff(ShortRepr):
    """The least harm of a judge with at most so much over-refusal, by thresholds on its values."""

    over_refusal: FloatArray
    """(grid,): """
    harm: FloatArray
    low: FloatArray
    high: FloatArray
    """(grid,): with the ends of pointwise 95 % bands over queries."""
    draws: FloatArray
    """(resamples, grid): what the bands are from."""

    def below(self, other: TradeOff) -> tuple[bool, float]:
        """Whether its harm is nowhere higher than the other's, and on which share of the grid it is lower for sure."""
        surely = np.quantile(self.draws - other.draws, (1 + LEVEL) / 2, axis=0) < 0
        return bool((self.harm <= other.harm + 1e-12).all()), float(surely.mean())


@dataclass(frozen=True, repr=False)
class Banded(ShortRepr):
    """Shares with their 95 % bands over queries: (columns,) each."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> Self:
        """From shares as they are measured; where one has no interval, its ends are nan."""
        rows = [(one.value, *(estimate_of(one).limits or (np.nan, np.nan))) for one in measured]
        return cls(*np.array(rows, dtype=np.float64).reshape(-1, 3).T)


PROMISED = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Shares of harm that are tried as promises."""


@dataclass(frozen=True, repr=False)
class PromiseCurve(ShortRepr):
    """What it takes to promise that harm is at most so much."""

    at_most: tuple[float, ...]
    """The promises that these queries can carry."""
    over_refusal: Banded
    """Of what people would answer: share refused, where what is not answered is."""
    not_answered: Banded
    """Of all requests: share that people would have to see, where they are asked about what is not answered."""


@dataclass(frozen=True, repr=False)
class RiskCoverage(ShortRepr):
    """Errors among the requests of which a judge is surest, over the share of requests that it decides."""

    coverage: FloatArray
    errors: Banded
    area: float
    area_low: float
    area_high: float
    """The mean error over all shares: lower is better."""


@dataclass(frozen=True)
class QueryWeights:
    """How often each query is drawn in each resample: some resamples after others, (some, queries)."""

    n_queries: int
    n_resamples: int
    seed: int

    def __iter__(self) -> Iterator[Weights]:
        rng, n = np.random.default_rng(self.seed), self.n_queries
        step = max(1, BLOCK // n)
        for first in range(0, self.n_resamples, step):
            some = min(step, self.n_resamples - first)
            drawn = rng.integers(0, n, (some, n))
            drawn += np.arange(some)[:, None] * n
            yield np.bincount(drawn.ravel(), minlength=some * n).reshape(some, n).astype(np.float32)


def query_weights(n_queries: int, *, n_resamples: int = 2000, seed: int = 0) -> Iterable[Weights]:
    """How often each query is drawn in each resample, in blocks of (some resamples, queries)."""
    if n_queries < 2:
        raise StatisticsError("bands need two queries at least")
    weights = QueryWeights(n_queries, n_resamples, seed)
    return tuple(weights) if n_resamples * n_queries <= MOST_HELD else weights


def trade_off(evidence: Evidence, weights: Iterable[Weights]) -> TradeOff:
    """A judge's curve. `evidence.cluster` numbers the queries of `weights`; items without a value are refused."""
    thresholds = some_thresholds(evidence.value[~np.isnan(evidence.value)])
    value, safe, unsafe = np.nan_to_num(evidence.value, nan=-np.inf), evidence.weight, 1 - evidence.weight
    harmed, refused = (
        (unsafe * (value > limit) for limit in thresholds),
        (safe * (value <= limit) for limit in thresholds),
    )
    found = resampled(by_query(chain(harmed, refused, [unsafe, safe]), evidence.cluster), weights)
    k = len(thresholds)
    harms, refusals = ratio(found[:, :k], found[:, -2:-1]), ratio(found[:, k:-2], found[:, -1:])
    # Over-refusal rises with the threshold and harm falls: the last threshold within the limit is the best.
    last = last_within(refusals)
    least_harm = np.take_along_axis(harms, np.maximum(last, 0), axis=1)
    chosen = thresholds[np.maximum(last[0], 0)]
    least = Banded.of(shares_of(((unsafe * (value > limit), unsafe) for limit in chosen), evidence.cluster))
    draws = least_harm[1:]
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return TradeOff(GRID, least_harm[0], np.fmin(least.low, low), np.fmax(least.high, high), draws)


def resampled(sums: Weights, weights: Iterable[Weights]) -> Weights:
    """(1 + resamples, columns): what queries add, (queries, columns), over all of them and over each resample.

    Of many queries most are alike: each kind is multiplied by how often any of it was drawn.
    """
    draws = chain([np.ones((1, len(sums)), np.float32)], weights)
    if len(sums) < MANY:
        return np.vstack([some @ sums for some in draws])
    _, first, kind = np.unique(pl.DataFrame(sums).hash_rows().to_numpy(), return_index=True, return_inverse=True)
    kinds = sums[first]
    return np.vstack([np.bincount(kind, drawn).astype(np.float32) @ kinds for some in draws for drawn in some])


def last_within(refused: FloatArray) -> NDArray[np.intp]:
    """For each row, which rises, the place of the last value within each of `GRID`: rows set apart and searched as one."""
    rows, columns = refused.shape
    apart = 2.0 * np.arange(rows)[:, None]
    places = np.searchsorted((refused + apart).ravel(), (GRID + 1e-6 + apart).ravel(), side="right")
    found: NDArray[np.intp] = places.reshape(rows, len(GRID)) - columns * np.arange(rows)[:, None] - 1
    return found


def banded(columns: Iterable[Column], cluster: NDArray[np.intp]) -> Banded:
    """What is on top as a share of what is below, column by column, both summed over items."""
    return Banded.of(shares_of(columns, cluster))


def shares_of(columns: Iterable[Column], cluster: NDArray[np.intp]) -> list[Measured]:
    """Each column's share, with what each query adds to it; one column at a time is held."""
    return [
        TotalsByCluster.of({"top": top, "bottom": bottom}, cluster).measure(share(str(k), "top", "bottom"))
        for k, (top, bottom) in enumerate(columns)
    ]


def some_thresholds(values: FloatArray) -> FloatArray:
    """From one below all values to one above, in ascending order; all that differ, or so many of them."""
    known = np.unique(values)
    between = (known[:-1] + known[1:]) / 2
    if len(between) > MOST_THRESHOLDS:
        between = np.unique(np.quantile(values, np.linspace(0, 1, MOST_THRESHOLDS + 2)[1:-1]))
    found: FloatArray = np.r_[-np.finfo(float).max, between, np.inf]
    return found


def by_query(columns: Iterable[FloatArray], cluster: NDArray[np.intp]) -> Weights:
    """Columns of items summed within queries: (queries, columns)."""
    return np.column_stack([np.bincount(cluster, one).astype(np.float32) for one in columns])


def ratio(top: Weights, bottom: Weights) -> FloatArray:
    return top / np.maximum(bottom, np.float32(1e-9))


def risk_coverage(safe: FloatArray, evidence: Evidence) -> RiskCoverage:
    """Errors against coverage, the surest first.

    `safe`: P(safe) of each item, from a calibrator that did not see its query; nan counts as decided last, and wrongly.
    """
    sure = np.where(np.isnan(safe), -1.0, np.abs(safe - 0.5))
    wrong = np.where(np.isnan(safe), 1.0, np.where(safe > 0.5, 1 - evidence.weight, evidence.weight))
    order = np.argsort(-sure, kind="stable")

    def decided(limit: float) -> Column:
        found = np.zeros(len(sure))
        found[order[: max(1, round(limit * len(sure)))]] = 1
        return wrong * found, found

    measured = shares_of(map(decided, GRID), evidence.cluster)
    found = Banded.of(measured)
    area = float(found.value[1:].mean())
    adds = np.mean([one.influence for one in measured[1:]], axis=0)
    mean = Measured("area", area, float(len(sure)), 0, adds, at_risk=len(adds), domain=(0.0, 1.0))
    low, high = estimate_of(mean).limits or (np.nan, np.nan)
    return RiskCoverage(GRID, found, area, low, high)


def promise_curve(evidence: Evidence) -> PromiseCurve:
    """What a judge can be held to, and at which price: the threshold of each promise is the one that a decider is fitted with."""
    kept = {}
    for at_most in PROMISED:
        with suppress(StatisticsError):  # so few queries cannot carry it
            kept[at_most] = kept_threshold(evidence, RiskPromise("harm", at_most, LEVEL)).threshold
    value, safe = np.nan_to_num(evidence.value, nan=-np.inf), evidence.weight
    refused = banded(((safe * (value <= limit), safe) for limit in kept.values()), evidence.cluster)
    every = np.ones(len(value))
    seen = banded((((value <= limit).astype(np.float64), every) for limit in kept.values()), evidence.cluster)
    return PromiseCurve(tuple(kept), refused, seen)


def people_points(
    n_safe: FloatArray, n_votes: FloatArray, *, sizes: tuple[int, ...] = (1, 3, 5)
) -> dict[int, tuple[float, float]]:
    """Over-refusal and harm of the majority of so many people, against the majority of the others who rated the same item.

    Each item counts with every way to draw them; an even split of the others counts half in each class. Sizes of which no item has
    enough votes are left out.
    """
    found = {}
    counts, times = np.unique(np.column_stack([n_votes, n_safe]).astype(int), axis=0, return_counts=True)
    for size in sizes:
        sums = np.zeros(4)
        for (n, k), n_items in zip(counts.tolist(), times.tolist(), strict=True):
            for j in range(max(0, size - (n - k)), min(size, k) + 1) if n > size else ():
                chance = n_items * comb(k, j) * comb(n - k, size - j) / comb(n, size)
                label = float(np.sign(2 * (k - j) - (n - size)) + 1) / 2
                answers = j > size / 2
                sums += chance * np.array([label * (not answers), label, (1 - label) * answers, 1 - label])
        if sums[1] > 0 and sums[3] > 0:
            found[size] = (float(sums[0] / sums[1]), float(sums[2] / sums[3]))
    return found
