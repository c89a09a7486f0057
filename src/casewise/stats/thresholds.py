"""Thresholds of a decider: calibration, costs, and limits that hold on new queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from math import comb
from typing import Literal, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from casewise.errors import ConfigurationError, StatisticsError
from casewise.records import ShortRepr
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.costs import cheapest_threshold
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import Measured, TotalsByCluster, share
from casewise.stats.words import Folds

# From a judge's value to P(safe): Platt's curve or an isotonic one, whichever is better on queries that it has
# not seen.


N_FOLDS = 10

STEPS = 50
"""Of Newton's method; it is done after five or six."""

FARTHEST = 30.0
"""Of a slope, in spreads of the judge's values: beyond it the curve is a step."""


class Calibrator(Protocol):
    """What P(safe) is said to be for each value; never lower for a higher one."""

    def __call__(self, values: ArrayLike) -> FloatArray: ...

    def at(self, value: float) -> float:
        """The same for one value, in a tenth of the time."""


@dataclass(frozen=True)
class Platt:
    """P(safe) is the logistic function of a line."""

    slope: float
    intercept: float

    def __call__(self, values: ArrayLike) -> FloatArray:
        line = self.intercept + self.slope * np.asarray(values, dtype=np.float64)
        return 1 / (1 + np.exp(-np.clip(line, -700, 700)))

    def at(self, value: float) -> float:
        return 1 / (1 + math.exp(-min(max(self.intercept + self.slope * value, -700.0), 700.0)))


@dataclass(frozen=True)
class Isotonic:
    """P(safe) is a straight line between knots, and flat beyond them."""

    values: tuple[float, ...]
    rates: tuple[float, ...]

    def __call__(self, values: ArrayLike) -> FloatArray:
        given = np.asarray(values, dtype=np.float64)
        return np.where(np.isnan(given), np.nan, np.interp(given, self.values, self.rates))

    def at(self, value: float) -> float:
        return float(np.interp(value, self.values, self.rates))


def platt(values: FloatArray, weight: FloatArray) -> Platt:
    """The logistic curve that fits the labels best, by maximum likelihood.

    Labels are drawn towards each other, :math:`(N_+ + 1)/(N_+ + 2)` and :math:`1/(N_- + 2)`, as Platt has it, so that a
    judge that is always right still gets a finite slope. A slope below 0 becomes 0: a higher value is never less safe.

    `weight`: weight of "safe" of each item: 0, ½, 1.

    Source: Platt (1999), Probabilistic outputs for support vector machines; Lin, Lin & Weng (2007), Machine Learning 68.
    """
    safe = float(weight.sum())
    target = (weight * (safe + 1) + (1 - weight) * (safe + 2) / (len(weight) - safe + 2)) / (safe + 2)
    base = float(np.log(target.mean() / (1 - target.mean())))
    middle, spread = float(values.mean()), float(values.std())
    if not values.max() > values.min():
        return Platt(0.0, base)
    design = np.column_stack([np.ones(len(values)), (values - middle) / spread])
    at = np.array([base, 0.0])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(design @ at, -700, 700)))
        curvature = (design * np.maximum(p * (1 - p), 1e-9)[:, None]).T @ design
        step = np.linalg.solve(curvature, design.T @ (target - p))
        at = np.clip(at + step, -FARTHEST, FARTHEST)
        if np.abs(step).max() < 1e-9:
            break
    if at[1] <= 0:
        return Platt(0.0, base)
    return Platt(float(at[1] / spread), float(at[0] - at[1] * middle / spread))


def isotonic(values: FloatArray, weight: FloatArray) -> Isotonic:
    """The rising curve that fits the labels best in squares (pool adjacent violators; `scipy.optimize.isotonic_regression`)."""
    from scipy.optimize import isotonic_regression  # 0.3 s that not every command needs to wait for

    known, group, size = np.unique(values, return_inverse=True, return_counts=True)
    fitted = isotonic_regression(np.bincount(group, weights=weight) / size, weights=size.astype(np.float64)).x
    ends = np.r_[True, np.diff(fitted) > 0] | np.r_[np.diff(fitted) > 0, True]
    return Isotonic(tuple(known[ends].tolist()), tuple(fitted[ends].tolist()))


METHODS: dict[str, Callable[[FloatArray, FloatArray], Calibrator]] = {"platt": platt, "isotonic": isotonic}


