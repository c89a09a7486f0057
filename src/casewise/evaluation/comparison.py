"""Several judges, arms or elicitations on the same items: numbers, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from casewise.errors import BenchmarkError
from casewise.evaluation.judged_runs import JudgedRuns, read_runs
from casewise.evaluation.options import ReportOptions
from casewise.stats.agreeing.comparison import Comparison, Entrant, compare_judges
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.sampling_file import sampling_notes

__all__ = ["ComparisonNumbers"]


@dataclass(frozen=True, repr=False)
class ComparisonNumbers:
    """The numbers of a comparison."""

    runs: JudgedRuns
    options: ReportOptions
    comparison: Comparison
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        paths: Sequence[str | Path],
        *,
        benchmark: str | Path | Benchmark | None = None,
        by_repeat: bool = False,
        options: ReportOptions = ReportOptions(),
    ) -> Self:
        """Compare everything that runs hold: judges, arms and elicitations, on the items that all were asked.

        Parameters
        ----------
        by_repeat
            Compare repeats too, each as a judge of its own; otherwise an item's value is their mean.

        Raises
        ------
        DataError
            A folder is no run, or holds no judgements.
        BenchmarkError
            The runs are over different benchmarks, or hold one series only.
        StatisticsError
            No item was asked of all.
        """
        runs = read_runs([Path(path) for path in paths], benchmark=benchmark, by_repeat=by_repeat)
        if len(runs.series) < 2:
            raise BenchmarkError(
                f"there is nothing to compare {runs.series[0].name} with; give two runs, or one with several arms, elicitations or (with --by-repeat) repeats"
            )
        entrants = [
            Entrant(
                series.name,
                runs.whole_sample(series, policy=options.labels, unscored=options.unscored),
                series.asked,
            )
            for series in runs.series
        ]
        found = compare_judges(entrants, resampling=options.resampling)
        return cls(runs, options, found, tuple(notes_of(runs, found)))

    @property
    def benchmark(self) -> Benchmark:
        return self.runs.benchmark

    def item_ids(self, places: Sequence[int]) -> list[str]:
        """The ids of items by their places."""
        return [self.benchmark.items[place].id for place in places]

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        found = self.comparison
        return {
            "benchmark": {"name": self.benchmark.name, "digest": self.benchmark.digest},
            "labels": self.options.labels.name,
            "unscored_policy": self.options.unscored,
            "seed": self.options.resampling.seed,
            "n_resamples": self.options.resampling.n_resamples,
            "notes": list(self.notes),
            "judges": list(found.names),
            "n_items": found.n_items,
            "n_queries": found.n_queries,
            "left_out": {name: self.item_ids(places) for name, places in found.left_out.items()},
            "estimates": {name: [asdict(e) for e in all_] for name, all_ in found.estimates.items()},
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "differences": [asdict(e) for e in pair.differences],
                    "mcnemar": pair.test._asdict(),
                    "turning_point": asdict(pair.turning_point),
                }
                for pair in found.pairs
            ],
        }


def notes_of(runs: JudgedRuns, found: Comparison) -> Iterator[str]:
    yield from runs.benchmark.notes()
    yield from sampling_notes(runs.paths)
    yield from runs.judges_notes
    for name, places in found.left_out.items():
        if places:
            ids = ", ".join(runs.benchmark.items[place].id for place in places[:5])
            more = f" and {len(places) - 5:,} more" if len(places) > 5 else ""
            yield f"{len(places):,} items that {name} was asked and another was not are left out: {ids}{more}."
    if len({series.arm for series in runs.series}) > 1 and runs.items["intended_safe"].is_not_null().any():
        yield "Not all were shown what people saw: where an arm leaves something out, labels are of the full context."
