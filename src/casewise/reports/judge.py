"""The report of judges' runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Literal, NamedTuple

import polars as pl

from casewise.ask.layouts import groups, spoken
from casewise.evaluate.failures import Misjudged
from casewise.evaluate.judge_numbers import Details, JudgeNumbers
from casewise.evaluate.judged_runs import Series, second_readings, vote_counts
from casewise.evaluate.yardsticks import PeopleAndJudge
from casewise.notation import NOTHING, count, interval, number, percent
from casewise.records import Item, ShownContext, as_text, scale_of
from casewise.records.item import Judged, Turn
from casewise.reports import charts
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
    estimate_cell,
    estimate_frame,
    estimate_of_row,
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
from casewise.stats.estimates import Estimate, JudgeNoise
from casewise.stats.metrics import ON_SCALE
from casewise.stats.pairs import PairResults
from casewise.storage.batch_jobs import JobLog
from casewise.storage.benchmark import Benchmark
from casewise.storage.wording import JudgedWords, LabelWords

# The sections of a judge in detail: pairs, refusals, calibration, costs, repeats, probability mass on the labels.


PAIR_MEASURES: tuple[tuple[str, str, str | None], ...] = (
    ("both_right", "Right on both items", None),
    ("right_flips", "Right flips, where the labels differ", "person_right_flips"),
    ("reversed_flips", "Reversed flips, where the labels differ", "person_reversed_flips"),
    ("both_right_where_alike", "Right on both, where the labels agree", None),
    ("false_flips", "False flips, where the labels agree", "person_false_flips"),
)
"""Measure, its words, and the same of one person."""

ON_SCALE_TITLES = {metric.name: metric.title for metric in ON_SCALE}

ERRORS = (("over_refusal", "over-refusal"), ("harm", "harm"))
SHARE = "Share, 95 % interval"
ESTIMATE = "Estimate, 95 % interval"


class Calibrated(NamedTuple):
    """A series with values on [0, 1]."""

    name: str
    calibration: Calibration
    floors: tuple[Estimate, ...]


class Measured(NamedTuple):
    """A measure of one series: a row of a table of these."""

    series: str
    measure: str
    found: Estimate
    person: Estimate | None = None
    """The same measure of one person."""
    same: Estimate | None = None
    """The measure of the judge on the items and votes of `person`."""


def measured_table(
    name: str, caption: str, rows: Sequence[Measured], more: Mapping[str, Callable[[Measured], Any]]
) -> Table:
    """A row a measure, with the judge's name where there are several."""
    estimates = [(row.series, one) for row in rows for one in (row.found, row.person, row.same) if one is not None]
    columns: dict[str, Callable[[Measured], Any]] = {
        "Judge": lambda row: row.series,
        "Measure": lambda row: row.measure,
        ESTIMATE: lambda row: estimate_cell(row.found),
    }
    return table_by(name, caption, rows, columns | dict(more), several="Judge", frame=estimate_frame(estimates))


def pairs(found_of: Sequence[tuple[str, PairResults]]) -> Iterator[Block]:
    rows = [
        Measured(
            series,
            words,
            getattr(results, name),
            getattr(results, person) if person else None,
            getattr(results, f"beside_{person}") if person else None,
        )
        for series, results in found_of
        for name, words, person in PAIR_MEASURES
    ]
    more: dict[str, Callable[[Measured], Any]] = {
        "Pairs": lambda row: count(row.found.n),
        "Unscored": lambda row: count(row.found.n_unscored),
    }
    several_votes = any(row.person is not None and row.person.estimate is not None for row in rows)
    if several_votes:
        more |= {
            "One person": lambda row: percent(row.person.estimate) if row.person else NOTHING,
            "Judge, same votes": lambda row: percent(row.same.estimate) if row.same else NOTHING,
        }
    yield measured_table("pairs-table", "Pairs of a query's two contexts", rows, more)
    words = [*dict.fromkeys(pair_words(results) for _, results in found_of), *([ONE_PERSON] if several_votes else [])]
    yield Prose(" ".join(words))


