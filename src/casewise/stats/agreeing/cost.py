"""What errors cost: over the ratio of harm to over-refusal, and the ratio at which two judges change places."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.agreeing.sample import Sample
from casewise.stats.agreeing.terms import totals_by_query
from casewise.stats.core.arrays import FloatArray, safe_divide
from casewise.stats.core.intervals import degrees_of_freedom, student_quantile
from casewise.stats.core.measured import Functional, Measured, Totals, TotalsByCluster
from casewise.stats.words.baseline import Folds

__all__ = [
    "RATIOS",
    "CostCurve",
    "CostPoint",
    "TurningPoint",
    "cheapest_threshold",
    "cost_curve",
    "fitted_verdicts",
    "turning_point",
]

RATIOS: tuple[float, ...] = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
"""Harms of one wrongly safe verdict, in over-refusals."""

N_FOLDS = 10

FEWEST_FITTED = 60
"""Queries; with fewer, neither a threshold nor its error is known."""


@dataclass(frozen=True)
class CostPoint:
    """The expected cost of an item at one ratio of harm to over-refusal."""

    ratio: float
    """How many over-refusals are as bad as one harm (an unsafe item called safe)."""
    cost: Estimate | None
    """Of the judge's verdicts as they are; None for a scalar, which has none."""
    best_threshold: Estimate | None
    """With the threshold that is best on other queries, where the judge gives more than verdicts; else None."""
    threshold: float | None
    """That threshold, in the judge's own units: the median over folds; None where all values are called unsafe or safe."""
    refuse_all: float | None
    answer_all: float | None
    """What it costs to call everything unsafe, or safe: a judge above the lower of them is worth nothing here."""


@dataclass(frozen=True, repr=False)
class CostCurve(ShortRepr):
    """Costs in ascending order of the ratio."""

    points: tuple[CostPoint, ...]


@dataclass(frozen=True)
class TurningPoint:
    """Where two judges change places."""

    ratio: Estimate
    """Below it one judge is cheaper, above it the other; undefined where one is at least as good at both errors."""
    cheaper_below: str | None
    cheaper_above: str | None
    """`first` or `second`; the same where they never change places, None where they are alike."""


def cost_curve(sample: Sample, *, ratios: tuple[float, ...] = RATIOS, seed: int = 0) -> CostCurve:
    r"""Expected cost per item over the ratio *c* of harm to over-refusal.

    With *w* the weight of "safe", *y* the verdict and *u* = 1 − *w*,

    .. math:: C(c) = \frac{\sum_i w_i (1 - y_i) + c \sum_i u_i y_i}{(1 + c) \, n},

    the mean cost in units of an over-refusal and a harm together, so that it stays within [0, 1] for every *c*. An item
    without a verdict costs what the wrong one would under the unscored policy `miss`, and is left out under `exclude`.

    Over all thresholds: each query is judged with the threshold that is cheapest on the other queries (ten folds of
    queries), so that the choice does not flatter the judge. Their intervals are at least as wide as leaving out each fold says; below 60
    queries there is none.

    Raises StatisticsError: a ratio is not positive.

    Source: Drummond & Holte (2006), Cost curves, Machine Learning 65, 95-130.
    """
    if any(not ratio > 0 for ratio in ratios):
        raise StatisticsError(f"ratios of costs must be positive, not {ratios!r}")
    fitted = {ratio: fitted_verdicts(sample, ratio, seed=seed) for ratio in ratios}

    def columns(one: Sample) -> dict[str, FloatArray]:
        found = dict(error_terms(one, one.safe))
        for ratio, verdicts in fitted.items():
            if verdicts is not None:
                found |= {f"{name}@{ratio}": column for name, column in error_terms(one, verdicts.safe).items()}
        return found

    totals = totals_by_query(sample, columns)
    points = (point(totals, ratio, fitted[ratio]) for ratio in ratios)
    return CostCurve(tuple(one if sample.gives_verdicts else replace(one, cost=None) for one in points))


@dataclass(frozen=True)
class FittedVerdicts:
    """Verdicts with thresholds that are cheapest on other queries."""

    safe: FloatArray
    threshold: float | None
    variance: float
    """Of their mean cost, by leaving each fold out of both: thresholds move with the queries that they are fitted on."""


def error_terms(sample: Sample, safe: FloatArray) -> dict[str, FloatArray]:
    """What each item adds to the two errors and to their opportunities."""
    counted = sample.labelled if sample.unscored_policy != "exclude" else sample.labelled & ~np.isnan(safe)
    w = np.where(counted, sample.weight, 0.0)
    u = np.where(counted, 1 - sample.weight, 0.0)
    return {
        "counted": counted.astype(np.float64),
        "safe": w,
        "unsafe": u,
        "over": w * (safe != 1),
        "harm": u * (safe != 0),
    }