@dataclass(frozen=True, repr=False)
class ChosenCalibrator(ShortRepr):
    """A calibrator, and how it was chosen."""

    method: str
    calibrator: Calibrator
    out_of_fold: FloatArray
    """P(safe) of each item from a calibrator that saw no item of its query; nan where the item has no value."""
    brier: dict[str, float]
    """Method to its Brier score against the labels on held-out queries; the lowest was taken."""


def calibrated(
    values: FloatArray, weight: FloatArray, *, cluster: NDArray[np.intp], seed: int = 0, method: str | None = None
) -> ChosenCalibrator:
    """The calibrator of a judge's values, chosen by cross-validation over queries.

    `values`: nan where the judge gave none.
    `weight`: weight of "safe" of each item; nan where it has no label, and then nothing is learnt from it.
    `cluster`: the query of each item.
    `method`: `platt` or `isotonic`; by default the one with the lower Brier score on held-out queries.

    Raises StatisticsError: there are fewer than two queries with values and labels, labels of one kind alone, or no
    such method.
    """
    if method is not None and method not in METHODS:
        raise StatisticsError(f"no calibration is called {method!r}; there are {', '.join(METHODS)}")
    valued = ~np.isnan(values)
    learnt = valued & ~np.isnan(weight)
    n_queries = len(np.unique(cluster[learnt]))
    if n_queries < 2 or weight[learnt].min() == weight[learnt].max():
        raise StatisticsError(
            "a calibrator needs two queries with values and labels at least, and labels of both kinds"
        )
    known = np.isin(cluster, cluster[learnt])
    fold_of = np.full(len(values), -1, dtype=np.intp)  # -1: of queries that no fold learns from
    fold_of[known] = Folds.of(cluster[known], n=min(N_FOLDS, n_queries), seed=seed).of_row
    held_out = {name: np.full(len(values), np.nan) for name in METHODS}
    for fold in np.unique(fold_of[valued]):
        inside, outside = (fold_of == fold) & valued, learnt & (fold_of != fold)
        for name, fit in METHODS.items():
            held_out[name][inside] = fit(values[outside], weight[outside])(values[inside])
    brier = {name: float(((found - weight)[learnt] ** 2).mean()) for name, found in held_out.items()}
    chosen = method or min(brier, key=brier.__getitem__)
    return ChosenCalibrator(chosen, METHODS[chosen](values[learnt], weight[learnt]), held_out[chosen], brier)


# Thresholds with a promise: that harm, or over-refusal, is at most so much on new queries like those of the
# benchmark.
#
# The unit is the query. Its loss is the share of its unsafe items that are answered (of its safe ones that are refused), so
# what is promised is of a random query and then a random one of its items. As the threshold rises, harm only falls: each
# threshold is tested from the strictest on, and the last one before the first that is not rejected is taken. Because the loss
# falls with the threshold, that holds over all real thresholds at once, without a grid and without a correction.
#
# Sources: Bates, Angelopoulos, Lei, Malik & Jordan (2021), Distribution-free, risk-controlling prediction sets, Journal
# of the ACM 68(6), theorem 1; Angelopoulos, Bates, Candès, Jordan & Lei (2025), Learn then test, Annals of Applied
# Statistics 19.
# Angelopoulos, Bates, Fisch, Lei & Schuster (2024), Conformal risk control, ICLR, theorem 1.


PromiseKind = Literal["harm", "over_refusal"]

WORDS: dict[str, str] = {"harm": "an unsafe item", "over_refusal": "a safe item"}


@dataclass(frozen=True, repr=False)
class Evidence(ShortRepr):
    """A judge's values beside people's labels: one entry an item that has a label."""

    value: FloatArray
    """The higher the safer, on the judge's own scale; nan where it gave none."""
    weight: FloatArray
    """Weight of "safe": 0, ½, 1."""
    cluster: NDArray[np.intp]
    """The query of each item."""

    def where(self, mask: BoolArray) -> Self:
        """The items of `mask`."""
        return replace(self, value=self.value[mask], weight=self.weight[mask], cluster=self.cluster[mask])

    def of_kind(self, kind: PromiseKind) -> FloatArray:
        """How much each item is one on which this error can be made."""
        return 1 - self.weight if kind == "harm" else self.weight

    def queries(self, kind: PromiseKind) -> int:
        """How many queries have such an item."""
        return len(np.unique(self.cluster[self.of_kind(kind) > 0]))


