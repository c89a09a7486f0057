"""Benchmarks loaded from wherever they are, cached, and converted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ValidationError

from casewise import __version__
from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.records import LabelsBy, ParameterSet, RatingScale, Taxonomy
from casewise.records.base import digest, escape_surrogates, problems
from casewise.storage.benchmark import About, Benchmark, join_benchmarks
from casewise.storage.benchmark_folder import (
    RECORDS,
    item_view,
    new_folder,
    read_benchmark,
    write_benchmark,
    write_manifest,
    write_table,
    write_tables,
)
from casewise.storage.files import cache_folder, filled_template, replacing, write_cached, write_text
from casewise.storage.intake.cases import Cases
from casewise.storage.intake.cells import CaseFrame, Policies
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.joins import RatingTable, split_rows
from casewise.storage.intake.roles import CaseColumns, columns_of
from casewise.storage.intake.table import RejectedRow, frame_table
from casewise.storage.loaders.loader import Loader
from casewise.storage.loaders.registry import find_loader, load_fetched, loader_names
from casewise.storage.published import read_published, write_published
from casewise.storage.words import VerdictWords
from casewise.text import count_of

# Numbers that belong to a benchmark and not to a run, worked out once and kept in the user's cache.
#
# They lie under the benchmark's digest, which its items' contents and its ratings make, and under the versions of what worked
# them out; so they are never taken for those of another benchmark or of other code. They are safe to delete at any time.


NUMBERS = pl.Schema({"name": pl.String(), "value": pl.Float64()})

installed_version = cache(version)
"""Version of a package; to look it up takes longer than to read a table."""


def cached_item_numbers(
    benchmark: Benchmark, title: str, work: Callable[[], NDArray[np.float64]], *, made_with: str
) -> NDArray[np.float64]:
    """Return one number for each item of `benchmark`, in its order: the cached numbers, or those of `work`, which are then
    cached.

    `title`: what the numbers are, with every setting that they depend on.
    `made_with`: the package, besides this one, whose version they depend on.
    """
    items = benchmark.item_columns.select(name="item_id")
    table = cached_table(
        benchmark, title, made_with, lambda: items.with_columns(value=pl.Series(work(), dtype=pl.Float64)), items
    )
    return table["value"].to_numpy()


def cached_numbers(
    benchmark: Benchmark, title: str, work: Callable[[], dict[str, float]], *, made_with: str
) -> dict[str, float]:
    """Return numbers by name that belong to `benchmark` as a whole, cached as those of `cached_item_numbers`."""
    table = cached_table(
        benchmark, title, made_with, lambda: pl.DataFrame(list(work().items()), schema=NUMBERS, orient="row")
    )
    return dict(table.iter_rows())


def cached_table(
    benchmark: Benchmark,
    title: str,
    made_with: str,
    work: Callable[[], pl.DataFrame],
    names: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the table that is cached under `title`, in the order of `names`, or that of `work`, which is then cached."""
    versions = {"casewise": __version__, made_with: installed_version(made_with)}
    path = cache_folder() / "worked-out" / f"{digest([benchmark.digest, title, versions])}.arrow"
    try:
        table = pl.read_ipc(path)
        path.touch()
        if names is not None and table.schema == NUMBERS and not table["name"].equals(names["name"]):
            table = names.join(table, on="name", how="left", maintain_order="left")
        if table.schema == NUMBERS and not table["value"].has_nulls():
            return table
    except (OSError, pl.exceptions.PolarsError):
        pass  # nothing is kept, or no table is there
    table = work()
    write_cached(path, table.write_ipc(None).getvalue())
    return table


# A benchmark by name or by path.


def named_benchmark(source: object) -> Loader | None:
    """Return the loader of a public benchmark that `source` names; None where it is no name, or a path that is there before it
    is fetched.
    """
    loader = find_loader(source) if isinstance(source, str) else None
    return loader if loader is not None and (loader.is_fetched or not Path(loader.name).exists()) else None


