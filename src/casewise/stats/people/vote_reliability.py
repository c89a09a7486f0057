"""How reliable an item's safe rate is: would other people have given the same?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.core.bootstrap import cluster_sums, percentile_interval, resampled_sums
from casewise.stats.core.checks import checked_draws, checked_votes_of_items, clusters_of, coded_labels

__all__ = ["Reliability", "checked_votes", "reliability", "spearman_brown"]


@dataclass(frozen=True)
class Reliability:
    """Reliability of the safe rates over items, between 0 (all chance) and 1."""

    half: float | None
    """Mean correlation of two random halves of each item's votes; None where a half never varies."""
    split_half: float | None
    """The same stepped up by Spearman and Brown to all votes."""
    analytic: float
    """One less the share of the rates' variance that votes by chance explain."""
    analytic_interval: tuple[float, float]
    """Cluster bootstrap."""
    items: int
    splits: int


def reliability(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    splits: int = 200,
) -> Reliability:
    r"""Reliability of safe rates, by splitting and analytically.

    .. math:: \rho = 1 - \frac{\overline{p(1-p)/(m-1)}}{\mathrm{var}(p)}

    is what Spearman-Brown of the split halves tends to over all splits. It needs no annotators, only votes.

    Parameters
    ----------
    safe, votes : (items,) integers
        Safe votes and all votes; items with fewer than two are left out.
    rng : Generator
        Draws the splits and the bootstrap.
    clusters : (items,) labels, optional
        Items resampled together; each its own if absent.
    splits : int
        Random splits that are averaged.

    Raises
    ------
    StatisticsError
        Fewer than three items with two votes, or all items have the same rate.

    References
    ----------
    .. [1] Spearman (1910), Brown (1910), Br J Psychol 3. Lord & Novick (1968), ch. 5.
    """
    checked_draws(splits, "splits")
    (s, m), ids = checked_votes(safe, votes, clusters)
    if len(s) < 3 or np.ptp(s / m) == 0:
        raise StatisticsError("reliability needs three items with two votes each, and rates that differ")
    half = _mean_half_correlation(s, m, splits=splits, rng=rng)
    return Reliability(
        half=half,
        split_half=None if half is None else spearman_brown(half, 2),
        analytic=float(_analytic(_moments(s, m).sum(0))),
        analytic_interval=_interval(_moments(s, m), ids, rng=rng),
        items=len(s),
        splits=splits,
    )


def spearman_brown(correlation: float, factor: float) -> float:
    """The reliability of `factor` times as many votes: f·r / (1 + (f − 1)·r).

    Raises
    ------
    StatisticsError
        A correlation outside [−1, 1], a factor that is not positive, or both such that the denominator is 0 or less.
    """
    if not (-1 <= correlation <= 1 and 0 < factor < np.inf) or 1 + (factor - 1) * correlation <= 0:
        raise StatisticsError(f"no reliability is {factor!r} times as long as one of {correlation!r}")
    return factor * correlation / (1 + (factor - 1) * correlation)


def checked_votes(
    safe: ArrayLike, votes: ArrayLike, clusters: ArrayLike | None
) -> tuple[tuple[IntArray, IntArray], IntArray]:
    """Counts of the items with at least two votes, and their clusters as 0, 1, 2, ..."""
    s, m = checked_votes_of_items(safe, votes)
    keep = m >= 2
    if not keep.any():
        raise StatisticsError("no item has two votes, so nothing is known of how people differ")
    return (s[keep], m[keep]), coded_labels(clusters_of(clusters, len(s))[keep], "clusters")


def _mean_half_correlation(s: IntArray, m: IntArray, *, splits: int, rng: np.random.Generator) -> float | None:
    first = rng.hypergeometric(s, m - s, m // 2, size=(splits, len(s)))
    one, other = first / (m // 2), (s - first) / (m - m // 2)
    one, other = one - one.mean(1, keepdims=True), other - other.mean(1, keepdims=True)
    spread = np.sqrt((one**2).sum(1) * (other**2).sum(1))
    if (spread == 0).any():
        return None
    return float(((one * other).sum(1) / spread).mean())


def _moments(s: IntArray, m: IntArray) -> FloatArray:
    p = s / m
    return np.stack([np.ones(len(p)), p, p**2, p * (1 - p) / (m - 1)], axis=1)


def _analytic(sums: FloatArray) -> FloatArray:
    n, first, second, noise = np.moveaxis(sums, -1, 0)
    variance = (second - first**2 / n) / (n - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value: FloatArray = np.maximum(1 - noise / n / variance, 0.0)
    return value


def _interval(moments: FloatArray, ids: IntArray, *, rng: np.random.Generator) -> tuple[float, float]:
    sums = cluster_sums(moments, ids, n_clusters=int(ids.max()) + 1)
    return percentile_interval(_analytic(resampled_sums(sums, rng=rng, n_resamples=2000)))
