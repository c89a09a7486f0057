"""Comparisons of judges on the same items, and the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, cluster_variance, widen_influence
from casewise.stats.contrasts import sign_flips
from casewise.stats.costs import TurningPoint, turning_point
from casewise.stats.estimates import Estimate, difference_of, estimate_of, influence_of_difference, measure
from casewise.stats.intervals import LEVEL, adjust, degrees_of_freedom, shows_spread, student_quantile
from casewise.stats.measured import Measured
from casewise.stats.metrics import ON_SCALE, REFUSALS, Metric, all_metrics, is_share
from casewise.stats.pairs import PairIndex, measured_flips
from casewise.stats.sample import Sample

Decision = Literal["pass", "fail", "inconclusive"]

POWER = 0.8
"""Power at which a drop counts as detectable."""


@cache
def gate_metrics() -> dict[str, Metric]:
    """Return the metrics that a gate can hold, by name."""
    return {metric.name: metric for metric in (*all_metrics(), *REFUSALS, *ON_SCALE)}


class GatedMetric(NamedTuple):
    """A metric as a gate compares it: of replies, with the policy of partial answers."""

    name: str
    policy: str = ""
    """The policy, and the grader where there are several; empty for judges."""

    def __str__(self) -> str:
        return self.titled(self.name)

    def titled(self, title: str) -> str:
        """Return a title of the metric with the policy, as in `Harm (strict)`."""
        return f"{title} ({self.policy})" if self.policy else title

    @property
    def is_share(self) -> bool:
        """True if its values are shares, which are written in per cent."""
        return is_share(self.name)


@dataclass(frozen=True)
class MetricGate:
    """The gate of one metric: how much worse the run is than the baseline, and whether that is more than is allowed."""

    metric: GatedMetric
    baseline: float
    run: float
    drop: float
    """Amount by which the run is worse, whichever direction is good; negative if it is better."""
    low: float
    high: float
    """Bounds of the drop. `low` is the lower limit of the 95 % interval that a comparison of the two prints, corrected for the
    number of metrics (Bonferroni). `high` is a one-sided 95 % bound; it needs no correction, because a pass needs every one of
    them."""
    margin: float
    """The largest drop allowed."""
    detectable: float
    """The drop that such a test detects with 80 % power."""
    n: float
    method: str

    @property
    def decision(self) -> Decision:
        """Fail if the lower bound is above the margin, pass if the upper bound is below it, else inconclusive."""
        if self.low > self.margin:
            return "fail"
        return "pass" if self.high < self.margin else "inconclusive"


@dataclass(frozen=True, repr=False)
class Gate(ShortRepr):
    """The gates of all metrics, with their decision together."""

    metrics: tuple[MetricGate, ...]
    n_items: int
    n_queries: int

    @property
    def decision(self) -> Decision:
        """Fail if one metric fails, pass if all pass, else inconclusive."""
        decisions = {metric.decision for metric in self.metrics}
        if "fail" in decisions:
            return "fail"
        return "pass" if decisions == {"pass"} else "inconclusive"


def gate(baseline: Sample, run: Sample, *, margins: Mapping[str, float], n_tests: int | None = None) -> Gate:
    r"""Compare a run with a baseline on the same items, paired and clustered by query, and decide whether it has become worse.

    The drop *d* is baseline less run (run less baseline where lower is better). Its lower bound is that of `difference_of`, the
    interval that a comparison of the two runs prints, so that a gate fails only where a comparison tells the two apart. The upper
    bound is the larger of that interval's and

    .. math:: d + w + t_\nu \sqrt{\textstyle\sum_q e_q^2 + w^2}

    with :math:`e_q` what query *q* adds to the drop (with what annotators add, where they are known), Student's *t* at the degrees of
    freedom that the queries' spread allows (`casewise.stats.intervals`), and *w* what one query more is worth that the baseline
    gets right and the run wrong (the root mean square over queries). So two runs that differ nowhere are not taken for equal
    beyond what so many queries can show: with 1 / *G* for *w* the upper bound of a share is within a few per cent of Clopper and
    Pearson's, for no query lost and for ten. No bound is beyond the largest drop that the metric can have: 1 of a share.

    `baseline`, `run`: over the same items in the same order.
    `margins`: metric name to the largest drop allowed, at least 0.
    `n_tests`: how many metrics are gated in all, where these are not all of them.

    Raises StatisticsError: no metric is named, one is unknown or undefined here, a margin is negative, or the samples
    do not fit.
    """
    if len(baseline) != len(run) or not np.array_equal(baseline.weight, run.weight, equal_nan=True):
        raise StatisticsError("the gate compares two runs on the same items and labels")
    if not margins:
        raise StatisticsError("the gate needs a metric and the largest drop allowed, such as accuracy=0.01")
    for name, margin in margins.items():
        if name not in gate_metrics():
            raise StatisticsError(f"no metric is called {name!r}; there are {', '.join(gate_metrics())}")
        if not 0 <= margin < np.inf:
            raise StatisticsError(f"the largest drop of {name} is {margin!r}; it must be at least 0")
    if run.n_clusters < 2:
        raise StatisticsError("the gate needs at least two queries: its bounds are over queries")
    before, after = (measured_gate_metrics(sample, tuple(margins)) for sample in (baseline, run))
    gates = (metric_gate(margins[name], before[name], after[name], n_tests or len(margins)) for name in margins)
    return Gate(tuple(gates), n_items=len(run), n_queries=run.n_clusters)


def measured_gate_metrics(sample: Sample, names: Sequence[str]) -> dict[str, Measured]:
    """Return the named metrics of `sample` by name. Raises StatisticsError: one is undefined, or the elicitation does not give it."""
    by_name = {
        value.name: value for value in measure(sample, metrics=[gate_metrics()[name] for name in names], losses=True)
    }
    for name in names:
        if name not in by_name:
            raise StatisticsError(f"{name} cannot be gated: this elicitation gives no values for it")
        if np.isnan(by_name[name].value):
            raise StatisticsError(f"{name} cannot be gated: {by_name[name].undefined}")
    return by_name


def metric_gate(margin: float, before: Measured, after: Measured, n_metrics: int) -> MetricGate:
    """Return the gate of one of `n_metrics` metrics."""
    assert before.loss is not None, f"{before.name} does not say what a lost query takes"
    sign = 1.0 if gate_metrics()[before.name].better == "higher" else -1.0
    better, worse = (before, after) if sign > 0 else (after, before)
    drop = better.value - worse.value
    influence = sign * influence_of_difference(before, after)
    # What a query that is judged wrongly takes: the root mean square over those where it takes any.
    losses = -sign * before.loss
    losses = losses[losses > 1e-12]
    worst = float(np.sqrt((losses**2).mean())) if len(losses) else 1 / max(before.at_risk, 1)
    error = 1 - LEVEL

    largest = before.domain[1] - before.domain[0]  # no drop is larger, whatever Student's t says
    influence_with_loss = np.append(influence, worst)
    df = max(1.0, min(degrees_of_freedom(influence_with_loss), after.at_risk - 1))
    half_width = student_quantile(1 - error, df) * float(np.sqrt(cluster_variance(influence_with_loss)))
    low, high = (
        difference_of(better, worse, level=level).limits or (-largest, drop)
        for level in (1 - error / n_metrics, 1 - 2 * error)
    )
    return MetricGate(
        metric=GatedMetric(before.name),
        baseline=before.value,
        run=after.value,
        drop=drop,
        low=low[0],
        high=min(max(high[1], drop + worst + half_width), largest),
        margin=margin,
        detectable=min(
            float(-ndtri(error / 2 / n_metrics) + ndtri(POWER))
            * max(float(np.sqrt(cluster_variance(influence))), worst),
            largest,
        ),
        n=after.n,
        method="Student's t over queries, with one lost query counted",
    )


NO_PAIRS = PairIndex(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), 0)


@dataclass(frozen=True)
class Entrant:
    """One judge (or arm, or elicitation) in a comparison."""

    name: str
    sample: Sample
    """The judge's sample over all items of the benchmark, in their order."""
    asked: BoolArray
    """True for the items that this judge was asked about, with or without a verdict."""


