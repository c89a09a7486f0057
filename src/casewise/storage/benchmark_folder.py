"""A benchmark on disk: its manifest, its JSON Lines or Parquet files, and the cache of a large one."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import ValidationError

from casewise.errors import BenchmarkError, CasewiseError, ChecksumMismatch, ConfigurationError, DataError
from casewise.records import Annotator, Context, Item, ParameterSet, Query, Rating, Revision, Taxonomy, paper_parameters
from casewise.records.base import Record, digest
from casewise.records.context import OPTIONAL as OPTIONAL_STATEMENTS
from casewise.storage.benchmark import About, Benchmark, BenchmarkCounts
from casewise.storage.columns import (
    STATEMENTS,
    ContextFile,
    RatingColumns,
    RecordColumns,
    column_of,
    fields_of,
    places_among,
    record_table,
    table_of_rows,
)
from casewise.storage.files import (
    cache_folder,
    cannot_write,
    current_umask,
    first_problem,
    parse,
    read_jsonl,
    read_text,
    replacing,
    write_jsonl,
    write_text,
)

# The manifest of a benchmark folder: what it holds, with the checksum of each file; and a new folder, written
# whole or not at all.


FORMAT_VERSION = 1
"""Version of benchmark folders. A reader knows every version up to this one."""

MANIFEST = "benchmark.json"

RECORDS: dict[str, type[Record]] = {
    "queries": Query,
    "contexts": Context,
    "items": Item,
    "ratings": Rating,
    "revisions": Revision,
    "annotators": Annotator,
}
"""The parts of a benchmark, and the type of each."""

OPTIONAL = ("annotators",)
"""The parts that have no file where a benchmark has none of them."""

FILES = tuple(f"{name}.jsonl" for name in RECORDS if name not in OPTIONAL)
"""The files of every benchmark folder."""

LAYOUTS = tuple(
    {f"{under}{name}{ending}" for name in RECORDS if name not in without}
    for under, ending in (("", ".jsonl"), ("", ".parquet"), ("data/", ".parquet"))
    for without in ((), OPTIONAL)
)
"""The files of a benchmark folder, of one of Parquet files, and of a Hugging Face dataset folder."""

R = TypeVar("R", bound=Record)


class Manifest(Record):
    """The content of `benchmark.json`."""

    format_version: int
    about: About
    counts: BenchmarkCounts
    taxonomy: Taxonomy
    parameters: ParameterSet | None = None
    """The parameters that contexts state, where they are not the paper's."""
    files: dict[str, str]
    """File name to sha256, as 64 hexadecimal digits."""

    @property
    def frame(self) -> dict[str, Any]:
        """The taxonomy and the set of parameters, as a benchmark takes them."""
        return {"taxonomy": self.taxonomy, "parameters": self.parameters or paper_parameters()}


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `folder` when the block ends, and is removed when the block raises.

    Raises ConfigurationError: there is something at `folder` already (a benchmark is immutable), or it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} exists and a benchmark is never overwritten; choose another place")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        yield draft
        draft.chmod(0o777 & ~current_umask())
        draft.replace(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_manifest(benchmark: Benchmark, folder: Path, *, names: Iterable[str]) -> None:
    """Write the manifest of a folder that holds `benchmark` in the files `names`."""
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        about=benchmark.about,
        counts=benchmark.counts,
        taxonomy=benchmark.taxonomy,
        parameters=None if benchmark.parameters == paper_parameters() else benchmark.parameters,
        files={name: sha256(folder / name) for name in names},
    )
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=1, exclude_none=True) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a benchmark folder.

    Raises DataError: there is none, it is not valid, or it was written by a newer casewise.
    """
    path = folder / MANIFEST
    if not path.is_file():
        run = f"; it is a run: casewise report {shlex.quote(str(folder))}" if (folder / "run.json").is_file() else ""
        raise DataError(folder, None, f"is no benchmark folder: it has no {MANIFEST}{run}")
    manifest = read_manifest_file(path, Manifest, newest=FORMAT_VERSION)
    if set(manifest.files) not in LAYOUTS:
        names = ", ".join(sorted(manifest.files)) or "nothing"
        raise DataError(path, None, f"'files' names {names}, not {', '.join(sorted(FILES))}")
    return manifest


def read_manifest_file(path: Path, model: type[R], *, newest: int) -> R:
    """Return a manifest of this format version or an older one. Types are checked strictly.

    Raises DataError: the file is no such manifest, or was written by a newer casewise.
    """
    text = read_text(path)
    value = parse(text, path=path)
    version = value.get("format_version") if isinstance(value, dict) else None
    if isinstance(version, int) and not 1 <= version <= newest:
        problem = f"newer than {newest}, which this casewise reads; update it" if version > newest else "no version"
        raise DataError(path, None, f"format_version is {version}, {problem}")
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise DataError(path, None, first_problem(error)) from error


# Records in files, all of them or nothing.


MAX_CONTEXTS_IN_MEMORY = 10_000
"""Contexts that are held in memory, where a benchmark has no more of them. They are the bulk of its records."""


def write_benchmark(benchmark: Benchmark, folder: Path, *, ending: str = ".jsonl") -> Path:
    """Write `benchmark` as a new folder of JSONL files, or of Parquet files: all of it or nothing.

    Raises ConfigurationError: there is something at `folder` already (a benchmark is immutable), or it cannot be written.
    """
    with new_folder(folder) as draft:
        write_manifest(benchmark, draft, names=write_tables(benchmark, draft, ending=ending))
    return folder


def write_tables(benchmark: Benchmark, folder: Path, *, under: str = "", ending: str = ".parquet") -> tuple[str, ...]:
    """Write a file for each record type of `benchmark` to `folder`, and return the files' names."""
    names = []
    for name, model in RECORDS.items():
        records = getattr(benchmark, name)
        if name not in OPTIONAL or records:
            names.append(f"{under}{name}{ending}")
            if ending == ".jsonl":
                write_jsonl(folder / names[-1], records)
            else:
                table = benchmark.ratings.written if name == "ratings" else record_table(records, model)
                write_table(table, folder / names[-1])
    return tuple(names)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, whole or not at all."""
    with replacing(path) as file:
        table.write_parquet(file)


def read_benchmark(folder: Path, *, most_held: int = MAX_CONTEXTS_IN_MEMORY) -> Benchmark:
    """Return the benchmark in a folder after its checksums are verified.

    A large benchmark of JSONL files is read once, and later from cached tables.

    `folder`: where it lies; JSONL files, Parquet files, or a Hugging Face dataset folder that casewise wrote.
    `most_held`: with more contexts than this they stay in their file, and each is read when it is asked for.

    Raises DataError: a file is missing, is not the one that the manifest speaks of, or holds a line that is no such record.
    """
    manifest = read_manifest(folder)
    with ThreadPoolExecutor() as pool:  # a sum is taken outside of Python's lock
        list(pool.map(check_sum, (folder / name for name in manifest.files), manifest.files.values()))
    in_file = manifest.counts.contexts > most_held and "contexts.jsonl" in manifest.files
    keep = (
        in_file
        and not manifest.counts.revisions
        and manifest.counts.ratings + manifest.counts.contexts >= MIN_ROWS_TO_CACHE
    )
    if keep and (cached := read_cached_tables(folder, manifest)) is not None:
        return cached
    benchmark = read_whole(folder, manifest, in_file=in_file)
    if keep:
        cache_tables(benchmark, manifest)
    return benchmark


def check_sum(path: Path, expected: str) -> None:
    if not path.is_file():
        raise DataError(path, None, "is missing, but the manifest names it")
    if (actual := sha256(path)) != expected:
        raise ChecksumMismatch(
            path, None, f"sha256 is {actual}, but the manifest says {expected}: the file was changed or damaged"
        )


def sha256(path: Path) -> str:
    """Return the file's sha256 as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_whole(folder: Path, manifest: Manifest, *, in_file: bool) -> Benchmark:
    """Return the benchmark of a folder whose checksums were verified, and validate every record.

    Raises DataError: they do not fit together, or the manifest counts others.
    """
    paths = {Path(name).stem: folder / name for name in manifest.files}
    fields: dict[str, Any] = {
        name: read_all(paths[name], model, in_file=in_file) for name, model in RECORDS.items() if name in paths
    }
    try:
        benchmark = Benchmark(about=manifest.about, **manifest.frame, **fields)
    except BenchmarkError as error:
        raise DataError(folder, None, str(error)) from error
    if benchmark.counts != manifest.counts:
        problem = f"'counts' says {manifest.counts}, but the files hold {benchmark.counts}"
        raise DataError(folder / MANIFEST, None, problem)
    return benchmark


