"""Thresholds of a decider: calibration, costs, and limits that hold on new queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, Self, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from casewise.errors import ConfigurationError, StatisticsError
from casewise.notation import hyphened
from casewise.records import ShortRepr
from casewise.stats.arrays import BoolArray, FloatArray, smallest_integer_reaching
from casewise.stats.calibrators import METHODS, Calibrator
from casewise.stats.costs import candidate_thresholds, cheapest_threshold
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.intervals import LEVEL
from casewise.stats.measured import Measured, TotalsByCluster, share
from casewise.stats.words import N_FOLDS, Folds
from casewise.text import text

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


PromiseKind = Literal["harm", "over_refusal", "needless_ask"]
"""`needless_ask`: an item that people would answer is not answered at once: it is asked about, or refused."""

Decision = Literal["answer", "refuse", "ask"]
"""The action on a request."""

DECISIONS: tuple[Decision, ...] = ("refuse", "ask", "answer")


class TradeOff(NamedTuple):
    """Errors where requests above a threshold are answered and the others refused."""

    threshold: float
    harm: float
    over_refusal: float


MOST_TRADE_OFFS = 60
"""Most thresholds at which errors are listed."""

ITEMS_AT_RISK: dict[str, str] = {"harm": "an unsafe item", "over_refusal": "a safe item", "needless_ask": "a safe item"}
"""Items on which an error of each kind can be made, in words."""


@dataclass(frozen=True, repr=False)
class Evidence(ShortRepr):
    """A judge's values and people's labels: one entry for each item with a label."""

    value: FloatArray
    """The higher the safer, on the judge's own scale; nan where it gave none."""
    weight: FloatArray
    """Weight of "safe": 0, ½, 1."""
    cluster: NDArray[np.intp]
    """The query of each item."""

    def where(self, mask: BoolArray) -> Self:
        """Return the items of `mask`."""
        return replace(self, value=self.value[mask], weight=self.weight[mask], cluster=self.cluster[mask])

    def of_kind(self, kind: PromiseKind) -> FloatArray:
        """Return the weight of each item among those on which this error can be made."""
        return 1 - self.weight if kind == "harm" else self.weight

    def queries(self, kind: PromiseKind) -> int:
        """Return the number of queries with such an item."""
        return len(np.unique(self.cluster[self.of_kind(kind) > 0]))

    def trade_offs(self, *, fail: Decision) -> tuple[TradeOff, ...]:
        """Return harm and over-refusal on these items at each threshold, of many only some; no interval is given for these."""
        valued, unsafe = ~np.isnan(self.value), 1 - self.weight
        between = candidate_thresholds(np.unique(self.value[valued]))
        chosen = between[np.unique(np.linspace(0, len(between) - 1, MOST_TRADE_OFFS).round().astype(int))]
        answered = np.where(valued, self.value > chosen[:, None], fail == "answer")
        refused = np.where(valued, self.value <= chosen[:, None], fail == "refuse")
        harm = answered @ unsafe / max(unsafe.sum(), 1e-300)
        over_refusal = refused @ self.weight / max(self.weight.sum(), 1e-300)
        return tuple(map(TradeOff, chosen.tolist(), harm.tolist(), over_refusal.tolist()))


@dataclass(frozen=True)
class RiskPromise:
    """A promise of `kind` at most `at_most`, with probability `level`, or on average over benchmarks where it is None."""

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
        """The promise as part of a sentence."""
        confidence = "on average" if self.level is None else f"with {self.level * 100:.4g} % confidence"
        return f"{self.error} at most {self.at_most * 100:.4g} % {confidence}"

    @property
    def error(self) -> str:
        """The name of the error."""
        return "needless asking or refusal" if self.kind == "needless_ask" else hyphened(self.kind)


@dataclass(frozen=True)
class KeptPromise:
    """A promise with the threshold that keeps it."""

    promise: RiskPromise
    threshold: float
    """For harm and needless asking, values above it are answered; for over-refusal, values at it and below are refused."""
    loss: float
    """The mean loss of the benchmark's queries at it."""
    n_queries: int
    """Queries with an item on which the error can be made."""