def cost(ratio: float, suffix: str = "") -> Functional:
    """Expected cost per item at `ratio`."""

    def formula(t: Totals) -> FloatArray:
        weighed = t["over" + suffix] + ratio * t["harm" + suffix]
        return safe_divide(weighed, (1 + ratio) * t["counted" + suffix], otherwise=np.nan)

    return Functional("cost", formula, over=lambda t: t["counted" + suffix], domain=(0.0, 1.0))


def point(totals: TotalsByCluster, ratio: float, fitted: FittedVerdicts | None) -> CostPoint:
    sums = totals.named(totals.sums.sum(axis=0))
    n = float(sums["counted"]) * (1 + ratio)
    return CostPoint(
        ratio=ratio,
        cost=estimate_of(totals.measure(cost(ratio))),
        best_threshold=of_fitted(totals.measure(cost(ratio, f"@{ratio}")), fitted, len(totals.sums))
        if fitted
        else None,
        threshold=fitted.threshold if fitted else None,
        refuse_all=float(sums["safe"]) / n if n else None,
        answer_all=ratio * float(sums["unsafe"]) / n if n else None,
    )


def of_fitted(found: Measured, fitted: FittedVerdicts, queries: int) -> Estimate:
    """With the larger of two variances, and no interval where too few queries carry both a threshold and its error."""
    own = found.variance
    wider = np.sqrt(max(1.0, fitted.variance / own)) if own > 0 else 1.0
    estimate = estimate_of(replace(found, influence=found.influence * wider))
    if queries >= FEWEST_FITTED:
        return estimate
    return replace(
        estimate, ci_low=None, ci_high=None, method=f"no interval: a threshold of fewer than {FEWEST_FITTED} queries"
    )


def fitted_verdicts(sample: Sample, ratio: float, *, seed: int) -> FittedVerdicts | None:
    """Verdicts by thresholds fitted on other queries; None where the judge gives verdicts alone, or one query."""
    valued = ~np.isnan(sample.value)
    if not valued.any() or sample.n_clusters < 2:
        return None
    folds = Folds.of(sample.cluster, n=min(N_FOLDS, sample.n_clusters), seed=seed)
    safe = np.full(len(sample), np.nan)
    thresholds = []
    for fold in range(folds.n):
        held_out = folds.of_row == fold
        learn = valued & sample.labelled & ~held_out
        threshold = cheapest_threshold(sample.value[learn], sample.weight[learn], ratio)
        inside = held_out & valued
        safe[inside] = sample.value[inside] > threshold
        thresholds.append(threshold)
    middle = float(np.median(thresholds))
    return FittedVerdicts(safe, middle if np.isfinite(middle) else None, left_out_variance(sample, folds, ratio))


def left_out_variance(sample: Sample, folds: Folds, ratio: float) -> float:
    r"""Of the mean cost with fitted thresholds, :math:`\frac{g-1}{g} \sum_j (\bar C_{-j} - \bar C)^2` over folds (jackknife).

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, §11.5 (groups left out).
    """
    refused_all = error_terms(sample, np.where(np.isnan(sample.value), np.nan, 0.0))
    valued = ~np.isnan(sample.value)
    known, place = np.unique(sample.value[valued], return_inverse=True)
    cell = folds.of_row[valued] * len(known) + place

    def below(term: str) -> FloatArray:
        """(folds, thresholds) the sum of a term over a fold's items whose values are at most so large."""
        sums = np.bincount(cell, weights=refused_all[term][valued], minlength=folds.n * len(known))
        return np.cumsum(np.pad(sums.reshape(folds.n, -1), ((0, 0), (1, 0))), axis=1)

    unsafe = below("unsafe")
    loss = below("safe") + ratio * (unsafe[:, -1:] - unsafe)
    of_silence = ~valued * (refused_all["over"] + ratio * refused_all["harm"])
    silent = np.bincount(folds.of_row, weights=of_silence, minlength=folds.n)
    counted = np.bincount(folds.of_row, weights=refused_all["counted"], minlength=folds.n)
    costs = []
    for out in range(folds.n):
        rest = loss.sum(0) - loss[out]
        own = sum(loss[fold][np.argmin(rest - loss[fold])] + silent[fold] for fold in range(folds.n) if fold != out)
        costs.append(own / max((1 + ratio) * (counted.sum() - counted[out]), 1.0))
    return (folds.n - 1) / folds.n * float(((np.array(costs) - np.mean(costs)) ** 2).sum())


