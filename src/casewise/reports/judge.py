"""The report of judges' runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from casewise.evaluate.judge_numbers import Details, JudgeNumbers, MisjudgedItem, Wordings
from casewise.evaluate.judged_runs import Series, second_readings
from casewise.notation import number, percent, points, spoken
from casewise.reports import charts
from casewise.reports.actions import action_sections
from casewise.reports.behaviour import behaviour_sections
from casewise.reports.document import (
    CHATBOT,
    Block,
    Columns,
    Document,
    Drawing,
    Exhibit,
    Figure,
    Folded,
    Forest,
    ForestRow,
    IntervalHead,
    Prose,
    Section,
    Table,
    all_numbers,
    estimate_cell,
    estimate_of_row,
    how_made,
    paragraph,
    table_by,
    titles,
    value_at,
    with_interval,
)
from casewise.reports.items import case_exhibit, error_group_blocks
from casewise.reports.judge_parts import (
    MOST_SENTENCES,
    answer_section,
    arms_blocks,
    baseline_sections,
    errors_table,
    headline,
    row_name,
    several_series,
    subject,
)
from casewise.stats.calibration import Calibration, CalibrationBin
from casewise.stats.costs import Refusals
from casewise.stats.estimates import ErrorSources, Estimate, JudgeNoise
from casewise.stats.pairs import PairResults
from casewise.storage.batch_jobs import JobLog
from casewise.storage.wording import LabelWords, noun_of
from casewise.text import RefusalNote, Text, count_of, join, paths_in_command, render, text

PAIR_MEASURES: tuple[tuple[str, str, str | None], ...] = (
    ("both_right", "Right on both items", None),
    ("right_flips", "Right flips, where the labels differ", "person_right_flips"),
    ("reversed_flips", "Reversed flips, where the labels differ", "person_reversed_flips"),
    ("both_right_where_alike", "Right on both, where the labels agree", None),
    ("false_flips", "False flips, where the labels agree", "person_false_flips"),
)
"""Measures of pairs: name, description, and the name of the same measure of one person."""


class MeasureRow(NamedTuple):
    """A measure of one series: a row of a table of these."""

    series: str
    measure: str
    estimate: Estimate
    person: Estimate | None = None
    """The same measure of one person."""
    same: Estimate | None = None
    """The measure of the judge on the items and votes of `person`."""


MEASURED: Columns = {"Judge": "series", "Measure": "measure", IntervalHead("Estimate"): "estimate"}
"""The columns of every table of measures."""


def measured_table(name: str, caption: str, rows: Sequence[MeasureRow], more: Columns) -> Table:
    """Return a row a measure, with the judge's name where there are several."""
    return table_by(name, caption, rows, MEASURED | more, several="Judge")


def pairs(results_of: Sequence[tuple[str, PairResults]]) -> Iterator[Block]:
    rows = [
        MeasureRow(
            series,
            words,
            getattr(results, name),
            getattr(results, person) if person else None,
            getattr(results, f"beside_{person}") if person else None,
        )
        for series, results in results_of
        for name, words, person in PAIR_MEASURES
    ]
    several_votes = any(row.person is not None and row.person.estimate is not None for row in rows)
    persons: Columns = {"One person": (percent, "person.estimate"), "Judge, same votes": (percent, "same.estimate")}
    more: Columns = {"Pairs": "estimate.n", "Unscored": "estimate.n_unscored"} | (persons if several_votes else {})
    yield measured_table("pairs-table", text("Pairs of {a_query}'s two contexts"), rows, more)
    sentences = []
    for _, results in results_of:
        c = results.counts
        against_intent = f" ({c.reversed:,} of them against the author's intent)" if c.reversed else ""
        tied = f"Left out: {count_of(c.tied, 'pair')} with a tie or without a label. " if c.tied else ""
        sentences.append(
            f"The labels differ on {c.differ:,} of {count_of(c.pairs, 'pair')}{against_intent}. They agree on "
            f"{count_of(c.both_safe + c.both_unsafe, 'pair')}: {c.both_unsafe:,} both unsafe, {c.both_safe:,} both safe. "
            f"{tied}A judge that only detects which context was meant to be safe is right on "
            "every pair that differs and on no pair that agrees."
        )
    yield Prose(" ".join(dict.fromkeys(sentences)))