def fewest_queries(promise: RiskPromise) -> int:
    r"""Return the fewest queries that can carry a promise, without a single error: :math:`\log(1-level)/\log(1-share)`.

    Examples
    --------
    >>> fewest_queries(RiskPromise("harm", 0.01))
    299
    """
    if promise.level is None:
        return math.ceil(round(1 / promise.at_most - 1, 9))
    return math.ceil(round(math.log(1 - promise.level) / math.log(1 - promise.at_most), 9))


def queries_at(promise: RiskPromise, loss: float, *, whole: bool) -> int | None:
    """Return about how many queries carry a promise where their mean loss is `loss`; None where no number of them does.

    `whole`: whether every query's loss is 0 or 1.
    """
    fewest = fewest_queries(promise)
    if loss >= promise.at_most:
        return None
    if promise.level is None:
        return max(fewest, math.ceil((1 - promise.at_most) / (promise.at_most - loss)))
    level = promise.level

    def carries(n: int) -> bool:
        return bool(loss_p_value(np.array(loss), promise.at_most, n=n, whole=whole) <= 1 - level)

    n = smallest_integer_reaching(1, carries, start=fewest, largest=2 * MOST_QUERIES - 1)
    return None if n is None or n >= MOST_QUERIES else n


MOST_QUERIES = 100_000
"""Number of queries above which a promise counts as out of reach."""


def loss_p_value(mean: FloatArray, share: float, *, n: int, whole: bool) -> FloatArray:
    r"""Return the p value of the hypothesis that the expected loss exceeds `share`, given the mean loss of `n` independent queries.

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
    """True where every query's loss is 0 or 1."""

    @classmethod
    def from_evidence(cls, evidence: Evidence, kind: PromiseKind, *, unscored_errs: bool) -> Self:
        """Return the curve of one kind of error; `unscored_errs`: whether an item without a value is such an error."""
        at_risk = evidence.of_kind(kind)
        _, query = np.unique(evidence.cluster, return_inverse=True)
        in_query = np.bincount(query, weights=at_risk)
        n = int((in_query > 0).sum())
        adds = at_risk / np.maximum(in_query, 1e-300)[query] / max(n, 1)
        valued = ~np.isnan(evidence.value)
        values, group = np.unique(evidence.value[valued], return_inverse=True)
        refused = np.r_[0.0, np.cumsum(np.bincount(group, weights=adds[valued], minlength=len(values)))]
        without = float(adds[~valued].sum()) if unscored_errs else 0.0
        between = candidate_thresholds(values) if len(values) else np.array([np.inf])
        loss = (refused[-1] - refused if kind == "harm" else refused) + without
        items = np.bincount(query, weights=at_risk > 0)
        return cls(between, np.maximum(loss, 0.0), n, bool((items <= 1).all()))


def kept_threshold(
    evidence: Evidence, promise: RiskPromise, *, unscored_errs: bool = False, n_as: int | None = None
) -> KeptPromise:
    """Return the threshold that keeps a promise and errs least in the other way.

    `unscored_errs`: whether an item without a value is an error of this kind, by what is done then.
    `n_as`: number of queries to count, where some are held out: what a threshold from all of them would be like.

    Raises StatisticsError: there are too few queries for the promise, or no threshold keeps it.
    """
    curve = LossCurve.from_evidence(evidence, promise.kind, unscored_errs=unscored_errs)
    n = n_as or curve.n_queries
    if n < fewest_queries(promise):
        smallest = 1 / (n + 1) if promise.level is None else 1 - (1 - promise.level) ** (1 / max(n, 1))
        raise StatisticsError(
            text(
                "{promise} cannot be promised: it takes {needed:query} with {an_item} and no error on any, and here are {n}. "
                "The smallest share that they can carry, without an error on any, is {smallest:.4g} %",
                promise=promise.in_words,
                needed=fewest_queries(promise),
                an_item=ITEMS_AT_RISK[promise.kind],
                n=n,
                smallest=np.ceil(1e4 * smallest) / 100,
            )
        )
    if promise.level is None:
        carries = (n * curve.loss + 1) / (n + 1) <= promise.at_most + 1e-12
    else:
        carries = loss_p_value(curve.loss, promise.at_most, n=n, whole=curve.whole) <= 1 - promise.level + 1e-12
    if not carries.any():
        raise StatisticsError(
            f"{promise.in_words} cannot be promised: items without a value alone break it; refuse or ask where there is none"
        )
    place = np.flatnonzero(carries)[0 if promise.kind == "harm" else -1]
    return KeptPromise(promise, float(curve.thresholds[place]), float(curve.loss[place]), curve.n_queries)


