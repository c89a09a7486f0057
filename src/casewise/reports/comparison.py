"""Comparisons of judges, and the gate, laid out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar
from xml.etree import ElementTree as ET

import polars as pl

from casewise.errors import ExitCode
from casewise.evaluate.comparison import (
    ComparisonNumbers,
    GateReport,
    gate_drop,
    gate_fields,
    gate_number,
    metric_difference,
)
from casewise.evaluate.judged_runs import JudgedRun
from casewise.evaluate.robustness import BOUNDED, RequiredRobustness
from casewise.notation import percent
from casewise.reports.document import (
    MOST_DRAWN,
    Block,
    Columns,
    Document,
    Forest,
    ForestRow,
    IntervalHead,
    Prose,
    Section,
    all_numbers,
    difference_cell,
    error_figures,
    estimate_cell,
    estimate_frame,
    how_made,
    next_for_judges,
    next_step,
    next_without_verdicts,
    table_by,
    table_of,
    titles,
)
from casewise.reports.formats import Report
from casewise.stats.comparison import Decision, GatedMetric, PairwiseComparison
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import ON_SCALE, REFUSALS, all_metrics
from casewise.storage.files import cannot_write
from casewise.storage.wording import noun_of
from casewise.text import Text, count_of, join, paths_in_command, text

MOST = 6
"""Most judges for which a table of every pair and metric is printed."""

MOST_IN_MATRIX = 3
"""Most judges whose matrix fits into a terminal."""


def comparison_page(report: ComparisonNumbers) -> Document:
    """Return `report` as a document for any face: the answer, the judges on one axis, one matrix; all other numbers in folds."""
    comparison, about = report.comparison, report.benchmark.about
    return Document(
        title=f"{count_of(len(comparison.names), report.noun)} compared on {about.name}",
        subtitle=text(
            "{items:item} of {queries:query}; labels: {labels}",
            items=comparison.n_items,
            queries=comparison.n_queries,
            labels=report.label_words.policy(report.options.labels.name),
        ),
        notices=report.notes,
        sections=(
            Section("answer", "The answer", tuple(answer(report)), first=True),
            *(compared_sections(report) if comparison.pairs else ()),
        ),
        noun=noun_of(report.benchmark),
    )


def compared_sections(report: ComparisonNumbers) -> Iterator[Section]:
    """Yield the errors of each judge, one matrix of differences, and all other numbers in folds."""
    comparison, about = report.comparison, report.benchmark.about
    yield Section("errors", "Harm, over-refusal and unscored items", (errors(report),), brief=True)
    yield Section("differences", "Differences", tuple(matrix(report)), brief=len(comparison.names) <= MOST_IN_MATRIX)
    facts = (
        ("Benchmark", f"{report.benchmark.name} {about.version}, digest {report.benchmark.digest}"),
        ("Labels", report.options.labels.name),
        ("Unscored items", report.options.unscored),
        ("Seed", str(report.options.seed)),
    )
    made = how_made("compare", report.runs.paths, report.options.labels.name, facts)
    yield Section("made", "How this was made", made)
    more = [Section("side-by-side", f"Every metric of every {report.noun}", (side_by_side(report),))]
    if len(comparison.names) <= MOST:
        more.append(Section("every-difference", "Every difference", (every_difference(report),)))
        if any(pair.test for pair in comparison.pairs):
            more.append(Section("tests", f"Items on which only one {report.noun} is right", tuple(tests(report))))
            heading = f"The cost ratio at which the cheaper {report.noun} changes"
            more.append(Section("turning-points", heading, (turning_points(report),)))
    yield all_numbers(more)


def answer(report: ComparisonNumbers) -> Iterator[Block]:
    """Yield a sentence, the errors of the first judge in large figures, what to do next, and every judge on one axis, best first."""
    first, *more = report.sentences
    yield Prose(first, lead=True)
    yield from (Prose(join(" ", more)),) if more else ()
    ranked = accuracies(report)
    silent = [series.run.path for series in report.runs.series if series.mostly_unscored]
    if silent and not report.comparison.pairs:
        yield next_without_verdicts(silent[0])
    if ranked:
        first_judge = ranked[0][0]
        shares = {metric.name: metric for metric in report.comparison.estimates[first_judge]}
        yield error_figures("first-errors", text("Errors of {judge}", judge=first_judge), shares)
    if report.comparison.pairs:
        yield next_for_compared(report, [name for name, _ in ranked])
    rows = [ForestRow.from_estimate(*judge, key=place < MOST_DRAWN) for place, judge in enumerate(ranked)]
    if rows:
        yield Forest("judges", f"Accuracy, 95 % intervals of each {report.noun} alone", (("", tuple(rows)),))


def next_for_compared(report: ComparisonNumbers, ranked: Sequence[str]) -> Prose:
    """Return what to do after a comparison. `ranked`: the judges that have an accuracy, the best first."""
    runs: dict[str, JudgedRun] = {series.name: series.run for series in report.runs.series}
    if len(ranked) < 2 and any(series.elicitation == "scalar" for series in report.runs.series):
        words = "casewise compare {runs} --fit-thresholds derives verdicts from values, and compares their accuracy."
        return next_step(text(words, runs=paths_in_command(*report.runs.paths)))
    in_order = [runs[name] for name in ranked]
    differences = [metric_difference(report.comparison, ranked[0], name, "accuracy") for name in ranked[1:]]
    decided = bool(differences) and all(difference and difference.beyond_chance for difference in differences)
    judge = in_order[0].manifest.judge_name if in_order else ""
    return next_for_judges([run.path for run in in_order], judge=judge, decided=decided)


def errors(report: ComparisonNumbers) -> Block:
    """Return harm, over-refusal and the share of unscored items of each judge, on the items that all were asked."""
    n = report.comparison.n_items
    rows = [(name, {metric.name: metric for metric in of}) for name, of in report.comparison.estimates.items()]
    columns: Columns = {"Judge": "0", "Harm": "1.harm", "Over-refusal": "1.over_refusal", "Unscored": "1.unscored_rate"}
    caption = text("Errors of each {noun} on {n:item}, 95 % intervals of each alone", noun=report.noun, n=n)
    return table_by("comparison-errors", caption, rows, columns)


def accuracies(report: ComparisonNumbers) -> list[tuple[str, Estimate]]:
    """Return the accuracies of the judges, highest first."""
    accuracy_of = [
        (name, metric)
        for name, metrics in report.comparison.estimates.items()
        for metric in metrics
        if metric.name == "accuracy" and metric.estimate is not None
    ]
    return sorted(accuracy_of, key=lambda pair: -(pair[1].estimate or 0.0))


def matrix(report: ComparisonNumbers) -> Iterator[Block]:
    """Yield the accuracy of each judge less that of each below it, with corrected intervals."""
    comparison = report.comparison
    names = [name for name, _ in accuracies(report)] or list(comparison.names)

    def cell(row: str, column: str) -> str:
        difference = metric_difference(comparison, row, column, "accuracy")
        return difference_cell(difference, unit="") + ("*" if difference and difference.beyond_chance else "")

    rows = [
        (row, *(cell(row, column) if j > i else "" for j, column in enumerate(names) if j))
        for i, row in enumerate(names[:-1])
    ]
    frame = estimate_frame((pair_name(pair), metric) for pair in comparison.pairs for metric in pair.differences)
    caption = f"Accuracy of the row's {report.noun} less that of the column's {report.noun}, in points; * where the interval excludes 0"
    yield table_of("differences-table", caption, ("Judge", *names[1:]), rows, frame=frame)
    corrected = (
        f"They are corrected for all {count_of(len(comparison.pairs), 'pair')}: in 95 of 100 such comparisons all intervals of a metric contain the true difference."
        if len(comparison.pairs) > 1
        else "There is one pair, so they need no correction."
    )
    more = f" With more than {MOST} judges, --json and --tables have every metric and test of every pair."
    many = len(comparison.names) > MOST
    yield Prose(f"The intervals are of differences on the same items. {corrected}{more if many else ''}")


def pair_name(pair: PairwiseComparison) -> Text:
    return join(" − ", (pair.first, pair.second))


def side_by_side(report: ComparisonNumbers) -> Block:
    """Return every metric of every judge."""
    estimates = [(name, metric) for name, metrics in report.comparison.estimates.items() for metric in metrics]
    rows = [row for name in titles() for row in estimates if row[1].name == name]
    columns: Columns = {
        "Metric": (titles().get, "1.name"),
        "Judge": "0",
        IntervalHead("Estimate"): "1",
        "Items": "1.n",
    }
    return table_by("side-by-side-table", "All on the same items", rows, columns)


def every_difference(report: ComparisonNumbers) -> Block:
    metrics = (*all_metrics(), *REFUSALS, *ON_SCALE)
    lower = {"false_flips", *(metric.name for metric in metrics if metric.better == "lower")}

    def title(name: str) -> str:
        return titles()[name] + (" (lower is better)" if name in lower else "")

    rows = [(pair, difference) for pair in report.comparison.pairs for difference in pair.differences]
    columns: Columns = {
        "Judges": (pair_name, "0"),
        "Metric": (title, "1.name"),
        IntervalHead("Difference"): (difference_cell, "1"),
    }
    return table_by("every-difference-table", "Differences, with intervals corrected for all pairs", rows, columns)


def tests(report: ComparisonNumbers) -> Iterator[Block]:
    tested = [(pair, pair.test) for pair in report.comparison.pairs if pair.test is not None]
    columns: Columns = {
        "First": "0.first",
        "Second": "0.second",
        "Only first right": "1.only_first_right",
        "Only second right": "1.only_second_right",
    }
    frame = pl.DataFrame([{"first": pair.first, "second": pair.second, **test._asdict()} for pair, test in tested])
    yield table_by("tests-table", "Items on which only one of two judges is right", tested, columns, frame=frame)
    yield Prose(
        "Items whose label is a tie are left out. --json and --tables also have an exact test of each pair, corrected by "
        "Holm's method. That test takes the labels as given; the intervals of the differences do not."
    )


def turning_points(report: ComparisonNumbers) -> Block:
    pairs = [(pair, pair.turning_point) for pair in report.comparison.pairs if pair.turning_point is not None]

    def cheaper(pair: PairwiseComparison, which: str | None) -> str:
        return {"first": pair.first, "second": pair.second}.get(which or "", "neither")

    columns: Columns = {
        "First": "0.first",
        "Second": "0.second",
        IntervalHead("Ratio"): "1.ratio",
        "Cheaper below": (cheaper, "0", "1.cheaper_below"),
        "Cheaper above": (cheaper, "0", "1.cheaper_above"),
    }
    caption = "The ratio of harm to over-refusal at which both cost the same"
    return table_by("turning-table", caption, pairs, columns)


def gate_page(gate: GateReport) -> Document:
    """Return a short summary, ready for any face."""

    def title(metric: GatedMetric) -> str:
        return metric.titled(titles()[metric.name])

    columns: Columns = {
        "Metric": (title, "metric"),
        "Baseline": (gate_number, "metric", "baseline"),
        "Run": (gate_number, "metric", "run"),
        "Drop, with bounds": (gate_drop, "metric", "drop", "low", "high"),
        "Allowed": (gate_drop, "metric", "margin"),
        "Decision": "decision",
    }
    numbers = pl.DataFrame([gate_fields(gated) for gated in gate.gate.metrics])
    both = [(title(error), *map(estimate_cell, estimates)) for error, estimates in gate.errors.items()]
    both.append(("Unscored", *map(percent, gate.unscored_shares)))
    errors_of_both = table_of("gate-errors", "Errors of both, 95 % intervals", ("Error", "Baseline", "Run"), both)
    table = table_by("gate-table", "Metrics", gate.gate.metrics, columns, frame=numbers)
    return Document(
        title=f"Gate: {gate.decision.upper()}",
        subtitle=gate_subject(gate) + text(", {n:item}", n=gate.gate.n_items),
        notices=gate.notes,
        sections=(
            Section("gate", "The answer", (Prose(gate.sentence(), lead=True), table, errors_of_both), brief=True),
        ),
    )


Level = Literal["notice", "warning", "error"]

LEVELS: dict[Decision, Level] = {"pass": "notice", "inconclusive": "warning", "fail": "error"}

NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""The characters that XML 1.0 cannot hold."""


