"""Qualtrics' CSV, whose second and third row are the questions and their import ids.

After "Understanding Your Dataset" under https://www.qualtrics.com/support/survey-platform/, which says that CSV files have three
rows of headers, the export among the tests of github.com/ropensci/qualtRics, and public scripts for the words and codes of Status.
People often delete the two further rows of headers; the columns of Qualtrics itself then say what the file is.
"""

from __future__ import annotations

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import TableFormat
from casewise.storage.intake.table import Table
from casewise.text import count_of

IMPORT_ID = '{"ImportId"'

OF_THE_AUTHOR = ("Survey Preview", "Survey Test", "Survey Preview Spam", "Offline Survey Preview", "1", "2", "9", "17")
"""Values of Status, in words or as codes, for answers that the survey's author made: previews and generated test answers."""

SYNTHETIC = ("Synthetic", "256")
"""Values of Status for answers that a model made up."""

SPAM = ("Spam", "Survey Preview Spam", "Imported Spam", "EX Spam", "8", "12", "40")


COLUMNS = {"ResponseId", "RecordedDate", "Status"}


def has_three_headers(table: Table) -> bool:
    return len(table) >= 2 and any(
        isinstance(cells[1], str) and cells[1].replace(" ", "").startswith(IMPORT_ID)
        for cells in table.columns.values()
    )


def read(table: Table) -> Table:
    """Return the table without the two further header rows and without previews of the survey and synthetic answers."""
    header = set(table.lines[:2]) if has_three_headers(table) else set()

    def reason(row: Entry) -> str | None:
        if row.line in header:
            return "a header row of Qualtrics"
        if str(row.values.get("Status")) in SYNTHETIC:
            return "a synthetic answer, which no person gave"
        return "a preview of the survey" if str(row.values.get("Status")) in OF_THE_AUTHOR else None

    answers = table.without(reason)
    if spam := sum(str(status) in SPAM for status in answers.columns.get("Status", ())):
        answers.notes.append(f"Qualtrics marks {count_of(spam, 'answer')} as possible spam; casewise keeps them.")
    return answers


FORMATS = (
    TableFormat(
        "Qualtrics CSV",
        "sheet",
        "Qualtrics, Understanding Your Dataset",
        lambda table: has_three_headers(table) or set(table.columns) >= COLUMNS,
        read,
    ),
)