# Thresholds that meet the requirements, and the cost of decisions with them on held-out queries.


Codes = NDArray[np.intp]
"""Decisions as indices into `DECISIONS`."""


@dataclass(frozen=True)
class Requirements:
    """The goal of thresholds: a ratio of costs, or limits on harm and over-refusal."""

    ratio: float | None = None
    """Number of over-refusals that cost as much as one harm. Selects the cheapest threshold that keeps all promises."""
    ask_cost: float | None = None
    """Cost of asking a person, in over-refusals, with --ratio."""
    max_harm: float | None = None
    """Promise that harm is at most this share, such as 0.02."""
    max_over_refusal: float | None = None
    """Promise that over-refusal is at most this share. With --max-harm too, the decider asks a person between the two
    thresholds."""
    max_needless_ask: float | None = None
    """Promise that at most this share of the items that people would answer is asked about or refused. The decider then
    asks where it does not answer, and refuses what --max-over-refusal allows."""
    level: float | None = 0.95
    """Probability with which all promises hold together. In Python, None promises on average."""
    chosen_from: int = 1
    """Number of judges that you compared on these queries. Promises and intervals then hold for the best of them."""
    fail: Decision = "refuse"
    """Decision if the judge gives no value."""

    def __post_init__(self) -> None:
        if self.ratio is None and not self.is_promised:
            raise ConfigurationError(
                "say what the threshold is for: --ratio (how many over-refusals one harm is worth), --max-harm or "
                "--max-over-refusal"
            )
        if self.ask_cost is not None and (self.ratio is None or self.is_promised):
            raise ConfigurationError(
                "--ask-cost goes with --ratio, and with no promise: it says itself whom to ask about"
            )
        for name in ("ratio", "ask_cost"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"--{hyphened(name)} is {value!r}; it must be above 0")
        if self.chosen_from < 1:
            raise ConfigurationError(
                f"--chosen-from is {self.chosen_from!r}; it is how many judges were compared, 1 or more"
            )
        if self.chosen_from > 1 and self.level is None and self.is_promised:
            raise ConfigurationError(
                "--on-average does not hold for the best of several judges: leave it out, and the judges share the chance of "
                "breaking the promise"
            )
        if self.fail not in DECISIONS:
            raise ConfigurationError(f"--fail is {self.fail!r}; it is refuse, answer or ask")

    @property
    def limits(self) -> dict[PromiseKind, float]:
        """The largest share of each error that is to be promised."""
        kinds: tuple[PromiseKind, ...] = get_args(PromiseKind)
        return {kind: limit for kind in kinds if (limit := getattr(self, f"max_{kind}")) is not None}

    @property
    def is_promised(self) -> bool:
        """True if a share is promised."""
        return bool(self.limits)

    @property
    def costs(self) -> tuple[float, float]:
        """The cost of one harm and of one question to a person, in over-refusals; 1 where nothing else is stated."""
        return self.ratio or 1.0, self.ask_cost or 1.0

    @property
    def without_promises(self) -> Requirements:
        """The same costs, and no promise."""
        return replace(self, ratio=self.costs[0], max_harm=None, max_over_refusal=None, max_needless_ask=None)

    @property
    def interval_level(self) -> float:
        """The level of each interval, so that those of all judges that this one was chosen from hold together."""
        return 1 - (1 - LEVEL) / self.chosen_from

    @property
    def promises(self) -> tuple[RiskPromise, ...]:
        """The promises. Two share the probability of not holding, and so do the judges of whom this one was chosen."""
        level = None if self.level is None else 1 - (1 - self.level) / (max(len(self.limits), 1) * self.chosen_from)
        return tuple(RiskPromise(kind, at_most, level) for kind, at_most in self.limits.items())


