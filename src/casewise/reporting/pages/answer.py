"""The first screen of a report: the answer in a sentence or two, one chart that says it all, and the two errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from casewise.evaluation.answer import ShortAnswer, Yardstick
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.reporting.document import (
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    count,
    interval_or,
    percent,
    short_name,
    table_of,
)
from casewise.reporting.pages.behaviour import behaviour_answer
from casewise.stats.agreeing.estimates import Estimate

__all__ = ["answer_section"]

TOLD = 3
"""So many judges have a sentence each; of more, the chart speaks, and `casewise compare`."""


def answer_section(numbers: JudgeNumbers) -> Iterator[Section]:
    """What to read first; nothing where no judge gives anything that could be held against people."""
    found, without = numbers.answers, numbers.without_verdicts
    said = [
        *behaviour_answer(numbers.does, numbers.corrected),
        *(() if numbers.does or not found else in_sentences(found)),
        *((forest(found, numbers.options.labels.name), errors_table(found)) if found else ()),
        *map(no_verdicts, without),
    ]
    if said:
        yield Section("answer", "The answer", tuple(said), first=bool(found), brief=True)


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


def forest(found: Sequence[ShortAnswer], labels: str) -> Forest:
    """Every judge among the yardsticks; against all votes, and against the others of each person."""
    decided = [one for one in found if one.beside.judge["accuracy"].estimate is not None]
    judges = [Yardstick.of(name_of(one, found), one.beside.judge["accuracy"], of_judge=True) for one in decided]
    all_votes = sorted(
        [*found[0].yardsticks(), *judges], key=lambda one: one.estimate if one.estimate is not None else 2.0
    )
    groups = [(LABELS.get(labels.partition(",")[0], labels), tuple(map(row, all_votes)))]
    others = [
        Yardstick.of(name_of(one, found), one.against_others, of_judge=True) for one in decided if one.against_others
    ]
    person = next((one.person for one in decided if one.person is not None), None)
    if person is not None and others:
        both = sorted([Yardstick.of("One new person", person), *others], key=lambda one: one.estimate or 0.0)
        groups.append(("With the majority of an item's other people", tuple(map(row, both))))
    return Forest("answer-forest", "Accuracy, 95 % intervals over queries", tuple(groups))


LABELS = {
    "votes": "With the majority of people's votes",
    "published": "With people's votes and the author's intent, as published",
    "intended": "With what the author of each context meant",
}


def row(one: Yardstick) -> ForestRow:
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
        yield "Harm", *shown(one.errors.under_refusal, one.errors.n_unsafe)
        yield "Over-refusal", *shown(one.errors.over_refusal, one.errors.n_safe)
    yield UNSCORED, percent(one.unscored / one.items if one.items else None), "–", count(one.items)


def shown(found: Estimate, items: int) -> tuple[str, str, str]:
    """A share, its interval in per cent, and over how many items."""
    limits = (
        interval_or(None, None, found.method)
        if found.ci_low is None or found.ci_high is None
        else f"[{100 * found.ci_low:.1f}, {100 * found.ci_high:.1f}] %"
    )
    return percent(found.estimate), limits, count(items)
