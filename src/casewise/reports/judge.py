"""The report of judges' runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Literal, NamedTuple

import polars as pl

from casewise.ask.layouts import groups, spoken
from casewise.evaluate.failures import Misjudged
from casewise.evaluate.judge_numbers import Details, JudgeNumbers
from casewise.evaluate.judged_runs import Series, second_readings, vote_counts
from casewise.evaluate.yardsticks import PeopleAndJudge
from casewise.notation import NOTHING, count, interval, interval_or, number, percent
from casewise.records import SCALES, Item, ShownContext, as_text
from casewise.reports import charts
from casewise.reports import charts as judge_charts
from casewise.reports.behaviour import behaviour_sections
from casewise.reports.document import (
    CHATBOT,
    Block,
    Document,
    Exhibit,
    Figure,
    Folded,
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    again,
    all_numbers,
    short_name,
    table_by,
    table_of,
)
from casewise.reports.judge_parts import (
    TOLD,
    answer_section,
    arms_blocks,
    beside_sections,
    every_estimate,
    headline,
    series_name,
    several_series,
)
from casewise.stats.calibration import Calibration
from casewise.stats.costs import CostPoint, RefusalRates, Refusals
from casewise.stats.estimates import ESTIMATE_COLUMNS, Estimate, JudgeNoise
from casewise.stats.pairs import PairResults
from casewise.storage.batch_jobs import JobLog
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import item_table

# The sections of a judge in detail: pairs, refusals, calibration, costs, repeats, probability mass on the labels.


PAIR_MEASURES: tuple[tuple[str, str, str | None], ...] = (
    ("both_right", "Right on both items", None),
    ("right_flips", "Right flips, where people's verdicts differ", "person_right_flips"),
    ("reversed_flips", "Reversed flips, where people's verdicts differ", "person_reversed_flips"),
    ("both_right_where_alike", "Right on both, where people's verdicts agree", None),
    ("false_flips", "False flips, where people's verdicts agree", "person_false_flips"),
)
"""Measure, its words, and the same of one person."""

ERRORS = (("over_refusal", "over-refusal"), ("harm", "harm"))


class Calibrated(NamedTuple):
    """A series with values on [0, 1]."""

    name: str
    calibration: Calibration
    floors: tuple[Estimate, ...]


def limits(found: Estimate) -> str:
    """The interval of an estimate, or the reason for none."""
    return interval_or(found.ci_low, found.ci_high, found.method)


def with_interval(found: Estimate) -> str:
    """An estimate with its interval, where it has one."""
    return " ".join(part for part in (number(found.estimate), interval(found.ci_low, found.ci_high)) if part != NOTHING)


def estimate_frame(rows: Sequence[tuple[str, Estimate]]) -> pl.DataFrame:
    """Estimates unrounded, each with whose it is."""
    schema = {"series": pl.String(), "name": pl.String(), **ESTIMATE_COLUMNS}
    return pl.DataFrame([(who, *found.cells) for who, found in rows], schema=schema, orient="row")


def pairs(found_of: Sequence[tuple[str, PairResults]]) -> Iterator[Block]:
    several = len(found_of) > 1
    rows, behind = [], []
    for series, results in found_of:
        for name, words, person in PAIR_MEASURES:
            found: Estimate = getattr(results, name)
            beside: Estimate | None = getattr(results, person) if person else None
            same: Estimate | None = getattr(results, f"beside_{person}") if person else None
            who = (series,) if several else ()
            rows.append(
                (
                    *who,
                    words,
                    number(found.estimate),
                    limits(found),
                    count(found.n),
                    count(found.n_unscored),
                    person_cell(beside),
                    person_cell(same),
                )
            )
            behind += [(series, e) for e in (found, beside, same) if e is not None]
    head = (
        *(("Judge",) if several else ()),
        "Measure",
        "Estimate",
        "95 % interval",
        "Pairs",
        "Unscored",
        "One person",
        "Judge beside them",
    )
    yield table_of("pairs-table", "Pairs of a query's two contexts", head, rows, frame=estimate_frame(behind))
    yield Prose(" ".join(dict.fromkeys(pair_words(results) for _, results in found_of)))


def person_cell(beside: Estimate | None) -> str:
    return number(beside.estimate) if beside is not None else "–"


def pair_words(found: PairResults) -> str:
    c = found.counts
    return (
        f"Of {c.pairs:,} pairs, people's verdicts differ on {c.differ:,}"
        + (f" ({c.reversed:,} of them against the author's intent)" if c.reversed else "")
        + f" and agree on {c.both_safe + c.both_unsafe:,} ({c.both_unsafe:,} both unsafe, {c.both_safe:,} both safe); "
        f"{c.tied:,} with a tie are left out. A judge that only reads which context was meant to be safe is right on "
        "every pair that differs and on none that agrees. \u201cOne person\u201d is one rating drawn at random on each item and held against the majority of the others; \u201cjudge beside them\u201d is the judge held against the same others, so that the two can be compared."
    )


def refusals(found_of: Sequence[tuple[str, Refusals]]) -> Iterator[Block]:
    several = len(found_of) > 1
    rows, behind = [], []
    for series, found in found_of:
        at = found.at
        who = (series,) if several else ()
        for people, n, error, name, unscored in (
            ("safe", at.n_safe, at.over_refusal, "over-refusal", at.unscored_safe),
            ("unsafe", at.n_unsafe, at.harm, "harm", at.unscored_unsafe),
        ):
            rows.append(
                (*who, people, count(n), name, number(error.estimate), limits(error), percent(unscored.estimate))
            )
        behind += [(series, e) for e in at.estimates]
    head = (*(("Judge",) if several else ()), "People say", "Items", "Error", "Estimate", "95 % interval", "Unscored")
    agreement = percent(found_of[0][1].at.agreement, digits=0)
    caption = f"Errors where at least {agreement} of the people agree"
    yield table_of("refusals-table", caption, head, rows, frame=estimate_frame(behind))
    for index, (series, found) in enumerate(found_of):
        yield refusal_figure(series, found.curve, f"refusal-curve-{index}")
    yield Prose("A reply without a verdict is a third rate, counted as neither error.")


def refusal_figure(series: str, curve: Sequence[RefusalRates], name: str) -> Block:
    rows = pl.DataFrame(
        [
            (point.agreement, words, found.estimate, found.ci_low, found.ci_high)
            for point in curve
            for error, words in ERRORS
            if (found := getattr(point, error)).estimate is not None
        ],
        schema={"agreement": pl.Float64, "error": pl.String, "rate": pl.Float64, "low": pl.Float64, "high": pl.Float64},
        orient="row",
    )
    if not len(rows):
        return Prose(f"{series}: on no item do enough people agree.")
    drawn = charts.for_page(judge_charts.refusal_curves(rows), name=name)
    return Figure(
        name,
        f"{series}: both errors as more people must agree on an item for it to count.",
        "Two lines with intervals: harm and over-refusal over the agreement asked for; the table gives them.",
        drawn,
        curve_table(f"{name}-table", curve, rows),
    )


def curve_table(name: str, curve: Sequence[RefusalRates], frame: pl.DataFrame) -> Table:
    columns: dict[str, Callable[[RefusalRates], str]] = {
        "Agreement": lambda point: percent(point.agreement, digits=0),
        "Safe items": lambda point: count(point.n_safe),
        "Over-refusal": lambda point: number(point.over_refusal.estimate),
        "95 % interval": lambda point: limits(point.over_refusal),
        "Unsafe items": lambda point: count(point.n_unsafe),
        "Harm": lambda point: number(point.harm.estimate),
        "95 % interval ": lambda point: limits(point.harm),
    }
    return table_by(name, "Errors by how many people agree", curve, columns, frame=frame)


def calibrations(details: Sequence[Calibrated]) -> Iterator[Block]:
    rows, behind = [], []
    for one in details:
        for words, found in calibration_rows(one):
            who = (one.name,) if len(details) > 1 else ()
            rows.append((*who, words, number(found.estimate), limits(found), count(found.n)))
            behind.append((one.name, found))
    for one in details[:TOLD]:
        error, by_chance = one.calibration.error, one.calibration.by_chance
        chance = "" if by_chance is None else f"; a calibrated judge's would lie {by_chance:.3f} away by chance"
        whose = f"{short_name(one.name)}'s" if len(details) > 1 else "Its"
        yield Prose(f"{whose} values lie {with_interval(error)} from people's safe rates on average{chance}.")
    for index, one in enumerate(details[:TOLD]):
        yield calibration_figure(one, f"calibration-{index}")
    head = (*(("Judge",) if len(details) > 1 else ()), "Measure", "Estimate", "95 % interval", "Items")
    table = table_of(
        "calibration-table", "Values against people's safe rates", head, rows, frame=estimate_frame(behind)
    )
    note = Prose(
        "The Brier score is the sum of its calibration part, which a change of scale can remove, and its refinement part. "
        "Nobody's score lies below the noise that few votes leave; cross-entropy cannot fall below what is attainable."
    )
    yield Folded("Every number about calibration", (table, note))


def calibration_rows(one: Calibrated) -> Iterator[tuple[str, Estimate]]:
    found = one.calibration
    by_chance = f" (a calibrated judge has {found.by_chance:.3f} by chance)" if found.by_chance is not None else ""
    yield f"Calibration error{by_chance}", found.error
    yield "Brier score", found.brier
    yield "Brier score: calibration part", found.calibration_part
    yield "Brier score: refinement part", found.refinement_part
    floors = {floor.name: floor for floor in one.floors}
    yield "Brier score: noise of the votes", found.noise_floor
    yield "Cross-entropy: entropy of the votes", floors["entropy"]
    yield "Cross-entropy: attainable", floors["attainable_entropy"]


def calibration_figure(one: Calibrated, name: str) -> Figure:
    curve = one.calibration.curve
    frame = pl.DataFrame(
        [(b.low, b.high, b.value, b.rate.estimate, b.rate.ci_low, b.rate.ci_high, b.n) for b in curve],
        schema={
            **dict.fromkeys(("from", "to", "value", "rate", "low", "high"), pl.Float64),
            "n": pl.Int64,
        },
        orient="row",
    )
    cells = [
        (f"{b.low:.2f} to {b.high:.2f}", number(b.value), number(b.rate.estimate), limits(b.rate), count(b.n))
        for b in curve
    ]
    head = ("Judge's values", "Mean", "People's mean rate", "95 % interval", "Items")
    return Figure(
        name,
        f"{one.name}: what people say where the judge says a value. On the dashed line the values mean what they say.",
        f"Calibration curve over {len(curve)} bins of about as many items each, with intervals; the table gives it.",
        charts.for_page(judge_charts.calibration_curve(frame), name=name),
        table_of(f"{name}-table", "Calibration curve", head, cells, frame=frame),
    )


def costs(details: Sequence[Details]) -> Iterator[Block]:
    frame = cost_frame(details)
    if not len(frame):
        yield Prose("No item has a label, so that no error can be counted.")
        return
    drawn = judge_charts.cost_curves(frame)
    several = len(details) > 1
    rows = [
        (*((one.series.name,) if several else ()), *cost_cells(point)) for one in details for point in one.costs.points
    ]
    head = (
        "Ratio",
        "Cost",
        "95 % interval",
        "Best threshold",
        "95 % interval ",
        "Threshold",
        "Refuse all",
        "Answer all",
    )
    yield from cost_sentences(details)
    yield Figure(
        "cost-curve",
        "Expected cost of an item over how many over-refusals are as bad as one harm, in units of one error of each kind.",
        "Lines of expected cost over the ratio of harm to over-refusal, beside refusing and answering everything.",
        charts.for_page(drawn, name="cost-curve"),
        table_of("cost-table", "Expected cost", (*(("Judge",) if several else ()), *head), rows, frame=frame),
    )
    yield Prose(
        "\u201cBest threshold\u201d judges each query with the threshold that is cheapest on the other queries, so that the "
        "choice does not flatter the judge. A judge above one of the grey lines does worse at that ratio than calling everything the same."
    )


def cost_sentences(details: Sequence[Details]) -> Iterator[Prose]:
    """What an item costs where a harm is as bad as an over-refusal."""
    for one in details[:TOLD]:
        point = next((point for point in one.costs.points if point.ratio == 1 and point.cost is not None), None)
        if point is not None and point.cost is not None:
            yield Prose(
                f"Where a harm is as bad as an over-refusal, an item costs {with_interval(point.cost)} "
                f"errors with {'this judge' if len(details) == 1 else short_name(one.series.name)}, {number(point.refuse_all)} with "
                f"refusing all, and {number(point.answer_all)} with answering all."
            )


def cost_cells(point: CostPoint) -> tuple[str, ...]:
    return (
        f"{point.ratio:g}",
        *number_and_limits(point.cost),
        *number_and_limits(point.best_threshold),
        number(point.threshold),
        number(point.refuse_all),
        number(point.answer_all),
    )


def number_and_limits(found: Estimate | None) -> tuple[str, str]:
    return (number(found.estimate), limits(found)) if found is not None else ("–", "–")


def cost_frame(details: Sequence[Details]) -> pl.DataFrame:
    rows: list[tuple[str, str, float, float | None]] = []
    for one in details:
        for point in one.costs.points:
            if point.cost is not None:
                rows.append((one.series.name, "verdicts", point.ratio, point.cost.estimate))
            if point.best_threshold is not None:
                rows.append((one.series.name, "best threshold", point.ratio, point.best_threshold.estimate))
    for point in details[0].costs.points:
        rows.append(("", "refuse everything", point.ratio, point.refuse_all))
        rows.append(("", "answer everything", point.ratio, point.answer_all))
    schema = {"name": pl.String, "kind": pl.String, "ratio": pl.Float64, "cost": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").drop_nulls("cost")


def repeats(found_of: Sequence[tuple[str, JudgeNoise]]) -> Iterator[Block]:
    rows, behind = [], []
    for series, noise in found_of:
        for words, found in (
            ("Standard deviation within an item", noise.deviation),
            ("Chance that two judgements differ in verdict", noise.changes),
        ):
            cells = (number(found.estimate), limits(found), count(found.n), count(noise.n_judgements))
            rows.append((series, words, *cells))
            behind.append((series, found))
    head = ("Judge", "Measure", "Estimate", "95 % interval", "Items", "Judgements")
    yield table_of("repeats-table", "How much the judge differs from itself", head, rows, frame=estimate_frame(behind))
    yield Prose(
        "An item's value is the mean over its repeats. Repeats add no items: intervals are over queries all the same."
    )


def covered_mass_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """The table, and how to read it."""
    yield Prose(
        "P(safe) is normalised over the tokens that begin “safe” or “unsafe”. This is the share of the first token's whole "
        "distribution that goes to them: where it is low, the model would rather have said something else, such as a "
        "refusal, and its probability speaks of little."
    )
    yield table_by(
        "covered-mass",
        "Probability mass on the labels, by people's label",
        table.to_dicts(),
        {
            "Judge": lambda row: row["judge"],
            "Arm": lambda row: row["arm"],
            "People say": lambda row: row["label"],
            "Judgements": lambda row: count(row["judgements"]),
            "Mean mass": lambda row: number(row["mean"]),
            "Lowest": lambda row: number(row["lowest"]),
            "Below one half": lambda row: percent(row["low"]),
        },
        frame=table,
    )


# The report of judges' runs, laid out: what to read first, and everything behind it.


def judge_page(report: JudgeNumbers) -> Document:
    """`report` as a document for any face."""
    about = report.benchmark.about
    c = report.benchmark.counts
    counts = f"{c.items:,} items, {c.queries:,} queries, {c.ratings:,} ratings"
    return Document(
        title=f"{names(report)} on {about.name}",
        subtitle=f"{report.benchmark.title}: {counts}".removeprefix(f"{about.name}: "),
        notices=tuple(note for note in report.notes if note not in report.runs.silent_notes),
        sections=tuple(sections(report)),
    )


def names(report: JudgeNumbers) -> str:
    """Who was asked, and for what, where that was one thing."""
    who = ", ".join(dict.fromkeys(series.who.removeprefix("recorded:") for series in report.runs.series))
    asked = {series.elicitation for series in report.runs.series}
    return f"{who} ({asked.pop()})" if len(asked) == 1 else who


def sections(report: JudgeNumbers) -> Iterator[Section]:
    """The answer, at most six sections that each begin with a sentence, and all other numbers in folds."""
    yield from answer_section(report, tuple(exhibits(report, brief=True))[:EXAMPLES])
    yield from behaviour_sections(report)
    replies = Section(
        "unscored", "Replies without a verdict", tuple(replies_read(report)), brief=len(report.unscored) > 0
    )
    if all(series.mostly_unscored for series in report.runs.series):
        yield replies
        yield Section("made", "How this was made", tuple(how_made(report)))
        return
    several = several_series(report.metrics)
    if len(report.arms):
        yield Section("arms", "What the context is worth", tuple(arms_blocks(report.arms)))
    if (report.categories["metric"] == "accuracy").any():
        yield Section("categories", "By category", tuple(categories(report)), brief=True)
    yield Section("disagreements", "Worst disagreements", tuple(disagreements(report)))
    yield from detail_sections(report.details)
    yield Section("made", "How this was made", tuple(how_made(report)))
    shown = len(report.unscored) > 0
    if shown:
        yield replies
    yield all_numbers(
        brief=True,
        sections=[
            Section("headline", "How well it agrees with people", tuple(headline(report))),
            *beside_sections(report),
            Section("people", "Judge against people", tuple(against_people(report.against_people))),
            *more_details(report),
            *(() if shown else (replies,)),
            *((Section("estimates", "Every estimate", tuple(every_estimate(report))),) if several else ()),
        ],
    )


EXAMPLES = 3
"""Failures that stand with the answer."""


def detail_sections(details: Sequence[Details]) -> Iterator[Section]:
    """Pairs, costs and calibration, for those judges that have them: a sentence a judge, charts, and the tables in folds."""
    paired = [(one.series.name, one.pairs) for one in details if one.pairs is not None]
    if paired:
        told = [Prose(pairs_sentence(name, found, among=len(details))) for name, found in paired[:TOLD]]
        yield Section("pairs", "Pairs", (*told, Folded("Every number about pairs", tuple(pairs(paired)))), brief=True)
    yield Section("costs", "What errors cost", tuple(costs(details)), brief=True)
    calibrated = [Calibrated(one.series.name, one.calibration, one.floors) for one in details if one.calibration]
    if calibrated:
        yield Section("calibration", "Values and calibration", tuple(calibrations(calibrated)), brief=True)


def more_details(report: JudgeNumbers) -> Iterator[Section]:
    """What stands in folds: errors by how many people agree, the judge's own noise, the mass on the labels."""
    decided = [(one.series.name, one.refusals) for one in report.details if one.refusals is not None]
    if decided:
        yield Section("refusals", "Harm and over-refusal", tuple(refusals(decided)))
    noisy = [(one.series.name, one.series.noise) for one in report.details if one.series.noise is not None]
    if noisy:
        yield Section("repeats", "The judge's own noise", tuple(repeats(noisy)))
    if len(report.covered_mass):
        yield Section("mass", "How much the labels weigh", tuple(covered_mass_blocks(report.covered_mass)))