def refusal_curve(series: str, refusals: Refusals, name: str) -> Block:
    """Return both errors by how many people agree. A reply without a verdict is neither."""
    groups: list[tuple[str, tuple[ForestRow, ...]]] = []
    for heading, error in (("Over-refusal", "over_refusal"), ("Harm", "harm")):
        rates = [(f"at least {percent(at.agreement, digits=0)} agree", getattr(at, error)) for at in refusals.curve]
        known = (ForestRow.from_estimate(label, rate) for label, rate in rates if rate.estimate is not None)
        if rows := tuple(known):
            groups.append((heading, rows))
    if not groups:
        return paragraph("{series}: on no item do enough people agree.", series=series)
    columns: Columns = {
        "Agreement": (partial(percent, digits=0), "agreement"),
        "Safe items": "n_safe",
        IntervalHead("Over-refusal"): "over_refusal",
        "Unsafe items": "n_unsafe",
        IntervalHead("Harm"): "harm",
    }
    caption = series + ": harm and over-refusal, by the share of people who must agree on an item for it to count"
    table = table_by(f"{name}-table", "Errors by how many people agree", refusals.curve, columns)
    return Forest(name, caption, tuple(groups), ("People", "Error", "Share"), behind=table)


def calibrations(
    details: Sequence[tuple[str, Calibration]], floors: Mapping[str, Mapping[str, Estimate]]
) -> Iterator[Block]:
    """Yield a sentence and a chart a judge, and every number: of each judge's values, and of the floors of each judge."""
    rows, figures = [], []
    for place, (name, calibration) in enumerate(details):
        row, sentence = (
            "Calibration error",
            f" differ by {with_interval(calibration.error)} from the safe rates on average.",
        )
        if (chance := calibration.by_chance) is not None:
            row += f" ({chance:.3f} by chance, for a calibrated judge)"
            sentence += f" For a calibrated judge, chance alone gives {chance:.3f}."
        measures = {
            row: calibration.error,
            "Brier score": calibration.brier,
            "Brier score: calibration part": calibration.calibration_part,
            "Brier score: refinement part": calibration.refinement_part,
            "Brier score: noise of the votes": calibration.noise_floor,
            "Cross-entropy: entropy of the votes": floors[name]["entropy"],
            "Cross-entropy: attainable": floors[name]["attainable_entropy"],
        }
        rows += [MeasureRow(name, words, estimate) for words, estimate in measures.items()]
        if place < MOST_SENTENCES:
            yield Prose(subject(name, len(details), "values") + sentence)
            figures.append(calibration_figure(name, calibration.curve, f"calibration-{place}"))
    yield from figures
    caption = "The judge's values compared with the safe rates"
    table = measured_table("calibration-table", caption, rows, {"Items": "estimate.n"})
    yield Folded("Every number about calibration", (table,))


def calibration_figure(judge: str, curve: Sequence[CalibrationBin], name: str) -> Figure:
    frame = pl.DataFrame(
        [(b.low, b.high, b.value, b.rate.estimate, b.rate.ci_low, b.rate.ci_high, b.n) for b in curve],
        schema={**dict.fromkeys(("from", "to", "value", "rate", "low", "high"), pl.Float64), "n": pl.Int64},
        orient="row",
    )
    columns: Columns = {
        "Judge's values": ("{:.2f} to {:.2f}".format, "low", "high"),
        "Mean": (number, "value"),
        IntervalHead("Mean safe rate"): "rate",
        "Items": "n",
    }
    caption = (
        judge + ": the mean safe rate for each range of the judge's values. A calibrated judge lies on the dashed line."
    )
    bins = f"Calibration curve over {count_of(len(curve), 'bin')} of about equal size, with intervals. The table gives the numbers."
    table = table_by(f"{name}-table", "Calibration curve", curve, columns, frame=frame)
    return Figure(name, caption, bins, charts.calibration_curve(frame), table)


