"""TODO"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtr, ndtri, xlogy

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    FloatArray,
    IntArray,
    checked_share,
    checked_votes_of_items,
    coded_labels,
    numbers,
    of_one_length,
    renumbered,
    vector,
)
from casewise.stats.shares import two_sided_log_p

# Many categories of few queries each: shrunk towards each other, with intervals, and ranks only where they hold.
#
# Category *k* of :math:`G_k` queries has the share :math:`x_k` with error variance :math:`v_k = \sigma^2 / G_k`, the
# :math:`\sigma^2` of a query's part being pooled over categories, since ten queries do not tell their own. True shares vary
# by :math:`\tau^2` around their mean, and
#
# .. math:: \hat\theta_k = B_k \bar x + (1 - B_k) x_k, \qquad B_k = \frac{K-3}{K-1} \, \frac{v_k}{v_k + \hat\tau^2}
#
# with Morris' variance, which knows that :math:`\tau^2` and the mean are estimated.
#
# Sources: Morris (1983), Parametric empirical Bayes inference, JASA 78, 47-55 (eq. 1.15-1.17, 5.1). Efron & Morris
# (1975), JASA 70, 311-319.
# Tukey (1953); Mohamad, Goeman & van Zwet (2018), arXiv:1812.05507 (ranks from simultaneous differences).


FEWEST = 4
"""Categories below which there is nothing to learn from the others."""


@dataclass(frozen=True)
class PooledShares:
    """One entry a category, in the order of their sorted labels."""

    share: FloatArray
    pooled: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    shrinkage: FloatArray
    """:math:`B_k`: how much of the way to the mean of all an estimate went."""
    best: IntArray
    worst: IntArray
    """The ranks that a category can have, all together with the level's confidence; 1 is the largest share."""
    spread: float
    """:math:`\\hat\\tau`, the standard deviation of true shares."""


def pooled_shares(
    values: ArrayLike,
    *,
    category: ArrayLike,
    query: ArrayLike,
    more: ArrayLike = 0.0,
    level: float = 0.95,
    seed: int = 0,
) -> PooledShares:
    """Shares by category, each helped by the others.

    `values`: (items,) numbers in [0, 1].
    `category`, `query`: (items,) labels; a query lies in one category.
    `more`: (categories,) numbers; what annotators add to the variance of each share, where they are known: pooled too,
        as of a query's part.
    `seed`: of the draws that the simultaneous differences rest on.

    Raises StatisticsError: fewer than four categories, or no category with two queries.
    """
    y, which = vector(values, "values"), coded_labels(category, "category")
    of_query = coded_labels(query, "query")
    of_one_length(values=y, category=which, query=of_query)
    checked_share(level, "level")
    kinds = int(which.max(initial=-1)) + 1
    if kinds < FEWEST:
        raise StatisticsError(f"categories are pooled from {FEWEST} on, not {kinds}")
    x = np.bincount(which, weights=y) / np.bincount(which)
    error = _errors(y - x[which], which, of_query, np.asarray(more, dtype=float))
    spread, mean = _spread(x, error)
    total = error + spread**2
    shrinkage = (kinds - 3) / (kinds - 1) * error / total
    pooled = shrinkage * mean + (1 - shrinkage) * x
    mean_part = (1 / total) / (1 / total).sum()
    unsure = 2 / (kinds - 3) * shrinkage**2 * (error.mean() + spread**2) / total
    variance = error * (1 - (1 - mean_part) * shrinkage) + unsure * (x - mean) ** 2
    half = -float(ndtri((1 - level) / 2)) * np.sqrt(variance)
    best, worst = _ranks(x, error, level, seed)
    low, high = np.maximum(pooled - half, 0.0), np.minimum(pooled + half, 1.0)
    return PooledShares(x, pooled, low, high, shrinkage, best, worst, spread)