def subject(name: str, among: int) -> str:
    """Whom a sentence is about: the only judge needs no name."""
    return short_name(name) if among > 1 else "This judge"


def pairs_sentence(name: str, found: PairResults, *, among: int) -> str:
    """Does the verdict turn when people's does, and only then?"""
    counted = found.counts
    parts = []
    if counted.differ:
        parts.append(
            f"follows people's verdict in {found.right_flips.as_share} of the {counted.differ:,} pairs in which it turns with "
            "the context"
        )
    if alike := counted.both_safe + counted.both_unsafe:
        parts.append(f"turns in {found.false_flips.as_share} of the {alike:,} in which people's does not")
    return f"{subject(name, among)} {' and '.join(parts)}." if parts else "No pair has a majority on both items."


def against_people(found: Sequence[PeopleAndJudge]) -> Iterator[Block]:
    for index, one in enumerate(found):
        if len(one.valued):
            yield scatter(one, f"scatter-{index}")
        yield histogram(one, f"histogram-{index}")


def scatter(found: PeopleAndJudge, name: str) -> Figure:
    points, series = found.valued, found.series
    values = points["value"]
    scale = SCALES[series.elicitation]
    low = scale.low if isfinite(scale.low) else float(values.min() or 0)  # type: ignore[arg-type]
    high = scale.high if isfinite(scale.high) else float(values.max() or 1)  # type: ignore[arg-type]
    drawn = charts.judge_against_people(points, value_title=f"Judge's {scale.title}", domain=(low, high))
    rows = [
        (f"{row['bin']:.1f} to {row['bin'] + 0.1:.1f}", count(row["items"]), number(row["mean"]), number(row["spread"]))
        for row in found.means.to_dicts()
    ]
    head = ("Safe rate", "Items", "Mean", "SD")
    few = len(points) <= charts.MOST_DOTS
    dots = "each dot is an item" if few else f"each dot is an item, {charts.MOST_DOTS:,} of {len(points):,} at random"
    return Figure(
        name,
        f"{series.name}: {dots}; the line joins the judge's mean in tenths of people's safe rate.",
        f"Scatter of {len(points)} items: people's safe rate against the judge's value. The table below gives its means.",
        charts.for_page(drawn, name=name),
        table_of(f"{name}-table", "Judge's value by people's safe rate", head, rows, frame=found.means),
    )


