"""People and judges in one long table: a row a rating or a judgement, with the same columns.

Each shape that statistics want is made of it, or of its parts, in one place: votes by item in
`casewise.storage.benchmarks.item_table`, ratings by annotator in `RatingColumns.arrays`, values by series in
`casewise.evaluation.judged_runs`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from casewise.errors import DataError
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.record_columns import places_among

__all__ = ["LONG_COLUMNS", "judges_rows", "people_rows", "places_of"]

LONG_COLUMNS = pl.Schema(
    {
        "item_id": pl.String(),
        "query_id": pl.String(),
        "pair_id": pl.String(),
        "category": pl.String(),
        "condition": pl.String(),
        "rater_kind": pl.String(),
        "rater_id": pl.String(),
        "elicitation": pl.String(),
        "arm": pl.String(),
        "repeat": pl.Int32(),
        "value": pl.Float64(),
        "unscored_reason": pl.String(),
    }
)
"""`rater_kind` is `person` or `judge`; the `rater_id` of an anonymous vote is null. A person's value is 1 for safe, 0 for
unsafe; a judge's is in the units of the elicitation, and null where there is none, with the reason."""

OF_ITEM = ("item_id", "query_id", "pair_id", "category", "condition")


def people_rows(benchmark: Benchmark) -> pl.DataFrame:
    """Every rating of `benchmark`, in its order, with the columns of `LONG_COLUMNS`."""
    items = item_table(benchmark).select(OF_ITEM)
    ratings = benchmark.rated.arrays(items["item_id"])
    people = pl.Series(ratings.annotators, dtype=pl.String)
    known = pl.Series(ratings.annotator)
    of_ratings: pl.DataFrame = items[ratings.item]
    return of_ratings.select(
        *OF_ITEM,
        rater_kind=pl.lit("person"),
        rater_id=people.gather(known.set(known < 0, None)),
        elicitation=pl.lit("binary"),
        arm=pl.lit("full"),
        repeat=pl.lit(0, pl.Int32),
        value=pl.Series(ratings.safe.astype(float)),
        unscored_reason=pl.lit(None, pl.String),
    )


def judges_rows(items: pl.DataFrame, judgements: pl.DataFrame, *, rater_id: str, source: Path) -> pl.DataFrame:
    """Judgements with the columns of `LONG_COLUMNS`; repeated texts are categorical, for a run may have a million rows.

    `items`: the table of items of the benchmark that was judged.
    `judgements`: as `casewise.storage.runs.judgement_table` gives them.
    `source`: their log, to be named in errors.

    Raises DataError: a judgement is of an item that is not in the table.
    """
    of_item = items.select(pl.col(OF_ITEM[1:]).cast(pl.Categorical))
    needed = judgements.select("item_id", "elicitation", "arm", "repeat", "value", "unscored_reason")
    rows = needed.hstack(of_item[places_of(items, judgements, source=source)])
    whose = rows.with_columns(rater_kind=pl.lit("judge", pl.Categorical), rater_id=pl.lit(rater_id, pl.Categorical))
    return whose.select(*LONG_COLUMNS)


def places_of(items: pl.DataFrame, judgements: pl.DataFrame, *, source: Path) -> pl.Series:
    """The place of each judgement's item among `items`. Arguments and errors as of `judges_rows`."""
    places = places_among(items["item_id"], judgements["item_id"])
    if places.has_nulls():
        stray = judgements["item_id"][int(places.is_null().arg_max() or 0)]
        raise DataError(source, None, f"holds a judgement of an item that the benchmark has not: {stray}")
    return places
