r"""A rate among people from labels on a few items and a grader on all of them (prediction-powered inference).

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

Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382, 669-674.
Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453, §6 (power tuning).
Zou & Donner (2008), Statistics in Medicine 27, 1693-1702 (an interval from the intervals of the parts). Brown, Cai &
DasGupta (2001), Statistical Science 16, 101-133 (Jeffreys).
Reference implementation: `ppi_py.ppi_mean_pointestimate` (tests/reference/prediction_powered.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    FloatArray,
    IntArray,
    Raters,
    annotators_variance,
    checked_share,
    clusters_of,
    of_one_length,
    vector,
    whole,
)


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
    """How many labels without a grader would give the same error."""
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
    """The mean label of a population, of which a grader has seen all these items and people have labelled some.

    `grader`: (items,) numbers; its value for every item, on any scale.
    `labels`: (items,) numbers in [0, 1]; a verdict, or the share of an item's people; nan where nobody labelled it.
    `clusters`: (items,) labels; items that go together, such as those of a query.
    `raters`: who gave the votes whose shares the labels are: the interval then holds what people differ by throughout.

    Returns PredictionPowered. For a grader of at most three values the interval is that of the strata, each at an effective
    number of labels: fewer where the items of a cluster go together. For other graders it is the score interval at the effective
    sample size :math:`p(1-p)/v`, with Student's *t* on one less than the labelled clusters; the variance is cluster-robust and
    the weight the one that makes it least, kept within [0, 1]. Both cover 93 % or more (docs/reference/coverage.md).

    Raises StatisticsError: a grader's value is missing, a label lies outside [0, 1], or fewer than two clusters have labels.
    """
    f, y = vector(grader, "grader"), _labels(labels)
    of_one_length(grader=f, labels=y)
    ids = clusters_of(clusters, len(f))
    checked_share(level, "level")
    has = ~np.isnan(y)
    labelled = len(np.unique(ids[has]))
    if labelled < 2:
        raise StatisticsError("a rate needs labels in two clusters at least")
    own = _influence(np.nan_to_num(y), has, ids)
    people, by_people = (labelled, 0.0) if raters is None else _people(y, raters)
    clusters_or_people = max(2, min(labelled, people))
    alone = float((own**2).sum()) + by_people
    by_labels = float(y[has].mean())
    values: FloatArray = np.unique(f)
    if len(values) <= STRATA and not has.all():
        corrected = _in_strata(
            y, np.searchsorted(values, f), ids, df=clusters_or_people - 1, by_people=by_people, level=level
        )
        estimate, variance, (low, high) = corrected.estimate, corrected.variance, corrected.limits
        slope = values - float(corrected.shares @ values)
        spread = corrected.shares * slope
        weight = float(spread @ corrected.means) / max(float(spread @ slope), 1e-300)
    else:
        estimate, variance, weight = _tuned(y, f, ids, own)
        variance += by_people
        low, high = _limits(estimate, variance, clusters_or_people, level)
    bare_low, bare_high = _limits(by_labels, alone, clusters_or_people, level)
    return PredictionPowered(
        estimate=estimate,
        ci_low=low,
        ci_high=high,
        error=float(np.sqrt(variance)),
        weight=weight,
        labels=int(has.sum()),
        items=len(f),
        worth=float(has.sum() * alone / variance) if variance > 0 else float(has.sum()),
        by_labels=by_labels,
        by_labels_low=bare_low,
        by_labels_high=bare_high,
    )


STRATA = 3
"""A grader of so many values, or fewer, divides the items into strata."""


def _tuned(y: FloatArray, f: FloatArray, ids: IntArray, own: FloatArray) -> tuple[float, float, float]:
    """The power-tuned estimate, its variance over clusters, and its weight."""
    has = ~np.isnan(y)
    by_labels, labelled = float(y[has].mean()), len(np.unique(ids[has]))
    if has.all():
        return by_labels, float((own**2).sum()), 0.0
    gain = _influence(f, has, ids) - _influence(f, ~has, ids)
    weight = _weight(own, gain, f, ids, int(has.sum()))
    variance = float(((own - weight * gain) ** 2).sum()) * (labelled - 1) / max(labelled - 1 - (weight > 0), 1)
    return by_labels + weight * float(f[~has].mean() - f[has].mean()), variance, weight


@dataclass(frozen=True)
class _Strata:
    shares: FloatArray
    means: FloatArray
    estimate: float
    variance: float
    limits: tuple[float, float]


def _in_strata(y: FloatArray, at: IntArray, ids: IntArray, *, df: int, by_people: float, level: float) -> _Strata:
    """The stratified rate with its interval; `at` is the stratum of each item, `y` its label or nan."""
    has = ~np.isnan(y)
    n = np.bincount(at[has], minlength=at.max() + 1).astype(float)
    shares = np.bincount(at) / len(at)
    # Of a stratum without a label nothing is known: its rate lies anywhere, and counts as a half.
    means = np.where(n > 0, np.bincount(at[has], weights=y[has], minlength=len(n)) / np.maximum(n, 1), 0.5)
    estimate = float(shares @ means)
    error = np.where(has, np.nan_to_num(y) - means[at], 0.0) * (shares / np.maximum(n, 1))[at]
    between = (means[at] - estimate) / len(at)
    clusters = len(np.unique(ids[has]))
    sampled = float((np.bincount(ids, weights=error) ** 2).sum()) * clusters / max(clusters - 1, 1)
    of_shares = float((np.bincount(ids, weights=between) ** 2).sum())
    alone = float((shares**2 * means * (1 - means) / np.maximum(n, 1)).sum())
    # Where every stratum's labels are alike, nothing says that the items of a cluster differ: each cluster counts once.
    whole_clusters = np.array([len(np.unique(ids[has & (at == s)])) for s in range(len(n))])
    size = n * alone / sampled if sampled > 0 and alone > 0 else whole_clusters.astype(float)
    t = float(stdtrit(df, (1 + level) / 2))
    size *= (float(ndtri((1 + level) / 2)) / t) ** 2
    low, high = (
        betaincinv(size * means + 0.5, size * (1 - means) + 0.5, end) for end in ((1 - level) / 2, (1 + level) / 2)
    )
    low, high = np.where(means == 0, 0.0, low), np.where(means == 1, 1.0, high)
    low, high = np.where(n == 0, 0.0, low), np.where(n == 0, 1.0, high)
    more = t**2 * (of_shares + by_people)
    ends = (
        max(0.0, estimate - float(np.sqrt((shares**2 * (means - low) ** 2).sum() + more))),
        min(1.0, estimate + float(np.sqrt((shares**2 * (high - means) ** 2).sum() + more))),
    )
    return _Strata(shares, means, estimate, sampled + of_shares + by_people, ends)


def labels_needed(half_width: float, *, rate: float, correlation: float, items: int) -> tuple[int, int]:
    r"""How many of `items` people must label for this half width of a 95 % interval: beside a grader, and without one.

    .. math:: v = \frac{\sigma^2}{n}\left(1 - \rho^2 \frac{N - n}{N}\right), \qquad \sigma^2 = p (1 - p)

    `rate`: *p*, about what the rate is; for labels that are shares of several people's votes this is cautious.
    `correlation`: :math:`\rho` of the grader's value with a label.

    Raises StatisticsError: a number out of its range, or more labels needed than there are items.
    """
    p, h = checked_share(rate, "rate"), checked_share(half_width, "half_width")
    total = whole(items, "items", least=2)
    if not 0 <= abs(correlation) < 1:
        raise StatisticsError(f"correlation must lie strictly between -1 and 1, not {correlation!r}")
    z = -float(ndtri(0.025))
    alone = p * (1 - p) * min(z / h, 1e150) ** 2
    share = correlation**2
    # n = a (1 - r (N - n) / N), solved for n.
    beside = alone * (1 - share) / (1 - alone * share / total) if alone * share < total else float("inf")
    if beside > total:
        raise StatisticsError(f"{total:,} items are too few for a half width of {h:g}, even if people label all")
    return max(2, int(np.ceil(beside - 1e-9))), int(np.ceil(alone - 1e-9))


def _labels(labels: ArrayLike) -> FloatArray:
    try:
        y = np.asarray(labels, dtype=float)
    except (TypeError, ValueError):
        raise StatisticsError("labels must be numbers in [0, 1], nan where there is none") from None
    if y.ndim != 1 or (~np.isnan(y) & ~((y >= 0) & (y <= 1))).any():
        raise StatisticsError("labels must be numbers in [0, 1], nan where there is none")
    return y


def _people(y: FloatArray, raters: Raters) -> tuple[int, float]:
    """How many people gave the labels, and what they add to the variance of their mean."""
    each = 1 / (np.maximum(np.bincount(raters.item, minlength=len(y)), 1) * (~np.isnan(y)).sum())
    share = np.nan_to_num(y)
    return len(np.unique(raters.annotator)), annotators_variance((1 - share) * each, -share * each, raters)


def _influence(values: FloatArray, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]], ids: IntArray) -> FloatArray:
    r"""What each cluster adds to the mean over `chosen`, times :math:`\sqrt{G/(G-1)}` of its clusters."""
    n = max(1, int(chosen.sum()))
    deviation = np.where(chosen, values - values[chosen].mean(), 0.0) / n
    groups = len(np.unique(ids[chosen]))
    influence: FloatArray = np.bincount(ids, weights=deviation) * np.sqrt(groups / max(groups - 1, 1))
    return influence


def _weight(own: FloatArray, gain: FloatArray, f: FloatArray, ids: IntArray, n: int) -> float:
    """The weight of least variance; the grader's own variance is taken over all items, labelled or not."""
    everything = _influence(f, np.ones(len(f), dtype=bool), ids)
    both = float((everything**2).sum()) * len(f) * (1 / n + 1 / (len(f) - n))
    return float(np.clip((own @ gain) / both, 0.0, 1.0)) if both > 0 else 0.0


def _limits(share: float, variance: float, clusters: int, level: float) -> tuple[float, float]:
    t = float(stdtrit(clusters - 1, (1 + level) / 2))
    p = min(max(share, 0.0), 1.0)
    size = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(clusters)
    centre, half = p + t**2 / (2 * size), t * np.sqrt(p * (1 - p) / size + t**2 / (4 * size**2))
    scale = 1 + t**2 / size
    return max(0.0, float((centre - half) / scale)), min(1.0, float((centre + half) / scale))
