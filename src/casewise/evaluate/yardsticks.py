"""What a judge's score is compared with: words alone, the author's intent, one more person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from casewise.audits.subject import READS, AuditOptions, Subject
from casewise.audits.words import SUBSETS, solved_by_words, subset_rows
from casewise.errors import BenchmarkError, StatisticsError
from casewise.evaluate.judged_runs import JudgedRuns, ReportOptions, Series
from casewise.notation import percent
from casewise.records import ShortRepr
from casewise.stats import AlternativeAnnotator, PanelWorth, alternative_annotator_test, panel_worth
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, renumbered
from casewise.stats.ceilings import AgainstNewPerson, Ceilings, against_new_person, ceilings
from casewise.stats.estimates import STUDENT, Estimate, difference_of, estimate, estimate_of, measure
from casewise.stats.intervals import LEVEL
from casewise.stats.measured import Measured, TotalsByCluster, share
from casewise.stats.metrics import metrics_named
from casewise.stats.pairs import HardScore, hard_score
from casewise.stats.panel import panel_curve, reference_weight, usual_reference
from casewise.stats.sample import (
    VOTES,
    LabelPolicy,
    Sample,
    UnscoredPolicy,
    constant_accuracy,
    judged,
    right,
)
from casewise.storage.benchmark import Benchmark
from casewise.storage.wording import LabelWords
from casewise.transforms.catalogue import role_of

# What a judge's headline number is to be read beside: vocabulary, the author's intent, a constant verdict,
# people.


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
        """P(safe) of each item from its words, which no report reads again."""
        found = self.subject.baseline
        vars(self.subject).pop("own_words", None)
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
        labels = sample.weight[sample.labelled]
        verdict = np.full(len(asked), float(len(labels) > 0 and labels.mean() >= 0.5))
        constant = self.values(verdict, asked, "binary", policy)["accuracy"]
        level = 1 - (1 - LEVEL) / (2 if words else 1)
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
            words_read=subject.judged.said(READS[subject.reads]),
            words_held_out=subject.judged.said(subject.groups_held_out),
            words_of=None if judge_there is judge else int(read.sum()),
            ahead_of_words=difference_of(judge_there["accuracy"], words["accuracy"], level=level) if words else None,
            ahead_of_constant=difference_of(judge["accuracy"], constant, level=level),
            intent=estimate_of(intent["accuracy"]) if intent else None,
            constant=constant_accuracy(sample.weight[sample.labelled]),
            people=others,
            labels=LabelWords.of(self.benchmark, policy.base),
            against_others=against_others(subject, asked, verdicts, reference_size=others.others)
            if others.others
            else {},
        )

    def people(self, asked: BoolArray) -> People:
        """What people's votes on the items of `asked` allow; nothing where nobody rated."""
        if not LabelWords.of(self.benchmark).rated:
            return People(None, 0, None, None)
        key = asked.tobytes()
        if key not in self._people:
            self._people[key] = people(self.subject, asked)
        return self._people[key]

    def values(
        self, values: FloatArray, asked: BoolArray, elicitation: Any, policy: LabelPolicy
    ) -> dict[str, Measured]:
        subject = self.subject
        whole = judged(
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
    """The numbers of the classifier on words; empty where there is none, and `why_no_words` then says why."""
    why_no_words: str | None
    words_read: str
    """The words that it reads: "the context's words", "the query's words", "the words of query and context"."""
    words_held_out: str
    """The groups that it was tested on whole, in the plural: "queries", "queries and contexts"."""
    words_of: int | None
    """How many items the classifier's numbers are over, where words are not read of all."""
    ahead_of_words: Estimate | None
    """The judge's accuracy less the classifier's, on the same items. Its interval and that of `ahead_of_constant` hold
    together with 95 % confidence (Bonferroni)."""
    ahead_of_constant: Estimate
    """The judge's accuracy less the better constant verdict's."""
    intent: Estimate | None
    constant: float
    """The accuracy of the better constant verdict."""
    people: People
    labels: LabelWords
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
            "words": {name: picked_numbers(found) for name, found in self.words.items()},
            "why_no_words": self.why_no_words,
            "words_read": self.words_read,
            "words_held_out": self.words_held_out,
            "ahead_of_words": picked_numbers(self.ahead_of_words),
            "ahead_of_constant": picked_numbers(self.ahead_of_constant),
            "intent": picked_numbers(self.intent),
            "constant": self.constant,
            "one_person": picked_numbers(self.people.one_person),
            "others": self.people.others,
            "against_others": {name: picked_numbers(found) for name, found in self.against_others.items()},
            "second_study": self.people.same_again,
            "highest_pearson": self.people.ceilings.pearson if self.people.ceilings else None,
            "sentence": what_it_shows(self),
        }