def histogram(found: PeopleAndJudge, name: str) -> Figure:
    drawn = charts.histogram_by_verdict(found.counts)
    rows = [
        (f"{row['low']:.1f} to {row['high']:.1f}", row["verdict"], count(row["items"]))
        for row in found.counts.to_dicts()
    ]
    head = ("Safe rate", "Judge", "Items")
    return Figure(
        name,
        f"{found.series.name}: how many items people find how safe, and what the judge says of them.",
        "Stacked histogram of items over people's safe rate, by the judge's verdict. The table below gives every count.",
        charts.for_page(drawn, name=name),
        table_of(f"{name}-table", "Items by safe rate and verdict", head, rows, frame=found.counts),
    )


def categories(report: JudgeNumbers) -> Iterator[Block]:
    """A sentence, the domains on one axis, and every category in a fold."""
    weak = [one.weakest for one in report.answers if one.weakest is not None]
    yield Prose(
        f"{', '.join(dict.fromkeys(one.name for one in weak))} "
        f"{'is' if len(weak) == 1 else 'are'} shown to be below the other categories, corrected for their number."
        if weak
        else "No category is shown to be below the others, corrected for their number: each has few queries."
    )
    domains = report.domains.filter((pl.col("metric") == "accuracy") & pl.col("estimate").is_not_null())
    if len(domains) and not several_series(domains):
        yield Forest("domain-forest", "Accuracy by domain, 95 % intervals", (("", tuple(domain_rows(domains))),))
    accuracy = report.categories.filter((pl.col("metric") == "accuracy") & pl.col("estimate").is_not_null())
    chart = (category_chart(accuracy),) if len(accuracy) else ()
    tables = (
        slice_table("domains", "Domains", report.domains),
        slice_table("by-category", "Categories", report.categories),
    )
    yield Folded("Every category", (*chart, *tables))