class GateDecision(NamedTuple):
    """One decision of the gate."""

    name: str
    decision: Decision
    text: str


def gate_subject(gate: GateReport) -> Text:
    """Return which run is compared with which."""
    return text("{run} against {baseline} on {data}", run=gate.run, baseline=gate.baseline, data=gate.benchmark)


def gate_suite(gate: GateReport) -> tuple[str, Sequence[GateDecision]]:
    """Return the two runs, a note where the run has not finished, and the decision on each metric."""
    decisions = [] if gate.finished else [GateDecision("finished", "inconclusive", gate.sentence())]
    for gated in gate.gate.metrics:
        run, baseline = (gate_number(gated.metric, value) for value in (gated.run, gated.baseline))
        drop = gate_drop(gated.metric, gated.drop, gated.low, gated.high)
        allowed = gate_drop(gated.metric, gated.margin)
        words = f"{gated.metric} is {run}, and {baseline} in the baseline: a drop of {drop}; allowed: {allowed}"
        decisions.append(GateDecision(str(gated.metric), gated.decision, words))
    return gate_subject(gate), decisions


def bounds_suite(robustness: RequiredRobustness) -> tuple[str, Sequence[GateDecision]]:
    """Return the judge and its defence, and the decision on each bound with the attack that decides it."""
    return f"{robustness.judge} under attack on {robustness.benchmark}; defence: {robustness.defence}", [
        GateDecision(
            bound.name,
            bound.decision,
            f"{BOUNDED[bound.name]}: {bound.worst.as_share} under {bound.attack}; allowed: {percent(bound.at_most)}",
        )
        for bound in robustness.bounds
    ]