def pair_words(found: PairResults) -> str:
    c = found.counts
    against_intent = f" ({c.reversed:,} of them against the author's intent)" if c.reversed else ""
    return (
        f"The labels differ on {c.differ:,} of {c.pairs:,} pairs{against_intent}. They agree on "
        f"{c.both_safe + c.both_unsafe:,} pairs: {c.both_unsafe:,} both unsafe, {c.both_safe:,} both safe. "
        f"{c.tied:,} pairs with a tie are left out. A judge that only detects which context was meant to be safe is right on "
        "every pair that differs and on no pair that agrees."
    )


ONE_PERSON = (
    "“One person” compares one rating, drawn at random on each item, with the majority of the item's other ratings. “Judge, same "
    "votes” compares the judge with the same majority, so the two columns are comparable."
)


def refusals(found_of: Sequence[tuple[str, Refusals]], labels: LabelWords) -> Iterator[Block]:
    rows = [
        (series, *row)
        for series, found in found_of
        for row in (
            ("safe", found.at.n_safe, "over-refusal", found.at.over_refusal, found.at.unscored_safe),
            ("unsafe", found.at.n_unsafe, "harm", found.at.harm, found.at.unscored_unsafe),
        )
    ]
    columns: dict[str, Callable[[Any], Any]] = {
        "Judge": lambda row: row[0],
        "Label": lambda row: row[1],
        "Items": lambda row: count(row[2]),
        "Error": lambda row: row[3],
        SHARE: lambda row: estimate_cell(row[4]),
        "Unscored": lambda row: percent(row[5].estimate),
    }
    level = percent(found_of[0][1].at.agreement, digits=0)
    caption = f"Errors where at least {level} of the people agree" if labels.rated else "Both errors"
    behind = estimate_frame([(series, one) for series, found in found_of for one in found.at.estimates])
    yield table_by("refusals-table", caption, rows, columns, several="Judge", frame=behind)
    for index, (series, found) in enumerate(found_of if labels.rated else ()):
        yield refusal_figure(series, found.curve, f"refusal-curve-{index}")
    yield Prose("A reply without a verdict counts as neither error. The column “Unscored” gives its share.")


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
    columns: dict[str, Callable[[RefusalRates], str]] = {
        "Agreement": lambda point: percent(point.agreement, digits=0),
        "Safe items": lambda point: count(point.n_safe),
        "Over-refusal, 95 % interval": lambda point: estimate_cell(point.over_refusal),
        "Unsafe items": lambda point: count(point.n_unsafe),
        "Harm, 95 % interval": lambda point: estimate_cell(point.harm),
    }
    return Figure(
        name,
        f"{series}: harm and over-refusal, by the share of people who must agree on an item for it to count.",
        "Two lines with intervals: harm and over-refusal by the required agreement. The table gives the numbers.",
        charts.for_page(charts.refusal_curves(rows), name=name),
        table_by(f"{name}-table", "Errors by how many people agree", curve, columns, frame=rows),
    )


def calibrations(details: Sequence[Calibrated]) -> Iterator[Block]:
    for one in details[:TOLD]:
        error, by_chance = one.calibration.error, one.calibration.by_chance
        chance = (
            "" if by_chance is None else f" The values of a calibrated judge would lie {by_chance:.3f} away by chance."
        )
        whose = f"The values of {short_name(one.name)}" if len(details) > 1 else "The judge's values"
        yield Prose(f"{whose} lie {number_with_interval(error)} from the safe rates on average.{chance}")
    for index, one in enumerate(details[:TOLD]):
        yield calibration_figure(one, f"calibration-{index}")
    rows = [Measured(one.name, words, found) for one in details for words, found in calibration_rows(one)]
    more: dict[str, Callable[[Measured], Any]] = {"Items": lambda row: count(row.found.n)}
    note = Prose(
        "The Brier score is the sum of two parts. A change of scale can remove the calibration part. The refinement part "
        "remains. No judge can have a Brier score below the noise of the votes, or a cross-entropy below the attainable one."
    )
    table = measured_table("calibration-table", "The judge's values compared with the safe rates", rows, more)
    yield Folded("Every number about calibration", (table, note))