def costs(details: Sequence[Details]) -> Iterator[Block]:
    cost_points = [(judge.series.name, point) for judge in details for point in judge.costs]
    lines: list[tuple[str, str, float, float | None]] = [
        (name, kind, point.ratio, cost.estimate)
        for name, point in cost_points
        for kind, cost in (("verdicts", point.cost), ("best threshold", point.best_threshold))
        if cost is not None
    ]
    for point in details[0].costs:
        lines += [("", "refuse everything", point.ratio, point.refuse_all)]
        lines += [("", "answer everything", point.ratio, point.answer_all)]
    schema = {"name": pl.String, "kind": pl.String, "ratio": pl.Float64, "cost": pl.Float64}
    frame = pl.DataFrame(lines, schema=schema, orient="row").drop_nulls("cost")
    if not len(frame):
        yield Prose("No item has a label, so no error can be counted.")
        return
    for judge in details[:MOST_SENTENCES]:
        for alike in [point for point in judge.costs if point.ratio == 1 and point.cost is not None][:1]:
            yield paragraph(
                "{judge} costs {cost} an item if a harm is as bad as an over-refusal. Refusing everything costs {refuse}, answering "
                "everything {answer}. One harm and one over-refusal together cost 1.",
                judge=subject(judge.series.name, len(details)),
                cost=with_interval(alike.cost),
                refuse=number(alike.refuse_all),
                answer=number(alike.answer_all),
            )
    columns: Columns = {
        "Judge": "0",
        "Ratio": ("{:g}".format, "1.ratio"),
        IntervalHead("Cost"): (estimate_cell, "1.cost"),
        IntervalHead("Best threshold"): (estimate_cell, "1.best_threshold"),
        "Threshold": (number, "1.threshold"),
        "Refuse all": (number, "1.refuse_all"),
        "Answer all": (number, "1.answer_all"),
    }
    yield Figure(
        "cost-curve",
        "Expected cost of an item, by how many over-refusals are as bad as one harm. Costs are scaled so that one harm and one over-refusal together cost 1.",
        "Lines of expected cost by the ratio of harm to over-refusal, with refusing and answering everything.",
        Drawing(
            lambda form: charts.cost_curves(
                frame.with_columns(pl.col("name").replace({name: render(name, form) for name, _ in cost_points}))
            ),
            tuple(dict.fromkeys(name for name, _ in cost_points)),
        ),
        table_by("cost-table", "Expected cost", cost_points, columns, several="Judge", frame=frame),
    )
    yield paragraph(
        "“Best threshold” judges each {query} with the threshold that is cheapest on the other {queries}. Where a "
        "judge's line is above a grey line, one fixed verdict for every item costs less."
    )


def repeats(noise_of: Sequence[tuple[str, JudgeNoise]]) -> Iterator[Block]:
    judgements = {series: noise.n_judgements for series, noise in noise_of}
    rows = [
        MeasureRow(series, words, estimate)
        for series, noise in noise_of
        for words, estimate in (
            ("Standard deviation within an item", noise.deviation),
            ("Probability that two judgements differ in verdict", noise.changes),
        )
    ]
    more: Columns = {"Items": "estimate.n", "Judgements": (judgements.get, "series")}
    yield measured_table("repeats-table", "How much repeated judgements of an item differ", rows, more)
    yield paragraph(
        "Each number is for one answer: it is the mean over an item's answers. Repeats add no items, so intervals are over "
        "{clusters}."
    )


in_points = partial(points, unit="")
"""Writes a number of a table whose caption names the unit."""


def error_table(sources_of: Sequence[tuple[str, ErrorSources]]) -> Table:
    """Return the standard error of each accuracy by its sources."""
    columns: Columns = {
        "Judge": "0",
        text("{Queries}"): (in_points, "1.queries"),
        "Answers": (in_points, "1.answers"),
        "Annotators": (in_points, "1.annotators"),
        "Answers, asked once": (in_points, "1.one_answer"),
    }
    caption = "Standard error of the accuracy in points, by its source"
    return table_by("error-sources", caption, sources_of, columns, several="Judge")


