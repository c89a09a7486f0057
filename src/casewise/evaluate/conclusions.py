"""Conclusions: what estimates and the design behind them allow one to say, each with its condition and its sentence.

A conclusion holds, does not hold, or is unknown for a stated reason. It is made here from an estimate whose interval has a
floor for errors that nobody saw (`casewise.stats.intervals`), so that two commands cannot contradict each other on the same
runs. `KINDS` states the condition of each kind and the worlds in which the sections `unseen-…` of `benchmarks/coverage.py`
simulate how often it is drawn wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from casewise.notation import percent, points, spoken
from casewise.stats.comparison import MetricGate
from casewise.stats.estimates import NO_SHARES, Estimate
from casewise.text import Text, text

ConclusionKind = Literal["better", "not told apart", "no worse", "alike", "at most"]


class Condition(NamedTuple):
    """When a conclusion of one kind holds, when it does not, and what keeps wrong ones rare."""

    holds: str
    does_not_hold: str
    wrong: str


KINDS: Mapping[ConclusionKind, Condition] = {
    "better": Condition(
        "The interval of the difference lies above 0. Intervals of several judges hold together.",
        "The interval lies below 0.",
        "At most one comparison in twenty calls one of any two equal judges better.",
    ),
    "not told apart": Condition(
        "The interval of the difference holds 0.",
        "The interval lies on one side of 0.",
        "It claims no equality: the two may differ by anything in the interval.",
    ),
    "no worse": Condition(
        "The lower 95 % bound of the difference lies above the margin, with a query reckoned in that is lost and was not seen.",
        "The upper 95 % bound lies below the margin.",
        "At most one in twenty of those that are worse by exactly the margin are called no worse.",
    ),
    "alike": Condition(
        "Two one-sided tests at 5 % place the difference within the margin on both sides.",
        "The interval lies outside the margin on one side.",
        "At most one in twenty of those that differ by exactly the margin are called alike.",
    ),
    "at most": Condition(
        "The upper limit of the rate lies at or below the limit.",
        "The lower limit of the rate lies above the limit.",
        "At most one in twenty of rates above the limit are called within it.",
    ),
}
"""The condition of each kind of conclusion."""


@dataclass(frozen=True)
class Unknown:
    """The data do not say whether a conclusion holds."""

    reason: str


Outcome = Literal["holds", "does not hold"] | Unknown


@dataclass(frozen=True)
class Conclusion:
    """A statement about judges or conditions, and what the data say of it."""

    kind: ConclusionKind
    outcome: Outcome
    sentence: Text
    """The outcome in words."""
    metric: str
    estimate: float | None
    """The difference or the rate that it rests on."""
    low: float | None
    high: float | None
    """The limits that decided."""
    margin: float | None = None

    @property
    def holds(self) -> bool:
        """True if it is shown to hold; what is unknown does not count as shown."""
        return self.outcome == "holds"

    def as_json(self) -> dict[str, Any]:
        """Return the conclusion as plain JSON values."""
        unknown = self.outcome if isinstance(self.outcome, Unknown) else None
        return {
            "conclusion": self.kind,
            "outcome": "unknown" if unknown else self.outcome,
            "reason": unknown.reason if unknown else None,
            "sentence": str(self.sentence),
            **{name: getattr(self, name) for name in ("metric", "estimate", "low", "high", "margin")},
        }


def compared(first: str, second: str, difference: Estimate | None) -> Conclusion:
    """Return which of two judges is better, or that they are not told apart, from `first` less `second` in a metric.

    The metric is one of which more is better. Without an interval, the conclusion is unknown and says why.
    """
    if difference is None or difference.estimate is None or difference.limits is None:
        why = "they have no metric in common" if difference is None else difference.method
        metric = "" if difference is None else difference.name
        estimate = None if difference is None else difference.estimate
        said = text("{first} and {second} cannot be compared: {why}.", first=first, second=second, why=why)
        return Conclusion("better", Unknown(why), said, metric, estimate, None, None)
    low, high = difference.limits
    if low > 0 or high < 0:
        ahead, behind = (first, second) if low > 0 else (second, first)
        gap = gap_in_words(difference if low > 0 else reversed_difference(difference))
        said = text("{ahead} is better than {behind} by {gap}.", ahead=ahead, behind=behind, gap=gap)
        return Conclusion(
            "better", "holds" if low > 0 else "does not hold", said, difference.name, difference.estimate, low, high
        )
    gap = gap_in_words(difference)
    said = text("{first} and {second} are not told apart: {gap}.", first=first, second=second, gap=gap)
    return Conclusion("not told apart", "holds", said, difference.name, difference.estimate, low, high)


def no_worse(run: str, baseline: str, gate: MetricGate) -> Conclusion:
    """Return whether a run is no worse than its baseline by more than a gate's margin in one metric."""
    values = {"run": run, "baseline": baseline, "metric": gate.name, "margin": size_of(gate.name, gate.margin)}
    bounds = (gate.drop, gate.low, gate.high, gate.margin)
    if gate.high < gate.margin:
        said = text("{run} is no worse than {baseline} in {metric} by {margin} or more.", **values)
        return Conclusion("no worse", "holds", said, gate.name, *bounds)
    if gate.low > gate.margin:
        said = text("{run} is worse than {baseline} in {metric} by more than {margin}.", **values)
        return Conclusion("no worse", "does not hold", said, gate.name, *bounds)
    why = "the bounds of the drop lie on both sides of the margin"
    said = text("Whether {run} is worse than {baseline} in {metric} by more than {margin} is not known.", **values)
    return Conclusion("no worse", Unknown(why), said, gate.name, *bounds)


