"""Comparison of a judge with panels of people, and rates from labels of a few items and a judge on all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreement import RatedItems
from casewise.stats.arrays import (
    Counts,
    FloatArray,
    IntArray,
    PerVote,
    Raters,
    checked_integer,
    checked_share,
    clusters_of,
)
from casewise.stats.ceilings import DistinctCounts, rate_posteriors
from casewise.stats.estimates import estimate_of
from casewise.stats.intervals import Domain, Interval, floored_interval
from casewise.stats.measured import Functional, Measured, Totals, share
from casewise.stats.shares import hypergeometric, majority_weight, score_limits
from casewise.text import count_of

AT_ONCE = 4_000_000
"""Number of items times panels in one block of the computation."""


def same_majority(share: FloatArray, reference: FloatArray) -> FloatArray:
    """Return the agreement of shares of safe votes with a reference's: 1 for the same majority, ½ for a tie, else 0."""
    majority, reference_majority = majority_weight(share, 1), majority_weight(reference, 1)
    return majority * reference_majority + (1 - majority) * (1 - reference_majority)


@dataclass(frozen=True, repr=False)
class PanelCurve(ShortRepr):
    """Agreement of k people with the majority of other people."""

    sizes: IntArray
    """Panel sizes k."""
    agreement: FloatArray
    ci_low: FloatArray
    ci_high: FloatArray
    modelled: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    """True beyond the votes there are: the panel's votes are then predicted from the item's likely true rates."""
    reference_size: int
    items: int


@dataclass(frozen=True)
class PanelWorth:
    """A judge's place on the panel curve."""

    agreement: float
    """Agreement of the judge with the same references."""
    ci_low: float
    ci_high: float
    people: float
    """The panel size with the judge's agreement, between whole numbers; 0 below one person, inf above the curve."""
    people_low: float
    people_high: float
    items: int
    reference_size: int


def usual_reference(votes: ArrayLike) -> int:
    """Return the number of people that a person, a panel or a judge is compared with: ten, or all but one of an item's usual votes.

    Raises StatisticsError: no item has a vote.
    """
    counts = np.asarray(votes, dtype=np.int64)
    rated = counts[counts > 0]
    if not len(rated):
        raise StatisticsError("no item has a vote, so there is no person to compare with")
    usual, times = np.unique(rated, return_counts=True)
    return max(1, min(10, int(usual[times.argmax()]) - 1))


def reference_weight(safe: ArrayLike, votes: ArrayLike, *, reference_size: int) -> FloatArray:
    """Return the majority's weight of "safe" among so many of an item's people, averaged over all draws of them.

    Ties count half. nan where an item has no further vote to compare with.
    """
    s, m = Counts.from_arrays(safe, votes)
    weight = np.full(len(s), np.nan)
    enough = m > reference_size
    chance = _of_references(s[enough], m[enough], reference_size)
    weight[enough] = chance @ majority_weight(np.arange(reference_size + 1), reference_size)
    return weight


def panel_curve(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    reference_size: int = 10,
    largest: int = 21,
    raters: Raters | None = None,
) -> PanelCurve:
    r"""Return the agreement of the majority of *k* people with that of `reference_size` other people.

    Up to as many people as are left over, both are drawn from the item's own votes without replacement, and the
    expectation over all draws is exact (hypergeometric). Beyond, the reference stays and the panel's votes are
    predicted: each item has a true rate, these are spread as fits all votes best (in any shape), and the panel is drawn
    from the item's posterior. Of this prediction only the gain over the largest counted panel is used. Ties count half on either side. The reference has one size
    throughout: against a growing one, even a constant judge would seem to get better.

    Parameters
    ----------
    safe, votes : (items,) integers
        Items with fewer than `reference_size` + 1 votes are left out.
    clusters : (items,) labels, optional
        Items that go together.
    raters : Raters, optional
        Who gave which vote.

    Raises
    ------
    StatisticsError
        No item has enough votes.
    """
    used = RatedItems.from_votes(safe, votes, clusters, raters, more_than=reference_size)
    sizes = np.arange(1, largest + 1)
    totals = used.totals(
        lambda s, m: np.vstack([np.ones(len(s)), _panel_agreement(s, m, reference_size, sizes).T]).T,
        ("items", *map(str, range(len(sizes)))),
    )
    estimates = [estimate_of(totals.measure(share("panel", str(column), "items"))) for column in range(len(sizes))]
    agreement, low, high = np.array(
        [(estimate.estimate, *(estimate.limits or (np.nan, np.nan))) for estimate in estimates]
    ).T
    modelled = sizes > used.votes.min() - reference_size
    return PanelCurve(sizes, agreement, low, high, modelled, reference_size, len(used.votes))


