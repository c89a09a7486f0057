"""From any of the formats of a benchmark to any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from casewise.errors import ConfigurationError
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.folder import write_benchmark
from casewise.storage.benchmarks.hugging_face import write_hugging_face
from casewise.storage.benchmarks.load import load_benchmark
from casewise.storage.benchmarks.parquet import write_parquet
from casewise.storage.benchmarks.published import write_published

__all__ = ["Conversion", "Format", "convert"]

Format = Literal["folder", "published", "parquet", "huggingface"]


@dataclass(frozen=True)
class Conversion:
    """What was written, and what of the benchmark its format has no room for."""

    path: Path
    format: Format
    benchmark: Benchmark
    lost: tuple[str, ...]


def convert(source: str | Path, target: Path, *, to: Format | None = None) -> Conversion:
    """Write the benchmark at `source` anew at `target`, in another format.

    `source`: whatever `load_benchmark` takes: a name, a folder of any of the formats, or a published JSON file.
    `to`: the format; by default `published` for a name that ends in `.json`, and `folder` for any other.

    Returns Conversion: `lost` says what reading `target` back would not give; it is empty for all formats but `published`.

    Raises DataError, BenchmarkError: the source is not valid, or holds what the format cannot say at all.
    ConfigurationError: there is something at `target` already, or it cannot be written.
    """
    chosen: Format = to or ("published" if target.suffix == ".json" else "folder")
    if chosen not in get_args(Format):
        raise ConfigurationError(f"no format is called {chosen!r}; there are {', '.join(get_args(Format))}")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise ConfigurationError(f"{target} exists and a benchmark is never overwritten; choose another place")
    benchmark = load_benchmark(source)
    WRITERS[chosen](benchmark, target)
    return Conversion(target, chosen, benchmark, tuple(lost(benchmark)) if chosen == "published" else ())


WRITERS: dict[Format, Callable[[Benchmark, Path], object]] = {
    "folder": write_benchmark,
    "published": write_published,
    "parquet": write_parquet,
    "huggingface": write_hugging_face,
}


def lost(benchmark: Benchmark) -> Iterator[str]:
    """What of `benchmark` the published format has no room for."""
    known = pl.any_horizontal(pl.col("annotator", "seconds", "at").is_not_null())
    if n := benchmark.rated.table.select(known.sum()).item():
        yield f"who gave {n:,} ratings, when, and how long it took"
    if n := sum(context.origin != "imported" for context in benchmark.contexts):
        yield f"the origin of {n:,} contexts: they will read as imported, in the revised conditions"
    if n := len(benchmark.revisions):
        yield f"{n:,} revisions"
    shown = {item.context_id for item in benchmark.items}
    if n := sum(context.id not in shown for context in benchmark.contexts):
        yield f"{n:,} contexts that no item shows"
    if benchmark.about.published is None:
        yield "the benchmark's name, version, licence and terms, and its taxonomy"
