"""Benchmarks, from wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from casewise.errors import ConfigurationError
from casewise.records import LabelsBy, ParameterSet, RatingScale, Taxonomy
from casewise.records.base import problems, writable
from casewise.settings import outputs_folder
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark import join as joined
from casewise.storage.benchmark_folder import write_benchmark
from casewise.storage.imports import CaseColumns, CaseFrame, RatingTable, of_frame, read_cases
from casewise.storage.load import load_benchmark, named_benchmark
from casewise.storage.loaders import fetching
from casewise.storage.loaders.casebench import CASEBENCH
from casewise.storage.loaders.fetching import Fetched, is_fetched
from casewise.storage.loaders.registry import loader_named, loader_names

Source = Benchmark | str | Path
"""A benchmark, or where it is: `demo`, a public benchmark by its name, a folder, a file."""


def load(source: str | Path) -> Benchmark:
    """A benchmark: `demo`, a public one by its name (once fetched), a folder, or a JSON file in the published format.

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


@dataclass(frozen=True)
class ImportOptions:
    """Facts about an imported file that its columns do not hold."""

    name: str | None = None
    """Name of the benchmark. Default: the name of its folder."""
    labels_by: LabelsBy | None = None
    """Source of the labels: people (default if a case has several ratings), author, law, policy, models, experts."""
    unsure_word: tuple[str, ...] = ()
    """A word in the file that means unsure; may be repeated. '' counts an empty cell as an unsure vote."""
    scale_low: float | None = None
    """Lowest value of the scale that people rated on."""
    scale_high: float | None = None
    """Highest value of the scale."""
    cut: float | None = None
    """Value of the scale beyond which a rating counts as a safe verdict. Default: ratings give no verdicts."""
    safe_side: Literal["below", "above"] = "below"
    """The safe side of the cut."""
    question: str | None = None
    """The question that people answered on the scale."""

    @property
    def scale(self) -> RatingScale | None:
        """The scale; None where none is stated.

        Raises ConfigurationError: one end is missing, or the cut does not lie on it.
        """
        if self.scale_low is None and self.scale_high is None and self.cut is None:
            return None
        if self.scale_low is None or self.scale_high is None:
            raise ConfigurationError("a scale has two ends; give --scale-low and --scale-high")
        try:
            return RatingScale(
                low=self.scale_low, high=self.scale_high, cut=self.cut, safe=self.safe_side, question=self.question
            )
        except ValidationError as error:
            raise ConfigurationError(f"the scale: {problems(error, RatingScale)[0]}") from error


def import_cases(
    path: str | Path,
    target: str | Path | None = None,
    *,
    columns: CaseColumns = CaseColumns(),
    taxonomy: str | Path | None = None,
    parameters: str | Path | None = None,
    safe_words: Sequence[str] = (),
    unsafe_words: Sequence[str] = (),
    options: ImportOptions = ImportOptions(),
    ratings: RatingTable = RatingTable(),
) -> Benchmark:
    """A benchmark of one's own labelled cases: a table with a case or a rating a row, or an annotation tool's export.

    Parameters
    ----------
    target
        A new folder to write it to; without one it lives as long as the object returned.
    columns
        Which column holds what; those that are not named are guessed from their names.
    taxonomy, parameters
        TOML files with categories and with the parameters of contexts of one's own.
    safe_words, unsafe_words
        The words of the file's verdicts, where they are not the usual ones.
    options
        The name, where the labels come from, and the scale.
    ratings
        A second file with ratings, and whether it is a wide table.

    Raises
    ------
    ConfigurationError
        A column is missing that only you can name, or there is something at `target` already.
    DataError
        A row cannot be read; the message names its line.
    """
    frame = replace(
        case_frame(taxonomy, parameters, safe_words, unsafe_words),
        unsure_words=options.unsure_word,
        scale=options.scale,
    )
    name = options.name or (Path(path).stem if target is None else Path(target).name)
    about = About(name=name, labels_by=options.labels_by, scale=frame.scale)
    imported = read_cases(Path(path), columns, frame, about, ratings=ratings)
    if target is not None:
        write_benchmark(imported, Path(target))
    return imported


def join(first: str | Path, second: str | Path, target: str | Path, *, name: str | None = None) -> Benchmark:
    """Two benchmarks over the same queries as one, in a new folder: a release, and what people said of other items since.

    Raises
    ------
    BenchmarkError
        They do not fit together: no common query, or an item that was rated in both.
    """
    joint = joined(load_benchmark(first), load_benchmark(second), name=name)
    write_benchmark(joint, Path(target))
    return joint


def load_frame(
    frame: Any,
    name: str = "frame",
    *,
    columns: CaseColumns = CaseColumns(),
    taxonomy: str | Path | None = None,
    parameters: str | Path | None = None,
    safe_words: Sequence[str] = (),
    unsafe_words: Sequence[str] = (),
) -> Benchmark:
    """A benchmark of the cases in a polars or pandas frame, or in dictionaries; see `import_cases`.

    Examples
    --------
    >>> cases = [{"query": "Who was admitted?", "context": "A ward nurse asks.", "label": "safe"}]
    >>> load_frame(cases, "ward").counts.items
    1
    """
    return of_frame(frame, name, columns, case_frame(taxonomy, parameters, safe_words, unsafe_words))


