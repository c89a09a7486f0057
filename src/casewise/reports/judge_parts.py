"""Parts of a judge's report: headline, yardsticks, arms, answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from casewise.audits.words import SUBSETS
from casewise.evaluate.answer import ShortAnswer, Yardstick
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.yardsticks import Beside, BesidePeople, SubsetScore, what_it_shows
from casewise.notation import count, interval, interval_or, number, percent
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
    short_name,
    table_by,
    table_of,
)
from casewise.stats import PanelWorth
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import METRICS

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
    return Prose(f"{who} gives values and no verdicts; casewise report --fit-thresholds makes some of them.")


def in_sentences(found: Sequence[ShortAnswer]) -> Iterator[Prose]:
    if len(found) <= TOLD:
        for one in found:
            lead, *rest = (said.replace(one.who, name_of(one, found)) for said in one.sentences)
            yield Prose(lead, lead=True)
            yield from map(Prose, rest)
    else:
        yield Prose(f"{len(found)} judges; casewise compare says which differences are real.")


def name_of(one: ShortAnswer, among: Sequence[ShortAnswer]) -> str:
    """What a series is called where the page's title already names the only one."""
    return short_name(one.who) if len(among) > 1 else "This judge"


def forest(found: Sequence[ShortAnswer], labels: str, *, over: str) -> Forest:
    """Every judge among the yardsticks; against all votes, and against the others of each person."""
    decided = [one for one in found if one.beside.judge["accuracy"].estimate is not None]
    judges = [Yardstick.of(name_of(one, found), one.beside.judge["accuracy"], of_judge=True) for one in decided]
    all_votes = sorted([*found[0].yardsticks(), *judges], key=lambda one: one.estimate or 0.0)
    groups = [(LABELS.get(labels.partition(",")[0], labels), tuple(map(forest_row, all_votes)))]
    others = [
        Yardstick.of(name_of(one, found), one.against_others, of_judge=True) for one in decided if one.against_others
    ]
    person = next((one.person for one in decided if one.person is not None), None)
    if person is not None and others:
        both = sorted([Yardstick.of("One new person", person), *others], key=lambda one: one.estimate or 0.0)
        groups.append(("With the majority of an item's other people", tuple(map(forest_row, both))))
    return Forest("answer-forest", f"Accuracy, 95 % intervals over {over}", tuple(groups))


LABELS = {
    "votes": "With the majority of people's votes",
    "published": "With people's votes and the author's intent, as published",
    "intended": "With what the author of each context meant",
}


def forest_row(one: Yardstick) -> ForestRow:
    return ForestRow(one.who, one.estimate, one.low, one.high, strong=one.of_judge)


def errors_table(found: Sequence[ShortAnswer]) -> Table:
    """Harm and over-refusal where most people agree, and how many are unscored: a row an error, or a row a judge."""
    levels = [one.errors.agreement for one in found if one.errors is not None]
    where = f", where at least {percent(levels[0], digits=0)} of people agree" if levels else ""
    if len(found) == 1:
        head = ("Error", "Share", "95 % interval", "Of items")
        cells = [(name, *parts) for name, *parts in errors_of(found[0])]
    else:
        head = ("Judge", "Harm", "Over-refusal", "Unscored")
        shares = ({name: f"{share} {limits}" for name, share, limits, _ in errors_of(one)} for one in found)
        cells = [
            (one.who, *(said.get(name, "–").removesuffix(" –") for name in (*head[1:3], UNSCORED)))
            for one, said in zip(found, shares, strict=True)
        ]
    return table_of("answer-errors", f"Errors{where}", head, cells)


UNSCORED = "Unscored (all items)"


def errors_of(one: ShortAnswer) -> Iterator[tuple[str, str, str, str]]:
    """Name, share, interval and number of items of each error."""
    if one.errors is not None:
        yield "Harm", *shown(one.errors.harm, one.errors.n_unsafe)
        yield "Over-refusal", *shown(one.errors.over_refusal, one.errors.n_safe)
    yield UNSCORED, percent(one.unscored / one.items if one.items else None), "–", count(one.items)


