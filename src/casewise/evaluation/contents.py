"""What a benchmark and a run hold, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.runs.judgement_run import JUDGEMENTS
from casewise.storage.runs.judgement_table import judgement_table, last_attempts

__all__ = ["judgement_counts", "vote_counts"]


def vote_counts(benchmark: Benchmark, column: Literal["condition", "category"]) -> pl.DataFrame:
    """A row a condition or category (with its `domain`): `items`, `votes`, and how many of these are `safe`."""
    return (
        item_table(benchmark)
        .group_by([column, "domain"] if column == "category" else [column], maintain_order=True)
        .agg(items=pl.len(), votes=pl.col("n_votes").sum(), safe=pl.col("n_safe").sum())
    )


def judgement_counts(run: Path) -> pl.DataFrame:
    """A row an elicitation and arm: how many `judgements`, how many of them `unscored`, and their `mean` value."""
    return (
        last_attempts(judgement_table(run / JUDGEMENTS))
        .group_by("elicitation", "arm", maintain_order=True)
        .agg(judgements=pl.len(), unscored=pl.col("value").is_null().sum(), mean=pl.col("value").mean())
    )