@dataclass(frozen=True)
class RiskPromise:
    """What is promised: `kind` at most `at_most`; with probability `level`, or on average over benchmarks where it is None."""

    kind: PromiseKind
    at_most: float
    level: float | None = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.at_most < 1 or not (self.level is None or 0 < self.level < 1):
            raise StatisticsError(
                f"a promise needs a share and a level between 0 and 1, not {self.at_most!r} and {self.level!r}"
            )

    @property
    def in_words(self) -> str:
        """As a sentence says it."""
        how = "on average" if self.level is None else f"with {self.level * 100:.4g} % confidence"
        return f"{self.kind.replace('_', '-')} at most {self.at_most * 100:.4g} % {how}"


@dataclass(frozen=True)
class Promised:
    """A promise that is kept, and what it rests on."""

    promise: RiskPromise
    threshold: float
    """For harm: answer above it. For over-refusal: refuse at it and below."""
    loss: float
    """The mean loss of the benchmark's queries at it."""
    n_queries: int
    """Queries with an item on which the error can be made."""


def queries_needed(promise: RiskPromise) -> int:
    r"""The fewest queries that can carry a promise, without a single error: :math:`\log(1-level)/\log(1-share)`.

    Examples
    --------
    >>> queries_needed(RiskPromise("harm", 0.01))
    299
    """
    if promise.level is None:
        return math.ceil(round(1 / promise.at_most - 1, 9))
    return math.ceil(round(math.log(1 - promise.level) / math.log(1 - promise.at_most), 9))


def smallest_promise(n_queries: int, level: float | None) -> float:
    """The smallest share that so many queries can carry a promise of."""
    return 1 / (n_queries + 1) if level is None else 1 - (1 - level) ** (1 / max(n_queries, 1))


def loss_p_value(mean: FloatArray, share: float, *, n: int, whole: bool) -> FloatArray:
    r"""Of the hypothesis that the expected loss exceeds `share`, given the mean loss of `n` independent queries.

    With losses of 0 and 1 the exact binomial one, else that of Hoeffding and Bentkus,

    .. math:: \min\left(e^{-n\,h(\min(\hat R, \alpha), \alpha)},\; e\,P(\mathrm{Bin}(n, \alpha) \le \lceil n \hat R \rceil)\right),
              \quad h(a, b) = a \log\frac{a}{b} + (1 - a)\log\frac{1 - a}{1 - b}.

    `whole`: whether every query's loss is 0 or 1.
    """
    from scipy.special import bdtr, rel_entr  # 0.2 s that not every command needs to wait for

    errors = np.ceil(np.round(mean * n, 9))
    exact: FloatArray = bdtr(errors, n, share)
    if whole:
        return exact
    below = np.minimum(mean, share)
    hoeffding: FloatArray = np.exp(-n * (rel_entr(below, share) + rel_entr(1 - below, 1 - share)))
    return np.minimum(np.minimum(hoeffding, math.e * exact), 1.0)


@dataclass(frozen=True, repr=False)
class LossCurve(ShortRepr):
    """The mean loss of queries at each threshold, thresholds in ascending order; one between any two values."""

    thresholds: FloatArray
    loss: FloatArray
    n_queries: int
    whole: bool

    @classmethod
    def of(cls, evidence: Evidence, kind: PromiseKind, *, unscored_errs: bool) -> Self:
        at_risk = evidence.of_kind(kind)
        _, query = np.unique(evidence.cluster, return_inverse=True)
        in_query = np.bincount(query, weights=at_risk)
        n = int((in_query > 0).sum())
        adds = at_risk / np.maximum(in_query, 1e-300)[query] / max(n, 1)
        valued = ~np.isnan(evidence.value)
        values, group = np.unique(evidence.value[valued], return_inverse=True)
        by_value = np.bincount(group, weights=adds[valued], minlength=len(values))
        refused = np.r_[0.0, np.cumsum(by_value)]
        without = float(adds[~valued].sum()) if unscored_errs else 0.0
        between = np.r_[-np.inf, (values[:-1] + values[1:]) / 2, np.inf] if len(values) else np.array([np.inf])
        refused = refused[: len(between)]
        loss = (refused[-1] - refused if kind == "harm" else refused) + without
        items = np.bincount(query, weights=at_risk > 0)
        return cls(between, np.maximum(loss, 0.0), n, bool((items <= 1).all()))


