"""The whole database as one file of JSONL, taken while it is in use, and put back on SQLite or PostgreSQL.

The first line says which format and which migration it is of, then comes a line for each row, then a line that counts
them: a file that was cut off is noticed. Equal databases give equal files, so export and import are the same thing.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any

from alembic.util import CommandError
from sqlalchemy import Connection, Date, func, insert, select, text
from sqlalchemy.types import TypeEngine

from casewise.database.engine import Database, migrate
from casewise.database.tables import metadata
from casewise.database.tables.metadata import UtcTime
from casewise.errors import ConfigurationError, DataError

FORMAT = "casewise-backup-1"
ROWS_AT_A_TIME = 500
"""Rows read or written at a time."""


def backup(database: Database, path: Path) -> int:
    """Write all rows, as they are at one moment, to a new file that only its owner can read; return how many there are.

    Others go on reading and writing meanwhile. The file is compressed if its name ends in `.gz`. Raises
    ConfigurationError: the file exists or cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        if path.exists():
            raise ConfigurationError(f"{path} exists; give the backup another name")
        with database.read(snapshot=True) as connection, backup_file(part) as file:
            count = write_rows(connection, file)
        part.rename(path)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count


@contextmanager
def backup_file(path: Path) -> Iterator[IO[str]]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    packs = path.name.removesuffix(".part").endswith(".gz")
    with os.fdopen(descriptor, "wb") as raw:
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if packs else raw
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()
            if packs:
                packed.close()
        raw.flush()
        os.fsync(raw.fileno())


def write_rows(connection: Connection, file: IO[str]) -> int:
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    file.write(json_line({"format": FORMAT, "revision": revision}))
    count = 0
    for table in metadata.sorted_tables:
        rows_in_order = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=ROWS_AT_A_TIME)
        for row in connection.execute(rows_in_order).mappings():
            file.write(json_line({"table": table.name, "row": dict(row)}))
            count += 1
    file.write(json_line({"rows": count}))
    return count


def json_line(value: dict[str, Any]) -> str:
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=lambda moment: moment.isoformat()) + "\n"
    )


def restore(database: Database, path: Path, *, replay: Callable[[Connection], None] | None = None) -> int:
    """Put the rows of a backup into an empty database, all or none, and bring it up to date; return how many there were.

    `replay` then does in the same transaction what must hold whatever the backup says, such as erasures. Raises DataError: the file is no backup, was cut off, or is of a newer casewise; the message says where;
    ConfigurationError: the database holds something already.
    """
    with database.write() as connection:
        lines = numbered_rows(path)
        _, header = next(lines, (1, {}))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise DataError(
                path, 1, f"does not begin with {FORMAT!r}: it is not a backup of casewise, or a newer version wrote it"
            )
        try:
            migrate(connection, to=str(header["revision"]))
        except CommandError as error:
            raise DataError(path, 1, f"this backup is of a newer casewise, or of an unreleased one: {error}") from error
        for table in metadata.sorted_tables:
            if connection.execute(select(func.count()).select_from(table)).scalar_one():
                raise ConfigurationError(
                    f"{database.url.render_as_string()} holds data already ({table.name}); restore into a new database"
                )
        count = read_rows(connection, lines, path)
        if connection.dialect.name == "postgresql":
            set_counters(connection)
        migrate(connection)
        if replay is not None:
            replay(connection)
    return count


def numbered_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            for number, words in enumerate(file, start=1):
                yield number, json.loads(words)
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(path, None, f"cannot be read as a backup: {error}") from error


def read_rows(connection: Connection, lines: Iterable[tuple[int, dict[str, Any]]], path: Path) -> int:
    """Insert the rows; they come in the order of the tables, and so do their parents."""
    pending: dict[str, list[dict[str, Any]]] = {}
    count, line_count = 0, None

    def insert_pending() -> None:
        for name, rows in pending.items():
            connection.execute(insert(metadata.tables[name]), rows)
        pending.clear()

    for number, value in lines:
        if "rows" in value:
            line_count = value["rows"]
            break
        name = str(value.get("table"))
        count += 1
        if name not in metadata.tables:
            raise DataError(path, number, f"there is no table {name!r}; this backup is of a newer casewise")
        columns = metadata.tables[name].columns
        row = {key: column_value(columns[key].type, cell) for key, cell in value["row"].items()}
        pending.setdefault(name, []).append(row)
        if len(pending[name]) >= ROWS_AT_A_TIME:
            insert_pending()
    insert_pending()
    if line_count != count:
        raise DataError(path, None, f"is cut off: it states {line_count} rows and holds {count}")
    return count


def column_value(kind: TypeEngine[Any], value: Any) -> Any:
    """Return a JSON value as the column holds it."""
    if value is None or not isinstance(kind, UtcTime | Date):
        return value
    return (datetime if isinstance(kind, UtcTime) else date).fromisoformat(value)


def set_counters(connection: Connection) -> None:
    """Set PostgreSQL's counters, which know nothing of rows that came with their numbers."""
    for table in metadata.sorted_tables:
        if (counted := table.autoincrement_column) is not None:
            sequence = func.pg_get_serial_sequence(table.name, counted.name)
            connection.execute(select(func.setval(sequence, func.max(counted))))
