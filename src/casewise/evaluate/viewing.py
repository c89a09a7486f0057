"""One table of items and judges' verdicts, searched and sorted for the view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from pathlib import Path
from threading import Lock
from typing import Annotated, Literal, Self, get_args

import numpy as np
import polars as pl
from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass as checked

from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import JudgedRun, Series, number_duplicates, open_runs, policy_of, read_series
from casewise.records import Arm, ShortRepr
from casewise.replies.behaviour import read_replies
from casewise.stats.labels import LabelPolicy, labels
from casewise.stats.sample import verdicts
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import first_problem
from casewise.storage.load import Source
from casewise.storage.run_folder import AnyRun, ItemNote, add_item_note, judgement_table, last_attempts, read_item_notes
from casewise.transforms.catalogue import role_of

Label = Literal["", "safe", "unsafe", "tie", "unrated"]
LABELS: tuple[Label, ...] = get_args(Label)[1:]

Outcome = Literal["", "right", "wrong", "unscored", "no label", "no threshold", "not asked"]
"""The outcome of an item in a series. Without a label, or without a threshold, there is nothing to be right about."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)[1:]


@dataclass(frozen=True, repr=False)
class RunJudgements(ShortRepr):
    """The judgements of one run, with the replies."""

    run: JudgedRun
    judge: str
    every: pl.DataFrame

    @cached_property
    def last(self) -> pl.DataFrame:
        """Return the last of several attempts."""
        return last_attempts(self.every)


@dataclass(frozen=True, repr=False)
class ViewedTable(ShortRepr):
    """The benchmark and series that are viewed."""

    benchmark: Benchmark
    policy: LabelPolicy
    items: pl.DataFrame
    """A row an item in the benchmark's order: `place`, the columns of `ITEM_COLUMNS`, `label`, `rate`, `agreement` (the
    share of people on the larger side), and for the series at place n `value_n`, `verdict_n` (1 safe, 0 unsafe),
    `outcome_n` and `reason_n`."""
    judged: tuple[RunJudgements, ...]
    series: tuple[Series, ...]

    @property
    def of_replies(self) -> bool:
        """True if the table has replies of a chatbot."""
        return any(judged.run.behaviour is not None for judged in self.judged)

    @cached_property
    def queries(self) -> pl.DataFrame:
        """Texts of queries in lower case, by `query_id`."""
        texts = [(query.id, query.text.lower()) for query in self.benchmark.queries]
        return pl.DataFrame(texts, schema={"query_id": pl.String, "text": pl.String}, orient="row")

    @cached_property
    def contexts(self) -> pl.DataFrame:
        """The texts of contexts in lower case, by `place`. They are read at the first search, because a large benchmark
        stores them on disk."""
        shown = enumerate(self.benchmark.written())
        texts = [(place, "\n".join(context.texts.values()).lower()) for place, context in shown if context is not None]
        return pl.DataFrame(texts, schema={"place": self.items.schema["place"], "text": pl.String}, orient="row")

    @cached_property
    def ids(self) -> pl.DataFrame:
        """Ids in the owner's file in lower case, by `place`; of items that have one."""
        source_ids = self.benchmark.items.table["source_id"]
        return self.items.select("place", text=source_ids.cast(pl.String).str.to_lowercase()).drop_nulls()

    @cached_property
    def replies(self) -> pl.DataFrame:
        """Replies in lower case, by `item_id`, of the judgements that count."""
        texts = pl.col("raw_reply").str.to_lowercase().alias("text")
        none = pl.DataFrame(schema={"item_id": pl.String, "text": pl.String})
        return pl.concat([none, *(judged.last.select("item_id", texts).drop_nulls() for judged in self.judged)])

    @cached_property
    def n_judgements(self) -> int:
        """The number of judgements that count."""
        return sum(len(judged.last) for judged in self.judged)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories of its items."""
        return tuple(self.items["category"].unique().sort())

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of its items."""
        return tuple(self.items["condition"].unique().sort())

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """Notes of the benchmark that a reader should know."""
        return self.benchmark.notes()

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in which items were shown."""
        return tuple(dict.fromkeys(series.arm for series in self.series))

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks among the arms."""
        return tuple(dict.fromkeys(name for series in self.series for name in attacks_of(series.shown)))


