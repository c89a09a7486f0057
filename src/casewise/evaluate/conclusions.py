"""Conclusions: what estimates and the design behind them allow one to say, each with its condition and its sentence.

A conclusion holds, does not hold, or is unknown for a stated reason. It is made here from an estimate whose interval has a
floor for unseen errors (`casewise.stats.intervals`), or from a test that has it too, so that two commands cannot
contradict each other on the same runs. `conditions.toml` states the condition of each kind, and which simulations of
`benchmarks/coverage.py` count how often it is drawn wrongly; `scripts/write_reference.py` writes both into
`docs/reference/conclusions.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from casewise.notation import percent, points, spoken
from casewise.records.base import shipped_toml
from casewise.stats.ceilings import NewPersonTest
from casewise.stats.comparison import Decision, MetricGate, gate_metrics
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import ALIKE, UNSEEN, Estimate
from casewise.stats.metrics import is_share
from casewise.stats.thresholds import KeptPromise, RiskPromise
from casewise.text import Text, capitalised, count_of, first_few, join, text

if TYPE_CHECKING:
    from casewise.audits.subject import Finding

ConclusionKind = Literal[
    "better",
    "not told apart",
    "no worse",
    "differ",
    "alike",
    "at most",
    "promise",
    "best",
    "errs more",
    "below the others",
    "finding",
]


class Condition(NamedTuple):
    """The condition under which a conclusion of one kind holds or does not, and what keeps wrong ones rare."""

    holds: str
    does_not_hold: str
    wrong: str
    simulated: Sequence[str] = ()
    """The numbers of `docs/reference/coverage.csv` that count wrong ones, each with its section: `unseen-judges: better`."""
    not_simulated: str = ""
    """The reason why nothing is simulated."""


def conditions() -> dict[ConclusionKind, Condition]:
    """Return the condition of each kind of conclusion."""
    tables = shipped_toml("casewise.evaluate", "conditions.toml")
    return {kind: Condition(**tables[kind]) for kind in get_args(ConclusionKind)}


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
    subject: Text
    predicate: Text
    """What is said of the subject, for sentences that say several things of it."""
    metric: str
    estimate: float | None
    """The difference or the rate that it rests on."""
    low: float | None
    high: float | None
    """The limits that decided."""
    margin: float | None = None
    other: str = ""
    """What the subject is compared with."""
    words: str = ""
    """The template of the predicate, of a comparison with an interval."""

    @property
    def sentence(self) -> Text:
        """The outcome in words."""
        return text("{subject} {predicate}.", subject=self.subject, predicate=self.predicate)

    @property
    def holds(self) -> bool:
        """True if it is shown to hold; what is unknown does not count as shown."""
        return self.outcome == "holds"

    @property
    def fails(self) -> bool:
        """True if it is shown not to hold; what is unknown does not count as shown."""
        return self.outcome == "does not hold"

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


class Comparative(NamedTuple):
    """The predicates of the one with the higher number, and of the one with the lower."""

    more: str = "is better than {other} by {gap}"
    less: str = "is worse than {other} by {gap}"
    apart: str = "is not told apart from {other}: {gap}"
    same: str = "is not told apart from {other}: their numbers are alike on every {cluster}"


BETTER = Comparative()
AGREES = Comparative(
    "agrees more often than {other}",
    "agrees less often than {other}",
    "is not told apart from {other}",
    "is not told apart from {other}",
)
IS_RIGHT = Comparative(
    "is right more often than {other}, by {gap}",
    "is right less often than {other}, by {gap}",
    "is not told apart from {other}: {gap}",
)
CHEAPER = Comparative(
    "costs less than {other}, by {gap} over-refusals an item",
    "costs more than {other}: {gap} over-refusals an item",
    "is not shown to cost less than {other}: it saves {gap} over-refusals an item",
    "costs the same as {other} on every {query}",
)


def compared(first: str, second: str, difference: Estimate | None, *, words: Comparative = BETTER) -> Conclusion:
    """Return whether the first of two is better, worse, or not told apart from the second, from `first` less `second` in a metric.

    The metric is one of which more is better. Without an interval, the conclusion is unknown and says why.
    """
    subject = Text(first)
    if difference is not None and difference.estimate == 0 and difference.method in {ALIKE, UNSEEN}:
        predicate = text(words.same, other=second)
        return Conclusion("not told apart", "holds", subject, predicate, difference.name, 0.0, *difference.ends)
    if difference is None or difference.estimate is None or difference.limits is None:
        reason = "they have no metric in common" if difference is None else difference.method
        metric = "" if difference is None else difference.name
        estimate = None if difference is None else difference.estimate
        predicate = text("cannot be compared with {other}: {why}", other=second, why=reason)
        return Conclusion("better", Unknown(reason), subject, predicate, metric, estimate, None, None)
    numbers = (difference.name, difference.estimate, *difference.limits)
    low, high = difference.limits
    gap = gap_in_words(reversed_difference(difference) if high < 0 else difference)
    kind: ConclusionKind = "better" if low > 0 or high < 0 else "not told apart"
    template = words.more if low > 0 else words.less if high < 0 else words.apart
    return Conclusion(
        kind,
        "does not hold" if high < 0 else "holds",
        subject,
        text(template, other=second, gap=gap),
        *numbers,
        other=Text(second),
        words=template,
    )


def in_one_sentence(conclusions: Iterable[Conclusion]) -> Text:
    """Return the predicates of conclusions on one subject as a list, each verb once with all its objects."""
    said_of: dict[str, list[str]] = {}
    for each in conclusions:
        single = not each.words or "{gap}" in each.words
        said_of.setdefault("{other}" if single else each.words, []).append(each.predicate if single else each.other)
    separator = {AGREES.apart: " or from ", "{other}": ", and "}
    return join(
        ", and ",
        (text(words, other=join(separator.get(words, " and than "), subjects)) for words, subjects in said_of.items()),
    )


def against_person(judge: str, test: NewPersonTest) -> Conclusion:
    """Return whether a judge agrees with people more or less often than one more person, no less by the margin, or neither is told."""
    difference = Estimate("accuracy", test.difference, test.ci_low, test.ci_high, test.items, 0, "")
    person = f"one person ({percent(test.person)})"
    comparison = compared(judge, person, difference, words=AGREES)
    if not test.not_worse or (comparison.kind == "better" and comparison.holds):
        return comparison
    numbers = ("accuracy", test.difference, test.low, None, test.margin)
    margin = size_of("accuracy", test.margin)
    predicate = (
        text("{less}, by at most {margin}", less=comparison.predicate, margin=margin)
        if comparison.fails
        else text("agrees as often as {person}, or at most {margin} less", person=person, margin=margin)
    )
    return Conclusion("no worse", "holds", comparison.subject, predicate, *numbers)


def no_worse(run: str, baseline: str, gate: MetricGate) -> Conclusion:
    """Return whether a run is no worse than its baseline by more than a gate's margin in one metric."""
    metric = gate.metric
    title = metric.titled(gate_metrics()[metric.name].title)
    outcome, words = NO_WORSE[gate.decision]
    predicate = text(words, baseline=baseline, metric=title, margin=size_of(metric.name, gate.margin))
    return Conclusion(
        "no worse", outcome, Text(run), predicate, str(metric), gate.drop, gate.low, gate.high, gate.margin
    )


