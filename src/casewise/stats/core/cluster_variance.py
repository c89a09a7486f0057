"""Sums within clusters, and the one computation of a cluster-robust variance. Neither needs scipy, which loads long."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.checks import coded_labels, of_one_length, vector

__all__ = ["cluster_sums", "cluster_variance"]


def cluster_sums(
    terms: Collection[FloatArray] | FloatArray, clusters: NDArray[np.intp], *, n_clusters: int
) -> FloatArray:
    """Sum each of `terms`, k of (items,), within clusters: shape (n_clusters, k), each column in one piece."""
    sums = np.empty((len(terms), n_clusters))
    for place, column in enumerate(terms):
        sums[place] = np.bincount(clusters, weights=column, minlength=n_clusters)
    return sums.T


def cluster_variance(influence: ArrayLike, clusters: ArrayLike | None = None) -> float:
    r"""The variance of a number from what each observation adds to it, clusters taken together.

    .. math:: \frac{G}{G-1} \sum_g \Big(\sum_{i \in g} e_i\Big)^2

    `influence`: (n,) numbers; :math:`e_i`; for a mean, :math:`(y_i - \bar y) / n`.
    `clusters`: (n,) labels; each its own cluster if absent.

    Returns float: nan for fewer than two clusters, which show no variance.

    Source: Liang & Zeger (1986), Biometrika 73, 13-22. R: `sandwich::vcovCL(type = "HC0", cadjust = TRUE)`.
    """
    sums = vector(influence, "influence")
    if clusters is not None:
        ids = coded_labels(clusters, "clusters")
        of_one_length(influences=sums, clusters=ids)
        sums = np.bincount(ids, weights=sums).astype(float)
    groups = len(sums)
    return float(groups / (groups - 1) * (sums**2).sum()) if groups > 1 else float("nan")
