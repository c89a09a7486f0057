"""What revising contexts was worth: people and judges on generated contexts against the revised ones of the same queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.evaluation.judged_runs import JudgedRuns, Series, read_runs
from casewise.stats.agreeing.sample import right
from casewise.stats.core.intervals import student_quantile
from casewise.stats.people.coded_ratings import CodedRatings
from casewise.storage.benchmarks.benchmark import Benchmark

__all__ = ["WorthOfRevision", "worth_of_revision"]

INTENTS = ("safe", "unsafe")
SAFE_RATE, AS_INTENDED, AGREE, RIGHT = (
    "safe rate",
    "majority as the author meant",
    "two people agree",
    "says what most people say",
)
CELL = ("item_id", "query_id", "condition")


@dataclass(frozen=True)
class WorthOfRevision:
    """One row a measure and intent.

    `who` (`people`, or a judge), `measure`, `intent` (`safe`, `unsafe`, or `both`: safe less unsafe), `queries`,
    `generated`, `revised`, `difference` (revised less generated) and its interval `ci_low`, `ci_high` over queries; null
    where fewer than two queries have both, or none differs.
    """

    table: pl.DataFrame


def worth_of_revision(
    ratings: CodedRatings,
    runs: Sequence[Path] = (),
    *,
    benchmark: str | Path | Benchmark | None = None,
    level: float = 0.95,
) -> WorthOfRevision | None:
    r"""Generated against revised contexts, query by query; None where no query was rated under both.

    Each measure is averaged within a query and condition; with :math:`d_q` the difference of query *q*, the estimate is
    :math:`\bar d` and its interval :math:`\bar d \pm t_{n-1} s_d / \sqrt n`. Two people agree on an item of *n* votes, *k* of them
    safe, in :math:`[k(k-1) + (n-k)(n-k-1)] / [n(n-1)]` of pairs; half of a tie is as the author meant.

    Parameters
    ----------
    runs
        Judges' runs over the same items, judged against people's majority there.

    Raises
    ------
    DataError, BenchmarkError
        A run cannot be read, or is not over one benchmark.
    """
    votes = votes_of(ratings)
    rows = list(people_worth(votes, level=level))
    if not rows:
        return None
    if runs:
        judged = read_runs(list(runs), benchmark=benchmark)
        for series in judged.main_series:
            rows += judge_worth(judged, series, votes, level=level)
    return WorthOfRevision(pl.DataFrame(rows, infer_schema_length=None))


def votes_of(ratings: CodedRatings) -> pl.DataFrame:
    """A row an item: its query, condition, safe votes, all votes, and people's majority as the weight of safe."""
    k, n = ratings.by_item.successes, ratings.by_item.sizes
    names, conditions = np.array(ratings.query.names), np.array(ratings.condition.names)
    return pl.DataFrame(
        {
            "item_id": ratings.item.names,
            "query_id": names[ratings.item_query],
            "condition": conditions[ratings.item_condition],
            "safe": k / n,
            "majority": np.where(2 * k == n, 0.5, 2 * k > n),
            "agree": np.where(n > 1, (k * (k - 1) + (n - k) * (n - k - 1)) / np.maximum(n * (n - 1), 1), np.nan),
        }
    )


def people_worth(votes: pl.DataFrame, *, level: float) -> Iterator[dict[str, Any]]:
    for intent in INTENTS:
        meant = pl.col("majority") if intent == "safe" else 1 - pl.col("majority")
        measures = {SAFE_RATE: pl.col("safe"), AS_INTENDED: meant, AGREE: pl.col("agree").fill_nan(None)}
        for measure, value in measures.items():
            yield from compared("people", measure, intent, wide(votes.with_columns(value=value)), level=level)
    yield from compared("people", SAFE_RATE, "both", apart(wide(votes.with_columns(value="safe"))), level=level)


def judge_worth(runs: JudgedRuns, series: Series, votes: pl.DataFrame, *, level: float) -> Iterator[dict[str, Any]]:
    sample = runs.whole_sample(series)
    said = pl.DataFrame({"item_id": runs.items["item_id"], "verdict": sample.safe, "asked": series.asked})
    both = votes.join(said.filter("asked"), on="item_id", how="inner")
    hits = right(both["verdict"].to_numpy(), both["majority"].to_numpy())
    for intent in INTENTS:
        yield from compared(series.name, RIGHT, intent, wide(both.with_columns(value=hits)), level=level)


def wide(items: pl.DataFrame) -> pl.DataFrame:
    """A row a query, a column a condition, with the mean of `value`."""
    means = items.drop_nulls("value").group_by("query_id", "condition").agg(pl.col("value").mean())
    return means.pivot("condition", index="query_id", values="value")


def apart(table: pl.DataFrame) -> pl.DataFrame:
    """How far the two intents of a query lie apart, in the columns that `compared` reads for `both`."""
    names = [f"{intent}_{origin}" for intent in INTENTS for origin in ("generated", "revised")]
    if not set(names) <= set(table.columns):
        return table.select("query_id")
    return table.select(
        "query_id",
        both_generated=pl.col("safe_generated") - pl.col("unsafe_generated"),
        both_revised=pl.col("safe_revised") - pl.col("unsafe_revised"),
    )


def compared(who: str, measure: str, intent: str, table: pl.DataFrame, *, level: float) -> Iterator[dict[str, Any]]:
    """The row of one measure; none where no query has both."""
    columns = (f"{intent}_generated", f"{intent}_revised")
    if not set(columns) <= set(table.columns):
        return
    generated, revised = table.select(columns).drop_nulls().to_numpy().T
    n = len(generated)
    if not n:
        return
    differences = revised - generated
    row: dict[str, Any] = {
        "who": who,
        "measure": measure,
        "intent": intent,
        "queries": n,
        "generated": float(generated.mean()),
        "revised": float(revised.mean()),
        "difference": float(differences.mean()),
        "ci_low": None,
        "ci_high": None,
    }
    if n > 1 and (error := float(differences.std(ddof=1) / np.sqrt(n))) > 0:
        half = student_quantile((1 + level) / 2, n - 1) * error
        row |= {"ci_low": row["difference"] - half, "ci_high": row["difference"] + half}
    yield row
