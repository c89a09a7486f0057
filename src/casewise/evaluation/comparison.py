"""Several judges, arms or elicitations on the same items: numbers, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from casewise.errors import BenchmarkError
from casewise.evaluation.judged_runs import JudgedRuns, against_full_context, first_few, read_runs
from casewise.evaluation.options import ReportOptions
from casewise.evaluation.subsets import as_wanted, subset_notes
from casewise.stats.agreeing.comparison import Comparison, Entrant, compare_judges
from casewise.stats.agreeing.metrics import metric_named
from casewise.stats.agreeing.pairs import find_pairs
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

        `by_repeat`: compare repeats too, each as a judge of its own; otherwise an item's value is their mean.

        Raises DataError: a folder is no run, or holds no judgements. BenchmarkError: the runs are over different
        benchmarks, or hold one series only. StatisticsError: no item was asked of all.
        """
        runs = as_wanted(read_runs([Path(path) for path in paths], benchmark=benchmark, by_repeat=by_repeat), options)
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
        found = compare_judges(entrants, pairs=find_pairs(runs.items))
        return cls(runs, options, found, (*notes_of(runs, found), *subset_notes(options.items)))

    @property
    def benchmark(self) -> Benchmark:
        return self.runs.benchmark

    def item_ids(self, places: Sequence[int]) -> list[str]:
        """The ids of items by their places."""
        return [self.benchmark.items[place].id for place in places]

    @property
    def nothing_scored(self) -> bool:
        """Whether not one item of any judge has a verdict or a value."""
        return self.runs.nothing_scored

    @property
    def sentence(self) -> str:
        """Who agrees better with people, and whether that is more than chance."""
        return sentence_of(self.comparison)

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        found = self.comparison
        return {
            "sentence": self.sentence,
            "benchmark": {"name": self.benchmark.name, "digest": self.benchmark.digest},
            "labels": self.options.labels.name,
            "unscored_policy": self.options.unscored,
            "seed": self.options.seed,
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
                    "exact_test": pair.test._asdict() if pair.test else None,
                    "turning_point": asdict(pair.turning_point) if pair.turning_point else None,
                }
                for pair in found.pairs
            ],
        }


DECIDING = ("accuracy", "auroc", "spearman")
"""What says who agrees better: the first of them that all judges have."""


def sentence_of(found: Comparison) -> str:
    values = {name: {one.name: one.estimate for one in all_} for name, all_ in found.estimates.items()}
    metric = next((name for name in DECIDING if all(has.get(name) is not None for has in values.values())), None)
    if metric is None:
        silent = ", ".join(name for name in found.names if values[name].get("accuracy") is None)
        return f"Nothing that all of them give says who agrees best with people: {silent} gave values and no verdicts."
    title = metric_named(metric).title
    scored = {name: has[metric] or 0.0 for name, has in values.items()}
    best, *others = sorted(found.names, key=lambda name: -scored[name])
    behind = [other for other in others if told_apart(found, best, other, metric)]
    if len(others) == 1:
        numbers = f"{title} {scored[best]:.3f} against {scored[others[0]]:.3f}"
        if behind:
            return f"{best} agrees with people better than {others[0]}, by more than chance: {numbers}."
        return f"These items do not tell {best} from {others[0]}: {numbers}."
    open_ = [other for other in others if other not in behind]
    level = [name for name in others if scored[name] == scored[best]]
    same = f", the same as {first_few(level)}" if level else ""
    rest = f"; not told from it: {first_few(open_)}" if open_ else ""
    return (
        f"{best} agrees best with people ({title} {scored[best]:.3f}{same}): {len(behind)} of the other {len(others)} are behind "
        f"it by more than chance, each by its own interval{rest}."
    )


def told_apart(found: Comparison, one: str, other: str, metric: str) -> bool:
    """Whether the interval of their difference holds no 0."""
    pair = next(pair for pair in found.pairs if {pair.first, pair.second} == {one, other})
    difference = pair.difference(metric)
    return difference is not None and difference.beyond_chance


def notes_of(runs: JudgedRuns, found: Comparison) -> Iterator[str]:
    yield from runs.benchmark.notes()
    yield from sampling_notes(runs.paths)
    yield from runs.silent_notes
    yield from runs.judges_notes
    for name, places in found.left_out.items():
        if places:
            ids = first_few([runs.benchmark.items[place].id for place in places], most=5)
            yield f"{len(places):,} items that {name} was asked and another was not are left out: {ids}."
    yield from against_full_context([one.name for one in runs.series if not one.shown.shows_all], runs.items)