JUNIT: dict[str, Decision] = {"failure": "fail", "error": "inconclusive"}
"""The elements of JUnit XML for the decisions that are no pass."""

D = TypeVar("D", GateReport, RequiredRobustness)


@dataclass(frozen=True, repr=False)
class CIReport(Report[D]):
    """A gate's decision, also as continuous integration reads it."""

    suite: Callable[[D], tuple[str, Sequence[GateDecision]]]
    """Gives the subject of the gate, and each decision that it rests on."""

    @property
    def decision(self) -> Decision:
        """`pass`, `fail` or `inconclusive`: the decision of all metrics or bounds together."""
        return self.numbers.decision

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command for this decision."""
        return self.numbers.exit_code

    def to_junit(self) -> str:
        """Return JUnit XML, a test case a decision: what fails is a failure, what these items cannot tell an error."""
        name, decisions = self.suite(self.numbers)
        counts = {
            f"{kind}s": str(sum(decided.decision == which for decided in decisions)) for kind, which in JUNIT.items()
        }
        suite = ET.Element("testsuite", {"name": xml_text(name), "tests": str(len(decisions)), **counts})
        for decided in decisions:
            case = ET.SubElement(suite, "testcase", classname="casewise.gate", name=decided.name)
            for kind, which in JUNIT.items():
                if decided.decision == which:
                    ET.SubElement(case, kind, message=xml_text(decided.text))
        ET.indent(suite)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'

    @property
    def annotations(self) -> tuple[str, ...]:
        """A line a decision that GitHub's log makes an annotation of: `::error title=…::…`."""
        return tuple(
            f"::{LEVELS[decided.decision]} title="
            f"{escaped(f'casewise gate, {decided.name}: {decided.decision}', ':,')}::{escaped(decided.text)}"
            for decided in self.suite(self.numbers)[1]
        )

    def add_summary(self, path: str | Path) -> None:
        """Write the page as Markdown to the end of a file, as GitHub's job summaries are written.

        Raises ConfigurationError: the file cannot be written.
        """
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(self.to_markdown() + "\n")
        except OSError as error:
            raise cannot_write(Path(path), error) from error