def load(source: str | Path) -> Benchmark:
    """Return the benchmark called or lying at `source`.

    Parameters
    ----------
    source
        `demo` or `demo-actions` (embedded), a public benchmark by its name (once fetched), a benchmark folder (also one of Parquet files, or a
        Hugging Face dataset folder that casewise wrote), or a JSON file in the published format.

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
    if isinstance(source, str) and source in EMBEDDED:
        with as_file(files("casewise").joinpath(source.replace("-", "_"))) as folder:
            return read_benchmark(folder)
    path = Path(source)
    if (loader := named_benchmark(source)) is not None:
        return load_fetched(loader)
    if path.is_dir():
        return read_benchmark(path)
    if not path.exists():
        raise DataError(
            path,
            None,
            f"no such benchmark{did_you_mean(str(source), (*EMBEDDED, *loader_names()))}; give demo, a name that casewise data list shows, a "
            "benchmark folder or a published JSON file",
        )
    if path.suffix.lower() != ".json":
        problem = (
            f"this is a table and not a benchmark; to import it: casewise data import {shlex.quote(str(path))} --out FOLDER; to compare "
            f"verdicts and labels in it: casewise check {shlex.quote(str(path))}"
        )
        raise DataError(path, None, problem)
    return read_published(path)


EMBEDDED = ("demo", "demo-actions")
"""The benchmarks that casewise ships, by name."""

Source = Benchmark | str | Path
"""A benchmark, or where it is: `demo`, a public benchmark by its name, a folder, a file."""


def loaded_benchmark(given: Source) -> Benchmark:
    """Return `given`, loaded where it is a name or a path."""
    return given if isinstance(given, Benchmark) else load(given)


def source_of(source: Source, loaded: Benchmark) -> str:
    """Return the text that finds the benchmark again: its name, or its absolute path."""
    if isinstance(source, Benchmark):
        return loaded.name
    return (
        str(source) if source in EMBEDDED or named_benchmark(source) else escape_surrogates(str(Path(source).resolve()))
    )


# A user's own cases as a benchmark.


@dataclass(frozen=True)
class ImportOptions:
    """Facts about an imported file that its columns do not hold."""

    name: str | None = None
    """Name of the benchmark. Default: the name of its folder."""
    labels_by: LabelsBy | None = None
    """Source of the labels: people (default if a case has several ratings), author, law, policy, models, experts."""
    scale_low: float | None = None
    """Lowest value of the scale that people rated on."""
    scale_high: float | None = None
    """Highest value of the scale."""
    cut: float | None = None
    """Value of the scale beyond which a rating counts as a safe verdict. Default: ratings give no verdicts."""
    safe_side: Literal["below", "above"] | None = None
    """The safe side of the scale, which a cut needs."""
    question: str | None = None
    """The question that people answered on the scale."""

    @property
    def scale(self) -> RatingScale | None:
        """The scale; None where none is stated.

        Raises ConfigurationError: one end is missing, the cut is not on it, or its safe side is not stated.
        """
        if self.scale_low is None and self.scale_high is None and self.cut is None:
            return None
        if self.scale_low is None or self.scale_high is None:
            raise ConfigurationError("a scale has two ends; give --scale-low and --scale-high")
        if self.cut is not None and self.safe_side is None:
            raise ConfigurationError("a cut has a safe side; give --safe-side below or --safe-side above")
        side = {} if self.safe_side is None else {"safe": self.safe_side}
        try:
            return RatingScale.model_validate(
                {"low": self.scale_low, "high": self.scale_high, "cut": self.cut, "question": self.question, **side}
            )
        except ValidationError as error:
            raise ConfigurationError(f"the scale: {problems(error, RatingScale)[0]}") from error


def import_cases(
    path: str | Path,
    target: str | Path | None = None,
    *,
    columns: CaseColumns = CaseColumns(),
    words: VerdictWords = VerdictWords(),
    policies: Policies = Policies(),
    taxonomy: str | Path | None = None,
    parameters: str | Path | None = None,
    options: ImportOptions = ImportOptions(),
    ratings: RatingTable = RatingTable(),
    file: FileOptions = FileOptions(),
) -> Benchmark:
    """Return a benchmark of your labelled cases: a table with a case or a rating in each row, or an annotation tool's
    export.

    Parameters
    ----------
    target
        A new folder to write it to; without one it lives as long as the object returned. Rows that `policies` skip are
        written beside it.
    columns
        Which column holds what; those that are not named are recognised by their names.
    words
        The words of the file's verdicts, where they do not say themselves what they mean.
    policies
        What is done with repeated cases, rows that cannot be read, and separators.
    taxonomy, parameters
        TOML files with categories and with the parameters of contexts of one's own.
    options
        The name, where the labels come from, and the scale.
    ratings
        A second file with ratings, whether it is a wide table, and a file with traits of the people.
    file
        Encoding, separator, line of the names and sheet, where casewise does not find them.

    Raises
    ------
    ConfigurationError
        Something would have to be guessed that only you can say, or there is something at `target` already.
    DataError
        A row cannot be read; the message names its line.
    """
    scale = options.scale
    frame = case_frame(taxonomy, parameters, words=words, scale=scale, policies=policies)
    name = options.name or (Path(path).stem if target is None else Path(target).name)
    split = split_rows(read_any_table(Path(path), file), columns, words)
    table, stated = ratings.joined(split.table, split.columns, scale=scale, words=words)
    columns_found = columns_of(table, stated, scale=scale is not None, parameters=frame.parameters)
    cases = Cases(table, columns_found, frame, declared=stated)
    benchmark = cases.benchmark(About(name=name, labels_by=options.labels_by, scale=scale))
    if target is not None:
        write_benchmark(benchmark, Path(target))
        if cases.rejected:
            write_rejected(cases.rejected, bad_rows_file(Path(target)))
    return benchmark


def case_frame(
    taxonomy: str | Path | None,
    parameters: str | Path | None,
    *,
    words: VerdictWords,
    scale: RatingScale | None,
    policies: Policies,
) -> CaseFrame:
    """Return the facts about a file of cases, with the taxonomy and the parameters at these paths."""
    return CaseFrame(
        Taxonomy.read(Path(taxonomy)) if taxonomy else None,
        ParameterSet.read(Path(parameters)) if parameters else None,
        words,
        scale,
        policies,
    )


def bad_rows_file(target: Path) -> Path:
    """Return the file for the rows that an import into `target` skips."""
    return target.with_name(f"{target.name}.bad-rows.jsonl")


def write_rejected(rejected: Sequence[RejectedRow], path: Path) -> None:
    """Write the rows that could not be read as JSON Lines, each with its line number and the reason."""
    lines = (
        json.dumps({"line": row.line, "reason": row.problem, "row": row.content}, ensure_ascii=False)
        for row in rejected
    )
    write_text(path, "\n".join(lines) + "\n")


def join(first: str | Path, second: str | Path, target: str | Path, *, name: str | None = None) -> Benchmark:
    """Join two benchmarks over the same queries in a new folder, for instance a release and later ratings of other items.

    Raises
    ------
    BenchmarkError
        They do not fit together: no common query, or an item that was rated in both.
    """
    joint = join_benchmarks(load(first), load(second), name=name)
    write_benchmark(joint, Path(target))
    return joint


def load_frame(
    frame: Any,
    name: str = "frame",
    *,
    columns: CaseColumns = CaseColumns(),
    words: VerdictWords = VerdictWords(),
    policies: Policies = Policies(),
    taxonomy: str | Path | None = None,
    parameters: str | Path | None = None,
) -> Benchmark:
    """Return a benchmark of the cases in a polars or pandas frame, or in dictionaries; see `import_cases`.

    Examples
    --------
    >>> cases = [{"query": "Who was admitted?", "context": "A ward nurse asks.", "label": "safe"}]
    >>> load_frame(cases, "ward").counts.items
    1
    """
    split = split_rows(frame_table(frame, name), columns, words)
    of_cases = case_frame(taxonomy, parameters, words=words, scale=None, policies=policies)
    columns_found = columns_of(split.table, split.columns, parameters=of_cases.parameters)
    return Cases(split.table, columns_found, of_cases, declared=split.columns).benchmark()


# A benchmark as CSV for a spreadsheet program: to look at, not to read back.


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins so may be run as a formula, a command or a link. Full-width forms are folded by some programs."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Tells Excel that the file is UTF-8."""


