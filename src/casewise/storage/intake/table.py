"""Tables of other people: columns of cells, the line of each row, and what could not be read."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.storage.entries import MOST_LISTED, Entry, name_text
from casewise.storage.words import plain_word

SPREADSHEET_ERRORS = frozenset(("#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#NULL!", "#NUM!"))
"""The errors that spreadsheet programs write into cells. #N/A is a missing value."""


EMPTY_ROW = "the row is empty"
"""The reason for which a row without a cell is left out."""

VERBATIM = ("reply", "response", "text")
"""Columns of what a model wrote, in which spaces around a text are a part of it."""


@dataclass(frozen=True)
class RejectedRow:
    """A row that could not be read."""

    line: int | None
    problem: str
    content: Any
    """The row's cells by column, or its text where it could not be split into cells."""


@dataclass(kw_only=True)
class Table:
    """The columns of a file; a cell that says nothing is None."""

    path: Path
    columns: dict[str, list[Any]]
    """Cells by column, in the order of the file."""
    lines: Sequence[int | None]
    """The line on which each row begins; its number where the file has no lines."""
    format: str = ""
    """The name of the format that was recognised."""
    numbered: bool = False
    """True for a JSON array: an error then also names the row's number."""
    decimal_comma: bool = False
    """True where the cells are separated by semicolons, as in countries with a decimal comma."""
    notes: list[str] = field(default_factory=list)
    """Decisions of a reader about what the file does not state, such as its encoding."""
    rejected: list[RejectedRow] = field(default_factory=list)
    """Rows that the reader could not take, such as one with too many cells."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Rows that the format itself marks as no data, by reason: header rows, answers that were not submitted."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def rows(self) -> Iterator[Entry]:
        """Yield the rows as entries, which name the place in an error."""
        return map(self.row, range(len(self)))

    def row(self, place: int) -> Entry:
        """Return the row at a place, counted from 0."""
        where = f"row {place + 1}" if self.numbered else ""
        cells = {name: column[place] for name, column in self.columns.items()}
        return Entry(self.path, self.lines[place], cells, where)

    def whole(self) -> Table:
        """Return the table itself. Raises DataError: a row could not be read."""
        if self.rejected:
            first = self.rejected[0]
            raise DataError(self.path, first.line, first.problem)
        return self

    def renamed(self, names: Mapping[str, str]) -> Table:
        """Return the table with other names for those of its columns whose new name is free."""
        columns: dict[str, list[Any]] = {}
        for name, cells in self.columns.items():
            new = names.get(name, name)
            columns[name if new in self.columns or new in columns else new] = cells
        self.columns = columns
        return self

    def without(self, leave: Callable[[Entry], str | None]) -> Table:
        """Return the table without the rows for which `leave` gives a reason; the reasons are counted in `left_out`."""
        keep = []
        for place, row in enumerate(self.rows):
            if (reason := leave(row)) is None:
                keep.append(place)
            else:
                self.left_out[reason] = self.left_out.get(reason, 0) + 1
        return self.at(keep)

    def where(self, conditions: Iterable[str]) -> Table:
        """Return the rows in which each column of `COLUMN=VALUE` has that value.

        Raises ConfigurationError: a condition has another form, or there is no such column. DataError: no row has the value.
        """
        table = self
        for condition in conditions:
            column, equals, value = condition.partition("=")
            if not equals:
                raise ConfigurationError(f"--where is {condition!r}; write COLUMN=VALUE")
            if (cells := table.columns.get(column)) is None:
                columns = f"{did_you_mean(column, self.names)}; the columns are: {', '.join(self.names[:MOST_LISTED])}"
                raise ConfigurationError(f"--where: there is no column {column!r}{columns}")
            texts = [text_of_cell(cell) for cell in cells]
            alike = [text for text in dict.fromkeys(texts) if plain_word(text) == plain_word(value)]
            if value not in alike and len(alike) != 1:
                values = ", ".join((alike or list(dict.fromkeys(texts)))[:MOST_LISTED])
                found = "several values are written like" if alike else "no row has"
                raise DataError(self.path, None, f"{found} {value!r} in {column!r}; it has {values}")
            wanted = value if value in alike else alike[0]
            places = [place for place, text in enumerate(texts) if text == wanted]
            if len(places) < len(table):
                reason = f"not among those of --where {condition}"
                table.left_out[reason] = len(table) - len(places)
                table = table.at(places)
        return table

    def without_empty_rows(self) -> Table:
        """Return the table without the rows that have no cell; they are counted in `left_out`."""
        empty: Sequence[int] = range(len(self))
        for cells in self.columns.values():
            empty = [place for place in empty if cells[place] is None]
        if not empty:
            return self
        self.left_out[EMPTY_ROW] = self.left_out.get(EMPTY_ROW, 0) + len(empty)
        return self.at(sorted({*range(len(self))}.difference(empty)))

    def at(self, places: Sequence[int]) -> Table:
        """Return the table with the rows at `places`."""
        columns = {name: [cells[place] for place in places] for name, cells in self.columns.items()}
        return replace(self, columns=columns, lines=[self.lines[place] for place in places])


def text_of_cell(cell: Any) -> str:
    """Return a cell as a user writes it: a text, or the JSON of anything else."""
    return "" if cell is None else name_text(cell) if isinstance(cell, (str, float)) else json.dumps(cell, default=str)


def table_of(path: Path, rows: Iterable[Entry], **facts: Any) -> Table:
    """Return entries as a table whose columns are all their keys.

    Raises DataError: there is no row, or a cell is damaged.
    """
    columns: dict[str, list[Any]] = {}
    lines: list[int | None] = []
    cleaned: dict[str, Any] = {}
    for place, entry in enumerate(rows):
        for name, value in entry.values.items():
            cell = clean(value, entry, str(name), cleaned)
            if (column := columns.get(str(name))) is None:
                column = columns[str(name)] = [None] * place
            column.append(cell)
        lines.append(entry.line)
        for column in columns.values():
            if len(column) == place:
                column.append(None)
    if not lines:
        raise DataError(path, None, "holds no rows")
    return Table(path=path, columns=columns, lines=lines, **facts)


def clean(value: Any, entry: Entry, name: str, cleaned: dict[str, Any]) -> Any:
    """Return a cell: a text without spaces around it, and None for what says nothing; equal texts are one object."""
    if isinstance(value, str) and name in VERBATIM:
        if problem := problem_of(value):
            entry.refuse(f"{name!r} {problem}")
        return value if value.strip() else None
    if isinstance(value, str):
        try:
            return cleaned[value]
        except KeyError:
            cell = value.strip() or None
            if cell is not None and (problem := problem_of(cell)):
                entry.refuse(f"{name!r} {problem}")
            cleaned[value] = cell
            return cell
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value in ([], {}) or (isinstance(value, float) and math.isnan(value)):
        return None
    return value


def problem_of(cell: str) -> str | None:
    """Return what is wrong with a text as a cell, or None."""
    if "\0" in cell:
        return "holds a NUL character; it is no text, or was damaged"
    if cell in SPREADSHEET_ERRORS:
        return f"is {cell}, an error of the spreadsheet program; mend it there"
    return None


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
    path = Path(name)
    return table_of(path, (Entry(path, number, row) for number, row in enumerate(rows, 1)), format="frame")


class NanAsNone(ast.NodeTransformer):
    """A reader of the missing numbers in a list as Python writes it. Texts stay as they are."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return None in place of the name nan."""
        return ast.Constant(None) if node.id == "nan" else node


def structured(cell: Any) -> Any:
    """Return the list or object that a text states, as JSON or as Python writes it; any other cell as it is."""
    if isinstance(cell, str) and cell[:1] in ("[", "{") and cell[-1:] in ("]", "}"):
        with suppress(ValueError):
            return json.loads(cell)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            literal = ast.literal_eval(NanAsNone().visit(ast.parse(cell, mode="eval")))
            return list(literal) if isinstance(literal, (list, tuple)) else literal
    return cell


def row_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return a column for each key of the rows."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}


def at(value: Any, *path: str | int) -> Any:
    """Return the value at a path of keys and places in a JSON value; None where the path leads nowhere."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, Mapping) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return value


def object_at(value: Any, *path: str | int) -> Mapping[str, Any]:
    """Return the object at a path in a JSON value; an empty one where there is none."""
    found = at(value, *path)
    return found if isinstance(found, Mapping) else {}


def objects_at(value: Any, *path: str | int) -> list[Mapping[str, Any]]:
    """Return the objects of the list at a path in a JSON value; none where there is no list."""
    found = at(value, *path)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def first_of(values: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the first of the values under these keys that says something; None where none does."""
    return next((values[key] for key in keys if values.get(key) not in (None, "")), None)