NO_WORSE: Mapping[Decision, tuple[Outcome, str]] = {
    "pass": ("holds", "is not worse than {baseline} in {metric} by {margin} or more"),
    "fail": ("does not hold", "is worse than {baseline} in {metric} by more than {margin}"),
    "inconclusive": (
        Unknown("the bounds of the drop lie on both sides of the margin"),
        "may or may not be worse than {baseline} in {metric} by more than {margin}",
    ),
}
"""The outcome and the predicate of each decision of a gate."""


def promise_made(promised: KeptPromise, *, chosen_from: int = 1) -> Conclusion:
    """Return the conclusion that an error of a decider is within its promise. `chosen_from`: the number of judges that it
    is the best of."""
    promise = promised.promise
    if promise.level is None:
        confidence = Text("on average over benchmarks like this one, not for each")
    else:
        confidence = Text(f"with {100 * (1 - (1 - promise.level) * chosen_from):.4g} % confidence")
        if chosen_from > 1:
            confidence += text(", for the best of {n:judge} compared on these {queries}", n=chosen_from)
    predicate = text(
        "is at most {at_most:.4g} % on {queries} like these, {confidence}",
        at_most=100 * promise.at_most,
        confidence=confidence,
    )
    numbers = (promise.kind, promised.loss, None, None, promise.at_most)
    return Conclusion("promise", "holds", capitalised(promise.error), predicate, *numbers)


