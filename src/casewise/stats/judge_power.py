"""How many queries tell two judges apart: by assumptions, and by simulation on the queries of two runs.

Both judges decide the same items, so what counts is how their difference varies from query to query.

Source: Miller (2024), Adding error bars to evals: a statistical approach to language model evaluations, §5 (eq. 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    FloatArray,
    checked_integer,
    checked_share,
    cluster_sums,
    cluster_variance,
    clusters_of,
)
from casewise.stats.intervals import LEVEL, degrees_of_freedom, shows_spread
from casewise.stats.power import check, smallest_n
from casewise.stats.shares import f_critical, f_power, wilson

MANY, DRAWN = 2_000, 2**24
"""Number of queries above which equal ones are combined, and of numbers that are drawn at a time."""


@dataclass(frozen=True)
class SimulatedPower:
    """The simulated power of so many queries to find a true difference; the limits are the simulation's own error."""

    queries: int
    power: float
    ci_low: float
    ci_high: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class QueryDifferences:
    """Differences of two judges on each query of two runs, summed over its items, and the number of these."""

    sums: FloatArray
    items: FloatArray
    chance: FloatArray
    """The chance of a query like this in the population: equal for observed queries, tilted for another mean."""

    @property
    def mean(self) -> float:
        """The mean difference of an item."""
        return float(self.chance @ self.sums / (self.chance @ self.items))

    @property
    def deviation(self) -> float:
        """Standard deviation of a query's part of the difference; divided by the root of the number of queries it is the error."""
        part = (self.sums - self.mean * self.items) / (self.chance @ self.items)
        return float(np.sqrt(self.chance @ part**2))

    def tilted(self, difference: float) -> QueryDifferences:
        r"""Return the population nearest to these queries in which the judges differ by `difference`.

        Queries are weighted by :math:`\exp(\lambda (d_g - \delta k_g))`: of all weights that give this mean they have the
        largest entropy (Efron 1981, Canadian J. Statistics 9, §11).

        Raises StatisticsError: no weights give it: the judges differ by less than that on every query.
        """
        off = self.sums - difference * self.items
        if not off.min() < 0 < off.max():
            raise StatisticsError(
                f"planning from these runs is not possible: the judges' difference is never on the other side of {difference:g} on a query, so "
                "nothing says how it would vary; judge more queries, or plan with --difference and without --from"
            )
        often = self.chance / self.chance.max()

        def weight(slope: float) -> FloatArray:
            weights = often * np.exp(slope * off - (slope * off).max())
            return np.asarray(weights / weights.sum(), dtype=np.float64)

        low, high = -1.0, 1.0
        while weight(low) @ off > 0:
            low *= 2
        while weight(high) @ off < 0:
            high *= 2
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if weight(middle) @ off > 0 else (middle, high)
        return QueryDifferences(self.sums, self.items, weight(high))

    @classmethod
    def from_sums(cls, sums: FloatArray, items: FloatArray) -> Self:
        """Return the population of the observed queries; above `MANY`, equal queries are one with a larger chance."""
        chance = np.full(len(sums), 1 / len(sums))
        if len(sums) > MANY:
            kinds, kind = np.unique(np.column_stack([sums, items]), axis=0, return_inverse=True)
            (sums, items), chance = kinds.T, np.bincount(kind.ravel(), chance)
        return cls(sums, items, chance)