def read_all(path: Path, model: type[Record], *, in_file: bool) -> Iterable[Record]:
    if path.suffix == ".parquet":
        try:
            rows = pl.read_parquet(path).iter_rows(named=True)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(path, None, f"cannot be read as Parquet: {error}") from error
        return tuple(record_of(row, model, path=path, number=number) for number, row in enumerate(rows, 1))
    if model is Context and in_file:
        return ContextFile(path)
    if model is Rating:
        plain = RatingColumns.from_canonical_lines(path)
        return RatingColumns.from_ratings(read_jsonl(path, Rating)) if plain is None else plain
    return tuple(read_jsonl(path, model))


def record_of(row: Mapping[str, Any], model: type[R], *, path: Path, number: int) -> R:
    """Return the record in a row of a table. `number` is the row's place, from 1."""
    try:
        return model.model_validate_json(json.dumps(fields_of(row, model, path=path)))
    except ValidationError as error:
        raise DataError(path, None, f"row {number}: {first_problem(error)}") from error


# The cache of a large benchmark folder: its records in columns, in the user's cache folder.
#
# The tables lie under the checksums of the folder's files, so they are used for these files only. A cache beside the folder
# would be trusted from the sender of the folder. The tables are safe to delete at any time. Contexts stay in the folder's
# file, and the cache holds their places in it.


