"""Krippendorff's alpha of answers that are names, ranks or numbers, from counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import estimate_of
from casewise.stats.core.arrays import FloatArray, integers
from casewise.stats.core.checks import clusters_of, coded_labels
from casewise.stats.core.cluster_variance import cluster_sums
from casewise.stats.core.measured import Functional, Totals, TotalsByCluster

__all__ = ["Level", "LevelAlpha", "alpha_by_level"]

Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class LevelAlpha:
    """Alpha at one level of measurement, with its interval over clusters."""

    alpha: float | None
    """None where all answers are the same."""
    interval: tuple[float, float] | None
    level: Level
    items: int
    """Items with at least two answers."""


def alpha_by_level(counts: ArrayLike, *, level: Level, clusters: ArrayLike | None = None) -> LevelAlpha:
    r"""Krippendorff's alpha of (items, values) counts; the values are in order, and equally far apart for `interval`.

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck} \delta_{ck}^2}{\sum_{ck} n_c n_k \delta_{ck}^2}

    with coincidences :math:`o_{ck}` and :math:`\delta_{ck}^2` of 0 or 1 (nominal), :math:`(c - k)^2` (interval) or
    :math:`(\sum_{g=c}^{k} n_g - (n_c + n_k) / 2)^2` (ordinal). The interval is Student's *t* from the clusters'
    influences, on the scale of a correlation.

    Raises StatisticsError: no item has two answers, or there are fewer than two clusters of such items.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability. The tests hold it to the library `krippendorff`.
    """
    table = integers(counts, "counts").astype(float)
    if table.ndim != 2:
        raise StatisticsError(f"counts must be of items and values, not of shape {table.shape}")
    keep = table.sum(1) >= 2
    if not keep.any():
        raise StatisticsError("no item has two answers, so there is no agreement to speak of")
    ids = coded_labels(clusters_of(clusters, len(table))[keep], "clusters")
    groups = int(ids.max()) + 1
    if groups < 2:
        raise StatisticsError("an interval needs at least two clusters of items")
    kept = table[keep]
    columns = coincidences(kept)
    sums = cluster_sums(np.column_stack([columns, np.ones(len(columns))]), ids, n_clusters=groups)
    names = (*map(str, range(columns.shape[1])), "items")

    def alpha(totals: Totals) -> FloatArray:
        return alphas(np.stack([totals[name] for name in names[:-1]], axis=-1), level)

    functional = Functional("alpha", alpha, over=lambda totals: totals["items"], domain=(-1.0, 1.0))
    found = estimate_of(TotalsByCluster(names, sums, 0).measure(functional, by_leaving_out=True))
    return LevelAlpha(found.estimate, found.limits, level, int(keep.sum()))


def coincidences(counts: FloatArray) -> FloatArray:
    """(items, values x values) pairs of answers of one item, each item weighing as many as it has answers."""
    values = counts.shape[1]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(values))
    found: FloatArray = (pairs / (counts.sum(1) - 1)[:, None, None]).reshape(len(counts), -1)
    return found


def alphas(sums: FloatArray, level: Level) -> FloatArray:
    """Alpha of summed coincidences, (..., values x values); NaN where all answers are the same."""
    values = round(sums.shape[-1] ** 0.5)
    pairs = sums.reshape(-1, values, values)
    n = pairs.sum(2)
    far = distances(n, level)
    observed = (pairs * far).sum((1, 2))
    expected = (n[:, :, None] * n[:, None, :] * far).sum((1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = np.where(expected > 0, 1 - (n.sum(1) - 1) * observed / expected, np.nan)
    return found.reshape(sums.shape[:-1])


def distances(n: FloatArray, level: Level) -> FloatArray:
    """(rows, values, values) squared distances between values, of which each row has `n`."""
    values = n.shape[1]
    place = np.arange(values)
    if level == "ordinal":
        middle = n.cumsum(1) - n / 2
        squared: FloatArray = (middle[:, :, None] - middle[:, None, :]) ** 2
        return squared
    apart = 1.0 - np.eye(values) if level == "nominal" else (place[:, None] - place) ** 2.0
    return np.tile(apart, (len(n), 1, 1)).astype(np.float64)