def _errors(deviation: FloatArray, which: IntArray, of_query: IntArray, more: FloatArray) -> FloatArray:
    """The error variance of each category's share, from a variance between queries that all have in common."""
    per_query = np.bincount(of_query, weights=deviation)
    items = np.bincount(of_query)
    home = np.zeros(len(items), dtype=np.int64)
    home[of_query] = which
    queries = np.bincount(home, minlength=int(which.max()) + 1)
    free = int((queries - 1).sum())
    if free < 1:
        raise StatisticsError("no category has two queries, so nothing says how far shares are by chance")
    part = (per_query / items.mean()) ** 2
    if not part.sum() > 0:
        raise StatisticsError("the queries of no category differ, so nothing says how far shares are by chance")
    return np.asarray((part.sum() / free + (more * queries).mean()) / queries, dtype=float)


def _spread(x: FloatArray, error: FloatArray) -> tuple[float, float]:
    """The standard deviation of true shares (Paule and Mandel's equation by bisection), and their mean."""

    def excess(variance: float) -> float:
        weight = 1 / (error + variance)
        return float((weight * (x - (weight @ x) / weight.sum()) ** 2).sum()) - (len(x) - 1)

    low, high = 0.0, 1.0
    if excess(0.0) <= 0:
        high = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if high > 0 and excess(middle) > 0 else (low, middle)
    weight = 1 / np.maximum(error + high, 1e-12)
    return float(np.sqrt(high)), float((weight @ x) / weight.sum())


def _ranks(x: FloatArray, error: FloatArray, level: float, seed: int) -> tuple[IntArray, IntArray]:
    """From and to which rank each can be: counting those that are surely larger, and surely smaller."""
    noise = np.random.default_rng(seed).standard_normal((4_000, len(x))) * np.sqrt(error)
    scale = np.sqrt(error[:, None] + error[None, :])
    largest = np.array([np.max(np.abs(row[:, None] - row[None, :]) / scale) for row in noise])
    surely = (x[:, None] - x[None, :]) / scale > float(np.quantile(largest, level))
    return 1 + surely.sum(0), len(x) - surely.sum(1)


# How far two rates lie apart, and what a function of a true rate is, known from few votes.
#
# A rate of *m* votes lies off the true one, so even a judge that knew every true rate would not score 0 against votes. Here a
# function *f* of the true rate :math:`\theta` is estimated by numbers :math:`g_0, \ldots, g_m`, one for each count of safe
# votes, that miss it least on average: over rates spread as :math:`\sin^2` of a uniform angle they minimise
#
# .. math:: \int \Big(\sum_s B_{m,s}(\theta)\, g_s - f(\theta)\Big)^2 + \epsilon\, \mathrm{Var}_\theta(g) \; d\theta,
#           \qquad \epsilon = 0.002
#
# so that the bias is nearly nothing and the variance no more than needed. At 5, 7 and 20 votes the bias for the entropy stays
# within 0.009, 0.006 and 0.002, where Quenouille's jackknife has up to 0.035, 0.026 and 0.009 at the same variance.
#
# Source: Lin (1991), IEEE Trans. Information Theory 37, 145-151. Paninski (2003), Neural Computation 15, 1191-1253, §5-6
# (the estimator of least bias and variance as a least-squares problem).


NODES = np.sin((np.arange(120) + 0.5) * np.pi / 240) ** 2
"""Rates at which functions are taken."""
VARIANCE = 0.002
MOST_VOTES = 50
"""Of more votes the first correction is enough."""
ROWS = 50_000
"""Items in memory at a time."""


def entropy(rate: ArrayLike) -> FloatArray:
    """The entropy of a yes or no with this rate, in nats."""
    p = np.asarray(rate, dtype=float)
    return -(xlogy(p, p) + xlogy(1 - p, 1 - p))


def jensen_shannon(first: ArrayLike, second: ArrayLike) -> FloatArray:
    r"""The divergence of two rates, :math:`H(\frac{p+q}2) - \frac{H(p)+H(q)}2` in nats: 0 to log 2, finite at 0 and 1."""
    p, q = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.maximum(entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2, 0.0)


