"""One row an item, as the statistics want it: its parents, its category, its votes."""

from __future__ import annotations

import polars as pl

from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["ITEM_COLUMNS", "item_table"]

ITEM_COLUMNS: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "query_id": pl.String(),
    "pair_id": pl.String(),
    "category": pl.String(),
    "domain": pl.String(),
    "condition": pl.String(),
    "intended_safe": pl.Boolean(),
    "n_safe": pl.Int64(),
    "n_votes": pl.Int64(),
    "published_rate": pl.Float64(),
}


def item_table(benchmark: Benchmark) -> pl.DataFrame:
    """The items of `benchmark` in their order, with the columns of `ITEM_COLUMNS`.

    `intended_safe` is null for an item without a context, and `published_rate` where no imported file stated one.
    """
    rows = []
    for item in benchmark.items:
        query, votes = benchmark.query[item.query_id], benchmark.votes[item.id]
        category = benchmark.taxonomy.resolve(query.category)
        rows.append(
            (
                item.id,
                item.query_id,
                item.pair_id,
                query.category,
                category.domain if category else None,
                item.condition,
                benchmark.intent_of(item),
                votes.safe,
                votes.total,
                item.published_rate,
            )
        )
    return pl.DataFrame(rows, schema=ITEM_COLUMNS, orient="row")