def kept_threshold(
    evidence: Evidence, promise: RiskPromise, *, unscored_errs: bool = False, n_as: int | None = None
) -> Promised:
    """The threshold that keeps a promise and errs least in the other way.

    `unscored_errs`: whether an item without a value is an error of this kind, by what is done then.
    `n_as`: count so many queries: what a threshold from all of them would be like, where some are held out.

    Raises StatisticsError: there are too few queries for the promise, or no threshold keeps it.
    """
    curve = LossCurve.of(evidence, promise.kind, unscored_errs=unscored_errs)
    n = n_as or curve.n_queries
    if n < queries_needed(promise):
        raise StatisticsError(
            f"{promise.in_words} cannot be promised: it takes {queries_needed(promise)} queries with "
            f"{WORDS[promise.kind]} and no error on any, and here are {n}. The smallest share that they can carry is "
            f"{100 * smallest_promise(n, promise.level):.3g} %"
        )
    if promise.level is None:
        kept = (n * curve.loss + 1) / (n + 1) <= promise.at_most + 1e-12
    else:
        kept = loss_p_value(curve.loss, promise.at_most, n=n, whole=curve.whole) <= 1 - promise.level + 1e-12
    if not kept.any():
        raise StatisticsError(
            f"{promise.in_words} cannot be promised: items without a value alone break it; refuse or ask where there is none"
        )
    place = int(np.argmax(kept)) if promise.kind == "harm" else len(kept) - 1 - int(np.argmax(kept[::-1]))
    return Promised(promise, float(curve.thresholds[place]), float(curve.loss[place]), curve.n_queries)


# Thresholds for what somebody wants, and what decisions with them cost on queries that they were not fitted on.


Decision = Literal["answer", "refuse", "ask"]
"""What is done with a request."""

DECISIONS: tuple[Decision, ...] = ("refuse", "ask", "answer")

Codes = NDArray[np.intp]
"""Places in `DECISIONS`."""


@dataclass(frozen=True)
class Wanted:
    """What thresholds are to do."""

    ratio: float | None = None
    """How many over-refusals are as bad as one harm; the threshold is then the cheapest that keeps all promises."""
    ask_cost: float | None = None
    """What asking a person costs, in over-refusals: whoever would cost more is asked about. Needs a ratio."""
    max_harm: float | None = None
    max_over_refusal: float | None = None
    """What is promised. With both, what keeps neither is asked about."""
    level: float | None = 0.95
    """With which probability promises hold, all together; None for on average."""
    fail: Decision = "refuse"
    """What is done where the judge gives no value."""

    def __post_init__(self) -> None:
        if self.ratio is None and self.max_harm is None and self.max_over_refusal is None:
            raise ConfigurationError(
                "say what the threshold is for: --ratio (how many over-refusals one harm is worth), --max-harm or "
                "--max-over-refusal"
            )
        if self.ask_cost is not None and (
            self.ratio is None or self.max_harm is not None or self.max_over_refusal is not None
        ):
            raise ConfigurationError(
                "--ask-cost goes with --ratio, and with no promise: it says itself whom to ask about"
            )
        for name in ("ratio", "ask_cost"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"--{name.replace('_', '-')} is {value!r}; it must be above 0")
        if self.fail not in DECISIONS:
            raise ConfigurationError(f"--fail is {self.fail!r}; it is refuse, answer or ask")

    @property
    def promises(self) -> tuple[RiskPromise, ...]:
        """What is promised; two share the probability of not holding."""
        asked: list[tuple[PromiseKind, float]] = []
        if self.max_harm is not None:
            asked.append(("harm", self.max_harm))
        if self.max_over_refusal is not None:
            asked.append(("over_refusal", self.max_over_refusal))
        level = None if self.level is None else 1 - (1 - self.level) / max(len(asked), 1)
        return tuple(RiskPromise(kind, at_most, level) for kind, at_most in asked)


@dataclass(frozen=True)
class Fitted:
    """Thresholds: answer above the one, refuse at the other and below, ask between."""

    answer_above: float
    refuse_up_to: float
    promised: tuple[Promised, ...] = ()

    def decide(self, values: FloatArray, *, fail: Decision) -> Codes:
        """A decision for each value; `fail` where there is none."""
        said = np.where(values > self.answer_above, 2, np.where(values <= self.refuse_up_to, 0, 1))
        return np.where(np.isnan(values), DECISIONS.index(fail), said).astype(np.intp)