class PairedTest(NamedTuple):
    """A test that two judges are right equally often: the exact one of `sign_flips`, over queries.

    Where a query has one item it is McNemar's. Of a judge that was asked several times, the right answers are counted. Items on
    which people are tied are left out.
    """

    only_first_right: int
    only_second_right: int
    n: int
    p_exact: float
    p_mid: float
    """The mid-p value, which is the one to report."""
    p_holm: float
    """`p_mid`, corrected for all pairs of judges (Holm 1979)."""
    testable: bool
    """False where no item tells the two apart: p is 1, and the pair does not count in the correction."""


@dataclass(frozen=True, repr=False)
class PairwiseComparison(ShortRepr):
    """Two judges on the same items: first less second.

    `test` and `turning_point` are None where one of the two gives values and no verdicts: there is nothing to test.
    """

    first: str
    second: str
    differences: tuple[Estimate, ...]
    """Differences, with 95 % intervals that hold together over all pairs of judges, metric by metric (`simultaneous_differences`)."""
    test: PairedTest | None
    turning_point: TurningPoint | None

    def difference(self, metric: str) -> Estimate | None:
        """Return the difference in one metric; None where not both have it."""
        return next((difference for difference in self.differences if difference.name == metric), None)


@dataclass(frozen=True, repr=False)
class Comparison(ShortRepr):
    """Judges side by side on the items that all of them were asked about."""

    names: tuple[str, ...]
    n_items: int
    n_queries: int
    common: BoolArray
    """Mask of the items that all judges were asked about."""
    left_out: dict[str, tuple[int, ...]]
    """Places of the items that one judge was asked about and another was not, for each judge."""
    estimates: dict[str, tuple[Estimate, ...]]
    """Metrics of each judge on the common items: with those of agreement its two errors where people agree
    (`over_refusal`, `harm`), and `right_flips` and `false_flips` where there are pairs."""
    pairs: tuple[PairwiseComparison, ...]
    winners: dict[str, Winner]
    """The best judge by each metric of agreement, by its place in `names`; none where fewer than two have it."""


