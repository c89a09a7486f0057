"""Parts of a judge's report: headline, yardsticks, arms, answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from casewise.audits.words import SUBSETS
from casewise.evaluate.answer import ShortAnswer
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.yardsticks import Beside, BesidePeople, SubsetScore, what_it_shows
from casewise.notation import NOTHING, count, number, percent
from casewise.notation import share as share_of
from casewise.records import Arm
from casewise.reports import charts
from casewise.reports.behaviour import behaviour_answer
from casewise.reports.document import (
    Block,
    Exhibit,
    Figure,
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    difference_cell,
    estimate_cell,
    estimate_of_row,
    short_name,
    table_by,
    table_of,
)
from casewise.stats import PanelWorth
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import all_metrics
from casewise.storage.wording import LabelWords

# The first screen of a report: the answer in a sentence or two, one chart that says it all, and the two errors.


TOLD = 3
"""So many judges have a sentence each; of more, the chart speaks, and `casewise compare`."""


def answer_section(numbers: JudgeNumbers, examples: Sequence[Exhibit] = ()) -> Iterator[Section]:
    """What to read first; nothing where no judge gives anything that could be held against people.

    `examples`: items on which a verdict is not people's.
    """
    found, without = numbers.answers, numbers.without_verdicts
    said = [
        *(Prose(note, lead=True) for note in numbers.runs.silent_notes),
        *behaviour_answer(numbers.does, numbers.corrected),
        *(() if numbers.does or not found else in_sentences(found)),
        *(
            (forest(found, numbers.options.labels.name, over=numbers.runs.intervals_over), errors_table(found))
            if found
            else ()
        ),
        *map(no_verdicts, without),
        *in_short(numbers),
        *examples,
    ]
    if said:
        first = bool(found or numbers.runs.silent_notes)
        yield Section("answer", "The answer", tuple(said), first=first, brief=True)


def in_short(numbers: JudgeNumbers) -> Iterator[Prose]:
    """Balanced accuracy, which model answered, what it cost and how long an answer took, of a report on one judge."""
    if len(numbers.runs.series) != 1 or numbers.does:
        return
    (series,) = numbers.runs.series
    balanced = numbers.metrics.filter((pl.col("metric") == "balanced_accuracy") & pl.col("estimate").is_not_null())
    told = [
        f"Balanced accuracy {share_of(row['estimate'], row['ci_low'], row['ci_high'])}"
        for row in balanced.head(1).iter_rows(named=True)
    ]
    told += [f"answered by {', '.join(series.versions)}"] if series.versions else []
    told += [f"${series.cost_usd:,.4g}"] if series.cost_usd is not None else []
    told += [f"{series.latency_s:.2g} s an answer (median)"] if series.latency_s is not None else []
    if told:
        yield Prose("; ".join(told) + ".")


def no_verdicts(who: str) -> Prose:
    return Prose(f"{who} gives values and no verdicts. casewise report --fit-thresholds makes verdicts of them.")


def in_sentences(found: Sequence[ShortAnswer]) -> Iterator[Prose]:
    if len(found) <= TOLD:
        for one in found:
            lead, *rest = (said.replace(one.who, name_of(one, found)) for said in one.sentences)
            yield Prose(lead, lead=True)
            yield from map(Prose, rest)
    else:
        yield Prose(f"{len(found)} judges. casewise compare tests their differences, corrected for comparing several.")


def name_of(one: ShortAnswer, among: Sequence[ShortAnswer]) -> str:
    """What a series is called where the page's title already names the only one."""
    return short_name(one.who) if len(among) > 1 else "This judge"


def forest(found: Sequence[ShortAnswer], labels: str, *, over: str) -> Forest:
    """Every judge among the yardsticks; against all votes, and against the others of each person."""
    decided = [one for one in found if one.beside.judge["accuracy"].estimate is not None]
    judges = [forest_row(name_of(one, found), one.beside.judge["accuracy"], strong=True) for one in decided]
    all_votes = [*(forest_row(*yardstick) for yardstick in found[0].yardsticks()), *judges]
    groups = [(LABELS.get(labels.partition(",")[0], labels), by_estimate(all_votes))]
    others = [forest_row(name_of(one, found), one.against_others, strong=True) for one in decided if one.against_others]
    person = next((one.person for one in decided if one.person is not None), None)
    if person is not None and others:
        rows = by_estimate([forest_row("One new person", person), *others])
        groups.append(("Against the majority of an item's other people", rows))
    return Forest("answer-forest", f"Accuracy, 95 % intervals over {over}", tuple(groups))