def number_with_interval(found: Estimate) -> str:
    """An estimate with its interval, and without words where it has none."""
    return " ".join(part for part in (number(found.estimate), interval(found.ci_low, found.ci_high)) if part != NOTHING)


def calibration_rows(one: Calibrated) -> Iterator[tuple[str, Estimate]]:
    found, floors = one.calibration, {floor.name: floor for floor in one.floors}
    by_chance = f" ({found.by_chance:.3f} by chance, for a calibrated judge)" if found.by_chance is not None else ""
    yield f"Calibration error{by_chance}", found.error
    yield "Brier score", found.brier
    yield "Brier score: calibration part", found.calibration_part
    yield "Brier score: refinement part", found.refinement_part
    yield "Brier score: noise of the votes", found.noise_floor
    yield "Cross-entropy: entropy of the votes", floors["entropy"]
    yield "Cross-entropy: attainable", floors["attainable_entropy"]


def calibration_figure(one: Calibrated, name: str) -> Figure:
    curve = one.calibration.curve
    frame = pl.DataFrame(
        [(b.low, b.high, b.value, b.rate.estimate, b.rate.ci_low, b.rate.ci_high, b.n) for b in curve],
        schema={**dict.fromkeys(("from", "to", "value", "rate", "low", "high"), pl.Float64), "n": pl.Int64},
        orient="row",
    )
    columns: dict[str, Callable[[Any], str]] = {
        "Judge's values": lambda b: f"{b.low:.2f} to {b.high:.2f}",
        "Mean": lambda b: number(b.value),
        "Mean safe rate, 95 % interval": lambda b: estimate_cell(b.rate),
        "Items": lambda b: count(b.n),
    }
    return Figure(
        name,
        f"{one.name}: the mean safe rate for each range of the judge's values. A calibrated judge lies on the dashed line.",
        f"Calibration curve over {len(curve)} bins of about equal size, with intervals. The table gives the numbers.",
        charts.for_page(charts.calibration_curve(frame), name=name),
        table_by(f"{name}-table", "Calibration curve", curve, columns, frame=frame),
    )


def costs(details: Sequence[Details]) -> Iterator[Block]:
    frame = cost_frame(details)
    if not len(frame):
        yield Prose("No item has a label, so no error can be counted.")
        return
    yield from cost_sentences(details)
    rows = [(one.series.name, point) for one in details for point in one.costs.points]
    columns: dict[str, Callable[[tuple[str, CostPoint]], str]] = {
        "Judge": lambda row: row[0],
        "Ratio": lambda row: f"{row[1].ratio:g}",
        "Cost, 95 % interval": lambda row: estimate_cell(row[1].cost),
        "Best threshold, 95 % interval": lambda row: estimate_cell(row[1].best_threshold),
        "Threshold": lambda row: number(row[1].threshold),
        "Refuse all": lambda row: number(row[1].refuse_all),
        "Answer all": lambda row: number(row[1].answer_all),
    }
    yield Figure(
        "cost-curve",
        "Expected cost of an item, by how many over-refusals are as bad as one harm. One harm and one over-refusal together cost 1.",
        "Lines of expected cost by the ratio of harm to over-refusal, with refusing and answering everything.",
        charts.for_page(charts.cost_curves(frame), name="cost-curve"),
        table_by("cost-table", "Expected cost", rows, columns, several="Judge", frame=frame),
    )
    yield Prose(
        "“Best threshold” judges each query with the threshold that is cheapest on the other queries. Where a "
        "judge's line is above a grey line, one fixed verdict for every item costs less."
    )


