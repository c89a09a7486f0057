"""Agreement among people: Krippendorff's alpha, kappa, AC1, and the reliability of votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    PerVote,
    Raters,
    checked_votes_of_items,
    clusters_of,
    coded_labels,
    integers,
    of_one_length,
    partly_known,
    safe_divide,
    vector,
    whole,
)
from casewise.stats.estimates import estimate_of
from casewise.stats.measured import Functional, Totals, TotalsByCluster, share

# How reliable an item's safe rate is: would other people have given the same?


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
    whole(splits, "splits", least=1)
    (s, m), ids, raters = checked_votes(safe, votes, clusters, raters)
    if len(s) < 3 or np.ptp(s / m) == 0:
        raise StatisticsError("reliability needs three items with two votes each, and rates that differ")
    totals = TotalsByCluster.of_counts(_moments, (s, m), ids, names=("items", "p", "pp", "noise"), raters=raters)
    analytic = estimate_of(totals.measure(ANALYTIC, by_leaving_out=True))
    limits = None if lopsided(s, m, ids) else analytic.limits
    correlations = []
    for _ in range(splits):
        first = rng.hypergeometric(s, m - s, m // 2)
        x, y = first / (m // 2), (s - first) / (m - m // 2)
        x, y = x - x.mean(), y - y.mean()
        spread = np.sqrt((x**2).sum() * (y**2).sum())
        correlations.append(float((x * y).sum() / spread) if spread else float("nan"))
    half = None if np.isnan(correlations).any() else float(np.mean(correlations))
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

    Raises StatisticsError: a correlation outside [−1, 1], a factor that is not positive, or both such that the
    denominator is 0 or less.
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
    """Return True where nearly all say the same on few clusters: what the few others do next time is then not known."""
    share = float(s.sum() / m.sum())
    return len(np.unique(ids)) < ENOUGH and min(share, 1 - share) < LOPSIDED


def _moments(s: IntArray, m: IntArray) -> FloatArray:
    p = s / m
    return np.stack([np.ones(len(p)), p, p**2, p * (1 - p) / (m - 1)], axis=1)


def _analytic(t: Totals) -> FloatArray:
    variance = (t["pp"] - t["p"] ** 2 / t["items"]) / (t["items"] - 1)
    return 1 - safe_divide(t["noise"] / t["items"], variance, otherwise=np.nan)


ANALYTIC = Functional("reliability", _analytic, over=lambda totals: totals["items"], domain=(-1.0, 1.0))


# How far people agree, beyond what chance gives them.


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
    """Agreement on safe/unsafe votes, each number with its interval over clusters; None where there is none.

    Alpha and kappa have none where nearly all say the same on few clusters: they hang on the few others then.
    """

    raw: float
    raw_interval: tuple[float, float] | None
    alpha: float | None
    """Krippendorff's; None where all votes are the same."""
    alpha_interval: tuple[float, float] | None
    kappa: float | None
    """Fleiss' kappa for any number of votes an item (items weighted by their pairs)."""
    kappa_interval: tuple[float, float] | None
    ac1: float
    """Gwet's AC1, which a lopsided share of safe votes does not pull down as it does alpha and kappa."""
    ac1_interval: tuple[float, float] | None
    items: int
    """Items with at least two votes."""
    clusters: int


def fleiss_kappa(ratings: ArrayLike) -> FleissKappa:
    r"""Fleiss' kappa of (items, raters) ratings; missing ones are NaN, and their items are left out.

    .. math:: \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \qquad
       \bar P_e = \sum_j p_j^2, \qquad P_i = \frac{\sum_j n_{ij}^2 - m}{m (m - 1)}

    Raises StatisticsError: fewer than two raters, or no item that all of them rated.

    References
    ----------
    .. [1] Fleiss (1971), Psychological Bulletin 76, 378-382; z after Fleiss, Levin & Paik (2003), ch. 18.
    .. [2] R: `irr::kappam.fleiss`.
    """
    counts, m = category_counts(ratings), np.shape(ratings)[1]
    counts = counts[counts.sum(1) == m]
    n = len(counts)
    if not n:
        raise StatisticsError("no item was rated by all raters; use krippendorff_alpha, which takes missing ratings")
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


