"""The sections of a judge in detail: pairs, refusals, calibration, costs, repeats, probability mass on the labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import polars as pl

from casewise.evaluation.judge_details import Details
from casewise.reporting.charts import drawing as charts
from casewise.reporting.charts import judge as judge_charts
from casewise.reporting.document import (
    Block,
    Figure,
    Prose,
    Section,
    Table,
    count,
    interval_or,
    number,
    percent,
    table_by,
    table_of,
)
from casewise.stats.agreeing.calibration import Calibration
from casewise.stats.agreeing.cost_of_thresholds import CostPoint
from casewise.stats.agreeing.estimates import ESTIMATE_COLUMNS, Estimate
from casewise.stats.agreeing.over_refusal import RefusalRates, Refusals
from casewise.stats.agreeing.pairs import PairResults
from casewise.stats.agreeing.repeats import JudgeNoise

__all__ = ["covered_mass_blocks", "detail_sections", "estimate_frame", "limits"]

PAIR_MEASURES: tuple[tuple[str, str, str | None], ...] = (
    ("both_right", "Right on both items", None),
    ("right_flips", "Right flips, where people's verdicts differ", "person_right_flips"),
    ("reversed_flips", "Reversed flips, where people's verdicts differ", "person_reversed_flips"),
    ("both_right_where_alike", "Right on both, where people's verdicts agree", None),
    ("false_flips", "False flips, where people's verdicts agree", "person_false_flips"),
)
"""Measure, its words, and the same of one person."""

ERRORS = (("over_refusal", "over-refusal"), ("under_refusal", "under-refusal"))


def detail_sections(details: Sequence[Details]) -> Iterator[Section]:
    """A section for each part that any series has."""
    paired = [(one.series.name, one.pairs) for one in details if one.pairs is not None]
    if paired:
        yield Section("pairs", "Pairs: does the verdict turn when people's does?", tuple(pairs(paired)), brief=True)
    decided = [(one.series.name, one.refusals) for one in details if one.refusals is not None]
    if decided:
        yield Section("refusals", "Over-refusal and under-refusal", tuple(refusals(decided)), brief=True)
    calibrated = [Calibrated(one.series.name, one.calibration, one.floors) for one in details if one.calibration]
    if calibrated:
        yield Section("calibration", "Do the values mean what they say?", tuple(calibrations(calibrated)))
    yield Section("costs", "What errors cost", tuple(costs(details)))
    noisy = [(one.series.name, one.series.noise) for one in details if one.series.noise is not None]
    if noisy:
        yield Section("repeats", "The judge's own noise", tuple(repeats(noisy)))


class Calibrated(NamedTuple):
    """A series with values on [0, 1]."""

    name: str
    calibration: Calibration
    floors: tuple[Estimate, ...]


def limits(found: Estimate) -> str:
    """The interval of an estimate, or the reason for none."""
    return interval_or(found.ci_low, found.ci_high, found.method)


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
            ("unsafe", at.n_unsafe, at.under_refusal, "under-refusal", at.unscored_unsafe),
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
        "Two lines with intervals: over-refusal and under-refusal over the agreement asked for; the table gives them.",
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
        "Under-refusal": lambda point: number(point.under_refusal.estimate),
        "95 % interval ": lambda point: limits(point.under_refusal),
    }
    return table_by(name, "Errors by how many people agree", curve, columns, frame=frame)


def calibrations(details: Sequence[Calibrated]) -> Iterator[Block]:
    rows, behind = [], []
    for one in details:
        for words, found in calibration_rows(one):
            who = (one.name,) if len(details) > 1 else ()
            rows.append((*who, words, number(found.estimate), limits(found), count(found.n)))
            behind.append((one.name, found))
    head = (*(("Judge",) if len(details) > 1 else ()), "Measure", "Estimate", "95 % interval", "Items")
    yield table_of("calibration-table", "Values against people's safe rates", head, rows, frame=estimate_frame(behind))
    for index, one in enumerate(details):
        yield calibration_figure(one, f"calibration-{index}")
    yield Prose(
        "The Brier score is the sum of its calibration part, which a change of scale can remove, and its refinement part. "
        "Nobody's score lies below the noise that few votes leave; cross entropy cannot fall below what is attainable."
    )


def calibration_rows(one: Calibrated) -> Iterator[tuple[str, Estimate]]:
    found = one.calibration
    by_chance = f" (a calibrated judge has {found.by_chance:.3f} by chance)" if found.by_chance is not None else ""
    yield f"Calibration error{by_chance}", found.error
    yield "Brier score", found.brier
    yield "Brier score: calibration part", found.calibration_part
    yield "Brier score: refinement part", found.refinement_part
    floors = {floor.name: floor for floor in one.floors}
    yield "Brier score: noise of the votes", found.noise_floor
    yield "Cross entropy: entropy of the votes", floors["entropy"]
    yield "Cross entropy: attainable", floors["attainable_entropy"]


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