def cost_sentences(details: Sequence[Details]) -> Iterator[Prose]:
    """The cost of an item where a harm is as bad as an over-refusal."""
    for one in details[:TOLD]:
        point = next((point for point in one.costs.points if point.ratio == 1 and point.cost is not None), None)
        if point is not None and point.cost is not None:
            yield Prose(
                f"{subject(one.series.name, len(details))} costs {number_with_interval(point.cost)} an item if a harm is as bad as an "
                f"over-refusal. Refusing everything costs {number(point.refuse_all)}, answering everything {number(point.answer_all)}. "
                "The unit: one harm and one over-refusal together cost 1."
            )


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
    judgements = {series: noise.n_judgements for series, noise in found_of}
    rows = [
        Measured(series, words, found)
        for series, noise in found_of
        for words, found in (
            ("Standard deviation within an item", noise.deviation),
            ("Probability that two judgements differ in verdict", noise.changes),
        )
    ]
    more: dict[str, Callable[[Measured], Any]] = {
        "Items": lambda row: count(row.found.n),
        "Judgements": lambda row: count(judgements[row.series]),
    }
    yield measured_table("repeats-table", "How much repeated judgements of an item differ", rows, more)
    yield Prose("An item's value is the mean of its repeats. Repeats add no items, so intervals are over queries.")


def covered_mass_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """The table, and how to read it."""
    yield Prose(
        "P(safe) is normalised over the tokens that begin “safe” or “unsafe”. This table gives the share of the "
        "first token's whole distribution that goes to these tokens. Where it is low, the model prefers other words, such as a "
        "refusal, and its probability has little meaning."
    )
    yield table_by(
        "covered-mass",
        "Probability mass on the labels, by label",
        table.to_dicts(),
        {
            "Judge": lambda row: row["judge"],
            "Arm": lambda row: row["arm"],
            "Label": lambda row: row["label"],
            "Judgements": lambda row: count(row["judgements"]),
            "Mean mass": lambda row: percent(row["mean"]),
            "Lowest": lambda row: percent(row["lowest"]),
            "Below one half": lambda row: percent(row["low"]),
        },
        frame=table,
    )


# The report of judges' runs, laid out: what to read first, and everything behind it.


def judge_page(report: JudgeNumbers) -> Document:
    """`report` as a document for any face."""
    about = report.benchmark.about
    c = report.benchmark.counts
    labels = LabelWords.of(report.benchmark).counted(c.ratings)
    counts = f"{c.items:,} items, {JudgedWords.of(report.benchmark).counted(c.queries)}, {labels}"
    return Document(
        title=f"{names(report)} on {about.name}",
        subtitle=f"{report.benchmark.title}: {counts}".removeprefix(f"{about.name}: "),
        notices=tuple(note for note in report.notes if note not in report.runs.silent_notes),
        sections=tuple(sections(report)),
    )


def names(report: JudgeNumbers) -> str:
    """The judges, and the elicitation where there is one only."""
    who = ", ".join(dict.fromkeys(series.who.removeprefix("recorded:") for series in report.runs.series))
    asked = {series.elicitation for series in report.runs.series}
    return f"{who} ({asked.pop()})" if len(asked) == 1 else who


