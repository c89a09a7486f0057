"""How far people agree, beyond what chance gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share
from casewise.stats.core.bootstrap import cluster_sums, percentile_interval, resampled_sums
from casewise.stats.core.checks import checked_draws, checked_votes_of_items, clusters_of, coded_labels, whole
from casewise.stats.core.raters import Raters, annotators_variance

__all__ = [
    "Agreement",
    "FleissKappa",
    "agreement_of_votes",
    "category_counts",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
]


@dataclass(frozen=True)
class FleissKappa:
    """Fleiss' kappa and the test that it is zero."""

    kappa: float | None
    """None where everyone gives the same answer everywhere: chance agreement is then 1, and kappa 0/0."""
    z: float | None
    subjects: int
    """Items used: those without a missing rating."""
    raw_agreement: float
    """Share of pairs of ratings of one item that agree."""


@dataclass(frozen=True)
class Agreement:
    """Agreement on safe/unsafe votes, each number with its cluster-bootstrap interval."""

    raw: float
    raw_interval: tuple[float, float]
    alpha: float | None
    """Krippendorff's; None where all votes are the same."""
    alpha_interval: tuple[float, float] | None
    kappa: float | None
    """Fleiss' kappa for any number of votes an item (items weighted by their pairs)."""
    kappa_interval: tuple[float, float] | None
    ac1: float
    """Gwet's AC1, which a lopsided share of safe votes does not pull down as it does alpha and kappa."""
    ac1_interval: tuple[float, float]
    items: int
    """Items with at least two votes."""
    clusters: int


def fleiss_kappa(ratings: ArrayLike) -> FleissKappa:
    r"""Fleiss' kappa of (items, raters) ratings; missing ones are NaN, and their items are left out.

    .. math:: \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \qquad
       \bar P_e = \sum_j p_j^2, \qquad P_i = \frac{\sum_j n_{ij}^2 - m}{m (m - 1)}

    Raises
    ------
    StatisticsError
        Fewer than two raters, or no item that all of them rated.

    References
    ----------
    .. [1] Fleiss (1971), Psychological Bulletin 76, 378-382; z after Fleiss, Levin & Paik (2003), ch. 18.
    .. [2] R: `irr::kappam.fleiss`.
    """
    table = _table(ratings)
    complete = table[~np.isnan(table).any(axis=1)]
    if not len(complete):
        raise StatisticsError("no item was rated by all raters; use krippendorff_alpha, which takes missing ratings")
    counts, m, n = category_counts(complete), table.shape[1], len(complete)
    observed = float(((counts**2).sum(1) - m).mean() / (m * (m - 1)))
    share = counts.sum(0) / counts.sum()
    chance = float((share**2).sum())
    if chance == 1:
        return FleissKappa(kappa=None, z=None, subjects=n, raw_agreement=observed)
    spread = float((share * (1 - share)).sum())
    lean = float((share * (1 - share) * (1 - 2 * share)).sum())
    variance = 2 / (n * m * (m - 1)) * (spread**2 - lean) / spread**2
    kappa = (observed - chance) / (1 - chance)
    return FleissKappa(kappa=kappa, z=kappa / np.sqrt(variance), subjects=n, raw_agreement=observed)


