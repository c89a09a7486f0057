"""Phoenix's spans and annotations as tables, after `phoenix.client.resources.spans` of github.com/Arize-ai/phoenix (client 1.x).

`get_spans_dataframe` gives a row a span. `get_span_annotations_dataframe` gives a row for each annotation of a span, by an
evaluator or a person. Older evaluations (`to_dataframe`) have `context.span_id`, `label` and `score`.
"""

from __future__ import annotations

from typing import Any

from casewise.storage.intake.formats.format import Format
from casewise.storage.intake.table import Table

SPAN = "context.span_id"

NAMES = {
    SPAN: "id",
    "attributes.input.value": "query",
    "attributes.output.value": "reply",
    "attributes.llm.model_name": "model",
    "label": "verdict",
}

ANNOTATIONS = {"span_id", "annotation_name"}

LABEL, SCORE = ("result.label", "label"), ("result.score", "score")


def is_spans(table: Table) -> bool:
    return SPAN in table.columns and bool({"attributes.input.value", "label", "score"} & set(table.columns))


def read(table: Table) -> Table:
    """Return spans with their inputs as queries and outputs as replies, and evaluations with their labels as verdicts."""
    return table.renamed(
        {name: new for name, new in NAMES.items() if name in table.columns and new not in table.columns}
    )


def read_annotations(table: Table) -> Table:
    """Return a row a span, with a column for each kind of annotation: its label where it has one, else its score.

    Raises DataError: a span has two annotations of one name and kind.
    """
    rows: dict[str, dict[str, Any]] = {}
    lines: dict[str, int | None] = {}
    for row in table.rows:
        span, name = row.name("span_id"), row.name("annotation_name")
        if row.has("annotator_kind") and row.name("annotator_kind") == "HUMAN":
            name = f"{name} (people)"
        cells = rows.setdefault(span, {"id": span})
        lines.setdefault(span, row.line)
        if name in cells:
            row.refuse(f"{span!r} has two annotations called {name!r}; export those of one evaluator")
        cells[name] = next((row.values[column] for column in (*LABEL, *SCORE) if row.has(column)), None)
    names = dict.fromkeys(name for cells in rows.values() for name in cells)
    table.columns = {name: [cells.get(name) for cells in rows.values()] for name in names}
    table.lines = list(lines.values())
    return table


SOURCE = "Phoenix, client 1.x"

FORMATS = (
    Format("Phoenix annotations", "sheet", SOURCE, lambda table: set(table.columns) >= ANNOTATIONS, read_annotations),
    Format("Phoenix", "sheet", SOURCE, is_spans, read),
)