def alike(first: str, second: str, difference: Estimate, *, p: float | None, margin: float) -> Conclusion:
    """Return whether two conditions or judges differ by less than a margin.

    `p`: of two one-sided tests with the floor, such as `casewise.stats.contrasts.Difference.equivalence_p`; None where the design
        says nothing, and the estimate's method then says why.
    """
    low, high = difference.limits or (None, None)
    size = size_of(difference.name, margin)
    values = {"first": first, "second": second, "margin": size}
    if p is None or low is None or high is None:
        said = text("Whether {first} and {second} differ by less than {margin} is not known.", **values)
        return Conclusion(
            "alike", Unknown(difference.method), said, difference.name, difference.estimate, low, high, margin
        )
    if p <= 0.05:
        said = text("{first} and {second} differ by less than {margin}.", **values)
        return Conclusion("alike", "holds", said, difference.name, difference.estimate, low, high, margin)
    if low > margin or high < -margin:
        said = text("{first} and {second} differ by more than {margin}.", **values)
        return Conclusion("alike", "does not hold", said, difference.name, difference.estimate, low, high, margin)
    said = text("Whether {first} and {second} differ by less than {margin} is not known.", **values)
    why = "the tests place the difference neither within the margin nor outside it"
    return Conclusion("alike", Unknown(why), said, difference.name, difference.estimate, low, high, margin)


def at_most(subject: str, rate: Estimate, *, limit: float) -> Conclusion:
    """Return whether a rate, such as harm, is at most `limit`."""
    values = {"subject": subject, "rate": spoken(rate.name), "limit": percent(limit), "share": rate.as_share}
    low, high = rate.limits or (None, None)
    numbers = (rate.name, rate.estimate, low, high, limit)
    if low is None or high is None:
        said = text("The {rate} of {subject} is not known: {why}.", **values, why=rate.method)
        return Conclusion("at most", Unknown(rate.method), said, *numbers)
    if high <= limit:
        return Conclusion(
            "at most", "holds", text("The {rate} of {subject} is at most {limit}: {share}.", **values), *numbers
        )
    if low > limit:
        said = text("The {rate} of {subject} is above {limit}: {share}.", **values)
        return Conclusion("at most", "does not hold", said, *numbers)
    said = text("Whether the {rate} of {subject} is at most {limit} is not known: {share}.", **values)
    return Conclusion("at most", Unknown("the interval of the rate holds the limit"), said, *numbers)


def reversed_difference(difference: Estimate) -> Estimate:
    """Return the difference the other way round."""
    fields = vars(difference) | {
        "estimate": negative(difference.estimate),
        "ci_low": negative(difference.ci_high),
        "ci_high": negative(difference.ci_low),
    }
    return Estimate(**fields)


def negative(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


def gap_in_words(difference: Estimate) -> str:
    """Return a difference with its interval: of shares in points."""
    low, high = difference.limits or (None, None)
    if difference.estimate is None:
        return "–"
    if difference.name not in NO_SHARES:
        return points(difference.estimate, low, high)
    limits = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{difference.estimate:.3f}{limits}"


def size_of(metric: str, margin: float) -> str:
    """Return a margin in words: of shares in points."""
    return f"{margin:g}" if metric.partition(" ")[0] in NO_SHARES else f"{100 * margin:g} points"
