"""Estimates with their intervals: which interval, and when there is none, why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from casewise.stats.agreeing.metrics import METRICS, Metric, totals_of
from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.bootstrap import Resampling, percentile_interval
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.measured import ANALYTIC_FROM, Measured

__all__ = [
    "ANALYTIC_FROM",
    "Estimate",
    "Resampling",
    "difference_of",
    "estimate",
    "estimate_of",
    "measure",
    "named",
]

FEW_CLUSTERS = 30
"""With fewer clusters a bootstrap of a proportion is too narrow."""

FEW_EVENTS = 10
"""With fewer items of one outcome, too: a resample often has none of them."""

ONE_QUERY = "no interval: one query only"


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, how many items it is over, and how it was made.

    `estimate` is None where the metric is undefined, and `ci_low` and `ci_high` where there is no interval; `method`
    then says why.
    """

    name: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    n: float
    n_unscored: int
    method: str

    @property
    def beyond_chance(self) -> bool:
        """Of a difference: its interval holds no 0."""
        return self.ci_low is not None and self.ci_high is not None and not self.ci_low <= 0 <= self.ci_high


def estimate(
    sample: Sample, *, metrics: Sequence[Metric] = METRICS, resampling: Resampling = Resampling()
) -> tuple[Estimate, ...]:
    """Every metric of `metrics` that `sample` can give, each with an interval over queries (see `estimate_of`).

    A metric that the elicitation cannot give is absent.
    """
    return tuple(estimate_of(found, resampling) for found in measure(sample, metrics=metrics, resampling=resampling))


def measure(
    sample: Sample, *, metrics: Sequence[Metric] = METRICS, resampling: Resampling = Resampling()
) -> tuple[Measured, ...]:
    """Every metric of `metrics` that `sample` can give, with what intervals and differences need."""
    if not len(sample):
        return ()
    totals = totals_of(sample, resampling)
    return tuple(metric.measure(sample, totals, resampling) for metric in metrics if metric.given_by(sample))


def estimate_of(found: Measured, how: Resampling = Resampling()) -> Estimate:
    """A measured number with its interval over clusters.

    Proportions at 0 or 1, with fewer than 10 items of one outcome, or with fewer than 30 clusters, get a Korn-Graubard
    interval; other means with fewer than 30 clusters Student's *t* with the cluster-robust error; above 20,000 clusters
    all get the analytic cluster-robust one; the rest a percentile bootstrap over clusters.
    """
    if np.isnan(found.value):
        return Estimate(found.name, None, None, None, found.n, found.n_unscored, found.undefined)
    bare = Estimate(found.name, found.value, None, None, found.n, found.n_unscored, ONE_QUERY)
    if found.at_risk < 2:
        return bare
    if found.kind == "mean" and found.at_risk < FEW_CLUSTERS:
        return analytic(found.influence, bare, quantile=student_quantile(how, df=found.at_risk - 1))
    if found.kind == "share" and (
        found.at_risk < FEW_CLUSTERS or min(found.value, 1 - found.value) * found.n < FEW_EVENTS
    ):
        return korn_graubard_of(found, bare, how)
    if found.resampled is None:
        return analytic(found.influence, bare, quantile=normal_quantile(how))
    return bootstrapped(found.resampled, bare, how)


def difference_of(first: Measured, second: Measured, how: Resampling = Resampling()) -> Estimate:
    """`first` less `second`, measured on the same clusters with the same resamples, with its interval.

    With fewer than 30 clusters the interval is the analytic cluster-robust one with Student's *t* on *G* − 1 degrees of
    freedom; otherwise as in `estimate_of`.
    """
    value = first.value - second.value
    n, n_unscored = min(first.n, second.n), max(first.n_unscored, second.n_unscored)
    if np.isnan(value):
        why = first.undefined if np.isnan(first.value) else second.undefined
        return Estimate(first.name, None, None, None, n, n_unscored, why)
    bare = Estimate(first.name, value, None, None, n, n_unscored, ONE_QUERY)
    clusters = min(first.at_risk, second.at_risk)
    if clusters < 2:
        return bare
    influence = first.influence - second.influence
    if not (np.abs(influence) > 1e-12).any():
        return replace(bare, method="no interval: the two are alike on every query")
    if clusters < FEW_CLUSTERS:
        return analytic(influence, bare, quantile=student_quantile(how, df=clusters - 1))
    if first.resampled is None or second.resampled is None:
        return analytic(influence, bare, quantile=normal_quantile(how))
    return bootstrapped(first.resampled - second.resampled, bare, how)


def normal_quantile(how: Resampling) -> float:
    from scipy.special import ndtri  # 0.2 s that a bootstrap need not wait for

    return -float(ndtri((1 - how.level) / 2))


def student_quantile(how: Resampling, *, df: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + how.level) / 2))


def korn_graubard_of(found: Measured, bare: Estimate, how: Resampling) -> Estimate:
    from casewise.stats.core.share_intervals import korn_graubard

    share = min(max(found.value, 0.0), 1.0)
    limits = korn_graubard(share, found.variance, n=max(found.n, 2), clusters=found.at_risk, level=how.level)
    return replace(bare, ci_low=float(limits.low), ci_high=float(limits.high), method="Korn-Graubard")


def analytic(influence: FloatArray, bare: Estimate, *, quantile: float) -> Estimate:
    half = quantile * float(np.sqrt(cluster_variance(influence)))
    value = bare.estimate if bare.estimate is not None else float("nan")
    return replace(bare, ci_low=value - half, ci_high=value + half, method="analytic cluster-robust")


def bootstrapped(values: FloatArray, bare: Estimate, how: Resampling) -> Estimate:
    low, high = percentile_interval(values, level=how.level)
    if np.isnan(low):
        return replace(bare, method="no interval: undefined in a tenth of the resamples")
    if high - low < 1e-12:
        return replace(bare, method="no interval: the queries do not differ")
    method = f"cluster bootstrap over queries, {how.n_resamples:,} resamples, seed {how.seed}"
    return replace(bare, ci_low=low, ci_high=high, method=method)


def named(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """Estimates by name."""
    return {found.name: found for found in estimates}