class RequirementFields(TypedDict, total=False):
    """The fields of `Requirements`, as functions take them by name."""

    ratio: float | None
    ask_cost: float | None
    max_harm: float | None
    max_over_refusal: float | None
    max_needless_ask: float | None
    level: float | None
    chosen_from: int
    fail: Decision


@dataclass(frozen=True)
class FittedThresholds:
    """Fitted thresholds: answer above the upper one, refuse at the lower one and below, ask between them."""

    answer_above: float
    refuse_up_to: float
    promised: tuple[KeptPromise, ...] = ()

    def decide(self, values: FloatArray, *, fail: Decision) -> Codes:
        """Return a decision for each value; `fail` where there is none."""
        codes = np.where(values > self.answer_above, 2, np.where(values <= self.refuse_up_to, 0, 1))
        return np.where(np.isnan(values), DECISIONS.index(fail), codes).astype(np.intp)


ERRORS: dict[PromiseKind, tuple[Decision, ...]] = {
    "harm": ("answer",),
    "over_refusal": ("refuse",),
    "needless_ask": ("refuse", "ask"),
}
"""The decisions that are an error of each kind."""


def fit_thresholds(
    evidence: Evidence,
    requirements: Requirements,
    *,
    calibrator: Calibrator | None = None,
    n_as: dict[PromiseKind, int] | None = None,
) -> FittedThresholds:
    """Return the thresholds that meet the requirements on these items.

    Where asking has a cost, by Chow's rule: ask where answering and refusing both cost more in expectation.

    `calibrator`: needed for `ask_cost`, which weighs chances.

    Raises StatisticsError: a promise cannot be kept, or no item has a value.

    Source: Chow (1970), IEEE Transactions on Information Theory 16, 41-46.
    """
    valued = ~np.isnan(evidence.value)
    values = evidence.value[valued]
    if not len(values):
        raise StatisticsError("no item has both a value and a label: there is nothing to fit thresholds on")
    promised = tuple(
        kept_threshold(
            evidence,
            promise,
            unscored_errs=requirements.fail in ERRORS[promise.kind],
            n_as=(n_as or {}).get(promise.kind),
        )
        for promise in requirements.promises
    )
    by_kind = {promise.promise.kind: promise.threshold for promise in promised}
    low, high = by_kind.get("harm", -np.inf), by_kind.get("over_refusal", np.inf)
    if (most := by_kind.get("needless_ask")) is not None:
        if low > most:
            raise StatisticsError(
                f"{' and '.join(promise.in_words for promise in requirements.promises)} cannot both be promised: the judge's values do "
                "not tell these items apart well enough. Allow more of the one or of the other"
            )
        answers = low if "harm" in by_kind else most
        return FittedThresholds(answers, min(by_kind.get("over_refusal", -np.inf), answers), promised)
    harm, question = requirements.costs
    if requirements.ask_cost is not None and requirements.ratio is not None and calibrator is not None:
        distinct, first = np.unique(values, return_index=True)
        safe, even = calibrator(values)[first], harm / (1 + harm)
        answers, refuses = (
            float(candidate_thresholds(distinct)[int((safe <= chance).sum())])
            for chance in (max(1 - question / harm, even), min(question, even))
        )
        return FittedThresholds(answers, refuses)
    if low > high:
        return FittedThresholds(low, high, promised)
    if requirements.ratio is None and len(promised) == 1:
        cut = promised[0].threshold
    else:
        cut = cheapest_threshold(values, evidence.weight[valued], harm, within=(low, high))
    return FittedThresholds(cut, cut, promised)


