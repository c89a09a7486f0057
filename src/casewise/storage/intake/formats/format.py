"""Formats: how a file is recognised by its content, and how it becomes a table."""

from __future__ import annotations

import codecs
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from cyclopts.types import PositiveInt

from casewise.errors import ConfigurationError, DataError
from casewise.options import Words
from casewise.storage.entries import Entry
from casewise.storage.files import LENIENT, cannot_read, parse, rows
from casewise.storage.intake.table import RejectedRow, Table, table_of

HEAD = 65_536
"""Bytes of a file that are looked at to recognise it."""

BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class FileOptions:
    """Facts about a file that casewise otherwise finds by its content."""

    encoding: str | None = None
    """Encoding of a text file, such as gb18030. Default: UTF-8 or UTF-16; a file that is neither is read as Windows-1252."""
    delimiter: str | None = None
    """The character between the cells of a CSV file."""
    header_line: PositiveInt | None = None
    """The line of a CSV file, or the row of a sheet, that names the columns; those above it are left out. Default: the first."""
    sheet: str | None = None
    """The sheet of a workbook, if several have rows."""
    where: Words = ()
    """Read only the rows with this value in a column: COLUMN=VALUE; may be repeated. For one model, filter or evaluator of several."""


WEB_PAGE = "is a web page (HTML) or XML, not a table; download the file itself"
COMPRESSED = "is compressed; unpack it and give the file in it"