def escape_formula(text: str) -> str:
    """Return `text` with an apostrophe before anything that a spreadsheet program could run as a formula."""
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA_STARTS) else text


def write_csv(table: pl.DataFrame, path: Path) -> Path:
    """Write a table with every cell quoted and formulas neutralised.

    The apostrophes change the texts, so casewise does not read such a file.
    """
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    safe = table.with_columns(pl.col(name).map_elements(escape_formula, return_dtype=pl.String) for name in texts)
    safe = safe.rename(escape_formula)
    with replacing(path) as file:
        file.write(BYTE_ORDER_MARK)
        safe.write_csv(file, quote_style="non_numeric", line_terminator="\r\n")
    return path


# A benchmark as a Hugging Face dataset folder, which `datasets.load_dataset(FOLDER)` opens.
#
# The tables are those of `casewise.storage.benchmark_folder`, under `data/`, so the folder reads back as it was. The default
# configuration is a view with one row an item; each table is a configuration of its own.


VIEW = "rated_items"


def write_hugging_face(benchmark: Benchmark, folder: Path) -> Path:
    """Write `benchmark` as a new dataset folder: all of it or nothing.

    Raises ConfigurationError: there is something at `folder` already, or it cannot be written.
    """
    with new_folder(folder) as draft:
        names = write_tables(benchmark, draft, under="data/")
        write_table(item_view(benchmark), draft / f"data/{VIEW}.parquet")
        write_text(draft / "README.md", card(benchmark))
        write_manifest(benchmark, draft, names=names)
    return folder


