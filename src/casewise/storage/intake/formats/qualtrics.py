"""Qualtrics' CSV, whose second and third row are the questions and their import ids.

https://www.qualtrics.com/support/survey-platform/data-and-analysis-module/data/download-data/ (2025)
"""

from __future__ import annotations

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import Format
from casewise.storage.intake.table import Table

IMPORT_ID = '{"ImportId"'

KINDS_OF_TEST = ("Survey Preview", "Survey Test", "1", "2")
"""Values of Status for answers that the survey's author made: a preview or generated test answers."""


def is_qualtrics(table: Table) -> bool:
    return len(table) >= 2 and any(
        isinstance(cells[1], str) and cells[1].replace(" ", "").startswith(IMPORT_ID)
        for cells in table.columns.values()
    )


def read(table: Table) -> Table:
    """Return the table without the two further header rows and without previews of the survey."""
    header = {table.lines[0], table.lines[1]}

    def reason(row: Entry) -> str | None:
        if row.line in header:
            return "a header row of Qualtrics"
        return "a preview of the survey" if row.values.get("Status") in KINDS_OF_TEST else None

    return table.without(reason)


FORMATS = (Format("Qualtrics CSV", "sheet", "Qualtrics, Data Export Formats (2025)", is_qualtrics, read),)
