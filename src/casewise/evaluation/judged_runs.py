"""What runs hold, ready for statistics: one series of values an item for each judge, elicitation and arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import BenchmarkError, DataError
from casewise.records import ELICITATIONS, Elicitation
from casewise.stats.agreeing.cost import fitted_verdicts
from casewise.stats.agreeing.judged import judged
from casewise.stats.agreeing.labels import VOTES, LabelPolicy
from casewise.stats.agreeing.repeats import JudgeNoise, item_values, judge_noise
from casewise.stats.agreeing.sample import Sample, UnscoredPolicy
from casewise.stats.core.arrays import FloatArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.benchmarks.load import load_benchmark
from casewise.storage.runs.judgement_run import JUDGEMENTS, RunManifest, read_run
from casewise.storage.runs.judgement_table import judgement_table, last_attempts

__all__ = ["JudgedRuns", "Series", "find_benchmark", "read_runs"]

NEEDED = ("item_id", "elicitation", "arm", "repeat", "value", "unscored_reason", "model_version")
"""What of a judgement a report needs; a million rows of the rest would be copied for nothing."""

FEWEST_ERRORS = 1.0
"""The ratio of harm to over-refusal at which a fitted threshold makes the fewest errors of either kind."""


@dataclass(frozen=True)
class Series:
    """One judge, asked one way, shown items one way.

    Attributes
    ----------
    values
        One value an item, in the order of the benchmark: its mean over repeats; nan where unscored.
    asked
        Whether the item was asked at all.
    reasons
        Why an item has no value: reason to number of items.
    repeats
        How often each item was asked.
    noise
        How much the judge differs from itself over repeats; None where nothing was asked twice.
    """

    judge: str
    elicitation: Elicitation
    arm: str
    values: FloatArray
    asked: np.ndarray[tuple[int], np.dtype[np.bool_]]
    reasons: dict[str, int]
    repeats: int
    noise: JudgeNoise | None
    versions: tuple[str, ...]
    repeat: int | None = None
    """Which repeat this is, from 0, where repeats are kept apart."""

    @property
    def name(self) -> str:
        """The judge, and how it was asked where that is not obvious."""
        arm = "" if self.arm == "full" else f", {self.arm}"
        repeat = "" if self.repeat is None else f", repeat {self.repeat + 1}"
        return f"{self.judge} ({self.elicitation}{arm}{repeat})"


@dataclass(frozen=True)
class JudgedRuns:
    """One benchmark, and what runs over it hold."""

    benchmark: Benchmark
    manifests: tuple[RunManifest, ...]
    paths: tuple[Path, ...]
    series: tuple[Series, ...]
    fit_thresholds: bool = False
    """Give scalars verdicts, each item's by a threshold fitted on other queries."""

    @cached_property
    def items(self) -> pl.DataFrame:
        """The table of items."""
        return item_table(self.benchmark)

    def sample(self, series: Series, *, policy: LabelPolicy = VOTES, unscored: UnscoredPolicy = "miss") -> Sample:
        """A series beside people's labels, over the items that it was asked."""
        whole = self.whole_sample(series, policy=policy, unscored=unscored)
        return whole if series.asked.all() else whole.where(series.asked)

    def whole_sample(self, series: Series, *, policy: LabelPolicy = VOTES, unscored: UnscoredPolicy = "miss") -> Sample:
        """A series beside people's labels, over all items; those that it was not asked have no verdict."""
        whole = judged(self.items, series.values, elicitation=series.elicitation, policy=policy, unscored=unscored)
        if not self.fit_thresholds or series.elicitation != "scalar":
            return whole
        fitted = fitted_verdicts(whole, FEWEST_ERRORS, seed=0)
        return whole if fitted is None else replace(whole, safe=fitted.safe)


