"""Parts that several readers share: answers of people and scores of evaluators as columns of a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from casewise.storage.entries import Entry, text_or_json
from casewise.storage.intake.table import Table, row_columns

ANNOTATOR = "annotator"
"""The column with who answered."""

NO_ANSWER = "no case has a submitted answer yet"


def answer_row(entry: Entry, cells: Mapping[str, Any], answers: Mapping[str, Any], annotator: str) -> dict[str, Any]:
    """Return the fields of a case with one person's answers. No question may have the name of a column of the case."""
    if twice := set(answers) & set(cells):
        entry.refuse(f"the question {min(twice)!r} is called as a field of the data; rename one of them in the tool")
    return {**cells, **answers, ANNOTATOR: annotator}


def metadata_columns(metadata: Any) -> dict[str, Any]:
    """Return a column `metadata.NAME` for each field of metadata; nothing where there are none."""
    return {f"metadata.{name}": cell for name, cell in metadata.items()} if isinstance(metadata, Mapping) else {}


def single(values: Any) -> Any:
    """Return one answer as itself, and several as a text with commas."""
    if not isinstance(values, list):
        return values
    return values[0] if len(values) == 1 else ", ".join(map(text_or_json, values))


def scores_as_columns(table: Table, scores: Iterable[tuple[str, str, Any]]) -> Table:
    """Return a row a case with a column for each score, from a table with a row a score; `scores` are case, name and value of each row.

    Raises DataError: a case has two scores of one name.
    """
    rows: dict[str, dict[str, Any]] = {}
    lines: dict[str, int | None] = {}
    for place, (case, name, value) in enumerate(scores):
        lines.setdefault(case, table.lines[place])
        cells = rows.setdefault(case, {"id": case})
        if name in cells:
            table.row(place).refuse(f"{case!r} has two scores called {name!r}; export those of one evaluator")
        cells[name] = value
    table.columns, table.lines = row_columns([*rows.values()]), [*lines.values()]
    return table