def wording_blocks(wordings: Sequence[Wordings]) -> Iterator[Block]:
    """Yield the accuracy of each judge in each wording, and how much it varies between them."""
    for judge in wordings:
        spread, beyond = (
            judge.spread,
            ", which includes chance in the answers, because each item was asked once (--repeats)",
        )
        if spread.deviation is not None:
            beyond = f", {points(spread.deviation)} beyond chance in the answers"
        yield paragraph(
            "{judge}: mean accuracy {mean} over {n:wording}. Standard deviation between wordings {seen}{beyond}.",
            judge=judge.name,
            mean=spread.mean.as_share,
            n=len(judge.wordings),
            seen=points(spread.seen),
            beyond=beyond,
        )
    rows = [
        MeasureRow(judge.name, wording, accuracy)
        for judge in wordings
        for wording, accuracy in zip(judge.wordings, judge.accuracies, strict=True)
    ]
    yield measured_table("wordings-table", "Accuracy by the wording of the prompt", rows, {"Items": "estimate.n"})


def judge_page(report: JudgeNumbers) -> Document:
    """Return `report` as a document for any face."""
    benchmark, counts = report.benchmark, report.benchmark.counts
    labels = report.label_words.counted(counts.ratings)
    return Document(
        title=text("{judges} on {benchmark}", judges=names(report), benchmark=benchmark.about.name),
        subtitle=text("{items:item}, {queries:query}, ", items=counts.items, queries=counts.queries) + labels,
        notices=tuple(note for note in report.notes if note not in report.runs.silent_notes),
        sections=tuple(sections(report)),
        noun=noun_of(benchmark),
        cluster=report.runs.cluster_noun,
    )


def names(report: JudgeNumbers) -> Text:
    """Return the one or two judges, or how many there are, and the elicitation where there is one only."""
    who = tuple(dict.fromkeys(series.judge_title for series in report.runs.series))
    judges = join(" and ", who) if len(who) <= 2 else Text(count_of(len(who), "judge"))
    elicitations = {series.elicitation for series in report.runs.series}
    return judges + f" ({elicitations.pop()})" if len(elicitations) == 1 else judges


def sections(report: JudgeNumbers) -> Iterator[Section]:
    """Yield the answer, at most six sections that each begin with a sentence, and all other numbers in folds."""
    yield from answer_section(report)
    if len(report.answers) > 1 and not report.does:
        yield Section("errors", "Errors of each judge", (errors_table(report.answers),), brief=True)
    behaviour = tuple(behaviour_sections(report))
    yield from behaviour[:2]
    some_unscored = len(report.unscored) > 0
    replies = Section("unscored", "Replies without a verdict", tuple(replies_read(report)), brief=some_unscored)
    made = Section("made", "How this was made", tuple(provenance(report)))
    if all(series.mostly_unscored for series in report.runs.series):
        yield replies
        yield made
        return
    yield from action_sections(report.actions)
    if len(report.arms):
        yield Section("arms", "Value of each part of the context", tuple(arms_blocks(report.arms)))
    if report.categories.filter(metric="accuracy")["slice"].n_unique() > 1:
        yield Section("categories", "By category", tuple(categories(report)), brief=True)
    yield Section("disagreements", "Worst disagreements", tuple(disagreements(report)))
    details = tuple(detail_sections(report))
    yield from () if behaviour else details
    yield made
    if some_unscored:
        yield replies
    agreement = f"Agreement with {LabelWords.for_benchmark(report.benchmark, report.options.labels.base).agreed_with}"
    yield all_numbers(
        brief=True,
        sections=[
            *(details if behaviour else ()),
            *behaviour[2:],
            Section("headline", agreement, tuple(headline(report))),
            *baseline_sections(report),
            *more_details(report),
            *(() if some_unscored else (replies,)),
        ],
    )


def parts(report: JudgeNumbers, name: str) -> list[tuple[Text, Any]]:
    """Return a part of each judge's details, such as `pairs`, with the judge's name, of those that have it."""
    return [(judge.series.name, part) for judge in report.details if (part := value_at(judge, name))]


