"""A benchmark on disk: its manifest, its JSON Lines or Parquet files."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import ValidationError

from casewise.errors import BenchmarkError, ChecksumMismatch, ConfigurationError, DataError
from casewise.records import (
    GROUPS,
    PARAMETERS,
    Annotator,
    Context,
    Item,
    ParameterSet,
    Query,
    Rating,
    Revision,
    Taxonomy,
    as_text,
    paper_parameters,
)
from casewise.records.base import Record
from casewise.storage.benchmark import About, Benchmark, BenchmarkCounts
from casewise.storage.columns import RecordColumns, places_among
from casewise.storage.files import cannot_write, current_umask, parse, read_text, replacing, what_is_wrong, write_text
from casewise.storage.ratings import RatingColumns

# The manifest of a benchmark folder: what it holds, with the checksum of each file; and a new folder, written
# whole or not at all.


FORMAT_VERSION = 1
"""Of benchmark folders. A reader knows every version up to this one."""

MANIFEST = "benchmark.json"

RECORDS: dict[str, type[Record]] = {
    "queries": Query,
    "contexts": Context,
    "items": Item,
    "ratings": Rating,
    "revisions": Revision,
    "annotators": Annotator,
}
"""What a benchmark holds, and what each of it is."""

OPTIONAL = ("annotators",)
"""What has no file where there is none of it."""

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
    """What `benchmark.json` says."""

    format_version: int
    about: About
    counts: BenchmarkCounts
    taxonomy: Taxonomy
    parameters: ParameterSet | None = None
    """What contexts state, where that is not what the paper's do."""
    files: dict[str, str]
    """File name to sha256, as 64 hexadecimal digits."""

    @property
    def frame(self) -> dict[str, Any]:
        """The taxonomy and the set of parameters, as a benchmark takes them."""
        return {"taxonomy": self.taxonomy, "parameters": self.parameters or paper_parameters()}


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill that becomes `folder` when the block ends well, and disappears when it does not.

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
    """The manifest of a benchmark folder.

    Raises DataError: there is none, it is not valid, or it was written by a newer casewise.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise DataError(folder, None, f"is no benchmark folder: it has no {MANIFEST}")
    manifest = read_manifest_file(path, Manifest, newest=FORMAT_VERSION)
    if set(manifest.files) not in LAYOUTS:
        raise DataError(path, None, f"'files' names {listed(manifest.files)}, not {listed(FILES)}")
    return manifest


def held(benchmark: Benchmark) -> dict[str, type[Record]]:
    """The record types that have a file in a folder of `benchmark`."""
    return {name: model for name, model in RECORDS.items() if name not in OPTIONAL or getattr(benchmark, name)}


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def read_manifest_file(path: Path, model: type[R], *, newest: int) -> R:
    """A manifest, of this format version or an older one; no value passes for one of another type.

    Raises DataError: the file is no such manifest, or was written by a newer casewise.
    """
    text = read_text(path)
    value = parse(text, path=path)
    version = value.get("format_version") if isinstance(value, dict) else None
    if isinstance(version, int) and not 1 <= version <= newest:
        what = f"newer than {newest}, which this casewise reads; update it" if version > newest else "no version"
        raise DataError(path, None, f"format_version is {version}, {what}")
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise DataError(path, None, what_is_wrong(error)) from error


def assembled(folder: Path, manifest: Manifest, records: Mapping[str, Sequence[Record]]) -> Benchmark:
    """The benchmark of a folder with this manifest whose files hold `records`, by the names of `RECORDS`.

    Raises DataError: they do not fit together, or the manifest counts others.
    """
    fields: dict[str, Any] = dict(records)
    try:
        found = Benchmark(about=manifest.about, **manifest.frame, **fields)
    except BenchmarkError as error:
        raise DataError(folder, None, str(error)) from error
    if found.counts != manifest.counts:
        problem = f"'counts' says {manifest.counts}, but the files hold {found.counts}"
        raise DataError(folder / MANIFEST, None, problem)
    return found


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check every file that `manifest` names.

    Raises DataError: one is missing, or is not the one that the manifest speaks of.
    """
    names, expected = manifest.files.keys(), manifest.files.values()
    with ThreadPoolExecutor() as pool:  # a sum is taken outside of Python's lock
        deque(pool.map(check_sum, (folder / name for name in names), expected), maxlen=0)


