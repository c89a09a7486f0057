"""Prolific's demographic export. https://researcher-help.prolific.com, "Exporting demographic data" (2025), and a public file of 2024."""

from __future__ import annotations

from casewise.storage.intake.formats.format import TableFormat
from casewise.storage.intake.table import Table

NOT_SAID = ("CONSENT_REVOKED", "DATA_EXPIRED", "Prefer not to say", "Rather not say", "Don't know/Rather not say")
"""Cells that state no trait: the person withdrew it, it is too old, or they did not want to say."""

OF_THE_SUBMISSION = (
    "Submission id", "Status", "Custom study tncs accepted at", "Started at", "Completed at", "Reviewed at", "Archived at",
    "Time taken", "Completion code", "Total approvals",
)  # fmt: skip
"""Columns that are no traits of the person."""


def is_demographics(table: Table) -> bool:
    return "Submission id" in table.columns and bool({"Participant id", "Total approvals"} & set(table.columns))


def read(table: Table) -> Table:
    """Return a row a person, with traits only."""
    table.columns = {
        name: [None if cell in NOT_SAID else cell for cell in cells]
        for name, cells in table.columns.items()
        if name not in OF_THE_SUBMISSION
    }
    return table


FORMATS = (TableFormat("Prolific demographics", "sheet", "Prolific, demographic export (2025)", is_demographics, read),)
