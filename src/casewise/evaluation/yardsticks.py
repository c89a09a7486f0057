"""What a judge's headline number is to be read beside: vocabulary, the author's intent, a constant verdict, people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from casewise.auditing.subject import AuditOptions, Subject
from casewise.errors import StatisticsError
from casewise.evaluation.judged_runs import JudgedRuns
from casewise.records import ShortRepr
from casewise.records.base import digest
from casewise.stats.agreeing.estimates import STUDENT, Estimate, difference_of, estimate_of, measure
from casewise.stats.agreeing.judged import judged_by_raters
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy
from casewise.stats.agreeing.metrics import metrics_named
from casewise.stats.agreeing.sample import Sample, UnscoredPolicy, constant_accuracy, right
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray, renumbered
from casewise.stats.core.measured import Measured, TotalsByCluster, share
from casewise.stats.people.ceiling import Ceilings, ceilings
from casewise.stats.people.oracle import OracleAccuracy, oracle_accuracy
from casewise.stats.people.panel import panel_curve, reference_weight, usual_reference
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.worked_out import worked_out_numbers

__all__ = [
    "Backdrop",
    "Beside",
    "People",
    "against_others",
    "besides",
    "or_none",
    "plain",
    "share_in_words",
    "what_it_shows",
]

T = TypeVar("T")

NAMES = ("accuracy", "pearson", "brier")


def besides(
    runs: JudgedRuns, backdrop: Backdrop, *, policy: LabelPolicy, unscored: UnscoredPolicy = "miss"
) -> dict[str, Beside]:
    """The yardsticks beside each of the main series, by its name.

    A series without any verdict or label has nothing to be read beside, and is absent.
    """
    found = {}
    for series in runs.main_series:
        sample = runs.sample(series, policy=policy, unscored=unscored)
        if sample.in_label_metrics.any() and sample.scored.any():
            found[series.name] = backdrop.beside(sample, series.asked, policy=policy)
    return found


@dataclass(frozen=True, repr=False)
class Backdrop(ShortRepr):
    """A benchmark's own yardsticks, computed once and held beside any number of judges."""

    benchmark: Benchmark
    seed: int = 0
    _people: dict[bytes, People] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By which items were asked, for judges that were asked the same."""

    @cached_property
    def subject(self) -> Subject:
        """The benchmark as the audit sees it; its classifier is that of the judge `linear`."""
        return Subject(self.benchmark, AuditOptions(seed=self.seed))

    @cached_property
    def words(self) -> FloatArray:
        """P(safe) of each item from the words of its context, which no report reads again."""
        found = self.subject.baseline
        vars(self.subject).pop("context_words", None)
        return found

    def beside(self, sample: Sample, asked: BoolArray, *, policy: LabelPolicy = VOTES) -> Beside:
        """The yardsticks on the items that a judge was asked, and how the judge differs from the classifier.

        `sample`: the judge's, over the items of `asked`.
        `asked`: (items,) which of the benchmark's items those are.
        """
        subject = self.subject
        judge = self.measured(sample)
        read = asked & subject.words_read
        fitted = subject.why_no_baseline is None and read.any()
        words = self.values(self.words, read, "probability", policy) if fitted else None
        judge_there = judge if (read == asked).all() else self.measured(sample.where(read[asked]))
        intent = (
            None if np.isnan(subject.intended[asked]).all() else self.values(subject.intended, asked, "binary", policy)
        )
        others = self.people(asked)
        verdicts = {"judge": sample.safe}
        if words and judge_there is judge:
            verdicts["words"] = (self.words[asked] > 0.5).astype(float)
        if intent:
            verdicts["intent"] = subject.intended[asked]
        return Beside(
            judge={name: estimate_of(found) for name, found in judge.items()},
            words={name: estimate_of(found) for name, found in (words or {}).items()},
            why_no_words=subject.why_no_baseline,
            words_of=None if judge_there is judge else int(read.sum()),
            ahead_of_words=difference_of(judge_there["accuracy"], words["accuracy"]) if words else None,
            intent=estimate_of(intent["accuracy"]) if intent else None,
            constant=constant_accuracy(sample.weight[sample.labelled]),
            people=others,
            against_others=against_others(subject, asked, verdicts, reference_size=others.others)
            if others.others
            else {},
        )

    def people(self, asked: BoolArray) -> People:
        """What people's votes on the items of `asked` allow."""
        key = asked.tobytes()
        if key not in self._people:
            self._people[key] = people(self.subject, asked)
        return self._people[key]

    def values(
        self, values: FloatArray, asked: BoolArray, elicitation: Any, policy: LabelPolicy
    ) -> dict[str, Measured]:
        subject = self.subject
        whole = judged_by_raters(
            subject.items, values, subject.raters, elicitation=elicitation, policy=policy, cluster=subject.query
        )
        return self.measured(whole if asked.all() else whole.where(asked))

    def measured(self, sample: Sample) -> dict[str, Measured]:
        return {one.name: one for one in measure(sample, metrics=metrics_named(*NAMES))}


