"""Agreement among people: Krippendorff's alpha, kappa, AC1, and the reliability of votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    PerVote,
    Raters,
    TermsOfCounts,
    clusters_of,
    coded_labels,
    safe_divide,
)
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import Functional, Totals, TotalsByCluster, share
from casewise.text import count_of

LOPSIDED_SHARE = 0.2
"""Share of the rarer answer below which, with fewer clusters than `ENOUGH_CLUSTERS`, correlations of votes get no interval."""

ENOUGH_CLUSTERS = 60
"""Clusters with which correlations of votes get an interval whatever the share of the rarer answer."""


@dataclass(frozen=True)
class Reliability:
    """Reliability of the safe rates over items, between 0 (all chance) and 1."""

    half: float | None
    """Mean correlation of two random halves of each item's votes; None where a half never varies."""
    split_half: float | None
    """Reliability of all votes by the Spearman-Brown formula from `half`."""
    analytic: float
    """One less the share of the rates' variance that votes by chance explain."""
    analytic_interval: tuple[float, float] | None
    """95 % interval of `analytic`; None where nearly all votes are alike on few clusters (`lopsided`)."""
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
    r"""Return the reliability of safe rates, by splitting and analytically.

    .. math:: \rho = 1 - \frac{\overline{p(1-p)/(m-1)}}{\mathrm{var}(p)}

    is the limit of the Spearman-Brown reliability over all splits. It needs no annotators, only votes.

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

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> result = reliability([20, 18, 12, 6, 3, 1], [21] * 6, rng=rng)
    >>> round(result.analytic, 3), round(result.split_half, 3)
    (0.954, 0.959)
    """
    rated = RatedItems.from_votes(safe, votes, clusters, raters)
    s, m = rated.safe, rated.votes
    if len(s) < 3 or np.ptp(s / m) == 0:
        raise StatisticsError("reliability needs three items with two votes each, and rates that differ")
    analytic = analytic_reliability(rated)
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
        split_half=None if half is None else 2 * half / (1 + half),
        analytic=max(0.0, analytic.estimate or 0.0),
        analytic_interval=analytic.limits and (max(0.0, analytic.limits[0]), max(0.0, analytic.limits[1])),
        items=len(s),
        splits=splits,
    )


class RatedItems(NamedTuple):
    """Items with enough votes: safe votes and all votes, clusters as 0, 1, 2, ..., and who gave these votes."""

    safe: IntArray
    votes: IntArray
    cluster: IntArray
    raters: Raters | None
    kept: BoolArray
    """Mask of these items among all items."""

    @classmethod
    def from_votes(
        cls,
        safe: ArrayLike,
        votes: ArrayLike,
        clusters: ArrayLike | None,
        raters: Raters | None = None,
        *,
        more_than: int = 1,
    ) -> RatedItems:
        """Return the items with more than `more_than` votes. Raises StatisticsError: there are none."""
        s, m = Counts.from_arrays(safe, votes)
        kept = m > more_than
        if not kept.any():
            raise StatisticsError(f"no item has {count_of(more_than + 1, 'vote')}, and this takes so many on an item")
        cluster = coded_labels(clusters_of(clusters, len(s))[kept])
        return cls(s[kept], m[kept], cluster, None if raters is None else raters.where(kept), kept)

    def totals(self, terms: TermsOfCounts, names: Iterable[str]) -> TotalsByCluster:
        """Return the columns of `terms`, called `names`, summed within clusters."""
        counts = self.safe, self.votes
        return TotalsByCluster.from_counts(terms, counts, self.cluster, names=tuple(names), raters=self.raters)


def analytic_reliability(rated: RatedItems) -> Estimate:
    """Return the share of the rates' variance that is not binomial noise of the votes.

    It has no limits where votes are `lopsided`, or where without one cluster no two items are left.
    """

    def moments(s: IntArray, m: IntArray) -> FloatArray:
        p = s / m
        return np.stack([np.ones(len(p)), p, p**2, p * (1 - p) / (m - 1)], axis=1)

    def formula(t: Totals) -> FloatArray:
        items = np.where(t["items"] > 1, t["items"], np.nan)
        variance = (t["pp"] - t["p"] ** 2 / items) / (items - 1)
        return 1 - safe_divide(t["noise"] / items, variance, default=np.nan)

    totals = rated.totals(moments, ("items", "p", "pp", "noise"))
    number = Functional("reliability", formula, n_items=lambda totals: totals["items"], domain=(-1.0, 1.0))
    measured = totals.measure(number, jackknife=True)
    reliability = estimate_of(measured)
    without_interval = lopsided(rated) or bool(np.isnan(measured.influence).any())
    return replace(reliability, ci_low=None, ci_high=None) if without_interval else reliability