LABELS = {
    "votes": "Against the labels",
    "published": "Against the votes and the author's intent, as published",
    "intended": "Against what the author of each context meant",
    "mean": "Against the side of the cut on which people's mean rating lies",
}


def forest_row(name: str, accuracy: Estimate, *, strong: bool = False) -> ForestRow:
    return ForestRow(name, accuracy.estimate, accuracy.ci_low, accuracy.ci_high, strong=strong)


def by_estimate(rows: Sequence[ForestRow]) -> tuple[ForestRow, ...]:
    return tuple(sorted(rows, key=lambda row: row.estimate or 0.0))


def errors_table(found: Sequence[ShortAnswer]) -> Table:
    """Harm and over-refusal where most people agree, and how many are unscored: a row an error, or a row a judge."""
    levels = [one.errors.agreement for one in found if one.errors is not None]
    rated = all(one.beside.labels.rated for one in found)
    where = f", where at least {percent(levels[0], digits=0)} of people agree" if levels and rated else ""
    if len(found) == 1:
        head: tuple[str, ...] = ("Error", SHARE, "Items")
        cells: list[tuple[str, ...]] = [*errors_of(found[0])]
    else:
        head = ("Judge", "Harm", "Over-refusal", UNSCORED)
        shares = ({name: share for name, share, _ in errors_of(one)} for one in found)
        cells = [
            (one.who, *(of.get(name, NOTHING) for name in head[1:])) for one, of in zip(found, shares, strict=True)
        ]
    return table_of("answer-errors" if rated else "label-errors", f"Errors{where}", head, cells)


UNSCORED = "Unscored (all items)"
SHARE = "Share, 95 % interval"


def errors_of(one: ShortAnswer) -> Iterator[tuple[str, str, str]]:
    """Name, share with its interval, and number of items of each error."""
    if one.errors is not None:
        yield "Harm", estimate_cell(one.errors.harm), count(one.errors.n_unsafe)
        yield "Over-refusal", estimate_cell(one.errors.over_refusal), count(one.errors.n_safe)
    yield UNSCORED, percent(one.unscored / one.items if one.items else None), count(one.items)


# The headline of a report: what a reader quotes, and every estimate behind it.


@cache
def titles() -> dict[str, str]:
    """Return the titles of metrics by name."""
    return {metric.name: metric.title for metric in all_metrics()}


SIDE_BY_SIDE = ("accuracy", "recall_safe", "recall_unsafe", "pearson")
"""What stands side by side where several judges, elicitations or arms are reported."""


def several_series(rows: pl.DataFrame) -> bool:
    """Whether the rows speak of more than one judge, elicitation or arm."""
    return bool(rows.select(pl.struct("judge", "elicitation", "arm").n_unique()).item() > 1) if len(rows) else False


def headline(report: JudgeNumbers) -> Iterator[Block]:
    """One table a label policy: every metric of one judge, or the main ones of several side by side."""
    for policy in report.metrics["label_policy"].unique(maintain_order=True):
        rows = report.agreement.filter(pl.col("label_policy") == policy)
        if not len(rows):
            return
        name, caption = f"headline-{policy.partition(',')[0]}", f"Labels: {policy_in_words(policy)}"
        yield (side_by_side if several_series(rows) else metric_table)(name, caption, rows)
    worth = "against the judge" if report.options.unscored == "miss" else report.options.unscored
    yield Prose(
        f"Intervals are 95 %, over {report.runs.intervals_over}, because the items of a query are not independent. An item "
        f"without a verdict counts {worth} in accuracy, recall and F1. Metrics that need a value leave it out. A tie among "
        "an item's votes counts half as safe and half as unsafe."
    )


def every_estimate(report: JudgeNumbers) -> Iterator[Block]:
    """Every metric of every series, where the headline shows the main ones only."""
    for policy in report.metrics["label_policy"].unique(maintain_order=True):
        rows = report.metrics.filter(pl.col("label_policy") == policy)
        yield metric_table(f"every-{policy.partition(',')[0]}", f"Labels: {policy_in_words(policy)}", rows)


