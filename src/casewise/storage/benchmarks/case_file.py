"""The rows of a file of cases as somebody else wrote it: CSV in any of its dialects, or JSON Lines."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from casewise.errors import ConfigurationError, DataError
from casewise.storage.files.atomic import cannot_read, read_text
from casewise.storage.files.jsonl import numbered_lines
from casewise.storage.files.strict_json import parse

__all__ = ["CaseRow", "frame_rows", "read_case_rows"]

NOT_TEXT = {
    b"PK\x03\x04": "is a workbook; save it as CSV (UTF-8)",
    b"\xff\xfe": "is UTF-16; save it as CSV (UTF-8)",
    b"\xfe\xff": "is UTF-16; save it as CSV (UTF-8)",
}
"""How files begin that spreadsheet programs write and that are no CSV in UTF-8."""

DELIMITERS = ",;\t"

SPREADSHEET_ERRORS = ("#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!")


class CaseRow(NamedTuple):
    """The cells of a row that say something, by column, and the line that it begins on."""

    line: int
    cells: dict[str, Any]


def read_case_rows(path: Path) -> tuple[tuple[str, ...], list[CaseRow]]:
    """The columns of a file and its rows; `.jsonl` and `.ndjson` are read as JSON Lines, all else as CSV.

    Raises DataError: the file is neither, or holds nothing; the message says where.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise cannot_read(path, error) from error
    if problem := next((said for start, said in NOT_TEXT.items() if head.startswith(start)), None):
        raise DataError(path, None, problem)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return of_mappings(path, objects(path))
    return of_csv(path, read_text(path))


def objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in numbered_lines(path):
        value = parse(line, path=path, line=number)
        if not isinstance(value, dict):
            raise DataError(path, number, f"is {type(value).__name__}, not an object with the columns as keys")
        yield number, value


def frame_rows(frame: Any, name: str) -> tuple[tuple[str, ...], list[CaseRow]]:
    """The columns and rows of a polars or pandas frame, or of dictionaries; rows are counted from 1.

    Raises ConfigurationError: it is none of these. DataError: it holds nothing.
    """
    if hasattr(frame, "to_dicts"):
        rows = frame.to_dicts()
    elif hasattr(frame, "to_dict"):
        rows = frame.to_dict("records")
    else:
        rows = list(frame) if isinstance(frame, Iterable) and not isinstance(frame, (str, bytes, Mapping)) else [None]
    if not all(isinstance(row, Mapping) for row in rows):
        raise ConfigurationError(f"{type(frame).__name__} is no frame; give a polars or pandas frame, or dictionaries")
    return of_mappings(Path(name), enumerate(rows, 1))


def of_mappings(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[tuple[str, ...], list[CaseRow]]:
    found = [case_row(path, line, row) for line, row in rows]
    if not found:
        raise DataError(path, None, "holds no rows")
    return tuple(dict.fromkeys(name for row in found for name in row.cells)), found


def of_csv(path: Path, text: str) -> tuple[tuple[str, ...], list[CaseRow]]:
    if (at := text.find("\0")) >= 0:
        raise DataError(path, text.count("\n", 0, at) + 1, "holds a NUL character; it is no text, or was damaged")
    first = text.split("\n", 1)[0].rstrip("\r")
    announced = first[4] if first.lower().startswith("sep=") and len(first) == 5 else None
    head = text.split("\n", 2)[1] if announced and "\n" in text else first
    outside_quotes = "".join(head.split('"')[::2])
    delimiter = announced or max(DELIMITERS, key=outside_quotes.count)
    lines = list(records(path, text, delimiter))[1 if announced else 0 :]
    if len(lines) < 2:
        raise DataError(path, None, "holds no rows" if lines else "is empty")
    line, header = lines[0]
    columns = tuple(cell.strip() for cell in header)
    if wrong := [name for name, n in Counter(columns).items() if n > 1 or not name]:
        problem = f"two columns are called {wrong[0]!r}" if wrong[0] else "a column has no name"
        raise DataError(path, line, f"{problem}; the first line names each column once")
    for number, cells in lines[1:]:
        if len(cells) != len(columns):
            raise DataError(
                path, number, f"has {len(cells)} cells, and there are {len(columns)} columns; is a text not in quotes?"
            )
    return columns, [case_row(path, n, dict(zip(columns, cells, strict=True))) for n, cells in lines[1:]]


def records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV text that are not blank, with the line that each begins on."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a context may be a whole document
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, begins, f"is no CSV: {error}") from error


def case_row(path: Path, line: int, row: Mapping[str, Any]) -> CaseRow:
    cells: dict[str, Any] = {}
    for column, value in row.items():
        cell = value.strip() if isinstance(value, str) else value
        if cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell)):
            continue
        if isinstance(cell, str) and "\0" in cell:
            raise DataError(path, line, f"{column!r} holds a NUL character; it is no text, or was damaged")
        if cell in SPREADSHEET_ERRORS:
            raise DataError(path, line, f"{column!r} is {cell}, an error of the spreadsheet program; mend it there")
        cells[str(column)] = cell
    return CaseRow(line, cells)
