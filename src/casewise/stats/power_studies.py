"""Power of whole studies and of comparisons of judges, by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    FloatArray,
    IntArray,
    checked_draws,
    checked_share,
    cluster_sums,
    clusters_of,
    coded_labels,
    of_one_length,
    truths,
    vector,
    whole,
)
from casewise.stats.power import check_power, smallest_reaching
from casewise.stats.shares import f_critical, f_power, wilson

# The power of a study of two conditions, from the variance of its queries and annotators.
#
# Each annotator rates one condition. With :math:`Q` queries, :math:`k` ratings an item and :math:`b` items an annotator,
# the difference of two safe rates, for queries and people like these, has the variance
#
# .. math:: \frac{\sigma_{\Delta}^2}{Q} + \sum_{c=1}^{2} \frac{b\, \sigma_{a,c}^2 + \sigma_{e,c}^2}{Q k}
#
# :math:`\sigma_{\Delta}^2` is how much the true difference varies between queries, :math:`\sigma_a^2` how much annotators
# differ in their readiness to say safe, and :math:`\sigma_e^2` what is left of a rating's variance.


MOST_QUERIES = 1_000_000


@dataclass(frozen=True)
class PilotRatings:
    """Ratings of two conditions, one entry a rating in every array."""

    safe: ArrayLike
    second: ArrayLike
    """Whether a rating is of the second condition."""
    query: ArrayLike
    annotator: ArrayLike


@dataclass(frozen=True)
class StudyVariance:
    """What a difference's variance is made of; none is below 0."""

    difference: float
    """First safe rate less the second, as observed."""
    of_difference: float
    """Of the true difference, between queries."""
    of_annotators: float
    """Of annotators, the mean of both conditions."""
    of_ratings: float
    """What is left of a rating's variance, the mean of both conditions."""

    def error(self, *, queries: int, per_item: int, per_annotator: float) -> float:
        """Standard error of the difference in such a study.

        Raises StatisticsError: no queries, ratings of an item or items of an annotator.
        """
        if not (queries >= 1 and per_item > 0 and 0 < per_annotator < np.inf):
            raise StatisticsError("a study has a query at least, ratings of each item and items for each annotator")
        ratings = 2 * (per_annotator * self.of_annotators + self.of_ratings) / per_item
        return float(np.sqrt((self.of_difference + ratings) / queries))


def variance_of(pilot: PilotRatings) -> StudyVariance:
    """The parts, each from products of pairs of ratings that share a query, an annotator, or neither.

    Every mean of products is unbiased for its moment, whatever the numbers of ratings; a part that comes out negative is
    given as 0.

    Raises StatisticsError: a condition lacks two queries, two annotators, or an item with two ratings; or no query has
    both conditions.
    """
    coded = code(pilot)
    return from_sums(coded, np.ones(coded.queries))


class CodedPilot(NamedTuple):
    """Per condition, sums over ratings by query and what pairs there are."""

    queries: int
    n: FloatArray
    """(2, queries) ratings."""
    s: FloatArray
    """(2, queries) safe ratings."""
    annotator: tuple[FloatArray, FloatArray]
    """Of each condition: (annotators, queries) ratings; then safe ones, stacked."""


def code(pilot: PilotRatings) -> CodedPilot:
    safe, second = truths(pilot.safe, "safe"), truths(pilot.second, "second")
    query, annotator = coded_labels(pilot.query, "query"), coded_labels(pilot.annotator, "annotator")
    of_one_length(safe=safe, second=second, query=query, annotator=annotator)
    if not len(query):
        raise StatisticsError("a pilot needs ratings of both conditions")
    queries = int(query.max()) + 1
    n, s = np.zeros((2, queries)), np.zeros((2, queries))
    tables = []
    for condition in (0, 1):
        here = second == bool(condition)
        if not here.any():
            raise StatisticsError("a pilot needs ratings of both conditions")
        n[condition] = np.bincount(query[here], minlength=queries)
        s[condition] = np.bincount(query[here], weights=safe[here].astype(float), minlength=queries)
        tables.append(by_annotator(safe[here], query[here], coded_labels(annotator[here], "annotator"), queries))
    coded = CodedPilot(queries, n, s, (tables[0], tables[1]))
    check_enough(coded)
    return coded


def by_annotator(safe: FloatArray, query: IntArray, annotator: IntArray, queries: int) -> FloatArray:
    table = np.zeros((2, int(annotator.max()) + 1, queries))
    np.add.at(table[0], (annotator, query), 1.0)
    np.add.at(table[1], (annotator, query), safe.astype(float))
    return table


def check_enough(coded: CodedPilot) -> None:
    enough = (coded.n > 0).sum(1).min() >= 2 and min(len(table[0]) for table in coded.annotator) >= 2
    if not enough or coded.n.max(1).min() < 2:
        raise StatisticsError(
            "a pilot needs, of each condition, two queries, two annotators and an item with two ratings"
        )
    if not ((coded.n[0] > 0) & (coded.n[1] > 0)).any():
        raise StatisticsError("a pilot needs a query that was rated under both conditions")