def xml_text(text: str) -> str:
    return NO_XML.sub("\ufffd", text)


def escaped(text: str, also: str = "") -> str:
    return text.translate({ord(character): f"%{ord(character):02X}" for character in "%\r\n" + also})


SENTENCES = {
    "pass": "Under every attack the upper limit is at most the bound.",
    "fail": "Under at least one attack the lower limit is above the bound.",
    "inconclusive": "Undecided: an upper limit is above a bound, and no lower limit is.",
}


def what_would_decide(robustness: RequiredRobustness) -> Iterator[Text]:
    """Yield the number of queries that would decide each undecided bound, the effect of repeats, and the meaning of the bounds."""
    for bound in robustness.bounds:
        if bound.decision == "inconclusive" and (n := bound.times_the_queries) is not None and n <= MOST_TIMES:
            words = "If the share {bound} stays the same, about {n:.1f} times as many {queries} show that it is within the bound."
            yield text(words, n=n, bound=BOUNDED[bound.name])
    if robustness.decision == "inconclusive" and any(bound.worst.estimate is not None for bound in robustness.bounds):
        yield Text(
            "If the judge errs by chance, more answers to each item help as well: casewise attack with a higher --repeats."
        )
    yield Text(
        "Each share is what exceeds noise, or an attacker's control. A judge fails if the lower end of its 95 % interval is above "
        "the bound. It passes if its one-sided 95 % upper end is at most the bound."
    )


MOST_TIMES = 10
"""A share that would take more than so many times the queries lies at its bound."""


def required_page(robustness: RequiredRobustness) -> Document:
    """Return the decision and, for each bound, the attack that decides it."""
    columns: Columns = {
        "Bound": (BOUNDED.get, "name"),
        "At most": (percent, "at_most"),
        "Attack": "attack",
        "Share, with bounds": "worst",
        "Of attacks": "among",
        "Decision": "decision",
    }
    decision = Prose(SENTENCES[robustness.decision], lead=True)
    table = table_by("bounds", "Bounds, and the attack with the largest upper limit", robustness.bounds, columns)
    return Document(
        title=f"{robustness.decision}: {robustness.judge} under attack",
        subtitle=f"{robustness.benchmark}; defence: {robustness.defence}",
        notices=robustness.notes,
        sections=(
            Section("bounds", "The answer", (decision, table, *map(Prose, what_would_decide(robustness))), brief=True),
        ),
    )