def picked_numbers(found: Estimate | None) -> dict[str, float | None] | None:
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
        return People(None, 0, None, None)
    others = usual_reference(votes)

    who = None if subject.raters is None else subject.raters.where(rows)

    def one_person() -> Estimate:
        curve = panel_curve(safe, votes, clusters=query, reference_size=others, largest=1, raters=who)
        low, high = (float(end) if np.isfinite(end) else None for end in (curve.ci_low[0], curve.ci_high[0]))
        return Estimate("one_person", float(curve.agreement[0]), low, high, curve.items, 0, STUDENT)

    conditions = subject.items["condition"].fill_null("").to_numpy()[rows]
    again = subject.same_again[rows] if votes.max() > 1 else np.full(1, np.nan)
    return People(
        one_person=or_none(one_person),
        others=others,
        same_again=None if np.isnan(again).all() else float(np.nanmean(again)),
        ceilings=or_none(lambda: ceilings(safe, votes, condition=conditions)),
    )


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
    agrees = f"The judge agrees with {found.labels.agreed_with} on {percent(accuracy)} of items, where a constant verdict does on {percent(found.constant)}"
    baseline = better_baseline(found)
    ahead = baseline.ahead
    if ahead.ci_low is not None and ahead.ci_low > 0:
        shows = f"more often than {baseline.name}"
    elif ahead.ci_high is not None and ahead.ci_high < 0:
        shows = f"less often than {baseline.name}"
    else:
        shows = f"not told apart from {baseline.name}"
    again = found.people.same_again
    limit = (
        f", and the labels themselves would come out the same on {percent(again)} if the study were repeated"
        if again
        else ""
    )
    sentence = f"{agrees}: {shows}{limit}."
    if not found.words:
        return f"{sentence} How far words alone would go could not be measured ({found.why_no_words})."
    return " ".join(filter(None, (sentence, baseline.words_alone)))


class Baseline(NamedTuple):
    """The better of two baselines: the classifier on words, and the better constant verdict."""

    name: str
    ahead: Estimate
    """The judge's accuracy less the baseline's; of two baselines the intervals hold together."""
    words_alone: str = ""
    """That words alone do not help, where the classifier is below the constant verdict."""


def better_baseline(found: Beside) -> Baseline:
    """Return the baseline that a judge has to beat: on words, or constant where the words' accuracy is below it."""
    if found.words and (found.words["accuracy"].estimate or 0.0) >= found.constant:
        assert found.ahead_of_words is not None
        return Baseline(word_baseline(found), found.ahead_of_words)
    constant = f"a constant verdict ({percent(found.constant)})"
    below = f"Words alone do not help here: {word_baseline(found)}, is right less often." if found.words else ""
    return Baseline(constant, found.ahead_of_constant, below)


def word_baseline(found: Beside) -> str:
    """The word baseline in a sentence: how often it is right, and that it learnt from the labels that it is scored on."""
    right = percent(found.words["accuracy"].estimate)
    return (
        f"a classifier of {found.words_read} ({right}), trained on these labels with whole "
        f"{found.words_held_out} held out"
    )