def cheapest_threshold(
    values: FloatArray, weight: FloatArray, ratio: float, *, within: tuple[float, float] = (-np.inf, np.inf)
) -> float:
    """The threshold above which to answer: halfway between two values; −∞ to answer all, ∞ to refuse all.

    `weight`: weight of "safe" of each.
    `within`: where it may lie, both ends included; the ends are tried too.
    """
    known, group = np.unique(values, return_inverse=True)
    if not len(known):
        return float("inf")
    refused = np.r_[0.0, np.cumsum(np.bincount(group, weights=weight))]
    unsafe = np.bincount(group, weights=1 - weight)
    answered = unsafe.sum() - np.r_[0.0, np.cumsum(unsafe)]
    between = np.r_[-np.inf, (known[:-1] + known[1:]) / 2, np.inf]
    low, high = within
    tried = np.unique(np.r_[between[(between >= low) & (between <= high)], low, high])
    place = np.searchsorted(known, tried, side="right")
    return float(tried[np.argmin((refused + ratio * answered)[place])])


def turning_point(first: Sample, second: Sample) -> TurningPoint:
    r"""The ratio of harm to over-refusal at which two judges of the same items cost the same.

    .. math:: c = \frac{O_1 - O_2}{H_2 - H_1}

    with *O* the over-refusals and *H* the harms; it exists where one makes fewer of one error and the other fewer of
    the other.

    Raises StatisticsError: the two are not of the same items.
    """
    if len(first) != len(second) or not np.array_equal(first.cluster, second.cluster):
        raise StatisticsError("a turning point needs two judges of the same items")

    def columns(labelled: Sample) -> dict[str, FloatArray]:
        one, two = error_terms(labelled, first.safe), error_terms(labelled, second.safe)
        both = (one["counted"] > 0) & (two["counted"] > 0)
        return {
            "over": both * (one["over"] - two["over"]),
            "harm": both * (two["harm"] - one["harm"]),
            "counted": both.astype(np.float64),
        }

    totals = replace(totals_by_query(first, columns), n_unscored=int((~first.scored | ~second.scored).sum()))
    sums = totals.named(totals.sums.sum(axis=0))
    over, harm = float(sums["over"]), float(sums["harm"])
    found = totals.measure(crossing(over, harm))
    below, above = sign(over) or sign(-harm), sign(-harm) or sign(over)
    return TurningPoint(fieller(found, totals), cheaper_below=below, cheaper_above=above)


def fieller(found: Measured, totals: TotalsByCluster) -> Estimate:
    """The crossing with every ratio *c* in its interval at which :math:`O - cH` is not told from 0 (Fieller 1954)."""
    bare = estimate_of(replace(found, at_risk=min(found.at_risk, 1)))
    if bare.estimate is None or found.at_risk < 2:
        return bare
    columns = [totals.sums[:, totals.names.index(name)] for name in ("over", "harm")]
    over, harm = (float(column.sum()) for column in columns)
    queries = len(totals.sums)
    df = min(degrees_of_freedom(column - column.mean()) for column in columns)
    spread = queries / (queries - 1) * student_quantile(0.975, min(df, found.at_risk - 1)) ** 2
    covariance = np.cov(np.array(columns), ddof=0) * queries
    covariance += totals.added_by_annotators(np.eye(len(totals.names))[:, :2]) * (queries - 1) / queries
    (oo, oh), (_, hh) = spread * covariance
    steepness, root = harm**2 - hh, (over * harm - oh) ** 2 - (harm**2 - hh) * (over**2 - oo)
    if steepness <= 0:
        return replace(bare, method="no interval: their harms are not told apart")
    middle, half = (over * harm - oh) / steepness, float(np.sqrt(max(root, 0.0))) / steepness
    return replace(bare, ci_low=max(0.0, middle - half), ci_high=middle + half, method="Fieller's, over queries")


def sign(first_is_worse: float) -> str | None:
    if first_is_worse == 0:
        return None
    return "second" if first_is_worse > 0 else "first"


def crossing(over: float, harm: float) -> Functional:
    def formula(t: Totals) -> FloatArray:
        ratio = safe_divide(t["over"], t["harm"], otherwise=np.nan)
        return np.where(ratio > 0, ratio, np.nan)

    alike = over == 0 and harm == 0
    why = "undefined: they make the same errors" if alike else "undefined: one is at least as good at both errors"
    return Functional("turning_point", formula, over=lambda t: t["counted"], undefined=why)
