"""One row an item: its parents, its category and its votes for the statistics; its words for classifiers and for people."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

import polars as pl

from casewise.records import Item
from casewise.storage.benchmarks.benchmark import ITEM_COLUMNS, Benchmark
from casewise.storage.benchmarks.parquet import STATEMENTS, column_of, table_of_rows

__all__ = ["ITEM_COLUMNS", "Features", "item_table", "item_view", "texts"]

Features = Literal["context", "query", "query+context"]
"""The words of an item that a classifier may read."""


def item_table(benchmark: Benchmark) -> pl.DataFrame:
    """The items of `benchmark` in their order, with the columns of `ITEM_COLUMNS`: made once for a benchmark.

    `intended_safe` is null for an item without a context, and `published_rate` where no imported file stated one.
    """
    return benchmark.item_columns


def item_view(benchmark: Benchmark) -> pl.DataFrame:
    """The items of `benchmark` in their order, with the query, every parameter of the context, and people's votes.

    It is for people who open a table, not for reading back.
    """
    schema = dict.fromkeys(["query", *map(column_of, STATEMENTS)], pl.String())
    words = table_of_rows(map(partial(words_of, benchmark), benchmark.items), schema)
    counts = item_table(benchmark).with_columns(
        safe_rate=pl.when(pl.col("n_votes") > 0).then(pl.col("n_safe") / pl.col("n_votes"))
    )
    return pl.concat([counts, words], how="horizontal")


def words_of(benchmark: Benchmark, item: Item) -> tuple[str | None, ...]:
    """An item's query, and each parameter of its context."""
    written = benchmark.written_of(item)
    stated = written.texts if written else {}
    return (benchmark.query[item.query_id].text, *map(stated.get, STATEMENTS))


def texts(benchmark: Benchmark, features: Features = "context") -> Iterator[str]:
    """The text of one item after another, in order; without a context there is nothing of it to read."""
    return (text(benchmark, item, features) for item in benchmark.items)


def text(benchmark: Benchmark, item: Item, features: Features) -> str:
    parts = [benchmark.query[item.query_id].text] if "query" in features else []
    if "context" in features and (written := benchmark.written_of(item)):
        parts += written.texts.values()
    return "\n".join(parts)
