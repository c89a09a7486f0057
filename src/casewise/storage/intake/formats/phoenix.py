"""Phoenix's spans and annotations as tables, after `phoenix.client.resources.spans` of github.com/Arize-ai/phoenix (client 1.x).

`get_spans_dataframe` gives a row a span, and what was saved of it in 2026 has the messages in columns of their own.
`get_span_annotations_dataframe` gives a row for each annotation of a span, by an evaluator or a person. Older evaluations
(`to_dataframe`) have `context.span_id`, `label` and `score`.
"""

from __future__ import annotations

from casewise.storage.intake.formats.annotations import scores_as_columns
from casewise.storage.intake.formats.format import TableFormat
from casewise.storage.intake.table import Table, first_of

SPAN = "context.span_id"

OUTPUT, MESSAGE = "attributes.output.value", "attributes.llm.output_messages.0.message.content"

NAMES = {
    SPAN: "id",
    "context.trace_id": "trace_id",
    "attributes.input.value": "query",
    OUTPUT: "reply",
    "attributes.llm.model_name": "model",
    "label": "verdict",
    "status_message": "error",
}

ANNOTATIONS = {"span_id", "annotation_name"}

VALUES = ("result.label", "label", "result.score", "score")
"""Columns with what an annotation says, the first that is filled counting."""


def is_spans(table: Table) -> bool:
    return SPAN in table.columns and bool({"attributes.input.value", "label", "score"} & set(table.columns))


def read(table: Table) -> Table:
    """Return spans with their inputs as queries and outputs as replies, and evaluations with their labels as verdicts."""
    table.columns.pop("id", None)  # Phoenix's own; annotations and evaluations name the span
    messages, whole = table.columns.get(MESSAGE), table.columns.get(OUTPUT)
    if messages is not None:  # the output is then the whole object that the model's interface returned
        table.columns[OUTPUT] = [cells[0] or cells[1] for cells in zip(messages, whole or messages, strict=True)]
    return table.renamed(NAMES)


def read_annotations(table: Table) -> Table:
    """Return a row a span, with a column for each kind of annotation: its label where it has one, else its score."""
    people = {"HUMAN": " (people)"}
    return scores_as_columns(
        table,
        [
            (
                row.name("span_id"),
                row.name("annotation_name") + people.get(str(row.values.get("annotator_kind")), ""),
                first_of(row.values, VALUES),
            )
            for row in table.rows
        ],
    )


SOURCE = "Phoenix, client 1.x"

FORMATS = (
    TableFormat(
        "Phoenix annotations", "sheet", SOURCE, lambda table: set(table.columns) >= ANNOTATIONS, read_annotations
    ),
    TableFormat("Phoenix", "sheet", SOURCE, is_spans, read),
)
