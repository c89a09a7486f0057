"""Items beside series as one table: people's label and agreement, and each series' verdict, value and whether it is right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from casewise.evaluation.judged_runs import JudgedRun, Series
from casewise.records import Arm, ShortRepr
from casewise.showing.transforms import role_of
from casewise.stats.agreeing.judged import verdicts
from casewise.stats.agreeing.labels_and_ties import LabelPolicy, labels
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.judgement_table import last_attempts

__all__ = ["LABELS", "OUTCOMES", "OUTCOME_TYPE", "Judged", "ViewedTable", "of_people", "with_series"]

LABELS = ("safe", "unsafe", "tie", "unrated")

OUTCOMES = ("right", "wrong", "unscored", "no label", "no threshold", "not asked")
"""What becomes of an item in a series. Without a label, or without a threshold, there is nothing to be right about."""

OUTCOME_TYPE = pl.Enum(OUTCOMES)


@dataclass(frozen=True, repr=False)
class Judged(ShortRepr):
    """One run as it is now: every judgement with its reply, and those that count."""

    run: JudgedRun
    judge: str
    every: pl.DataFrame

    @cached_property
    def last(self) -> pl.DataFrame:
        """Of several attempts the last."""
        return last_attempts(self.every)


@dataclass(frozen=True, repr=False)
class ViewedTable(ShortRepr):
    """What is looked at, at one moment."""

    benchmark: Benchmark
    policy: LabelPolicy
    items: pl.DataFrame
    """A row an item in the benchmark's order: `place`, the columns of `item_table`, `label`, `rate`, `agreement` (the
    share of people on the larger side), and for the series at place n `value_n`, `verdict_n` (1 safe, 0 unsafe),
    `outcome_n` and `reason_n`."""
    judged: tuple[Judged, ...]
    series: tuple[Series, ...]
    version: int = 0
    """Grows when judgements come in."""

    @property
    def of_replies(self) -> bool:
        """Whether what a chatbot wrote is among it."""
        return any(one.run.behaviour is not None for one in self.judged)

    @cached_property
    def queries(self) -> pl.DataFrame:
        """Texts of queries in lower case, by `query_id`."""
        found = [(query.id, query.text.lower()) for query in self.benchmark.queries]
        return pl.DataFrame(found, schema={"query_id": pl.String, "text": pl.String}, orient="row")

    @cached_property
    def contexts(self) -> pl.DataFrame:
        """Texts of contexts in lower case, by `place`: made at the first search, for a large benchmark keeps them on disk."""
        shown = ((place, self.benchmark.written_of(item)) for place, item in enumerate(self.benchmark.items))
        found = [(place, "\n".join(one.texts.values()).lower()) for place, one in shown if one is not None]
        return pl.DataFrame(found, schema={"place": self.items.schema["place"], "text": pl.String}, orient="row")

    @cached_property
    def replies(self) -> pl.DataFrame:
        """Replies in lower case, by `item_id`, of the judgements that count."""
        texts = pl.col("raw_reply").str.to_lowercase().alias("text")
        none = pl.DataFrame(schema={"item_id": pl.String, "text": pl.String})
        return pl.concat([none, *(one.last.select("item_id", texts).drop_nulls() for one in self.judged)])

    @cached_property
    def n_judgements(self) -> int:
        """How many judgements count."""
        return sum(len(one.last) for one in self.judged)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Of its items."""
        return tuple(self.items["category"].unique().sort())

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """Of its items."""
        return tuple(self.items["condition"].unique().sort())

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What a reader of the benchmark should know."""
        return self.benchmark.notes()

    def keep_from(self, before: ViewedTable) -> None:
        """Take over what only the benchmark decides: it is worked out once, however often judgements come in."""
        known = ("queries", "contexts", "categories", "conditions", "notices")
        self.__dict__.update({name: before.__dict__[name] for name in known if name in before.__dict__})

    @property
    def arms(self) -> tuple[str, ...]:
        """How items were shown."""
        return tuple(dict.fromkeys(one.arm for one in self.series))

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks among the arms."""
        return tuple(dict.fromkeys(name for one in self.series for name in attacks_of(one.shown)))

    def of(self, *, arm: str = "", attack: str = "") -> tuple[int, ...]:
        """The places of the series of an arm, or under an attack; all where neither is named."""
        return tuple(
            place
            for place, one in enumerate(self.series)
            if arm in ("", one.arm) and (not attack or attack in attacks_of(one.shown))
        )

    def reasons(self) -> tuple[str, ...]:
        """Why items have no value."""
        return tuple(sorted({reason for one in self.series for reason in one.reasons}))


def attacks_of(arm: Arm) -> tuple[str, ...]:
    return tuple(one.name for one in arm.transforms if role_of(one) == "attack")


def of_people(items: pl.DataFrame, policy: LabelPolicy) -> pl.DataFrame:
    """The table of items with what people said of each."""
    found = labels(items, policy)
    named = np.select([found.weight == 1, found.weight == 0, ~np.isnan(found.weight)], LABELS[:3], LABELS[3])
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = items["n_safe"].to_numpy() / items["n_votes"].to_numpy()
    return items.with_columns(
        pl.Series("label", named, dtype=pl.Enum(LABELS)),
        pl.Series("rate", rate).fill_nan(None),
        pl.Series("agreement", np.maximum(rate, 1 - rate)).fill_nan(None),
    ).with_row_index("place")


def with_series(items: pl.DataFrame, judged: Iterable[Judged], series: Iterable[Series]) -> pl.DataFrame:
    """`items` with the columns of each series."""
    by_name = {one.judge: one for one in judged}
    columns = [
        column
        for place, one in enumerate(series)
        for column in columns_of(items, one, reasons_of(items, by_name[one.judge], one), place)
    ]
    return items.with_columns(columns)


def reasons_of(items: pl.DataFrame, judged: Judged, series: Series) -> pl.Series:
    """Why each item has no value in a series; null where it has one."""
    asked = (pl.col("elicitation") == series.elicitation) & (pl.col("arm") == series.arm)
    why = (
        judged.last.filter(asked & pl.col("value").is_null())
        .group_by("item_id")
        .agg(pl.col("unscored_reason").cast(pl.String).first().alias("reason"))
    )
    return items.select("item_id").join(why, on="item_id", how="left", maintain_order="left")["reason"]


def columns_of(items: pl.DataFrame, series: Series, reasons: pl.Series, place: int) -> tuple[pl.Series, ...]:
    safe = verdicts(series.values, elicitation=series.elicitation)
    label = items["label"].to_physical().to_numpy()
    none = np.isnan(series.values)
    outcome = np.select(
        [~series.asked, none, np.isnan(safe), label > 1, safe == 1 - label],
        ["not asked", "unscored", "no threshold", "no label", "right"],
        "wrong",
    )
    value = pl.Series(f"value_{place}", series.values).fill_nan(None)
    return (
        value,
        pl.Series(f"verdict_{place}", safe).fill_nan(None).cast(pl.Int8),
        pl.Series(f"outcome_{place}", outcome, dtype=OUTCOME_TYPE),
        reasons.set(pl.Series(~none), None).alias(f"reason_{place}"),
    )