# Judges on the audit's subsets: where people agree, where they do not, and where words alone do not help.


@dataclass(frozen=True)
class SubsetScore:
    """One judge on one subset, against people's votes."""

    judge: str
    subset: str
    accuracy: Estimate
    words: float | None
    """The accuracy of the classifier on words there; None where there is none."""
    second_study: float | None
    """How often a second study of this size would agree with this one there; None for `hard`."""
    best: float | None
    """For `hard`, what the best single verdict on each item scores: no judge can do better. Elsewhere None."""
    n: float
    """Items; for `hard`, on average over the splits of the votes."""
    items: int
    """All of the subset that were asked; for `hard`, every item that some split may choose."""


def subset_scores(runs: JudgedRuns, backdrop: Backdrop) -> tuple[SubsetScore, ...]:
    """Every judge on every subset that the benchmark allows; a subset that was not asked about is absent, and so is a judge
    that gives values and no verdicts."""
    subject = backdrop.subject
    deciding = [series for series in runs.series if runs.sample(series).gives_verdicts]
    found = []
    for name in SUBSETS:
        try:
            rows = subset_rows(subject, name)
        except BenchmarkError:
            continue
        for series in deciding:
            chosen = rows & series.asked & (subject.n_votes > 0)
            if chosen.any():
                score = hard(runs, series, subject, chosen) if name == "hard" else None
                one = (
                    SubsetScore(
                        series.name,
                        "hard",
                        score.accuracy,
                        score.baseline,
                        None,
                        score.best,
                        score.n,
                        int(chosen.sum()),
                    )
                    if score
                    else subset_score(runs, series, backdrop, name, chosen)
                )
                found.append(one)
    return tuple(found)


def hard(runs: JudgedRuns, series: Series, subject: Subject, chosen: BoolArray) -> HardScore | None:
    verdict = runs.whole_sample(series).safe
    try:
        return hard_score(
            subject.n_safe[chosen],
            subject.n_votes[chosen],
            baseline=(subject.baseline[chosen] > 0.5).astype(float),
            judge=verdict[chosen],
            cluster=subject.query[chosen],
            raters=None if runs.raters is None else runs.raters.where(chosen),
        )
    except StatisticsError:
        return None


def subset_score(runs: JudgedRuns, series: Series, backdrop: Backdrop, name: str, chosen: BoolArray) -> SubsetScore:
    subject = backdrop.subject
    sample = runs.sample(series, policy=VOTES).where(chosen[series.asked])
    (accuracy,) = estimate(sample, metrics=metrics_named("accuracy"))
    words = None
    if subject.why_no_baseline is None:
        read = chosen & subject.words_read
        words = float(right(subject.baseline[read] > 0.5, subject.label[read]).mean()) if read.any() else None
    again = float(np.nanmean(subject.same_again[chosen])) if LabelWords.of(runs.benchmark).rated else None
    return SubsetScore(series.name, name, accuracy, words, again, None, len(sample), len(sample))


def notes_on_items(benchmark: Benchmark, options: ReportOptions) -> tuple[str, ...]:
    """Sentences that a reader of any report must know: that words alone solve the benchmark, and which subset this is."""
    solution = solved_by_words(Subject(benchmark, AuditOptions(seed=options.seed))) if benchmark.items else None
    notes = [] if solution is None else [solution.sentence]
    if options.items is not None:
        notes.append(f"All numbers are over the items that are {options.items!r}: {SUBSETS[options.items]}.")
    if options.items == "hard":
        notes.append(
            "Chosen and scored by the same votes they make every judge look bad; the table of subsets is free of that."
        )
    return tuple(notes)


