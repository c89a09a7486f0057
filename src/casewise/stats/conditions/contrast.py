r"""Two conditions compared over all queries, with errors that know queries and annotators.

A study has two kinds of chance in it: which queries were chosen, and which people answered. The pooled z test knows
neither. Two answers are given, each to its own question:

* **these queries**: would other annotators say the same of these very queries? Errors clustered by annotator, around
  each query's own rates.
* **queries like these**: would it also hold for other queries of the kind? Errors clustered two ways, by query *across
  conditions* and by annotator: :math:`V = V_{query} + V_{annotator} - V_{rating}`.

Whether two conditions are alike is a third question, with a test of its own (`equivalence`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share
from casewise.stats.core.checks import coded_labels, numbers, of_one_length, of_one_shape, truths
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.tails import student_log_tail

__all__ = ["ClusteredContrast", "Difference", "Equivalence", "clustered_contrast", "equivalence"]


@dataclass(frozen=True)
class Difference:
    """A difference of safe rates with its error, on Student's t."""

    estimate: float
    error: float
    df: int
    ci_low: float | None
    """None, as the p values are, where nothing varies within the conditions: then no error can be known."""
    ci_high: float | None
    p: float | None
    """Two-sided."""
    log_p: float | None

    @classmethod
    def of(cls, difference: float, variance: float, *, df: int, level: float) -> Difference:
        """The estimate whose error is the root of `variance`."""
        error = float(np.sqrt(max(variance, 0.0)))
        if error == 0:
            return cls(difference, 0.0, df, None, None, None, None)
        half = -float(stdtrit(df, (1 - level) / 2)) * error
        t = abs(difference) / error
        return cls(
            estimate=difference,
            error=error,
            df=df,
            ci_low=max(difference - half, -1.0),
            ci_high=min(difference + half, 1.0),
            p=min(1.0, 2 * float(stdtr(df, -t))),
            log_p=min(0.0, float(np.log(2)) + student_log_tail(t, df)),
        )


@dataclass(frozen=True)
class ClusteredContrast:
    """First condition less second."""

    queries_like_these: Difference | None
    """Clustered by query and by annotator; None where annotators are not known."""
    these_queries: Difference | None
    """Clustered by annotator around each query's rates; None where annotators are not known."""
    by_query: Difference | None
    """The average per-query difference, its error from the spread of the queries' differences.

    None where fewer than two queries were rated under both conditions."""
    by_item: Difference
    """Clustered by query within condition: what is often done, shown to be compared."""
    annotators: int | None
    queries: int
    not_positive: bool
    """Whether the two-way variance came out negative; the larger one-way variance then stands for it."""


def clustered_contrast(
    safe: ArrayLike,
    second: ArrayLike,
    *,
    query: ArrayLike,
    annotator: ArrayLike | None = None,
    level: float = 0.95,
) -> ClusteredContrast:
    r"""The difference of two conditions' safe rates with cluster-robust errors.

    Every rating has the influence :math:`e_i = \pm (y_i - \bar y_c) / n_c` on the difference; a clustering's variance
    is :math:`\frac{G}{G-1} \sum_g (\sum_{i \in g} e_i)^2`.

    Parameters
    ----------
    safe : (ratings,) booleans
    second : (ratings,) booleans
        Whether each rating is of the second condition, and not of the first.
    query, annotator : (ratings,) labels
        What was rated, and by whom (None if not known).
    level : float
        Of the intervals. Degrees of freedom are the smaller number of clusters less one.

    Raises
    ------
    StatisticsError
        A condition without ratings, fewer than two queries or annotators, columns of different lengths, or a value
        that is neither true nor false.

    References
    ----------
    .. [1] Cameron, Gelbach & Miller (2011), JBES 29, 238-249. Miller (2024), Adding error bars to evals.
    .. [2] R: `sandwich::vcovCL(lm(safe ~ condition), ~ query + annotator)`, which adds the factor (n−1)/(n−2).
    """
    columns = _columns(safe, second, query, annotator)
    checked_share(level, "level")
    influence = _influence(columns)
    difference = _rate(columns, which=False) - _rate(columns, which=True)
    item = columns.query * 2 + columns.second
    by_item = Difference.of(difference, cluster_variance(influence, item), df=columns.queries - 1, level=level)
    two_way = these = None
    not_positive = False
    if columns.annotator is not None:
        df = min(columns.queries, columns.annotators) - 1
        variance, not_positive = _two_way(influence, columns.query, columns.annotator)
        two_way = Difference.of(difference, variance, df=df, level=level)
        within = cluster_variance(_influence_within_items(columns, item), columns.annotator)
        these = Difference.of(difference, within, df=columns.annotators - 1, level=level)
    return ClusteredContrast(
        queries_like_these=two_way,
        these_queries=these,
        by_query=_by_query(columns, item, level=level),
        by_item=by_item,
        annotators=columns.annotators or None,
        queries=columns.queries,
        not_positive=not_positive,
    )


class _Columns(NamedTuple):
    safe: FloatArray
    second: IntArray
    query: IntArray
    annotator: IntArray | None
    queries: int
    annotators: int


