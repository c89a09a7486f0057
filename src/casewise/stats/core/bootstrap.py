"""The cluster bootstrap: whole queries are drawn, because a query's items are not independent of each other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import checked_share

__all__ = ["N_RESAMPLES", "cluster_sums", "percentile_interval", "resampled_sums", "resampling_weights"]

N_RESAMPLES = 10_000

CHUNK = 5_000_000
"""Draws in memory at a time."""

FloatArray = NDArray[np.float64]


def cluster_sums(terms: FloatArray, clusters: NDArray[np.intp], *, n_clusters: int) -> FloatArray:
    """Sum `terms` (items, k) within clusters: shape (n_clusters, k)."""
    sums = [np.bincount(clusters, weights=column, minlength=n_clusters) for column in terms.T]
    return np.column_stack(sums) if sums else np.zeros((n_clusters, 0))


def resampling_weights(
    n_clusters: int, *, rng: np.random.Generator, n_resamples: int = N_RESAMPLES
) -> Iterator[FloatArray]:
    """How often each cluster is drawn in each resample, in chunks of shape (some resamples, n_clusters).

    All chunks come from one stream of `rng`: streams seeded one by one overlap and give wrong errors.

    Raises
    ------
    StatisticsError
        There are no clusters.
    """
    if n_clusters < 1:
        raise StatisticsError("there is nothing to resample: no clusters")
    if n_resamples < 1:
        raise StatisticsError(f"resamples number at least 1, not {n_resamples!r}")
    dtype = np.uint16 if n_clusters <= np.iinfo(np.uint16).max else np.uint32
    step = max(1, CHUNK // n_clusters)
    for start in range(0, n_resamples, step):
        rows = min(step, n_resamples - start)
        drawn = rng.integers(0, n_clusters, size=(rows, n_clusters), dtype=dtype)
        flat = (np.arange(rows, dtype=np.int64)[:, None] * n_clusters + drawn).ravel()
        yield np.bincount(flat, minlength=rows * n_clusters).reshape(rows, n_clusters).astype(np.float64)


def resampled_sums(sums: FloatArray, *, rng: np.random.Generator, n_resamples: int = N_RESAMPLES) -> FloatArray:
    """Totals of `sums` (clusters, k) in each resample: shape (n_resamples, k), one matrix product a chunk.

    Every metric that is a function of sums over clusters is then that function of these totals.

    References
    ----------
    .. [1] Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 8.
    .. [2] Cameron, Gelbach & Miller (2008), Review of Economics and Statistics 90, 414-427.
    """
    weights = resampling_weights(len(sums), rng=rng, n_resamples=n_resamples)
    return np.concatenate([chunk @ sums for chunk in weights])


def percentile_interval(values: FloatArray, *, level: float = 0.95) -> tuple[float, float]:
    """The central `level` of resampled `values`; those that are undefined (nan) are left out.

    Returns nan, nan where fewer than nine in ten resamples have a value.
    """
    checked_share(level, "level")
    defined = values[~np.isnan(values)]
    if len(defined) < 0.9 * len(values) or not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
