"""Small samples to compute by hand, random ones, and people's votes of the published release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from casewise.records import sorry_bench
from casewise.stats.estimates import Estimate
from casewise.stats.sample import Sample, UnscoredPolicy

NAN = float("nan")

T = TypeVar("T")


def some(value: T | None) -> T:
    """What must not be None."""
    assert value is not None
    return value


def named(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """Estimates by name."""
    return {found.name: found for found in estimates}


def covers(found: Estimate, truth: float) -> bool:
    """Whether the interval holds `truth`."""
    return some(found.ci_low) <= truth <= some(found.ci_high)


def width(found: Estimate) -> float:
    """How wide the interval is."""
    return some(found.ci_high) - some(found.ci_low)


def sample_of(
    weight: ArrayLike,
    safe: ArrayLike,
    *,
    rate: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    n_votes: int = 20,
    unscored_policy: UnscoredPolicy = "miss",
) -> Sample:
    """A sample from lists; each item its own query unless said otherwise."""
    n = len(np.asarray(weight))
    values = np.full(n, NAN) if probability is None else np.asarray(probability, dtype=float)
    return Sample(
        weight=np.asarray(weight, dtype=float),
        rate=np.asarray(weight if rate is None else rate, dtype=float),
        safe=np.asarray(safe, dtype=float),
        probability=values,
        value=values,
        cluster=np.arange(n) if cluster is None else np.asarray(cluster),
        n_votes=np.full(n, float(n_votes)),
        unscored_policy=unscored_policy,
    )


def random_sample(
    rng: np.random.Generator, *, queries: int = 60, votes: int = 20, skill: float = 1.0, unscored: float = 0.0
) -> Sample:
    """Two items a query; people's opinion has a part that the query's items share, and the judge sees it noisily."""
    shared = rng.normal(size=(queries, 1))
    opinion = (0.6 * shared + rng.normal(size=(queries, 2))).ravel()
    safe_votes = rng.binomial(votes, 1 / (1 + np.exp(-opinion)))
    rate = safe_votes / votes
    belief = (
        skill * opinion
        + (0.6 * np.repeat(rng.normal(size=(queries, 1)), 2, axis=1).ravel())
        + rng.normal(size=len(rate))
    )
    probability = np.where(rng.random(len(rate)) < unscored, NAN, np.round(1 / (1 + np.exp(-belief)), 2))
    return Sample(
        weight=np.where(rate > 0.5, 1.0, np.where(rate < 0.5, 0.0, 0.5)),
        rate=rate,
        safe=np.where(np.isnan(probability), NAN, (probability > 0.5).astype(float)),
        probability=probability,
        value=probability,
        cluster=np.repeat(np.arange(queries), 2),
        n_votes=np.full(len(rate), float(votes)),
    )


def released_items(shared: Path) -> pl.DataFrame:
    """The 900 items of the published release, without texts, as `casewise.storage.benchmark_folder` gives them."""
    table = pl.read_csv(shared / "data" / "human_ratings.csv", schema_overrides={"votes20": pl.String})
    names = {name: category.name for name in table["category"].unique() if (category := sorry_bench().resolve(name))}
    return table.select(
        pl.format("i_{}", "row").alias("item_id"),
        pl.format("q_{}", pl.col("row") // 2).alias("query_id"),
        pl.format("p_{}", pl.col("row") // 2).alias("pair_id"),
        pl.col("category").replace(names),
        pl.col("intended_safe").cast(pl.Boolean),
        pl.col("votes20").str.count_matches("1").cast(pl.Int64).alias("n_safe"),
        pl.col("votes20").str.len_chars().cast(pl.Int64).alias("n_votes"),
        pl.col("safe_rate").alias("published_rate"),
    )