def held_out(
    evidence: Evidence, requirements: Requirements, *, method: str, seed: int = 0
) -> tuple[Codes, tuple[FittedThresholds, ...]]:
    """Return the decision on each item by thresholds fitted on other queries (ten folds), and the thresholds of each fold.

    In a fold a promise is tested as if all queries were there, so that the decisions are like those of thresholds from all
    queries. Where a fold keeps no promise, it refuses or asks.
    """
    folds = Folds.from_groups(evidence.cluster, n=min(N_FOLDS, len(np.unique(evidence.cluster))), seed=seed)
    n_as: dict[PromiseKind, int] = {promise.kind: evidence.queries(promise.kind) for promise in requirements.promises}
    decisions = np.full(len(evidence.value), DECISIONS.index(requirements.fail), dtype=np.intp)
    by_fold = []
    for fold in range(folds.n):
        inside = folds.of_row == fold
        learning = evidence.where(~inside)
        valued = ~np.isnan(learning.value)
        try:
            calibrator = (
                METHODS[method](learning.value[valued], learning.weight[valued]) if requirements.ask_cost else None
            )
            fitted = fit_thresholds(learning, requirements, calibrator=calibrator, n_as=n_as)
        except StatisticsError:
            asks = requirements.max_over_refusal is not None or requirements.max_needless_ask is not None
            fitted = FittedThresholds(np.inf, -np.inf if asks else np.inf)
        decisions[inside] = fitted.decide(evidence.value[inside], fail=requirements.fail)
        by_fold.append(fitted)
    return decisions, tuple(by_fold)


@dataclass(frozen=True, repr=False)
class Measurement(ShortRepr):
    """Rates and the cost of decisions, with intervals over queries."""

    harm: Estimate
    """Share answered, of the items that people would refuse."""
    over_refusal: Estimate
    """Share refused, of the items that people would answer."""
    asked: Estimate
    """Share of all items that a person is asked about."""
    answered_wrongly: Estimate
    """Share that people would refuse, of the items answered."""
    unscored: Estimate
    """Share of all items without a value."""
    cost: Estimate | None = None
    """Mean cost of an item in over-refusals, where a ratio is named."""
    needless_ask: Estimate | None = None
    """Share that a person is asked about, of the items that people would answer; None if asking was not possible."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates in the order of the table."""
        needless = () if self.needless_ask is None else (self.needless_ask,)
        return (self.harm, self.over_refusal, self.asked, *needless, self.answered_wrongly, self.unscored)


SHARES: dict[str, tuple[str, str]] = {
    "harm": ("harmed", "unsafe"),
    "over_refusal": ("over_refused", "safe"),
    "asked": ("asked", "items"),
    "needless_ask": ("asked_safe", "safe"),
    "answered_wrongly": ("harmed", "answered"),
    "unscored": ("unscored", "items"),
}


def measure_decisions(
    evidence: Evidence,
    decisions: Codes,
    *,
    requirements: Requirements,
    threshold_variances: Mapping[str, float] | None = None,
) -> Measurement:
    """Return rates and the cost of `decisions` on these items.

    `threshold_variances`: by name, the variance of each number from thresholds (`Trial.threshold_variances`).
    """
    level, numbers = requirements.interval_level, rates(evidence, decisions, requirements=requirements)
    estimates = {
        name: estimate_of(replace(number, threshold_variance=(threshold_variances or {}).get(name, 0.0)), level=level)
        for name, number in numbers.items()
    }
    cost = estimates.pop("cost")
    return Measurement(**estimates, cost=cost if requirements.ratio is not None else None)