def case_frame(
    taxonomy: str | Path | None, parameters: str | Path | None, safe: Sequence[str], unsafe: Sequence[str]
) -> CaseFrame:
    return CaseFrame(
        Taxonomy.read(Path(taxonomy)) if taxonomy else None,
        ParameterSet.read(Path(parameters)) if parameters else None,
        tuple(safe),
        tuple(unsafe),
    )


def as_benchmark(given: Source) -> Benchmark:
    """`given`, loaded where it is a name or a path."""
    return given if isinstance(given, Benchmark) else load(given)


def source_of(given: Source, loaded: Benchmark) -> str:
    """Return the text that finds the benchmark again: its name, or its absolute path."""
    if isinstance(given, Benchmark):
        return loaded.name
    return str(given) if given == "demo" or named_benchmark(given) else writable(str(Path(given).resolve()))


@dataclass(frozen=True)
class PublicBenchmark:
    """A public benchmark that casewise knows by name, and whether its files are here."""

    name: str
    title: str
    size: str
    judged: str
    labels_by: str | None
    """The source of the labels; None if the benchmark's file states it."""
    licence: str
    source: str
    fetched: bool
    pinned: bool
    """True if the checksum of every file is known before it is fetched."""


def public_benchmarks() -> list[PublicBenchmark]:
    """Return every public benchmark that casewise, or a package beside it, has a loader for."""
    return [public_benchmark(name) for name in loader_names()]


def public_benchmark(name: str) -> PublicBenchmark:
    try:
        loader = loader_named(name)
    except ConfigurationError as error:  # of another package: the others are listed all the same
        problem = (str(error), "cannot be loaded, see casewise show plugins", "–", "–", "–", "–")
        return PublicBenchmark(name, *problem, fetched=False, pinned=False)
    facts = (loader.title, loader.size, loader.judged, loader.labels_by, loader.licence, loader.source)
    pinned = all(file.sha256 for file in loader.files)
    return PublicBenchmark(loader.name, *facts, fetched=is_fetched(loader), pinned=pinned)


def fetch(
    name: str = CASEBENCH.name,
    *,
    accept_terms: bool | Callable[[str], bool] = False,
    prompts: bool = False,
    copies: str | Path | Sequence[str | Path] = (),
    target: str | Path | None = None,
    progress: bool = False,
) -> Fetched:
    """Fetch the files of a public benchmark from their publisher, once its terms are accepted, and read them.

    Parameters
    ----------
    accept_terms
        That you have read the terms and accept them, or what asks somebody who is shown them.
    prompts
        Of CASE-Bench: fetch the paper's prompts as well.
    copies
        Copies of the files (of the prompts, where these are wanted) to take instead of downloading them.
    target
        A new folder to write the benchmark to.

    Raises
    ------
    ConfigurationError
        There is nothing of that name, the terms are not accepted, or a download failed.
    DataError
        What came is not the pinned file, byte for byte, or cannot be loaded.
    """
    loader = loader_named(name)
    accepted = accept_terms if isinstance(accept_terms, bool) else accept_terms(fetching.conditions(loader))
    paths = [copies] if isinstance(copies, (str, Path)) else copies
    fetched = fetching.fetch(
        loader,
        accept_terms=accepted,
        copies=[Path(path) for path in paths],
        extra=prompts,
        check_extra=check_prompts,
        progress=progress,
    )
    if target is not None and fetched.benchmark is not None:
        write_benchmark(fetched.benchmark, Path(target))
    return fetched


def check_prompts(path: Path) -> None:
    from casewise.ask.prompts import published_prompts  # and the grammar of replies: 0.2 s

    published_prompts(path)


Outputs = str | Path | Sequence[str | Path] | None
"""Judges' published output files or folders of them; None for the folder that `CASEWISE_OUTPUTS` names, if any."""


def output_files(outputs: Outputs) -> list[Path]:
    """Judges' published output files: those named, and those at any depth in the folders named.

    Raises
    ------
    ConfigurationError
        `CASEWISE_OUTPUTS` is asked, and names no folder; or what is named is not there.
    """
    if outputs is None:
        folder = outputs_folder()
        outputs = () if folder is None else folder
    places = [outputs] if isinstance(outputs, (str, Path)) else outputs
    if lost := [str(place) for place in places if not Path(place).exists()]:
        raise ConfigurationError(f"no file or folder of published outputs is at {', '.join(lost)}")
    return [
        file
        for place in map(Path, places)
        for file in (sorted(place.rglob("output_*.json")) if place.is_dir() else [place])
    ]


@dataclass(frozen=True)
class RunAt:
    """The folder of a run, and its benchmark."""

    path: Path
    benchmark: Benchmark = field(repr=False)


def folders_of(runs: Sequence[RunAt | str | Path]) -> list[Path]:
    """Return the folders of these runs."""
    return [run.path if isinstance(run, RunAt) else Path(run) for run in runs]


def benchmark_of(runs: Sequence[RunAt | str | Path], given: Source | None) -> Source | None:
    """The benchmark that was given, or that of the first run where it holds one."""
    first = runs[0] if runs else None
    return given if given is not None else first.benchmark if isinstance(first, RunAt) else None
