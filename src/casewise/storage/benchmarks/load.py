"""A benchmark by name or by path."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from casewise.errors import DataError
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.fetch import CASEBENCH, fetched
from casewise.storage.benchmarks.folder import read_benchmark
from casewise.storage.benchmarks.manifest import MANIFEST
from casewise.storage.benchmarks.parquet import is_parquet, read_parquet
from casewise.storage.benchmarks.published import read_published

__all__ = ["load_benchmark"]


def load_benchmark(source: str | Path) -> Benchmark:
    """The benchmark called or lying at `source`.

    `source`: `demo` (embedded), `casebench` (once fetched), a benchmark folder (also one of Parquet files, or a Hugging
        Face dataset folder that casewise wrote), or a JSON file in the published format.

    Raises DataError: there is no such benchmark, or it is not valid; the message says where and what to do.
    """
    if source == "demo":
        with as_file(files("casewise").joinpath("demo")) as folder:
            return read_benchmark(folder)
    if source == CASEBENCH.name:
        return read_published(fetched())
    path = Path(source)
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise DataError(path, None, f"is no benchmark folder: it has no {MANIFEST}")
        return read_parquet(path) if is_parquet(path) else read_benchmark(path)
    if not path.exists():
        raise DataError(
            path, None, "no such benchmark; give demo, casebench, a benchmark folder or a published JSON file"
        )
    return read_published(path)
