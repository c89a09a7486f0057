"""How reliable an item's safe rate is: would other people have given the same?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import estimate_of
from casewise.stats.core.arrays import FloatArray, IntArray, safe_divide
from casewise.stats.core.checks import checked_draws, checked_votes_of_items, clusters_of, coded_labels
from casewise.stats.core.measured import Functional, Totals, TotalsByCluster
from casewise.stats.core.raters import Raters

__all__ = ["Reliability", "checked_votes", "lopsided", "reliability", "spearman_brown"]

LOPSIDED = 0.2
"""With a smaller share of the rarer answer, and fewer clusters than `ENOUGH`, correlations of votes get no interval."""

ENOUGH = 60


@dataclass(frozen=True)
class Reliability:
    """Reliability of the safe rates over items, between 0 (all chance) and 1."""

    half: float | None
    """Mean correlation of two random halves of each item's votes; None where a half never varies."""
    split_half: float | None
    """The same stepped up by Spearman and Brown to all votes."""
    analytic: float
    """One less the share of the rates' variance that votes by chance explain."""
    analytic_interval: tuple[float, float] | None
    """None where nearly all say the same on few clusters (`lopsided`)."""
    items: int
    splits: int


def reliability(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    splits: int = 200,
    raters: Raters | None = None,
) -> Reliability:
    r"""Reliability of safe rates, by splitting and analytically.

    .. math:: \rho = 1 - \frac{\overline{p(1-p)/(m-1)}}{\mathrm{var}(p)}

    is what Spearman-Brown of the split halves tends to over all splits. It needs no annotators, only votes.

    Parameters
    ----------
    safe, votes : (items,) integers
        Safe votes and all votes; items with fewer than two are left out.
    rng : Generator
        Draws the splits.
    clusters : (items,) labels, optional
        Items that go together; each its own if absent.
    splits : int
        Random splits that are averaged.
    raters : Raters, optional
        Who gave which vote.

    Raises
    ------
    StatisticsError
        Fewer than three items with two votes, or all items have the same rate.

    References
    ----------
    .. [1] Spearman (1910), Brown (1910), Br J Psychol 3. Lord & Novick (1968), ch. 5.
    """
    checked_draws(splits, "splits")
    (s, m), ids, raters = checked_votes(safe, votes, clusters, raters)
    if len(s) < 3 or np.ptp(s / m) == 0:
        raise StatisticsError("reliability needs three items with two votes each, and rates that differ")
    totals = TotalsByCluster.of_counts(_moments, (s, m), ids, names=("items", "p", "pp", "noise"), raters=raters)
    analytic = estimate_of(totals.measure(ANALYTIC, by_leaving_out=True))
    limits = None if lopsided(s, m, ids) else analytic.limits
    half = _mean_half_correlation(s, m, splits=splits, rng=rng)
    return Reliability(
        half=half,
        split_half=None if half is None else spearman_brown(half, 2),
        analytic=max(0.0, analytic.estimate or 0.0),
        analytic_interval=limits and (max(0.0, limits[0]), max(0.0, limits[1])),
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
    safe: ArrayLike, votes: ArrayLike, clusters: ArrayLike | None, raters: Raters | None = None
) -> tuple[tuple[IntArray, IntArray], IntArray, Raters | None]:
    """Counts of the items with at least two votes, their clusters as 0, 1, 2, ..., and who gave these votes."""
    s, m = checked_votes_of_items(safe, votes)
    keep = m >= 2
    if not keep.any():
        raise StatisticsError("no item has two votes, so nothing is known of how people differ")
    ids = coded_labels(clusters_of(clusters, len(s))[keep], "clusters")
    return (s[keep], m[keep]), ids, None if raters is None else raters.where(keep)


def lopsided(s: IntArray, m: IntArray, ids: IntArray) -> bool:
    """Whether nearly all say the same on few clusters: what the few others do next time is then not known."""
    share = float(s.sum() / m.sum())
    return len(np.unique(ids)) < ENOUGH and min(share, 1 - share) < LOPSIDED


def _mean_half_correlation(s: IntArray, m: IntArray, *, splits: int, rng: np.random.Generator) -> float | None:
    found = [_half_correlation(rng.hypergeometric(s, m - s, m // 2), s, m) for _ in range(splits)]
    return None if None in found else float(np.mean([one for one in found if one is not None]))


def _half_correlation(first: IntArray, s: IntArray, m: IntArray) -> float | None:
    """Of the rates in both halves of the votes, where `first` of the safe ones are in the first; None where one does not vary."""
    one, other = first / (m // 2), (s - first) / (m - m // 2)
    one, other = one - one.mean(), other - other.mean()
    spread = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / spread) if spread else None


def _moments(s: IntArray, m: IntArray) -> FloatArray:
    p = s / m
    return np.stack([np.ones(len(p)), p, p**2, p * (1 - p) / (m - 1)], axis=1)


def _analytic(t: Totals) -> FloatArray:
    variance = (t["pp"] - t["p"] ** 2 / t["items"]) / (t["items"] - 1)
    return 1 - safe_divide(t["noise"] / t["items"], variance, otherwise=np.nan)


ANALYTIC = Functional("reliability", _analytic, over=lambda totals: totals["items"], domain=(-1.0, 1.0))
