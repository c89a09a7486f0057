"""Excel workbooks, read by polars with calamine. https://docs.pola.rs (polars 1.30 to 2.1, `read_excel`)."""

from __future__ import annotations

import re
import zipfile

import polars as pl

from casewise.errors import ConfigurationError, DataError
from casewise.plugins import install_command
from casewise.storage.intake.formats.format import GivenFile, TableFormat
from casewise.storage.intake.table import Table, frame_table
from casewise.text import count_of

UNSAVED_FORMULA = re.compile(rb'<c r="(\w+)"(?: s="\d+")?><f[^>]*>[^<]*</f>(?:<v\s*/>|<v></v>)?</c>')
"""The cell of a formula without a value. One whose value is an empty text says so by its type."""

OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def is_workbook(given: GivenFile) -> bool:
    return given.head.startswith(OLD_EXCEL) or any(
        name.startswith(("xl/workbook", "content.xml")) for name in given.members
    )


def read(given: GivenFile) -> Table:
    """Return the one sheet of a workbook with rows, or the one that is named; a row's line is its row in the sheet.

    Raises ConfigurationError: the reader is not installed. DataError: the workbook cannot be read.
    """
    above = (given.options.header_line or 1) - 1
    try:
        sheets = pl.read_excel(
            given.path,
            sheet_id=0,
            engine="calamine",
            infer_schema_length=None,
            raise_if_empty=False,
            drop_empty_rows=False,
            read_options={"header_row": above} if above else None,
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{given.path} is a workbook, which needs fastexcel: {install_command('excel')}"
        ) from error
    except Exception as error:  # calamine raises a class of its own for a damaged workbook
        raise DataError(given.path, None, f"is a workbook that cannot be read: {error}") from error
    full = {name: sheet for name, sheet in sheets.items() if any(len(column.drop_nulls()) for column in sheet)}
    if not full:
        raise DataError(given.path, None, "holds no rows")
    wanted = given.options.sheet
    if wanted is not None and wanted not in full:
        raise ConfigurationError(
            f"{given.path} has no sheet {wanted!r} with rows; there are {', '.join(map(repr, full))}"
        )
    if wanted is None and len(full) > 1:
        raise ConfigurationError(
            f"{given.path} has several sheets with rows ({', '.join(map(repr, full))}); give --sheet {next(iter(full))!r} or another"
        )
    refuse_unsaved_formulas(given)
    table = frame_table(full[wanted] if wanted is not None else next(iter(full.values())), str(given.path))
    table.lines = [(line or 0) + above + 1 for line in table.lines]
    if above:
        table.notes.append(f"The columns are named in row {above + 1}; {count_of(above, 'row was')} left out above.")
    return table


def refuse_unsaved_formulas(given: GivenFile) -> None:
    """Raise DataError if a sheet holds formulas without their values, as a program writes them that does not compute."""
    for name in given.members:
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            with zipfile.ZipFile(given.path) as archive:
                sheet = archive.read(name)
            if match := UNSAVED_FORMULA.search(sheet):
                problem = f"the formula in cell {match[1].decode()} has no value; open the workbook in a spreadsheet program and save it"
                raise DataError(given.path, None, problem)


FORMATS = (TableFormat("Excel", "bytes", "polars 2.1, read_excel with calamine", is_workbook, read),)