BEST_BY = ("accuracy", "auroc", "spearman")
"""The metrics that say who agrees best with people: the first of them that all judges have."""


def compare_judges(entrants: Sequence[Entrant], *, pairs: PairIndex | None = None) -> Comparison:
    """Compare judges on the items that all were asked about.

    `pairs`: the pairs of the whole table, for what is counted by pairs.

    Raises StatisticsError: there are fewer than two judges, two have one name, or no item was asked of all.
    """
    names = tuple(entrant.name for entrant in entrants)
    if len(names) < 2:
        raise StatisticsError(f"a comparison needs two judges, not {len(names)}")
    if len(set(names)) < len(names):
        raise StatisticsError(f"two judges have one name: {', '.join(names)}")
    common = np.logical_and.reduce([entrant.asked for entrant in entrants])
    if not common.any():
        raise StatisticsError(f"there is nothing to compare: no item was asked of all of {', '.join(names)}")
    samples = {entrant.name: entrant.sample.where(common) for entrant in entrants}
    of_pairs = NO_PAIRS if pairs is None else pairs.where(common)
    measured = {
        name: (*measure(sample, metrics=tuple(gate_metrics().values())), *measured_flips(sample, of_pairs))
        for name, sample in samples.items()
    }
    decided = [(a, b) for a, b in combinations(names, 2) if samples[a].gives_verdicts and samples[b].gives_verdicts]
    paired = paired_tests([(samples[a], samples[b]) for a, b in decided])
    tests = dict(zip(decided, paired, strict=True))
    differences: dict[tuple[str, str], list[Estimate]] = {pair: [] for pair in combinations(names, 2)}
    by_metric: dict[str, dict[str, Measured]] = {}
    for name, values in measured.items():
        for value in values:
            by_metric.setdefault(value.name, {})[name] = value
    for values_by_judge in by_metric.values():
        judges = list(values_by_judge)
        for (j, k), difference in simultaneous_differences(list(values_by_judge.values())).items():
            differences[judges[j], judges[k]].append(difference)
    winners = {}
    for metric in BEST_BY:
        values = tuple(by_metric.get(metric, {}).values())
        if len(values) == len(names) and not np.isnan([value.value for value in values]).any():
            with suppress(StatisticsError):  # one query
                winners[metric] = winner(values)
    return Comparison(
        names=names,
        n_items=int(common.sum()),
        n_queries=next(iter(samples.values())).n_clusters,
        common=common,
        left_out={e.name: tuple(np.flatnonzero(e.asked & ~common).tolist()) for e in entrants},
        estimates={name: tuple(map(estimate_of, values)) for name, values in measured.items()},
        pairs=tuple(
            PairwiseComparison(
                a,
                b,
                tuple(apart_by),
                tests.get((a, b)),
                turning_point(samples[a], samples[b]) if (a, b) in tests else None,
            )
            for (a, b), apart_by in differences.items()
        ),
        winners=winners,
    )


