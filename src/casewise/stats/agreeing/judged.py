"""From a table of items and a judge's values to the sample that metrics are computed from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.records import SCALES, Elicitation
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy, column, labels
from casewise.stats.agreeing.sample import Sample, UnscoredPolicy, as_probability
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.raters import Raters

__all__ = [
    "PUBLISHED_UNSCORED",
    "judged",
    "judged_by_raters",
    "numbered",
    "one_vote_fewer",
    "query_numbers",
    "verdicts",
]

PUBLISHED_UNSCORED: dict[str, float] = {"score": 1.0, "probability": 1.0}
"""What the release's scripts take an unparsed reply for."""


def judged(
    items: pl.DataFrame,
    values: FloatArray,
    *,
    elicitation: Elicitation,
    policy: LabelPolicy = VOTES,
    unscored: UnscoredPolicy = "miss",
    threshold: float | None = None,
    cluster: NDArray[np.intp] | None = None,
) -> Sample:
    """A judge's values beside people's labels.

    `items`: the table of `casewise.storage.benchmarks.item_table`: one row an item.
    `values`: one value an item, in the elicitation's own units, the higher the safer; nan where unscored.
    `threshold`: a value above it is a verdict of safe; by default the elicitation's own.
    `cluster`: the items' `query_numbers`, where somebody has them.

    Raises StatisticsError: there are not as many values as items.
    """
    if len(values) != len(items):
        raise StatisticsError(f"{len(values)} values for {len(items)} items")
    if unscored == "published" and elicitation in PUBLISHED_UNSCORED:
        values = np.where(np.isnan(values), PUBLISHED_UNSCORED[elicitation], values)
    found = labels(items, policy)
    return Sample(
        weight=found.weight,
        rate=found.rate,
        safe=verdicts(values, elicitation=elicitation, threshold=threshold),
        probability=as_probability(values, elicitation),
        value=values if elicitation != "binary" else np.full(len(values), np.nan),
        cluster=query_numbers(items) if cluster is None else cluster,
        n_votes=column(items, "n_votes"),
        unscored_policy=unscored,
    )


def judged_by_raters(
    items: pl.DataFrame,
    values: FloatArray,
    raters: Raters | None,
    *,
    elicitation: Elicitation,
    policy: LabelPolicy = VOTES,
    unscored: UnscoredPolicy = "miss",
    cluster: NDArray[np.intp] | None = None,
) -> Sample:
    """As `judged`, with what each vote adds where it is known whose it is, so that intervals hold annotators too."""

    queries = query_numbers(items) if cluster is None else cluster

    def beside(rows: pl.DataFrame) -> Sample:
        return judged(rows, values, elicitation=elicitation, policy=policy, unscored=unscored, cluster=queries)

    whole = beside(items)
    if raters is None or policy.name != VOTES.name:
        return whole
    safe, unsafe = (beside(one_vote_fewer(items, safe=one)) for one in (True, False))
    return replace(whole, raters=raters, without=(safe, unsafe))


def one_vote_fewer(items: pl.DataFrame, *, safe: bool) -> pl.DataFrame:
    """The items with one safe, or one unsafe, vote fewer each; those without such a vote stay as they are."""
    has = (pl.col("n_safe") if safe else pl.col("n_votes") - pl.col("n_safe")) > 0
    return items.with_columns(
        n_safe=pl.col("n_safe") - (has.cast(pl.Int64) if safe else 0), n_votes=pl.col("n_votes") - has.cast(pl.Int64)
    )


def query_numbers(items: pl.DataFrame) -> NDArray[np.intp]:
    """The query of each item, as an integer from 0 in the order of their ids."""
    return numbered(items["query_id"])


def numbered(names: pl.Series) -> NDArray[np.intp]:
    """Each name as an integer from 0, in their order."""
    return names.rank("dense").to_numpy().astype(np.intp) - 1


def verdicts(values: FloatArray, *, elicitation: Elicitation, threshold: float | None = None) -> FloatArray:
    """1 where a value is above the threshold (safe), else 0; nan where unscored, or where there is no threshold."""
    limit = SCALES[elicitation].threshold if threshold is None else threshold
    if limit is None:
        return np.full(len(values), np.nan)
    return np.where(np.isnan(values), np.nan, (values > limit).astype(np.float64))
