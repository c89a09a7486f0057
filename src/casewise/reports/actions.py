"""The sections of a report on actions: decisions, directions, tools, repeated calls, and for which actions context decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from casewise.evaluate.actions import CRITERIA, ActionGroup, ActionInContexts, ActionNumbers, count_deciding_parts
from casewise.notation import NOTHING, percent, spoken
from casewise.reports import charts
from casewise.reports.document import (
    Block,
    Columns,
    Figure,
    Folded,
    Prose,
    Section,
    Table,
    paragraph,
    table_by,
    with_interval,
)
from casewise.text import Text, join, text


def action_sections(numbers: ActionNumbers | None) -> Iterator[Section]:
    """Yield the sections on actions; nothing where there are none."""
    if numbers is None:
        return
    yield Section("actions", "Actions allowed, denied and asked about", tuple(decided(numbers)))
    if numbers.contexts:
        yield Section("flows", "Actions that depend on the context", tuple(flows(numbers.contexts)))


def decided(numbers: ActionNumbers) -> Iterator[Block]:
    """Yield the decisions of each judge: over all actions, by direction, over several calls, and by tool and criterion."""
    for group in numbers.groups:
        if group.part == "all":
            yield Prose(sentence(group), lead=True)
    harm, question = numbers.requirements.costs
    by_direction: Columns = {"Direction": (spoken, "part")}
    yield group_table("decisions", "Decisions on actions, by the direction of the flow", numbers.groups, by_direction)
    yield Prose(
        f"Cost is the mean cost of an action, in over-refusals. An allowed action that people refuse costs {harm:g}, and a "
        f"question to the user costs {question:g} (--harm-cost, --ask-cost)."
    )
    if numbers.over_calls:
        over_calls: Columns = {
            "Judge": "judge",
            "Calls": "harm.k",
            "Of different tasks": "harm.tasks",
            "Of one agent": "harm.agent",
        }
        caption = "Probability of at least one harm in several actions that the labels refuse"
        yield table_by("repeats", caption, numbers.over_calls, over_calls, several="Judge")
    if len({group.part for group in numbers.by_tool}) > 1:
        by_tool: Columns = {"Tool": "part", "Criterion": (spoken, "criterion")}
        tools = group_table("tools", "Decisions by tool and condition", numbers.by_tool, by_tool)
        yield Folded("By tool and criterion", (tools,))


def sentence(group: ActionGroup) -> Text:
    """Return the sentence on a judge's decisions about actions."""
    measured, asks = group.measured, ""
    if measured.asked.estimate and measured.needless_ask is not None:
        asks = (
            f" It asks the user first about {measured.asked.as_share} of all actions, and about "
            f"{measured.needless_ask.as_share} of those that the labels allow."
        )
    return text(
        "{judge} allows {harm} of the actions that the labels refuse, and denies {over_refusal} of those that they allow.{asks}",
        judge=group.judge,
        harm=measured.harm.as_share,
        over_refusal=measured.over_refusal.as_share,
        asks=asks,
    )


def group_table(name: str, caption: str, groups: Sequence[ActionGroup], first: Columns) -> Table:
    """Return a table with a row for each part."""
    asked = any(group.measured.asked.estimate for group in groups)
    questions: Columns = {"Asked": "measured.asked", "Asked needlessly": "measured.needless_ask"}
    columns: Columns = {
        "Judge": "judge",
        **first,
        "Items": "items",
        "Harm": "measured.harm",
        "Over-refusal": "measured.over_refusal",
        **(questions if asked else {}),
        "Cost": (with_interval, "measured.cost"),
    }
    return table_by(name, caption, groups, columns, several="Judge")


def flows(contexts: Sequence[ActionInContexts]) -> Iterator[Block]:
    """Yield which actions are right in one context and wrong in another."""
    parts = [f"{name}: {n}" for name, n in count_deciding_parts(contexts).items()]
    yield paragraph(
        "People's votes on {n:action} depend on: {parts}.", n=len(contexts), parts=join("; ", parts), lead=True
    )
    drawn = pl.DataFrame(
        [
            {"action": action.text, "context": spoken(name), "rate": rate, "shown": percent(rate, digits=0)}
            for action in contexts
            for name, rate in zip(CRITERIA, action.rates, strict=True)
            if rate is not None
        ],
        schema={"action": pl.String, "context": pl.String, "rate": pl.Float64, "shown": pl.String},
    )
    if len(drawn):
        yield Figure(
            "flows",
            "Share of people who allow each action in its four contexts",
            "A grid with a row for each action and a column for each context; the table below has its numbers.",
            charts.grid(drawn, rows_by="action", columns_by="context", value="rate", text="shown"),
        )
    columns: Columns = {
        "Action": "text",
        **{
            spoken(name).capitalize(): (cell, f"rates.{place}", f"votes.{place}", f"judged.{place}")
            for place, name in enumerate(CRITERIA)
        },
        "Depends on": "decides",
    }
    caption = "People who allow it, their number, and the judge's decision, by context"
    yield table_by("flows-table", caption, contexts, columns)
    yield Prose(
        "An action depends on the recipient if fewer people allow it when only the recipient is wrong, and in the same way on the purpose. "
        "The 95 % interval of that difference, corrected for all actions, excludes zero. “Not told apart”: more votes are needed to decide."
    )


def cell(rate: float | None, votes: int, judged: str) -> str:
    """Return the cell of an action in a context: people's rate, their number, and the judge's decision."""
    return f"{percent(rate, digits=0)} of {votes}, {judged}" if rate is not None else NOTHING