def gwet_ac1(ratings: ArrayLike, *, categories: int | None = None) -> float:
    r"""Gwet's AC1 of (items, raters) ratings; missing ones are NaN.

    .. math:: \gamma_1 = \frac{p_a - p_e}{1 - p_e}, \qquad p_e = \frac{1}{q - 1} \sum_k \pi_k (1 - \pi_k),
       \qquad \pi_k = \frac1n \sum_i \frac{r_{ik}}{r_i}

    and :math:`p_a` the mean share of agreeing pairs over the items with two ratings. Where chance agreement is not what
    people's answers would give but the error of the unsure, it stays near the raw agreement when nearly all say the same.

    Parameters
    ----------
    categories : int, optional
        *q*; by default as many as occur, but no fewer than two.

    Raises
    ------
    StatisticsError
        Fewer than two raters, no item with two ratings, or more categories that occur than are said to be.

    References
    ----------
    .. [1] Gwet (2008), British J. Mathematical and Statistical Psychology 61, 29-48. Gwet (2014), Handbook of inter-rater
       reliability, 4th ed., ch. 5. R: `irrCAC::gwet.ac1.raw`.
    """
    counts = category_counts(_table(ratings))
    rated = counts.sum(1)
    q = max(2, counts.shape[1]) if categories is None else whole(categories, "categories", least=2)
    if not (rated >= 2).any():
        raise StatisticsError("no item has two ratings, so there is no agreement to speak of")
    if counts.shape[1] > q:
        raise StatisticsError(f"{counts.shape[1]} categories occur, more than {q}")
    some = rated[rated >= 2]
    agreeing = (counts[rated >= 2] * (counts[rated >= 2] - 1)).sum(1) / (some * (some - 1))
    share = (counts[rated > 0] / rated[rated > 0, None]).mean(0)
    chance = float((share * (1 - share)).sum()) / (q - 1)
    return float((agreeing.mean() - chance) / (1 - chance))


def krippendorff_alpha(ratings: ArrayLike) -> float | None:
    r"""Krippendorff's nominal alpha of (items, raters) ratings; missing ones are NaN.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}, from the matrix of coincidences.

    Returns
    -------
    float or None
        None where all ratings are the same: no disagreement was possible.

    Raises
    ------
    StatisticsError
        Fewer than two raters, or no item with two ratings.

    References
    ----------
    .. [1] Krippendorff (2011), Computing Krippendorff's alpha-reliability. Computed by the library `krippendorff`.
       (R's `irr::kripp.alpha` 0.84.1 is wrong for complete data.)
    """
    import krippendorff

    counts = category_counts(_table(ratings))
    counts = counts[counts.sum(1) >= 2]
    if not len(counts):
        raise StatisticsError("no item has two ratings, so there is no agreement to speak of")
    if np.count_nonzero(counts.sum(0)) < 2:
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def category_counts(ratings: ArrayLike) -> IntArray:
    """(items, categories) counts of the values that occur in (items, raters) ratings, NaN left out."""
    table = _table(ratings)
    values, place = np.unique(table[~np.isnan(table)], return_inverse=True)
    item = np.nonzero(~np.isnan(table))[0]
    flat = np.bincount(item * max(len(values), 1) + place, minlength=len(table) * max(len(values), 1))
    return flat.reshape(len(table), -1)


def agreement_of_votes(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    draws: int = 2000,
    level: float = 0.95,
    raters: Raters | None = None,
) -> Agreement:
    """Raw agreement, alpha, kappa and AC1 of many items at once, from their counts.

    Parameters
    ----------
    safe, votes : (items,) integers
        Safe votes and all votes of each item. Items with fewer than two votes say nothing and are left out.
    rng : Generator
        Draws the bootstrap samples.
    clusters : (items,) labels, optional
        Items that are resampled together: those of one query. Each its own if absent.
    draws : int
        Bootstrap samples; the interval is the percentile one.
    raters : Raters, optional
        Who gave which vote: intervals then are as much wider as annotators who differ throughout make them.

    Raises
    ------
    StatisticsError
        No item has two votes, there are fewer than two clusters, or counts and clusters do not fit.
    """
    s, m = checked_votes_of_items(safe, votes)
    checked_share(level, "level")
    checked_draws(draws)
    keep = m >= 2
    if not keep.any():
        raise StatisticsError("no item has two votes, so there is no agreement to speak of")
    ids = coded_labels(clusters_of(clusters, len(s))[keep], "clusters")
    groups = int(ids.max()) + 1
    if groups < 2:
        raise StatisticsError("an interval needs at least two clusters of items")
    sums = cluster_sums(np.column_stack(_sums(s[keep], m[keep])), ids, n_clusters=groups)
    drawn = _statistics(resampled_sums(sums, rng=rng, n_resamples=draws))
    raw, alpha, kappa, ac1 = (float(value) for value in _statistics(sums.sum(0)))
    limits = [percentile_interval(column, level=level) for column in drawn]
    if raters is not None:
        limits = _widened(limits, sums, (s, m), raters, of_query=drawn)
    constant = bool(np.isnan(alpha))
    return Agreement(
        raw=raw,
        raw_interval=limits[0],
        alpha=None if constant else alpha,
        alpha_interval=None if constant else limits[1],
        kappa=None if constant else kappa,
        kappa_interval=None if constant else limits[2],
        ac1=ac1,
        ac1_interval=limits[3],
        items=int(keep.sum()),
        clusters=groups,
    )


