"""How many queries tell two judges apart: by assumptions, and by simulation on the queries of two runs.

Both judges decide the same items, so what counts is how their difference varies from query to query.

Source: Miller (2024), Adding error bars to evals: a statistical approach to language model evaluations, §5 (eq. 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, checked_share
from casewise.stats.core.checks import checked_draws, clusters_of, of_one_length, vector, whole
from casewise.stats.core.cluster_variance import cluster_sums
from casewise.stats.core.share_intervals import wilson
from casewise.stats.core.tails import f_critical, f_power
from casewise.stats.power.questions import check_power, smallest_reaching

__all__ = [
    "QueryDifferences",
    "SimulatedPower",
    "assumed_deviation",
    "power_of_queries",
    "queries_needed",
    "query_differences",
    "simulated_power",
    "simulated_queries_needed",
]


MANY, DRAWN = 2_000, 2**24
"""Queries of which those that are alike are taken together, and numbers that are drawn at a time."""


@dataclass(frozen=True)
class SimulatedPower:
    """How often a true difference is found with so many queries; the limits are the simulation's own error."""

    queries: int
    power: float
    ci_low: float
    ci_high: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class QueryDifferences:
    """What two judges differ by on each query of two runs: summed over its items, whose number it is beside."""

    sums: FloatArray
    items: FloatArray
    chance: FloatArray
    """How likely a query of the population is to be one like this; all alike as observed, tilted for another mean."""

    @property
    def mean(self) -> float:
        """The difference an item."""
        return float(self.chance @ self.sums / (self.chance @ self.items))

    @property
    def deviation(self) -> float:
        """Standard deviation of a query's part of the difference: over the root of the queries it is the error."""
        part = (self.sums - self.mean * self.items) / (self.chance @ self.items)
        return float(np.sqrt(self.chance @ part**2))

    def tilted(self, difference: float) -> QueryDifferences:
        r"""The population nearest to these queries in which the judges differ by `difference`.

        Queries are weighted by :math:`\exp(\lambda (d_g - \delta k_g))`: of all weights that give this mean they have the
        largest entropy (Efron 1981, Canadian J. Statistics 9, §11).

        Raises StatisticsError: no weights give it: the judges differ by less than that on every query.
        """
        off = self.sums - difference * self.items
        if not off.min() < 0 < off.max():
            raise StatisticsError(
                f"no mix of these queries has a difference of {difference:g}: all lie on one side of it"
            )
        often = self.chance / self.chance.max()
        low, high = -1.0, 1.0
        while tilted_mean(off, low, often) > 0:
            low *= 2
        while tilted_mean(off, high, often) < 0:
            high *= 2
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if tilted_mean(off, middle, often) > 0 else (middle, high)
        weight = tilted_weight(off, high, often)
        return QueryDifferences(self.sums, self.items, weight / weight.sum())

    @classmethod
    def of(cls, sums: FloatArray, items: FloatArray) -> Self:
        """All queries as observed; of many those that are alike are one, which is as much likelier: most are, at a million items."""
        chance = np.full(len(sums), 1 / len(sums))
        if len(sums) > MANY:
            kinds, kind = np.unique(np.column_stack([sums, items]), axis=0, return_inverse=True)
            (sums, items), chance = kinds.T, np.bincount(kind.ravel(), chance)
        return cls(sums, items, chance)


def tilted_weight(off: FloatArray, slope: float, often: FloatArray) -> FloatArray:
    weight: FloatArray = often * np.exp(slope * off - (slope * off).max())
    return weight


def tilted_mean(off: FloatArray, slope: float, often: FloatArray) -> float:
    weight = tilted_weight(off, slope, often)
    return float(weight @ off / weight.sum())


def query_differences(first: ArrayLike, second: ArrayLike, *, clusters: ArrayLike | None = None) -> QueryDifferences:
    """The differences of two judges' scores, an item each, summed within queries.

    Raises StatisticsError: scores that are no numbers, lengths that differ, fewer than two queries, or judges that
    never differ.
    """
    a, b = vector(first, "first"), vector(second, "second")
    of_one_length(first=a, second=b)
    ids = clusters_of(clusters, len(a))
    groups = int(ids.max(initial=-1)) + 1
    if groups < 2 or not (a != b).any():
        raise StatisticsError("planning from runs needs two queries at least, and judges that differ on one")
    sums, items = cluster_sums((a - b, np.ones(len(a))), ids, n_clusters=groups).T
    return QueryDifferences.of(sums, items)


