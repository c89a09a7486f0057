"""Comparisons of judges, and the gate, laid out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree as ET

import polars as pl

from casewise.evaluate.comparison import ComparisonNumbers, GateReport, gate_number, lead
from casewise.evaluate.robustness import BOUNDED, RequiredRobustness
from casewise.notation import count, percent
from casewise.reports.document import (
    Block,
    Document,
    Folded,
    Forest,
    ForestRow,
    Prose,
    Section,
    again,
    all_numbers,
    difference_cell,
    estimate_cell,
    estimate_frame,
    short_name,
    table_by,
    table_of,
)
from casewise.stats.comparison import Decision, PairwiseComparison
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import ON_SCALE, REFUSALS, all_metrics

# A comparison, laid out: who agrees better with people, by how much, and whether that is real.


@cache
def titles() -> dict[str, str]:
    """Return the titles of metrics by name, in the order of every table."""
    return {metric.name: metric.title for metric in (*all_metrics(), *REFUSALS, *ON_SCALE)} | {
        "right_flips": "Right flips, where the labels differ",
        "false_flips": "False flips, where the labels agree",
    }


@cache
def lower_is_better() -> frozenset[str]:
    """Return the names of the metrics of which less is better."""
    return frozenset(metric.name for metric in (*all_metrics(), *REFUSALS, *ON_SCALE) if metric.better == "lower") | {
        "false_flips"
    }


MOST = 6
"""With more judges than these a table of every pair and metric is longer than anyone reads."""

WIDEST = 3
"""A terminal has no room for the matrix of more judges."""


def comparison_page(report: ComparisonNumbers) -> Document:
    """`report` as a document for any face: the answer, the judges on one axis, one matrix; all other numbers in folds."""
    found, about = report.comparison, report.benchmark.about
    few, tested = len(found.names) <= MOST, any(pair.test for pair in found.pairs)
    more = [Section("side-by-side", "Every metric of every judge", (side_by_side(report),))]
    if few:
        more.append(Section("every-difference", "Every difference", (every_difference(report),)))
    if few and tested:
        more.append(Section("tests", "Items on which only one judge is right", tuple(tests(report))))
        more.append(
            Section("turning-points", "The cost ratio at which the cheaper judge changes", (turning_points(report),))
        )
    more.append(Section("left-out", "Items left out", tuple(left_out(report))))
    return Document(
        title=f"{len(found.names)} judges compared on {about.name}",
        subtitle=f"{found.n_items:,} items of {found.n_queries:,} queries, judged by all; labels: {report.options.labels.name}",
        notices=report.notes,
        sections=(
            Section("answer", "The answer", tuple(answer(report)), first=True),
            Section("differences", "Differences", tuple(matrix(report)), brief=len(found.names) <= WIDEST),
            Section("made", "How this was made", tuple(how_made(report))),
            all_numbers(more),
        ),
    )


def answer(report: ComparisonNumbers) -> Iterator[Block]:
    """A sentence, and every judge with an accuracy on one axis, best first."""
    yield Prose(report.sentence, lead=True)
    found = accuracies(report)
    if found:
        rows = tuple(ForestRow(short_name(name), one.estimate, one.ci_low, one.ci_high) for name, one in found)
        yield Forest("judges", "Accuracy, 95 % intervals of each judge alone", (("", rows),))


def accuracies(report: ComparisonNumbers) -> list[tuple[str, Estimate]]:
    """The judges that have one, best first."""
    estimates = report.comparison.estimates.items()
    found = [
        (name, one) for name, all_ in estimates for one in all_ if one.name == "accuracy" and one.estimate is not None
    ]
    return sorted(found, key=lambda pair: -(pair[1].estimate or 0.0))


def matrix(report: ComparisonNumbers) -> Iterator[Block]:
    """The accuracy of each judge less that of each below it, with corrected intervals."""
    found = report.comparison
    names = [name for name, _ in accuracies(report)] or list(found.names)
    rows = [
        (row, *(cell(lead(found, row, column, "accuracy")) if j > i else "" for j, column in enumerate(names) if j))
        for i, row in enumerate(names[:-1])
    ]
    behind = estimate_frame(
        [(f"{pair.first} − {pair.second}", one) for pair in found.pairs for one in pair.differences]
    )
    caption = "Accuracy of the row's judge less that of the column's judge, in points; * where the interval excludes 0"
    yield table_of("differences-table", caption, ("Judge", *map(short_name, names[1:])), rows, frame=behind)
    corrected = (
        f"They are corrected for all {len(found.pairs):,} pairs: in 95 of 100 such comparisons all intervals of a metric hold."
        if len(found.pairs) > 1
        else "There is one pair only, so nothing is corrected."
    )
    yield Prose(
        f"The intervals are of differences on the same items. {corrected}"
        + (
            ""
            if len(found.names) <= MOST
            else f" With more than {MOST} judges, --json and --tables have every metric and test of every pair."
        )
    )


def cell(found: Estimate | None) -> str:
    return difference_cell(found, unit="") + ("*" if found and found.beyond_chance else "")


def side_by_side(report: ComparisonNumbers) -> Block:
    """Every metric of every judge."""
    estimates = [(who, one) for who, all_ in report.comparison.estimates.items() for one in all_]
    order = list(titles())
    columns: dict[str, Callable[[tuple[str, Estimate]], str]] = {
        "Metric": lambda row: titles()[row[1].name],
        "Judge": lambda row: row[0],
        "Estimate, 95 % interval": lambda row: estimate_cell(row[1]),
        "Items": lambda row: count(row[1].n),
    }
    rows = sorted((row for row in estimates if row[1].name in titles()), key=lambda row: order.index(row[1].name))
    return table_by(
        "side-by-side-table", "The judges on the same items", rows, columns, frame=estimate_frame(estimates)
    )


def every_difference(report: ComparisonNumbers) -> Block:
    rows = [(pair, one) for pair in report.comparison.pairs for one in pair.differences]
    columns: dict[str, Callable[[tuple[PairwiseComparison, Estimate]], str]] = {
        "Judges": lambda row: f"{row[0].first} − {row[0].second}",
        "Metric": lambda row: (
            titles()[row[1].name] + (" (lower is better)" if row[1].name in lower_is_better() else "")
        ),
        "Difference, 95 % interval": lambda row: difference_cell(row[1]),
    }
    caption = "Differences, with intervals corrected for all pairs"
    return table_by("every-difference-table", caption, rows, columns)


def tests(report: ComparisonNumbers) -> Iterator[Block]:
    tested = [(pair, pair.test) for pair in report.comparison.pairs if pair.test is not None]
    columns: dict[str, Callable[[Any], str]] = {
        "First": lambda row: row[0].first,
        "Second": lambda row: row[0].second,
        "Only first right": lambda row: count(row[1].only_first_right),
        "Only second right": lambda row: count(row[1].only_second_right),
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

    columns: dict[str, Callable[[Any], str]] = {
        "First": lambda row: row[0].first,
        "Second": lambda row: row[0].second,
        "Ratio, 95 % interval": lambda row: estimate_cell(row[1].ratio),
        "Cheaper below": lambda row: cheaper(row[0], row[1].cheaper_below),
        "Cheaper above": lambda row: cheaper(row[0], row[1].cheaper_above),
    }
    behind = estimate_frame([(f"{pair.first} − {pair.second}", point.ratio) for pair, point in pairs])
    caption = "The ratio of harm to over-refusal at which both cost the same"
    return table_by("turning-table", caption, pairs, columns, frame=behind)


def left_out(report: ComparisonNumbers) -> Iterator[Block]:
    rows = [(name, one) for name, places in report.comparison.left_out.items() for one in report.item_ids(places)]
    if not rows:
        yield Prose("All judges judged the same items.")
        return
    yield table_of("left-out-table", "Items that not all judges were asked", ("Asked of", "Item"), rows)


def how_made(report: ComparisonNumbers) -> Iterator[Block]:
    facts = [
        ("Benchmark", f"{report.benchmark.name} {report.benchmark.about.version}, digest {report.benchmark.digest}"),
        ("Labels", report.options.labels.name),
        ("Unscored items", report.options.unscored),
        ("Seed", str(report.options.seed)),
    ]
    yield Prose(f"To make this report again: {again('compare', report.runs.paths, report.options.labels.name)}")
    yield Folded("Sources and settings", (table_of("how-made", "Sources and settings", ("Setting", "Value"), facts),))


# Gates laid out, of metrics and of what attacks may do, for readers and for continuous integration.


def gate_page(gate: GateReport) -> Document:
    """A short summary, ready for any face."""
    table = table_by(
        "gate-table",
        "Metrics",
        gate.found.metrics,
        {
            "Metric": lambda m: gate_title(m.name),
            "Baseline": lambda m: gate_number(m.name, m.baseline),
            "Run": lambda m: gate_number(m.name, m.run),
            "Drop, with bounds": lambda m: gate_number(m.name, m.drop, (m.low, m.high)),
            "Allowed": lambda m: gate_number(m.name, m.margin, (None, None)),
            "Decision": lambda m: m.decision,
        },
    )
    return Document(
        title=f"Gate: {gate.decision.upper()}",
        subtitle=f"{gate.run} against {gate.baseline} on {gate.benchmark}, {gate.found.n_items:,} items",
        notices=gate.notes,
        sections=(Section("gate", "The answer", (Prose(gate.sentence(), lead=True), table), brief=True),),
    )


def gate_title(name: str) -> str:
    """The title of a gated metric; of replies with the policy of partial answers, as in `Harm (strict)`."""
    metric, *policy = name.split(" ", 1)
    return " ".join((titles()[metric], *policy))


Level = Literal["notice", "warning", "error"]

LEVELS: dict[Decision, Level] = {"pass": "notice", "inconclusive": "warning", "fail": "error"}

NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""What XML 1.0 cannot hold."""


