"""Standard errors when ratings come in clusters: of a query, of an annotator, or of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share
from casewise.stats.core.checks import coded_labels, numbers, vector
from casewise.stats.core.tails import two_sided_log_p

__all__ = [
    "ClusteredRegression",
    "clustered_mean",
    "clustered_regression",
    "sandwich_variance",
]

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
