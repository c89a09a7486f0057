r"""A rate among people from labels on a few items and a grader on all of them (prediction-powered inference).

With labels :math:`Y_i` on *n* items, and a grader's :math:`f_i` on these and on *N* more from the same population,

.. math:: \hat\theta_\lambda = \bar Y_n + \lambda (\bar f_N - \bar f_n)

is right on average whatever the grader is worth, because its errors are measured where there are labels; a useless one gets
a weight :math:`\lambda` near 0 and leaves the labels' own mean. The labelled items must be drawn at random, whole clusters
at a time where items go together.

Sources: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382, 669-674.
Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453, §6 (power tuning).
Reference implementation: `ppi_py.ppi_mean_pointestimate` (tests/reference/prediction_powered.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

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
    """:math:`\\lambda`, how much the grader counts: 0 not at all, 1 like a label where its errors are known."""
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

    Returns PredictionPowered: the interval is the score interval at the effective sample size :math:`p(1-p)/v`, with
    Student's *t* on one less than the labelled clusters: 93 to 97 % at 50, 100 and 300 labels (docs/statistics.md). The
    variance is cluster-robust, the weight the one that makes it least, kept within [0, 1].

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
    gain = _influence(f, has, ids) - (_influence(f, ~has, ids) if not has.all() else 0.0)
    weight = 0.0 if has.all() else _weight(own, gain, f, ids, int(has.sum()))
    apart = 0.0 if has.all() else float(f[~has].mean() - f[has].mean())
    people, by_people = (labelled, 0.0) if raters is None else _people(y, raters)
    alone = float(((own) ** 2).sum()) + by_people
    variance = (
        float(((own - weight * gain) ** 2).sum()) * (labelled - 1) / max(labelled - 1 - (weight > 0), 1) + by_people
    )
    labelled = max(2, min(labelled, people))
    by_labels = float(y[has].mean())
    estimate = by_labels + weight * apart
    low, high = _limits(estimate, variance, labelled, level)
    bare_low, bare_high = _limits(by_labels, alone, labelled, level)
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
    alone = p * (1 - p) * (z / h) ** 2
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
    found: FloatArray = np.bincount(ids, weights=deviation) * np.sqrt(groups / max(groups - 1, 1))
    return found


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