def domain_rows(rows: pl.DataFrame) -> Iterator[ForestRow]:
    for row in rows.sort("estimate", descending=True).to_dicts():
        yield ForestRow(row["slice"], row["estimate"], row["ci_low"], row["ci_high"])


def category_chart(accuracy: pl.DataFrame) -> Figure:
    first = series_name(accuracy.row(0, named=True))
    rows = accuracy.select(
        name="slice",
        estimate="estimate",
        low="ci_low",
        high="ci_high",
        series=pl.struct("judge", "elicitation", "arm").map_elements(series_name, return_dtype=pl.String),
    )
    order = rows.filter(pl.col("series") == first).sort("estimate", descending=True, nulls_last=True)["name"].to_list()
    if rows["series"].n_unique() == 1:
        rows = rows.drop("series")
    drawn = charts.dots_with_intervals(rows.drop_nulls("estimate"), title="Accuracy", order=order)
    return Figure(
        "category-chart",
        "Accuracy by category with 95 % intervals, best first.",
        "Dot chart of accuracy by category with intervals; the table of categories below gives the numbers.",
        charts.for_page(drawn, name="category-chart"),
    )


def slice_table(name: str, caption: str, rows: pl.DataFrame) -> Table:
    wide: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows.to_dicts():
        wide.setdefault((series_name(row), row["slice"]), {})[row["metric"]] = row
    several = several_series(rows)
    decided = ((key, found) for key, found in wide.items() if "accuracy" in found)
    cells = [
        (
            where,
            *((who,) if several else ()),
            count(found["accuracy"]["n"]),
            number(found["accuracy"]["estimate"]),
            interval(found["accuracy"]["ci_low"], found["accuracy"]["ci_high"]),
            number(found["recall_safe"]["estimate"]),
            number(found["recall_unsafe"]["estimate"]),
            percent(found["unscored_rate"]["estimate"]),
        )
        for (who, where), found in sorted(decided, key=lambda pair: best_first(pair[1]["accuracy"]["estimate"]))
    ]
    head = (
        {"Categories": "Category", "Domains": "Domain"}[caption],
        *(("Judge",) if several else ()),
        "Items",
        "Accuracy",
        "95 % interval",
        "Recall of safe",
        "Recall of unsafe",
        "Unscored",
    )
    return table_of(name, caption, head, cells, frame=rows)


