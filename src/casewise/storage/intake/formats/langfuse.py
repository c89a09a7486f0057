"""Langfuse's exports of scores, traces and enriched observations.

https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields (v3; `scores`, `traces`, `observations_v2`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casewise.storage.intake.formats.format import Format
from casewise.storage.intake.table import Table

TRACE = ("trace_id", "traceId")

OF_A_SCORE = ("name", "value")

TEXTS = ("string_value", "stringValue")


def trace_column(names: Mapping[str, Any]) -> str | None:
    return next((name for name in TRACE if name in names), None)


def is_scores(table: Table) -> bool:
    kinds = {"data_type", "dataType", *TEXTS} & set(table.columns)
    return trace_column(table.columns) is not None and set(OF_A_SCORE) <= set(table.columns) and bool(kinds)


def read_scores(table: Table) -> Table:
    """Return a row a trace, with a column for each score: its text where it has one, else its number."""
    trace = trace_column(table.columns)
    assert trace is not None
    rows: dict[str, dict[str, Any]] = {}
    lines: dict[str, int | None] = {}
    for row in table.rows:
        case, name = row.name(trace), row.name("name")
        text = next((row.values[column] for column in TEXTS if row.has(column)), None)
        cells = rows.setdefault(case, {"id": case})
        lines.setdefault(case, row.line)
        if name in cells:
            row.refuse(f"{case!r} has two scores called {name!r}; export those of one evaluator")
        cells[name] = row.values.get("value") if text is None else text
    names = dict.fromkeys(name for cells in rows.values() for name in cells)
    table.columns = {name: [cells.get(name) for cells in rows.values()] for name in names}
    table.lines = list(lines.values())
    return table


def is_traces(table: Table) -> bool:
    scores = table.columns.get("scores")
    marks = {"timestamp", "start_time"} & set(table.columns)
    return {"id", "input", "output"} <= set(table.columns) and (bool(marks) or scores is not None)


def read_traces(table: Table) -> Table:
    """Return traces with their scores as columns, the output as the reply and the input as the query."""
    for name in dict.fromkeys(
        name for scores in table.columns.get("scores", ()) if isinstance(scores, Mapping) for name in scores
    ):
        table.columns[str(name)] = [
            scores.get(name) if isinstance(scores, Mapping) else None for scores in table.columns["scores"]
        ]
    table.columns.pop("scores", None)
    return table.renamed({"input": "query", "output": "reply"})


FORMATS = (
    Format("Langfuse scores", "sheet", "Langfuse v3, blob storage export", is_scores, read_scores),
    Format("Langfuse traces", "sheet", "Langfuse v3, export from the UI", is_traces, read_traces),
)
