"""Comparisons of judges, and the gate, laid out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from xml.etree import ElementTree as ET

import polars as pl

from casewise.evaluate.comparison import ComparisonNumbers, GateReport
from casewise.evaluate.robustness import BOUNDED, RequiredRobustness
from casewise.notation import count, interval, number, percent
from casewise.reports import charts
from casewise.reports.document import Block, Document, Figure, Prose, Section, again, table_by, table_of
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

OF_MANY = ("accuracy", "auroc", "spearman", "right_flips", "false_flips", "over_refusal", "harm")
"""What stands of each of many judges."""


def comparison_page(report: ComparisonNumbers) -> Document:
    """`report` as a document for any face."""
    found, about = report.comparison, report.benchmark.about
    return Document(
        title=f"{len(found.names)} judges compared on {about.name}",
        subtitle=f"{found.n_items:,} items of {found.n_queries:,} queries that all were asked; labels: {report.options.labels.name}",
        notices=report.notes,
        sections=(
            Section("answer", "Who agrees better with people", (Prose(report.sentence),), brief=True),
            *(few(report) if len(found.names) <= MOST else many(report)),
            Section("left-out", "Items left out", tuple(left_out(report))),
            Section("made", "How this was made", (how_made(report),)),
        ),
    )


def few(report: ComparisonNumbers) -> Iterator[Section]:
    """Every metric of every pair."""
    yield Section("side-by-side", "Side by side", tuple(side_by_side(report)), brief=True)
    yield Section("differences", "Differences", tuple(differences(report)), brief=True)
    if any(pair.test for pair in report.comparison.pairs):
        yield Section("tests", "Who is right more often?", tuple(tests(report)), brief=True)
        yield Section("turning-points", "Where they change places", tuple(turning_points(report)), brief=True)


def many(report: ComparisonNumbers) -> Iterator[Section]:
    """A row for each judge, and one matrix of differences."""
    yield Section("side-by-side", "Side by side", (each_judge(report),), brief=True)
    yield Section("differences", "Differences", tuple(matrix(report)), brief=len(report.comparison.names) <= 2 * MOST)


def each_judge(report: ComparisonNumbers) -> Block:
    found, short = report.comparison, letters(report)
    by_name = {who: {e.name: e for e in estimates} for who, estimates in found.estimates.items()}
    names = [name for name in OF_MANY if any(name in one for one in by_name.values())]
    rows = [
        (short[who], who, *(number(one.estimate if (one := by_name[who].get(name)) else None) for name in names))
        for who in found.names
    ]
    behind = estimate_frame([(who, e) for who in found.names for e in found.estimates[who]])
    head = ("", "Judge", *(TITLES[name].partition(",")[0] for name in names))
    return table_of("side-by-side-table", "The judges on the same items", head, rows, frame=behind)


def matrix(report: ComparisonNumbers) -> Iterator[Block]:
    found, short = report.comparison, letters(report)
    cells = {(pair.first, pair.second): pair.difference("accuracy") for pair in found.pairs}
    cells |= {(b, a): one for (a, b), one in cells.items()}
    rows = [
        (short[row], *(signed(cells.get((row, column)), flip=i > j) for j, column in enumerate(found.names)))
        for i, row in enumerate(found.names)
    ]
    behind = estimate_frame(
        [(f"{pair.first} − {pair.second}", one) for pair in found.pairs for one in pair.differences]
    )
    head = ("", *(short[name] for name in found.names))
    caption = "Accuracy of the judge of the row less that of the column; * where the interval, corrected for all pairs, holds no 0"
    yield table_of("differences-table", caption, head, rows, frame=behind)
    yield Prose(
        f"With more than {MOST} judges the {len(found.pairs):,} pairs are shown as a matrix of one metric. --json and --tables "
        "have every metric, test and turning point of every pair; compare two of these runs alone to read them. "
        "casewise leaderboard ranks the judges with intervals that hold together."
    )


def signed(found: Estimate | None, *, flip: bool) -> str:
    if found is None or found.estimate is None:
        return "–"
    return number(-found.estimate if flip else found.estimate) + ("*" if found.beyond_chance else "")


def letters(report: ComparisonNumbers) -> dict[str, str]:
    """A short name for each judge: A, B, ...; numbers where there are more judges than letters."""
    names = report.comparison.names
    return {name: chr(ord("A") + i) if len(names) <= 26 else str(i + 1) for i, name in enumerate(names)}


def side_by_side(report: ComparisonNumbers) -> Iterator[Block]:
    found, short = report.comparison, letters(report)
    yield table_of("judges-table", "The judges", ("", "Judge"), [(short[name], name) for name in found.names])
    by_name = {who: {e.name: e for e in estimates} for who, estimates in found.estimates.items()}
    rows = [
        (title, *(with_interval(by_name[who].get(name)) for who in found.names))
        for name, title in TITLES.items()
        if any(name in one for one in by_name.values())
    ]
    behind = estimate_frame([(who, e) for who in found.names for e in found.estimates[who]])
    head = ("Metric", *(short[name] for name in found.names))
    yield table_of("side-by-side-table", "The judges on the same items, with 95 % intervals", head, rows, frame=behind)


def with_interval(found: Estimate | None) -> str:
    if found is None or found.estimate is None:
        return found.method if found is not None else "–"
    return (
        f"{number(found.estimate)} {interval(found.ci_low, found.ci_high) if found.ci_low is not None else ''}".strip()
    )


def differences(report: ComparisonNumbers) -> Iterator[Block]:
    short = letters(report)
    rows, behind = [], []
    for pair in report.comparison.pairs:
        for one in pair.differences:
            title = TITLES[one.name] + (" (lower is better)" if one.name in LOWER_IS_BETTER else "")
            rows.append((f"{short[pair.first]} − {short[pair.second]}", title, number(one.estimate), limits(one)))
            behind.append((f"{pair.first} − {pair.second}", one))
    yield from figure(report)
    head = ("Judges", "Metric", "Difference", "95 % interval")
    yield table_of("differences-table", "Differences between the judges", head, rows, frame=estimate_frame(behind))
    yield Prose(
        "All judges are measured on the same queries, so that the interval of a difference takes into account "
        "that they judged the same items. The intervals are corrected for the number of pairs: of each metric, all hold "
        "together in 95 of 100 such comparisons. Two judges are told apart where their interval holds no 0."
    )


def figure(report: ComparisonNumbers) -> Iterator[Figure]:
    short = letters(report)
    rows = pl.DataFrame(
        [
            (f"{short[pair.first]} − {short[pair.second]}", one.estimate, one.ci_low, one.ci_high)
            for pair in report.comparison.pairs
            for one in pair.differences
            if one.name == "accuracy" and one.estimate is not None
        ],
        schema={"name": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64},
        orient="row",
    )
    if not len(rows):
        return
    drawn = charts.dots_with_intervals(rows, title="Difference in accuracy", zero=True)
    yield Figure(
        "differences-chart",
        "Differences in accuracy with 95 % intervals, corrected for all pairs. On the dashed line there is none.",
        "Dot chart of differences in accuracy between each two judges; the table of differences gives the numbers.",
        charts.for_page(drawn, name="differences-chart"),
    )


def tests(report: ComparisonNumbers) -> Iterator[Block]:
    short = letters(report)
    tested = [(pair, pair.test) for pair in report.comparison.pairs if pair.test is not None]
    rows = [
        (short[pair.first], short[pair.second], count(test.only_first_right), count(test.only_second_right))
        for pair, test in tested
    ]
    frame = pl.DataFrame([{"first": pair.first, "second": pair.second, **test._asdict()} for pair, test in tested])
    head = ("First", "Second", "Only first right", "Only second right")
    yield table_of("tests-table", "Items on which only one of two judges is right", head, rows, frame=frame)
    yield Prose(
        "Items on which people are tied are left out. --json and --tables also have an exact test of each pair, with Holm's "
        "correction: it takes people's labels as given, while the intervals of the differences do not."
    )


def turning_points(report: ComparisonNumbers) -> Iterator[Block]:
    pairs = [(pair, pair.turning_point) for pair in report.comparison.pairs if pair.turning_point is not None]
    short = letters(report)
    rows = [
        (
            short[pair.first],
            short[pair.second],
            number(point.ratio.estimate, digits=2),
            limits(point.ratio),
            cheaper(pair, point.cheaper_below, short),
            cheaper(pair, point.cheaper_above, short),
        )
        for pair, point in pairs
    ]
    behind = estimate_frame([(f"{pair.first} − {pair.second}", point.ratio) for pair, point in pairs])
    head = ("First", "Second", "Ratio", "95 % interval", "Cheaper below", "Cheaper above")
    yield table_of(
        "turning-table", "The ratio of harm to over-refusal at which they cost the same", head, rows, frame=behind
    )


def cheaper(pair: PairwiseComparison, which: str | None, short: dict[str, str]) -> str:
    return {"first": short[pair.first], "second": short[pair.second]}.get(which or "", "neither")


def left_out(report: ComparisonNumbers) -> Iterator[Block]:
    rows = [(name, one) for name, places in report.comparison.left_out.items() for one in report.item_ids(places)]
    if not rows:
        yield Prose("All were asked about the same items.")
        return
    yield table_of("left-out-table", "Items that not all were asked", ("Asked of", "Item"), rows)


def how_made(report: ComparisonNumbers) -> Block:
    facts = [
        ("Benchmark", f"{report.benchmark.name} {report.benchmark.about.version}, digest {report.benchmark.digest}"),
        ("Labels", report.options.labels.name),
        ("Unscored items", report.options.unscored),
        ("Seed", str(report.options.seed)),
        ("To make it again", again("compare", report.runs.paths, report.options.labels.name)),
    ]
    return table_of("how-made", "Sources and settings", ("What", "Value"), facts)


# Gates laid out, of metrics and of what attacks may do, for readers and for continuous integration.


def gate_page(gate: GateReport) -> Document:
    """A short summary, ready for any face."""
    table = table_by(
        "gate-table",
        "How much worse the run is",
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
        sections=(Section("gate", "How much worse", (table, Prose(gate.sentence())), brief=True),),
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
        sections=(Section("bounds", "Bounds", (Prose(SENTENCES[found.decision]), table), brief=True),),
    )
