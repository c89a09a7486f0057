"""Several judges on the same items, the gate, and the queries that tell judges apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Self

from casewise.errors import BenchmarkError, ConfigurationError, ExitCode, did_you_mean
from casewise.evaluate.conclusions import (
    Conclusion,
    best_of,
    compared,
    conclusions_json,
    corrected_for_picking,
    gap_in_words,
    in_words,
    no_worse,
    reversed_difference,
)
from casewise.evaluate.judged_runs import (
    JudgedRuns,
    ReportOptions,
    RunNumbers,
    Series,
    against_full_context,
    noun_of_series,
    read_runs,
)
from casewise.evaluate.yardsticks import notes_on_items, picked_numbers, select_series
from casewise.notation import interval, number, percent, points, spoken
from casewise.records import ShortRepr
from casewise.stats.comparison import (
    BEST_BY,
    Comparison,
    Decision,
    Entrant,
    Gate,
    GatedMetric,
    MetricGate,
    compare_judges,
    gate,
    gate_metrics,
)
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.metrics import REFUSALS, find_metric, metrics_left_out
from casewise.stats.pairs import find_pairs
from casewise.stats.sample import UNSCORED_WORDS, UnscoredPolicy
from casewise.storage.files import json_fields, json_value
from casewise.storage.load import Source
from casewise.storage.run_folder import AnyRun, folder_of, last_session, way_of_asking
from casewise.storage.wording import LabelWords
from casewise.text import count_of, first_few, join, synthetic_notes, text


@dataclass(frozen=True, repr=False)
class ComparisonNumbers(RunNumbers):
    """The numbers of a comparison."""

    comparison: Comparison
    notes: tuple[str, ...]

    @classmethod
    def from_runs(
        cls,
        judged: Sequence[AnyRun],
        *,
        benchmark: Source | None = None,
        options: ReportOptions = ReportOptions(),
    ) -> Self:
        """Compare everything that runs hold: judges, arms and elicitations, on the items that all were asked.

        Raises as `read_runs`. BenchmarkError: they hold one series only. StatisticsError: no item was asked of all.
        """
        runs = select_series(read_runs(judged, benchmark=benchmark), options)
        if len(runs.series) < 2:
            raise BenchmarkError(
                f"there is nothing to compare {runs.series[0].name!s} with; give two runs, or one with several arms or elicitations"
            )
        spoken_of = [series for series in runs.series if not series.mostly_unscored]
        entrants = [
            Entrant(
                series.name,
                runs.whole_sample(series, policy=options.labels, unscored=options.unscored),
                series.counted(options.unscored),
            )
            for series in (spoken_of if len(spoken_of) > 1 else runs.series)
        ]
        comparison = compare_judges(entrants, pairs=find_pairs(runs.items))
        if len(spoken_of) < 2:  # nothing is said of a judge with too few verdicts
            no_flips: dict[str, tuple[Estimate, ...]] = dict.fromkeys(comparison.names, ())
            comparison = replace(comparison, estimates=no_flips, pairs=(), winners={})
        return cls(
            runs, options, comparison, (*notes_of(runs, comparison, options), *notes_on_items(runs.benchmark, options))
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The judge that agrees most with people, and whether the differences are more than chance, in sentences."""
        without = {series.name for series in self.runs.series if series.mostly_unscored}
        return tuple(sentences_of(self.comparison, without=without, agreed_with=self.agreed_with, noun=self.noun))

    @property
    def sentence(self) -> str:
        """The `sentences` in one text."""
        return join(" ", self.sentences)

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """The conclusion on each pair of judges: which is better, or that the data do not tell; of three or more also which
        is best."""
        pairs = self.comparison.pairs
        metric = next((name for name in BEST_BY if all(pair.difference(name) for pair in pairs)), BEST_BY[0])
        of_pairs = tuple(compared(pair.first, pair.second, pair.difference(metric)) for pair in pairs)
        if len(pairs) < 3:
            return of_pairs
        best = best_conclusion(self.comparison, self.comparison.names, metric, people=self.agreed_with, noun=self.noun)
        return (best, *of_pairs)

    @property
    def noun(self) -> str:
        """The noun for what is compared: judges, or the wordings, elicitations, arms or runs of one."""
        return noun_of_series([series for series in self.runs.series if series.name in self.comparison.names])

    @property
    def agreed_with(self) -> str:
        """The people or labels that the judges are compared with, in words."""
        return LabelWords.for_benchmark(self.benchmark, self.options.labels.base).agreed_with

    def as_json(self) -> dict[str, Any]:
        comparison = self.comparison
        pairs = [
            {
                **json_fields(pair, without=("test",)),
                "exact_test": pair.test._asdict() if pair.test else None,
            }
            for pair in comparison.pairs
        ]
        return {
            "sentence": self.sentence,
            "benchmark": self.benchmark.stated,
            "labels": self.options.labels.name,
            "unscored_policy": self.options.unscored,
            "seed": self.options.seed,
            "notes": list(self.notes),
            "judges": list(comparison.names),
            "n_items": comparison.n_items,
            "n_queries": comparison.n_queries,
            "left_out": {
                name: [self.benchmark.items[place].id for place in places]
                for name, places in comparison.left_out.items()
            },
            "estimates": json_value(comparison.estimates),
            "pairs": pairs,
            "conclusions": conclusions_json(self.conclusions),
            "picked": {
                metric: {
                    "judge": comparison.names[winner.place],
                    "may_be_best": [comparison.names[place] for place in winner.may_be_best],
                    "corrected": picked_numbers(winner.estimate),
                }
                for metric, winner in comparison.winners.items()
            },
        }