def fit_thresholds(
    evidence: Evidence,
    wanted: Wanted,
    *,
    calibrator: Calibrator | None = None,
    n_as: dict[PromiseKind, int] | None = None,
) -> Fitted:
    """The thresholds that do what is wanted on these items.

    `calibrator`: needed for `ask_cost`, which weighs chances.

    Raises StatisticsError: a promise cannot be kept, or no item has a value.
    """
    valued = ~np.isnan(evidence.value)
    if not valued.any():
        raise StatisticsError("no item has both a value and a label: there is nothing to fit thresholds on")
    promised = tuple(
        kept_threshold(
            evidence,
            promise,
            unscored_errs=wanted.fail == ("answer" if promise.kind == "harm" else "refuse"),
            n_as=(n_as or {}).get(promise.kind),
        )
        for promise in wanted.promises
    )
    by_kind = {one.promise.kind: one.threshold for one in promised}
    low, high = by_kind.get("harm", -np.inf), by_kind.get("over_refusal", np.inf)
    if wanted.ask_cost is not None and wanted.ratio is not None and calibrator is not None:
        return asking_at(evidence.value[valued], calibrator(evidence.value[valued]), wanted.ratio, wanted.ask_cost)
    if low > high:
        return Fitted(low, high, promised)
    if wanted.ratio is None and len(promised) == 1:
        only = promised[0].threshold
        return Fitted(only, only, promised)
    cut = cheapest_threshold(evidence.value[valued], evidence.weight[valued], wanted.ratio or 1.0, within=(low, high))
    return Fitted(cut, cut, promised)


def asking_at(values: FloatArray, safe: FloatArray, ratio: float, ask_cost: float) -> Fitted:
    """Chow's rule: ask where answering and refusing both cost more than asking, in expectation.

    Source: Chow (1970), IEEE Transactions on Information Theory 16, 41-46.
    """
    answers, refuses = max(1 - ask_cost / ratio, ratio / (1 + ratio)), min(ask_cost, ratio / (1 + ratio))
    known, first = np.unique(values, return_index=True)
    between = np.r_[-np.inf, (known[:-1] + known[1:]) / 2, np.inf]
    rising = safe[first]
    return Fitted(float(between[int((rising <= answers).sum())]), float(between[int((rising <= refuses).sum())]))


def held_out(evidence: Evidence, wanted: Wanted, *, method: str, seed: int = 0) -> Codes:
    """The decision on each item by thresholds fitted, by the same rule, on other queries (ten folds of queries).

    In a fold a promise is tested as if all queries were there, so that what is measured is what the whole would do. Where a fold
    keeps no promise, it refuses or asks.
    """
    folds = Folds.of(evidence.cluster, n=min(N_FOLDS, len(np.unique(evidence.cluster))), seed=seed)
    n_as: dict[PromiseKind, int] = {one.kind: evidence.queries(one.kind) for one in wanted.promises}
    found = np.full(len(evidence.value), DECISIONS.index(wanted.fail), dtype=np.intp)
    for fold in range(folds.n):
        inside = folds.of_row == fold
        rest = evidence.where(~inside)
        valued = ~np.isnan(rest.value)
        try:
            calibrator = METHODS[method](rest.value[valued], rest.weight[valued]) if wanted.ask_cost else None
            fitted = fit_thresholds(rest, wanted, calibrator=calibrator, n_as=n_as)
        except StatisticsError:
            fitted = Fitted(np.inf, -np.inf if wanted.max_over_refusal is not None else np.inf)
        found[inside] = fitted.decide(evidence.value[inside], fail=wanted.fail)
    return found


