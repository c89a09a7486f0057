"""Benchmarks, from wherever they are."""

from __future__ import annotations

from pathlib import Path

from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.load import load_benchmark

__all__ = ["Source", "as_benchmark", "load", "source_of"]

Source = Benchmark | str | Path
"""A benchmark, or where it is: `demo`, `casebench`, a folder, a file."""


def load(source: str | Path) -> Benchmark:
    """A benchmark: `demo`, `casebench` (once fetched), a folder, or a JSON file in the published format.

    Raises
    ------
    DataError
        There is no such benchmark, or it is not valid; the message says where and what to do.

    Examples
    --------
    >>> benchmark = load("demo")
    >>> benchmark.counts.items
    90
    """
    return load_benchmark(source)


def as_benchmark(given: Source) -> Benchmark:
    """`given`, loaded where it is a name or a path."""
    return given if isinstance(given, Benchmark) else load(given)


def source_of(given: Source, loaded: Benchmark) -> str:
    """What finds the benchmark again: the name, or the absolute path."""
    if isinstance(given, Benchmark):
        return loaded.name
    return str(given) if given in ("demo", "casebench") else str(Path(given).resolve())