def best_first(estimate: float | None) -> float:
    return float("inf") if estimate is None else -estimate


def disagreements(report: JudgeNumbers) -> Iterator[Block]:
    found = tuple(exhibits(report))
    if not found:
        yield Prose("On no item is the judge's verdict other than people's.")
        return
    yield Prose(f"The {len(found)} items on which a verdict lies farthest from what people say, the worst first.")
    yield Folded("Read them", found)


def exhibits(report: JudgeNumbers, *, brief: bool = False) -> Iterator[Exhibit]:
    """The worst disagreements; in brief as examples of what a judge gets wrong."""
    for found in report.disagreements:
        shown = exhibit(found)
        yield replace(shown, brief=True, heading=f"Wrong, for example, in {shown.heading}") if brief else shown


def exhibit(found: Misjudged) -> Exhibit:
    case = found.case
    words = {0.0: "refuses", 1.0: "answers"} if found.of_replies else {0.0: "unsafe", 1.0: "safe"}
    said = words.get(found.value, "") if found.elicitation == "binary" else number(found.value)
    return Exhibit(
        heading=f"{case.category}, {case.condition.replace('_', ' ')}",
        facts=(("People", case.people), (found.judge, said), *case.facts),
        query=case.query,
        context=shown_groups(case.shown),
        reply=found.reply,
        reply_by=CHATBOT if found.of_replies else "judge",
    )