def lopsided(rated: RatedItems) -> bool:
    """Return True if nearly all votes are alike on few clusters, so that the few others are too few for an interval."""
    safe, votes = int(rated.safe.sum()), int(rated.votes.sum())
    return int(rated.cluster.max()) + 1 < ENOUGH_CLUSTERS and min(safe, votes - safe) / votes < LOPSIDED_SHARE


@dataclass(frozen=True)
class Agreement:
    """Agreement on safe/unsafe votes, each number with its interval over clusters; None where there is none.

    Alpha and kappa have none where nearly all say the same on few clusters: they hang on the few others then.
    """

    raw: float
    raw_interval: tuple[float, float] | None
    alpha: float | None
    """Krippendorff's alpha; None where all votes are the same."""
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


def agreement_of_votes(
    safe: ArrayLike, votes: ArrayLike, *, clusters: ArrayLike | None = None, raters: Raters | None = None
) -> Agreement:
    """Return raw agreement, Krippendorff's alpha, Fleiss' kappa and Gwet's AC1 from counts of votes.

    Each of the last three is :math:`(p_o - p_e) / (1 - p_e)`, with :math:`p_o` the agreement of two votes on an item and
    :math:`p_e` that by chance, which each computes in its own way. Intervals are Student's *t* from the clusters' influences
    (`casewise.stats.estimates.estimate_of`).

    Parameters
    ----------
    safe, votes : (items,) integers
        Safe votes and all votes of each item. Items with fewer than two votes are left out.
    clusters : (items,) labels, optional
        Items that go together: those of one query. Each its own if absent.
    raters : Raters, optional
        Who gave which vote: intervals then are as much wider as annotators who differ throughout make them.

    Raises
    ------
    StatisticsError
        No item has two votes, or there are fewer than two clusters.

    References
    ----------
    .. [1] Krippendorff (2011), Computing Krippendorff's alpha-reliability. Fleiss (1971), Psychological Bulletin 76, 378-382.
       Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29-48.
    .. [2] Python: `krippendorff.alpha`, `statsmodels.stats.inter_rater.fleiss_kappa`; R: `irrCAC::gwet.ac1.raw`.

    Examples
    --------
    Report alpha; AC1 shows whether a lopsided share of safe votes pulls it down, as here:

    >>> result = agreement_of_votes([21, 20, 19, 20, 21, 12], [21] * 6)
    >>> round(result.raw, 3), round(result.alpha, 3), round(result.ac1, 3)
    (0.852, 0.209, 0.819)
    """
    rated = RatedItems.from_votes(safe, votes, clusters, raters)
    groups = int(rated.cluster.max()) + 1
    if groups < 2:
        raise StatisticsError("an interval needs at least two clusters of items")

    def terms(s: IntArray, m: IntArray) -> FloatArray:
        disagreements = s * (m - s)
        pairs = m * (m - 1) / 2
        columns = (
            m,
            s,
            pairs,
            pairs - disagreements,
            2 * disagreements / (m - 1),
            np.ones(len(s)),
            1 - disagreements / pairs,
        )
        return np.column_stack([*columns, s / m]).astype(float)

    names = ("votes", "safe", "pairs", "agreeing", "disagreement", "items", "agreement", "share")
    totals = rated.totals(terms, names)
    chance_corrected = (
        Functional(name, formula, n_items=lambda totals: totals["items"], domain=(-1.0, 1.0))
        for name, formula in (("alpha", nominal_alpha), ("kappa", fleiss_kappa), ("ac1", gwet_ac1))
    )
    raw, alpha, kappa, ac1 = (
        estimate_of(totals.measure(number, jackknife=True))
        for number in (share("raw", "agreeing", "pairs"), *chance_corrected)
    )
    is_lopsided = lopsided(rated)
    assert raw.estimate is not None
    assert ac1.estimate is not None
    return Agreement(
        raw=raw.estimate,
        raw_interval=raw.limits,
        alpha=alpha.estimate,
        alpha_interval=None if is_lopsided else alpha.limits,
        kappa=kappa.estimate,
        kappa_interval=None if is_lopsided else kappa.limits,
        ac1=ac1.estimate,
        ac1_interval=ac1.limits,
        items=len(rated.safe),
        clusters=groups,
    )


def nominal_alpha(t: Totals) -> FloatArray:
    """Return Krippendorff's alpha from sums of votes."""
    mixed = t["disagreement"] / 2
    return alphas(np.stack([t["safe"] - mixed, mixed, mixed, t["votes"] - t["safe"] - mixed], axis=-1), "nominal")