class Said(NamedTuple):
    """One decision of the gate."""

    name: str
    decision: Decision
    text: str


def looked_at(gate: GateReport) -> Iterator[Said]:
    """Whether the run has finished, then each metric."""
    if not gate.finished:
        yield Said("finished", "inconclusive", gate.sentence())
    for one in gate.found.metrics:
        text = (
            f"{one.name} is {gate_number(one.name, one.run)}, and {gate_number(one.name, one.baseline)} in the baseline: a drop of "
            f"{gate_number(one.name, one.drop, (one.low, one.high))}; allowed: {gate_number(one.name, one.margin, (None, None))}"
        )
        yield Said(one.name, one.decision, text)


def bounds_looked_at(found: RequiredRobustness) -> Iterator[Said]:
    """Each bound, with the attack that decides it."""
    for one in found.bounds:
        text = f"{BOUNDED[one.name]}: {one.worst.as_share} under {one.attack}; allowed: {percent(one.at_most)}"
        yield Said(one.name, one.decision, text)


def junit(name: str, every: Sequence[Said]) -> str:
    """JUnit XML: what fails is a failure, what these items cannot tell an error. `name`: of the suite."""
    counts = {kind: str(sum(one.decision == which for one in every)) for kind, which in KINDS.items()}
    suite = ET.Element("testsuite", {"name": xml_text(name), "tests": str(len(every)), **counts})
    for one in every:
        case = ET.SubElement(suite, "testcase", classname="casewise.gate", name=one.name)
        for kind, which in KINDS.items():
            if one.decision == which:
                ET.SubElement(case, kind.removesuffix("s"), message=xml_text(one.text))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