def side_by_side(name: str, caption: str, rows: pl.DataFrame) -> Table:
    """A row a series, its main metrics with their intervals across."""
    found: dict[str, dict[str, Estimate]] = {}
    for row in rows.to_dicts():
        found.setdefault(series_name(row), {})[row["metric"]] = estimate_of_row(row)
    head = ("Judge", *(titles()[metric] for metric in SIDE_BY_SIDE), "Unscored")
    cells = [
        (
            who,
            *(estimate_cell(metrics.get(metric)) for metric in SIDE_BY_SIDE),
            percent(metrics["unscored_rate"].estimate if "unscored_rate" in metrics else None),
        )
        for who, metrics in found.items()
    ]
    return table_of(name, caption, head, cells, frame=rows)


def policy_in_words(policy: str) -> str:
    words = {
        "votes": "votes (the majority of an item's votes)",
        "published": "published (votes and the author's intent, as the paper counts them)",
        "intended": "intended (what the author of each context meant)",
        "mean": "mean (the side of the cut on which the mean rating lies)",
    }
    base, _, rest = policy.partition(",")
    return words[base] + (f", {rest}" if rest else "")


def metric_table(name: str, caption: str, rows: pl.DataFrame) -> Table:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "Judge": series_name,
        "Metric": lambda row: titles().get(row["metric"], row["metric"]),
        "Estimate, 95 % interval": lambda row: estimate_cell(estimate_of_row(row)),
        "Items": lambda row: count(row["n"]),
        "Unscored": lambda row: count(row["n_unscored"]),
    }
    return table_by(name, caption, rows.to_dicts(), columns, several="Judge", frame=rows)


def series_name(row: dict[str, Any]) -> str:
    arm = "" if Arm.named(row["arm"]).shows_all else f", {row['arm']}"
    return f"{row['judge']} ({row['elicitation']}{arm})"


# What a judge's numbers are worth, laid out: yardsticks and one sentence, the judge among people and on subsets.


def beside_sections(numbers: JudgeNumbers) -> Iterator[Section]:
    """The baselines of the headline, then the judges among people and on subsets; nothing without ratings."""
    found = numbers.besides
    if not found:
        return
    blocks: list[Block] = []
    for index, (name, one) in enumerate(found.items()):
        blocks += beside_blocks(one, name=f"beside-{index}", judge=name)
    yield Section("beside", "Baselines", tuple(blocks))
    if LabelWords.of(numbers.benchmark).rated:
        blocks = [*beside_people_blocks(numbers.among_people)]
        yield Section("among-people", "The judge compared with people", tuple(blocks))
    if subsets := tuple(subset_blocks(numbers.subsets)):
        yield Section("subsets", "Subsets: clear, close and hard items, and where words do not help", subsets)


def beside_blocks(found: Beside, *, name: str = "beside", judge: str = "The judge") -> tuple[Table, Prose]:
    """A table of the baselines and the sentence, for a report."""
    p, few = found.people, {name: estimate_cell(one) for name, one in found.against_others.items() if one}
    rows: list[tuple[str, ...]] = [baseline_row(judge, found.judge, few.get("judge", NOTHING))]
    if found.words:
        how = "; ".join(
            filter(None, (f"linear classifier of {found.words_read}, {found.words_held_out} held out", found.of_some))
        )
        rows.append(baseline_row(f"Words alone ({how})", found.words, few.get("words", NOTHING)))
    if found.intent is not None:
        title = f"Copying the author's intent{found.without_intent}"
        rows.append(baseline_row(title, {"accuracy": found.intent}, few.get("intent", NOTHING)))
    rows.append(("Always the same verdict", percent(found.constant), few.get("constant", NOTHING), NOTHING))
    if p.one_person is not None:
        rows.append(("One person", NOTHING, estimate_cell(p.one_person), NOTHING))
    if p.same_again is not None:
        rows.append(("A second study of this size, by a model", percent(p.same_again), NOTHING, NOTHING))
    if p.ceilings is not None:
        rows.append(("The highest value that people's votes allow", NOTHING, NOTHING, number(p.ceilings.pearson)))
    head = ("Baseline", "Accuracy, 95 % interval", f"Against {p.others_in_words}", "Pearson's r")
    shown = [place for place in range(len(head)) if p.others or place != AGAINST]
    rows = [tuple(row[place] for place in shown) for row in rows]
    table = table_of(name, "The judge and its baselines", tuple(head[place] for place in shown), rows)
    return (table, Prose(what_it_shows(found)))


