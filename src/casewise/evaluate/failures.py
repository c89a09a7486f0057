"""Items on which a judge's verdict is not people's, under the ids and with the columns of their owner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from casewise.evaluate.judged_runs import JudgedRuns, ReportOptions, Series
from casewise.records import ShortRepr, ShownContext
from casewise.records.context import Statement, as_text
from casewise.records.item import Judged, Turn
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.labels import LabelPolicy
from casewise.stats.sample import as_probability
from casewise.storage.wording import LabelWords


@dataclass(frozen=True, repr=False)
class Case(ShortRepr):
    """An item as its owner knows it, and what people said of it."""

    id: str
    """The id in the owner's file; the item's where the file gave none."""
    item_id: str
    query: str
    category: str
    condition: str
    intended_safe: bool | None
    n_safe: int
    n_votes: int
    columns: dict[str, Statement]
    """Every other column of the owner's file."""
    shown: ShownContext
    """Its context; empty where it has none."""
    judged: Judged
    """The kind of `query`: a request, a reply or an action."""
    before: tuple[Turn, ...]
    """The conversation before it."""
    labels: LabelWords

    @classmethod
    def of(cls, runs: JudgedRuns, place: int) -> Self:
        """The item at `place` of the benchmark."""
        row, item = runs.items.row(place, named=True), runs.benchmark.items[place]
        context, query = runs.benchmark.context_of(item), runs.benchmark.query[row["query_id"]]
        named = {name: row[name] for name in ("item_id", "category", "condition", "intended_safe", "n_safe", "n_votes")}
        return cls(
            id=item.source_id or row["item_id"],
            query=query.text,
            judged=query.judged,
            before=query.before or (),
            columns=dict(item.columns or {}),
            shown=context.shown() if context else {},
            labels=LabelWords.of(runs.benchmark),
            **named,
        )

    @property
    def people(self) -> str:
        """The votes, `2 of 21 say safe (10 %)`, or the label."""
        return self.labels.votes(self.n_safe, self.n_votes)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The owner's id and columns, labelled."""
        return (("Item", self.id), *((name, as_text(statement)) for name, statement in self.columns.items()))

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            name: value for name, value in vars(self).items() if name not in ("shown", "judged", "before", "labels")
        }


@dataclass(frozen=True, repr=False)
class Misjudged(ShortRepr):
    """An item on which a judge's verdict is not people's."""

    judge: str
    case: Case
    value: float
    elicitation: str
    distance: float
    """Between the judge's value on [0, 1] and the safe rate."""
    of_replies: bool = False
    """True if it is what a chatbot does, and not what a judge says."""
    reply: str | None = None
    """The chatbot's reply, the first time that it was asked; only where that is wanted."""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        about = {"case", "of_replies", *(() if self.reply is not None else ("reply",))}
        return {**self.case.as_json(), **{name: value for name, value in vars(self).items() if name not in about}}


def misjudged(runs: JudgedRuns, options: ReportOptions) -> tuple[Misjudged, ...]:
    """The items on which a judge's verdict is not people's, furthest apart first; of series that were shown what people saw."""
    cases: list[Misjudged] = []
    for series in runs.main_series:
        distance = distances(runs, series, options.labels)
        places = np.flatnonzero(series.asked)
        worst = [
            Misjudged(
                judge=series.name,
                case=Case.of(runs, int(places[place])),
                value=float(series.values[places[place]]),
                elicitation=series.elicitation,
                distance=float(distance[place]),
            )
            for place in np.argsort(-distance, kind="stable")[: options.disagreements]
            if distance[place] >= 0
        ]
        behaviour = series.run.behaviour
        if behaviour is not None:
            texts = {
                item: text
                for (arm, item), text in behaviour.texts.items()
                if arm == series.arm and options.with_replies
            }
            worst = [replace(case, of_replies=True, reply=texts.get(case.case.item_id)) for case in worst]
        cases += worst
    return tuple(cases)


def distances(runs: JudgedRuns, series: Series, policy: LabelPolicy) -> FloatArray:
    """Return the judge's distance from people's rate, or from the label without a rate, on each item asked. It is −1
    where its verdict is not wrong."""
    sample = runs.sample(series, policy=policy)
    value = as_probability(series.values[series.asked], series.elicitation)
    label = np.where(np.isnan(sample.rate), sample.weight, sample.rate)  # a mean or an intent where nobody voted
    distance = np.abs(np.where(np.isnan(value), sample.safe, value) - label)
    return np.where(wrong(sample.safe, sample.weight) & ~np.isnan(distance), distance, -1.0)


def wrong(safe: FloatArray, weight: FloatArray) -> BoolArray:
    """Return True for each verdict that differs from the label; False for an item without a verdict or a label."""
    apart: BoolArray = np.where(weight == 0.5, 0, np.abs(safe - weight)) > 0.5
    return apart


def failures_table(runs: JudgedRuns, options: ReportOptions) -> pl.DataFrame:
    """A row for each item that a judge decided otherwise than people, or gave no verdict on, with its owner's id and columns.

    Columns: `judge`, `id`, the owner's own (their name followed by `_` where it is one of these), `query`, each parameter
    of the context, `verdict` (empty where there is none), `value`, `people_say`, `n_safe`, `n_votes`, `category`, `item_id`.
    """
    rows = [row for series in runs.main_series for row in failures_of(runs, series, options)]
    names = dict.fromkeys(name for row in rows for name in row)
    last = ("verdict", "value", "people_say", "n_safe", "n_votes", "category", "item_id")
    order = [*(name for name in names if name not in last), *last] if rows else ["judge", "id", "query", *last]
    return pl.DataFrame(
        [{name: row.get(name) for name in order} for row in rows],
        schema={name: NUMBERS.get(name, pl.String) for name in order},
    )


NUMBERS = {"value": pl.Float64, "n_safe": pl.Int64, "n_votes": pl.Int64}


def failures_of(runs: JudgedRuns, series: Series, options: ReportOptions) -> Iterator[dict[str, Any]]:
    sample = runs.sample(series, policy=options.labels, unscored=options.unscored)
    silent = np.isnan(series.values[series.asked])
    chosen = sample.labelled & (wrong(sample.safe, sample.weight) | silent)
    for place, at in zip(np.flatnonzero(chosen).tolist(), np.flatnonzero(series.asked)[chosen].tolist(), strict=True):
        case, item = Case.of(runs, at), runs.benchmark.items[at]
        written = runs.benchmark.written_of(item)
        own: dict[str, Any] = {"judge": series.name, "id": case.id}
        ends = {
            "verdict": None if silent[place] else "safe" if sample.safe[place] else "unsafe",
            "value": None if silent[place] else float(series.values[at]),
            "people_say": "tie" if sample.weight[place] == 0.5 else "safe" if sample.weight[place] > 0.5 else "unsafe",
            "n_safe": case.n_safe,
            "n_votes": case.n_votes,
            "category": case.category,
            "item_id": case.item_id,
        }
        texts = {"query": case.query, **(written.texts if written else {})}
        taken = {*own, *texts, *ends}
        mine = {name_beside(name, taken): as_text(statement) for name, statement in case.columns.items()}
        yield {**own, **mine, **texts, **ends}


def name_beside(name: str, taken: set[str]) -> str:
    """`name`, with `_` behind it where another column is called so."""
    while name in taken:
        name += "_"
    return name