def sentences_of(
    comparison: Comparison, *, without: Collection[str] = (), agreed_with: str = "people", noun: str = "judge"
) -> Iterator[str]:
    """Yield the judge that agrees most with people, the judges that it beats, and its corrected number, in sentences.

    All is said from the intervals of the differences, which hold together over all pairs
    (`casewise.stats.comparison.simultaneous_differences`).

    `without`: judges with too few verdicts to be spoken of.
    """
    names = [name for name in comparison.names if name not in without]
    if len(names) < 2:
        gave = text("only {name} gave", name=names[0]) if names else "none of them gave"
        yield text("There is nothing to compare: {gave} a verdict on at least half of the items.", gave=gave)
        return
    values = {name: {number.name: number.estimate for number in comparison.estimates[name]} for name in names}
    metric = next((name for name in BEST_BY if all(has.get(name) is not None for has in values.values())), None)
    if metric is None:
        silent = join(", ", (name for name in names if values[name].get("accuracy") is None))
        words = "The judges have no metric in common that measures agreement with {people}: {silent} gave no verdicts."
        yield text(words, people=agreed_with, silent=silent)
        return
    scores = {name: has[metric] or 0.0 for name, has in values.items()}
    best, *rivals = sorted(names, key=lambda name: -scores[name])
    against = {rival: compared(best, rival, metric_difference(comparison, best, rival, metric)) for rival in rivals}
    if len(rivals) == 1 and not is_better(against[rivals[0]]):
        values_of = [in_words(scores[name], metric) for name in (best, rivals[0])]
        both = f" ({find_metric(metric).title} {values_of[0]} against {values_of[1]})."
        yield text("{subject} {predicate}{both}", subject=best, predicate=against[rivals[0]].predicate, both=both)
        return
    value = f"{find_metric(metric).title} {in_words(scores[best], metric)}"
    conclusion = best_conclusion(comparison, names, metric, people=agreed_with, value=value, noun=noun)
    yield conclusion.sentence
    if conclusion.holds:
        gaps = (
            (rival, metric_difference(comparison, best, rival, metric)) for rival in rivals if is_better(against[rival])
        )
        beaten = [text("{rival} by {gap}", rival=rival, gap=gap_in_words(gap)) for rival, gap in gaps if gap]
        yield text("It beats {beaten}.", beaten=first_few(beaten))
    winner = comparison.winners.get(metric)
    if len(names) > 2 and winner is not None and comparison.names[winner.place] == best:
        yield corrected_for_picking(best, winner.estimate, value=value)