def shown_groups(shown: ShownContext) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """What is shown of a context, as groups of labelled texts."""
    return tuple(
        (spoken(group.name), tuple((spoken(name or group.name), as_text(said)) for name, said in group.statements))
        for group in groups(shown)
    )


def replies_read(report: JudgeNumbers) -> Iterator[Block]:
    yield unscored(report)
    if len(report.read_as):
        rows = [
            (series_name(row), READ_AS.get(row["read_as"], row["read_as"]), row["replies"])
            for row in report.read_as.to_dicts()
        ]
        title = "How the replies were read that gave a verdict"
        yield table_of("read-as-table", title, ("Judge", "Read as", "Replies"), rows, frame=report.read_as)
    for one in second_readings(report.runs):
        yield Prose(
            f"{one.reader} read {one.n_read:,} of {one.n_read + one.n_none:,} replies of {one.judge} that gave no verdict to the strict "
            "reader. "
            + (
                f"Of {one.n_both:,} replies that both read it found the same verdict in {one.n_same:,}."
                if one.n_both
                else "No reply was read by both."
            )
        )


READ_AS = {
    "json": "JSON as it was asked for",
    "json-repaired": "JSON, a slip mended or under another key",
    "whole": "the whole reply is the verdict",
    "label": "a labelled verdict, or the verdict alone on the first or last line",
    "model": "read by a second model",
    "statement": "a statement in prose (runs of older versions)",
    "label-token": "the probability of the label's token",
}
"""In words; a guard's profile stands under its own name."""