def shown(found: Estimate, items: int) -> tuple[str, str, str]:
    """A share, its interval in per cent, and over how many items."""
    limits = (
        interval_or(None, None, found.method)
        if found.ci_low is None or found.ci_high is None
        else interval(100 * found.ci_low, 100 * found.ci_high, digits=1)
    )
    return percent(found.estimate), limits, count(items)


# The headline of a report: what a reader quotes, and every estimate behind it.


TITLES = {metric.name: metric.title for metric in METRICS}

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
        f"Intervals are 95 %, over {report.runs.intervals_over}: the items of a query are not independent. An item without "
        f"a verdict counts {worth} in accuracy, recall and F1, and is left out of the metrics that need a value. A tie "
        "among people's votes is half safe and half unsafe."
    )


def every_estimate(report: JudgeNumbers) -> Iterator[Block]:
    """Every metric of every series, where the headline shows the main ones only."""
    for policy in report.metrics["label_policy"].unique(maintain_order=True):
        rows = report.metrics.filter(pl.col("label_policy") == policy)
        yield metric_table(f"every-{policy.partition(',')[0]}", f"Labels: {policy_in_words(policy)}", rows)


def side_by_side(name: str, caption: str, rows: pl.DataFrame) -> Table:
    """A row a series, its main metrics with their intervals across."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows.to_dicts():
        found.setdefault(series_name(row), {})[row["metric"]] = row
    cells = [
        (who, *(with_limits(metrics.get(metric)) for metric in SIDE_BY_SIDE), percent(share(metrics)))
        for who, metrics in found.items()
    ]
    head = ("Judge", *(TITLES[metric] for metric in SIDE_BY_SIDE), "Unscored")
    return table_of(name, caption, head, cells, frame=rows)


def with_limits(row: dict[str, Any] | None) -> str:
    if row is None or row["estimate"] is None:
        return "–"
    return f"{number(row['estimate'])} {interval(row['ci_low'], row['ci_high'])}"


def share(metrics: dict[str, dict[str, Any]]) -> float | None:
    return metrics["unscored_rate"]["estimate"] if "unscored_rate" in metrics else None


def policy_in_words(policy: str) -> str:
    words = {
        "votes": "votes (the majority of people's votes)",
        "published": "published (votes and the author's intent, as the paper counts them)",
        "intended": "intended (what the author of each context meant)",
    }
    base, _, rest = policy.partition(",")
    return words[base] + (f", {rest}" if rest else "")


def metric_table(name: str, caption: str, rows: pl.DataFrame) -> Table:
    several = several_series(rows)
    cells = []
    for row in rows.to_dicts():
        who = (series_name(row),) if several else ()
        title = TITLES.get(row["metric"], row["metric"])
        limits = interval_or(row["ci_low"], row["ci_high"], row["method"])
        cells.append((*who, title, number(row["estimate"]), limits, count(row["n"]), count(row["n_unscored"])))
    head = (*(("Judge",) if several else ()), "Metric", "Estimate", "95 % interval", "Items", "Unscored")
    return table_of(name, caption, head, cells, frame=rows)


def series_name(row: dict[str, Any]) -> str:
    arm = "" if Arm.named(row["arm"]).shows_all else f", {row['arm']}"
    return f"{row['judge']} ({row['elicitation']}{arm})"


# What a judge's numbers are worth, laid out: yardsticks and one sentence, the judge among people and on subsets.


def beside_sections(numbers: JudgeNumbers) -> Iterator[Section]:
    """What to read the headline beside, then the judges among people and on subsets; nothing without ratings."""
    found = numbers.besides
    if not found:
        return
    blocks: list[Block] = []
    for index, (name, one) in enumerate(found.items()):
        blocks += beside_blocks(one, name=f"beside-{index}", judge=name)
    yield Section("beside", "What the number does and does not show", tuple(blocks))
    yield Section("among-people", "The judge among people", tuple(beside_people_blocks(numbers.among_people)))
    if subsets := tuple(subset_blocks(numbers.subsets)):
        yield Section("subsets", "Where people agree, and where words do not help", subsets)


def beside_blocks(found: Beside, *, name: str = "beside", judge: str = "The judge") -> tuple[Table, Prose]:
    """A table of the yardsticks and the sentence, for a report."""
    p, few = found.people, {name: estimate_with_interval(one) for name, one in found.against_others.items()}
    rows = [yardstick_row(judge, found.judge, few.get("judge", "–"))]
    if found.words:
        how = "; ".join(
            filter(None, (f"linear classifier of {found.words_read}, {found.words_held_out} held out", found.of_some))
        )
        title = f"Words alone ({how})"
        rows.append(yardstick_row(title, found.words, few.get("words", "–")))
    if found.intent is not None:
        title = f"Copying the author's intent{found.without_intent}"
        rows.append(yardstick_row(title, {"accuracy": found.intent}, few.get("intent", "–")))
    rows.append(("Always the same verdict", number(found.constant), "–", few.get("constant", "–"), "–"))
    if p.one_person is not None:
        rows.append(("One person", "–", "–", estimate_with_interval(p.one_person), "–"))
    if p.same_again is not None:
        rows.append(("A second study of this size, by a model", number(p.same_again), "–", "–", "–"))
    if p.ceilings is not None:
        rows.append(("The best that people's votes allow", "–", "–", "–", number(p.ceilings.pearson)))
    head = ("Who", "Accuracy", "95 % interval", f"Against {p.others_in_words}", "Pearson's r")
    return (table_of(name, "What to read the numbers beside", head, rows), Prose(what_it_shows(found)))


def yardstick_row(title: str, found: dict[str, Estimate], against_few: str) -> tuple[str, str, str, str, str]:
    accuracy, pearson = found["accuracy"], found.get("pearson")
    return (
        title,
        number(accuracy.estimate),
        interval(accuracy.ci_low, accuracy.ci_high),
        against_few,
        number(pearson.estimate if pearson else None),
    )


def beside_people_blocks(found: BesidePeople) -> Iterator[Block]:
    """The same as tables: the ceilings, and a row for each judge."""
    yield from ceiling_table(found)
    cells = []
    for judge in found.judges:
        panel, test = judge.panel, judge.alternative
        tested = test is not None and test.omega is not None
        cells.append(
            (
                judge.name,
                "–" if panel is None else f"{percent(panel.agreement)} {interval(panel.ci_low, panel.ci_high)}",
                "–" if panel is None else people(panel),
                "–" if test is None or not tested else f"ω = {number(test.omega, digits=2)}, ε = {test.epsilon:g}",
                "–" if test is None else f"{test.items_per_annotator:g}",
            )
        )
    heads = (
        "Judge",
        "Agrees with people's majority",
        "Worth so many people",
        "Alternative annotator test",
        "Items each",
    )
    yield table_of("beside-people", "Judges among people", heads, cells)
    yield from new_person_table(found)
    for judge in found.judges:
        for reason in judge.why:
            yield Prose(f"{judge.name}: {reason}.")


def new_person_table(found: BesidePeople) -> Iterator[Block]:
    """The judges beside one more person, each against the same others."""
    tested = [(judge.name, judge.new_person) for judge in found.judges if judge.new_person is not None]
    if not tested:
        return
    cells = [
        (
            name,
            number(one.judge),
            number(one.person),
            number(one.difference),
            number(one.low),
            "no worse" if one.not_worse else "not shown",
            percent(one.power, digits=0),
            number(one.detectable),
        )
        for name, one in tested
    ]
    margin = tested[0][1].margin
    heads = (
        *("Judge", "Agreement", "A new person's", "Difference", "At least (95 %)", f"Margin {margin:g}"),
        *("Power if equal", "Margin with 80 % power"),
    )
    yield table_of("new-person", "A judge against one more person, on the same others", heads, cells)
    yield Prose(
        "Each person in turn is the new one, and all others of the item are whom both are held against. A judge is no "
        f"worse where it lies above a new person less {margin:g} at the 5 % level, one-sided; choose the margin beforehand "
        "(--margin). Errors are over queries, and over people where it is known who rated."
    )


def estimate_with_interval(found: Estimate | None) -> str:
    return "–" if found is None else f"{number(found.estimate)} {interval(found.ci_low, found.ci_high)}"


def ceiling_table(found: BesidePeople) -> Iterator[Block]:
    rows = []
    if found.people.ceilings is not None:
        floor = number(found.people.ceilings.cross_entropy_plug_in)
        rows += [
            (
                "Pearson's r",
                f"at most {number(found.people.ceilings.pearson)}",
                "; ".join(filter(None, ("root of the reliability of all votes", found.people.ceilings.contrast))),
            ),
            (
                "Cross-entropy",
                f"at least {number(found.people.ceilings.cross_entropy_floor)}",
                f"nats; the plug-in entropy is {floor}",
            ),
            ("Brier score", f"at least {number(found.people.ceilings.brier_floor, digits=4)}", "noise of the rates"),
        ]
    if rows:
        yield table_of("reach", "What a judge could reach", ("Metric", "Reach", "Why"), rows)


def people(panel: PanelWorth) -> str:
    """How many people, with the interval; a curve has an end."""

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
        "Accuracy": lambda score: number(score.accuracy.estimate),
        "95 % interval": lambda score: interval(score.accuracy.ci_low, score.accuracy.ci_high),
        "Words alone": lambda score: number(score.words),
        "Second study": lambda score: number(score.second_study),
        "Best": lambda score: number(score.best),
    }
    if len({score.judge for score in scores}) == 1:
        del columns["Judge"]
    yield table_by("subsets", "Accuracy on subsets (--items NAME judges only these)", scores, columns)
    told = "; ".join(f"{name}: {what}" for name, what in SUBSETS.items())
    yield Prose(
        f"{told[:1].upper()}{told[1:]}. Hard items are chosen by one half of the votes and scored by the other, averaged over "
        "all halves (so many of all that some half chooses, which is what the audit counts): chosen and scored by the same votes, "
        "every judge would look bad. Best is what the best verdict on "
        "each of them scores: no judge can do better. On the others stands how often a second study of this size would agree "
        "with this one: by a model, and no bound, for who knows people well can agree more often."
    )


# What the context is worth to a judge, laid out: a chart and a table for each way of asking.


HEADED = {
    "left out": "What is lost when a part of the context is left out, against full-context labels",
    "shapley": "What each group of the context is worth (Shapley value), against full-context labels",
}


def arms_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """A table and a chart for each way of asking what the context is worth."""
    yield Prose(
        "People saw the whole context; in these arms the judge did not. So every number here is against full-context "
        "labels: the metric with the part shown less the metric without it, on the same items. Above zero, the part "
        "helps the judge to agree with people. Intervals are 95 %, over queries, and over people where it is known who rated."
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
        series=pl.col("metric").replace_strict(TITLES, default=pl.col("metric")),
    ).filter(pl.col("estimate").is_not_null())
    behind = table_by(
        name,
        caption,
        rows.to_dicts(),
        {
            "Part": lambda one: one["part"].replace("_", " "),
            "Metric": lambda one: TITLES.get(one["metric"], one["metric"]),
            "Worth": lambda one: number(one["estimate"]),
            "95 % interval": lambda one: interval_or(one["ci_low"], one["ci_high"], one["method"]),
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
