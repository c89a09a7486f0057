"""Several judgements of one item: their mean is the item's value, their spread the judge's own noise. They add no n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.records import SCALES, Elicitation
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.core.arrays import FloatArray, safe_divide
from casewise.stats.core.measured import Functional, Totals, TotalsByCluster

__all__ = ["JudgeNoise", "item_values", "judge_noise"]

NO_REPEATS = "undefined: no item has two judgements with a value"


def item_values(judgements: pl.DataFrame | pl.LazyFrame, *, elicitation: Elicitation) -> pl.DataFrame:
    """One row an item: the mean of its judgements' values, and how they spread.

    `judgements`: one row a judgement, with `item_id` and `value` (null where unscored).

    Returns a table: `value` is the mean over the scored judgements, null where there are none; `n_repeats` and
    `n_scored` count judgements, `n_safe` those with the verdict safe; `sum_squares` is the sum of squared deviations
    from the mean.
    """
    limit = SCALES[elicitation].threshold
    value = pl.col("value")
    safe = (value > limit).sum() if limit is not None else pl.lit(None, dtype=pl.UInt32)
    return (
        judgements.lazy()
        .group_by("item_id", maintain_order=True)
        .agg(
            value.mean().alias("value"),
            pl.len().alias("n_repeats"),
            value.count().alias("n_scored"),
            safe.alias("n_safe"),
            (value.var(ddof=0) * value.count()).fill_null(0.0).alias("sum_squares"),
        )
        .collect()
    )


@dataclass(frozen=True)
class JudgeNoise:
    """How much a judge differs from itself."""

    n_items: int
    """Items with two scored judgements or more."""
    n_judgements: int
    """All judgements, with or without a value."""
    deviation: Estimate
    """Standard deviation of a judge's values within an item, in the elicitation's units, pooled over items."""
    changes: Estimate
    """The chance that two judgements of one item give different verdicts."""


def judge_noise(values: pl.DataFrame, cluster: NDArray[np.intp]) -> JudgeNoise | None:
    r"""The judge's own noise; None where nothing was asked twice.

    .. math:: s = \sqrt{\frac{\sum_i \sum_k (v_{ik} - \bar v_i)^2}{\sum_i (k_i - 1)}}, \qquad
              d = \frac{1}{n} \sum_i \frac{2 s_i (k_i - s_i)}{k_i (k_i - 1)}

    with *k* scored judgements of an item and *s* of them safe.

    `values`: the table of `item_values`.
    `cluster`: the query of each row.
    """
    if not (values["n_repeats"] > 1).any():
        return None
    k, safe = floats(values["n_scored"]), floats(values["n_safe"])
    several = k > 1
    terms = {
        "items": several.astype(np.float64),
        "freedom": np.maximum(k - 1, 0),
        "squares": several * floats(values["sum_squares"]),
        "with_verdicts": (several & ~np.isnan(safe)).astype(np.float64),
        "changes": np.nan_to_num(several * safe_divide(2 * safe * (k - safe), k * (k - 1))),
    }
    unscored = int((values["n_repeats"] - values["n_scored"]).sum())
    names, query = np.unique(cluster, return_inverse=True)
    totals = TotalsByCluster.of(terms, query.astype(np.intp), n_clusters=len(names), n_unscored=unscored)
    return JudgeNoise(
        n_items=int(several.sum()),
        n_judgements=int(values["n_repeats"].sum()),
        deviation=estimate_of(totals.measure(DEVIATION)),
        changes=estimate_of(totals.measure(CHANGES)),
    )


def floats(column: pl.Series) -> FloatArray:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def deviation(t: Totals) -> FloatArray:
    variance = safe_divide(t["squares"], t["freedom"], otherwise=np.nan)
    return np.sqrt(np.maximum(variance, 0))


DEVIATION = Functional("deviation", deviation, over=lambda t: t["items"], domain=(0.0, np.inf), undefined=NO_REPEATS)
CHANGES = Functional(
    "changes",
    lambda t: safe_divide(t["changes"], t["with_verdicts"], otherwise=np.nan),
    over=lambda t: t["with_verdicts"],
    kind="share",
    domain=(0.0, 1.0),
    undefined=NO_REPEATS,
)
