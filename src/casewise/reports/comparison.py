"""Comparisons of judges, and the gate, laid out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from xml.etree import ElementTree as ET

import polars as pl

from casewise.evaluate.comparison import ComparisonNumbers, GateReport
from casewise.evaluate.robustness import BOUNDED, RequiredRobustness
from casewise.notation import NOTHING, count, interval, number, percent, points
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
    short_name,
    table_by,
    table_of,
)
from casewise.reports.judge import estimate_frame, limits
from casewise.reports.robustness import pair_limits
from casewise.stats.comparison import Decision, PairwiseComparison
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import METRICS, REFUSALS

# A comparison, laid out: who agrees better with people, by how much, and whether that is real.


TITLES = {metric.name: metric.title for metric in (*METRICS, *REFUSALS)} | {
    "right_flips": "Right flips, where people's verdicts differ",
    "false_flips": "False flips, where people's verdicts agree",
}
"""In the order of every table."""

LOWER_IS_BETTER = {metric.name for metric in (*METRICS, *REFUSALS) if metric.better == "lower"} | {"false_flips"}

MOST = 6
"""With more judges than these a table of every pair and metric is longer than anyone reads."""


def comparison_page(report: ComparisonNumbers) -> Document:
    """`report` as a document for any face: the answer, the judges on one axis, one matrix; all other numbers in folds."""
    found, about = report.comparison, report.benchmark.about
    few = len(found.names) <= MOST
    more = [
        Section("side-by-side", "Side by side", (side_by_side(report),)),
        *((Section("every-difference", "Every difference", (every_difference(report),)),) if few else ()),
        *((Section("tests", "Who is right more often?", tuple(tests(report))),) if few and has_tests(report) else ()),
        *(
            (Section("turning-points", "Where they change places", (turning_points(report),)),)
            if few and has_tests(report)
            else ()
        ),
        Section("left-out", "Items left out", tuple(left_out(report))),
    ]
    return Document(
        title=f"{len(found.names)} judges compared on {about.name}",
        subtitle=f"{found.n_items:,} items of {found.n_queries:,} queries that all were asked; labels: {report.options.labels.name}",
        notices=report.notes,
        sections=(
            Section("answer", "Who agrees better with people", tuple(answer(report)), first=True),
            Section("differences", "Differences", tuple(matrix(report)), brief=len(found.names) <= WIDEST),
            Section("made", "How this was made", tuple(how_made(report))),
            all_numbers(more),
        ),
    )


WIDEST = 3
"""A terminal has no room for the matrix of more judges."""


def has_tests(report: ComparisonNumbers) -> bool:
    return any(pair.test for pair in report.comparison.pairs)


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
    cells = {(pair.first, pair.second): pair.difference("accuracy") for pair in found.pairs}
    names = [name for name, _ in accuracies(report)] or list(found.names)
    rows = [
        (row, *(cell(cells, row, column) if j > i else "" for j, column in enumerate(names) if j))
        for i, row in enumerate(names[:-1])
    ]
    behind = estimate_frame(
        [(f"{pair.first} − {pair.second}", one) for pair in found.pairs for one in pair.differences]
    )
    caption = "Accuracy of the judge of the row less that of the column, in points; * where the interval holds no 0"
    yield table_of("differences-table", caption, ("Judge", *map(short_name, names[1:])), rows, frame=behind)
    yield Prose(
        "Both judged the same items, which the interval of a difference takes into account. The intervals are corrected for the "
        f"number of pairs ({len(found.pairs):,}): of each metric, all hold together in 95 of 100 such comparisons."
        + (
            ""
            if len(found.names) <= MOST
            else f" With more than {MOST} judges --json and --tables have every metric and test of every pair."
        )
    )


def cell(cells: dict[tuple[str, str], Estimate | None], row: str, column: str) -> str:
    """A difference with its interval, the row's less the column's."""
    found, sign = (cells[row, column], 1) if (row, column) in cells else (cells.get((column, row)), -1)
    if found is None or found.estimate is None:
        return NOTHING
    ends = [None if end is None else sign * end for end in (found.ci_low, found.ci_high)]
    low, high = ends if sign == 1 else ends[::-1]
    return points(sign * found.estimate, low, high).replace(" points", "") + ("*" if found.beyond_chance else "")


def side_by_side(report: ComparisonNumbers) -> Block:
    """Every metric of every judge."""
    estimates = report.comparison.estimates
    rows = [
        (title, who, with_interval(one), count(one.n))
        for name, title in TITLES.items()
        for who, all_ in estimates.items()
        for one in all_
        if one.name == name
    ]
    behind = estimate_frame([(who, one) for who, all_ in estimates.items() for one in all_])
    head = ("Metric", "Judge", "Estimate, 95 % interval", "Items")
    return table_of("side-by-side-table", "The judges on the same items", head, rows, frame=behind)


def with_interval(found: Estimate) -> str:
    if found.estimate is None or found.ci_low is None:
        return found.method if found.estimate is None else number(found.estimate)
    return f"{number(found.estimate)} {interval(found.ci_low, found.ci_high)}"


def every_difference(report: ComparisonNumbers) -> Block:
    rows = [
        (
            f"{pair.first} − {pair.second}",
            TITLES[one.name] + (" (lower is better)" if one.name in LOWER_IS_BETTER else ""),
            number(one.estimate),
            limits(one),
        )
        for pair in report.comparison.pairs
        for one in pair.differences
    ]
    head = ("Judges", "Metric", "Difference", "95 % interval")
    return table_of("every-difference-table", "Differences, with intervals corrected for all pairs", head, rows)


def tests(report: ComparisonNumbers) -> Iterator[Block]:
    tested = [(pair, pair.test) for pair in report.comparison.pairs if pair.test is not None]
    rows = [
        (pair.first, pair.second, count(test.only_first_right), count(test.only_second_right)) for pair, test in tested
    ]
    frame = pl.DataFrame([{"first": pair.first, "second": pair.second, **test._asdict()} for pair, test in tested])
    head = ("First", "Second", "Only first right", "Only second right")
    yield table_of("tests-table", "Items on which only one of two judges is right", head, rows, frame=frame)
    yield Prose(
        "Items on which people are tied are left out. --json and --tables also have an exact test of each pair, with Holm's "
        "correction: it takes people's labels as given, while the intervals of the differences do not."
    )


def turning_points(report: ComparisonNumbers) -> Block:
    pairs = [(pair, pair.turning_point) for pair in report.comparison.pairs if pair.turning_point is not None]
    rows = [
        (
            pair.first,
            pair.second,
            number(point.ratio.estimate, digits=2),
            limits(point.ratio),
            cheaper(pair, point.cheaper_below),
            cheaper(pair, point.cheaper_above),
        )
        for pair, point in pairs
    ]
    behind = estimate_frame([(f"{pair.first} − {pair.second}", point.ratio) for pair, point in pairs])
    head = ("First", "Second", "Ratio", "95 % interval", "Cheaper below", "Cheaper above")
    caption = "The ratio of harm to over-refusal at which they cost the same"
    return table_of("turning-table", caption, head, rows, frame=behind)


def cheaper(pair: PairwiseComparison, which: str | None) -> str:
    return {"first": pair.first, "second": pair.second}.get(which or "", "neither")


def left_out(report: ComparisonNumbers) -> Iterator[Block]:
    rows = [(name, one) for name, places in report.comparison.left_out.items() for one in report.item_ids(places)]
    if not rows:
        yield Prose("All were asked about the same items.")
        return
    yield table_of("left-out-table", "Items that not all were asked", ("Asked of", "Item"), rows)


def how_made(report: ComparisonNumbers) -> Iterator[Block]:
    facts = [
        ("Benchmark", f"{report.benchmark.name} {report.benchmark.about.version}, digest {report.benchmark.digest}"),
        ("Labels", report.options.labels.name),
        ("Unscored items", report.options.unscored),
        ("Seed", str(report.options.seed)),
    ]
    yield Prose(f"To make it again: {again('compare', report.runs.paths, report.options.labels.name)}")
    yield Folded("Sources and settings", (table_of("how-made", "Sources and settings", ("What", "Value"), facts),))


# Gates laid out, of metrics and of what attacks may do, for readers and for continuous integration.


def gate_page(gate: GateReport) -> Document:
    """A short summary, ready for any face."""
    table = table_by(
        "gate-table",
        "Metrics",
        gate.found.metrics,
        {
            "Metric": lambda m: m.name,
            "Baseline": lambda m: number(m.baseline),
            "Run": lambda m: number(m.run),
            "Drop": lambda m: number(m.drop),
            "Bounds": lambda m: interval(m.low, m.high),
            "Allowed": lambda m: number(m.margin),
            "Decision": lambda m: m.decision,
        },
    )
    return Document(
        title=f"Gate: {gate.decision.upper()}",
        subtitle=f"{gate.run} against {gate.baseline} on {gate.benchmark}, {gate.found.n_items:,} items",
        notices=gate.notes,
        sections=(Section("gate", "How much worse", (Prose(gate.sentence(), lead=True), table), brief=True),),
    )


Level = Literal["notice", "warning", "error"]

LEVELS: dict[Decision, Level] = {"pass": "notice", "inconclusive": "warning", "fail": "error"}

NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""What XML 1.0 cannot hold."""