def best_conclusion(
    comparison: Comparison,
    names: Sequence[str],
    metric: str,
    *,
    people: str = "people",
    value: str = "",
    noun: str = "judge",
) -> Conclusion:
    """Return which of these judges agrees most with people in a metric, or which may."""
    worse = {
        name
        for name in names
        for rival in names
        if rival != name and is_better(compared(rival, name, metric_difference(comparison, rival, name, metric)))
    }
    may_be_best = [name for name in names if name not in worse]
    others = [name for name in names if name in worse]
    return best_of(may_be_best, others, metric=metric, people=people, value=value, noun=noun)


def is_better(conclusion: Conclusion) -> bool:
    """Return True if the first of two is shown to be better."""
    return conclusion.kind == "better" and conclusion.holds


def metric_difference(comparison: Comparison, first: str, second: str, metric: str) -> Estimate | None:
    """Return the difference of two judges in one metric, `first` less `second`; None where not both have it."""
    pair = next(pair for pair in comparison.pairs if {pair.first, pair.second} == {first, second})
    difference = pair.difference(metric)
    return difference if difference is None or pair.first == first else reversed_difference(difference)


def notes_of(runs: JudgedRuns, comparison: Comparison, options: ReportOptions) -> Iterator[str]:
    yield from runs.benchmark.notes()
    yield from metrics_left_out()
    yield from (*runs.silent_notes, *runs.repeats_notes)
    yield from runs.judges_notes
    if options.unscored == "exclude" and any(
        series.unscored_share for series in runs.series if series.name in comparison.names
    ):
        yield (
            f"All numbers are over the {count_of(comparison.n_items, 'item')} on which every judge gave a verdict or a value "
            "(--unscored exclude)."
        )
    did, had = ("scored", "did") if options.unscored == "exclude" else ("was asked", "was")
    for name, places in comparison.left_out.items():
        if places:
            ids = first_few([runs.benchmark.items[place].id for place in places], most=5)
            yield text(
                "Left out: {n:item} that {name} {did} and another {had} not ({ids}).",
                n=len(places),
                name=name,
                did=did,
                had=had,
                ids=ids,
            )
    yield from against_full_context([series.name for series in runs.series if not series.shown.shows_all], runs.items)


EXIT_CODES: dict[Decision, ExitCode] = {
    "pass": ExitCode.DONE,
    "fail": ExitCode.NO,
    "inconclusive": ExitCode.CANNOT_TELL,
}
"""The exit code of the command for each decision."""

MAX_UNSCORED = 0.05
"""The largest share of unscored items with which a run may pass the gate."""


