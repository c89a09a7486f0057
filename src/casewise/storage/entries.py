"""Files of other people read strictly: CSV in any of its dialects, JSON and lines of text; an error names the place."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.storage.files import brief, cannot_read, numbered_lines, parse, read_text, rows

T = TypeVar("T")


MOST_LISTED = 30
"""Keys that a message lists."""


class Entry:
    """One object of a file: a row of a table or an object in JSON, with the place where it stands."""

    __slots__ = ("line", "path", "values", "where")

    def __init__(self, path: Path, line: int | None, values: Any, where: str = "") -> None:
        self.path, self.line, self.where = path, line, where
        if not isinstance(values, Mapping):
            self.refuse(f"is {brief(values)}, not an object with keys")
        self.values: Mapping[str, Any] = values

    def refuse(self, problem: str) -> NoReturn:
        """Raise a DataError that names the file, the line and the object."""
        raise DataError(self.path, self.line, f"{self.where}{': ' if self.where else ''}{problem}")

    def value(self, key: str) -> Any:
        """The value of `key`; the entry is refused without one."""
        value = self.values.get(key)
        if value is None or value == "":
            keys = [str(name) for name in self.values]
            state = "is empty" if key in self.values else f"is not there{did_you_mean(key, keys)}"
            more = f" and {len(keys) - MOST_LISTED:,} more" if len(keys) > MOST_LISTED else ""
            self.refuse(f"{key!r} {state}; it has {', '.join(keys[:MOST_LISTED]) or 'nothing'}{more}")
        return value

    def has(self, key: str) -> bool:
        """True if `key` has a value."""
        return self.values.get(key) not in (None, "")

    def text(self, key: str) -> str:
        """A text with at least one character that is no space."""
        text = self.value(key)
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            self.refuse(f"{key!r} is {brief(text)}, not a text")
        return text

    def name(self, key: str) -> str:
        """Return the name under `key`: a text or a number, as text."""
        name = self.value(key)
        if isinstance(name, bool) or not isinstance(name, (str, int, float)) or not str(name).strip():
            self.refuse(f"{key!r} is {brief(name)}, not a name or a number")
        return str(name)

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A number from `low` to `high`; a decimal comma is one."""
        return self.number_in(self.value(key), key, low, high)

    def number_in(self, value: Any, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """`value`, which stands under `key`, as a number from `low` to `high`."""
        number = as_number(value)
        if number is None or not low <= number <= high:
            span = f" from {low:g} to {high:g}" if math.isfinite(low) and math.isfinite(high) else ""
            self.refuse(f"{key!r} is {brief(value)}, not a number{span}")
        return number

    def whole_in(self, value: Any, key: str, low: int, high: int) -> int:
        """`value`, which stands under `key`, as a whole number from `low` to `high`."""
        if (number := self.number_in(value, key, low, high)) != int(number):
            self.refuse(f"{key!r} is {brief(value)}, not a whole number")
        return int(number)

    def word(self, key: str, words: Mapping[str, T]) -> T:
        """Return the value that the word under `key` stands for."""
        return self.word_in(self.value(key), key, words)

    def word_in(self, word: Any, key: str, words: Mapping[str, T]) -> T:
        """Return the value that `word`, found under `key`, stands for."""
        if not isinstance(word, str) or word not in words:
            self.refuse(f"{key!r} is {brief(word)}, not one of {', '.join(words)}")
        return words[word]

    def list(self, key: str) -> list[Any]:
        """A list, perhaps an empty one."""
        values = self.values.get(key)
        if not isinstance(values, list):
            self.value(key)
            self.refuse(f"{key!r} is {brief(values)}, not a list")
        return values

    def entry(self, key: str) -> Entry:
        """The object under `key`."""
        return Entry(self.path, self.line, self.value(key), f"{self.where}{', ' if self.where else ''}{key}")

    def entries(self, key: str) -> Iterator[Entry]:
        """The objects of the list under `key`, counted from 1."""
        for number, value in enumerate(self.list(key), 1):
            yield Entry(self.path, self.line, value, f"{self.where}{', ' if self.where else ''}{key} {number}")


def json_entries(path: Path, *, single: bool = False) -> list[Entry]:
    """The objects of a JSON array or of JSON Lines, with the lines that they begin on.

    `single`: also take the one object of a JSON file.

    Raises DataError: there are none.
    """
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        entries = [Entry(path, number, parse(line, path=path, line=number)) for number, line in numbered_lines(path)]
    elif (text := read_text(path)).lstrip().startswith("[") or not single:
        elements = enumerate(rows(text, path=path), 1)
        entries = [Entry(path, line, value, f"row {number}") for number, (line, value) in elements]
    else:
        entries = [Entry(path, 1, parse(text, path=path))]
    if not entries:
        raise DataError(path, None, "holds no rows")
    return entries


def json_entry(path: Path) -> Entry:
    """The object that a JSON file holds."""
    return Entry(path, None, parse(read_text(path), path=path))


def text_lines(path: Path) -> list[Entry]:
    """The lines of a text file, each under the key `line`; the last may lack its line break. Raises DataError: one is blank."""
    lines = [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise DataError(path, number, "is blank; each line holds one item")
    return [Entry(path, number, {"line": line}) for number, line in enumerate(lines, 1)]


def once(entry: Entry, key: str, names: set[str]) -> str:
    """The name under `key`, which no earlier entry has."""
    name = entry.name(key)
    if name in names:
        entry.refuse(f"{key!r} is {name!r} a second time; each stands once")
    names.add(name)
    return name


def text_or_json(value: Any) -> str:
    """Return `value` as one cell of a table."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_number(value: Any) -> float | None:
    """Return a cell as a number; None where it is none."""
    try:
        number = (
            math.nan if isinstance(value, bool) else float(value.replace(",", ".") if isinstance(value, str) else value)
        )
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# Tables: CSV in any of its dialects, JSON Lines, or a JSON array of objects.


NOT_TEXT = {
    b"PK\x03\x04": "is a workbook; save it as CSV (UTF-8)",
    b"\xff\xfe": "is UTF-16; save it as CSV (UTF-8)",
    b"\xfe\xff": "is UTF-16; save it as CSV (UTF-8)",
    b"<!DO": "is a web page (HTML), not a table; download the file itself",
    b"<htm": "is a web page (HTML), not a table; download the file itself",
}
"""The beginnings of files that are no CSV in UTF-8: spreadsheet programs' files, and error pages."""

DELIMITERS = ",;\t"

SPREADSHEET_ERRORS = ("#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NULL!", "#NUM!")


class Table(NamedTuple):
    """The columns of a file, and its rows; a cell that says nothing is None."""

    columns: tuple[str, ...]
    rows: list[Entry]


def table_of(path: Path, entries: Iterable[Entry], columns: tuple[str, ...] = ()) -> Table:
    """Return entries as a table; without `columns` these are the keys that some entry has a value for."""
    table = list(entries)
    if not table:
        raise DataError(path, None, "holds no rows")
    return Table(columns or tuple(dict.fromkeys(name for row in table for name in row.values if row.has(name))), table)


def filled(entry: Entry) -> Entry:
    """Return an entry with None for each cell that says nothing."""
    cells: dict[str, Any] = {}
    for column, value in entry.values.items():
        cell = value.strip() if isinstance(value, str) else value.tolist() if hasattr(value, "tolist") else value
        if cell is None or cell in ("", [], {}) or (isinstance(cell, float) and math.isnan(cell)):
            cell = None
        if isinstance(cell, str) and "\0" in cell:
            entry.refuse(f"{column!r} holds a NUL character; it is no text, or was damaged")
        if isinstance(cell, str) and cell in SPREADSHEET_ERRORS:
            entry.refuse(f"{column!r} is {cell}, an error of the spreadsheet program; mend it there")
        cells[str(column)] = cell
    return Entry(entry.path, entry.line, cells, entry.where)


def is_csv(path: Path) -> bool:
    """Return whether a file is read as CSV: `.json`, `.jsonl` and `.ndjson` are JSON."""
    return path.suffix.lower() not in (".json", ".jsonl", ".ndjson")


def read_csv(path: Path) -> Table:
    """Return the rows of a CSV file. Raises DataError: it is none, or holds nothing; the message says where."""
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise cannot_read(path, error) from error
    if problem := next((problem for start, problem in NOT_TEXT.items() if head.startswith(start)), None):
        raise DataError(path, None, problem)
    text = read_text(path)
    if (at := text.find("\0")) >= 0:
        raise DataError(path, text.count("\n", 0, at) + 1, "holds a NUL character; it is no text, or was damaged")
    first = text.split("\n", 1)[0].rstrip("\r")
    announced = first[4] if first.lower().startswith("sep=") and len(first) == 5 else None
    header = text.split("\n", 2)[1] if announced and "\n" in text else first
    outside_quotes = "".join(header.split('"')[::2])
    delimiter = announced or max(DELIMITERS, key=outside_quotes.count)
    lines = list(csv_records(path, text, delimiter))[1 if announced else 0 :]
    if len(lines) < 2:
        raise DataError(path, None, "holds no rows" if lines else "is empty")
    line, names = lines[0]
    columns = tuple(name.strip() for name in names)
    if wrong := [name for name, n in Counter(columns).items() if n > 1 or not name]:
        problem = f"two columns are called {wrong[0]!r}" if wrong[0] else "a column has no name"
        raise DataError(path, line, f"{problem}; the first line names each column once")
    for number, cells in lines[1:]:
        if len(cells) != len(columns):
            raise DataError(
                path, number, f"has {len(cells)} cells, and there are {len(columns)} columns; is a text not in quotes?"
            )
    rows = (Entry(path, number, dict(zip(columns, cells, strict=True))) for number, cells in lines[1:])
    return table_of(path, map(filled, rows), columns)


def csv_records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a CSV text that are not blank, with the line that each begins on."""
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


def frame_table(frame: Any, name: str) -> Table:
    """Return the columns and rows of a polars or pandas frame, or of dictionaries; rows are counted from 1.

    Raises ConfigurationError: it is none of these. DataError: it holds nothing.
    """
    if hasattr(frame, "to_dicts"):
        rows = frame.to_dicts()
    elif hasattr(frame, "to_dict"):
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")  # without NaN, NaT and NA
    else:
        rows = list(frame) if isinstance(frame, Iterable) and not isinstance(frame, (str, bytes, Mapping)) else [None]
    if not all(isinstance(row, Mapping) for row in rows):
        raise ConfigurationError(f"{type(frame).__name__} is no frame; give a polars or pandas frame, or dictionaries")
    return table_of(Path(name), (filled(Entry(Path(name), number, row)) for number, row in enumerate(rows, 1)))