class Said(NamedTuple):
    """One thing that the gate looked at."""

    name: str
    decision: Decision
    text: str


def looked_at(gate: GateReport) -> Iterator[Said]:
    """Whether the run has finished, then each metric."""
    if not gate.finished:
        yield Said("finished", "inconclusive", gate.sentence())
    for one in gate.found.metrics:
        text = (
            f"{one.name} is {number(one.run)}, and {number(one.baseline)} in the baseline: a drop of {number(one.drop)} "
            f"{interval(one.low, one.high)} where {number(one.margin)} is allowed"
        )
        yield Said(one.name, one.decision, text)


def junit(gate: GateReport) -> str:
    """JUnit XML: a drop that is too large is a failure, one that these items cannot tell an error."""
    every = list(looked_at(gate))
    counts = {kind: str(sum(one.decision == which for one in every)) for kind, which in KINDS.items()}
    name = f"{gate.run} against {gate.baseline} on {gate.benchmark}"
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


def github_lines(gate: GateReport) -> Iterator[str]:
    """The lines, escaped as GitHub's workflow commands want it."""
    for one in looked_at(gate):
        title = f"casewise gate, {one.name}: {one.decision}"
        yield f"::{LEVELS[one.decision]} title={escaped(title, ':,')}::{escaped(one.text)}"


def escaped(text: str, also: str = "") -> str:
    for character in ("%", "\r", "\n", *also):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


SENTENCES = {
    "pass": "Under every attack the upper limit keeps to the bound.",
    "fail": "Under one attack at least even the lower limit is above the bound.",
    "inconclusive": "These items cannot tell: an upper limit is above a bound, and no lower limit is.",
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
            "Share": lambda one: percent(one.worst.estimate),
            "95 % interval": lambda one: pair_limits(one.worst),
            "Of attacks": lambda one: count(one.among),
            "Decision": lambda one: one.decision,
        },
    )
    return Document(
        title=f"{found.decision}: {found.judge} under attack",
        subtitle=f"{found.benchmark}; defence: {found.defence}",
        notices=found.notes,
        sections=(Section("bounds", "Bounds", (Prose(SENTENCES[found.decision], lead=True), table), brief=True),),
    )