def check_sum(path: Path, expected: str) -> None:
    if not path.is_file():
        raise DataError(path, None, "is missing, but the manifest names it")
    found = sha256(path)
    if found != expected:
        raise ChecksumMismatch(
            path, None, f"sha256 is {found}, but the manifest says {expected}: the file was changed or damaged"
        )


def sha256(path: Path) -> str:
    """The file's sha256 as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# A benchmark as Parquet files, for data frames and databases: one table a record type, and the same manifest.
#
# Every parameter of a context is a column of text. The few that are stated under headings stand there as running text,
# and as they are in the JSON of the column `nested`.


STATEMENTS = (*PARAMETERS, "subject", "information_type")
"""Dotted names of what a context states."""

PROVENANCE = ("by", "at", "detail")

NESTED = "nested"

BLOCK = 65_536
"""Records that are held on their way into a table."""

NUMBERS: dict[str, pl.DataType] = {
    "position": pl.Int64(),
    "seconds": pl.Float64(),
    "published_rate": pl.Float64(),
    "value": pl.Float64(),
    "mean": pl.Float64(),
    "intended_safe": pl.Boolean(),
}
"""Columns that are no texts. Times are ISO 8601 texts, so that their offsets are kept."""

AS_JSON = ("own", "before", "columns", "traits")
"""Fields of records that a column holds as JSON."""


def column_of(name: str) -> str:
    """The column of a dotted name: `sender.platform_type` is `sender_platform_type`."""
    return name.replace(".", "_")


def schema(model: type[Record]) -> dict[str, pl.DataType]:
    """The columns of a record type, in order."""
    names: list[str] = []
    for field in model.model_fields:
        if field == "provenance":
            names += [f"provenance_{part}" for part in PROVENANCE]
        elif field in GROUPS:
            names += [column_of(name) for name in PARAMETERS if name.startswith(f"{field}.")]
        else:
            names.append(field)
    if model is Context:
        names.append(NESTED)
    return {name: NUMBERS.get(name, pl.String()) for name in names}


def record_table(records: Iterable[Record], model: type[Record]) -> pl.DataFrame:
    """Records as a table, one a row. Those in columns are in one already; of others some are held at a time."""
    columns = pl.Schema(schema(model))
    if isinstance(records, RatingColumns):
        return records.written.cast(columns)
    if isinstance(records, RecordColumns) and records.table.columns == columns.names():
        return records.table.cast(columns)
    return table_of_rows(map(row_of, records), columns)


def table_of_rows(rows: Iterable[Any], columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Rows as they come, some at a time, as one table."""
    rows, blocks = iter(rows), [pl.DataFrame(schema=columns)]
    while some := list(islice(rows, BLOCK)):
        blocks.append(pl.DataFrame(some, schema=columns, orient="row"))
    return pl.concat(blocks)


def row_of(record: Record) -> dict[str, Any]:
    value = record.as_json()
    provenance = value.pop("provenance", {})
    if "detail" in provenance:
        provenance["detail"] = json.dumps(provenance["detail"], ensure_ascii=False)
    row = {f"provenance_{part}": text for part, text in provenance.items()}
    row |= {name: json.dumps(value.pop(name), ensure_ascii=False) for name in AS_JSON if name in value}
    if not isinstance(record, Context):
        return row | value
    stated = {name: found for name in STATEMENTS if (found := statement(value, name)) is not None}
    nested = {name: found for name, found in stated.items() if not isinstance(found, str)}
    row |= {column_of(name): as_text(found) for name, found in stated.items()}
    row |= {name: found for name, found in value.items() if name not in (*GROUPS, *STATEMENTS)}
    return row | ({NESTED: json.dumps(nested, ensure_ascii=False)} if nested else {})


def statement(value: Mapping[str, Any], name: str) -> Any:
    group, _, parameter = name.partition(".")
    found = value.get(group)
    return found.get(parameter) if parameter and isinstance(found, dict) else found


def write_parquet(benchmark: Benchmark, folder: Path) -> Path:
    """Write `benchmark` as a new folder of Parquet files: all of it or nothing.

    Raises ConfigurationError: there is something at `folder` already, or it cannot be written.
    """
    with new_folder(folder) as draft:
        names = write_tables(benchmark, draft, under="")
        write_manifest(benchmark, draft, names=names)
    return folder