@dataclass(frozen=True, repr=False)
class People(ShortRepr):
    """What people's votes allow, on some items."""

    one_person: Estimate | None
    """How often one person agrees with the majority of `others` others."""
    others: int
    same_again: float | None
    """How often a second study of this size would agree with this one."""
    oracle: OracleAccuracy | None
    """How often one who knows what a very large crowd says would."""
    ceilings: Ceilings | None

    @property
    def others_in_words(self) -> str:
        """Who one is held against."""
        return f"{self.others} {'person' if self.others == 1 else 'people'}" if self.others else "people"


@dataclass(frozen=True, repr=False)
class Beside(ShortRepr):
    """A judge's numbers and what to read them beside."""

    judge: dict[str, Estimate]
    words: dict[str, Estimate]
    """The context-only classifier's numbers; empty where there is none, and `why_no_words` then says why."""
    why_no_words: str | None
    words_of: int | None
    """How many items the classifier's numbers are over, where words are not read of all."""
    ahead_of_words: Estimate | None
    """The judge's accuracy less the classifier's, on the same items."""
    intent: Estimate | None
    constant: float
    """The accuracy of the better constant verdict."""
    people: People
    against_others: dict[str, Estimate]
    """Accuracy of each against the majority of `people.others` people, who is one person's reference too: the judge's,
    the words', the intent's, the better constant verdict's. Items with more votes than that."""

    @property
    def of_some(self) -> str:
        """Over how many items the classifier's numbers are, where not over all; otherwise nothing."""
        return "" if self.words_of is None else f"of {self.words_of:,} items drawn at random"

    @property
    def without_intent(self) -> str:
        """How many items state no intent, and count as wrong where it is copied; nothing where all do."""
        none = self.intent.n_unscored if self.intent else 0
        return f" ({none:,} without)" if none else ""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            **({} if self.words_of is None else {"words_of": self.words_of}),
            "words": {name: plain(found) for name, found in self.words.items()},
            "why_no_words": self.why_no_words,
            "ahead_of_words": plain(self.ahead_of_words),
            "intent": plain(self.intent),
            "constant": self.constant,
            "one_person": plain(self.people.one_person),
            "others": self.people.others,
            "against_others": {name: plain(found) for name, found in self.against_others.items()},
            "second_study": self.people.same_again,
            "oracle": asdict(self.people.oracle) if self.people.oracle else None,
            "highest_pearson": self.people.ceilings.pearson if self.people.ceilings else None,
            "sentence": what_it_shows(self),
        }


def plain(found: Estimate | None) -> dict[str, float | None] | None:
    return found.picked() if found else None


def against_others(
    subject: Subject, asked: BoolArray, verdicts: dict[str, FloatArray], *, reference_size: int
) -> dict[str, Estimate]:
    """Accuracy against the majority of so many people, over all draws of them; a missing verdict is wrong."""
    rows = asked & (subject.n_votes > reference_size)
    if not rows.any():
        return {}
    said = {name: verdict[rows[asked]] for name, verdict in verdicts.items()}
    counts = subject.n_safe[rows], subject.n_votes[rows]
    whole = reference_weight(*counts, reference_size=reference_size)
    said["constant"] = np.full(len(whole), float(whole.mean() >= 0.5))

    def terms(safe: IntArray, votes: IntArray) -> FloatArray:
        weight = reference_weight(safe, votes, reference_size=reference_size)
        return np.column_stack([np.ones(len(safe)), *(right(verdict, weight) for verdict in said.values())])

    query = renumbered(subject.query[rows])
    who = None if subject.raters is None else subject.raters.where(rows)
    totals = TotalsByCluster.of_counts(terms, counts, query, names=("items", *said), raters=who)
    return {name: estimate_of(totals.measure(share(name, name, "items"))) for name in said}


