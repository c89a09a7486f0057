"""Langfuse's exports of scores, traces and observations.

After https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields (commit 05bdc0e1 of
github.com/langfuse/langfuse-docs) and `worker/src/features/database-read-stream` of github.com/langfuse/langfuse: the user
interface writes names as in JavaScript, and a column with a list of values for each score. Not checked on an export.
"""

from __future__ import annotations

from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import scores_as_columns
from casewise.storage.intake.formats.format import TableFormat
from casewise.storage.intake.table import Table, first_of, object_at, row_columns, structured

TRACE = ("trace_id", "traceId")

SCORED = ("observation_id", "observationId", *TRACE)
"""Columns with what a score is about: the observation if it is about one, else the trace."""

KINDS = {"data_type", "dataType"}

TEXTS = ("string_value", "stringValue")

PEOPLE = "ANNOTATION"
"""The source of a score that a person gave."""

LISTS = {
    "tags",
    "traceTags",
    "comments",
    "input",
    "output",
    "tool_calls",
    "toolCalls",
    "tool_call_names",
    "toolCallNames",
}
"""Columns of traces and observations that may hold lists and are no scores."""

MODELS = ("provided_model_name", "providedModelName")

FAILURES = ("status_message", "statusMessage")
"""Columns that say why an observation failed."""


def is_scores(table: Table) -> bool:
    """Return whether the rows are scores. Scores that are all texts have no `value`, as its public API may give null."""
    names = set(table.columns)
    return (
        "name" in names
        and bool(names & set(TRACE))
        and (bool(names & set(TEXTS)) or ("value" in names and bool(names & KINDS)))
    )


def read_scores(table: Table) -> Table:
    """Return a row an observation or trace, with a column for each score: its text where it has one, else its number.

    Where people and an evaluator score under one name, the people's column has `(people)` after it.
    """
    other = "a score of a session or of a run of a data set"
    table = table.without(lambda row: other if first_of(row.values, SCORED) is None else None)
    sources: dict[str, set[bool]] = {}
    for row in table.rows:
        sources.setdefault(row.name("name"), set()).add(row.values.get("source") == PEOPLE)

    def column(row: Entry) -> str:
        name = row.name("name")
        return f"{name} (people)" if row.values.get("source") == PEOPLE and len(sources[name]) > 1 else name

    return scores_as_columns(
        table,
        [
            (str(first_of(row.values, SCORED)), column(row), first_of(row.values, (*TEXTS, "value")))
            for row in table.rows
        ],
    )


def is_traces(table: Table) -> bool:
    scores = table.columns.get("scores")
    marks = {"timestamp", "start_time", "startTime"} & set(table.columns)
    return {"id", "input", "output"} <= set(table.columns) and (bool(marks) or scores is not None)


def read_traces(table: Table) -> Table:
    """Return traces or observations with their scores as columns, the output as the reply and the input as the query."""
    table.columns |= row_columns([object_at(scores) for scores in table.columns.pop("scores", ())])
    for name in set(table.columns) - LISTS:
        table.columns[name] = [only_score(cell) for cell in table.columns[name]]
    return table.renamed(
        {"input": "query", "output": "reply", **dict.fromkeys(MODELS, "model"), **dict.fromkeys(FAILURES, "error")}
    )


def only_score(cell: Any) -> Any:
    """Return the one text or number of a list, as the export of the user interface writes a score; any other cell as it is."""
    values = structured(cell)
    return (
        values[0]
        if isinstance(values, list) and len(values) == 1 and isinstance(values[0], (str, int, float))
        else cell
    )


FORMATS = (
    TableFormat("Langfuse scores", "sheet", "Langfuse, export fields", is_scores, read_scores),
    TableFormat("Langfuse traces", "sheet", "Langfuse, export fields and source", is_traces, read_traces),
)