def assumed_deviation(
    difference: float, *, discordance: float, items_per_query: int = 1, correlation: float = 0.0
) -> float:
    r"""Standard deviation of a query's mean difference in accuracy, from how often only one of two judges is right.

    .. math:: \sqrt{(q - \delta^2) \, \frac{1 + (k-1) \rho}{k}}

    `difference`: :math:`\delta`, in accuracy.
    `discordance`: *q*: on how many items exactly one of the two is right; at least the difference.
    `items_per_query`: *k*.
    `correlation`: :math:`\rho`, between the differences on two items of a query.
    """
    q = checked_share(discordance, "discordance")
    if not abs(difference) <= q:
        raise StatisticsError(f"judges that differ in {q:g} of items cannot differ by {difference!r} in accuracy")
    k = whole(items_per_query, "items_per_query", least=1)
    if not -1 / max(k - 1, 1) <= correlation <= 1:
        raise StatisticsError(f"correlation must lie between {-1 / max(k - 1, 1):g} and 1, not {correlation!r}")
    return float(np.sqrt((q - difference**2) * (1 + (k - 1) * correlation) / k))


def queries_needed(difference: float, deviation: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    r"""Queries at which a two-sided *t* test finds the difference: Miller's eq. 9 with Student's quantiles.

    .. math:: n \approx (z_{\alpha/2} + z_\beta)^2 \, \sigma^2 / \delta^2
    """
    check_power(power, alpha)
    effect = standardised(difference, deviation)
    about = min((ndtri(1 - alpha / 2) + ndtri(power)) / effect, 1e6) ** 2
    question = f"a difference of {difference:g} between judges"
    return smallest_reaching(power, lambda n: t_power(n, effect, alpha), start=max(2, int(about)), question=question)


def standardised(difference: float, deviation: float) -> float:
    if not 0 < abs(difference) < np.inf:
        raise StatisticsError("difference must be finite and not 0: no number of queries finds a difference of nothing")
    if not 0 < deviation < np.inf:
        raise StatisticsError("the judges' difference must vary over queries, and finitely: else one query would tell")
    with np.errstate(over="ignore"):
        effect = float(np.float64(abs(difference)) / np.float64(deviation))
    return min(max(effect, 1e-100), 1e100)  # its square is a float; beyond, power is 0 and 1 all the same


def power_of_queries(n: int, difference: float, deviation: float, *, alpha: float = 0.05) -> float:
    """The power of a two-sided *t* test on so many queries."""
    checked_share(alpha, "alpha")
    return t_power(whole(n, "n", least=2), standardised(difference, deviation), alpha)


def t_power(n: int, effect: float, alpha: float) -> float:
    return f_power(f_critical(alpha, 1, n - 1), 1, n - 1, n * effect**2)


def simulated_power(
    population: QueryDifferences, n: int, *, alpha: float = 0.05, repeats: int = 4_000, seed: int = 0
) -> SimulatedPower:
    """How often so many queries of this population show a difference, by the cluster-robust *t* on *n* − 1 degrees.

    A population with a mean of 0 gives the size of the test.

    Raises StatisticsError: fewer than two queries, or an alpha outside (0, 1).
    """
    whole(n, "n", least=2)
    checked_share(alpha, "alpha")
    rng = np.random.default_rng(seed)
    d, k = population.sums, population.items
    step = max(1, DRAWN // len(d))
    sizes = [min(step, repeats - first) for first in range(0, checked_draws(repeats, "repeats"), step)]
    drawn = (rng.multinomial(n, population.chance, size=size) for size in sizes)
    summed = [[some @ each for each in (k, d, d**2, d * k, k**2)] for some in drawn]
    items, total, *squared = map(np.concatenate, zip(*summed, strict=True))
    mean = total / items
    squares = squared[0] - 2 * mean * squared[1] + mean**2 * squared[2]
    error = np.sqrt(np.maximum(n / (n - 1) * squares, 0.0)) / items
    found = int((np.abs(mean) > stdtrit(n - 1, 1 - alpha / 2) * error).sum())
    limits = wilson(found, repeats)
    return SimulatedPower(n, found / repeats, float(limits.low), float(limits.high), repeats, seed)


def simulated_queries_needed(
    population: QueryDifferences, *, alpha: float = 0.05, power: float = 0.8, repeats: int = 4_000, seed: int = 0
) -> SimulatedPower:
    """The fewest queries that show this population's difference so often, looked for around what the formula says."""
    about = queries_needed(population.mean, population.deviation, alpha=alpha, power=power)
    low, high = max(1, about // 2), 2 * about + 10
    while high - low > max(1, about // 200):
        middle = (low + high) // 2
        reached = simulated_power(population, middle, alpha=alpha, repeats=repeats, seed=seed).power >= power
        low, high = (low, middle) if reached else (middle, high)
    return simulated_power(population, high, alpha=alpha, repeats=repeats, seed=seed)