AGAINST = 2
"""The column of the majority of so many people, which is left out where nobody rated."""


def baseline_row(title: str, found: dict[str, Estimate], against_few: str) -> tuple[str, str, str, str]:
    pearson = found.get("pearson")
    return title, estimate_cell(found["accuracy"]), against_few, number(pearson.estimate if pearson else None)


def beside_people_blocks(found: BesidePeople) -> Iterator[Block]:
    """The same as tables: the ceilings, and a row for each judge."""
    yield from ceiling_table(found)

    def replaceable(judge: Any) -> str:
        test = judge.alternative
        tested = test is not None and test.omega is not None
        return f"ω = {number(test.omega, digits=2)}, ε = {test.epsilon:g}" if tested else NOTHING

    columns: dict[str, Callable[[Any], str]] = {
        "Judge": lambda judge: judge.name,
        "Agrees with people's majority": lambda judge: (
            share_of(judge.panel.agreement, judge.panel.ci_low, judge.panel.ci_high) if judge.panel else NOTHING
        ),
        "Worth so many people": lambda judge: people(judge.panel) if judge.panel else NOTHING,
        "Alternative annotator test": replaceable,
        "Items each": lambda judge: f"{judge.alternative.items_per_annotator:g}" if judge.alternative else NOTHING,
    }
    yield table_by("beside-people", "Judges compared with people", found.judges, columns)
    yield from new_person_table(found)
    for judge in found.judges:
        for reason in judge.why:
            yield Prose(f"{judge.name}: {reason}.")


def new_person_table(found: BesidePeople) -> Iterator[Block]:
    """The judges and one more person, each compared with the same others."""
    tested = [(judge.name, judge.new_person) for judge in found.judges if judge.new_person is not None]
    if not tested:
        return
    margin = tested[0][1].margin
    columns: dict[str, Callable[[Any], str]] = {
        "Judge": lambda row: row[0],
        "Agreement": lambda row: percent(row[1].judge),
        "A new person's": lambda row: percent(row[1].person),
        "Difference, points": lambda row: number(100 * row[1].difference, digits=1),
        "At least (95 %)": lambda row: number(100 * row[1].low, digits=1),
        f"Margin of {100 * margin:g} points": lambda row: "no worse" if row[1].not_worse else "not shown",
        "Power if equal": lambda row: percent(row[1].power, digits=0),
        "Margin with 80 % power": lambda row: number(100 * row[1].detectable, digits=1),
    }
    yield table_by("new-person", "A judge and one more person, compared with the same others", tested, columns)
    yield Prose(
        "Each person in turn is the new one. The judge and the new person are compared with all others who rated the item. "
        f"“No worse” means: a one-sided test at 5 % shows the judge to be less than {100 * margin:g} points below a new "
        "person. Choose the margin before you look at the numbers (--margin). Errors are over queries, and over people "
        "where it is known who rated."
    )


def ceiling_table(found: BesidePeople) -> Iterator[Block]:
    rows = []
    if found.people.ceilings is not None:
        floor = number(found.people.ceilings.cross_entropy_plug_in)
        rows += [
            (
                "Pearson's r",
                f"at most {number(found.people.ceilings.pearson)}",
                "; ".join(
                    filter(None, ("square root of the reliability of all votes", found.people.ceilings.contrast))
                ),
            ),
            (
                "Cross-entropy",
                f"at least {number(found.people.ceilings.cross_entropy_floor)}",
                f"in nats; the plug-in entropy is {floor}",
            ),
            ("Brier score", f"at least {number(found.people.ceilings.brier_floor, digits=4)}", "noise of the votes"),
        ]
    if rows:
        yield table_of("reach", "The best values that a judge can reach", ("Metric", "Limit", "Reason"), rows)


def people(panel: PanelWorth) -> str:
    """The number of people, with its interval; the curve ends at the largest panel."""

    def said(value: float) -> str:
        if value == 0:
            return "fewer than 1"
        return "more than any panel" if value == float("inf") else f"{value:.1f}"

    return f"{said(panel.people)} [{said(panel.people_low)}, {said(panel.people_high)}]"