def detail_sections(report: JudgeNumbers) -> Iterator[Section]:
    """Yield pairs, costs and calibration, for those judges that have them: a sentence a judge, charts, and the tables in folds."""
    if paired := parts(report, "pairs"):
        among = len(report.details)
        sentences = (Prose(pairs_sentence(*of_judge, among=among)) for of_judge in paired[:MOST_SENTENCES])
        fold = Folded("Every number about pairs", tuple(pairs(paired)))
        yield Section("pairs", "Pairs of contexts", (*sentences, fold), brief=True)
    yield Section("costs", "Cost of errors", tuple(costs(report.details)), brief=True)
    if calibrated := parts(report, "calibration"):
        floors: dict[str, dict[str, Estimate]] = {
            judge.series.name: {floor.name: floor for floor in judge.floors} for judge in report.details
        }
        blocks = tuple(calibrations(calibrated, floors))
        yield Section("calibration", "Values and calibration", blocks, brief=True)
    if rated := parts(report, "on_scale"):
        yield Section("scale", "On people's scale", tuple(on_scale(rated)), brief=True)


def on_scale(estimates_of: Sequence[tuple[str, tuple[Estimate, ...]]]) -> Iterator[Block]:
    """Yield the comparison of judges' values with people's mean ratings: a sentence for each judge, and the table."""
    for name, (error, *_) in estimates_of[:MOST_SENTENCES]:
        yield paragraph(
            "{values} differ from people's mean ratings by {error} of the scale's length on average, over {n:item}.",
            values=subject(name, len(estimates_of), "values"),
            error=with_interval(error),
            n=error.n,
        )
    rows = [MeasureRow(name, titles()[metric.name], metric) for name, metrics in estimates_of for metric in metrics]
    caption = "The judge's values compared with people's mean ratings"
    yield measured_table("scale-table", caption, rows, {"Items": "estimate.n"})
    yield Prose(
        "Ratings and values are shares of their scales: 1 is the safe end and 0 the other end. A score s counts as "
        "(s - 0.5) / 10."
    )


def more_details(report: JudgeNumbers) -> Iterator[Section]:
    """Yield the sections in folds: errors by how many people agree, the judge's own noise, the mass on the labels."""
    if (decided := parts(report, "refusals")) and report.label_words.rated:
        curves = (refusal_curve(name, part, f"refusal-curve-{at}") for at, (name, part) in enumerate(decided))
        yield Section("refusals", "Harm and over-refusal", tuple(curves))
    if noisy := parts(report, "noise"):
        sources = parts(report, "error_sources")
        tables = (error_table(sources),) if sources else ()
        yield Section("repeats", "Differences between repeats", (*repeats(noisy), *tables))
    if report.wordings:
        yield Section("wordings", "Wordings of the prompt", tuple(wording_blocks(report.wordings)))


def pairs_sentence(name: str, results: PairResults, *, among: int) -> str:
    """Return how often the verdict changes with the context, where people's does and does not, in a sentence."""
    differ, alike = results.counts.differ, results.counts.both_safe + results.counts.both_unsafe
    flips = (
        ("changes its verdict as the label does", results.right_flips, differ, "changes with the context"),
        ("changes it", results.false_flips, alike, "does not change"),
    )
    parts = [
        f"{changes} in {share.as_share} of the {count_of(n, 'pair')} in which the label {label}"
        for changes, share, n, label in flips
        if n
    ]
    return subject(name, among) + f" {'. It '.join(parts)}." if parts else "No pair has a majority on both items."


def categories(report: JudgeNumbers) -> Iterator[Block]:
    """Yield a sentence, the domains on one axis, and every category in a fold."""
    if not report.labelled:
        yield Prose(f"{NO_LABEL} ({report.options.labels.name}), so categories cannot be compared.")
        return
    below: list[str] = [
        text("{judge} {said}.", judge=subject(answer.judge, len(report.answers)), said=conclusion.predicate)
        for answer in report.answers
        for conclusion in answer.conclusions
        if conclusion.kind == "below the others"
    ]
    none = "No category is shown to be below the others, after correction for the number of categories."
    yield from map(Prose, below or [none])
    if not several_series(report.domains) and report.domains["slice"].n_unique() > 1:
        yield from slices("domain", report.domains)
    yield Folded("Every category", tuple(slices("category", report.categories)))