def write_tables(benchmark: Benchmark, folder: Path, *, under: str) -> tuple[str, ...]:
    """Write every table to `folder`, and say the files' names."""
    names = []
    for table, model in held(benchmark).items():
        name = f"{under}{table}.parquet"
        write_table(record_table(getattr(benchmark, table), model), folder / name)
        names.append(name)
    return tuple(names)


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as Parquet, whole or not at all."""
    with replacing(path) as file:
        table.write_parquet(file)


def is_parquet(folder: Path) -> bool:
    """Whether the manifest of `folder` speaks of Parquet files."""
    return any(name.endswith(".parquet") for name in read_manifest(folder).files)


def read_parquet(folder: Path) -> Benchmark:
    """The benchmark that a folder of Parquet files holds, its checksums checked. Hugging Face dataset folders, too.

    Raises DataError: a file is missing or was changed, or a row is no such record; the message names it.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    paths = {Path(name).stem: folder / name for name in manifest.files}
    records = {name: read_records(paths[name], model) for name, model in RECORDS.items() if name in paths}
    return assembled(folder, manifest, records)


def read_records(path: Path, model: type[R]) -> tuple[R, ...]:
    try:
        rows = pl.read_parquet(path).to_dicts()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(path, None, f"cannot be read as Parquet: {error}") from error
    return tuple(record_of(row, model, path=path, number=number) for number, row in enumerate(rows, 1))


def record_of(row: Mapping[str, Any], model: type[R], *, path: Path, number: int) -> R:
    """The record that a row holds; `number` is its place, from 1."""
    try:
        return model.model_validate_json(json.dumps(value_of(row, model, path=path)))
    except ValidationError as error:
        raise DataError(path, None, f"row {number}: {what_is_wrong(error)}") from error


def value_of(row: Mapping[str, Any], model: type[Record], *, path: Path) -> dict[str, Any]:
    flat = {name: found for name, found in row.items() if found is not None}
    provenance = {part: flat.pop(f"provenance_{part}") for part in PROVENANCE if f"provenance_{part}" in flat}
    if "detail" in provenance:
        provenance["detail"] = parse(provenance["detail"], path=path)
    value: dict[str, Any] = {"provenance": provenance} if provenance else {}
    value |= {name: parse(flat.pop(name), path=path) for name in AS_JSON if name in flat}
    if model is not Context:
        return flat | value
    nested = parse(flat.pop(NESTED), path=path) if NESTED in flat else {}
    texts = {name: flat.pop(column_of(name)) for name in STATEMENTS if column_of(name) in flat}
    for name, found in (texts | nested).items():
        put(value, name, found)
    return flat | value


def put(value: dict[str, Any], name: str, found: Any) -> None:
    group, _, parameter = name.partition(".")
    if parameter:
        value.setdefault(group, {})[parameter] = found
    else:
        value[group] = found


def tables_with_rows(benchmark: Benchmark) -> Sequence[str]:
    """The tables that hold something."""
    return [table for table in RECORDS if getattr(benchmark, table)]


# One row an item: its parents, its category and its votes for the statistics; its words for classifiers and for
# people.


Features = Literal["context", "query", "query+context"]
"""The words of an item that a classifier may read."""


def item_table(benchmark: Benchmark) -> pl.DataFrame:
    """The items of `benchmark` in their order, with the columns of `ITEM_COLUMNS`: made once for a benchmark.

    `intended_safe` is null for an item without a context, and `published_rate` where no imported file stated one.
    """
    return benchmark.item_columns


def item_view(benchmark: Benchmark) -> pl.DataFrame:
    """The items of `benchmark` in their order, with the query, every parameter of the context, and people's votes.

    It is for people who open a table, not for reading back.
    """
    schema = dict.fromkeys(["query", *map(column_of, STATEMENTS)], pl.String())
    words = table_of_rows(map(partial(words_of, benchmark), benchmark.items), schema)
    counts = item_table(benchmark).with_columns(
        safe_rate=pl.when(pl.col("n_votes") > 0).then(pl.col("n_safe") / pl.col("n_votes"))
    )
    return pl.concat([counts, words], how="horizontal")


