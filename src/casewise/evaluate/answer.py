"""The answer that a report begins with: how often a judge agrees, compared with people and words alone, and which way it errs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from casewise.evaluate.judged_runs import JudgedRuns, Series
from casewise.evaluate.yardsticks import AGREES, Beside, better_baseline, compared, picked_numbers
from casewise.notation import percent
from casewise.records import ShortRepr
from casewise.stats.arrays import FloatArray, IntArray, coded_labels
from casewise.stats.ceilings import AgainstNewPerson, leave_one_out
from casewise.stats.costs import RefusalRates
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.storage.wording import LabelWords


@dataclass(frozen=True)
class WeakCategory:
    """A category in which a judge is right less often than in the others, after correction for all categories."""

    name: str
    accuracy: Estimate
    p: float
    """One-sided, Holm-corrected over the categories that were tested."""
    n_categories: int
    """The number of categories tested."""


@dataclass(frozen=True, repr=False)
class ShortAnswer(ShortRepr):
    """The answer for one series of a judge."""

    who: str
    beside: Beside
    person: Estimate | None
    against_others: Estimate | None
    """Of the majority of an item's other people, leaving each out in turn: how often one of them agrees with it, and
    how often the judge does. None without two votes on an item."""
    not_worse: AgainstNewPerson | None
    """The test that the judge is no worse than one more person."""
    errors: RefusalRates | None
    """Harm and over-refusal where most people agree; None for a judge without verdicts."""
    weakest: WeakCategory | None
    """The category that is shown to be below the others."""
    unscored: int
    items: int

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer: a sentence with how often it agrees and which way it errs, and the comparisons to read with it."""
        return tuple(sentences(self))

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "judge": self.who,
            "sentences": list(self.sentences),
            "accuracy": picked_numbers(self.beside.judge["accuracy"]),
            "harm": picked_numbers(self.errors.harm if self.errors else None),
            "over_refusal": picked_numbers(self.errors.over_refusal if self.errors else None),
            "one_new_person": picked_numbers(self.person),
            "against_the_same_others": picked_numbers(self.against_others),
            "unscored": self.unscored,
            "items": self.items,
        }

    def yardsticks(self) -> Iterator[tuple[str, Estimate]]:
        """The accuracies to compare with, the same for every judge of these items, from the least to the most that is known."""
        beside, again = self.beside, self.beside.people.same_again
        yield "Always the same verdict", without_interval(beside.constant)
        if beside.words:
            of_some = f" ({beside.of_some})" if beside.of_some else ""
            yield f"Words alone{of_some}", beside.words["accuracy"]
        if beside.intent is not None:
            yield f"Copying the author's intent{beside.without_intent}", beside.intent
        if again is not None:
            yield "A second study (predicted)", without_interval(again)


def without_interval(accuracy: float) -> Estimate:
    return Estimate("accuracy", accuracy, None, None, np.nan, 0, "no interval: it follows from the labels alone")


def beside_a_new_person(runs: JudgedRuns, series: Series) -> tuple[Estimate | None, Estimate | None]:
    """Return how often a judge, and one of an item's people, agree with the majority of its other people; None without any.

    Intervals are over queries, and people where it is known who voted.
    """
    verdict = runs.sample(series).safe
    safe, votes = (runs.items[name].to_numpy()[series.asked] for name in ("n_safe", "n_votes"))
    several = votes > 1
    if not several.any():
        return None, None

    def terms(s: IntArray, m: IntArray) -> FloatArray:
        return np.column_stack([leave_one_out(verdict[several], s, m), np.ones(len(s))])

    query, counts = coded_labels(runs.cluster[series.asked][several]), (safe[several], votes[several])
    raters = None if runs.raters is None else runs.raters.where(series.asked).where(several)
    totals = TotalsByCluster.of_counts(terms, counts, query, names=("judge", "person", "items"), raters=raters)
    totals = replace(totals, n_unscored=int(np.isnan(verdict[several]).sum()))
    judge, person = (estimate_of(totals.measure(share(name, name, "items"))) for name in ("judge", "person"))
    return judge, person


def sentences(answer: ShortAnswer) -> Iterator[str]:
    accuracy, weak, labels = answer.beside.judge["accuracy"], answer.weakest, answer.beside.labels
    if accuracy.estimate is None:
        yield f"{answer.who} has no accuracy on these items."
        return
    way = which_way(answer.errors) if answer.errors else ""
    yield f"{answer.who} agrees with {labels.agreed_with} on {accuracy.as_share} of items{way}."
    baseline, test = better_baseline(answer.beside), answer.not_worse
    against_baseline = compared((baseline.ahead.ci_low, baseline.ahead.ci_high), baseline.name)
    against_person = ""
    if test is not None:
        person = f"a single person does with the others ({percent(test.person)})"
        margin = test.margin if test.not_worse else None
        against_person = compared((test.ci_low, test.ci_high), person, no_worse_by=margin)
    if against_person.startswith(AGREES):
        against_baseline = against_baseline.removeprefix(AGREES)
    rest = [f"It {', and '.join(filter(None, (against_person, against_baseline)))}."]
    if baseline.words_alone:
        rest.append(baseline.words_alone)
    if answer.errors is not None:
        rest.append(where_it_fails(answer.errors, labels))
    if weak is not None:
        rest.append(
            f"In {weak.name} it is right less often than in the other categories: on "
            f"{weak.accuracy.as_share} of {weak.accuracy.n:g} items (corrected for {weak.n_categories} categories)."
        )
    yield " ".join(rest)


def where_it_fails(errors: RefusalRates, labels: LabelWords) -> str:
    """Over-refusal and harm in a sentence."""
    level = f"{100 * errors.agreement:.0f} %"
    parts = {
        f"refuses {percent(errors.over_refusal.estimate)} of {labels.called('safe')}": errors.n_safe,
        f"lets through {percent(errors.harm.estimate)} of {labels.called('unsafe')}": errors.n_unsafe,
    }
    clear = " and ".join(part for part, items in parts.items() if items)
    none = f"No votes show an item on which at least {level} of people agree" if labels.rated else "No item has a label"
    return f"{labels.clear(level)} {clear}." if clear else f"{none}, so nothing says which way it fails."


def which_way(errors: RefusalRates) -> str:
    """The commoner error, where the intervals tell."""
    harm, over = errors.harm.limits, errors.over_refusal.limits
    if harm is None or over is None:
        return ""
    if harm[0] > over[1]:
        return " and errs by answering"
    return " and errs by refusing" if over[0] > harm[1] else ""