def query_differences(first: ArrayLike, second: ArrayLike, *, clusters: ArrayLike | None = None) -> QueryDifferences:
    """Return the differences of two judges' scores, an item each, summed within queries.

    Raises StatisticsError: fewer than two queries, or judges that never differ.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    ids = clusters_of(clusters, len(a))
    groups = int(ids.max(initial=-1)) + 1
    if groups < 2 or not (a != b).any():
        raise StatisticsError("planning from runs needs two queries at least, and judges that differ on one")
    sums, items = cluster_sums((a - b, np.ones(len(a))), ids, n_clusters=groups).T
    return QueryDifferences.from_sums(sums, items)


def assumed_deviation(
    difference: float, *, discordance: float, items_per_query: int = 1, correlation: float = 0.0
) -> float:
    r"""Return the standard deviation of a query's mean difference in accuracy, from how often only one of two judges is right.

    .. math:: \sqrt{(q - \delta^2) \, \frac{1 + (k-1) \rho}{k}}

    `difference`: :math:`\delta`, in accuracy.
    `discordance`: *q*: on how many items exactly one of the two is right; at least the difference.
    `items_per_query`: *k*.
    `correlation`: :math:`\rho`, between the differences on two items of a query.
    """
    q = checked_share(discordance, "discordance")
    if not abs(difference) <= q:
        raise StatisticsError(f"judges that differ in {q:g} of items cannot differ by {difference!r} in accuracy")
    k = checked_integer(items_per_query, "items_per_query", minimum=1)
    if not -1 / max(k - 1, 1) <= correlation <= 1:
        raise StatisticsError(f"correlation must lie between {-1 / max(k - 1, 1):g} and 1, not {correlation!r}")
    return float(np.sqrt((q - difference**2) * (1 + (k - 1) * correlation) / k))


def queries_needed(difference: float, deviation: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    r"""Return the fewest queries at which a two-sided *t* test finds the difference: Miller's eq. 9 with Student's quantiles.

    .. math:: n \approx (z_{\alpha/2} + z_\beta)^2 \, \sigma^2 / \delta^2
    """
    check(alpha, power=power)
    effect = standardised(difference, deviation)
    about = min((ndtri(1 - alpha / 2) + ndtri(power)) / effect, 1e6) ** 2

    def power_at(n: int) -> float:
        return power_of_queries(n, difference, deviation, alpha=alpha)

    question = f"a difference of {difference:g} between judges"
    return smallest_n(power, power_at, start=max(2, int(about)), question=question)


FEWEST_FOR_A_FORECAST = 10
"""Effective number of queries (degrees of freedom and one more) below which their spread is hardly known, and so the number needed."""

MOST_FORECAST = 1_000_000
"""Number of queries above which a forecast is out of reach."""


def further_queries(difference: float, influence: FloatArray, n: int, *, level: float = LEVEL) -> int | None:
    """Return the further queries that would show this difference with 80 % power, if its size stays the same.

    None where no number within reach would, or where the queries at hand say too little of how much they differ.

    `influence`: (queries,) of the difference.
    `n`: number of queries at hand.
    `level`: confidence level of the interval that is to lie above 0.
    """
    deviation = math.sqrt(cluster_variance(influence) * n)
    if not shows_spread(influence) or degrees_of_freedom(influence) < FEWEST_FOR_A_FORECAST - 1:
        return None
    try:
        needed = queries_needed(difference, deviation, alpha=1 - level)
    except StatisticsError:
        return None
    return None if needed > MOST_FORECAST else max(1, needed - n)


def standardised(difference: float, deviation: float) -> float:
    """Return the size of a difference in standard deviations. Raises StatisticsError: one of them is 0 or infinite."""
    if not 0 < abs(difference) < np.inf:
        raise StatisticsError("difference must be finite and not 0: no number of queries finds a difference of zero")
    if not 0 < deviation < np.inf:
        raise StatisticsError("the judges' difference must vary over queries, and finitely: else one query would tell")
    with np.errstate(over="ignore"):
        effect = float(np.float64(abs(difference)) / np.float64(deviation))
    return min(max(effect, 1e-100), 1e100)  # its square is a float; beyond, power is 0 and 1 all the same


def power_of_queries(n: int, difference: float, deviation: float, *, alpha: float = 0.05) -> float:
    """Return the power of a two-sided *t* test on so many queries."""
    checked_share(alpha, "alpha")
    df = checked_integer(n, "n", minimum=2) - 1
    return f_power(f_critical(alpha, 1, df), 1, df, n * standardised(difference, deviation) ** 2)


def simulated_power(
    population: QueryDifferences, n: int, *, alpha: float = 0.05, repeats: int = 4_000, seed: int = 0
) -> SimulatedPower:
    """Simulate how often so many queries of this population show a difference, by the cluster-robust *t* on *n* − 1 degrees.

    A population with a mean of 0 gives the size of the test.

    Raises StatisticsError: fewer than two queries, or an alpha outside (0, 1).
    """
    checked_integer(n, "n", minimum=2)
    checked_share(alpha, "alpha")
    rng = np.random.default_rng(seed)
    d, k = population.sums, population.items
    step = max(1, DRAWN // len(d))
    sizes = [min(step, repeats - first) for first in range(0, checked_integer(repeats, "repeats", minimum=1), step)]
    drawn = (rng.multinomial(n, population.chance, size=size) for size in sizes)
    summed = [[counts @ values for values in (k, d, d**2, d * k, k**2)] for counts in drawn]
    items, total, *squared = map(np.concatenate, zip(*summed, strict=True))
    mean = total / items
    squares = squared[0] - 2 * mean * squared[1] + mean**2 * squared[2]
    error = np.sqrt(np.maximum(n / (n - 1) * squares, 0.0)) / items
    rejected = int((np.abs(mean) > stdtrit(n - 1, 1 - alpha / 2) * error).sum())
    limits = wilson(rejected, repeats)
    return SimulatedPower(n, rejected / repeats, float(limits.low), float(limits.high), repeats, seed)


def simulated_queries_needed(
    population: QueryDifferences, *, alpha: float = 0.05, power: float = 0.8, repeats: int = 4_000
) -> SimulatedPower:
    """Return the fewest queries that show this population's difference with at least `power`, searched around the formula's."""
    about = queries_needed(population.mean, population.deviation, alpha=alpha, power=power)
    low, high = max(1, about // 2), 2 * about + 10
    while high - low > max(1, about // 200):
        middle = (low + high) // 2
        reached = simulated_power(population, middle, alpha=alpha, repeats=repeats).power >= power
        low, high = (low, middle) if reached else (middle, high)
    return simulated_power(population, high, alpha=alpha, repeats=repeats)