def people(subject: Subject, asked: BoolArray) -> People:
    rows = asked & (subject.n_votes > 0)
    safe, votes, query = subject.n_safe[rows], subject.n_votes[rows], subject.query[rows]
    if not rows.any():
        return People(None, 0, None, None, None)
    others = usual_reference(votes)

    who = None if subject.raters is None else subject.raters.where(rows)

    def one_person() -> Estimate:
        curve = panel_curve(safe, votes, clusters=query, reference_size=others, largest=1, raters=who)
        low, high = (float(end) if np.isfinite(end) else None for end in (curve.ci_low[0], curve.ci_high[0]))
        return Estimate("one_person", float(curve.agreement[0]), low, high, curve.items, 0, STUDENT)

    again = subject.same_again[rows] if votes.max() > 1 else np.full(1, np.nan)
    return People(
        one_person=or_none(one_person),
        others=others,
        same_again=None if np.isnan(again).all() else float(np.nanmean(again)),
        oracle=or_none(lambda: oracle_of(subject, rows)),
        ceilings=or_none(lambda: ceilings(safe, votes)),
    )


def oracle_of(subject: Subject, rows: BoolArray) -> OracleAccuracy:
    """The oracle's accuracy on the items of `rows`. It is the benchmark's own, and so kept for the next report."""
    seed = subject.options.seed

    def work() -> dict[str, float]:
        found = oracle_accuracy(
            subject.n_safe[rows],
            subject.n_votes[rows],
            rng=np.random.default_rng(seed),
            clusters=subject.query[rows],
            strata=subject.condition[rows],
        )
        counted = {name: float(value) for name, value in asdict(found).items() if name != "by_prior"}
        return counted | found.by_prior

    ids = "all" if rows.all() else digest(sorted(subject.items["item_id"].to_numpy()[rows].tolist()))
    numbers = worked_out_numbers(subject.benchmark, f"oracle of items {ids}, seed {seed}", work, made_with="scipy")
    low, high, ties, items = (numbers.pop(name) for name in ("ci_low", "ci_high", "ties", "items"))
    return OracleAccuracy(numbers, low, high, int(ties), int(items))


def or_none(question: Callable[[], T]) -> T | None:
    """The answer; None where the votes allow none."""
    try:
        return question()
    except StatisticsError:
        return None


def what_it_shows(found: Beside) -> str:
    """In one sentence: what the judge's accuracy does and does not show."""
    accuracy = found.judge["accuracy"].estimate
    if accuracy is None:
        return "The judge has no accuracy here, so there is nothing to read beside anything."
    agrees = f"The judge agrees with people on {share_in_words(accuracy)} of items, where a constant verdict does on {share_in_words(found.constant)}"
    if found.ahead_of_words is None:
        return f"{agrees}; how far the context's words alone would go could not be measured ({found.why_no_words})."
    words = share_in_words(found.words["accuracy"].estimate)
    ahead = found.ahead_of_words
    if ahead.ci_low is not None and ahead.ci_low > 0:
        shows = (
            f"more than a classifier that reads only the context's words ({words}), so it shows more than vocabulary"
        )
    elif ahead.ci_high is not None and ahead.ci_high < 0:
        shows = (
            f"less than a classifier that reads only the context's words ({words}), so it does not show that the judge "
            "weighs more than vocabulary"
        )
    else:
        shows = (
            f"not clearly more or less than a classifier that reads only the context's words ({words}), so it cannot tell "
            "weighing the case from meeting the words"
        )
    again = found.people.same_again
    limit = (
        f", and the labels themselves would come out the same on {share_in_words(again)} if the study were repeated"
        if again
        else ""
    )
    return f"{agrees}: {shows}{limit}."


def share_in_words(share: float | None) -> str:
    """A share as a percentage in a sentence."""
    return "–" if share is None or np.isnan(share) else f"{100 * share:.1f} %"