def unscored(report: JudgeNumbers) -> Table:
    by_series: dict[str, list[tuple[str, int]]] = {}
    for row in report.unscored.to_dicts():
        by_series.setdefault(series_name(row), []).append((row["reason"], row["items"]))
    rows = [
        (who, sum(n for _, n in reasons), ", ".join(f"{reason} {n}" for reason, n in reasons))
        for who, reasons in by_series.items()
    ]
    return table_of("unscored-table", "Unscored items", ("Judge", "Items", "Reasons"), rows, frame=report.unscored)


def how_asked(series: Series) -> str:
    """Which model answered, how it was asked and reached, and how its replies were read."""
    run = series.run
    settings = run.manifest.identity.settings
    asked, answered = settings.get("model"), ", ".join(series.versions)
    said = []
    if asked is not None:
        bare = str(asked).rpartition("/")[2]
        other = f", not {bare}" if answered and bare not in answered else ""
        said.append(f"answered by {answered}{other}" if answered else f"asked {asked}, which did not say what answered")
        temperature = settings.get("temperature")
        refused = {
            what: any(f"takes no {what}" in note for note in run.notes) for what in ("temperature", "JSON schema")
        }
        drawn = "temperature not set" if temperature is None else f"temperature {temperature:g}"
        said.append(f"{drawn}, which it does not take" if refused["temperature"] else drawn)
        held = "JSON schema refused, then free replies" if refused["JSON schema"] else "held to a JSON schema"
        said.append(held if settings.get("structured") else "free replies")
        said.append("over a batch interface" if JobLog.read(run.path).jobs else "live")
    if effort := settings.get("mode"):
        said.append(f"effort {effort}")
    if series.read_as:
        read = ", ".join(f"{READ_AS.get(name, name)} {n:,}" for name, n in series.read_as.items())
        said.append(f"read as: {read}")
    return "; ".join(said) or "no model was asked"