def _widened(
    limits: list[tuple[float, float]],
    sums: FloatArray,
    counts: tuple[IntArray, IntArray],
    raters: Raters,
    *,
    of_query: tuple[FloatArray, ...],
) -> list[tuple[float, float]]:
    """Limits moved from their numbers by as much as annotators add to the error that resampled queries show."""
    s, m = counts
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, fewer_safe, fewer_unsafe = (
            np.nan_to_num(np.column_stack(_sums(safe, votes))) * (votes >= 2)[:, None]
            for safe, votes in ((s, m), (np.maximum(s - 1, 0), m - 1), (np.minimum(s, m - 1), m - 1))
        )
    totals, found = sums.sum(0), []
    step = 1e-6 * np.maximum(1.0, totals)
    up, down = _statistics(totals + np.diag(step)), _statistics(totals - np.diag(step))
    for pair, value, above, below, column in zip(limits, _statistics(totals), up, down, of_query, strict=True):
        if not np.isfinite(value):
            found.append(pair)
            continue
        gradient = np.nan_to_num((above - below) / (2 * step))
        more = annotators_variance((whole - fewer_safe) @ gradient, (whole - fewer_unsafe) @ gradient, raters)
        known = column[np.isfinite(column)]
        variance = float(known.var()) if len(known) else 0.0
        factor = np.sqrt(1 + more / variance) if variance > 0 else 1.0
        low, high = (float(np.clip(value + (end - value) * factor, -1, 1)) for end in pair)
        found.append((low, high))
    return found


def _sums(s: IntArray, m: IntArray) -> tuple[FloatArray, ...]:
    """Per item: votes, safe votes, pairs, agreeing pairs, disagreement as Krippendorff weighs it; one, and two shares."""
    disagreeing = s * (m - s)
    pairs = m * (m - 1) / 2
    by_votes = (m.astype(float), s.astype(float), pairs, pairs - disagreeing, 2 * disagreeing / (m - 1))
    return *by_votes, np.ones(len(s)), 1 - disagreeing / pairs, s / m


def _statistics(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Raw agreement, alpha, kappa and AC1 from sums over items; alpha and kappa NaN where all votes are the same."""
    votes, safe, pairs, agreeing, disagreement, items, agreement, share = np.moveaxis(sums, -1, 0)
    raw = agreeing / pairs
    unsafe = votes - safe
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = 1 - (disagreement / votes) / (2 * safe * unsafe / (votes * (votes - 1)))
        chance = (safe**2 + unsafe**2) / votes**2
        kappa = (raw - chance) / (1 - chance)
    unsure = 2 * share / items * (1 - share / items)
    return raw, alpha, kappa, (agreement / items - unsure) / (1 - unsure)


def _table(ratings: ArrayLike) -> FloatArray:
    try:
        table = np.asarray(ratings, dtype=float)
    except (TypeError, ValueError):
        raise StatisticsError("ratings must be numbers, nan where one is missing, in rows of one length") from None
    if np.isinf(table).any():
        raise StatisticsError("ratings must be finite numbers, nan where one is missing")
    if table.ndim != 2 or table.shape[1] < 2:
        raise StatisticsError(f"agreement needs ratings of shape (items, raters) by two raters, not {table.shape}")
    return table
