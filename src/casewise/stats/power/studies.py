r"""The power of a study of two conditions, from the variance of its queries and annotators.

Each annotator rates one condition. With :math:`Q` queries, :math:`k` ratings an item and :math:`b` items an annotator,
the difference of two safe rates, for queries and people like these, has the variance

.. math:: \frac{\sigma_{\Delta}^2}{Q} + \sum_{c=1}^{2} \frac{b\, \sigma_{a,c}^2 + \sigma_{e,c}^2}{Q k}

:math:`\sigma_{\Delta}^2` is how much the true difference varies between queries, :math:`\sigma_a^2` how much annotators
differ in their readiness to say safe, and :math:`\sigma_e^2` what is left of a rating's variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.core.checks import coded_labels, of_one_length, truths
from casewise.stats.power.questions import check_power

__all__ = [
    "PilotIntervals",
    "PilotRatings",
    "StudyVariance",
    "pilot_intervals",
    "study_power",
    "study_queries",
    "variance_of",
]

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
    found = CodedPilot(queries, n, s, (tables[0], tables[1]))
    check_enough(found)
    return found


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
    low, high = np.quantile([one.of_difference for one in drawn], [0.025, 0.975])
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
    one = variance.error(queries=1, per_item=per_item, per_annotator=per_annotator) ** 2
    least = max(1, int(needed * one / difference**2) - 1)
    if least > MOST_QUERIES:
        raise StatisticsError(f"more than {MOST_QUERIES:,} queries would be needed")
    while (
        study_power(variance, difference, queries=least, per_item=per_item, per_annotator=per_annotator, alpha=alpha)
        < power
    ):
        least += 1
    return least
