"""Has a judge become worse than it was, by more than is allowed? Pass, fail, or: these items cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreeing.estimates import apart, measure
from casewise.stats.agreeing.metrics import METRICS, REFUSALS, Metric
from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.intervals import degrees_of_freedom, student_quantile
from casewise.stats.core.measured import Measured

__all__ = ["GATED", "Decision", "Gate", "MetricGate", "gate", "metric_gate"]

Decision = Literal["pass", "fail", "inconclusive"]

LEVEL = 0.95
"""One-sided, of the bounds."""

POWER = 0.8
"""Of the drop that could have been detected."""

GATED: dict[str, Metric] = {metric.name: metric for metric in (*METRICS, *REFUSALS)}
"""Metrics that can be gated, by name."""


@dataclass(frozen=True)
class MetricGate:
    """One metric: how much worse the run is than the baseline, and whether that is too much."""

    name: str
    baseline: float
    run: float
    drop: float
    """By how much the run is worse, whichever way is good; below zero where it is better."""
    low: float
    high: float
    """One-sided 95 % bounds of the drop; `low` is corrected for the number of metrics (Bonferroni), `high` needs no
    correction, because a pass needs every one of them."""
    margin: float
    """The largest drop allowed."""
    detectable: float
    """The drop that would be told from none in four of five such tests."""
    n: float
    method: str

    @property
    def decision(self) -> Decision:
        """Fail where the lower bound is over the margin, pass where the upper one is under it."""
        if self.low > self.margin:
            return "fail"
        return "pass" if self.high < self.margin else "inconclusive"


@dataclass(frozen=True, repr=False)
class Gate(ShortRepr):
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


def gate(baseline: Sample, run: Sample, *, margins: Mapping[str, float], n_tests: int | None = None) -> Gate:
    r"""Hold a run against a baseline on the same items, paired and clustered by query.

    The drop *d* is baseline less run (run less baseline where lower is better), and :math:`e_q` what query *q* adds to it (with what annotators add,
    where they are known).
    The bounds are

    .. math:: d_{low} = d - t_\nu \sqrt{\textstyle\sum_q e_q^2}, \qquad
              d_{high} = d + w + t_{\nu'} \sqrt{\textstyle\sum_q e_q^2 + w^2}

    with Student's *t* at the degrees of freedom that the queries' spread allows (`casewise.stats.core.intervals`) and *w*
    what one query more is worth that the baseline gets right and the run wrong (the root mean square over queries). So two
    runs that differ nowhere are not taken for equal beyond what so many queries can show: with 1 / *G* for *w* the upper
    bound of a share is within a few per cent of Clopper and Pearson's, for no query lost and for ten.

    `baseline`, `run`: over the same items in the same order.
    `margins`: metric name to the largest drop allowed, at least 0.
    `n_tests`: how many metrics are gated in all, where these are not all of them.

    Raises StatisticsError: no metric is named, one is unknown or undefined here, a margin is negative, or the samples
    do not fit.
    """
    check(baseline, run, margins)
    before, after = (measured(sample, tuple(margins)) for sample in (baseline, run))
    found = (metric_gate(margins[name], before[name], after[name], n_tests or len(margins)) for name in margins)
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


def measured(sample: Sample, names: Sequence[str]) -> dict[str, Measured]:
    """The metrics so called."""
    found = {one.name: one for one in measure(sample, metrics=[GATED[name] for name in names], losses=True)}
    for name in names:
        if name not in found:
            raise StatisticsError(f"{name} cannot be gated: this elicitation gives no values for it")
        if np.isnan(found[name].value):
            raise StatisticsError(f"{name} cannot be gated: {found[name].undefined}")
    return found


def metric_gate(margin: float, before: Measured, after: Measured, n_metrics: int) -> MetricGate:
    """The gate of one metric among so many."""
    sign = 1.0 if GATED[before.name].better == "higher" else -1.0
    drop = sign * (before.value - after.value)
    each = sign * apart(before, after)
    worst = one_query_lost(before, sign)
    error = 1 - LEVEL
    spread, wider = (float(np.sqrt(cluster_variance(own))) for own in (each, np.append(each, worst)))
    return MetricGate(
        name=before.name,
        baseline=before.value,
        run=after.value,
        drop=drop,
        low=drop - quantile(each, error / n_metrics, after.at_risk) * spread,
        high=drop + worst + quantile(np.append(each, worst), error, after.at_risk) * wider,
        margin=margin,
        detectable=float(-ndtri(error / n_metrics) + ndtri(POWER)) * max(spread, worst),
        n=after.n,
        method="Student's t over queries, with one query lost reckoned in",
    )


def quantile(influence: FloatArray, error: float, at_risk: int) -> float:
    return student_quantile(1 - error, max(1.0, min(degrees_of_freedom(influence), at_risk - 1)))


def one_query_lost(before: Measured, sign: float) -> float:
    """What a query that is judged wrongly takes from the metric: the root mean square over those where it takes any."""
    assert before.loss is not None, f"{before.name} does not say what a lost query takes"
    taken = -sign * before.loss
    taken = taken[taken > 1e-12]
    return float(np.sqrt((taken**2).mean())) if len(taken) else 1 / max(before.at_risk, 1)
