"""Phoenix's spans and evaluations as tables. https://arize.com/docs/phoenix (11), `get_spans_dataframe` and `to_dataframe`."""

from __future__ import annotations

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


def is_spans(table: Table) -> bool:
    return SPAN in table.columns and bool({"attributes.input.value", "label", "score"} & set(table.columns))


def read(table: Table) -> Table:
    """Return spans with their inputs as queries and outputs as replies, and evaluations with their labels as verdicts."""
    return table.renamed(
        {name: new for name, new in NAMES.items() if name in table.columns and new not in table.columns}
    )


FORMATS = (Format("Phoenix", "sheet", "Phoenix 11, spans and evaluations as data frames", is_spans, read),)
