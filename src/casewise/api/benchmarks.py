"""Benchmarks, from wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from casewise.errors import ConfigurationError
from casewise.judging.asking.prompts import published_prompts
from casewise.settings import outputs_folder
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.convert import Conversion, convert
from casewise.storage.benchmarks.fetch import CASEBENCH, PROMPTS, Pinned, take
from casewise.storage.benchmarks.fetch import fetch as download
from casewise.storage.benchmarks.load import load_benchmark
from casewise.storage.benchmarks.published import read_published
from casewise.storage.benchmarks.spreadsheet import write_spreadsheet

__all__ = [
    "Benchmark",
    "Conversion",
    "Outputs",
    "Source",
    "as_benchmark",
    "convert",
    "fetch",
    "load",
    "output_files",
    "source_of",
    "write_spreadsheet",
]

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


def fetch(
    name: str = CASEBENCH.name,
    *,
    accept_terms: bool | Callable[[str], bool] = False,
    prompts: bool = False,
    copy: str | Path | None = None,
    progress: bool = False,
) -> dict[str, Path]:
    """Fetch the pinned release of CASE-Bench, once its terms are accepted: name to file.

    Parameters
    ----------
    accept_terms
        That you have read the terms and accept them, or what asks somebody who is shown them.
    prompts
        Fetch the paper's prompts as well.
    copy
        A copy of the pinned file (of the prompts, where these are wanted) to take instead of downloading it.

    Raises
    ------
    ConfigurationError
        There is nothing of that name, or the terms are not accepted.
    DataError
        What came is not the pinned file, byte for byte, or cannot be loaded.
    """
    if name != CASEBENCH.name:
        raise ConfigurationError(f"nothing to fetch is called {name!r}; there is {CASEBENCH.name}")
    accepted = accept_terms if isinstance(accept_terms, bool) else accept_terms(CASEBENCH.terms)
    if copy is not None:
        one = PROMPTS if prompts else CASEBENCH
        return {one.name: loads(one, take(Path(copy), one, accept_terms=accepted))}
    wanted = [CASEBENCH, PROMPTS] if prompts else [CASEBENCH]
    return {one.name: loads(one, download(one, accept_terms=accepted, progress=progress)) for one in wanted}


def loads(pinned: Pinned, path: Path) -> Path:
    """`path`, after what lies there was read as what it is: a file that only lies there is not fetched yet."""
    if pinned.name == CASEBENCH.name:
        read_published(path)
    else:
        published_prompts(path)
    return path


Outputs = str | Path | Sequence[str | Path] | None
"""Judges' published output files or folders of them; None for the folder that `CASEWISE_OUTPUTS` names, if any."""


def output_files(outputs: Outputs) -> list[Path]:
    """Judges' published output files: those named, and those at any depth in the folders named.

    Raises
    ------
    ConfigurationError
        `CASEWISE_OUTPUTS` is asked, and names no folder.
    """
    if outputs is None:
        kept = outputs_folder()
        outputs = () if kept is None else kept
    given = [outputs] if isinstance(outputs, (str, Path)) else outputs
    return [
        file for one in map(Path, given) for file in (sorted(one.rglob("output_*.json")) if one.is_dir() else [one])
    ]