def krippendorff_alpha(ratings: ArrayLike) -> float | None:
    r"""Krippendorff's nominal alpha of (items, raters) ratings; missing ones are NaN.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}, from the matrix of coincidences.

    None where all ratings are the same: no disagreement was possible.

    Raises StatisticsError: fewer than two raters, or no item with two ratings.

    References
    ----------
    .. [1] Krippendorff (2011), Computing Krippendorff's alpha-reliability. Agrees with the library `krippendorff`.
       (R's `irr::kripp.alpha` 0.84.1 is wrong for complete data.)
    """
    counts = category_counts(ratings).astype(float)
    counts = counts[counts.sum(1) >= 2]
    if not len(counts):
        raise StatisticsError("no item has two ratings, so there is no agreement to speak of")
    shares = counts / (counts.sum(1, keepdims=True) - 1)
    alpha = float(alphas((shares.T @ counts - np.diag(shares.sum(0))).ravel(), "nominal"))
    return None if np.isnan(alpha) else alpha


def category_counts(ratings: ArrayLike) -> IntArray:
    """(items, categories) counts of the values that occur in (items, raters) ratings, NaN left out."""
    table = partly_known(ratings, "ratings")
    if table.ndim != 2 or table.shape[1] < 2:
        raise StatisticsError(f"agreement needs ratings of shape (items, raters) by two raters, not {table.shape}")
    values, place = np.unique(table[~np.isnan(table)], return_inverse=True)
    item = np.nonzero(~np.isnan(table))[0]
    flat = np.bincount(item * max(len(values), 1) + place, minlength=len(table) * max(len(values), 1))
    return flat.reshape(len(table), -1)


def agreement_of_votes(
    safe: ArrayLike, votes: ArrayLike, *, clusters: ArrayLike | None = None, raters: Raters | None = None
) -> Agreement:
    """Raw agreement, alpha, kappa and AC1 of many items at once, from their counts.

    Intervals are Student's *t* from the clusters' influences (`casewise.stats.estimates.estimate_of`).

    Parameters
    ----------
    safe, votes : (items,) integers
        Safe votes and all votes of each item. Items with fewer than two votes say nothing and are left out.
    clusters : (items,) labels, optional
        Items that go together: those of one query. Each its own if absent.
    raters : Raters, optional
        Who gave which vote: intervals then are as much wider as annotators who differ throughout make them.

    Raises
    ------
    StatisticsError
        No item has two votes, there are fewer than two clusters, or counts and clusters do not fit.
    """
    counts, ids, raters = checked_votes(safe, votes, clusters, raters)
    groups = int(ids.max()) + 1
    if groups < 2:
        raise StatisticsError("an interval needs at least two clusters of items")
    totals = TotalsByCluster.of_counts(_terms, counts, ids, names=TERMS, raters=raters)
    raw, alpha, kappa, ac1 = (estimate_of(totals.measure(number, by_leaving_out=True)) for number in NUMBERS)
    unsure = lopsided(*counts, ids)
    assert raw.estimate is not None
    assert ac1.estimate is not None
    return Agreement(
        raw=raw.estimate,
        raw_interval=raw.limits,
        alpha=alpha.estimate,
        alpha_interval=None if unsure else alpha.limits,
        kappa=kappa.estimate,
        kappa_interval=None if unsure else kappa.limits,
        ac1=ac1.estimate,
        ac1_interval=ac1.limits,
        items=len(counts[0]),
        clusters=groups,
    )


TERMS = ("votes", "safe", "pairs", "agreeing", "disagreement", "items", "agreement", "share")


def _terms(s: IntArray, m: IntArray) -> FloatArray:
    """Per item: votes, safe votes, pairs, agreeing pairs, disagreement as Krippendorff weighs it; one, and two shares."""
    disagreeing = s * (m - s)
    pairs = m * (m - 1) / 2
    columns = (m, s, pairs, pairs - disagreeing, 2 * disagreeing / (m - 1), np.ones(len(s)), 1 - disagreeing / pairs)
    return np.column_stack([*columns, s / m]).astype(float)


def _alpha(t: Totals) -> FloatArray:
    mixed = t["disagreement"] / 2
    return alphas(np.stack([t["safe"] - mixed, mixed, mixed, t["votes"] - t["safe"] - mixed], axis=-1), "nominal")


def _kappa(t: Totals) -> FloatArray:
    by_chance = (t["safe"] ** 2 + (t["votes"] - t["safe"]) ** 2) / t["votes"] ** 2
    return safe_divide(t["agreeing"] / t["pairs"] - by_chance, 1 - by_chance, otherwise=np.nan)


def _ac1(t: Totals) -> FloatArray:
    share = t["share"] / t["items"]
    by_chance = 2 * share * (1 - share)
    return (t["agreement"] / t["items"] - by_chance) / (1 - by_chance)


