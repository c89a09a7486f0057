"""One row an item with everything about it in words and counts: for people who open a table, not for reading back."""

from __future__ import annotations

import polars as pl

from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.benchmarks.parquet import STATEMENTS, column_of

__all__ = ["item_view"]


def item_view(benchmark: Benchmark) -> pl.DataFrame:
    """The items of `benchmark` in their order, with the query, every parameter of the context, and people's votes."""
    rows = []
    for item in benchmark.items:
        context = benchmark.context_of(item)
        stated = context.texts() if context is not None else {}
        texts = {column_of(name): stated.get(name) for name in STATEMENTS}
        rows.append({"query": benchmark.query[item.query_id].text, **texts})
    names = ["query", *(column_of(name) for name in STATEMENTS)]
    words = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")
    counts = item_table(benchmark).with_columns(
        safe_rate=pl.when(pl.col("n_votes") > 0).then(pl.col("n_safe") / pl.col("n_votes"))
    )
    return pl.concat([counts, words], how="horizontal")