def from_sums(coded: CodedPilot, weight: FloatArray) -> StudyVariance:
    """The parts where each query counts `weight` times."""
    n, s = coded.n * weight, coded.s * weight
    between, annotators, left = [], [], []
    rates = s.sum(1) / n.sum(1)
    for condition, table in enumerate(coded.annotator):
        tn, ts = table[0] * weight, table[1] * weight
        square = (coded.s[condition] ** 2 * weight).sum() - s[condition].sum()
        same_query = square / max((coded.n[condition] ** 2 * weight).sum() - n[condition].sum(), 1e-12)
        own_n, own_s = (tn.sum(1) ** 2).sum(), (ts.sum(1) ** 2).sum()
        within_n, within_s = (tn * table[0]).sum(), (ts * table[1]).sum()
        same_annotator = (own_s - within_s) / max(own_n - within_n, 1e-12)
        pairs = n[condition].sum() ** 2 - (coded.n[condition] * n[condition]).sum() - own_n + within_n
        total = s[condition].sum() ** 2 - (coded.s[condition] * s[condition]).sum() - own_s + within_s
        apart = total / pairs if pairs > 0 else rates[condition] ** 2
        between.append(same_query - apart)
        annotators.append(max(0.0, same_annotator - apart))
        left.append(max(0.0, rates[condition] - apart - max(0.0, between[-1]) - annotators[-1]))
    shared_n, shared_s = (coded.n[0] * n[1]).sum(), (coded.s[0] * s[1]).sum()
    apart_n, apart_s = n[0].sum() * n[1].sum() - shared_n, s[0].sum() * s[1].sum() - shared_s
    across = shared_s / shared_n - apart_s / apart_n if shared_n > 0 and apart_n > 0 else 0.0
    return StudyVariance(
        difference=float(rates[0] - rates[1]),
        of_difference=max(0.0, float(sum(between) - 2 * across)),
        of_annotators=float(np.mean(annotators)),
        of_ratings=float(np.mean(left)),
    )


@dataclass(frozen=True)
class PilotIntervals:
    """The 95 % interval of what a pilot's queries differ by.

    What its annotators differ by has none: one over queries held in 67 to 73 % of simulated pilots.
    """

    of_difference: tuple[float, float]


def pilot_intervals(pilot: PilotRatings, *, rng: np.random.Generator, draws: int = 500) -> PilotIntervals:
    """A percentile interval from resampled queries. Raises StatisticsError: as `variance_of`."""
    coded = code(pilot)
    drawn = []
    for _ in range(draws):
        weight = np.bincount(rng.integers(0, coded.queries, coded.queries), minlength=coded.queries).astype(float)
        if ((coded.n * weight).sum(1) > 0).all():
            drawn.append(from_sums(coded, weight))
    low, high = np.quantile([draw.of_difference for draw in drawn], [0.025, 0.975])
    return PilotIntervals((float(low), float(high)))


def study_power(
    variance: StudyVariance,
    difference: float,
    *,
    queries: int,
    per_item: int,
    per_annotator: float,
    alpha: float = 0.05,
) -> float:
    """Probability that a two-sided test finds `difference`, by the normal distribution."""
    if not abs(difference) <= 1:
        raise StatisticsError(f"a difference of rates lies between -1 and 1, not {difference!r}")
    error = variance.error(queries=queries, per_item=per_item, per_annotator=per_annotator)
    if error == 0:
        return 1.0 if difference else alpha
    critical, shift = -float(ndtri(alpha / 2)), abs(difference) / error
    return float(ndtr(shift - critical) + ndtr(-shift - critical))


def study_queries(
    variance: StudyVariance,
    difference: float,
    *,
    per_item: int,
    per_annotator: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """The fewest queries with which a study finds `difference` with at least `power`.

    Raises StatisticsError: the difference is 0, power or alpha cannot be one, or more than a million queries would be needed.
    """
    check_power(power, alpha)
    if not difference:
        raise StatisticsError("a difference of 0 is found by no study")
    needed = (-float(ndtri(alpha / 2)) + float(ndtri(power))) ** 2
    variance_of_query = variance.error(queries=1, per_item=per_item, per_annotator=per_annotator) ** 2
    least = max(1, int(needed * variance_of_query / difference**2) - 1)
    if least > MOST_QUERIES:
        raise StatisticsError(f"more than {MOST_QUERIES:,} queries would be needed")
    while (
        study_power(variance, difference, queries=least, per_item=per_item, per_annotator=per_annotator, alpha=alpha)
        < power
    ):
        least += 1
    return least


def detectable_shift(df: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the noncentrality at which a two-sided *t* test on `df` degrees of freedom reaches `power`.

    A difference of that many standard errors is the smallest one that is found.

    Raises StatisticsError: power or alpha cannot be one, or df is below 1.
    """
    check_power(power, alpha)
    if not df >= 1:
        raise StatisticsError("a comparison of two groups needs two people in each at least")
    critical = f_critical(alpha, 1, df)
    return float(brentq(lambda shift: f_power(critical, 1, df, shift**2) - power, 0.0, 1e4))


# How many queries tell two judges apart: by assumptions, and by simulation on the queries of two runs.
#
# Both judges decide the same items, so what counts is how their difference varies from query to query.
#
# Source: Miller (2024), Adding error bars to evals: a statistical approach to language model evaluations, §5 (eq. 9).


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
    rejected = int((np.abs(mean) > stdtrit(n - 1, 1 - alpha / 2) * error).sum())
    limits = wilson(rejected, repeats)
    return SimulatedPower(n, rejected / repeats, float(limits.low), float(limits.high), repeats, seed)


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