def _columns(safe: ArrayLike, second: ArrayLike, query: ArrayLike, annotator: ArrayLike | None) -> _Columns:
    y, side = truths(safe, "safe").astype(float), truths(second, "second").astype(np.int64)
    queries = coded_labels(query, "query")
    who = None if annotator is None else coded_labels(annotator, "annotator")
    of_one_length(safe=y, second=side, query=queries, annotator=who)
    if not 0 < side.sum() < len(side):
        raise StatisticsError("a contrast needs ratings of both conditions; one of them has none")
    n_queries, n_people = int(queries.max()) + 1, 0 if who is None else int(who.max()) + 1
    if n_queries < 2 or (who is not None and n_people < 2):
        raise StatisticsError("clustered errors need at least two queries and two annotators")
    return _Columns(y, side, queries, who, n_queries, n_people)


def _rate(columns: _Columns, *, which: bool) -> float:
    return float(columns.safe[columns.second == which].mean())


def _influence(columns: _Columns) -> FloatArray:
    n = np.bincount(columns.second, minlength=2)
    means = np.bincount(columns.second, weights=columns.safe, minlength=2) / n
    sign = 1.0 - 2.0 * columns.second
    return sign * (columns.safe - means[columns.second]) / n[columns.second]


def _influence_within_items(columns: _Columns, item: IntArray) -> FloatArray:
    """Around each item's own rate; the factor restores what estimating that rate takes away."""
    n = np.bincount(columns.second, minlength=2)[columns.second]
    votes = np.bincount(item)
    rate = np.bincount(item, weights=columns.safe) / np.maximum(votes, 1)
    factor = np.sqrt(votes / np.maximum(votes - 1, 1))[item]
    return (1.0 - 2.0 * columns.second) * factor * (columns.safe - rate[item]) / n


def _two_way(influence: FloatArray, query: IntArray, annotator: IntArray) -> tuple[float, bool]:
    parts = [cluster_variance(influence, query), cluster_variance(influence, annotator)]
    both = sum(parts) - float(np.sum(influence**2))
    return (max(parts), True) if both <= 0 else (both, False)


def _by_query(columns: _Columns, item: IntArray, *, level: float) -> Difference | None:
    votes = np.bincount(item, minlength=2 * columns.queries).reshape(-1, 2)
    safe = np.bincount(item, weights=columns.safe, minlength=2 * columns.queries).reshape(-1, 2)
    both = (votes > 0).all(1)
    if both.sum() < 2:
        return None
    rates = safe[both] / votes[both]
    differences = rates[:, 0] - rates[:, 1]
    n = len(differences)
    return Difference.of(float(differences.mean()), float(differences.var(ddof=1) / n), df=n - 1, level=level)


@dataclass(frozen=True)
class Equivalence:
    """Whether a difference is shown to lie within ± `margin`; arrays have the shape of the differences."""

    margin: float
    alpha: float
    p: FloatArray
    """The larger of the two one-sided p values."""
    ci_low: FloatArray
    """Limits at level 1 − 2·alpha: equivalence is shown exactly where they lie within the margin."""
    ci_high: FloatArray
    equivalent: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def equivalence(
    difference: ArrayLike, error: ArrayLike, *, margin: float, df: float = np.inf, alpha: float = 0.05
) -> Equivalence:
    r"""Two one-sided tests that a difference lies within a margin stated beforehand.

    .. math:: p = \max\left(P(T > \tfrac{d + \delta}{s}),\; P(T < \tfrac{d - \delta}{s})\right)

    Parameters
    ----------
    difference, error : (...) floats
        The estimate and its standard error, as from `clustered_contrast`.
    margin : float
        The largest difference :math:`\delta` of safe rates that would not matter, for instance 0.05.
    df : float
        Degrees of freedom of the error; infinite for a normal one.
    alpha : float
        Level of each one-sided test, and so of the whole.

    Raises
    ------
    StatisticsError
        The margin or `df` is not positive, an error is negative, or a value is no finite number.

    References
    ----------
    .. [1] Schuirmann (1987), J Pharmacokinet Biopharm 15, 657-680. R: `TOSTER::tsum_TOST`.
    """
    d, s = of_one_shape({"difference": numbers(difference, "difference"), "error": numbers(error, "error")})
    if not 0 < margin < np.inf:
        raise StatisticsError(f"margin must be positive and finite, not {margin!r}: nothing is equal to the last digit")
    if (s < 0).any():
        raise StatisticsError("a standard error is negative")
    if not df > 0:
        raise StatisticsError(f"df must be positive, not {df!r}")
    some = np.where(s > 0, s, 1.0)
    with np.errstate(over="ignore"):  # infinitely many errors away is far enough
        below, above = (d + margin) / some, (d - margin) / some
    p = np.maximum(stdtr(df, -below), stdtr(df, above))
    sure = np.where(np.abs(d) < margin, 0.0, 1.0)
    half = -stdtrit(df, checked_share(alpha, "alpha")) * s
    return Equivalence(
        margin=margin,
        alpha=alpha,
        p=np.where(s > 0, p, sure)[()],
        ci_low=(d - half)[()],
        ci_high=(d + half)[()],
        equivalent=(np.maximum(np.abs(d - half), np.abs(d + half)) < margin)[()],
    )