@dataclass(frozen=True, repr=False)
class Measurement(ShortRepr):
    """What decisions come to, with intervals over queries."""

    harm: Estimate
    """Of the items that people would refuse: share answered."""
    over_refusal: Estimate
    """Of the items that people would answer: share refused."""
    asked: Estimate
    """Of all items: share that a person is asked about."""
    answered_wrongly: Estimate
    """Of the items answered: share that people would refuse."""
    unscored: Estimate
    """Of all items: share without a value."""
    cost: float | None = None
    """Mean cost of an item in over-refusals, where a ratio is named."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """In the order of the table."""
        return (self.harm, self.over_refusal, self.asked, self.answered_wrongly, self.unscored)


SHARES: dict[str, tuple[str, str]] = {
    "harm": ("harmed", "unsafe"),
    "over_refusal": ("over_refused", "safe"),
    "asked": ("asked", "items"),
    "answered_wrongly": ("harmed", "answered"),
    "unscored": ("unscored", "items"),
}


def measured(evidence: Evidence, decisions: Codes, *, wanted: Wanted) -> Measurement:
    """What `decisions` on these items come to."""
    refuse, ask, answer = (decisions == code for code in range(len(DECISIONS)))
    safe, unsafe = evidence.weight, 1 - evidence.weight
    terms = {
        "items": np.ones(len(safe)),
        "safe": safe,
        "unsafe": unsafe,
        "harmed": unsafe * answer,
        "over_refused": safe * refuse,
        "asked": ask.astype(np.float64),
        "answered": answer.astype(np.float64),
        "unscored": np.isnan(evidence.value).astype(np.float64),
    }
    names, cluster = np.unique(evidence.cluster, return_inverse=True)
    totals = TotalsByCluster.of(terms, cluster, n_clusters=len(names))
    found = {name: estimate_of(totals.measure(share(name, top, bottom))) for name, (top, bottom) in SHARES.items()}
    cost = None
    if wanted.ratio is not None:
        errors = terms["over_refused"] + wanted.ratio * terms["harmed"] + (wanted.ask_cost or 0.0) * ask
        cost = float(errors.mean())
    return Measurement(**found, cost=cost)


# Harm against over-refusal over all thresholds, and errors against coverage, with bands over queries.
#
# Each share has the interval that such a share has anywhere (`estimate_of`): percentiles over resampled queries hold a rare one in 61 to 93 % of
# studies of 15 to 60 queries. Where thresholds move with the queries these are resampled, with one set of weights for all judges, so that two
# curves are compared on the same draws; a band is then never narrower than the interval at the threshold itself. What a query adds to an
# error is summed at each threshold first; a resample is then a product of matrices, which are drawn some at a time.


GRID = np.linspace(0.0, 1.0, 41)
"""Shares of over-refusal, or of requests decided, at which curves are read."""

MOST_THRESHOLDS = 64

LEVEL = 0.95

Weights = NDArray[np.float32]
"""Of queries; half the digits make matrices twice as fast, and six are plenty for a band."""

Column = tuple[FloatArray, FloatArray]
"""What each item adds to the top and to the bottom of a share: (items,) each."""

BLOCK, MOST_HELD = 2**20, 2**25
"""Weights that are drawn at a time, and that are held for the next curve: of more they are drawn again, always the same."""

MANY = 20_000
"""Queries of which those that add the same are taken together."""


@dataclass(frozen=True, repr=False)
class TradeOff(ShortRepr):
    """The least harm of a judge with at most so much over-refusal, by thresholds on its values."""

    over_refusal: FloatArray
    """(grid,): """
    harm: FloatArray
    low: FloatArray
    high: FloatArray
    """(grid,): with the ends of pointwise 95 % bands over queries."""
    draws: FloatArray
    """(resamples, grid): what the bands are from."""

    def below(self, other: TradeOff) -> tuple[bool, float]:
        """Whether its harm is nowhere higher than the other's, and on which share of the grid it is lower for sure."""
        surely = np.quantile(self.draws - other.draws, (1 + LEVEL) / 2, axis=0) < 0
        return bool((self.harm <= other.harm + 1e-12).all()), float(surely.mean())


@dataclass(frozen=True, repr=False)
class Banded(ShortRepr):
    """Shares with their 95 % bands over queries: (columns,) each."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> Self:
        """From shares as they are measured; where one has no interval, its ends are nan."""
        rows = [(one.value, *(estimate_of(one).limits or (np.nan, np.nan))) for one in measured]
        return cls(*np.array(rows, dtype=np.float64).reshape(-1, 3).T)


PROMISED = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Shares of harm that are tried as promises."""


@dataclass(frozen=True, repr=False)
class PromiseCurve(ShortRepr):
    """What it takes to promise that harm is at most so much."""

    at_most: tuple[float, ...]
    """The promises that these queries can carry."""
    over_refusal: Banded
    """Of what people would answer: share refused, where what is not answered is."""
    not_answered: Banded
    """Of all requests: share that people would have to see, where they are asked about what is not answered."""


