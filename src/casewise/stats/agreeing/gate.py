"""Has a judge become worse than it was, by more than is allowed? Pass, fail, or: these items cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import measure
from casewise.stats.agreeing.metrics import METRICS, REFUSALS, Metric
from casewise.stats.agreeing.sample import Sample
from casewise.stats.agreeing.terms import term_columns
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.bootstrap import Resampling
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.measured import Measured, TotalsByCluster, share
from casewise.stats.core.share_intervals import korn_graubard

__all__ = ["GATED", "Decision", "Gate", "MetricGate", "gate"]

Decision = Literal["pass", "fail", "inconclusive"]

LEVEL = 0.95
"""One-sided, of the bounds."""

POWER = 0.8
"""Of the drop that could have been detected."""

FEW_DISCORDANT = 30
"""With fewer queries on which the two differ, a bootstrap of the difference is too narrow."""

GATED: dict[str, Metric] = {metric.name: metric for metric in (*METRICS, *REFUSALS)}
"""Metrics that can be gated, by name."""


@dataclass(frozen=True)
class MetricGate:
    """One metric: how much worse the run is than the baseline, and whether that is too much.

    Attributes
    ----------
    drop
        By how much the run is worse, whichever way is good; below zero where it is better.
    low, high
        One-sided 95 % bounds of the drop; `low` is corrected for the number of metrics (Bonferroni), `high` needs no
        correction, because a pass needs every one of them.
    margin
        The largest drop allowed.
    detectable
        The drop that would be told from none in four of five such tests.
    """

    name: str
    baseline: float
    run: float
    drop: float
    low: float
    high: float
    margin: float
    detectable: float
    n: float
    method: str

    @property
    def decision(self) -> Decision:
        """Fail where the lower bound is over the margin, pass where the upper one is under it."""
        if self.low > self.margin:
            return "fail"
        return "pass" if self.high < self.margin else "inconclusive"


@dataclass(frozen=True)
class Gate:
    """All metrics together: fail where one fails, pass where all pass, else inconclusive."""

    metrics: tuple[MetricGate, ...]
    n_items: int
    n_queries: int

    @property
    def decision(self) -> Decision:
        decisions = {metric.decision for metric in self.metrics}
        if "fail" in decisions:
            return "fail"
        return "pass" if decisions == {"pass"} else "inconclusive"


def gate(baseline: Sample, run: Sample, *, margins: Mapping[str, float], resampling: Resampling = Resampling()) -> Gate:
    r"""Hold a run against a baseline on the same items, paired and clustered by query.

    The drop *d* is baseline less run (run less baseline where lower is better). Both bounds come from the same
    resamples of queries for both; where the two differ on fewer than 30 queries, those of a share are instead

    .. math:: d_{high} = U(l) - L(g), \qquad d_{low} = L(l) - U(g)

    with *l* and *g* the shares lost and gained and *U*, *L* their Korn-Graubard bounds at half the error each: then
    two judges that differ nowhere are not taken for equal beyond what so many items can show.

    Parameters
    ----------
    baseline, run : Sample
        Over the same items in the same order.
    margins
        Metric name to the largest drop allowed, at least 0.

    Raises
    ------
    StatisticsError
        No metric is named, one is unknown or undefined here, a margin is negative, or the samples do not fit.
    """
    check(baseline, run, margins)
    found = []
    for name, margin in margins.items():
        before, after = measured(baseline, name, resampling), measured(run, name, resampling)
        found.append(one(name, margin, before, after, Pair(baseline, run), len(margins)))
    return Gate(tuple(found), n_items=len(run), n_queries=run.n_clusters)


def check(baseline: Sample, run: Sample, margins: Mapping[str, float]) -> None:
    if len(baseline) != len(run) or not np.array_equal(baseline.weight, run.weight, equal_nan=True):
        raise StatisticsError("the gate holds two runs against each other on the same items and labels")
    if not margins:
        raise StatisticsError("the gate needs a metric and the largest drop allowed, such as accuracy=0.01")
    for name, margin in margins.items():
        if name not in GATED:
            raise StatisticsError(f"no metric is called {name!r}; there are {', '.join(GATED)}")
        if not 0 <= margin < np.inf:
            raise StatisticsError(f"the largest drop of {name} is {margin!r}; it must be at least 0")
    if run.n_clusters < 2:
        raise StatisticsError("the gate needs at least two queries: its bounds are over queries")


def measured(sample: Sample, name: str, resampling: Resampling) -> Measured:
    """The metric called `name`, with its resampled values.

    Raises
    ------
    StatisticsError
        It is undefined on this sample.
    """
    found = measure(sample, metrics=[GATED[name]], resampling=resampling)
    if not found:
        raise StatisticsError(f"{name} cannot be gated: this elicitation gives no values for it")
    if np.isnan(found[0].value):
        raise StatisticsError(f"{name} cannot be gated: {found[0].undefined}")
    return found[0]


def totals_of(sample: Sample, terms: Mapping[str, FloatArray], resampling: Resampling) -> TotalsByCluster:
    return TotalsByCluster.of(terms, sample.cluster, n_clusters=sample.n_clusters, resampling=resampling)


@dataclass(frozen=True)
class Pair:
    """Two samples over the same items."""

    baseline: Sample
    run: Sample


def one(name: str, margin: float, before: Measured, after: Measured, pair: Pair, n_metrics: int) -> MetricGate:
    metric = GATED[name]
    sign = 1.0 if metric.better == "higher" else -1.0
    error = 1 - LEVEL
    spread = float(np.sqrt(cluster_variance(sign * (before.influence - after.influence))))
    bounds, method = None, ""
    if metric.part:
        bounds, spread_of_shares = share_bounds(metric, pair, error, n_metrics)
        method = "Korn-Graubard bounds of shares lost and gained"
        spread = max(spread, spread_of_shares)
    if bounds is None:
        bounds, method = resampled_bounds(sign, before, after, spread, error / n_metrics)
    return MetricGate(
        name=name,
        baseline=before.value,
        run=after.value,
        drop=sign * (before.value - after.value),
        low=bounds[0],
        high=bounds[1],
        margin=margin,
        detectable=float(-ndtri(error / n_metrics) + ndtri(POWER)) * spread,
        n=after.n,
        method=method,
    )


def resampled_bounds(
    sign: float, before: Measured, after: Measured, spread: float, error_low: float
) -> tuple[tuple[float, float], str]:
    """Bounds of the drop from the shared resamples, or the analytic ones where there are none."""
    drop = sign * (before.value - after.value)
    if before.resampled is None or after.resampled is None:
        half_low, half_high = -float(ndtri(error_low)) * spread, -float(ndtri(1 - LEVEL)) * spread
        return (drop - half_low, drop + half_high), "analytic cluster-robust"
    drawn = sign * (before.resampled - after.resampled)
    low, high = np.nanquantile(drawn, [error_low, LEVEL])
    return (float(low), float(high)), f"cluster bootstrap over queries, {len(drawn):,} resamples"


class GoodPart(NamedTuple):
    """What each item adds to the good side of a share, and what the share is of."""

    good: FloatArray
    of: FloatArray


def good_part(metric: Metric, sample: Sample) -> GoodPart:
    terms = term_columns(sample)
    part, whole = np.sum([terms[name] for name in metric.part], axis=0), terms[metric.whole]
    return GoodPart(part if metric.better == "higher" else whole - part, whole)


def share_bounds(metric: Metric, pair: Pair, error: float, n_metrics: int) -> tuple[tuple[float, float] | None, float]:
    """Bounds from shares lost and gained where few queries differ, else None; and the least spread to reckon with."""
    (before, of), (after, of_run) = (good_part(metric, sample) for sample in (pair.baseline, pair.run))
    if not np.array_equal(of, of_run):
        return None, 0.0
    lost, gained = np.maximum(before - after, 0), np.maximum(after - before, 0)
    least_spread = 1 / of.sum()
    if len(np.unique(pair.run.cluster[lost + gained > 0])) >= FEW_DISCORDANT:
        return None, least_spread
    totals = totals_of(pair.run, {"lost": lost, "gained": gained, "of": of}, Resampling(n_resamples=1))
    up, down = (bounds_of(totals, term, error / 2) for term in ("lost", "gained"))
    up_low, down_low = (bounds_of(totals, term, error / n_metrics / 2) for term in ("lost", "gained"))
    return (up_low[0] - down_low[1], up[1] - down[0]), least_spread


def bounds_of(totals: TotalsByCluster, term: str, error: float) -> tuple[float, float]:
    """One-sided Korn-Graubard bounds, each with this error."""
    found = totals.measure(share(term, term, "of"))
    limits = korn_graubard(
        found.value, found.variance, n=max(found.n, 2), clusters=max(found.at_risk, 2), level=1 - 2 * error
    )
    return float(limits.low), float(limits.high)
