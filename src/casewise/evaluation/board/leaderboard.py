"""A leaderboard: runs beside each other, beside published judges and what takes no judging, with ranks that are intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.auditing.subsets import subset_rows
from casewise.errors import BenchmarkError, StatisticsError
from casewise.evaluation.board.contenders import Contender, Kind, baselines, from_outputs, from_runs
from casewise.evaluation.board.scale import JudgeScale, judge_scale
from casewise.evaluation.judged_runs import JudgedRuns, against_full_context, read_runs
from casewise.evaluation.options import ReportOptions
from casewise.evaluation.published.numbers import PublishedNumbers, numbers_beside
from casewise.evaluation.subsets import subset_notes
from casewise.evaluation.yardsticks import Backdrop, People, against_others, plain
from casewise.records import ShortRepr
from casewise.stats.agreeing.estimates import Estimate, difference_of, estimate_of, measure
from casewise.stats.agreeing.labels_and_ties import PUBLISHED
from casewise.stats.agreeing.metrics import FLOORS, REFUSALS, metrics_named
from casewise.stats.agreeing.pairs import PairIndex, find_pairs, measured_flips
from casewise.stats.agreeing.sample import Sample
from casewise.stats.agreeing.simultaneous import RankIntervals, rank_intervals
from casewise.stats.core.arrays import BoolArray
from casewise.stats.core.measured import Measured
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.benchmarks.load import load_benchmark
from casewise.storage.runs.sampling_file import refuse_sampled

__all__ = ["Leaderboard", "LeaderboardRow", "leaderboard"]

SHOWN = ("accuracy", "recall_safe", "recall_unsafe", "pearson", "auroc", "bce")


@dataclass(frozen=True, repr=False)
class LeaderboardRow(ShortRepr):
    """One judge, asked one way, or one baseline."""

    name: str
    kind: Kind
    """`run`, `replies` (what a chatbot does), `output` (of the release), or `baseline`."""
    source: str
    numbers: dict[str, Estimate]
    """Metric name to estimate: those of `SHOWN`, the two errors of refusal, `right_flips` and `false_flips` (pairs),
    and `bce_above_floor`. A judge of values without a threshold has none that needs a verdict."""
    against_others: Estimate | None
    """Its accuracy against the majority of as many people as one person is held against."""
    published_accuracy: Estimate | None
    """The accuracy under the label policy `published`."""
    n_unscored: int
    cost_usd: float | None
    """Of all its calls; None where no price is known."""
    best_rank: int | None = None
    worst_rank: int | None = None
    """Of its accuracy, simultaneously for all judges, or for all chatbots; None for baselines and for judges without
    verdicts."""

    def value(self, name: str) -> float | None:
        """One number without its interval; None where there is none."""
        found = self.numbers.get(name)
        return found.estimate if found else None


@dataclass(frozen=True, repr=False)
class Leaderboard(ShortRepr):
    """Judges over one benchmark, on the items that all were asked, best accuracy first, and baselines on the same items."""

    benchmark: Benchmark
    labels: str
    rows: tuple[LeaderboardRow, ...]
    baselines: tuple[LeaderboardRow, ...]
    people: People
    n_items: int
    published: PublishedNumbers | None
    notes: tuple[str, ...]
    scale: JudgeScale | None = None
    """Judges and items on one scale, where that was asked for."""

    @property
    def nothing_scored(self) -> bool:
        """Whether not one item of any judge has a verdict or a value."""
        return all(row.n_unscored == self.n_items for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        people = self.people
        return {
            "benchmark": self.benchmark.name,
            "digest": self.benchmark.digest,
            "labels": self.labels,
            "n_items": self.n_items,
            "rows": [row_json(row) for row in self.rows],
            "baselines": [row_json(row) for row in self.baselines],
            "people": {
                "one_person": plain(people.one_person),
                "others": people.others,
                "second_study": people.same_again,
                "oracle": asdict(people.oracle) if people.oracle else None,
            },
            "ceilings": asdict(people.ceilings) if people.ceilings else None,
            "published": self.published.model_dump(mode="json") if self.published else None,
            "notes": list(self.notes),
            "scale": self.scale.as_json() if self.scale else None,
        }


def row_json(row: LeaderboardRow) -> dict[str, Any]:
    return {
        **{key: getattr(row, key) for key in ("name", "kind", "n_unscored", "cost_usd")},
        "against_others": plain(row.against_others),
        "run": row.source,
        "rank": None if row.best_rank is None else [row.best_rank, row.worst_rank],
        "numbers": {name: asdict(found) for name, found in row.numbers.items()},
        "published_accuracy": asdict(row.published_accuracy) if row.published_accuracy else None,
    }


def leaderboard(
    paths: Sequence[Path],
    *,
    benchmark: str | Path | Benchmark | None = None,
    outputs: Sequence[Path] = (),
    options: ReportOptions = ReportOptions(),
    scale: int | None = None,
) -> Leaderboard:
    """Put runs over one benchmark, and judges' published outputs over it, beside each other.

    `outputs`: judges' output files of the release. One that lacks some of the items that the runs were asked is left out.
    `scale`: how many items to choose that place a new judge, all judges and items being put on one scale; not if None.

    Raises BenchmarkError: the runs are over different benchmarks, there are neither runs nor outputs, or no item was
    asked of all of them.
    """
    refuse_sampled(paths)
    runs = replace(
        read_runs(paths, benchmark=benchmark) if paths else no_runs(benchmark), fit_thresholds=options.fit_thresholds
    )
    backdrop = Backdrop(runs.benchmark, options.seed)
    mine, theirs = from_runs(runs, options), from_outputs(runs, outputs, options)
    common = asked_of_all(mine or theirs.found, backdrop, options)
    judges = [*mine, *(one for one in theirs.found if one.asked[common].all())]
    board = Scoring(options, common, find_pairs(runs.items).where(common), backdrop)
    measured = [board.measured(one) for one in judges]
    rows = [board.row(one, found) for one, found in zip(judges, measured, strict=True)]
    does = [row.kind == "replies" for row in rows]
    for group in (False, True):
        ranks, which = ranked(measured, [place for place, one in enumerate(does) if one is group])
        for place, index in enumerate(which):
            rows[index] = replace(rows[index], best_rank=int(ranks.best[place]), worst_rank=int(ranks.worst[place]))
    return Leaderboard(
        benchmark=runs.benchmark,
        labels=options.labels.name,
        rows=tuple(sorted(rows, key=best_first)),
        baselines=tuple(board.row(one, board.measured(one)) for one in baselines(runs, backdrop, options)),
        people=backdrop.people(common),
        n_items=int(common.sum()),
        published=None if theirs.found else numbers_beside(runs.benchmark.about.published),
        notes=(*notes(runs, common, judges, theirs.found), *theirs.notes, *subset_notes(options.items)),
        scale=None if scale is None else scaled(board, judges, runs, n=scale),
    )


def scaled(board: Scoring, judges: Sequence[Contender], runs: JudgedRuns, *, n: int) -> JudgeScale:
    items = runs.items.filter(pl.Series(board.common))
    return judge_scale([one.name for one in judges], [board.sample(one) for one in judges], items, n=n)


def asked_of_all(contenders: Sequence[Contender], backdrop: Backdrop, options: ReportOptions) -> BoolArray:
    masks = [one.asked for one in contenders]
    if options.items is not None:
        masks.append(subset_rows(backdrop.subject, options.items))
    common: BoolArray = np.logical_and.reduce(masks)
    if not contenders or not common.any():
        raise BenchmarkError("no item was asked of all of these judges: there is nothing to put side by side")
    return common


def no_runs(benchmark: str | Path | Benchmark | None) -> JudgedRuns:
    if benchmark is None:
        raise BenchmarkError(
            "there is nothing to put side by side: give at least one run, or a benchmark and published outputs"
        )
    found = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    return JudgedRuns(found, item_table(found), (), ())


def best_first(row: LeaderboardRow) -> tuple[float, float]:
    """By accuracy; those without verdicts last, by how well they order items."""
    accuracy, auroc = row.value("accuracy"), row.value("auroc")
    return (1.0 if accuracy is None else -accuracy, 1.0 if auroc is None else -auroc)


def ranked(measured: Sequence[dict[str, Measured]], among: Sequence[int]) -> tuple[RankIntervals, list[int]]:
    """Rank intervals of those with an accuracy, and which these are; from first to last where nothing can be resampled."""
    which = [place for place in among if "accuracy" in measured[place]]
    accuracies = [measured[place]["accuracy"] for place in which]
    try:
        return rank_intervals(accuracies), which
    except StatisticsError:
        n = len(accuracies)
        return RankIntervals(
            best=np.ones(n, dtype=np.int64),
            worst=np.full(n, n),
            better=np.zeros((n, n), dtype=bool),
            critical=float("inf"),
        ), which


@dataclass(frozen=True)
class Scoring:
    """What all rows have in common."""

    options: ReportOptions
    common: BoolArray
    pairs: PairIndex
    backdrop: Backdrop

    def sample(self, one: Contender) -> Sample:
        return one.sample(self.options.labels).where(self.common)

    def measured(self, one: Contender) -> dict[str, Measured]:
        sample = self.sample(one)
        metrics = (*metrics_named(*SHOWN), *REFUSALS, *FLOORS)
        every = (
            *measure(sample, metrics=metrics),
            *measured_flips(sample, self.pairs),
        )
        return {found.name: found for found in every}

    def row(self, one: Contender, found: dict[str, Measured]) -> LeaderboardRow:
        sample = self.sample(one)
        floors = {metric.name for metric in FLOORS}
        numbers = {name: estimate_of(measured) for name, measured in found.items() if name not in floors}
        if "bce" in found and "attainable_entropy" in found:
            numbers["bce_above_floor"] = difference_of(found["bce"], found["attainable_entropy"])
        published = measure(one.sample(PUBLISHED).where(self.common), metrics=metrics_named("accuracy"))
        return LeaderboardRow(
            name=one.name,
            kind=one.kind,
            source=one.source,
            numbers=numbers,
            against_others=self.against_others(sample),
            published_accuracy=estimate_of(published[0]) if published else None,
            n_unscored=int(sample.unscored.sum()),
            cost_usd=one.cost_usd,
        )

    def against_others(self, sample: Sample) -> Estimate | None:
        others = self.backdrop.people(self.common).others
        if not others or not sample.gives_verdicts:
            return None
        found = against_others(self.backdrop.subject, self.common, {"it": sample.safe}, reference_size=others)
        return found.get("it")


def notes(
    runs: JudgedRuns, common: BoolArray, judges: Sequence[Contender], outputs: Sequence[Contender]
) -> tuple[str, ...]:
    said = [*runs.benchmark.notes(), *runs.silent_notes, *runs.judges_notes]
    if not common.all():
        said.append(f"All numbers are over the {int(common.sum())} of {len(common)} items that every run was asked.")
    said += [
        f"{one.name} lacks some of these items, so it is not on this board." for one in outputs if one not in judges
    ]
    return (*said, *against_full_context([one.name for one in judges if not one.shows_all], runs.items))