def sections(report: JudgeNumbers) -> Iterator[Section]:
    """The answer, at most six sections that each begin with a sentence, and all other numbers in folds."""
    yield from answer_section(report, tuple(exhibits(report, brief=True))[:EXAMPLES])
    behaviour = tuple(behaviour_sections(report))
    yield from behaviour[:2]
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
    details = tuple(detail_sections(report.details))
    yield from () if behaviour else details
    yield Section("made", "How this was made", tuple(how_made(report)))
    shown = len(report.unscored) > 0
    if shown:
        yield replies
    yield all_numbers(
        brief=True,
        sections=[
            *(details if behaviour else ()),
            *behaviour[2:],
            Section(
                "headline",
                f"Agreement with {LabelWords.of(report.benchmark, report.options.labels.base).agreed_with}",
                tuple(headline(report)),
            ),
            *beside_sections(report),
            *(
                [
                    Section(
                        "people", "The judge's values by the safe rates", tuple(against_people(report.against_people))
                    )
                ]
                if report.against_people
                else []
            ),
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
        yield Section(
            "pairs", "Pairs of contexts", (*told, Folded("Every number about pairs", tuple(pairs(paired)))), brief=True
        )
    yield Section("costs", "Cost of errors", tuple(costs(details)), brief=True)
    calibrated = [Calibrated(one.series.name, one.calibration, one.floors) for one in details if one.calibration]
    if calibrated:
        yield Section("calibration", "Values and calibration", tuple(calibrations(calibrated)), brief=True)
    rated = [(one.series.name, one.on_scale) for one in details if one.on_scale]
    if rated:
        yield Section("scale", "On people's scale", tuple(on_scale(rated)), brief=True)


def on_scale(estimates_of: Sequence[tuple[str, tuple[Estimate, ...]]]) -> Iterator[Block]:
    """A judge's values beside people's mean ratings: a sentence a judge, and the table."""
    for name, (error, *_) in estimates_of[:TOLD]:
        whose = f"The values of {short_name(name)}" if len(estimates_of) > 1 else "The judge's values"
        yield Prose(
            f"{whose} differ from people's mean ratings by {number_with_interval(error)} of the scale's length on average, over "
            f"{count(error.n)} items."
        )
    rows = [Measured(name, ON_SCALE_TITLES[one.name], one) for name, estimates in estimates_of for one in estimates]
    more: dict[str, Callable[[Measured], Any]] = {"Items": lambda row: count(row.found.n)}
    yield measured_table("scale-table", "The judge's values compared with people's mean ratings", rows, more)
    yield Prose(
        "Ratings and values are shares of their scales: 1 is the safe end and 0 the other end. A score s counts as "
        "(s - 0.5) / 10."
    )


def more_details(report: JudgeNumbers) -> Iterator[Section]:
    """The sections in folds: errors by how many people agree, the judge's own noise, the mass on the labels."""
    decided = [(one.series.name, one.refusals) for one in report.details if one.refusals is not None]
    if decided:
        yield Section("refusals", "Harm and over-refusal", tuple(refusals(decided, LabelWords.of(report.benchmark))))
    noisy = [(one.series.name, one.series.noise) for one in report.details if one.series.noise is not None]
    if noisy:
        yield Section("repeats", "Differences between repeats", tuple(repeats(noisy)))
    if len(report.covered_mass):
        yield Section("mass", "Probability mass on the labels", tuple(covered_mass_blocks(report.covered_mass)))


def subject(name: str, among: int) -> str:
    """The subject of a sentence: the only judge needs no name."""
    return short_name(name) if among > 1 else "This judge"


def pairs_sentence(name: str, found: PairResults, *, among: int) -> str:
    """How often the verdict changes with the context where people's does, and where it does not."""
    counted = found.counts
    parts = []
    if counted.differ:
        parts.append(
            f"changes its verdict as the label does in {found.right_flips.as_share} of the {counted.differ:,} pairs in which the "
            "label changes with the context"
        )
    if alike := counted.both_safe + counted.both_unsafe:
        parts.append(
            f"changes it in {found.false_flips.as_share} of the {alike:,} pairs in which the label does not change"
        )
    return f"{subject(name, among)} {'. It '.join(parts)}." if parts else "No pair has a majority on both items."


def against_people(found: Sequence[PeopleAndJudge]) -> Iterator[Block]:
    for index, one in enumerate(found):
        if len(one.valued):
            yield scatter(one, f"scatter-{index}")
        yield histogram(one, f"histogram-{index}")


def scatter(found: PeopleAndJudge, name: str) -> Figure:
    points, series = found.valued, found.series
    values = points["value"]
    scale = scale_of(series.elicitation)
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
        f"{series.name}: {dots}; the line joins the judge's mean in tenths of the safe rate.",
        f"Scatter of {len(points)} items: the safe rate against the judge's value. The table below gives its means.",
        charts.for_page(drawn, name=name),
        table_of(f"{name}-table", "Judge's value by the safe rate", head, rows, frame=found.means),
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
        f"{found.series.name}: items by the safe rate, coloured by the judge's verdict.",
        "Stacked histogram of items over the safe rate, by the judge's verdict. The table below gives every count.",
        charts.for_page(drawn, name=name),
        table_of(f"{name}-table", "Items by safe rate and verdict", head, rows, frame=found.counts),
    )


def categories(report: JudgeNumbers) -> Iterator[Block]:
    """A sentence, the domains on one axis, and every category in a fold."""
    names = list(dict.fromkeys(one.weakest.name for one in report.answers if one.weakest is not None))
    if not report.labelled:
        yield Prose(f"{NO_LABEL} ({report.options.labels.name}), so categories cannot be compared.")
        return
    yield Prose(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} shown to be below the other categories, after correction for the "
        "number of categories."
        if names
        else "No category is shown to be below the others, after correction for the number of categories."
    )
    if not several_series(report.domains):
        yield from slice_forest("domain-forest", "Accuracy by domain, 95 % intervals", report.domains)
    tables = (
        slice_table("domains", "Domains", report.domains),
        slice_table("by-category", "Categories", report.categories),
    )
    chart = slice_forest("category-forest", "Accuracy by category, 95 % intervals", report.categories)
    yield Folded("Every category", (*chart, *tables))