@dataclass(frozen=True, repr=False)
class GateReport(ShortRepr):
    """A gate, and which runs and items it is about."""

    run: str
    baseline: str
    benchmark: str
    digest: str
    labels: str
    unscored: UnscoredPolicy
    gate: Gate
    left_out: int
    """Items that only one of the two was asked; they are not compared."""
    missing: int
    """Those of them that the run was not asked: it has not finished its plan, and cannot be let through."""
    unfinished: tuple[str, ...]
    """Those of `run` and `baseline` that were not asked all of their own plan: items, repeats, elicitations, arms."""
    nothing_scored: bool
    """True if no item of the run has a verdict or a value. Such a run may fail, and it never passes."""
    unscored_shares: tuple[float, float]
    """The share of the items asked of both that the baseline and the run left without a verdict or a value."""
    max_unscored: float
    """The largest such share with which the run may pass."""
    errors: dict[GatedMetric, tuple[Estimate, Estimate]]
    """Harm and over-refusal of the baseline and of the run, where they give verdicts."""
    notes: tuple[str, ...]

    @property
    def finished(self) -> bool:
        """True if both were asked all that they should have been."""
        return not self.missing and not self.unfinished

    @property
    def decision(self) -> Decision:
        """The decision of all metrics together. It is inconclusive where one has not finished, or the run was not asked
        all that the baseline was."""
        says = self.gate.decision
        lacks = self.nothing_scored or self.too_many_unscored
        return says if self.finished and not (lacks and says == "pass") else "inconclusive"

    @property
    def too_many_unscored(self) -> bool:
        """True if the run or the baseline left more items unscored than is allowed: the run cannot pass."""
        return max(self.unscored_shares) > self.max_unscored

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command."""
        return EXIT_CODES[self.decision]

    def as_json(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            **json_fields(self, without=("unscored", "nothing_scored", "unscored_shares", "errors")),
            "errors": {str(error): json_value(of_both) for error, of_both in self.errors.items()},
            "unscored_policy": self.unscored,
            "n_items": self.gate.n_items,
            "n_queries": self.gate.n_queries,
            "unscored_shares": dict(zip(("baseline", "run"), self.unscored_shares, strict=True)),
            "metrics": [gate_fields(gated) for gated in self.gate.metrics],
            "conclusions": conclusions_json(self.conclusions),
        }

    def sentence(self) -> str:
        """Return the meaning of the decision, in words."""
        if self.unfinished:
            return (
                f"Not finished: the {' and the '.join(self.unfinished)} answered only a part of its plan, and that part does not "
                "represent the rest. Run the same command again to resume it."
            )
        if self.missing:
            return f"The run has not finished: it lacks {count_of(self.missing, 'item')} of the baseline, which the other items do not represent. Resume the run, or compare it with a run over the same items."
        if self.nothing_scored:
            return "No item of the run has a verdict, so the run cannot pass."
        if self.too_many_unscored and self.gate.decision != "fail":
            baseline, run = self.unscored_shares
            return (
                f"Too many items have no verdict: {percent(run)} of the run's, {percent(baseline)} of the baseline's. A run passes with "
                f"at most {100 * self.max_unscored:g} % (--max-unscored). Use --retry-unscored to ask these items again."
            )
        sentences: list[str] = [conclusion.sentence for conclusion in self.conclusions]
        if self.gate.decision == "inconclusive":
            drops = " or ".join(
                f"{gate_drop(gated.metric, gated.detectable)} in {spoken(str(gated.metric))}"
                for gated in self.gate.metrics
                if gated.decision == "inconclusive"
            )
            beyond = f"With 80 % power they show a drop only if it exceeds its margin by {drops}."
            sentences += ["Too few items to decide.", beyond, "Judge more items, or allow a larger drop."]
        return join(" ", sentences)

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """For each metric, whether the run is no worse than the baseline by the margin."""
        return tuple(no_worse("The run", "the baseline", gated) for gated in self.gate.metrics)


def gate_fields(gated: MetricGate) -> dict[str, Any]:
    """Return the numbers and the decision of one metric, in the types of JSON."""
    return {"name": str(gated.metric), **json_fields(gated, without=("metric",)), "decision": gated.decision}


def gate_number(metric: GatedMetric, value: float) -> str:
    """Return the value of a gated metric: of shares in per cent."""
    return percent(value) if metric.is_share else number(value)


def gate_drop(metric: GatedMetric, drop: float, low: float | None = None, high: float | None = None) -> str:
    """Return a drop of a gated metric with its bounds, where it has some: of shares in points."""
    if metric.is_share:
        return points(drop, low, high)
    return number(drop) if low is None else f"{number(drop)} {interval(low, high)}"


def gate_runs(
    run: AnyRun,
    baseline: AnyRun,
    *,
    max_drop: str | Mapping[str, float],
    max_unscored: float = MAX_UNSCORED,
    benchmark: Source | None = None,
    options: ReportOptions = ReportOptions(),
) -> GateReport:
    """Compare a run with a baseline, on the items that both were asked; under `exclude`, that both scored.

    `max_unscored`: the run cannot pass where it, or the baseline, left a larger share of these items unscored.

    Raises BenchmarkError: the runs are over different benchmarks, or share no items. ConfigurationError: they were not
    asked alike, so there is no telling which answers to compare; or `max_drop` names no such metric.
    """
    margins = parse_margins(max_drop)
    every = read_runs([baseline, run], benchmark=benchmark)
    runs = select_series(every, options)
    folders = {"run": folder_of(run), "baseline": folder_of(baseline)}
    pairs = matching_series(runs, same=folders["run"].resolve() == folders["baseline"].resolve())
    metrics: list[MetricGate] = []
    shares = [(0.0, 0.0)]
    errors: dict[GatedMetric, tuple[Estimate, Estimate]] = {}
    for policy, (before, after) in pairs.items():
        shared = before.asked & after.asked
        if not shared.any():
            raise BenchmarkError(f"{folders['run']} and {folders['baseline']} were asked no item in common")
        shares.append((replace(before, asked=shared).unscored_share, replace(after, asked=shared).unscored_share))
        used = before.counted(options.unscored) & after.counted(options.unscored)
        used = used if used.any() else shared  # nothing in common: all of it is unscored, and cannot pass
        samples = [
            runs.sample(series, policy=options.labels, unscored=options.unscored).where(used[series.asked])
            for series in (before, after)
        ]
        gated_runs = gate(*samples, margins=margins, n_tests=len(pairs) * len(margins))
        metrics += [replace(gated, metric=gated.metric._replace(policy=policy)) for gated in gated_runs.metrics]
        of_both = zip(*(estimate(sample, metrics=REFUSALS) for sample in samples), strict=True)
        errors |= {GatedMetric(was.name, policy): (was, is_now) for was, is_now in of_both}
    return GateReport(
        run=after.name if len(pairs) == 1 else after.judge_title,
        baseline=before.name if len(pairs) == 1 else before.judge_title,
        benchmark=runs.benchmark.name,
        digest=runs.benchmark.digest,
        labels=options.labels.name,
        unscored=options.unscored,
        gate=replace(gated_runs, metrics=tuple(metrics)),
        left_out=int((before.asked ^ after.asked).sum()),
        missing=int((before.asked & ~after.asked).sum()),
        unfinished=tuple(name for name, path in folders.items() if has_unfinished_plan(every, path)),
        nothing_scored=all(after.silent for _, after in pairs.values()),
        unscored_shares=(max(share for share, _ in shares), max(share for _, share in shares)),
        max_unscored=max_unscored,
        errors=errors,
        notes=(*gate_notes(runs, before, after, options), *notes_on_items(runs.benchmark, options)),
    )


def has_unfinished_plan(runs: JudgedRuns, path: Path) -> bool:
    """True if a run has fewer items or repeats than its last plan."""
    last, series = last_session(path), [each_series for each_series in runs.series if each_series.run.path == path]
    if last is None or last.planned_items is None:
        return False
    judged = {way_of_asking(each_series.elicitation, each_series.arm): each_series.n_judged for each_series in series}
    return last.planned_items > max(int(each_series.asked.sum()) for each_series in series) or any(
        judged.get(way, 0) < planned for way, planned in (last.planned_asks or {}).items()
    )


def matching_series(runs: JudgedRuns, *, same: bool) -> dict[str, tuple[Series, Series]]:
    """Return the answers of the baseline and of the run under the same elicitation and arm, by the policy of partial answers.

    Judges need nothing to tell them apart. A chatbot's replies are held against each other by each grader that graded both,
    and by each of the two policies: what is let through is so whatever a partial answer counts as.
    """
    every, path = runs.runs, runs.runs[0].path
    n_first = len(every) // 2 if same else sum(run.path == path for run in every)
    before, after = (
        {(run.policy or "", run.behaviour.grader_id) if run.behaviour else ("", ""): run for run in side}
        for side in (every[:n_first], every[n_first:])
    )
    kinds = [kind for kind in before if kind in after]
    if not kinds:
        raise ConfigurationError(
            f"{path} and {every[-1].path} cannot be compared: both have to be judges' runs, or replies that "
            "the same grader graded"
        )
    several = len({grader for _, grader in kinds}) > 1
    pairs = {}
    for policy, grader in kinds:
        policy_words = f"{policy}, by {grader}" if policy and several else policy
        first, second = (
            [replace(series, judge=run.manifest.judge_name) for series in runs.series if series.run is run]
            for run in (before[policy, grader], after[policy, grader])
        )
        matches = [(a, b) for a in first for b in second if (a.elicitation, a.arm) == (b.elicitation, b.arm)]
        if len(first) == len(second) == 1:
            matches = [(first[0], second[0])]
        if len(matches) != 1:
            listed = "; ".join(
                f"{pair[0].run.path}: {', '.join(str(series.name) for series in pair)}" for pair in (first, second)
            )
            number = "no elicitation and arm" if not matches else f"{count_of(len(matches), 'elicitation')} and arms"
            raise ConfigurationError(
                f"the two runs share {number} ({listed}); run both with the same elicitation and arm"
            )
        pairs[policy_words] = matches[0]
    return pairs


def gate_notes(runs: JudgedRuns, before: Series, after: Series, options: ReportOptions) -> Iterator[str]:
    yield from (*synthetic_notes(runs.benchmark.about.synthetic), *runs.repeats_notes)
    if (before.elicitation, before.arm) != (after.elicitation, after.arm):
        yield text(
            "The two runs were asked in different ways: {before} and {after}.", before=before.name, after=after.name
        )
    if left_out := int((before.asked ^ after.asked).sum()):
        yield text("Left out: {n:item} asked in only one of the two runs.", n=left_out)
    unscored = [series.n_unscored for series in (before, after)]
    if any(unscored):
        yield f"Without a verdict: {count_of(unscored[0], 'item')} of the baseline, {unscored[1]:,} of the run; each {UNSCORED_WORDS[options.unscored]}."
    if any(unscored) and options.unscored == "exclude":
        scored = int((before.counted("exclude") & after.counted("exclude")).sum())
        yield f"The metrics are over the {count_of(scored, 'item')} on which both gave a verdict or a value."


def parse_margins(written: str | Mapping[str, float]) -> dict[str, float]:
    """Return `accuracy=0.01,over_refusal=0.02` as metric to largest drop. Raises as `parse_named_numbers`."""
    return parse_named_numbers("--max-drop", written, gate_metrics())


def parse_named_numbers(
    option: str, written: str | Mapping[str, float], names: Collection[str], *, at_most: float = inf
) -> dict[str, float]:
    """Return name to number, from a mapping or from `NAME=NUMBER,NAME=NUMBER`.

    Raises ConfigurationError: a part is not NAME=NUMBER, a name is unknown or stands twice, or a number is negative or
    over `at_most`.
    """
    parts = written.split(",") if isinstance(written, str) else [f"{name}={value!r}" for name, value in written.items()]
    numbers: dict[str, float] = {}
    for part in parts:
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if name not in names:
            raise ConfigurationError(
                f"{option}: no metric is called {name!r}{did_you_mean(name, names)}; there are {', '.join(names)}"
            )
        if not 0 <= number < inf or number > at_most or name in numbers:
            allowed = "of at least 0" if at_most == inf else f"from 0 to {at_most:g}"
            raise ConfigurationError(f"{option}: {part!r} is not NAME=NUMBER with a number {allowed}, each once")
        numbers[name] = number
    return numbers