def how_made(report: JudgeNumbers) -> Iterator[Block]:
    facts = [
        ("Benchmark", report.benchmark.title),
        ("Benchmark digest", report.benchmark.digest),
        ("Labels", report.options.labels.name),
        ("Unscored items", report.options.unscored),
        ("Seed", str(report.options.seed)),
    ]
    for run in report.runs.runs:
        name, made = run.path.name, run.manifest
        facts += [
            (f"Run {name}", f"judge {made.identity.judge}, begun {made.created:%Y-%m-%d %H:%M} UTC"),
            (f"Settings of {name}", ", ".join(f"{k}={v}" for k, v in made.identity.settings.items()) or "none"),
            *((f"Words of {name}, {asked}", wording) for asked, wording in made.wordings.items()),
        ]
    for series in report.runs.series:
        facts += [
            (series.name, f"{int(series.asked.sum())} items, {series.repeats} repeat(s)"),
            (f"How {series.name} was asked", how_asked(series)),
        ]
    yield Prose(f"To make it again: {again('report', report.runs.paths, report.options.labels.name)}")
    yield Folded("Sources and settings", (table_of("how-made", "Sources and settings", ("What", "Value"), facts),))


# A benchmark, or one item of it, as a person would like to read it.


def benchmark_page(benchmark: Benchmark) -> Document:
    """Counts, conditions and the taxonomy with how many items and how safe people find them."""
    c = benchmark.counts
    return Document(
        title=benchmark.title,
        subtitle=benchmark.about.description or benchmark.about.source or "",
        notices=benchmark.notes(),
        sections=(
            Section(
                "counts",
                "What it holds",
                (
                    table_of(
                        "counts",
                        "What it holds",
                        ("Kind", "Number"),
                        [(kind, n) for kind, n in c.model_dump().items()],
                    ),
                    by(benchmark, "condition", "Conditions"),
                    by(benchmark, "category", "Categories"),
                ),
                brief=True,
            ),
        ),
    )


def by(benchmark: Benchmark, column: Literal["condition", "category"], caption: str) -> Table:
    cells = [
        (
            row[column],
            *((row["domain"] or "–",) if column == "category" else ()),
            count(row["items"]),
            count(row["votes"]),
            percent(row["safe"] / row["votes"]) if row["votes"] else "–",
        )
        for row in vote_counts(benchmark, column).to_dicts()
    ]
    head = (column.capitalize(), *(("Domain",) if column == "category" else ()), "Items", "Ratings", "Safe")
    return table_of(caption.lower(), caption, head, cells)


def item_page(benchmark: Benchmark, item: Item) -> Document:
    """One item: its query, its context, and what people said."""
    return Document(
        title=f"Item {item.id}",
        subtitle=benchmark.title,
        notices=(f"SYNTHETIC DATA: {benchmark.about.synthetic}",) if benchmark.about.synthetic else (),
        sections=(Section("item", "The item", (item_exhibit(benchmark, item),), brief=True),),
    )


def item_exhibit(benchmark: Benchmark, item: Item) -> Exhibit:
    """One item laid out."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    intent = (
        "none" if context is None or context.intended_safe is None else "safe" if context.intended_safe else "unsafe"
    )
    rate = f" ({percent(votes.rate, digits=0)})" if votes.total else ""
    return Exhibit(
        heading=f"{query.category}, {item.condition.replace('_', ' ')}",
        facts=(("People", f"{votes.safe} of {votes.total} say safe{rate}"), ("Intended", intent)),
        query=query.text,
        context=shown_groups(context.shown() if context else {}),
    )


def item_json(benchmark: Benchmark, item: Item) -> dict[str, Any]:
    """One item as plain JSON values."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    return {
        "id": item.id,
        "query": query.text,
        "category": query.category,
        "condition": item.condition,
        "pair_id": item.pair_id,
        "intended_safe": context.intended_safe if context else None,
        "context": context.shown() if context else None,
        "n_safe": votes.safe,
        "n_votes": votes.total,
    }


def benchmark_json(benchmark: Benchmark) -> dict[str, Any]:
    """What a benchmark holds as plain JSON values."""
    return {
        "name": benchmark.name,
        "version": benchmark.about.version,
        "digest": benchmark.digest,
        "counts": benchmark.counts.model_dump(),
        "taxonomy": {"name": benchmark.taxonomy.name, "categories": list(benchmark.taxonomy.names)},
        "conditions": item_table(benchmark)["condition"].value_counts(sort=True).to_dicts(),
        "synthetic": benchmark.about.synthetic,
        "notes": list(benchmark.notes()),
    }