def card(benchmark: Benchmark) -> str:
    """Return the dataset card: its settings and its notes."""
    about, tables = benchmark.about, [table for table in RECORDS if getattr(benchmark, table)]
    values = {
        "about": about,
        "notices": [*benchmark.notes(), *([about.canary] if about.canary else [])],
        "counts": ", ".join(f"{n:,} {kind}" for kind, n in benchmark.counts.as_json().items()),
        "view": VIEW,
        "configurations": [*([VIEW] if benchmark.items else []), *tables],
        "tables": ", ".join(f"`{table}`" for table in tables),
    }
    return filled_template("casewise.storage", "dataset_card.md.jinja", values)


# From any of the formats of a benchmark to any other.


Format = Literal["folder", "published", "parquet", "huggingface"]


def convert(source: str | Path, target: Path, *, to: Format | None = None) -> tuple[str, ...]:
    """Write the benchmark at `source` to `target` in another format.

    `source`: whatever `load` takes: a name, a folder of any of the formats, or a published JSON file.
    `to`: the format; by default `published` for a name that ends in `.json`, and `folder` for any other.

    Returns what reading `target` back would not give, in words; nothing for all formats but `published`.

    Raises DataError, BenchmarkError: the source is not valid, or holds what the format cannot say at all.
    ConfigurationError: there is something at `target` already, or it cannot be written.
    """
    chosen: Format = to or ("published" if target.suffix == ".json" else "folder")
    if chosen not in get_args(Format):
        raise ConfigurationError(f"no format is called {chosen!r}; there are {', '.join(get_args(Format))}")
    if target.is_file():
        raise ConfigurationError(f"{target} exists and a benchmark is never overwritten; choose another place")
    benchmark = load(source)
    WRITERS[chosen](benchmark, target)
    return tuple(losses(benchmark)) if chosen == "published" else ()


WRITERS: dict[Format, Callable[[Benchmark, Path], object]] = {
    "folder": write_benchmark,
    "published": write_published,
    "parquet": partial(write_benchmark, ending=".parquet"),
    "huggingface": write_hugging_face,
}


def losses(benchmark: Benchmark) -> Iterator[str]:
    """Yield the parts of `benchmark` for which the published format has no room, in words."""
    if benchmark.about.synthetic:
        yield "the notice that the data are synthetic"
    is_told = pl.any_horizontal(pl.col("annotator", "seconds", "at").is_not_null())
    if n := benchmark.ratings.table.select(is_told.sum()).item():
        yield f"who gave {count_of(n, 'rating')}, when, and how long it took"
    if n := sum(context.origin != "imported" for context in benchmark.contexts):
        yield f"the origin of {count_of(n, 'context')}: they will read as imported, in the revised conditions"
    if n := len(benchmark.revisions):
        yield f"{count_of(n, 'revision')}"
    if n := int(benchmark.item_columns["n_unsure"].sum()):
        yield f"{n:,} unsure votes"
    if benchmark.about.scale is not None:
        yield "the scale that people rated on, with its values and means"
    if n := len(benchmark.annotators):
        yield f"the traits of {count_of(n, 'annotator')}"
    for name, title in (
        ("cluster", "clusters"),
        ("source_id", "ids in the user's own file"),
        ("columns", "other columns"),
    ):
        if n := sum(getattr(item, name) is not None for item in benchmark.items):
            yield f"the {title} of {count_of(n, 'item')}"
    shown = {item.context_id for item in benchmark.items}
    if n := sum(context.id not in shown for context in benchmark.contexts):
        yield f"{count_of(n, 'context')} that no item shows"
    if benchmark.about.published is None:
        yield "the benchmark's name, version, licence and terms, and its taxonomy"