def subset_blocks(scores: Sequence[SubsetScore]) -> Iterator[Block]:
    """A table of every judge on every subset, and how to read it; nothing where no subset can be made."""
    if not scores:
        return
    columns: dict[str, Callable[[SubsetScore], str]] = {
        "Items": lambda score: score.subset,
        "Judge": lambda score: score.judge,
        "Number": lambda score: f"{score.n:,.0f}" + (f" of {score.items:,}" if score.subset == "hard" else ""),
        "Accuracy, 95 % interval": lambda score: estimate_cell(score.accuracy),
        "Words alone": lambda score: percent(score.words),
    }
    rated = any(score.second_study is not None for score in scores)
    if rated:
        columns["Second study"] = lambda score: percent(score.second_study)
    hard = any(score.subset == "hard" for score in scores)
    if hard:
        columns["Best"] = lambda score: percent(score.best)
    yield table_by("subsets", "Accuracy on subsets (--items NAME reports one)", scores, columns, several="Judge")
    present = {score.subset for score in scores}
    told = "; ".join(f"{name}: {what}" for name, what in SUBSETS.items() if name in present)
    sentences = [f"{told[:1].upper()}{told[1:]}."]
    if hard:
        sentences.append(
            "Hard items are chosen by one half of the votes and scored by the other half, averaged over all halves. If the same "
            "votes chose and scored them, every judge would look worse than it is. The number of items counts what at least one "
            "half chooses, as the audit does. “Best” is the score of the best verdict on each hard item: no judge can exceed it."
        )
    if rated:
        sentences.append(
            "“Second study” predicts by a model how often a second study of this size would agree with this one. It is no bound: "
            "a judge that knows people well can agree more often."
        )
    yield Prose(" ".join(sentences))


# What the context is worth to a judge, laid out: a chart and a table for each way of asking.


HEADED = {
    "left out": "Loss when a part of the context is left out, against full-context labels",
    "shapley": "Value of each group of the context (Shapley value), against full-context labels",
}


def arms_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """A chart and a table for each way to measure the value of the context."""
    yield Prose(
        "A value above zero means that the part helps the judge to agree with people. Each value is the metric with the part "
        "shown, less the metric without it, on the same items. Every label is about the whole context. Intervals are 95 %, over "
        "queries, and over annotators where it is known who rated."
    )
    for worth, caption in HEADED.items():
        for (judge, elicitation), rows in table.filter(pl.col("worth") == worth).group_by(
            "judge", "elicitation", maintain_order=True
        ):
            name = f"arms-{worth.replace(' ', '-')}-{elicitation}"
            yield arms_figure(rows, f"{caption}: {judge} ({elicitation})", name)


def arms_figure(rows: pl.DataFrame, caption: str, name: str) -> Figure:
    drawn = rows.select(
        name=pl.col("part").str.replace_all("_", " ", literal=True),
        estimate="estimate",
        low="ci_low",
        high="ci_high",
        series=pl.col("metric").replace_strict(titles(), default=pl.col("metric")),
    ).filter(pl.col("estimate").is_not_null())
    behind = table_by(
        name,
        caption,
        rows.to_dicts(),
        {
            "Part": lambda one: one["part"].replace("_", " "),
            "Metric": lambda one: titles().get(one["metric"], one["metric"]),
            "Worth, 95 % interval": lambda one: difference_cell(estimate_of_row(one)),
            "Items": lambda one: count(one["n"]),
            "Unscored": lambda one: count(one["n_unscored"]),
        },
        frame=rows,
    )
    limit = reach(drawn)
    chart = charts.dots_with_intervals(
        drawn,
        title="Gain from showing the part (against full-context labels)",
        domain=(-limit, limit),
    )
    return Figure(
        name=name,
        caption=caption,
        alt=f"{caption}: dots with 95 % intervals, a row for each part; the table below has the numbers.",
        svg=charts.for_page(chart, name=name),
        behind=behind,
    )


def reach(drawn: pl.DataFrame) -> float:
    """Half the width of an axis around zero that holds everything, in tenths."""
    numbers = [abs(v) for column in ("estimate", "low", "high") for v in drawn[column].drop_nulls().to_list()]
    return max(0.1, float(np.ceil(max(numbers, default=0.1) * 10) / 10))