def paired_tests(pairs: Sequence[tuple[Sample, Sample]]) -> tuple[PairedTest, ...]:
    """Return the exact test of each pair of judges of the same items, with Holm's correction over all of them."""
    tests = []
    for first, second in pairs:
        counted = first.in_label_metrics & second.in_label_metrics & np.isin(first.weight, (0, 1))
        # Answers are counted in whole numbers: each judge's as often as the other was asked.
        ahead = counted * (
            len(second.each_answer) * n_right_answers(first) - len(first.each_answer) * n_right_answers(second)
        )
        net = np.rint(np.bincount(first.cluster, weights=ahead, minlength=first.n_clusters)).astype(np.int64)
        only = int((ahead > 0).sum()), int((ahead < 0).sum())
        tests.append(PairedTest(*only, int(counted.sum()), *sign_flips(net), p_holm=1.0, testable=bool(net.any())))
    testable = np.array([test.testable for test in tests], dtype=bool)
    corrected = adjust([test.p_mid for test in tests], "holm", where=testable)
    return tuple(test._replace(p_holm=float(p)) for test, p in zip(tests, corrected, strict=True))


def n_right_answers(sample: Sample) -> IntArray:
    """Return the number of answers to each item that are its label."""
    n_right: IntArray = (np.atleast_2d(sample.verdicts) == sample.weight).sum(axis=0)
    return n_right


DRAWS = 20_000
"""Number of draws of a normal distribution for levels that hold together."""


def simultaneous_differences(judges: Sequence[Measured]) -> dict[tuple[int, int], Estimate]:
    r"""Return the difference of each two judges in one metric, with intervals that hold together.

    The intervals of all differences have one level :math:`1 - \alpha^*`, chosen so that normal :math:`z_{jk}` that are
    correlated as the differences' influences are have :math:`P(\max |z_{jk}| > z_{\alpha^*}) = 0.05` (the single-step
    max-T method). Each interval is that of `difference_of` at this level, with its own degrees of freedom. With probability
    0.95 all of them hold the true difference at once, so at most one comparison in twenty says of any two equal judges
    that one is better: those whose interval lies on one side of 0 are told apart. Two judges get the ordinary 95 %
    interval. Pairs that no query tells apart do not count.

    `judges`: the metric of each, measured on the same items. The differences are by their places, the lower place first.

    Sources: Hothorn, Bretz & Westfall (2008), Biometrical Journal 50, 346-363 (R: `multcomp::glht`, Tukey contrasts, whose
    multivariate *t* is replaced by the normal's level).
    """
    places = list(combinations(range(len(judges)), 2))
    comparable = [
        (j, k)
        for j, k in places
        if np.isfinite(judges[j].value - judges[k].value)
        and shows_spread(influence_of_difference(judges[j], judges[k]))
    ]
    level = simultaneous_level([judge.influence for judge in judges], comparable) if len(comparable) > 1 else LEVEL
    return {(j, k): difference_of(judges[j], judges[k], level=level) for j, k in places}


def simultaneous_level(influences: Sequence[FloatArray], pairs: Sequence[tuple[int, int]]) -> float:
    """Return the level of each difference's interval at which all intervals hold together with probability `LEVEL`, from fixed draws."""
    influence = np.nan_to_num(np.array(influences))
    values, vectors = np.linalg.eigh(influence @ influence.T)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(root))) @ root.T
    largest = np.zeros(DRAWS)
    for j, k in pairs:
        size = np.sqrt(((root[j] - root[k]) ** 2).sum())
        np.maximum(largest, np.abs(draws[:, j] - draws[:, k]) / size, out=largest)
    return float(2 * ndtr(np.quantile(largest, LEVEL)) - 1)


@dataclass(frozen=True)
class RankIntervals:
    """Best and worst rank of each judge; with probability `LEVEL` all true ranks lie within."""

    best: IntArray
    worst: IntArray
    """Ranks, (judges,); 1 is the best."""
    better: BoolArray
    """True where the judge of the row is significantly better than that of the column, (judges, judges)."""


def rank_intervals(judges: Sequence[Measured]) -> RankIntervals:
    r"""Return simultaneous intervals of the judges' ranks on one metric, of which more is better.

    A judge is better than another where `simultaneous_differences` tells the two apart. Its rank lies between 1 + the
    number significantly better and *J* − the number significantly worse. A judge on which the metric is undefined gets 1
    to *J*.

    `judges`: the metric of each, measured on the same items. Differences hold what annotators add, where they are known.

    With one query, or no interval for other reasons, no judge is told from another.

    Source: Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91, 476-518.
    """
    n = len(judges)
    better = np.zeros((n, n), dtype=bool)
    for (first, second), difference in simultaneous_differences(judges).items():
        if difference.beyond_chance:
            better[(first, second) if (difference.estimate or 0.0) > 0 else (second, first)] = True
    return RankIntervals(best=1 + better.sum(axis=0), worst=n - better.sum(axis=1), better=better)


