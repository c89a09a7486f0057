r"""Many categories of few queries each: shrunk towards each other, with intervals, and ranks only where they hold.

Category *k* of :math:`G_k` queries has the share :math:`x_k` with error variance :math:`v_k = \sigma^2 / G_k`, the
:math:`\sigma^2` of a query's part being pooled over categories, since ten queries do not tell their own. True shares vary
by :math:`\tau^2` around their mean, and

.. math:: \hat\theta_k = B_k \bar x + (1 - B_k) x_k, \qquad B_k = \frac{K-3}{K-1} \, \frac{v_k}{v_k + \hat\tau^2}

with Morris' variance, which knows that :math:`\tau^2` and the mean are estimated.

Sources: Morris (1983), Parametric empirical Bayes inference, JASA 78, 47-55 (eq. 1.15-1.17, 5.1). Efron & Morris
(1975), JASA 70, 311-319.
Tukey (1953); Mohamad, Goeman & van Zwet (2018), arXiv:1812.05507 (ranks from simultaneous differences).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share
from casewise.stats.core.checks import coded_labels, of_one_length, vector

__all__ = ["PooledShares", "pooled_shares"]

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