def fleiss_kappa(t: Totals) -> FloatArray:
    """Return Fleiss' kappa from sums of votes."""
    expected = (t["safe"] ** 2 + (t["votes"] - t["safe"]) ** 2) / t["votes"] ** 2
    return safe_divide(t["agreeing"] / t["pairs"] - expected, 1 - expected, default=np.nan)


def gwet_ac1(t: Totals) -> FloatArray:
    """Return Gwet's AC1 from sums of votes and shares."""
    share = t["share"] / t["items"]
    expected = 2 * share * (1 - share)
    return (t["agreement"] / t["items"] - expected) / (1 - expected)


Level = Literal["nominal", "ordinal", "interval"]
"""Level of measurement of the answers."""


@dataclass(frozen=True)
class KrippendorffAlpha:
    """Krippendorff's alpha at one level of measurement, with its interval over clusters, and over annotators where they are known."""

    alpha: float | None
    """None where all answers are the same."""
    interval: tuple[float, float] | None
    level: Level
    items: int
    """Items with at least two answers."""


def krippendorff_alpha(
    counts: ArrayLike, *, level: Level, clusters: ArrayLike | None = None, raters: Raters | None = None
) -> KrippendorffAlpha:
    r"""Return Krippendorff's alpha of (items, values) counts; the values are in order, and equally far apart for `interval`.

    .. math:: \alpha = 1 - (n - 1) \frac{\sum_{ck} o_{ck} \delta_{ck}^2}{\sum_{ck} n_c n_k \delta_{ck}^2}

    with coincidences :math:`o_{ck}` and :math:`\delta_{ck}^2` of 0 or 1 (nominal), :math:`(c - k)^2` (interval) or
    :math:`(\sum_{g=c}^{k} n_g - (n_c + n_k) / 2)^2` (ordinal). The interval is Student's *t* from the clusters'
    influences, on the scale of a correlation. With `raters`, whose values are places among the columns of `counts`, it is as much wider as
    annotators who differ throughout make it: an answer adds what the sums lose where another one of its item replaces it.

    Raises StatisticsError: no item has two ratings, or there are fewer than two clusters of such items.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability. The tests hold it to the library `krippendorff`.
    """
    table = np.asarray(counts, dtype=np.float64)
    paired = table.sum(1) >= 2
    ids, kept_counts = clusters_of(clusters, len(table))[paired], table[paired]
    columns = coincidences(kept_counts)
    names = [str(place) for place in range(columns.shape[1])]
    ratings = None if raters is None else raters.where(paired)

    def alpha(totals: Totals) -> FloatArray:
        return alphas(np.stack([totals[name] for name in names], axis=-1), level)

    def influence(gradient: FloatArray) -> FloatArray:
        result = np.zeros(kept_counts.shape)
        for value, replacement in np.ndindex(kept_counts.shape[1], kept_counts.shape[1]):
            mask = (kept_counts[:, value] > 0) & (kept_counts[:, replacement] - (value == replacement) > 0)
            replaced = kept_counts[mask]
            replaced[:, value] -= 1
            chance = replaced[:, replacement] / replaced.sum(1)
            replaced[:, replacement] += 1
            result[mask, value] += chance * ((columns[mask] - coincidences(replaced)) @ gradient)
        assert ratings is not None
        return result[ratings.item, ratings.safe.astype(np.intp)]

    return _level_alpha(
        dict(zip(names, columns.T, strict=True)), ids, alpha, level, ratings=ratings, influence=influence
    )


def _level_alpha(
    terms: Mapping[str, FloatArray],
    clusters: IntArray,
    formula: Callable[[Totals], FloatArray],
    level: Level,
    *,
    ratings: Raters | None,
    influence: Callable[[FloatArray], FloatArray],
) -> KrippendorffAlpha:
    """Return alpha from the addition of each item to its terms.

    `influence`: a function from alpha's gradient by the terms to the influence of each of the `ratings`.
    """
    if not len(clusters):
        raise StatisticsError("no item has two ratings, so there is no agreement to measure")
    ids = coded_labels(clusters)
    if not ids.any():
        raise StatisticsError("an interval needs at least two clusters of items")
    totals = TotalsByCluster.from_terms({**terms, "items": np.ones(len(ids))}, ids)
    functional = Functional("alpha", formula, n_items=lambda sums: sums["items"], domain=(-1.0, 1.0))
    measured = totals.measure(functional, jackknife=True)
    if ratings is not None:
        measured = replace(measured, votes=votes_of_ratings(ratings, influence(totals.gradient(functional)[:-1])))
    estimate = estimate_of(measured)
    return KrippendorffAlpha(estimate.estimate, estimate.limits, level, len(ids))