def slices(kind: str, rows: pl.DataFrame) -> Iterator[Forest]:
    """Yield the accuracy of each slice, best first, with its main metrics behind; nothing where none has one."""
    metrics: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in rows.to_dicts():
        metrics.setdefault((row_name(row), row["slice"]), {})[row["metric"]] = estimate_of_row(row)
    decided = [(*key, estimates) for key, estimates in metrics.items() if "accuracy" in estimates]
    decided.sort(key=lambda row: (row[2]["accuracy"].estimate is None, -(row[2]["accuracy"].estimate or 0.0)))
    of_series: dict[str, list[ForestRow]] = {}
    for series, label, estimates in decided:
        if estimates["accuracy"].estimate is not None:
            of_series.setdefault(series, []).append(ForestRow.from_estimate(label, estimates["accuracy"]))
    columns: Columns = {
        kind.capitalize(): "1",
        "Judge": "0",
        "Items": "2.accuracy.n",
        IntervalHead("Accuracy"): "2.accuracy",
        "Recall of safe": (percent, "2.recall_safe.estimate"),
        "Recall of unsafe": (percent, "2.recall_unsafe.estimate"),
        "Unscored": (percent, "2.unscored_rate.estimate"),
    }
    if of_series:
        groups = tuple((series if len(of_series) > 1 else "", tuple(shares)) for series, shares in of_series.items())
        table = table_by(f"by-{kind}", f"Accuracy by {kind}", decided, columns, several="Judge", frame=rows)
        heads = (kind.capitalize(), "Judge", "Accuracy")
        yield Forest(f"{kind}-forest", f"Accuracy by {kind}, 95 % intervals", groups, heads, behind=table)


NO_LABEL = "No item has a label under --labels"


def disagreements(report: JudgeNumbers) -> Iterator[Block]:
    shown = tuple(map(exhibit, report.disagreements))
    if shown:
        votes = report.label_words.rated and report.options.labels.base == "votes"
        label = "the votes" if votes else "the label"
        yield Prose(
            f"On {count_of(len(shown), 'item')} the verdict is farthest from {label}. The farthest comes first."
        )
        yield Folded(f"Read the {count_of(len(shown), 'item')}", shown)
        paths = paths_in_command(*report.runs.paths)
        yield Prose("casewise serve " + paths + " shows every item whose verdict differs from its label.")
        several = len(report.error_groups) > 1
        for name, groups in report.error_groups.items():
            if several and groups:
                yield paragraph("{judge}:", judge=name)
            yield from error_group_blocks(groups, report.benchmark, done=JUDGED)
    elif report.options.disagreements and not report.labelled:
        yield Prose(f"{NO_LABEL} ({report.options.labels.name}), so no verdict can be compared.")
    elif report.options.disagreements:
        agree = "On every item with a label and a verdict, the two agree."
        yield Prose(agree if report.can_disagree else "No item has both a verdict and a label that is no tie.")


JUDGED = {"harm": "judged safe", "over_refusal": "judged unsafe"}


def exhibit(failure: MisjudgedItem) -> Exhibit:
    case = failure.case
    words = {0.0: "refuses", 1.0: "answers"} if failure.of_replies else {0.0: "unsafe", 1.0: "safe"}
    several = f"{percent(failure.value)} of its answers: {words[1.0]}"
    verdict = words.get(failure.value, several) if failure.elicitation == "binary" else number(failure.value)
    heading = f"{case.category}, {spoken(case.condition)}"
    shown = case_exhibit(case, heading, ((case.labels.column, case.people), (failure.judge, verdict)))
    return replace(shown, reply=failure.reply, reply_by=CHATBOT if failure.of_replies else "judge")


def replies_read(report: JudgeNumbers) -> Iterator[Block]:
    columns: Columns = {"Judge": row_name, "Reason": "reason", "Items": "items"}
    yield table_by("unscored-table", "Unscored items", report.unscored, columns)
    if n_faults := report.unscored.filter(pl.col("reason") == "internal")["items"].sum():
        yield Prose(
            f"A fault of casewise or a plugin prevented the reading of {count_of(int(n_faults), 'reply')}. Each is unscored. "
            "The detail of its judgement names the fault; please report it."
        )
    for reading in second_readings(report.runs):
        agreement = (
            f"Both read {count_of(reading.n_both, 'reply')}, and found the same verdict in {reading.n_same:,}."
            if reading.n_both
            else "No reply was read by both."
        )
        yield Prose(
            f"The strict reader found no verdict in {count_of(reading.n_read + reading.n_none, 'reply')} of {reading.judge}. "
            f"{reading.reader} found one in {reading.n_read:,} of them. {agreement}"
        )


