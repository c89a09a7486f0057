"""How far a judge's values lie from how people split, beyond what few votes leave: distances over items, with intervals.

Source: Baan, Aziz, Plank & Fernández (2022), Stop measuring calibration when humans disagree, EMNLP, §4 (entropy).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, xlogy

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.agreeing.metrics import Metric, divide
from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.core.checks import checked_votes_of_items
from casewise.stats.core.divergence import debiased, entropy, jensen_shannon
from casewise.stats.core.measured import Totals, TotalsByCluster, VotesTerms
from casewise.stats.people.ceiling import rates_of_any_shape

__all__ = ["DISTANCES", "VERDICT_DISTANCES", "distances_of", "reachable_entropy_correlation"]

INSIDE = 1e-9
"""Probabilities are kept this far from 0 and 1 inside a cross entropy."""


def correlation(s: Totals) -> FloatArray:
    """Pearson's, undefined (nan) where either does not vary."""
    n = np.where(s["several"] > 0, s["several"], 1)
    covariance = s["hh"] / n - s["judge_entropy"] / n * s["entropy"] / n
    spread = (s["judge_squared"] / n - (s["judge_entropy"] / n) ** 2) * (s["squared"] / n - (s["entropy"] / n) ** 2)
    varies = spread > 1e-18
    return np.where(varies, np.clip(covariance / np.sqrt(np.where(varies, spread, 1)), -1, 1), np.nan)


def per_item(term: str) -> Callable[[Totals], FloatArray]:
    return lambda sums: divide(sums[term], sums["several"])


def distance(name: str, title: str, how: str, formula: Callable[[Totals], FloatArray]) -> Metric:
    domain = (-float("inf"), float("inf"))
    return Metric(name, title, how, formula=formula, whole="several", needs="values", domain=domain, better="lower")


DISTANCES: tuple[Metric, ...] = (
    distance(
        "jensen_shannon",
        "Jensen-Shannon",
        "divergence from people's true rates, in nats: what the number of votes leaves is taken off",
        per_item("jensen_shannon"),
    ),
    distance(
        "extra_cross_entropy",
        "Cross entropy above its floor",
        "cross entropy less what a judge that knew every true rate would have (Kullback-Leibler divergence)",
        per_item("extra"),
    ),
    distance(
        "entropy_excess",
        "Doubt beyond people's",
        "mean entropy of the judge's values less that of people",
        lambda s: divide(s["judge_entropy"] - s["entropy"], s["several"]),
    ),
    distance(
        "entropy_correlation",
        "Doubt where people split",
        "correlation of the entropy of the judge's value with that of people's votes, over items",
        correlation,
    ),
)

VERDICT_DISTANCES = DISTANCES[:1]
"""Those that a bare verdict has too, as the distribution that is sure of it."""


def distances_of(sample: Sample) -> tuple[Estimate, ...]:
    """Every distance that the sample gives, with its interval over queries, and annotators where they are known.

    There is none without values and votes. A judge that gives verdicts alone is sure of each: of it only the Jensen-Shannon divergence is finite.
    """
    graded = bool(sample.in_rate_metrics.any())
    given = sample if graded else replace(sample, probability=sample.safe)
    columns = terms(given)
    if not columns["several"].any():
        return ()
    totals = TotalsByCluster.of(columns, sample.cluster, n_clusters=sample.n_clusters)
    if sample.raters is not None:
        votes = np.maximum(np.nan_to_num(sample.n_votes), 1).astype(int)
        safe = np.rint(np.nan_to_num(sample.rate) * votes).astype(int)

        def of_counts(s: IntArray, m: IntArray) -> FloatArray:
            return np.column_stack(list(terms(replace(given, rate=s / m)).values()))

        totals = replace(totals, votes=VotesTerms.of_counts(of_counts, safe, votes, sample.raters))
    wanted = DISTANCES if graded else VERDICT_DISTANCES
    return tuple(estimate_of(metric.measure(given, totals)) for metric in wanted)


def terms(sample: Sample) -> dict[str, FloatArray]:
    """What each item adds to the sums of `DISTANCES`."""
    several = sample.in_rate_metrics & (sample.n_votes > 1)
    q, m = np.where(several, sample.probability, 0.5), np.where(several, sample.n_votes, 2).astype(int)
    s = np.rint(np.where(several, sample.rate, 0.5) * m).astype(int)
    inside = np.clip(q, INSIDE, 1 - INSIDE)
    own, people = entropy(q), debiased(entropy, s, m)
    columns = {
        "several": np.ones(len(q)),
        "jensen_shannon": debiased(jensen_shannon, s, m, q),
        "extra": -xlogy(s / m, inside) - xlogy(1 - s / m, 1 - inside) - people,
        "judge_entropy": own,
        "entropy": people,
        "hh": own * people,
        "judge_squared": own**2,
        "squared": people**2,
    }
    return {name: several * column for name, column in columns.items()}


def reachable_entropy_correlation(safe: ArrayLike, votes: ArrayLike) -> float:
    """The correlation with the votes' entropies of one who knows every true rate, whatever the spread of these.

    The spread is the likeliest one (`rates_of_any_shape`); items with fewer than two votes are left out.

    Raises StatisticsError: no item has two votes, or true rates do not seem to differ.
    """
    s, m = checked_votes_of_items(safe, votes)
    s, m = s[m > 1], m[m > 1]
    if not len(s):
        raise StatisticsError("what a judge could know of people's doubt needs items with two votes")
    spread = rates_of_any_shape(s, m)
    weight = np.bincount(spread.kind) @ spread.posterior / len(spread.kind)
    own = entropy(spread.grid)
    expected, squared = np.zeros(len(own)), 0.0
    for size, times in zip(*np.unique(m, return_counts=True), strict=True):
        j: IntArray = np.arange(size + 1)
        chance = np.diff(bdtr(j, size, spread.grid[:, None]), axis=1, prepend=0.0)
        of_votes = debiased(entropy, j, np.full(size + 1, size))
        expected += times / len(m) * (chance @ of_votes)
        squared += times / len(m) * float(weight @ (chance @ of_votes**2))
    covariance = weight @ (own * expected) - (weight @ own) * (weight @ expected)
    variances = (weight @ own**2 - (weight @ own) ** 2) * (squared - (weight @ expected) ** 2)
    if variances < 1e-12:
        raise StatisticsError("people split alike on every item, as far as these votes tell")
    return float(covariance / np.sqrt(variances))