def debiased(of_rate: Callable[..., FloatArray], safe: ArrayLike, votes: ArrayLike, *others: FloatArray) -> FloatArray:
    """A function of each item's true safe rate, estimated from its votes; nan for items with fewer than two.

    `of_rate`: of rates and, broadcast against them, one number an item from each of `others`.
    """
    s, m = checked_votes_of_items(safe, votes)
    found = np.full(len(s), np.nan)
    for size in np.unique(m[m > 1]).tolist():
        rows = np.flatnonzero(m == size)
        for some in np.split(rows, range(ROWS, len(rows), ROWS)):
            if size > MOST_VOTES:
                found[some] = _jackknife(
                    of_rate, s[some, None].astype(float), size, [one[some, None] for one in others]
                )
            else:
                first, alike = _alike(s[some], *(one[some] for one in others))
                values = of_rate(NODES, *(one[some][first, None] for one in others))
                found[some] = (_weights(size)[s[some][first]] * values).sum(1)[alike]
    return found


def _alike(*columns: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """The first row of each kind of rows, and (rows,) of which kind each is: column by column, which is faster than whole rows."""
    kind = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        kind = renumbered(kind * len(values) + code)
    first, kinds = np.unique(kind, return_index=True, return_inverse=True)[1:]
    return first, kinds


def _weights(votes: int) -> FloatArray:
    """(votes + 1, nodes) how each count weighs the values of a function at `NODES`."""
    chance = np.diff(bdtr(np.arange(votes + 1), votes, NODES[:, None]), axis=1, prepend=0.0)
    moments = (1 - VARIANCE) * chance.T @ chance + VARIANCE * np.diag(chance.sum(0))
    return np.asarray(np.linalg.solve(moments, chance.T), dtype=float)


def _jackknife(of_rate: Callable[..., FloatArray], s: FloatArray, m: int, columns: list[FloatArray]) -> FloatArray:
    def at(safe: FloatArray, votes: int) -> FloatArray:
        return of_rate(np.clip(safe / votes, 0.0, 1.0), *columns)

    left_out = s / m * at(s - 1, m - 1) + (1 - s / m) * at(s, m - 1)
    return (m * at(s, m) - (m - 1) * left_out)[:, 0]


# Standard errors when ratings come in clusters: of a query, of an annotator, or of both.


Adjustment = Literal["none", "HC1"]


@dataclass(frozen=True)
class ClusteredRegression:
    """Coefficients with cluster-robust errors."""

    coefficients: FloatArray
    covariance: FloatArray
    clusters: tuple[int, ...]
    """How many clusters of each kind."""
    n: int
    not_positive: bool = False
    """Whether the two-way variance of a coefficient came out negative, and the largest one-way one stands for it."""

    @property
    def errors(self) -> FloatArray:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def z(self) -> FloatArray:
        """Coefficients over their errors; 0 where both are 0."""
        errors = self.errors
        return np.divide(self.coefficients, errors, out=np.zeros_like(errors), where=errors > 0)

    @property
    def p(self) -> FloatArray:
        """Two-sided normal p values."""
        p: FloatArray = np.minimum(2 * ndtr(-np.abs(self.z)), 1.0)
        return p

    @property
    def log_p(self) -> FloatArray:
        """Natural logarithms of `p`."""
        return two_sided_log_p(self.z)

    def interval(self, level: float = 0.95) -> FloatArray:
        """(coefficients, 2) limits, normal."""
        half = -ndtri((1 - checked_share(level, "level")) / 2) * self.errors
        return np.stack([self.coefficients - half, self.coefficients + half], axis=-1)


def clustered_mean(values: ArrayLike, *clusters: ArrayLike, adjustment: Adjustment = "none") -> ClusteredRegression:
    r"""A mean with its cluster-robust error, :math:`\sqrt{\sum_g (\sum_{i \in g} (y_i - \bar y))^2} / n`.

    Parameters
    ----------
    values : (n,) numbers
    clusters : one or two arrays of (n,) labels
        With two, the variance is V₁ + V₂ − V₁₂ (see `clustered_regression`).
    adjustment : "none" or "HC1"
        See `clustered_regression`.

    References
    ----------
    .. [1] Miller (2024), Adding error bars to evals, eq. 4. R: `sandwich::vcovCL(lm(y ~ 1), type = "HC0")`.
    """
    y = vector(values, "values")
    return clustered_regression(np.ones((len(y), 1)), y, *clusters, adjustment=adjustment)


def clustered_regression(
    design: ArrayLike, outcome: ArrayLike, *clusters: ArrayLike, adjustment: Adjustment = "none"
) -> ClusteredRegression:
    r"""Least squares with errors clustered one or two ways.

    .. math:: V = (X'X)^{-1} \Big(\sum_g u_g u_g'\Big) (X'X)^{-1}, \qquad u_g = \sum_{i \in g} x_i e_i

    Two ways, :math:`V = V_1 + V_2 - V_{12}`, the last clustered by the pairs of labels that occur: where nobody rates
    a thing twice, these are the single observations.

    Parameters
    ----------
    design : (n, k) numbers
    outcome : (n,) numbers
    clusters : one or two arrays of (n,) labels
    adjustment : "none" or "HC1"
        "HC1" multiplies each part by G/(G−1) · (n−1)/(n−k), as `sandwich::vcovCL(type = "HC1")` does.

    Raises
    ------
    StatisticsError
        Fewer than two clusters, columns that determine each other, or lengths that differ.

    References
    ----------
    .. [1] Liang & Zeger (1986), Biometrika 73, 13-22. Cameron, Gelbach & Miller (2011), JBES 29, 238-249.
    .. [2] R: `sandwich::vcovCL(lm(...), cluster, type = "HC0", cadjust = FALSE)`.
    """
    x, y, ids = _checked(design, outcome, clusters)
    gram = _inverse(x.T @ x)
    coefficients = gram @ (x.T @ y)
    scores = x * (y - x @ coefficients)[:, None]
    return _sandwich(coefficients, gram, scores, ids, adjustment)


def sandwich_variance(
    bread: FloatArray, scores: FloatArray, labels: IntArray, *, adjustment: Adjustment = "none"
) -> FloatArray:
    """The cluster-robust covariance of one way of clustering; `labels` are 0, 1, ..., G − 1."""
    groups = int(labels.max()) + 1
    sums = np.stack([np.bincount(labels, weights=column, minlength=groups) for column in scores.T], axis=1)
    n, k = scores.shape
    if adjustment == "HC1" and n <= k:
        raise StatisticsError(f"{n} observations leave nothing to estimate the errors of {k} coefficients from")
    factor = groups / (groups - 1) * (n - 1) / (n - k) if adjustment == "HC1" else 1.0
    return factor * bread @ (sums.T @ sums) @ bread


def _sandwich(
    coefficients: FloatArray, bread: FloatArray, scores: FloatArray, labels: list[IntArray], adjustment: Adjustment
) -> ClusteredRegression:
    parts = [sandwich_variance(bread, scores, ids, adjustment=adjustment) for ids in labels]
    covariance, not_positive = parts[0], False
    if len(parts) == 2:
        pairs = np.unique(labels[0] * (labels[1].max() + 1) + labels[1], return_inverse=True)[1]
        covariance = parts[0] + parts[1] - sandwich_variance(bread, scores, pairs, adjustment=adjustment)
        not_positive = bool((np.diag(covariance) < 0).any())
        if not_positive:
            covariance = max(parts, key=lambda part: float(np.trace(part)))
    clusters = tuple(int(ids.max()) + 1 for ids in labels)
    return ClusteredRegression(coefficients, covariance, clusters, len(scores), not_positive)


def _checked(
    design: ArrayLike, outcome: ArrayLike, clusters: tuple[ArrayLike, ...]
) -> tuple[FloatArray, FloatArray, list[IntArray]]:
    x, y = numbers(design, "design"), vector(outcome, "outcome")
    if len(clusters) not in {1, 2}:
        raise StatisticsError(f"errors are clustered one or two ways, not {len(clusters)}")
    ids = [coded_labels(column, "clusters") for column in clusters]
    if x.ndim != 2 or len(x) != len(y) or any(len(one) != len(y) for one in ids):
        lengths = [len(one) for one in ids]
        raise StatisticsError(f"{len(y)} outcomes, a design of shape {x.shape} and labels of {lengths} do not fit")
    if len(y) == 0 or any(one.max() == 0 for one in ids):
        raise StatisticsError("clustered errors need at least two clusters of each kind")
    return x, y, ids


def _inverse(gram: FloatArray) -> FloatArray:
    if not np.isfinite(gram).all() or np.linalg.matrix_rank(gram) < len(gram):
        raise StatisticsError("a column of the design is determined by the others, is empty, or is too large")
    return np.asarray(np.linalg.inv(gram), dtype=float)