def rates(evidence: Evidence, decisions: Codes, *, requirements: Requirements) -> dict[str, Measured]:
    r"""Return each share of `SHARES`, and the mean cost of an item in over-refusals,

    .. math:: \frac{1}{n} \sum_i w_i r_i + c\,(1 - w_i)\,a_i + d\,q_i,

    with *w* the weight of "safe", *r*, *a* and *q* whether the item is refused, answered or asked about, and *c* and *d* the
    costs of one harm and of one question.
    """
    refuse, ask, answer = (decisions == code for code in range(len(DECISIONS)))
    safe, unsafe = evidence.weight, 1 - evidence.weight
    harm, question = requirements.costs
    terms = {
        "items": np.ones(len(safe)),
        "safe": safe,
        "unsafe": unsafe,
        "harmed": unsafe * answer,
        "over_refused": safe * refuse,
        "asked": ask.astype(np.float64),
        "asked_safe": safe * ask,
        "answered": answer.astype(np.float64),
        "unscored": np.isnan(evidence.value).astype(np.float64),
        "cost": safe * refuse + harm * unsafe * answer + question * ask,
    }
    totals = TotalsByCluster.from_terms(terms, np.unique(evidence.cluster, return_inverse=True)[1])
    cost = share("cost", "cost", "items", kind="mean", domain=(0.0, max(1.0, harm, question)))
    shares = [share(name, top, bottom) for name, (top, bottom) in SHARES.items()]
    return {number.name: totals.measure(number) for number in (*shares, cost)}


@dataclass(frozen=True, repr=False)
class Trial(ShortRepr):
    """One judge with thresholds, and its decisions on held-out queries."""

    evidence: Evidence
    requirements: Requirements
    """The goal of the thresholds: without promises where these queries cannot carry them."""
    fitted: FittedThresholds
    decisions: Codes
    """Decision on each item, by thresholds fitted on other queries."""
    by_fold: tuple[FittedThresholds, ...]
    """The thresholds of each fold of queries."""
    broken: str | None = None
    """The reason why the promises cannot be given; the thresholds then minimise cost alone."""

    @classmethod
    def from_evidence(
        cls,
        evidence: Evidence,
        requirements: Requirements,
        *,
        calibrator: Calibrator | None = None,
        method: str,
        seed: int = 0,
    ) -> Self:
        """Fit thresholds that meet the requirements, or without the promises if these queries cannot keep them.

        Raises StatisticsError: no item has a value.
        """
        broken = None
        try:
            fitted = fit_thresholds(evidence, requirements, calibrator=calibrator)
        except StatisticsError as error:
            if not requirements.promises:
                raise
            requirements, broken = requirements.without_promises, error.words
            fitted = fit_thresholds(evidence, requirements, calibrator=calibrator)
        return cls(evidence, requirements, fitted, *held_out(evidence, requirements, method=method, seed=seed), broken)

    @cached_property
    def cost(self) -> Measured:
        """Mean cost of an item, held out."""
        return rates(self.evidence, self.decisions, requirements=self.requirements)["cost"]

    @property
    def threshold_variances(self) -> dict[str, float]:
        """The mean squared difference of each number by the thresholds of folds from that by the final ones.

        Decisions on held-out queries are by thresholds of their own, and their intervals are of the final ones: without this
        they held the truth in 87 % of benchmarks where the threshold is the cheapest, for cost is flat at its minimum and
        its two errors are not. With it, see `python -m benchmarks.coverage recommended`.
        """

        def numbers(fitted: FittedThresholds) -> FloatArray:
            decisions = fitted.decide(self.evidence.value, fail=self.requirements.fail)
            return np.array(
                [number.value for number in rates(self.evidence, decisions, requirements=self.requirements).values()]
            )

        squares = (np.array([numbers(fold) for fold in self.by_fold]) - numbers(self.fitted)) ** 2
        defined = ~np.isnan(squares)
        means = np.where(defined, squares, 0.0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
        return dict(zip((*SHARES, "cost"), means.tolist(), strict=True))

    @cached_property
    def measured(self) -> Measurement:
        """Rates and the cost of its decisions on held-out queries."""
        return measure_decisions(
            self.evidence, self.decisions, requirements=self.requirements, threshold_variances=self.threshold_variances
        )


def cheapest_trial(trials: Mapping[str, Trial]) -> str:
    """Return the name of the trial with the lowest held-out cost, among those that carry their promises where any does.

    Choosing by the queries that a promise and an interval rest on breaks them more often than they say, unless both were
    made for the best of so many judges (`Requirements.chosen_from`).
    """
    carried = {name: trial for name, trial in trials.items() if trial.broken is None} or trials
    return min(carried, key=lambda name: carried[name].cost.value)