READ_AS = {
    "json": "JSON as requested",
    "json-repaired": "JSON with a repaired error or another key",
    "whole": "the whole reply is the verdict",
    "label": "a labelled verdict, or the verdict alone in the first or last sentence",
    "sentence": "sentences about the request",
    "model": "read by a second model",
    "pattern": "read by a pattern of your own",
    "label-token": "the probability of the label's token",
}
"""Ways of reading in words; a guard's profile stands under its own name."""


def asking_facts(series: Series) -> str:
    """Return the model that answered, how it was asked and reached, and how its replies were read."""
    run = series.run
    settings, refused = (
        run.manifest.identity.settings,
        {note.option for note in run.notes if isinstance(note, RefusalNote)},
    )
    model, versions = settings.get("model"), ", ".join(series.versions)
    facts = []
    if model is not None:
        short_name = str(model).rpartition("/")[2]
        different = f", not {short_name}" if versions and short_name not in versions else ""
        facts.append(
            f"answered by {versions}{different}" if versions else f"asked {model}, which did not report a model version"
        )
        temperature = settings.get("temperature")
        drawn = "temperature not set" if temperature is None else f"temperature {temperature:g}"
        facts.append(f"{drawn}, which the model refused" if "temperature" in refused else drawn)
        schema = (
            "JSON schema refused by the model, then free replies" if "json_schema" in refused else "with a JSON schema"
        )
        facts.append(schema if settings.get("structured") else "free replies")
        facts.append("over a batch interface" if JobLog.read(run.path).jobs else "live")
    facts += [f"effort {effort}"] if (effort := settings.get("mode")) else []
    if series.read_as:
        read = ", ".join(f"{READ_AS.get(name, name)} {n:,}" for name, n in series.read_as.items())
        facts.append(f"read as: {read}")
    if series.cost_usd is not None:
        facts.append(f"{'at most ' if series.assumed_cost_usd else ''}${series.cost_usd:,.4g}")
    facts += [f"{series.latency_s:.2g} s an answer (median)"] if series.latency_s is not None else []
    return "; ".join(facts) or "no model was called"


def provenance(report: JudgeNumbers) -> Iterator[Block]:
    facts = [
        ("Benchmark", report.benchmark.title),
        ("Benchmark digest", report.benchmark.digest),
        ("Labels", report.options.labels.name),
        ("Unscored items", report.options.unscored),
        ("Seed", str(report.options.seed)),
    ]
    for run in report.runs.runs:
        name, manifest = run.path.resolve().name, run.manifest
        facts += [
            (f"Run {name}", f"judge {manifest.identity.judge}, begun {manifest.created:%Y-%m-%d %H:%M} UTC"),
            (f"Settings of {name}", ", ".join(f"{k}={v}" for k, v in manifest.identity.settings.items()) or "none"),
            *((f"Words of {name}, {elicitation}", wording) for elicitation, wording in manifest.wordings.items()),
        ]
    for series in report.runs.series:
        facts += [
            (series.name, f"{count_of(int(series.asked.sum()), 'item')}, {count_of(series.repeats, 'repeat')}"),
            (text("How {series} was asked", series=series.name), asking_facts(series)),
        ]
    if report.reference_scores.subject.contexts_recur and report.options.cluster is None:
        yield paragraph(
            "The same contexts recur with many {queries} in this benchmark. The intervals are over {queries} only. They leave out "
            "how much results differ between contexts, so they are too narrow where the context decides. For intervals over "
            "contexts, name the column that identifies the context with --cluster."
        )
    yield from how_made("report", report.runs.paths, report.options.labels.name, facts)
    if (receipt := report.benchmark.about.receipt) is not None:
        yield Folded("How the file of cases was read", tuple(map(Prose, receipt.sentences())))