CACHE_VERSION = 7
"""Version of the tables that are kept; another one is not read."""

MIN_ROWS_TO_CACHE = 50_000
"""Ratings and contexts together from which a folder is worth keeping; a smaller one is read in a second."""

MAX_CACHED_BENCHMARKS = 8
"""Benchmarks kept at once; of more, those that were used longest ago are dropped."""

ABOUT = "kept.json"

CACHED_TABLES = ("queries", "items", "contexts", "ratings", "rated")
"""The tables. Parquet is read with half the memory of mapped Arrow files."""


def cache_place(manifest: Manifest) -> Path:
    key = digest(
        {
            "version": CACHE_VERSION,
            "files": manifest.files,
            "frame": {name: part.model_dump(mode="json") for name, part in manifest.frame.items()},
        }
    )
    return cache_folder() / "benchmarks" / key


def read_cached_tables(folder: Path, manifest: Manifest) -> Benchmark | None:
    """Return the benchmark at `folder` from its cached tables, or None if there are none. Its files were checked against
    `manifest`."""
    place = cache_place(manifest)
    try:
        about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
        queries, items, contexts, ratings, rated = (
            pl.read_parquet(place / f"{name}.parquet") for name in CACHED_TABLES
        )
        benchmark = Benchmark(
            about=manifest.about,
            queries=RecordColumns(Query, queries),
            contexts=ContextFile(folder / "contexts.jsonl", contexts),
            items=RecordColumns(Item, items),
            ratings=RatingColumns(ratings, items=rated["id"], annotators=about["annotators"]),
            annotators=tuple(read_jsonl(folder / "annotators.jsonl", Annotator)) if manifest.counts.annotators else (),
            **manifest.frame,
            known_digest=about["digest"],
        )
        (place / ABOUT).touch()
    except (OSError, ValueError, KeyError, pl.exceptions.PolarsError):
        shutil.rmtree(place, ignore_errors=True)
        return None
    return benchmark