def as_wanted(runs: JudgedRuns, options: ReportOptions) -> JudgedRuns:
    """The same runs with the items and the verdicts of scalars that `options` ask for. Raises as `on_items` does."""
    asked = replace(runs, fit_thresholds=options.fit_thresholds)
    return asked if options.items is None else on_items(asked, options.items)


def without_attacks(runs: JudgedRuns) -> JudgedRuns:
    """The same runs without arms that attack or guard, where there are others: `casewise robustness` is about these."""
    about_attacks: set[str | None] = {"attack", "perturbation", "defence"}
    roles = [{role_of(each) for each in one.shown.transforms} for one in runs.series]
    if not all(about_attacks.isdisjoint(found) for found in roles):
        about_attacks.add("own")  # a user's own attack or defence among them
    others = tuple(one for one, found in zip(runs.series, roles, strict=True) if about_attacks.isdisjoint(found))
    return replace(runs, series=others or runs.series)


def on_items(runs: JudgedRuns, name: str) -> JudgedRuns:
    """The same runs with the subset called `name` only. Raises as `casewise.audits.words.subset` does.

    Raises BenchmarkError: no run was asked about any of these items.
    """
    rows = subset_rows(Subject(runs.benchmark), name)
    series = tuple(replace(one, asked=one.asked & rows) for one in runs.series)
    if not any(one.asked.any() for one in series):
        raise BenchmarkError(f"these runs were asked about none of the items that are {name!r}")
    return replace(runs, series=tuple(one for one in series if one.asked.any()))


# A judge's numbers beside what people could reach: ceilings, the panel it is worth, the alternative annotator
# test.


@dataclass(frozen=True, repr=False)
class JudgeAmongPeople(ShortRepr):
    """One series of a judge among people; what could not be computed is None, and `why` says so."""

    name: str
    panel: PanelWorth | None
    """How many people its verdicts are worth, against majorities."""
    new_person: AgainstNewPerson | None
    """Whether it is no worse than one more person, on the same others."""
    alternative: AlternativeAnnotator | None
    why: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class BesidePeople(ShortRepr):
    """What people's votes say of how well any judge could do, and where these judges stand."""

    people: People
    judges: tuple[JudgeAmongPeople, ...]

    def as_json(self) -> dict[str, Any]:
        """The judges' worth as plain JSON values; what is not finite is null."""
        return {
            "judges": {
                judge.name: {
                    "worth_of_majority": worth_json(judge.panel),
                    "new_person": None if judge.new_person is None else asdict(judge.new_person),
                }
                for judge in self.judges
            },
        }


def worth_json(worth: PanelWorth | None) -> dict[str, float | int | None] | None:
    return (
        None if worth is None else {key: value if np.isfinite(value) else None for key, value in asdict(worth).items()}
    )


def beside_people(runs: JudgedRuns, backdrop: Backdrop, *, margin: float = 0.05) -> BesidePeople:
    """What people's votes on the items that were asked allow, and each series among people.

    `backdrop`: of the benchmark of these runs.
    `margin`: how much less than a new person a judge may agree with people and be no worse.
    """
    asked = np.any([series.asked for series in runs.series], axis=0)
    return BesidePeople(
        people=backdrop.people(asked),
        judges=tuple(_judge(runs, series, margin=margin) for series in runs.series if not series.mostly_unscored),
    )


def _judge(runs: JudgedRuns, series: Series, *, margin: float) -> JudgeAmongPeople:
    sample = runs.sample(series)
    verdict = np.full(len(series.asked), np.nan)
    verdict[series.asked] = sample.safe
    why: list[str] = []
    who = None if runs.raters is None else runs.raters.where(series.asked)
    query = runs.cluster[series.asked]
    safe, votes = (runs.items[name].to_numpy()[series.asked] for name in ("n_safe", "n_votes"))
    panel = None
    try:
        panel = panel_worth(sample.safe, safe, votes, clusters=query, reference_size=usual_reference(votes), raters=who)
    except StatisticsError as error:
        why.append(f"panel: {error}")
    alternative = _alternative(runs, verdict)
    if alternative is None:
        why.append("alternative annotator test: not available, anonymous votes")
    elif alternative.reason is not None:
        why.append(f"alternative annotator test: {alternative.reason}")
    person = or_none(lambda: against_new_person(sample.safe, safe, votes, clusters=query, margin=margin, raters=who))
    return JudgeAmongPeople(series.name, panel, person, alternative, tuple(why))


