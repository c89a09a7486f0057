"""CSV with any separator, as RFC 4180 describes it and spreadsheet programs write it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from casewise.errors import ConfigurationError, DataError
from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import GivenFile, TableFormat
from casewise.storage.intake.table import EMPTY_ROW, RejectedRow, Table, clean, problem_of
from casewise.text import count_of

SEPARATORS = (",", ";", "\t", "|", "\x1f", "^", "~")

SAMPLE = 50
"""Records that are read to find the separator."""

NAMES = {"\t": "TSV"}

UNFILLED = ("Approve", "Reject")
"""The last columns of MTurk's batch results, for the requester to fill in: rows have no cells for them."""


def read(given: GivenFile) -> Table:
    """Return the rows of a CSV file; a row with another number of cells than there are columns is rejected.

    Raises DataError: it is none, or holds nothing; the message says where.
    """
    path, opened = given.path, opened_text(given)
    names, delimiter = opened.names, opened.delimiter
    columns: list[list[Any]] = [[] for _ in names]
    lines: list[int] = []
    rejected: list[RejectedRow] = list(given.rejected)
    cleaned: dict[str, Any] = {}
    width, n_empty = len(names), 0
    filled = len(names) - len(UNFILLED) if names[-len(UNFILLED) :] == UNFILLED else None
    for line, stated in opened.records:
        cells = [*stated, *[""] * len(UNFILLED)] if len(stated) == filled else stated
        if not any(map(str.strip, cells)):
            n_empty += 1
            continue
        if len(cells) != width:
            problem = f"has {count_of(len(cells), 'cell')}, and there are {count_of(width, 'column')}; is a text not in quotes?"
            rejected.append(RejectedRow(line, problem, delimiter.join(cells)))
            continue
        try:
            for column, cell in zip(columns, cells, strict=True):
                column.append(cleaned[cell])
        except KeyError:
            for column in columns:
                del column[len(lines) :]
            row = dict(zip(names, cells, strict=True))
            damaged = {name: problem_of(text.strip()) for name, text in row.items()}
            if wrong := next((f"{name!r} {what}" for name, what in damaged.items() if what), None):
                rejected.append(RejectedRow(line, wrong, delimiter.join(cells)))
                continue
            entry = Entry(path, line, row)
            for column, (name, cell) in zip(columns, row.items(), strict=True):
                column.append(clean(cell, entry, name, cleaned))
        lines.append(line)
    if not lines and not rejected:
        raise DataError(path, None, "holds no rows: a table has a line of column names and rows below it")
    return Table(
        path=path,
        columns=dict(zip(names, columns, strict=True)),
        lines=lines,
        format=NAMES.get(delimiter, "CSV"),
        decimal_comma=delimiter == ";",
        notes=[*given.notes, *([] if delimiter in ",\t" else [f"Cells are separated by {delimiter!r}."])],
        rejected=rejected,
        left_out={EMPTY_ROW: n_empty} if n_empty else {},
    )


class OpenedText(NamedTuple):
    """A CSV text after its header."""

    names: tuple[str, ...]
    records: Iterator[tuple[int, Sequence[str]]]
    """The records that are left, each with the line that it begins on."""
    delimiter: str


def opened_text(given: GivenFile) -> OpenedText:
    """Return the names of a CSV file's columns and its records. Raises DataError: it is empty, or a name stands twice."""
    path, whole = given.path, given.text
    first = whole.split("\n", 1)[0].rstrip("\r")
    announced = first[4] if first.lower().startswith("sep=") and len(first) == 5 else None
    csv.field_size_limit(max(csv.field_size_limit(), len(whole)))  # a context may be a whole document
    above = (given.options.header_line or 1) - 1
    below = "\n".join(whole.split("\n")[above:]) if above else whole
    delimiter = given.options.delimiter or announced or separator_of(below)
    if len(delimiter) != 1:
        raise ConfigurationError(f"--delimiter is {delimiter!r}; it is one character")
    records = csv_records(path, below, delimiter, above=above)
    if announced and not above:
        next(records, None)
    header = next((record for record in records if any(map(str.strip, record[1]))), None)
    if header is None:
        raise DataError(path, None, "is empty" if not above else f"has no line {above + 1}")
    if above:
        given.notes.append(f"The columns are named on line {header[0]}; {count_of(above, 'line was')} left out above.")
    return OpenedText(column_names(path, header, given.notes), records, delimiter)


def separator_of(text: str) -> str:
    """Return the character that gives most columns, the same number in the first records, outside quotes."""
    sample = text[: 2**20]

    def columns(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        widths = [len(cells) for cells in islice(reader, SAMPLE) if any(cell.strip() for cell in cells)]
        if not widths or widths[0] < 2:
            return (0.0, 0)
        return (sum(width == widths[0] for width in widths) / len(widths), widths[0])

    candidates = {delimiter: columns(delimiter) for delimiter in SEPARATORS if delimiter in sample}
    best = max(candidates, key=lambda delimiter: candidates[delimiter], default=",")
    return best if candidates.get(best, (0, 0))[1] else ","


def column_names(path: Path, header: tuple[int, Sequence[str]], notes: list[str]) -> tuple[str, ...]:
    """Return the names in the first record; a column without one is named by its place."""
    line, cells = header
    names = tuple(name.strip() or f"column {place}" for place, name in enumerate(cells, 1))
    if unnamed := [place for place, name in enumerate(cells, 1) if not name.strip()]:
        notes.append(f"Columns without a name: {', '.join(f'column {place}' for place in unnamed)}.")
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise DataError(
            path,
            line,
            f"two columns are called {twice[0]!r}; give each a name of its own, or the line of the names with --header-line",
        )
    return names


def csv_records(path: Path, text: str, delimiter: str, *, above: int = 0) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the records of a CSV text whose lines are not blank, with the line that each begins on, `above` lines below the first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = above + 1
    try:
        for cells in reader:
            if cells:
                yield begins, cells
            begins = above + reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, begins, f"is no CSV: {error}") from error


FORMATS = (TableFormat("CSV", "sheet", "RFC 4180; `sep=` as Excel writes it", lambda _: False, read),)
"""Every text that is no JSON is read as CSV, and other formats of a sheet are recognised in the table."""