NUMBERS = (
    share("raw", "agreeing", "pairs"),
    *(
        Functional(name, formula, over=lambda totals: totals["items"], domain=(-1.0, 1.0))
        for name, formula in (("alpha", _alpha), ("kappa", _kappa), ("ac1", _ac1))
    ),
)


Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True)
class LevelAlpha:
    """Alpha at one level of measurement, with its interval over clusters, and over people where they are known."""

    alpha: float | None
    """None where all answers are the same."""
    interval: tuple[float, float] | None
    level: Level
    items: int
    """Items with at least two answers."""


class Given(NamedTuple):
    """One entry a rating: the place of its item, whose it is, and its value (of categories, the place of its column)."""

    item: NDArray[np.intp]
    annotator: NDArray[np.intp]
    value: NDArray[Any]


def alpha_by_level(
    counts: ArrayLike, *, level: Level, clusters: ArrayLike | None = None, given: Given | None = None
) -> LevelAlpha:
    r"""Krippendorff's alpha of (items, values) counts; the values are in order, and equally far apart for `interval`.

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck} \delta_{ck}^2}{\sum_{ck} n_c n_k \delta_{ck}^2}

    with coincidences :math:`o_{ck}` and :math:`\delta_{ck}^2` of 0 or 1 (nominal), :math:`(c - k)^2` (interval) or
    :math:`(\sum_{g=c}^{k} n_g - (n_c + n_k) / 2)^2` (ordinal). The interval is Student's *t* from the clusters'
    influences, on the scale of a correlation; with `given`, who gave which answer, it is as much wider as annotators who
    differ throughout make it. An answer adds what the sums lose where another one of its item stands in its place.

    Raises StatisticsError: no item has two ratings, or there are fewer than two clusters of such items.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability. The tests hold it to the library `krippendorff`.
    """
    table = integers(counts, "counts").astype(float)
    if table.ndim != 2:
        raise StatisticsError(f"counts must be of items and values, not of shape {table.shape}")
    keep = table.sum(1) >= 2
    ids, counts_kept = clusters_of(clusters, len(table))[keep], table[keep]
    columns = coincidences(counts_kept)
    names = [str(place) for place in range(columns.shape[1])]
    ratings = None if given is None else kept_ratings(given, keep)

    def alpha(totals: Totals) -> FloatArray:
        return alphas(np.stack([totals[name] for name in names], axis=-1), level)

    def adds(gradient: FloatArray) -> FloatArray:
        added = np.zeros(counts_kept.shape)
        for value, replacement in np.ndindex(counts_kept.shape[1], counts_kept.shape[1]):
            has = (counts_kept[:, value] > 0) & (counts_kept[:, replacement] - (value == replacement) > 0)
            exchanged = counts_kept[has]
            exchanged[:, value] -= 1
            chance = exchanged[:, replacement] / exchanged.sum(1)
            exchanged[:, replacement] += 1
            added[has, value] += chance * ((columns[has] - coincidences(exchanged)) @ gradient)
        return added

    return _level_alpha(dict(zip(names, columns.T, strict=True)), ids, alpha, level, votes=(ratings, adds))


def _level_alpha(
    terms: Mapping[str, FloatArray],
    clusters: IntArray,
    formula: Callable[[Totals], FloatArray],
    level: Level,
    *,
    votes: tuple[Given | None, Callable[[FloatArray], FloatArray]],
) -> LevelAlpha:
    """Alpha from what each item adds to its terms.

    `votes`: the ratings, where it is known whose they are, and what each adds to alpha for a gradient by the terms; or what one
    of each value adds to each item, (items, values).
    """
    if not len(clusters):
        raise StatisticsError("no item has two ratings, so there is no agreement to speak of")
    ids = coded_labels(clusters, "clusters")
    if not ids.any():
        raise StatisticsError("an interval needs at least two clusters of items")
    totals = TotalsByCluster.of({**terms, "items": np.ones(len(ids))}, ids)
    functional = Functional("alpha", formula, over=lambda sums: sums["items"], domain=(-1.0, 1.0))
    measured, (ratings, adds) = totals.measure(functional, by_leaving_out=True), votes
    if ratings is not None:
        added = adds(totals.gradient(functional)[:-1])
        added = added if added.ndim == 1 else added[ratings.item, ratings.value.astype(np.intp)]
        measured = replace(measured, votes=votes_of_ratings(ratings, added))
    estimate = estimate_of(measured)
    return LevelAlpha(estimate.estimate, estimate.limits, level, len(ids))


