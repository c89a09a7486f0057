"""A leaderboard: runs beside each other and beside published numbers, with ranks that are intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import BenchmarkError, StatisticsError
from casewise.evaluation.judged_runs import JudgedRuns, Series, read_runs
from casewise.evaluation.published_numbers import PublishedNumbers, numbers_beside
from casewise.stats.agreeing.estimates import Estimate, difference_of, estimate_of, measure
from casewise.stats.agreeing.labels import PUBLISHED, VOTES, LabelPolicy
from casewise.stats.agreeing.metrics import FLOORS, metrics_named
from casewise.stats.agreeing.over_refusal import refusals
from casewise.stats.agreeing.pairs import find_pairs, pair_results
from casewise.stats.agreeing.sample import Sample
from casewise.stats.agreeing.simultaneous import RankIntervals, rank_intervals
from casewise.stats.core.arrays import BoolArray
from casewise.stats.core.bootstrap import Resampling
from casewise.stats.core.measured import Measured
from casewise.stats.people.ceiling import Ceilings, ceilings
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.sampling_file import refuse_sampled

__all__ = ["Leaderboard", "LeaderboardRow", "leaderboard"]

SHOWN = ("accuracy", "recall_safe", "recall_unsafe", "pearson", "bce")


@dataclass(frozen=True)
class LeaderboardRow:
    """One judge, asked one way.

    Attributes
    ----------
    numbers
        Metric name to estimate: those of `SHOWN`, `right_flips` (pairs), `over_refusal`, and `bce_above_floor`.
    published_accuracy
        The accuracy under the label policy `published`.
    best_rank, worst_rank
        Of its accuracy, simultaneously for all rows.
    cost_usd
        Of all its calls; None where no price is known.
    """

    name: str
    run: str
    numbers: dict[str, Estimate]
    published_accuracy: Estimate
    n_unscored: int
    cost_usd: float | None
    best_rank: int
    worst_rank: int


@dataclass(frozen=True)
class Leaderboard:
    """Runs over one benchmark, on the items that all were asked, best accuracy first."""

    benchmark: Benchmark
    labels: str
    rows: tuple[LeaderboardRow, ...]
    ranks: RankIntervals
    ceilings: Ceilings | None
    n_items: int
    published: PublishedNumbers | None
    notes: tuple[str, ...]
    resampling: Resampling

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "benchmark": self.benchmark.name,
            "digest": self.benchmark.digest,
            "labels": self.labels,
            "n_items": self.n_items,
            "seed": self.resampling.seed,
            "rows": [
                {
                    **{key: getattr(row, key) for key in ("name", "run", "n_unscored", "cost_usd")},
                    "rank": [row.best_rank, row.worst_rank],
                    "numbers": {name: asdict(found) for name, found in row.numbers.items()},
                    "published_accuracy": asdict(row.published_accuracy),
                }
                for row in self.rows
            ],
            "ceilings": asdict(self.ceilings) if self.ceilings else None,
            "published": self.published.model_dump(mode="json") if self.published else None,
            "notes": list(self.notes),
        }


def leaderboard(
    paths: Sequence[Path],
    *,
    benchmark: str | Path | Benchmark | None = None,
    labels: LabelPolicy = VOTES,
    resampling: Resampling = Resampling(),
) -> Leaderboard:
    """Put runs over one benchmark beside each other.

    Raises
    ------
    BenchmarkError
        The runs are over different benchmarks, or no item was asked of all of them.
    """
    refuse_sampled(paths)
    runs = read_runs(paths, benchmark=benchmark)
    common: BoolArray = np.logical_and.reduce([series.asked for series in runs.series])
    if not common.any():
        raise BenchmarkError("no item was asked of all of these runs: there is nothing to put side by side")
    samples = [runs.sample(series, policy=labels).where(common[series.asked]) for series in runs.series]
    measured = [
        {
            found.name: found
            for found in measure(sample, metrics=(*metrics_named(*SHOWN), *FLOORS), resampling=resampling)
        }
        for sample in samples
    ]
    ranks = ranked([found["accuracy"] for found in measured])
    shared = Shared(runs, common, resampling)
    every = zip(runs.series, samples, measured, strict=True)
    rows = [
        row_of(shared, series, sample=sample, found=found, rank=(int(ranks.best[place]), int(ranks.worst[place])))
        for place, (series, sample, found) in enumerate(every)
    ]
    order = sorted(range(len(rows)), key=lambda place: -(rows[place].numbers["accuracy"].estimate or 0.0))
    return Leaderboard(
        benchmark=runs.benchmark,
        labels=labels.name,
        rows=tuple(rows[place] for place in order),
        ranks=ranks,
        ceilings=ceilings_of(runs, common),
        n_items=int(common.sum()),
        published=numbers_beside(runs.benchmark.about.published),
        notes=notes(runs, common),
        resampling=resampling,
    )


def ranked(accuracies: Sequence[Measured]) -> RankIntervals:
    """Rank intervals, or from first to last for all where nothing can be resampled."""
    try:
        return rank_intervals(accuracies)
    except StatisticsError:
        n = len(accuracies)
        return RankIntervals(
            best=np.ones(n, dtype=np.int64),
            worst=np.full(n, n),
            better=np.zeros((n, n), dtype=bool),
            critical=float("inf"),
            level=0.95,
        )


@dataclass(frozen=True)
class Shared:
    """What all rows of a leaderboard have in common."""

    runs: JudgedRuns
    common: BoolArray
    resampling: Resampling


def row_of(
    shared: Shared, series: Series, *, sample: Sample, found: dict[str, Measured], rank: tuple[int, int]
) -> LeaderboardRow:
    how = shared.resampling
    numbers = {name: estimate_of(found[name], how) for name in SHOWN if name in found}
    if "bce" in found and "attainable_entropy" in found:
        numbers["bce_above_floor"] = difference_of(found["bce"], found["attainable_entropy"], how)
    pairs = pair_results(sample, find_pairs(shared.runs.items.filter(pl.Series(shared.common))), resampling=how)
    if pairs is not None:
        numbers["right_flips"] = pairs.right_flips
    numbers["over_refusal"] = refusals(sample, curve=(), resampling=how).at.over_refusal
    published = shared.runs.sample(series, policy=PUBLISHED).where(shared.common[series.asked])
    (accuracy,) = measure(published, metrics=metrics_named("accuracy"), resampling=how)
    return LeaderboardRow(
        name=series.name,
        run=str(series.run.path),
        numbers=numbers,
        published_accuracy=estimate_of(accuracy, how),
        n_unscored=int((~sample.scored).sum()),
        cost_usd=series.cost_usd,
        best_rank=rank[0],
        worst_rank=rank[1],
    )


def ceilings_of(runs: JudgedRuns, common: BoolArray) -> Ceilings | None:
    items = runs.items.filter(pl.Series(common))
    try:
        return ceilings(items["n_safe"].to_numpy(), items["n_votes"].to_numpy())
    except StatisticsError:
        return None


def notes(runs: JudgedRuns, common: BoolArray) -> tuple[str, ...]:
    said = [*runs.benchmark.notes(), *runs.judges_notes]
    if not common.all():
        said.append(f"All numbers are over the {int(common.sum())} of {len(common)} items that every run was asked.")
    return tuple(said)