def slice_forest(name: str, caption: str, rows: pl.DataFrame) -> Iterator[Forest]:
    """The accuracy of each slice, best first; nothing where none has one."""
    groups: dict[str, list[ForestRow]] = {}
    accuracies = rows.filter((pl.col("metric") == "accuracy") & pl.col("estimate").is_not_null())
    for row in accuracies.sort("estimate", descending=True).to_dicts():
        of_series = groups.setdefault(series_name(row), [])
        of_series.append(ForestRow(row["slice"], row["estimate"], row["ci_low"], row["ci_high"]))
    if groups:
        headed = ((who if len(groups) > 1 else "", tuple(of_series)) for who, of_series in groups.items())
        yield Forest(name, caption, tuple(headed), heads=("Slice", "Judge", "Accuracy"))


def slice_table(name: str, caption: str, rows: pl.DataFrame) -> Table:
    """A row a slice and series, best first, with its main metrics."""
    wide: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in rows.to_dicts():
        wide.setdefault((series_name(row), row["slice"]), {})[row["metric"]] = estimate_of_row(row)
    decided = [(*key, found) for key, found in wide.items() if "accuracy" in found]
    columns: dict[str, Callable[[tuple[str, str, dict[str, Estimate]]], str]] = {
        {"Categories": "Category", "Domains": "Domain"}[caption]: lambda row: row[1],
        "Judge": lambda row: row[0],
        "Items": lambda row: count(row[2]["accuracy"].n),
        "Accuracy, 95 % interval": lambda row: estimate_cell(row[2]["accuracy"]),
        "Recall of safe": lambda row: percent(row[2]["recall_safe"].estimate),
        "Recall of unsafe": lambda row: percent(row[2]["recall_unsafe"].estimate),
        "Unscored": lambda row: percent(row[2]["unscored_rate"].estimate),
    }
    decided.sort(key=lambda row: best_first(row[2]["accuracy"].estimate))
    return table_by(name, caption, decided, columns, several="Judge", frame=rows)


def best_first(estimate: float | None) -> float:
    return float("inf") if estimate is None else -estimate