def _alternative(runs: JudgedRuns, verdict: FloatArray) -> AlternativeAnnotator | None:
    if not runs.benchmark.rated.annotators:
        return None
    ratings = runs.benchmark.rated.arrays(runs.items["item_id"])
    known = (ratings.annotator >= 0) & ~np.isnan(verdict[ratings.item])
    if not known.any():
        return None
    item, people = ratings.item[known], np.array(ratings.annotators)[ratings.annotator[known]]
    return alternative_annotator_test(ratings.safe[known], verdict[item] > 0.5, item=item, annotator=people)


# A judge against people, item by item: values over safe rates.


@dataclass(frozen=True, repr=False)
class PeopleAndJudge(ShortRepr):
    """One series over the items that people rated."""

    series: Series
    points: pl.DataFrame
    """A row an item: people's `rate`, the judge's `value` and `verdict` (`safe`, `unsafe`, `unscored`), and people's
    `label` (`safe`, `unsafe`, `tie`)."""
    means: pl.DataFrame
    """The judge's `mean` value and `spread` (standard deviation) over `items` in each tenth of safe rates, from `bin`."""
    counts: pl.DataFrame
    """How many `items` have a safe rate from `low` to `high` and this `verdict`."""

    @property
    def valued(self) -> pl.DataFrame:
        """The points with a value that is more than a verdict."""
        has_value = pl.col("value").is_finite() & (self.series.elicitation != "binary")
        return self.points.filter(has_value)


def against_people(runs: JudgedRuns, *, policy: LabelPolicy = VOTES) -> tuple[PeopleAndJudge, ...]:
    """Every series that was shown the whole context (or every one, where none was) with items that people rated; none where
    nobody rated."""
    if not LabelWords.of(runs.benchmark).rated:
        return ()
    found = (beside_rates(runs, series, policy) for series in runs.main_series)
    return tuple(one for one in found if len(one.points))


def beside_rates(runs: JudgedRuns, series: Series, policy: LabelPolicy) -> PeopleAndJudge:
    sample = runs.sample(series, policy=policy)
    points = (
        pl.DataFrame(
            {"rate": sample.rate, "value": series.values[series.asked], "safe": sample.safe, "w": sample.weight}
        )
        .filter(pl.col("rate").is_finite())
        .select("rate", "value", verdict=VERDICT, label=LABEL)
    )
    tenth = (pl.col("rate") * 10).floor().clip(0, 9) / 10
    means = (
        points.filter(pl.col("value").is_finite())
        .group_by(bin=tenth)
        .agg(items=pl.len(), mean=pl.col("value").mean(), spread=pl.col("value").std())
        .sort("bin")
    )
    counts = (
        points.group_by("verdict", low=tenth)
        .agg(items=pl.len())
        .select("low", "verdict", "items", high=pl.col("low") + 0.1)
        .sort("low", "verdict")
    )
    return PeopleAndJudge(series, points, means, counts)


VERDICT = (
    pl.when(pl.col("safe").is_nan()).then(pl.lit("unscored")).when(pl.col("safe") != 0).then(pl.lit("safe"))
).otherwise(pl.lit("unsafe"))

LABEL = (pl.when(pl.col("w").is_nan()).then(pl.lit("tie")).when(pl.col("w") > 0.5).then(pl.lit("safe"))).otherwise(
    pl.when(pl.col("w") < 0.5).then(pl.lit("unsafe")).otherwise(pl.lit("tie"))
)
