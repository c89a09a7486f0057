"""Thresholds for what somebody wants, and what decisions with them cost on queries that they were not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from casewise.errors import ConfigurationError, StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreeing.cost_of_thresholds import cheapest_threshold
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.measured import TotalsByCluster, share
from casewise.stats.deciding.calibrators import METHODS, Calibrator
from casewise.stats.deciding.promises import Evidence, Promised, PromiseKind, RiskPromise, kept_threshold
from casewise.stats.words.baseline import Folds

__all__ = ["DECISIONS", "Decision", "Fitted", "Measurement", "Wanted", "fit_thresholds", "held_out", "measured"]

Decision = Literal["answer", "refuse", "ask"]
"""What is done with a request."""

DECISIONS: tuple[Decision, ...] = ("refuse", "ask", "answer")

Codes = NDArray[np.intp]
"""Places in `DECISIONS`."""

N_FOLDS = 10


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