def kept_ratings(ratings: Given, keep: BoolArray) -> Given:
    """The ratings of the items of `keep`, at their new places."""
    mask, place = keep[ratings.item], np.cumsum(keep) - 1
    return Given(place[ratings.item[mask]], ratings.annotator[mask], ratings.value[mask])


def votes_of_ratings(ratings: Given, adds: FloatArray) -> PerVote:
    """Return the addition of each rating to a number, as a table in which each rating is an item."""
    alone = Raters(np.arange(len(adds)), ratings.annotator, np.ones(len(adds), dtype=bool))
    return PerVote(alone, adds, np.zeros(len(adds)))


def alpha_on_scale(
    item: ArrayLike, value: ArrayLike, *, clusters: ArrayLike, annotator: ArrayLike | None = None
) -> LevelAlpha:
    r"""Krippendorff's alpha for intervals, of ratings on a scale of any values.

    With :math:`n_i` ratings of item *i*, their sum :math:`S_i` and sum of squares :math:`Q_i`, and *N* ratings in all,

    .. math:: \alpha = 1 - (N - 1) \frac{\sum_i (n_i Q_i - S_i^2) / (n_i - 1)}{N \sum_i Q_i - (\sum_i S_i)^2}.

    `item`, `value`: (ratings,); the place of each rating's item, and its value. Items with one rating are left out.
    `clusters`: (items,) labels of items that go together.
    `annotator`: (ratings,) who gave it: the interval then is as much wider as annotators who differ throughout make it.

    Raises StatisticsError: no item has two ratings, or there are fewer than two clusters of such items.

    Source: Krippendorff (2011). The tests hold it to the library `krippendorff`.
    """
    ids = coded_labels(clusters, "clusters")
    codes, values = integers(item, "items").astype(np.intp).ravel(), vector(value, "values")
    people = None if annotator is None else integers(annotator, "annotators").astype(np.intp).ravel()
    of_one_length(items=codes, values=values, annotators=people)
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(ids):
        raise StatisticsError(f"items must be places among the {len(ids)} clusters")
    keep = np.bincount(codes, minlength=len(ids)) >= 2
    centred = values - values.mean() if len(values) else values
    ratings = kept_ratings(Given(codes, codes if people is None else people, centred), keep)
    n, total, squares = (
        np.bincount(ratings.item, weights=weights, minlength=int(keep.sum())).astype(np.float64)
        for weights in (None, ratings.value, ratings.value**2)
    )
    within = (n * squares - total**2) / (n - 1)

    def alpha(t: Totals) -> FloatArray:
        spread = t["n"] * t["squares"] - t["total"] ** 2
        return 1 - safe_divide((t["n"] - 1) * t["within"], spread, otherwise=np.nan)

    def adds(gradient: FloatArray) -> FloatArray:
        own, count = ratings.value, n[ratings.item]
        left, left_squares = total[ratings.item] - own, squares[ratings.item] - own**2
        mean_other, other_squares = left / (count - 1), left_squares / (count - 1)  # of another rating of the item
        square = left**2 + 2 * left * mean_other + other_squares
        exchanged = (count * (left_squares + other_squares) - square) / (count - 1)
        lost = np.zeros(len(own)), own - mean_other, own**2 - other_squares, within[ratings.item] - exchanged
        added: FloatArray = gradient @ np.stack(lost)
        return added

    terms = {"n": n, "total": total, "squares": squares, "within": within}
    return _level_alpha(terms, ids[keep], alpha, "interval", votes=(None if people is None else ratings, adds))


def coincidences(counts: FloatArray) -> FloatArray:
    """(items, values x values) pairs of answers of one item, each item weighing as many as it has answers."""
    values = counts.shape[1]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(values))
    per_item: FloatArray = (pairs / (counts.sum(1) - 1)[:, None, None]).reshape(len(counts), values * values)
    return per_item


def alphas(sums: FloatArray, level: Level) -> FloatArray:
    """Alpha of summed coincidences, (..., values x values); NaN where all answers are the same."""
    values = round(sums.shape[-1] ** 0.5)
    pairs = sums.reshape(-1, values, values)
    n = pairs.sum(2)
    far = distances(n, level)
    observed = (pairs * far).sum((1, 2))
    expected = (n[:, :, None] * n[:, None, :] * far).sum((1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: FloatArray = np.where(expected > 0, 1 - (n.sum(1) - 1) * observed / expected, np.nan)
    return alpha.reshape(sums.shape[:-1])


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