def promise_refused(promise: RiskPromise, reason: str) -> Conclusion:
    """Return that an error of a decider is not promised to be at most so much, and the reason."""
    predicate = text(
        "is not promised to be at most {at_most:.4g} % on {queries} like these", at_most=100 * promise.at_most
    )
    numbers = (promise.kind, None, None, None, promise.at_most)
    return Conclusion("promise", Unknown(reason), capitalised(promise.error), predicate, *numbers)


def finding_made(finding: Finding) -> Conclusion:
    """Return what an audit found."""
    return Conclusion(
        "finding", "holds", Text("The audit finds:"), Text(finding.title), finding.code, finding.share, None, None
    )


def unchecked_finding(reason: str) -> Conclusion:
    """Return the conclusion of a check that an audit left out, with the reason."""
    return Conclusion(
        "finding", Unknown(reason), Text("The audit"), text("did not check: {why}", why=reason), "", None, None, None
    )


def best_of(
    may_be_best: Sequence[str],
    others: Sequence[str],
    *,
    metric: str,
    people: str = "people",
    value: str = "",
    noun: str = "judge",
) -> Conclusion:
    """Return which of several judges agrees most with people; unknown where several may.

    `may_be_best`: those that no other is shown to be better than.
    `value`: the highest number, with its name.
    """
    numbers = (metric, None, None, None)
    if len(may_be_best) == 1:
        predicate = text("agrees most with {people}{value}", people=people, value=f" ({value})" if value else "")
        return Conclusion("best", "holds", Text(may_be_best[0]), predicate, *numbers)
    clause = text(". One of these agrees more often than {others}", others=first_few(others)) if others else Text("")
    predicate = text(
        "do not tell which {noun} agrees most with {people}: it may be {any}{behind}",
        noun=noun,
        people=people,
        any=first_few(may_be_best, last="or"),
        behind=clause,
    )
    reason = f"no other is shown to be better than any of {count_of(len(may_be_best), noun)}"
    return Conclusion("best", Unknown(reason), Text("These items"), predicate, *numbers)


def highest(judge: str, value: str, *, n: int, labels: str) -> Conclusion:
    """Return which of several judges has the highest number; that it is the best one is unknown without intervals of differences.

    `value`: the number, with its interval.
    `labels`: what the number counts agreement with, such as "the paper's labels".
    """
    predicate = text(
        "has the highest of {n} accuracies against {labels}: {value}. These tables have no intervals of differences, so they do not "
        "tell which judge is best",
        n=n,
        labels=labels,
        value=value,
    )
    return Conclusion(
        "best", Unknown("no intervals of differences"), Text(judge), predicate, "accuracy", None, None, None
    )


def corrected_for_picking(judge: str, corrected: Estimate, *, value: str) -> Text:
    """Return the highest number, and its estimate corrected for the choice of the highest.

    `value`: the number itself, with its name.
    """
    corrected_words = corrected.as_share if is_share(corrected.name) else gap_in_words(corrected)
    if is_share(corrected.name) and corrected.ci_low == 0:  # the choice explains all of it
        corrected_words = f"at most {percent(corrected.ci_high)}"
    return text(
        "{judge} has the highest number, {value}. Corrected for this choice, it is {left}.",
        judge=judge,
        value=value,
        left=corrected_words,
    )