def panel_worth(
    judge: ArrayLike,
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    reference_size: int = 10,
    largest: int = 101,
    raters: Raters | None = None,
) -> PanelWorth:
    """Return the size of the panel of people that agrees with other people as well as a judge does.

    Parameters
    ----------
    judge : (items,) floats
        1 where the judge says safe, 0 where unsafe, NaN where it gave no verdict (counted as half right: a coin). Of a judge
        that was asked several times (answers, items).
    safe, votes, clusters, reference_size, raters
        As for `panel_curve`, on the same items.
    largest : int
        The largest panel tried; odd sizes only, since an even one is worth no more than the odd one below it.

    Raises
    ------
    StatisticsError
        No item has enough votes.
    """
    sizes = np.arange(1, largest + 1, 2)
    used = RatedItems.from_votes(safe, votes, clusters, raters, more_than=reference_size)
    verdicts = np.nan_to_num(np.atleast_2d(np.asarray(judge, dtype=np.float64)), nan=0.5).mean(axis=0)[used.kept, None]
    safe_majority = majority_weight(np.arange(reference_size + 1), reference_size)

    def of_judge(s: IntArray, m: IntArray) -> FloatArray:
        agrees = _of_references(s, m, reference_size)
        agrees *= verdicts * safe_majority + (1 - verdicts) * (1 - safe_majority)
        return np.vstack([np.ones(len(s)), agrees.sum(1)]).T

    judges = used.totals(of_judge, ("items", "judge"))
    judge_agreement = judges.measure(share("panel", "judge", "items", kind="other"))
    low, high = _interval(judge_agreement, (0.0, 1.0))
    differences: list[tuple[float, float]] = []
    at_once = max(1, AT_ONCE // len(used.votes))
    for begin in range(0, len(sizes), at_once):
        batch = slice(begin, begin + at_once)
        names = [str(size) for size in sizes[batch]]
        panels = partial(_panel_agreement, reference_size=reference_size, sizes=sizes, of_sizes=batch)
        judge_and_panels = judges.join(used.totals(panels, names))
        for name in names:

            def lead(totals: Totals, panel: str = name) -> FloatArray:
                return (totals["judge"] - totals[panel]) / totals["items"]

            number = Functional("panel", lead, n_items=lambda totals: totals["items"])
            ahead_low, ahead_high = _interval(
                judge_and_panels.select("items", "judge", name).measure(number), (-1.0, 1.0)
            )
            differences.append((-ahead_low, -ahead_high))
        if all(max(side) > 0 for side in zip(*differences, strict=True)):
            break  # the judge is behind all larger panels, too
    # The panels that the judge is not told from: where the limits of its lead over them pass 0.
    few, many = (_place(0.0, np.array(side), sizes[: len(differences)]) for side in zip(*differences, strict=True))
    kinds, of_kinds = _kinds_agreement(used.safe, used.votes, reference_size, sizes)
    people = _place(judge_agreement.value, kinds.times @ of_kinds / len(used.votes), sizes)
    return PanelWorth(judge_agreement.value, low, min(high, 1.0), people, few, many, len(used.votes), reference_size)


def _interval(measured: Measured, domain: Domain) -> Interval:
    """Return the interval of a share or a difference of shares; where all clusters are alike, as wide as unseen errors allow."""
    value, limits = measured.value, estimate_of(measured).limits
    if limits is not None:
        return Interval(*limits)
    below, above = [value - domain[0]], [domain[1] - value]
    return floored_interval(value, None, below=below, above=above, clusters=measured.at_risk, domain=domain)


def _place(agreement: float, curve: FloatArray, sizes: IntArray) -> float:
    """Return the size at which the curve, made rising, reaches `agreement`."""
    rising = np.maximum.accumulate(curve)
    if agreement < rising[0]:
        return 0.0
    if agreement > rising[-1]:
        return float("inf")
    return float(np.interp(agreement, rising, sizes))


def _panel_agreement(
    s: IntArray,
    m: IntArray,
    reference_size: int,
    sizes: IntArray,
    *,
    of_sizes: slice = slice(None),
) -> FloatArray:
    """Return the expected agreement of panels of some of the sizes, (items, sizes)."""
    kinds, agreement = _kinds_agreement(s, m, reference_size, sizes)
    return agreement.T[of_sizes, kinds.which].T


def _kinds_agreement(
    s: IntArray, m: IntArray, reference_size: int, sizes: IntArray
) -> tuple[DistinctCounts, FloatArray]:
    """Return the distinct counts of items, and the expected agreement of panels, (kinds, sizes)."""
    kinds = DistinctCounts.from_counts(s, m)
    of_kinds = tuple(zip(kinds.safe.tolist(), kinds.votes.tolist(), kinds.times.tolist(), strict=True))
    return kinds, _agreement_of_kinds(of_kinds, reference_size, tuple(sizes.tolist()))


@lru_cache(maxsize=16)
def _agreement_of_kinds(
    kinds: tuple[tuple[int, int, int], ...], reference_size: int, of_sizes: tuple[int, ...]
) -> FloatArray:
    """Return the expected agreement of panels, (kinds, sizes); `kinds`: safe votes, votes and number of items of each.

    All judges of a benchmark are compared with the same people, whose panels are computed once. Beyond an item's votes the
    model gives only the gain over the largest panel that is counted, so that no step is seen where the model starts.
    """
    pairs, sizes = np.array(kinds)[:, :2], np.array(of_sizes)
    rates = rate_posteriors(*np.repeat(pairs, [n for *_, n in kinds], axis=0).T)
    r, grid = np.arange(reference_size + 1), tuple(rates.grid.tolist())
    chance = hypergeometric(r, pairs[:, :1], pairs[:, 1:], reference_size)
    counted_up_to = np.minimum(pairs[:, 1] - reference_size, sizes.max())
    all_sizes = np.union1d(sizes, counted_up_to)
    alike = {k: same_majority((np.arange(k + 1) / k)[:, None], r / reference_size) for k in all_sizes.tolist()}
    chances = _chances(grid, int(all_sizes.max()))
    modelled = np.stack([(rates.posterior @ chances[k] @ alike[k] * chance).sum(1) for k in all_sizes.tolist()], axis=1)
    table = np.empty((len(pairs), len(sizes)))
    for votes in np.unique(pairs[:, 1]).tolist():
        of_size, left = pairs[:, 1] == votes, votes - reference_size
        gain = modelled[of_size] - modelled[of_size][:, [np.searchsorted(all_sizes, min(left, sizes.max()))]]
        counted = np.zeros((of_size.sum(), len(all_sizes)))
        for place, k in enumerate(all_sizes[all_sizes <= left].tolist()):
            safe_left = (pairs[of_size, :1] - r)[..., None]
            drawn = hypergeometric(np.arange(k + 1), safe_left, left, k)
            counted[:, place] = (drawn * (alike[k].T * chance[of_size][..., None])).sum((1, 2))
        beyond = np.where(sizes > left, gain[:, np.searchsorted(all_sizes, sizes)], 0.0)
        within = counted[:, np.searchsorted(all_sizes, np.minimum(sizes, left))]
        table[of_size] = np.clip(within + beyond, 0.0, 1.0)  # the model's gain may be more than is left to gain
    table.flags.writeable = False
    return table


@lru_cache(maxsize=4)
def _chances(rates: tuple[float, ...], most: int) -> tuple[FloatArray, ...]:
    """Return for 0 to `most` people the probability of each number of safe votes at each rate: (rates, people + 1)."""
    safe = np.array(rates)[:, None]
    chances = [np.ones_like(safe)]
    for _ in range(most):
        without, with_one = np.pad(chances[-1], ((0, 0), (0, 1))), np.pad(chances[-1], ((0, 0), (1, 0)))
        chances.append((1 - safe) * without + safe * with_one)
    return tuple(chances)


def _of_references(s: IntArray, m: IntArray, reference_size: int) -> FloatArray:
    """Return the probability of each number of safe votes among `reference_size` of an item's people: (items, numbers)."""
    kinds, r = DistinctCounts.from_counts(s, m), np.arange(reference_size + 1)
    return hypergeometric(r, kinds.safe[:, None], kinds.votes[:, None], reference_size)[kinds.which]


@dataclass(frozen=True)
class PredictionPowered:
    """A rate by labels and grader together, and by the labels alone."""

    estimate: float
    ci_low: float
    ci_high: float
    error: float
    weight: float
    """:math:`\\lambda`, how much the grader counts: 0 not at all, 1 like a label where its errors are known. In strata the slope of
    the labels' means by the grader's value."""
    labels: int
    items: int
    worth: float
    """Number of labels that would give the same error without a grader."""
    by_labels: float
    by_labels_low: float
    by_labels_high: float


def prediction_powered_rate(
    grader: ArrayLike,
    labels: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    raters: Raters | None = None,
) -> PredictionPowered:
    r"""Return a rate among people from labels on a few items and a grader on all of them (prediction-powered inference).

    With labels :math:`Y_i` on *n* items, and a grader's :math:`f_i` on these and on *N* more from the same population,

    .. math:: \hat\theta_\lambda = \bar Y_n + \lambda (\bar f_N - \bar f_n)

    is right on average in large samples, because the grader's errors are measured where there are labels; a useless grader gets
    a weight :math:`\lambda` near 0 and leaves the labels' own mean.

    A grader of at most three values, such as a verdict, divides the items into strata *s* with shares :math:`W_s`. There

    .. math:: \hat\theta = \sum_s W_s \hat p_s, \qquad
              \hat\theta - \sqrt{\textstyle\sum_s W_s^2 (\hat p_s - l_s)^2 + t^2 v_W}

    and likewise above, with :math:`\hat p_s` the labels' mean in the stratum, :math:`(l_s, u_s)` its Jeffreys interval and
    :math:`v_W` the variance of the shares. The Jeffreys limits hold errors of a kind that no label has shown yet, which the
    variance above takes for impossible. The labelled items must be drawn at random.

    `grader`: (items,) numbers; its value for every item, on any scale.
    `labels`: (items,) numbers in [0, 1]; a verdict, or the share of an item's people; nan without a label.
    `clusters`: (items,) labels; items that go together, such as those of a query.
    `raters`: who gave the votes whose shares the labels are: the interval then holds what people differ by throughout.

    Returns PredictionPowered. For a grader of at most three values the interval is that of the strata, each at an effective
    number of labels: fewer where the items of a cluster go together. For other graders it is the score interval at the effective
    sample size :math:`p(1-p)/v`, with Student's *t* on one less than the labelled clusters; the variance is cluster-robust and
    the weight the one that makes it least, kept within [0, 1]. Both cover 93 % or more (docs/reference/coverage.md).

    Raises StatisticsError: fewer than two clusters have labels.

    Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382, 669-674.
    Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453, §6 (power tuning).
    Zou & Donner (2008), Statistics in Medicine 27, 1693-1702 (an interval from the intervals of the parts). Brown, Cai &
    DasGupta (2001), Statistical Science 16, 101-133 (Jeffreys).
    Reference implementation: `ppi_py.ppi_mean_pointestimate` (tests/reference/prediction_powered.py).
    """
    f, y = np.asarray(grader, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    ids, known = clusters_of(clusters, len(f)), ~np.isnan(y)
    labelled = clusters_or_people = len(np.unique(ids[known]))
    if labelled < 2:
        raise StatisticsError("a rate needs labels in two clusters at least")
    y_effect, of_people = _influence(np.nan_to_num(y), known, ids), 0.0
    if raters is not None:
        # What people add to the variance of the labels' mean.
        vote_weight = 1 / (np.maximum(np.bincount(raters.item, minlength=len(y)), 1) * known.sum())
        share = np.nan_to_num(y)
        of_people = PerVote(raters, (1 - share) * vote_weight, -share * vote_weight).variance
        clusters_or_people = max(2, min(labelled, len(np.unique(raters.annotator))))
    label_variance = float((y_effect**2).sum()) + of_people
    by_labels = float(y[known].mean())
    if len(np.unique(f)) <= STRATA and not known.all():
        df = clusters_or_people - 1
        estimate, variance, weight, (low, high) = _in_strata(f, y, ids, df=df, of_people=of_people, level=level)
    else:
        estimate, variance, weight = by_labels, float((y_effect**2).sum()), 0.0
        if not known.all():
            gain = _influence(f, known, ids) - _influence(f, ~known, ids)
            # The weight of least variance; the grader's own variance is taken over all items, labelled or not.
            f_effect, n = _influence(f, np.ones(len(f), dtype=bool), ids), int(known.sum())
            grader_variance = float((f_effect**2).sum()) * len(f) * (1 / n + 1 / (len(f) - n))
            weight = float(np.clip((y_effect @ gain) / grader_variance, 0.0, 1.0)) if grader_variance > 0 else 0.0
            variance = (
                float(((y_effect - weight * gain) ** 2).sum()) * (labelled - 1) / max(labelled - 1 - (weight > 0), 1)
            )
            estimate = by_labels + weight * float(f[~known].mean() - f[known].mean())
        variance += of_people
        low, high = _limits(estimate, variance, clusters_or_people, level)
    labels_low, labels_high = _limits(by_labels, label_variance, clusters_or_people, level)
    return PredictionPowered(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        error=float(np.sqrt(variance)),
        weight=weight,
        labels=int(known.sum()),
        items=len(f),
        worth=float(known.sum() * label_variance / variance) if variance > 0 else float(known.sum()),
        by_labels=by_labels,
        by_labels_low=labels_low,
        by_labels_high=labels_high,
    )


STRATA = 3
"""Most values of a grader that divides the items into strata."""


def _in_strata(
    f: FloatArray, y: FloatArray, ids: IntArray, *, df: int, of_people: float, level: float
) -> tuple[float, float, float, Interval]:
    """Return the stratified rate, its variance, the weight of the grader `f` and the limits; `y`: labels, or nan."""
    rated, (values, stratum) = ~np.isnan(y), np.unique(f, return_inverse=True)
    n = np.bincount(stratum[rated], minlength=stratum.max() + 1).astype(float)
    shares = np.bincount(stratum) / len(stratum)
    # Of a stratum without a label nothing is known: its rate lies anywhere, and counts as a half.
    means = np.where(n > 0, np.bincount(stratum[rated], weights=y[rated], minlength=len(n)) / np.maximum(n, 1), 0.5)
    estimate = float(shares @ means)
    error = np.where(rated, np.nan_to_num(y) - means[stratum], 0.0) * (shares / np.maximum(n, 1))[stratum]
    share_influence = (means[stratum] - estimate) / len(stratum)
    clusters = len(np.unique(ids[rated]))
    label_error = float((np.bincount(ids, weights=error) ** 2).sum()) * clusters / max(clusters - 1, 1)
    share_variance = float((np.bincount(ids, weights=share_influence) ** 2).sum())
    label_variance = float((shares**2 * means * (1 - means) / np.maximum(n, 1)).sum())
    # Where every stratum's labels are alike, nothing says that the items of a cluster differ: each cluster counts once.
    whole_clusters = np.array([len(np.unique(ids[rated & (stratum == s)])) for s in range(len(n))])
    size = n * label_variance / label_error if label_error > 0 and label_variance > 0 else whole_clusters.astype(float)
    t = float(stdtrit(df, (1 + level) / 2))
    size *= (float(ndtri((1 + level) / 2)) / t) ** 2
    low, high = (
        betaincinv(size * means + 0.5, size * (1 - means) + 0.5, end) for end in ((1 - level) / 2, (1 + level) / 2)
    )
    low, high = np.where((means == 0) | (n == 0), 0.0, low), np.where((means == 1) | (n == 0), 1.0, high)
    extra = t**2 * (share_variance + of_people)
    below, above = (float(np.sqrt((shares**2 * reach**2).sum() + extra)) for reach in (means - low, high - means))
    slope = values - float(shares @ values)
    weight = float((shares * slope) @ means) / max(float((shares * slope) @ slope), 1e-300)
    limits = Interval(max(0.0, estimate - below), min(1.0, estimate + above))
    return estimate, label_error + share_variance + of_people, weight, limits


def labels_needed(half_width: float, *, rate: float, correlation: float, items: int) -> tuple[int, int]:
    r"""Return how many of `items` people must label for a half width of the 95 % interval: with a grader, and without one.

    .. math:: v = \frac{\sigma^2}{n}\left(1 - \rho^2 \frac{N - n}{N}\right), \qquad \sigma^2 = p (1 - p)

    `rate`: *p*, about what the rate is; for labels that are shares of several people's votes this is cautious.
    `correlation`: :math:`\rho` of the grader's value with a label.

    Raises StatisticsError: a number out of its range, or more labels needed than there are items.
    """
    p, h = checked_share(rate, "rate"), checked_share(half_width, "half_width")
    total = checked_integer(items, "items", minimum=2)
    if not 0 <= abs(correlation) < 1:
        raise StatisticsError(f"correlation must lie strictly between -1 and 1, not {correlation!r}")
    z = -float(ndtri(0.025))
    without_grader = p * (1 - p) * min(z / h, 1e150) ** 2
    share = correlation**2
    # n = a (1 - r (N - n) / N), solved for n.
    with_grader = (
        without_grader * (1 - share) / (1 - without_grader * share / total)
        if without_grader * share < total
        else float("inf")
    )
    if with_grader > total:
        raise StatisticsError(
            f"{count_of(total, 'item is')} too few for a half width of {h:g}, even if people label all"
        )
    return max(2, int(np.ceil(with_grader - 1e-9))), int(np.ceil(without_grader - 1e-9))


def _influence(values: FloatArray, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]], ids: IntArray) -> FloatArray:
    r"""Return the influence of each cluster on the mean over `chosen`, times :math:`\sqrt{G/(G-1)}`."""
    n = max(1, int(chosen.sum()))
    deviation = np.where(chosen, values - values[chosen].mean(), 0.0) / n
    groups = len(np.unique(ids[chosen]))
    influence: FloatArray = np.bincount(ids, weights=deviation) * np.sqrt(groups / max(groups - 1, 1))
    return influence


def _limits(share: float, variance: float, clusters: int, level: float) -> Interval:
    """Return the score interval of a share at its effective number of units."""
    p = min(max(share, 0.0), 1.0)
    size = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(clusters)
    limits = score_limits(p, size, level=level, df=clusters - 1)
    return Interval(max(0.0, float(limits.low)), min(1.0, float(limits.high)))