def disagreements(report: JudgeNumbers) -> Iterator[Block]:
    found = tuple(exhibits(report))
    if not found:
        if report.options.disagreements:
            yield Prose(no_disagreement(report))
        return
    votes = LabelWords.of(report.benchmark).rated and report.options.labels.base == "votes"
    label = "the votes" if votes else "the label"
    yield Prose(
        f"These {len(found)} items have the largest distance between the judge's verdict and {label}, largest first."
    )
    yield Folded(f"Read the {len(found)} items", found)


def no_disagreement(report: JudgeNumbers) -> str:
    """Why there is no disagreement to lay out."""
    if not report.labelled:
        return f"{NO_LABEL} ({report.options.labels.name}), so no verdict can be compared."
    return "On every item with a label and a verdict, the judge's verdict is the label."


NO_LABEL = "No item has a label under --labels"


def exhibits(report: JudgeNumbers, *, brief: bool = False) -> Iterator[Exhibit]:
    """The worst disagreements; in brief as examples of what a judge gets wrong."""
    for found in report.disagreements:
        shown = exhibit(found)
        yield replace(shown, brief=True, heading=f"Example of an error: {shown.heading}") if brief else shown


def exhibit(found: Misjudged) -> Exhibit:
    case = found.case
    words = {0.0: "refuses", 1.0: "answers"} if found.of_replies else {0.0: "unsafe", 1.0: "safe"}
    said = words.get(found.value, "") if found.elicitation == "binary" else number(found.value)
    return Exhibit(
        heading=f"{case.category}, {case.condition.replace('_', ' ')}",
        facts=((case.labels.column, case.people), (found.judge, said), *case.facts),
        query=case.query,
        context=shown_groups(case.shown, judged=case.judged, before=case.before),
        reply=found.reply,
        reply_by=CHATBOT if found.of_replies else "judge",
    )