class Contrast(NamedTuple):
    """A contrast of two conditions: whether they differ, and whether they are alike within the margin."""

    differ: Conclusion
    alike: Conclusion

    @property
    def outcome(self) -> Conclusion:
        """The one of the two to state first."""
        return self.alike if self.alike.holds and not self.differ.holds else self.differ


def contrast(
    first: str,
    second: str,
    difference: Estimate,
    *,
    p: float | None,
    p_alike: float | None,
    margin: float,
    level: float = 0.05,
    more: str = "more",
) -> Contrast:
    """Return whether two conditions differ, and whether by less than a margin, from tests that are corrected for all contrasts.

    `difference`: first less second; without limits nothing is known, and its method says why.
    `p`, `p_alike`: of the test that they differ, and of the two one-sided tests that they do so by less than `margin`
        (`casewise.stats.contrasts.Difference.equivalence_p`, which has the floor); None where the design says nothing.
    `more`: begins "… 5.0 points more under one condition".
    """
    low, high = difference.ends
    numbers = (difference.name, difference.estimate, low, high)
    if p is None or difference.estimate is None:
        reason = difference.method
        predicate = text("is not compared with {second}: {why}", second=second, why=reason)
        differ = Conclusion("differ", Unknown(reason), Text(first), predicate, *numbers)
    elif p <= level:
        higher, lower, gap = (first, second, difference)
        if difference.estimate < 0:
            higher, lower, gap = second, first, reversed_difference(difference)
        predicate = text(
            "{gap} more under {ahead} than under {behind}", gap=gap_in_words(gap), ahead=higher, behind=lower
        )
        differ = Conclusion("differ", "holds", Text(more), predicate, *numbers)
    else:
        values = {"first": first, "second": second, "gap": gap_in_words(difference)}
        predicate = text("between {first} and {second} is not shown: {gap}", **values)
        differ = Conclusion("differ", Unknown("the test does not reject"), Text("A difference"), predicate, *numbers)
    return Contrast(differ, alike(first, second, difference, p=p_alike, margin=margin, level=level))


def group_differs(group: str, difference: Estimate, *, p: float | None, rates: str, level: float = 0.05) -> Conclusion:
    """Return whether a group of annotators answers otherwise than the other people do about the same items.

    `p`: corrected for all groups; None where the two are not compared, and the difference's method says why.
    `rates`: what differs, in the plural, such as "safe rates".
    """
    outcome: Outcome = Unknown("the test does not reject")
    words, gap, above = "are not shown to differ from other people on the same items: {gap}", difference, "above"
    if p is None or difference.estimate is None:
        outcome, words = Unknown(difference.method), "are not compared with other people: {why}"
    elif p <= level:
        outcome, words = "holds", "have {rates} {gap} {above} those of other people on the same items"
        if difference.estimate < 0:
            gap, above = reversed_difference(difference), "below"
    predicate = text(words, rates=rates, gap=gap_in_words(gap), above=above, why=difference.method)
    return Conclusion("differ", outcome, Text(group), predicate, difference.name, difference.estimate, *difference.ends)


def alike(
    first: str, second: str, difference: Estimate, *, p: float | None, margin: float, level: float = 0.05
) -> Conclusion:
    """Return whether two conditions or judges differ by less than a margin; `p` as `p_alike` of `contrast`."""
    low, high = difference.ends
    outcome: Outcome = Unknown("the tests place the difference neither within the margin nor outside it")
    words = "may or may not differ by less than {margin}: {gap}"
    if p is None or low is None or high is None:
        outcome, words = Unknown(difference.method), "may or may not differ by less than {margin}"
    elif p <= level:
        outcome, words = "holds", "differ by less than {margin}: {gap}"
    elif low > margin or high < -margin:
        outcome, words = "does not hold", "differ by more than {margin}: {gap}"
    predicate = text(words, margin=size_of(difference.name, margin), gap=gap_in_words(difference))
    pair = text("{first} and {second}", first=first, second=second)
    return Conclusion("alike", outcome, pair, predicate, difference.name, difference.estimate, low, high, margin)