NO_TABLES = {
    **dict.fromkeys((b"<!doctype", b"<html", b"<?xml"), WEB_PAGE),
    **dict.fromkeys((b"\x1f\x8b", b"bzh", b"\xfd7zxz", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd"), COMPRESSED),
    b"%pdf": "is a PDF, not a table; give the table itself",
    b"sqlite format 3": "is a database; export the table as CSV",
}
"""The first bytes of files that are no tables, in small letters, and what to say of them."""


class GivenFile:
    """A file or folder that a user gives, read as far as it takes to recognise it."""

    def __init__(self, path: Path, options: FileOptions = FileOptions()) -> None:
        self.path, self.options = path, options
        self.notes: list[str] = []
        self.rejected: list[RejectedRow] = []

    @cached_property
    def head(self) -> bytes:
        """The first bytes; none for a folder."""
        if self.path.is_dir():
            return b""
        try:
            with self.path.open("rb") as file:
                return file.read(HEAD)
        except OSError as error:
            raise cannot_read(self.path, error) from error

    @cached_property
    def members(self) -> list[str]:
        """The names of the files in a ZIP archive; none for another file. Raises DataError: the archive is damaged."""
        if not self.head.startswith(b"PK\x03\x04"):
            return []
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.namelist()
        except zipfile.BadZipFile as error:
            raise DataError(self.path, None, f"begins as a ZIP archive and is none: {error}") from error

    @cached_property
    def text(self) -> str:
        """The whole text. Raises DataError: it is no text; the message says where and what to do."""
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise cannot_read(self.path, error) from error
        text = self.decoded(raw)
        if (at := text.find("\0")) >= 0:
            line = text.count("\n", 0, at) + 1
            raise DataError(self.path, line, "holds a NUL character; it is no text, or was damaged")
        return text

    def decoded(self, raw: bytes) -> str:
        """Return the text in the encoding that is stated, that the file's mark says, or that it can be read in."""
        stated = self.options.encoding
        marked = next((encoding for mark, encoding in BOMS if raw.startswith(mark)), None)
        try:
            text = raw.decode(marked or "utf-8" if stated is None else stated).removeprefix("\ufeff")
        except LookupError as error:
            raise ConfigurationError(f"no encoding is called {stated!r}") from error
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            if stated is not None:
                raise DataError(self.path, line, f"is no {stated}: {error.reason}") from error
            if marked is not None:
                problem = f"begins as {marked.upper()} and is none: {error.reason}"
                raise DataError(self.path, None, problem) from error
            return self.windows_text(raw, error, line)
        except UnicodeError as error:  # of encodings that say no position, such as punycode
            raise DataError(self.path, None, f"is no {stated}: {error}") from error
        if stated is None and marked not in (None, "utf-8-sig"):
            self.notes.append(f"The file is {str(marked).upper()}.")
        return text

    def windows_text(self, raw: bytes, problem: UnicodeDecodeError, line: int) -> str:
        """Return the text in Windows-1252. Raises DataError: it is none either; `problem` is the one with UTF-8."""
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            byte = f"byte 0x{raw[problem.start]:02x} is neither UTF-8 nor Windows-1252; save the file as UTF-8"
            raise DataError(self.path, line, byte) from problem
        if "\0" in text:
            no_text = "is no text file, and no format that casewise knows; if it is UTF-16, give --encoding utf-16-le"
            raise DataError(self.path, None, no_text) from problem
        self.notes.append(f"The file is not UTF-8 (line {line}); it was read as Windows-1252.")
        return text

    @cached_property
    def is_json(self) -> bool:
        """True if the text begins as a JSON object or array."""
        return self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def objects(self) -> list[Entry]:
        """The objects of a JSON array or of JSON Lines, or the one object of the file, with the lines that they begin on.

        Raises DataError: there are none, or the first is no object. Later lines that are none are in `rejected`.
        """
        text = self.text
        if text.lstrip().startswith("["):
            numbered = enumerate(rows(text, path=self.path, decoder=LENIENT), 1)
            entries = [Entry(self.path, line, value, f"row {number}") for number, (line, value) in numbered]
        else:
            entries = self.lines(text) or [Entry(self.path, 1, parse(text, path=self.path, decoder=LENIENT))]
        if not entries:
            raise DataError(self.path, None, "holds no rows")
        return entries

    def lines(self, text: str) -> list[Entry]:
        """Return the objects of JSON Lines; none where the first line is no whole object."""
        numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        try:
            json.loads(numbered[0][1])
        except ValueError:
            if len(numbered) == 1 or not numbered[1][1].lstrip().startswith("{"):
                return []
        entries = []
        for number, line in numbered:
            try:
                entries.append(Entry(self.path, number, parse(line, path=self.path, line=number, decoder=LENIENT)))
            except DataError as error:
                self.rejected.append(RejectedRow(number, error.problem, line.strip()))
        if not entries:
            raise DataError(self.path, self.rejected[0].line, self.rejected[0].problem)
        return entries

    @property
    def is_array(self) -> bool:
        """True for a JSON array, whose rows are counted."""
        return self.text.lstrip().startswith("[")

    def table(
        self, cells: Iterable[Entry], *, empty: str = "holds no rows", left_out: Mapping[str, int] | None = None
    ) -> Table:
        """Return rows of this file as a table. Raises DataError: there are none; `empty` says what that means."""
        entries = list(cells)
        if not entries:
            raise DataError(self.path, None, empty)
        return table_of(
            self.path,
            entries,
            numbered=self.is_array,
            notes=list(self.notes),
            rejected=list(self.rejected),
            left_out=dict(left_out or {}),
        )


Level = Literal["folder", "bytes", "objects", "sheet"]

Cells = Callable[[Entry], Iterable[Mapping[str, Any]]]
"""Returns the rows that an object of a file holds."""


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    A reader of `bytes` or of a `folder` is given the file. One of `objects` is given the file too, and finds its JSON objects
    there. One of a `sheet` is given the table of a CSV file and returns it mended.
    """

    name: str
    level: Level
    source: str
    """The documentation that the reader was written after, with its version."""
    matches: Callable[[Any], bool]
    """Return whether a file (`folder`, `bytes`), its first object (`objects`) or its table (`sheet`) is of this format."""
    read: Callable[[Any], Table]


def rows_of(file: GivenFile, cells: Cells) -> list[Entry]:
    """Return the rows that each object of a file holds, with the place of the object."""
    return [Entry(file.path, entry.line, row, entry.where) for entry in file.objects for row in cells(entry)]


def reader(cells: Cells, *, empty: str = "holds no rows") -> Callable[[GivenFile], Table]:
    """Return the reader of a format by the rows that each object of its files holds; `empty` says what it means that there are none."""
    return lambda given: given.table(rows_of(given, cells), empty=empty)