def cache_tables(benchmark: Benchmark, manifest: Manifest) -> None:
    """Cache the tables of a `benchmark` that was read from a folder with `manifest`. An error while writing leaves no cache."""
    place = cache_place(manifest)
    if place.exists() or not isinstance(benchmark.contexts, ContextFile):
        return
    try:
        with new_folder(place) as draft:
            tables = {
                "queries": record_table(benchmark.queries, Query),
                "items": record_table(benchmark.items, Item),
                "contexts": benchmark.contexts.table,
                "ratings": benchmark.ratings.table,
                "rated": benchmark.ratings.item_ids.alias("id").to_frame(),
            }
            for name, table in tables.items():
                table.write_parquet(draft / f"{name}.parquet", compression="uncompressed")
            about = {"digest": benchmark.digest, "annotators": benchmark.ratings.annotators}
            (draft / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        cached = sorted(place.parent.glob(f"*/{ABOUT}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for oldest in cached[MAX_CACHED_BENCHMARKS:]:
            shutil.rmtree(oldest.parent, ignore_errors=True)
    except (OSError, pl.exceptions.PolarsError, CasewiseError):  # polars says a full disk in its own words
        shutil.rmtree(place, ignore_errors=True)


# One row an item for people; its words for classifiers.


Features = Literal["context", "query", "query+context"]
"""The words of an item that a classifier may read."""


def item_view(benchmark: Benchmark) -> pl.DataFrame:
    """Return the items of `benchmark` in their order, with the query, every parameter of the context, and people's votes.

    People open this table; casewise does not read it back.
    """
    of_the_paper = benchmark.parameters == paper_parameters()
    statements = STATEMENTS if of_the_paper else (*benchmark.parameters.names, *OPTIONAL_STATEMENTS)
    schema = dict.fromkeys(["id", "query", *map(column_of, statements)], pl.String())
    words = table_of_rows(
        (
            (
                item.source_id,
                benchmark.query[item.query_id].text,
                *map((stated.texts if stated else {}).get, statements),
            )
            for item, stated in zip(benchmark.items, benchmark.written(), strict=True)
        ),
        schema,
    )
    counts = benchmark.item_columns.with_columns(
        safe_rate=pl.when(pl.col("n_votes") > 0).then(pl.col("n_safe") / pl.col("n_votes"))
    )
    return pl.concat([counts, words], how="horizontal")


def texts(
    benchmark: Benchmark, features: Features = "context", items: RecordColumns[Item] | None = None
) -> Iterator[str]:
    """Yield the text of each item, or of these items, in order. An item without a context has no text of a context."""
    items = benchmark.items if items is None else items
    written = benchmark.written(items) if "context" in features else repeat(None, len(items))
    for query_id, stated in zip(items.table["query_id"], written, strict=True):
        parts: list[str] = []
        if "query" in features:
            query = benchmark.query[query_id]
            parts += [*(turn.text for turn in query.before or ()), query.text]
        if stated is not None:
            parts += stated.texts.values()
        yield "\n".join(parts)


RATED_ITEM_COLUMNS = ("item_id", "query_id", "pair_id", "category", "condition")


def people_rows(benchmark: Benchmark) -> pl.DataFrame:
    """Return every rating of `benchmark`, in its order, with its item's columns (`RATED_ITEM_COLUMNS`).

    The `rater_id` of an anonymous vote is null. `value` is 1 for safe, 0 for unsafe, and null where people are unsure, or would be asked first.
    """
    items, ratings = benchmark.item_columns.select(RATED_ITEM_COLUMNS), benchmark.ratings
    people = pl.Series(ratings.annotators, dtype=pl.String)
    verdict = ratings.table["verdict"]
    of_ratings: pl.DataFrame = items[ratings.places(items["item_id"])]
    return of_ratings.select(
        *RATED_ITEM_COLUMNS,
        rater_id=people.gather(ratings.table["annotator"]),
        value=(verdict == "safe").cast(pl.Float64).set(verdict.is_in(["unsure", "ask"]), None),
    )


def places_of(items: pl.DataFrame, judgements: pl.DataFrame, *, source: Path) -> pl.Series:
    """Return the place of each judgement's item among `items`; `source` is their log.

    Raises DataError: a judgement is of an item that is not in the table.
    """
    places = places_among(items["item_id"], judgements["item_id"])
    if places.has_nulls():
        stray = judgements["item_id"][int(places.is_null().arg_max() or 0)]
        raise DataError(source, None, f"holds a judgement of an item that the benchmark does not have: {stray}")
    return places