KINDS: dict[str, Decision] = {"failures": "fail", "errors": "inconclusive"}


def xml_text(text: str) -> str:
    return NO_XML.sub("\ufffd", text)


def github_lines(every: Iterable[Said]) -> Iterator[str]:
    """The lines, escaped as GitHub's workflow commands want it."""
    for one in every:
        title = f"casewise gate, {one.name}: {one.decision}"
        yield f"::{LEVELS[one.decision]} title={escaped(title, ':,')}::{escaped(one.text)}"


def escaped(text: str, also: str = "") -> str:
    for character in ("%", "\r", "\n", *also):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


SENTENCES = {
    "pass": "Under every attack the upper limit is at most the bound.",
    "fail": "Under at least one attack the lower limit is above the bound.",
    "inconclusive": "These items cannot tell: an upper limit is above a bound, but no lower limit.",
}


def required_page(found: RequiredRobustness) -> Document:
    """The decision and, for each bound, the attack that decides it."""
    table = table_by(
        "bounds",
        "Bounds, and the attack with the largest upper limit",
        found.bounds,
        {
            "Bound": lambda one: BOUNDED[one.name],
            "At most": lambda one: percent(one.at_most),
            "Attack": lambda one: one.attack,
            "Share, 95 % interval": lambda one: estimate_cell(one.worst),
            "Of attacks": lambda one: count(one.among),
            "Decision": lambda one: one.decision,
        },
    )
    return Document(
        title=f"{found.decision}: {found.judge} under attack",
        subtitle=f"{found.benchmark}; defence: {found.defence}",
        notices=found.notes,
        sections=(Section("bounds", "The answer", (Prose(SENTENCES[found.decision], lead=True), table), brief=True),),
    )