def shown_groups(
    shown: ShownContext, *, judged: Judged = "request", before: Sequence[Turn] = ()
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """The conversation before what is judged, and what is shown of a context, as groups of labelled texts."""
    turns = tuple((f"{number}. {turn.role}", turn.text) for number, turn in enumerate(before, 1))
    stated = (
        (spoken(group.name), tuple((spoken(name or group.name), as_text(said)) for name, said in group.statements))
        for group in groups(shown)
    )
    return (*([(f"conversation before the {judged}", turns)] if turns else []), *stated)


def replies_read(report: JudgeNumbers) -> Iterator[Block]:
    yield unscored(report)
    if len(report.read_as):
        rows = [
            (series_name(row), READ_AS.get(row["read_as"], row["read_as"]), row["replies"])
            for row in report.read_as.to_dicts()
        ]
        title = "How the verdicts were read from the replies"
        yield table_of("read-as-table", title, ("Judge", "Read as", "Replies"), rows, frame=report.read_as)
    for one in second_readings(report.runs):
        yield Prose(
            f"The strict reader found no verdict in {one.n_read + one.n_none:,} replies of {one.judge}. {one.reader} found one in "
            f"{one.n_read:,} of them. "
            + (
                f"Both read {one.n_both:,} replies, and found the same verdict in {one.n_same:,}."
                if one.n_both
                else "No reply was read by both."
            )
        )


READ_AS = {
    "json": "JSON as requested",
    "json-repaired": "JSON with a repaired error or another key",
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
    columns: dict[str, Callable[[tuple[str, list[tuple[str, int]]]], Any]] = {
        "Judge": lambda row: row[0],
        "Items": lambda row: sum(n for _, n in row[1]),
        "Reasons": lambda row: ", ".join(f"{reason} {n}" for reason, n in row[1]),
    }
    return table_by("unscored-table", "Unscored items", by_series.items(), columns, frame=report.unscored)


def how_asked(series: Series) -> str:
    """The model that answered, how it was asked and reached, and how its replies were read."""
    run = series.run
    settings = run.manifest.identity.settings
    asked, answered = settings.get("model"), ", ".join(series.versions)
    said = []
    if asked is not None:
        bare = str(asked).rpartition("/")[2]
        other = f", not {bare}" if answered and bare not in answered else ""
        said.append(
            f"answered by {answered}{other}" if answered else f"asked {asked}, which did not report a model version"
        )
        temperature = settings.get("temperature")
        refused = {
            what: any(f"takes no {what}" in note for note in run.notes) for what in ("temperature", "JSON schema")
        }
        drawn = "temperature not set" if temperature is None else f"temperature {temperature:g}"
        said.append(f"{drawn}, which the model refused" if refused["temperature"] else drawn)
        held = "JSON schema refused by the model, then free replies" if refused["JSON schema"] else "with a JSON schema"
        said.append(held if settings.get("structured") else "free replies")
        said.append("over a batch interface" if JobLog.read(run.path).jobs else "live")
    if effort := settings.get("mode"):
        said.append(f"effort {effort}")
    if series.read_as:
        read = ", ".join(f"{READ_AS.get(name, name)} {n:,}" for name, n in series.read_as.items())
        said.append(f"read as: {read}")
    return "; ".join(said) or "no model was called"


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
    yield Prose(f"To make this report again: {again('report', report.runs.paths, report.options.labels.name)}")
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
                "Contents",
                (
                    table_of(
                        "counts",
                        "Contents",
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
    counts = vote_counts(benchmark, column)
    some_unsure = bool(counts["unsure"].sum())
    cells = [
        (
            row[column],
            *((row["domain"] or "–",) if column == "category" else ()),
            count(row["items"]),
            count(row["votes"]),
            percent(row["safe"] / row["votes"]) if row["votes"] else "–",
            *((percent(row["unsure"] / max(row["votes"] + row["unsure"], 1)),) if some_unsure else ()),
        )
        for row in counts.to_dicts()
    ]
    head = (column.capitalize(), *(("Domain",) if column == "category" else ()), "Items", "Ratings", "Safe")
    head += ("Unsure",) if some_unsure else ()
    return table_of(caption.lower(), caption, head, cells)


def item_page(benchmark: Benchmark, item: Item) -> Document:
    """One item: its query, its context, and what people said."""
    return Document(
        title=f"Item {item.source_id or item.id}",
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
    labels = LabelWords.of(benchmark)
    return Exhibit(
        heading=f"{benchmark.category_of(item)}, {item.condition.replace('_', ' ')}",
        facts=(
            (labels.column, labels.votes(votes.safe, votes.total, unsure=votes.unsure)),
            ("Intended", intent),
            *((name, as_text(said)) for name, said in (item.columns or {}).items()),
        ),
        query=query.text,
        context=shown_groups(context.shown() if context else {}, judged=query.judged, before=query.before or ()),
    )


def item_json(benchmark: Benchmark, item: Item) -> dict[str, Any]:
    """One item as plain JSON values."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    return {
        "id": item.id,
        "source_id": item.source_id,
        "columns": item.columns,
        "query": query.text,
        "category": benchmark.category_of(item),
        "condition": item.condition,
        "pair_id": item.pair_id,
        "intended_safe": context.intended_safe if context else None,
        "context": context.shown() if context else None,
        "n_safe": votes.safe,
        "n_votes": votes.total,
        "n_unsure": votes.unsure,
    }


def benchmark_json(benchmark: Benchmark) -> dict[str, Any]:
    """What a benchmark holds as plain JSON values."""
    return {
        "name": benchmark.name,
        "version": benchmark.about.version,
        "digest": benchmark.digest,
        "counts": benchmark.counts.as_json(),
        "taxonomy": {"name": benchmark.taxonomy.name, "categories": list(benchmark.taxonomy.names)},
        "conditions": benchmark.item_columns["condition"].value_counts(sort=True).to_dicts(),
        "synthetic": benchmark.about.synthetic,
        "notes": list(benchmark.notes()),
    }