def words_of(benchmark: Benchmark, item: Item) -> tuple[str | None, ...]:
    """An item's query, and each parameter of its context."""
    written = benchmark.written_of(item)
    stated = written.texts if written else {}
    return (benchmark.query[item.query_id].text, *map(stated.get, STATEMENTS))


def texts(benchmark: Benchmark, features: Features = "context") -> Iterator[str]:
    """The text of one item after another, in order; without a context there is nothing of it to read."""
    return (text(benchmark, item, features) for item in benchmark.items)


def text(benchmark: Benchmark, item: Item, features: Features) -> str:
    parts: list[str] = []
    if "query" in features:
        query = benchmark.query[item.query_id]
        parts += [*(turn.text for turn in query.before or ()), query.text]
    if "context" in features and (written := benchmark.written_of(item)):
        parts += written.texts.values()
    return "\n".join(parts)


# People and judges in one long table: a row a rating or a judgement, with the same columns.
#
# Each shape that statistics want is made of it, or of its parts, in one place: votes by item in
# `casewise.storage.benchmark_folder`, ratings by annotator in `RatingColumns.arrays`, values by series in
# `casewise.evaluate.judged_runs`.


LONG_COLUMNS = pl.Schema(
    {
        "item_id": pl.String(),
        "query_id": pl.String(),
        "pair_id": pl.String(),
        "category": pl.String(),
        "condition": pl.String(),
        "rater_kind": pl.String(),
        "rater_id": pl.String(),
        "elicitation": pl.String(),
        "arm": pl.String(),
        "repeat": pl.Int32(),
        "value": pl.Float64(),
        "unscored_reason": pl.String(),
    }
)
"""`rater_kind` is `person` or `judge`; the `rater_id` of an anonymous vote is null. A person's value is 1 for safe, 0 for
unsafe, and null where they are unsure; a judge's is in the units of the elicitation, and null where there is none, with the reason."""

OF_ITEM = ("item_id", "query_id", "pair_id", "category", "condition")


def people_rows(benchmark: Benchmark) -> pl.DataFrame:
    """Every rating of `benchmark`, in its order, with the columns of `LONG_COLUMNS`; an unsure one has no value."""
    items, ratings = item_table(benchmark).select(OF_ITEM), benchmark.rated
    people = pl.Series(ratings.annotators, dtype=pl.String)
    verdict = ratings.table["verdict"]
    of_ratings: pl.DataFrame = items[ratings.places(items["item_id"])]
    return of_ratings.select(
        *OF_ITEM,
        rater_kind=pl.lit("person"),
        rater_id=people.gather(ratings.table["annotator"]),
        elicitation=pl.lit("binary"),
        arm=pl.lit("full"),
        repeat=pl.lit(0, pl.Int32),
        value=(verdict == "safe").cast(pl.Float64).set(verdict == "unsure", None),
        unscored_reason=pl.Series([None] * len(verdict), dtype=pl.String).set(verdict == "unsure", "unsure"),
    )


def judges_rows(items: pl.DataFrame, judgements: pl.DataFrame, *, rater_id: str, source: Path) -> pl.DataFrame:
    """Judgements with the columns of `LONG_COLUMNS`; repeated texts are categorical, for a run may have a million rows.

    `items`: the table of items of the benchmark that was judged.
    `judgements`: as `casewise.storage.run_folder` gives them.
    `source`: their log, to be named in errors.

    Raises DataError: a judgement is of an item that is not in the table.
    """
    of_item = items.select(pl.col(OF_ITEM[1:]).cast(pl.Categorical))
    needed = judgements.select("item_id", "elicitation", "arm", "repeat", "value", "unscored_reason")
    rows = needed.hstack(of_item[places_of(items, judgements, source=source)])
    whose = rows.with_columns(rater_kind=pl.lit("judge", pl.Categorical), rater_id=pl.lit(rater_id, pl.Categorical))
    return whose.select(*LONG_COLUMNS)


def places_of(items: pl.DataFrame, judgements: pl.DataFrame, *, source: Path) -> pl.Series:
    """The place of each judgement's item among `items`. Arguments and errors as of `judges_rows`."""
    places = places_among(items["item_id"], judgements["item_id"])
    if places.has_nulls():
        stray = judgements["item_id"][int(places.is_null().arg_max() or 0)]
        raise DataError(source, None, f"holds a judgement of an item that the benchmark has not: {stray}")
    return places
