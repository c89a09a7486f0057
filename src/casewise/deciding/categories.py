"""A judge's own categories, and its middle class, beside people: are these the items on which they split, or whose verdict turns?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from casewise.evaluation.judged_runs import Series
from casewise.stats.agreeing.estimates import difference_of
from casewise.stats.agreeing.judged import query_numbers
from casewise.stats.core.arrays import BoolArray
from casewise.stats.deciding.trade_off import shares_of

__all__ = ["CategoryBeside", "InAndOut", "categories_of", "judgements_of", "rated_items"]

SPLIT = (0.3, 0.7)
"""Safe rates between which people are split."""

MIDDLE = "(middle class)"


@dataclass(frozen=True)
class InAndOut:
    """A share of the items in a category and of all others, with a 95 % interval of the difference over queries."""

    inside: float | None
    elsewhere: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CategoryBeside:
    """What people say of the items that a judge puts in one of its categories, or in its middle class."""

    judge: str
    category: str
    n: int
    safe_rate: float
    split: InAndOut
    """Items on which at least three in ten people disagree with the others."""
    turns: InAndOut
    """Items whose verdict by most people is another than in another context of the same query."""


def categories_of(series: Series, items: pl.DataFrame) -> Iterator[CategoryBeside]:
    """A judge's own categories, and its middle class, beside people's votes on the items that it was asked."""
    rated = rated_items(items.filter(pl.Series(series.asked)))
    named = named_in(series)
    if named is None or rated["query_id"].n_unique() < 2:
        return
    cluster = query_numbers(rated)
    for (category,), group in named.unique().group_by("category", maintain_order=True):
        inside = rated["item_id"].is_in(group["item_id"].implode()).to_numpy()
        if not inside.any():
            continue

        def held(column: str, inside: BoolArray = inside) -> InAndOut:
            values = rated[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
            known = ~np.isnan(values)
            sides = np.column_stack([inside & known, ~inside & known]).astype(np.float64)
            if not sides.any(axis=0).all():
                # One side is empty, and nothing can be held against anything.
                shares = [float(np.nansum(values * side) / side.sum()) if side.any() else None for side in sides.T]
                return InAndOut(*shares)
            inner, outer = shares_of(((np.nan_to_num(values) * side, side) for side in sides.T), cluster)
            return InAndOut(inner.value, outer.value, *(difference_of(inner, outer).limits or (None, None)))

        rate = float(rated["rate"].to_numpy()[inside].mean())
        yield CategoryBeside(series.name, str(category), int(inside.sum()), rate, held("split"), held("turns"))


def rated_items(items: pl.DataFrame) -> pl.DataFrame:
    """Items that people rated: their safe rate, whether people are split, and whether most say otherwise of another context."""
    rated = items.filter(pl.col("n_votes") > 0).with_columns(rate=pl.col("n_safe") / pl.col("n_votes"))
    rated = rated.with_columns(
        split=pl.col("rate").is_between(*SPLIT), says=pl.when(pl.col("rate") != 0.5).then(pl.col("rate") > 0.5)
    )
    of_query = pl.col("says").drop_nulls().n_unique().over("query_id")
    several = pl.col("says").count().over("query_id") > 1
    return rated.with_columns(turns=pl.when(several & pl.col("says").is_not_null()).then(of_query > 1))


def judgements_of(series: Series) -> pl.DataFrame:
    """The judgements of a series."""
    arm, elicitation = (pl.col(name).cast(pl.String) for name in ("arm", "elicitation"))
    return series.run.judgements().filter((arm == series.arm) & (elicitation == series.elicitation))


def named_in(series: Series) -> pl.DataFrame | None:
    """Each item with each category that the judge put it in; None where it names none and has no middle class."""
    table, found = judgements_of(series), []
    if "categories" in table.columns:
        found.append(table.select("item_id", category=pl.col("categories")).explode("category").drop_nulls())
    if series.elicitation == "scalar":
        found.append(table.filter(pl.col("value") == 0.5).select("item_id", category=pl.lit(MIDDLE)))
    return pl.concat(found) if found else None