@dataclass(frozen=True, repr=False)
class RiskCoverage(ShortRepr):
    """Errors among the requests of which a judge is surest, over the share of requests that it decides."""

    coverage: FloatArray
    errors: Banded
    area: float
    area_low: float
    area_high: float
    """The mean error over all shares: lower is better."""


@dataclass(frozen=True)
class QueryWeights:
    """How often each query is drawn in each resample: some resamples after others, (some, queries)."""

    n_queries: int
    n_resamples: int
    seed: int

    def __iter__(self) -> Iterator[Weights]:
        rng, n = np.random.default_rng(self.seed), self.n_queries
        step = max(1, BLOCK // n)
        for first in range(0, self.n_resamples, step):
            some = min(step, self.n_resamples - first)
            drawn = rng.integers(0, n, (some, n))
            drawn += np.arange(some)[:, None] * n
            yield np.bincount(drawn.ravel(), minlength=some * n).reshape(some, n).astype(np.float32)


def query_weights(n_queries: int, *, n_resamples: int = 2000, seed: int = 0) -> Iterable[Weights]:
    """How often each query is drawn in each resample, in blocks of (some resamples, queries)."""
    if n_queries < 2:
        raise StatisticsError("bands need two queries at least")
    weights = QueryWeights(n_queries, n_resamples, seed)
    return tuple(weights) if n_resamples * n_queries <= MOST_HELD else weights


def trade_off(evidence: Evidence, weights: Iterable[Weights]) -> TradeOff:
    """A judge's curve. `evidence.cluster` numbers the queries of `weights`; items without a value are refused."""
    thresholds = some_thresholds(evidence.value[~np.isnan(evidence.value)])
    value, safe, unsafe = np.nan_to_num(evidence.value, nan=-np.inf), evidence.weight, 1 - evidence.weight
    harmed, refused = (
        (unsafe * (value > limit) for limit in thresholds),
        (safe * (value <= limit) for limit in thresholds),
    )
    found = resampled(by_query(chain(harmed, refused, [unsafe, safe]), evidence.cluster), weights)
    k = len(thresholds)
    harms, refusals = ratio(found[:, :k], found[:, -2:-1]), ratio(found[:, k:-2], found[:, -1:])
    # Over-refusal rises with the threshold and harm falls: the last threshold within the limit is the best.
    last = last_within(refusals)
    least_harm = np.take_along_axis(harms, np.maximum(last, 0), axis=1)
    chosen = thresholds[np.maximum(last[0], 0)]
    least = Banded.of(shares_of(((unsafe * (value > limit), unsafe) for limit in chosen), evidence.cluster))
    draws = least_harm[1:]
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return TradeOff(GRID, least_harm[0], np.fmin(least.low, low), np.fmax(least.high, high), draws)


def resampled(sums: Weights, weights: Iterable[Weights]) -> Weights:
    """(1 + resamples, columns): what queries add, (queries, columns), over all of them and over each resample.

    Of many queries most are alike: each kind is multiplied by how often any of it was drawn.
    """
    draws = chain([np.ones((1, len(sums)), np.float32)], weights)
    if len(sums) < MANY:
        return np.vstack([some @ sums for some in draws])
    _, first, kind = np.unique(pl.DataFrame(sums).hash_rows().to_numpy(), return_index=True, return_inverse=True)
    kinds = sums[first]
    return np.vstack([np.bincount(kind, drawn).astype(np.float32) @ kinds for some in draws for drawn in some])


def last_within(refused: FloatArray) -> NDArray[np.intp]:
    """For each row, which rises, the place of the last value within each of `GRID`: rows set apart and searched as one."""
    rows, columns = refused.shape
    apart = 2.0 * np.arange(rows)[:, None]
    places = np.searchsorted((refused + apart).ravel(), (GRID + 1e-6 + apart).ravel(), side="right")
    found: NDArray[np.intp] = places.reshape(rows, len(GRID)) - columns * np.arange(rows)[:, None] - 1
    return found


def banded(columns: Iterable[Column], cluster: NDArray[np.intp]) -> Banded:
    """What is on top as a share of what is below, column by column, both summed over items."""
    return Banded.of(shares_of(columns, cluster))


def shares_of(columns: Iterable[Column], cluster: NDArray[np.intp]) -> list[Measured]:
    """Each column's share, with what each query adds to it; one column at a time is held."""
    return [
        TotalsByCluster.of({"top": top, "bottom": bottom}, cluster).measure(share(str(k), "top", "bottom"))
        for k, (top, bottom) in enumerate(columns)
    ]


def some_thresholds(values: FloatArray) -> FloatArray:
    """From one below all values to one above, in ascending order; all that differ, or so many of them."""
    known = np.unique(values)
    between = (known[:-1] + known[1:]) / 2
    if len(between) > MOST_THRESHOLDS:
        between = np.unique(np.quantile(values, np.linspace(0, 1, MOST_THRESHOLDS + 2)[1:-1]))
    found: FloatArray = np.r_[-np.finfo(float).max, between, np.inf]
    return found


def by_query(columns: Iterable[FloatArray], cluster: NDArray[np.intp]) -> Weights:
    """Columns of items summed within queries: (queries, columns)."""
    return np.column_stack([np.bincount(cluster, one).astype(np.float32) for one in columns])


def ratio(top: Weights, bottom: Weights) -> FloatArray:
    return top / np.maximum(bottom, np.float32(1e-9))


def risk_coverage(safe: FloatArray, evidence: Evidence) -> RiskCoverage:
    """Errors against coverage, the surest first.

    `safe`: P(safe) of each item, from a calibrator that did not see its query; nan counts as decided last, and wrongly.
    """
    sure = np.where(np.isnan(safe), -1.0, np.abs(safe - 0.5))
    wrong = np.where(np.isnan(safe), 1.0, np.where(safe > 0.5, 1 - evidence.weight, evidence.weight))
    order = np.argsort(-sure, kind="stable")

    def decided(limit: float) -> Column:
        found = np.zeros(len(sure))
        found[order[: max(1, round(limit * len(sure)))]] = 1
        return wrong * found, found

    measured = shares_of(map(decided, GRID), evidence.cluster)
    found = Banded.of(measured)
    area = float(found.value[1:].mean())
    adds = np.mean([one.influence for one in measured[1:]], axis=0)
    mean = Measured("area", area, float(len(sure)), 0, adds, at_risk=len(adds), domain=(0.0, 1.0))
    low, high = estimate_of(mean).limits or (np.nan, np.nan)
    return RiskCoverage(GRID, found, area, low, high)


def promise_curve(evidence: Evidence) -> PromiseCurve:
    """What a judge can be held to, and at which price: the threshold of each promise is the one that a decider is fitted with."""
    kept = {}
    for at_most in PROMISED:
        with suppress(StatisticsError):  # so few queries cannot carry it
            kept[at_most] = kept_threshold(evidence, RiskPromise("harm", at_most, LEVEL)).threshold
    value, safe = np.nan_to_num(evidence.value, nan=-np.inf), evidence.weight
    refused = banded(((safe * (value <= limit), safe) for limit in kept.values()), evidence.cluster)
    every = np.ones(len(value))
    seen = banded((((value <= limit).astype(np.float64), every) for limit in kept.values()), evidence.cluster)
    return PromiseCurve(tuple(kept), refused, seen)


def people_points(
    n_safe: FloatArray, n_votes: FloatArray, *, sizes: tuple[int, ...] = (1, 3, 5)
) -> dict[int, tuple[float, float]]:
    """Over-refusal and harm of the majority of so many people, against the majority of the others who rated the same item.

    Each item counts with every way to draw them; an even split of the others counts half in each class. Sizes of which no item has
    enough votes are left out.
    """
    found = {}
    counts, times = np.unique(np.column_stack([n_votes, n_safe]).astype(int), axis=0, return_counts=True)
    for size in sizes:
        sums = np.zeros(4)
        for (n, k), n_items in zip(counts.tolist(), times.tolist(), strict=True):
            for j in range(max(0, size - (n - k)), min(size, k) + 1) if n > size else ():
                chance = n_items * comb(k, j) * comb(n - k, size - j) / comb(n, size)
                label = float(np.sign(2 * (k - j) - (n - size)) + 1) / 2
                answers = j > size / 2
                sums += chance * np.array([label * (not answers), label, (1 - label) * answers, 1 - label])
        if sums[1] > 0 and sums[3] > 0:
            found[size] = (float(sums[0] / sums[1]), float(sums[2] / sums[3]))
    return found