def at_most(subject: str, rate: Estimate, *, limit: float, least: bool = False) -> Conclusion:
    """Return whether a rate, such as harm, is at most `limit`; with `least`, whether one such as accuracy is at least that."""
    title = gate_metrics()[rate.name].title if rate.name in gate_metrics() else spoken(rate.name)
    named = text("The {title} of {subject}", title=title, subject=subject)
    bound, beyond = ("at least", "below") if least else ("at most", "above")
    low, high = rate.ends
    outcome: Outcome = Unknown("the interval of the rate contains the limit")
    words = "may or may not be {bound} {limit}: {share}"
    if low is None or high is None:
        outcome, words = Unknown(rate.method), "is not known: {why}"
    elif (low >= limit) if least else (high <= limit):
        outcome, words = "holds", "is {bound} {limit}: {share}"
    elif (high < limit) if least else (low > limit):
        outcome, words = "does not hold", "is {beyond} {limit}: {share}"
    predicate = text(words, bound=bound, beyond=beyond, limit=percent(limit), share=rate.as_share, why=rate.method)
    return Conclusion("at most", outcome, named, predicate, rate.name, rate.estimate, low, high, limit)


def errs_more(judge: str, errors: RefusalRates) -> Conclusion:
    """Return whether a judge errs more by answering than by refusing."""
    harm, over = errors.harm, errors.over_refusal
    outcome: Outcome = Unknown("the intervals of both errors overlap")
    words = "is not shown to err more by answering or by refusing"
    if harm.limits is None or over.limits is None:
        outcome = Unknown(harm.method if harm.limits is None else over.method)
    elif harm.limits[0] > over.limits[1]:
        outcome, words = "holds", "errs more by answering"
    elif over.limits[0] > harm.limits[1]:
        outcome, words = "does not hold", "errs more by refusing"
    return Conclusion("errs more", outcome, Text(judge), Text(words), "harm", harm.estimate, *harm.ends)


def below_others(judge: str, category: str, accuracy: Estimate, *, p: float, categories: int) -> Conclusion:
    """Return the conclusion whether a judge is right less often in one category than in the others.

    `p`: one-sided, corrected for all categories that were tested.
    """
    numbers = (accuracy.name, accuracy.estimate, *accuracy.ends)
    if p > 0.05:
        predicate = text(
            "is not shown to be right less often in {category} than in the other categories", category=category
        )
        return Conclusion("below the others", Unknown("the test does not reject"), Text(judge), predicate, *numbers)
    predicate = text(
        "is right less often in {category} than in the other categories: on {share} of {n:item} (corrected for {all:category})",
        category=category,
        share=accuracy.as_share,
        n=accuracy.n,
        all=categories,
    )
    return Conclusion("below the others", "holds", Text(judge), predicate, *numbers)


def reversed_difference(difference: Estimate) -> Estimate:
    """Return the difference the other way round."""
    ends = (difference.estimate, difference.ci_high, difference.ci_low)
    estimate, low, high = (None if end is None else 0.0 - end for end in ends)
    return replace(difference, estimate=estimate, ci_low=low, ci_high=high)


def gap_in_words(difference: Estimate) -> str:
    """Return a difference with its interval: of shares in points."""
    low, high = difference.ends
    if difference.estimate is None:
        return "–"
    if is_share(difference.name):
        return points(difference.estimate, low, high)
    limits = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{difference.estimate:.3f}{limits}"


def in_words(value: float, metric: str) -> str:
    """Return a number without its interval: of a share in per cent."""
    return percent(value) if is_share(metric) else f"{value:.3f}"


def size_of(metric: str, margin: float) -> str:
    """Return a margin in words: of shares in points."""
    return f"{100 * margin:g} points" if is_share(metric) else f"{margin:g}"


def conclusions_json(conclusions: Iterable[Conclusion]) -> list[dict[str, Any]]:
    """Return conclusions as plain JSON values."""
    return [conclusion.as_json() for conclusion in conclusions]
