"""Tables that pandas writes as JSON, and MLflow's evaluation tables.

pandas 2.3, `DataFrame.to_json(orient="split")` and the default `orient="columns"`. MLflow 3, `eval_results_table.json` of
`mlflow.evaluate`, is the first of them: an object with `columns` and `data`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import GivenFile, TableFormat
from casewise.storage.intake.table import Table
from casewise.text import count_of


def is_split(seen: Mapping[str, Any]) -> bool:
    columns, data = seen.get("columns"), seen.get("data")
    return isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data)


def read_split(given: GivenFile) -> Table:
    """Return the rows under `data`, whose cells are in the order of `columns`; MLflow's inputs are the queries and its outputs the replies."""
    whole = given.objects[0]
    names = [str(name) for name in whole.list("columns")]
    rows = []
    for number, cells in enumerate(whole.list("data"), 1):
        if len(cells) != len(names):
            whole.refuse(
                f"row {number} of 'data' has {count_of(len(cells), 'cell')}, and there are {count_of(len(names), 'column')}"
            )
        rows.append(Entry(given.path, number, dict(zip(names, cells, strict=True))))
    table = given.table(rows)
    return table.renamed({"inputs": "query", "outputs": "reply"}) if {"inputs", "outputs"} <= set(names) else table


def is_by_column(seen: Mapping[str, Any]) -> bool:
    values = list(seen.values())
    return (
        bool(values)
        and all(isinstance(cells, dict) and cells.keys() == values[0].keys() for cells in values)
        and all(key.isdecimal() for key in values[0])
    )


def read_by_column(given: GivenFile) -> Table:
    """Return the rows of an object with a column under each key, whose cells lie under the rows' numbers."""
    columns = given.objects[0].values
    keys = list(next(iter(columns.values())))
    return given.table(
        Entry(given.path, number, {name: cells[key] for name, cells in columns.items()})
        for number, key in enumerate(keys, 1)
    )


FORMATS = (
    TableFormat(
        "JSON in columns and rows (pandas split, MLflow)", "objects", "pandas 2.3; MLflow 3", is_split, read_split
    ),
    TableFormat("JSON by column (pandas)", "objects", "pandas 2.3", is_by_column, read_by_column),
)
