"""A benchmark as Parquet files, for data frames and databases: one table a record type, and the same manifest.

Every parameter of a context is a column of text. The few that are stated under headings stand there as running text,
and as they are in the JSON of the column `nested`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import ValidationError

from casewise.errors import DataError
from casewise.records import GROUPS, PARAMETERS, Context, as_text
from casewise.records.base import Record
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.manifest import (
    RECORDS,
    assembled,
    check_files,
    new_folder,
    read_manifest,
    write_manifest,
)
from casewise.storage.benchmarks.ratings import RatingColumns
from casewise.storage.files.atomic import replacing
from casewise.storage.files.strict_json import parse, what_is_wrong
from casewise.storage.record_columns import RecordColumns

__all__ = [
    "STATEMENTS",
    "column_of",
    "is_parquet",
    "read_parquet",
    "record_table",
    "table_of_rows",
    "tables_with_rows",
    "write_parquet",
    "write_table",
    "write_tables",
]

R = TypeVar("R", bound=Record)


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
    "intended_safe": pl.Boolean(),
}
"""Columns that are no texts. Times are ISO 8601 texts, so that their offsets are kept."""


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
    if not isinstance(record, Context):
        return row | value
    stated = {name: found for name in STATEMENTS if (found := statement(value, name)) is not None}
    nested = {name: found for name, found in stated.items() if not isinstance(found, str)}
    row |= {column_of(name): as_text(found) for name, found in stated.items()}
    if "own" in value:
        row["own"] = json.dumps(value.pop("own"), ensure_ascii=False)
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
    for table, model in RECORDS.items():
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
    return assembled(folder, manifest, {name: read_records(paths[name], model) for name, model in RECORDS.items()})


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
    if model is not Context:
        return flat | value
    if "own" in flat:
        value["own"] = parse(flat.pop("own"), path=path)
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