@dataclass(frozen=True)
class Winner:
    """The judge with the highest number, and that number corrected for having been picked."""

    place: int
    may_be_best: tuple[int, ...]
    """The judges that none is shown to be better than, by `rank_intervals`: with probability `LEVEL` the best one is among them."""
    estimate: Estimate
    """The median-unbiased number of the judge that was picked, with its interval."""


def winner(judges: Sequence[Measured]) -> Winner:
    r"""Return the best of several judges on one metric of which more is better, without the optimism of picking it.

    The highest of several numbers is too high on average: chance helped to make it the highest. Given that judge *k* was picked,
    its number :math:`Y_k` is normal, truncated to where it stays the highest,

    .. math:: Y_k \ge \max_{j:\, c_j < 1} \frac{Y_j - c_j Y_k}{1 - c_j}, \qquad c_j = \Sigma_{jk} / \Sigma_{kk}

    The estimate is the mean at which :math:`Y_k` is the median of this distribution, and the limits those at which it is the
    quantiles for 95 %, and never narrower than those of the judge alone. They stay within the simultaneous interval of all judges at level :math:`1 - \beta`, with
    :math:`\beta = .005` (the hybrid of conditional and projection inference). Where one judge is far ahead, this is its own estimate.

    `judges`: the metric of each, measured on the same items; those on which it is undefined are passed over.

    Raises StatisticsError: fewer than two judges have the metric, or there is one query only.

    Source: Andrews, Kitagawa & McCloskey (2024), Inference on Winners, Quarterly Journal of Economics 139, 305-358, section 4.
    """
    defined = [place for place, judge in enumerate(judges) if not np.isnan(judge.value)]
    if len(defined) < 2 or judges[defined[0]].at_risk < 2:
        raise StatisticsError("the best of several needs two judges with the metric, and two queries")
    values = np.array([judges[place].value for place in defined])
    k = int(values.argmax())
    best = judges[defined[k]]
    may_be_best = tuple(np.flatnonzero(rank_intervals(judges).best == 1).tolist())
    single = estimate_of(best)
    influence = np.array([widen_influence(judges[place].influence, judges[place].extra_variance) for place in defined])
    covariance = len(influence[0]) / (len(influence[0]) - 1) * influence @ influence.T
    error = float(np.sqrt(covariance[k, k]))
    if not shows_spread(influence[k]):
        return Winner(defined[k], may_be_best, single)
    # Student's t in place of the normal: the error is known from so many queries.
    df = min(degrees_of_freedom(influence[k]), best.at_risk - 1)
    sigma = error * student_quantile(0.975, df) / float(ndtri(0.975))
    share = covariance[:, k] / covariance[k, k]
    bounds_below = np.array([j != k and share[j] < 1 - 1e-9 for j in range(len(defined))])
    lower_bound = max(
        ((values - share * values[k])[bounds_below] / (1 - share[bounds_below])).tolist(), default=-np.inf
    )
    lower_bound -= 0.5 / max(best.n, 1.0)  # two judges can be equal: a number stands for all within half an item of it
    beta = 0.005
    root = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) * np.eye(len(defined)))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(defined))) @ root.T
    widest = float(np.quantile((np.abs(draws) / np.maximum(np.sqrt(np.diag(covariance)), 1e-12)).max(axis=1), 1 - beta))

    def share_below(mean: float) -> float:
        """Return the probability of a number at most this one, given the true mean and that it was picked."""
        low, high = max((lower_bound - mean) / sigma, -widest), widest
        standardised = min(max((values[k] - mean) / sigma, low), high)
        total = float(ndtr(high) - ndtr(low))
        return float((ndtr(standardised) - ndtr(low)) / total) if total > 0 else 0.0

    tail = (1 - LEVEL - beta) / (1 - beta) / 2
    low, middle, high = (
        mean_at_share_below(share_below, 1 - p, values[k], widest * sigma) for p in (tail, 0.5, 1 - tail)
    )
    limits = single.limits or best.domain
    corrected = replace(
        single,
        estimate=max(middle, best.domain[0]),
        ci_low=max(min(low, limits[0]), best.domain[0]),
        ci_high=max(min(high, best.domain[1]), limits[1]),
        method=OF_THE_BEST,
    )
    return Winner(defined[k], may_be_best, corrected)


OF_THE_BEST = "corrected for having been picked as the highest (Andrews, Kitagawa & McCloskey 2024)"


def mean_at_share_below(share_below: Callable[[float], float], share: float, value: float, half_width: float) -> float:
    """Return the true mean within `half_width` of `value` at which the falling function `share_below` equals `share`, by bisection."""
    low, high = value - half_width, value + half_width
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share_below(middle) > share else (low, middle)
    return (low + high) / 2
