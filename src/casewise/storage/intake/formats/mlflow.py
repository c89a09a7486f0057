"""MLflow's traces with assessments.

After `Assessment.to_dictionary` in `mlflow/entities/assessment.py` of github.com/mlflow/mlflow, as 3.0 and as the releases
before it write it, and files that mlflow 3.17 wrote.

`mlflow.search_traces` and `mlflow.genai.evaluate(...).result_df` give a row a trace. `mlflow.evaluate` writes the table that
`split_json` reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import TableFormat
from casewise.storage.intake.table import Table, at, objects_at, row_columns, structured

ASSESSMENTS = "assessments"


def is_traces(table: Table) -> bool:
    return {"trace_id", ASSESSMENTS} <= set(table.columns)


def read(table: Table) -> Table:
    """Return traces with the request as the query, the response as the reply, and a column for each assessment.

    Raises DataError: a trace has two assessments of one name.
    """
    assessed = [assessments_of(row) for row in table.rows]
    columns = {name: cells for name, cells in table.columns.items() if name not in (ASSESSMENTS, "trace", "spans")}
    table.columns = columns | row_columns(assessed)
    for name in ("request", "response"):
        if name in table.columns:
            table.columns[name] = [only_value(cell) for cell in table.columns[name]]
    return table.renamed({"trace_id": "id", "request": "query", "response": "reply"})


def assessments_of(row: Entry) -> dict[str, Any]:
    """Return the value of each assessment of a trace; a person's has `(people)` after its name."""
    values: dict[str, Any] = {}
    for assessment in objects_at(structured(row.values.get(ASSESSMENTS))):
        if assessment.get("valid") is False:
            continue  # another assessment overrides it
        name = str(assessment.get("assessment_name", assessment.get("name", "assessment")))
        if at(assessment, "source", "source_type") == "HUMAN":
            name = f"{name} (people)"
        if name in values:
            row.refuse(f"the trace has two assessments called {name!r}; keep one")
        stated = assessment.get("feedback") or assessment.get("expectation")  # before release 3 the other is null
        values[name] = stated_value(stated) if isinstance(stated, Mapping) else assessment.get("value")
    return values


def stated_value(stated: Mapping[str, Any]) -> Any:
    """Return what a feedback or an expectation states; an expectation that is a list or an object stands there as JSON."""
    serialized = stated.get("serialized_value")
    return structured(serialized.get("value")) if isinstance(serialized, Mapping) else stated.get("value")


def only_value(cell: Any) -> Any:
    """Return the text that a request or response states as JSON, alone or as the one value of an object."""
    value = structured(cell)
    if isinstance(cell, str) and cell.startswith('"'):
        with suppress(ValueError):
            return json.loads(cell)
    if isinstance(value, Mapping) and len(value) == 1 and isinstance(only := next(iter(value.values())), str):
        return only
    return cell


FORMATS = (TableFormat("MLflow traces", "sheet", "mlflow 3.17, search_traces", is_traces, read),)