def read_runs(
    paths: Sequence[Path], *, benchmark: str | Path | Benchmark | None = None, by_repeat: bool = False
) -> JudgedRuns:
    """Read run folders over one benchmark.

    Parameters
    ----------
    benchmark
        The benchmark, where it is no longer where the runs found it.
    by_repeat
        Keep repeats apart, each a series of its own, instead of taking their mean.

    Raises
    ------
    DataError
        A folder is no run, or holds no judgements.
    BenchmarkError
        The runs are over different benchmarks, or the benchmark found is not theirs.
    """
    manifests = tuple(read_run(path) for path in paths)
    digests = {manifest.identity.benchmark for manifest in manifests}
    if len(digests) > 1:
        listed = "; ".join(f"{path}: {m.benchmark_name}" for path, m in zip(paths, manifests, strict=True))
        raise BenchmarkError(f"these runs are over different benchmarks or label sets ({listed}); report them apart")
    found = find_benchmark(manifests[0], benchmark)
    names = distinct([manifest.judge_name for manifest in manifests])
    series = [
        one
        for path, name in zip(paths, names, strict=True)
        for one in read_series(path, name, found, by_repeat=by_repeat)
    ]
    return JudgedRuns(found, manifests, tuple(paths), tuple(series))


def find_benchmark(manifest: RunManifest, given: str | Path | Benchmark | None) -> Benchmark:
    if isinstance(given, Benchmark):
        found = given
    else:
        found = load_benchmark(given) if given is not None else where_it_was(manifest)
    if found.digest != manifest.identity.benchmark:
        raise BenchmarkError(
            f"the run is over {manifest.benchmark_name!r} with digest {manifest.identity.benchmark}, but "
            f"{found.name!r} has {found.digest}: other items or other ratings; give the one it was run on with --benchmark"
        )
    return found


def where_it_was(manifest: RunManifest) -> Benchmark:
    try:
        return load_benchmark(manifest.benchmark_source)
    except DataError as error:
        raise BenchmarkError(
            f"{error}\nIf the run's benchmark is elsewhere now, say where with --benchmark."
        ) from error


def distinct(names: Sequence[str]) -> list[str]:
    """Names made different: two runs of one judge become `linear` and `linear #2`."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found


def read_series(path: Path, judge: str, benchmark: Benchmark, *, by_repeat: bool = False) -> list[Series]:
    table = last_attempts(judgement_table(path / JUDGEMENTS)).select(NEEDED)
    if not len(table):
        raise DataError(path / JUDGEMENTS, None, "holds no judgements yet; run casewise judge again to go on with it")
    order = pl.DataFrame({"item_id": [item.id for item in benchmark.items]}).with_row_index("place")
    known = table.join(order, on="item_id", how="inner")
    if len(known) < len(table):
        stray = table.join(order, on="item_id", how="anti")["item_id"][0]
        raise DataError(path / JUDGEMENTS, None, f"holds a judgement of an item that the benchmark has not: {stray}")
    del table
    found = []
    keys = ["elicitation", "arm", *(["repeat"] if by_repeat else [])]
    for (elicitation, arm, *repeat), group in known.group_by(keys, maintain_order=True):
        one = series_of(group, judge, str(elicitation), str(arm), query_of_place(benchmark))
        found.append(replace(one, repeat=int(repeat[0])) if repeat else one)
    return sorted(found, key=lambda one: (one.arm != "full", one.arm, ELICITATIONS.index(one.elicitation), one.repeat))


def query_of_place(benchmark: Benchmark) -> NDArray[np.intp]:
    """The query of each item, as an integer from 0."""
    _, cluster = np.unique([item.query_id for item in benchmark.items], return_inverse=True)
    return cluster.astype(np.intp)


def series_of(group: pl.DataFrame, judge: str, elicitation: str, arm: str, query: NDArray[np.intp]) -> Series:
    how: Elicitation = elicitation  # type: ignore[assignment]  # from judgements
    n_items = len(query)
    per_item = item_values(group, elicitation=how, by=("place",))
    values, asked = np.full(n_items, np.nan), np.zeros(n_items, dtype=np.bool_)
    places = per_item["place"].to_numpy()
    values[places] = per_item["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    asked[places] = True
    unscored = group.filter(pl.col("value").mean().over("place").is_null()).unique("place", maintain_order=True)
    reasons = unscored["unscored_reason"].cast(pl.String).value_counts(sort=True)
    return Series(
        judge=judge,
        elicitation=how,
        arm=arm,
        values=values,
        asked=asked,
        reasons={str(row["unscored_reason"]): row["count"] for row in reasons.to_dicts()},
        repeats=int(per_item["n_repeats"].to_numpy().max()),
        noise=judge_noise(per_item, query[places]),
        versions=tuple(sorted(str(v) for v in group["model_version"].drop_nulls().unique())),
    )