def votes_of_ratings(ratings: Raters, influence: FloatArray) -> PerVote:
    """Return the addition of each rating to a number, as a table in which each rating is an item."""
    one_each = Raters(np.arange(len(influence)), ratings.annotator, np.ones(len(influence), dtype=bool))
    return PerVote(one_each, influence, np.zeros(len(influence)))


def krippendorff_alpha_of_ratings(
    item: ArrayLike, value: ArrayLike, *, clusters: ArrayLike, annotator: ArrayLike | None = None
) -> KrippendorffAlpha:
    r"""Return Krippendorff's alpha for intervals, of ratings on a scale of any values.

    With :math:`n_i` ratings of item *i*, their sum :math:`S_i` and sum of squares :math:`Q_i`, and *N* ratings in all,

    .. math:: \alpha = 1 - (N - 1) \frac{\sum_i (n_i Q_i - S_i^2) / (n_i - 1)}{N \sum_i Q_i - (\sum_i S_i)^2}.

    `item`, `value`: (ratings,); the place of each rating's item, and its value. Items with one rating are left out.
    `clusters`: (items,) labels of items that go together.
    `annotator`: (ratings,) labels; the interval then is as much wider as annotators who differ throughout make it.

    Raises StatisticsError: no item has two ratings, or there are fewer than two clusters of such items.

    Source: Krippendorff (2011). The tests hold it to the library `krippendorff`.
    """
    ids, codes, values = coded_labels(clusters), np.asarray(item, dtype=np.intp), np.asarray(value, dtype=np.float64)
    people = codes if annotator is None else np.asarray(annotator, dtype=np.intp)
    paired = np.bincount(codes, minlength=len(ids)) >= 2
    ratings = Raters(codes, people, values - values.mean() if len(values) else values).where(paired)
    n, total, squares = (
        np.bincount(ratings.item, weights=weights, minlength=int(paired.sum())).astype(np.float64)
        for weights in (None, ratings.safe, ratings.safe**2)
    )
    within = (n * squares - total**2) / (n - 1)

    def alpha(t: Totals) -> FloatArray:
        spread = t["n"] * t["squares"] - t["total"] ** 2
        return 1 - safe_divide((t["n"] - 1) * t["within"], spread, default=np.nan)

    def influence(gradient: FloatArray) -> FloatArray:
        own, count = ratings.safe.astype(np.float64), n[ratings.item]
        rest, rest_squares = total[ratings.item] - own, squares[ratings.item] - own**2
        mean, mean_square = (rest / (count - 1), rest_squares / (count - 1))  # of another rating of the item
        square = rest**2 + 2 * rest * mean + mean_square
        replaced = (count * (rest_squares + mean_square) - square) / (count - 1)
        losses = (np.zeros(len(own)), own - mean, own**2 - mean_square, within[ratings.item] - replaced)
        return gradient @ np.stack(losses)

    terms = {"n": n, "total": total, "squares": squares, "within": within}
    return _level_alpha(
        terms, ids[paired], alpha, "interval", ratings=None if annotator is None else ratings, influence=influence
    )


def coincidences(counts: FloatArray) -> FloatArray:
    """Return (items, values x values) pairs of answers of one item, each item weighing as many as it has answers."""
    values = counts.shape[1]
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(values))
    per_item: FloatArray = (pairs / (counts.sum(1) - 1)[:, None, None]).reshape(len(counts), values * values)
    return per_item


def alphas(sums: FloatArray, level: Level) -> FloatArray:
    """Return the alpha of summed coincidences, (..., values x values); NaN where all answers are the same."""
    values = round(sums.shape[-1] ** 0.5)
    pairs = sums.reshape(-1, values, values)
    n = pairs.sum(2)
    distance = distances(n, level)
    observed = (pairs * distance).sum((1, 2))
    expected = (n[:, :, None] * n[:, None, :] * distance).sum((1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: FloatArray = np.where(expected > 0, 1 - (n.sum(1) - 1) * observed / expected, np.nan)
    return alpha.reshape(sums.shape[:-1])


def distances(n: FloatArray, level: Level) -> FloatArray:
    """Return (rows, values, values) squared distances between values, of which each row has `n`."""
    values = n.shape[1]
    place = np.arange(values)
    if level == "ordinal":
        middle = n.cumsum(1) - n / 2
        return (middle[:, :, None] - middle[:, None, :]) ** 2
    differences = 1.0 - np.eye(values) if level == "nominal" else (place[:, None] - place) ** 2.0
    return np.tile(differences, (len(n), 1, 1)).astype(np.float64)