def attacks_of(arm: Arm) -> tuple[str, ...]:
    return tuple(transform.name for transform in arm.transforms if role_of(transform) == "attack")


def with_labels(items: pl.DataFrame, policy: LabelPolicy) -> pl.DataFrame:
    """Return the table of items with people's votes on each."""
    label_weights = labels(items, policy)
    named = np.select(
        [label_weights.weight == 1, label_weights.weight == 0, ~np.isnan(label_weights.weight)], LABELS[:3], LABELS[3]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = items["n_safe"].to_numpy() / items["n_votes"].to_numpy()
    return items.with_columns(
        pl.Series("label", named, dtype=pl.Enum(LABELS)),
        pl.Series("rate", rate).fill_nan(None),
        pl.Series("agreement", np.maximum(rate, 1 - rate)).fill_nan(None),
    ).with_row_index("place")


def with_series(items: pl.DataFrame, judged: Iterable[RunJudgements], series: Iterable[Series]) -> pl.DataFrame:
    """Return `items` with the columns of each series."""
    by_name = {run.judge: run for run in judged}
    label, columns = items["label"].to_physical().to_numpy(), list[pl.Series]()
    for place, each in enumerate(series):
        safe, none = verdicts(each.values, elicitation=each.elicitation), np.isnan(each.values)
        outcome = np.select(
            [~each.asked, none, np.isnan(safe), label > 1, safe == 1 - label],
            ["not asked", "unscored", "no threshold", "no label", "right"],
            "wrong",
        )
        of_series = (
            (pl.col("elicitation") == each.elicitation) & (pl.col("arm") == each.arm) & pl.col("value").is_null()
        )
        reason = pl.col("unscored_reason").cast(pl.String).first().alias("reason")
        why = by_name[each.judge].last.filter(of_series).group_by("item_id").agg(reason)
        reasons = items.select("item_id").join(why, on="item_id", how="left", maintain_order="left")["reason"]
        columns += [
            pl.Series(f"value_{place}", each.values).fill_nan(None),
            pl.Series(f"verdict_{place}", safe).fill_nan(None).cast(pl.Int8),
            pl.Series(f"outcome_{place}", outcome, dtype=pl.Enum(OUTCOMES)),
            reasons.set(pl.Series(~none), None).alias(f"reason_{place}"),
        ]
    return items.with_columns(columns)


AGREEMENT = {"all": (1.0, 1.01), "90": (0.9, 1.01), "75": (0.75, 1.01), "split": (0.5, 0.75)}
"""Ranges of the share of people on the larger side: from, and to below."""

Cell = Literal["", "both-right", "only-first", "only-second", "both-wrong", "rest", "differ"]
CELLS: tuple[Cell, ...] = get_args(Cell)[1:]
"""Cells of two series side by side; the rest has no label, or no verdict in one of them. Items on which their verdicts differ are
among the others."""

Sort = Literal["", "place", "category", "people", "agreement", "wrong", "value"]

AnyPlace = Annotated[int, Field(ge=0)]


@checked(frozen=True)
class ItemFilter:
    """The items wanted, and their order. The address states each field that differs from its default, under its
    name."""

    q: str = ""
    category: str = ""
    condition: str = ""
    label: Label = ""
    people: Literal["", "all", "90", "75", "split"] = ""
    series: AnyPlace | None = None
    """The series that `verdict`, `outcome`, `reason` and the order by value are about; without it, any of those shown."""
    verdict: Literal["", "safe", "unsafe"] = ""
    outcome: Outcome = ""
    reason: str = ""
    arm: str = ""
    attack: str = ""
    tag: str = ""
    first: AnyPlace | None = None
    second: AnyPlace | None = None
    """Two series side by side."""
    cell: Cell = ""
    differ: bool = False
    """Only items on which two of the judges shown have different verdicts in the same arm."""
    sort: Sort = ""
    down: bool = False
    page: AnyPlace = 1

    @classmethod
    def from_query(cls, words: Mapping[str, str]) -> Self:
        """Return the items that an address asks for; ignore unknown names and empty values.

        Raises ConfigurationError: a value is none that its name can have.
        """
        names = {field.name for field in fields(cls)}
        try:
            return cls(**{name: word for name, word in words.items() if name in names and word != ""})  # type: ignore[arg-type]
        except ValidationError as error:
            raise ConfigurationError(first_problem(error)) from error

    def words(self) -> dict[str, str]:
        """Return the selection in the words of an address."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: "yes" if value is True else str(value)
            for name, (value, default) in values.items()
            if value is not None and value != default
        }

    @property
    def pair(self) -> tuple[int, int] | None:
        """The two series side by side, if any."""
        return None if self.first is None or self.second is None else (self.first, self.second)


@dataclass(frozen=True)
class SelectedItems:
    """The items that are wanted, as places in the benchmark, in the order that is wanted."""

    places: pl.Series
    cells: dict[Cell, int] | None
    """The number of items in each cell of two series."""


def shown_series(table: ViewedTable, query: ItemFilter) -> tuple[int, ...]:
    """Return the places of the series in the table: the two that are compared, or those of the arm and the attack.

    Raises ConfigurationError: there is no such series.
    """
    for place in (query.series, query.first, query.second):
        if place is not None and place >= len(table.series):
            raise ConfigurationError(f"there is no series {place}: they are counted from 0 to {len(table.series) - 1}")
    if query.pair is not None:
        return query.pair
    places = tuple(
        place
        for place, series in enumerate(table.series)
        if query.arm in ("", series.arm) and (not query.attack or query.attack in attacks_of(series.shown))
    )
    return places if query.series is None else (query.series, *(place for place in places if place != query.series))


def select_items(table: ViewedTable, query: ItemFilter, *, tagged: Mapping[str, tuple[str, ...]]) -> SelectedItems:
    """Return the items that are wanted.

    `tagged`: the tags of items that have some.

    Raises ConfigurationError: there is no such series.
    """
    shown = shown_series(table, query)
    conditions = [*item_conditions(query), *series_conditions(shown, query)]
    if query.tag:
        conditions.append(pl.col("item_id").is_in([item for item, tags in tagged.items() if query.tag in tags]))
    if query.differ:
        pairs = [
            pl.col(f"verdict_{first}") != pl.col(f"verdict_{second}")
            for first, second in combinations(shown, 2)
            if table.series[first].judge != table.series[second].judge
            and table.series[first].arm == table.series[second].arm
        ]
        conditions.append(pl.any_horizontal([pl.lit(value=False), *pairs]))
    items = table.items.filter(conditions) if conditions else table.items
    if query.q:
        items = items.filter(mentions(table, query.q.lower()))
    cells = None
    if query.pair is not None:
        counts = items.select(in_cell(cell, query.pair).sum().alias(cell) for cell in CELLS).row(0)
        cells = dict(zip(CELLS, counts, strict=True))
        if query.cell:
            items = items.filter(in_cell(query.cell, query.pair))
    return SelectedItems(sort_items(items, query, shown)["place"], cells)


def item_conditions(query: ItemFilter) -> Iterator[pl.Expr]:
    for name in ("category", "condition", "label"):
        if value := getattr(query, name):
            yield pl.col(name) == value
    if query.people:
        low, high = AGREEMENT[query.people]
        yield pl.col("agreement").is_between(low, high, closed="left")


def series_conditions(shown: tuple[int, ...], query: ItemFilter) -> Iterator[pl.Expr]:
    """Yield the conditions on the named series, or on any one of the shown series."""
    if not (query.verdict or query.outcome or query.reason):
        return
    alternatives = [pl.lit(value=False)]
    for place in shown if query.series is None else (query.series,):
        conditions = []
        if query.verdict:
            conditions.append(pl.col(f"verdict_{place}").fill_null(-1) == int(query.verdict == "safe"))
        if query.outcome:
            conditions.append(pl.col(f"outcome_{place}") == query.outcome)
        if query.reason:
            conditions.append(pl.col(f"reason_{place}").fill_null("") == query.reason)
        alternatives.append(pl.all_horizontal(conditions))
    yield pl.any_horizontal(alternatives)


def mentions(table: ViewedTable, text: str) -> pl.Expr:
    """Return True if the query, the context, a reply or the owner's id of an item has `text` in it."""
    hits = []
    for texts in (table.ids, table.queries, table.contexts, table.replies):
        key = texts.columns[0]
        matching = texts.filter(pl.col("text").str.contains(text, literal=True))[key]
        hits.append(pl.col(key).is_in(matching.implode()))
    return pl.any_horizontal(hits)


def in_cell(cell: str, pair: tuple[int, int]) -> pl.Expr:
    if cell == "differ":
        return pl.col(f"verdict_{pair[0]}") != pl.col(f"verdict_{pair[1]}")
    outcomes = [pl.col(f"outcome_{place}") for place in pair]
    decided = pl.all_horizontal([outcome.is_in(["right", "wrong"]) for outcome in outcomes])
    if cell == "rest":
        return ~decided
    right = (cell in ("both-right", "only-first"), cell in ("both-right", "only-second"))
    return pl.all_horizontal(
        [outcome == ("right" if is_right else "wrong") for outcome, is_right in zip(outcomes, right, strict=True)]
    )


def sort_items(items: pl.DataFrame, query: ItemFilter, shown: tuple[int, ...]) -> pl.DataFrame:
    """Return `items`, sorted. Two series side by side begin with the items on which people are surest."""
    sort, down = query.sort, query.down
    if not sort and query.pair is not None:
        sort, down = "agreement", True
    if sort in ("", "place") or (sort in ("wrong", "value") and not shown):
        return items.reverse() if down else items
    if sort == "wrong":
        by = pl.sum_horizontal((pl.col(f"outcome_{place}") == "wrong").cast(pl.Int32) for place in shown)
    elif sort == "value":
        by = pl.col(f"value_{shown[0] if query.series is None else query.series}")
    else:
        by = pl.col({"people": "rate"}.get(sort, sort))
    return items.sort(by, descending=down, nulls_last=True, maintain_order=True)


class RunView:
    """A view of runs over one benchmark. It changes no run; notes are stored in a file of their own."""

    def __init__(self, table: ViewedTable) -> None:
        self.table = table
        self.notes = read_item_notes(self.paths)
        self._lock = Lock()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The run folders, in the order given."""
        return tuple(dict.fromkeys(judged.run.path for judged in self.table.judged))

    def note(self, note: ItemNote) -> None:
        """Keep a note on an item, in the folder of the first run."""
        with self._lock:
            add_item_note(self.paths[0], note)
            self.notes = read_item_notes(self.paths)


def view(*runs: AnyRun, benchmark: Source | None = None, labels: str | LabelPolicy = "votes") -> RunView:
    """Open runs for viewing: every item with its context, people's votes, verdicts and replies, found, sorted and counted.

    A run that has just begun and holds nothing yet may be among them.

    Parameters
    ----------
    labels
        The label policy, as for `report`.

    Raises
    ------
    DataError, BenchmarkError
        A folder is no run, or the runs are over different benchmarks.

    Examples
    --------
    >>> from casewise.api import judge
    >>> len(view(judge("demo", "constant:safe")).table.items)
    90
    """
    policy = policy_of(labels)
    opened_runs, judged_benchmark = open_runs(runs, benchmark)
    names = number_duplicates([run.manifest.judge_name for run in opened_runs])
    judged = tuple(
        RunJudgements(run, name, judgement_table(run.log, replies="keep") if run.behaviour is None else graded(run))
        for run, name in zip(opened_runs, names, strict=True)
    )
    items = with_labels(judged_benchmark.item_columns, policy)
    series = [
        judged_series
        for of_run in judged
        if len(of_run.every)
        for judged_series in read_series(of_run.run, of_run.judge, items, judgements=of_run.every)
    ]
    return RunView(ViewedTable(judged_benchmark, policy, with_series(items, judged, series), judged, tuple(series)))


def graded(run: JudgedRun) -> pl.DataFrame:
    """Return the grades of a chatbot's replies, with the replies themselves."""
    texts: Iterator[tuple[str, str, int, str | None]] = (
        (reply.item_id, reply.arm, reply.repeat, reply.text or reply.refusal) for reply in read_replies(run.path)
    )
    schema = {"item_id": pl.String, "arm": pl.String, "repeat": pl.Int32, "raw_reply": pl.String}
    texts_of_replies = pl.DataFrame(list(texts), schema=schema, orient="row")
    return run.judgements().join(texts_of_replies, on=["item_id", "arm", "repeat"], how="left", maintain_order="left")
