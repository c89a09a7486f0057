"""Label Studio's exports: JSON, JSON-MIN and CSV.

After https://labelstud.io/guide/task_format, `src/label_studio_sdk/converter` of github.com/HumanSignal/label-studio-sdk (commits
0015729c, 0e270f31 and 10a2d50e) and public exports of 2024 to 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import NO_ANSWER, answer_row, single
from casewise.storage.intake.formats.format import GivenFile, TableFormat, rows_of
from casewise.storage.intake.table import Table, structured

FORMS = ("choices", "rating", "number", "text", "taxonomy", "datetime", "selected")
"""Keys of a result's value that hold an answer."""

WHOLE_CASE_KEYS = {"type", "original_width", "original_height", "id", "parentID"}
"""Keys that may stand beside an answer about the whole case. Any other, such as `start` or `x`, says that it is about a region."""

MIN_COLUMNS = {"annotation_id", "annotator", "lead_time"}
"""Columns that JSON-MIN and CSV always have."""


def answers_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers to a task: each annotation that was not cancelled is a person's."""
    cells = {"id": entry.name("id")} if entry.has("id") else {}
    cells |= dict(entry.entry("data").values)
    for annotation in entry.entries("annotations"):
        if cancelled(annotation.values):
            continue
        answers = {}
        for result in annotation.entries("result"):
            value = result.entry("value").values
            if form := form_of(value):
                answers[result.name("from_name")] = single(value[form])
        by = annotation.value("completed_by")  # the id of a person, or an object with one
        person = (
            annotation.entry("completed_by").name("id") if isinstance(by, Mapping) else annotation.name("completed_by")
        )
        yield answer_row(annotation, cells, answers, person)


def cancelled(annotation: Mapping[str, Any]) -> bool:
    return annotation.get("was_cancelled") is True or annotation.get("skipped") is True


def form_of(value: Mapping[str, Any]) -> str | None:
    """Return the key that holds the answer about the whole case; None where the value is about a region or has none."""
    keys = [key for key in value if key not in WHOLE_CASE_KEYS]
    return keys[0] if len(keys) == 1 and keys[0] in FORMS else None


def read(given: GivenFile) -> Table:
    rows = rows_of(given, answers_of)
    n_cancelled = sum(cancelled(each.values) for entry in given.objects for each in entry.entries("annotations"))
    left_out = {"the annotation was cancelled": n_cancelled} if n_cancelled else {}
    return given.table(rows, empty=NO_ANSWER, left_out=left_out)


def unpacked(cell: Any) -> Any:
    """Return a cell of JSON-MIN or CSV: answers and people as objects become their values. A rating is a list of one answer."""
    value = structured(cell)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        if form := form_of(value):
            return single(value[form])
        if {"id", "email"} <= set(value):
            return str(value["id"])
    return cell


def unpack(table: Table) -> Table:
    """Return the annotations with choices and people unpacked, without the rows of tasks without an annotation."""
    table = table.without(lambda row: None if row.has("annotation_id") else "the task has no annotation")
    table.columns = {name: [unpacked(cell) for cell in cells] for name, cells in table.columns.items()}
    return table


def is_flat(seen: Mapping[str, Any]) -> bool:
    return set(seen) >= MIN_COLUMNS


SOURCE = "Label Studio, task format and converter"

FORMATS = (
    TableFormat("Label Studio JSON", "objects", SOURCE, lambda seen: "data" in seen and "annotations" in seen, read),
    TableFormat("Label Studio JSON-MIN", "objects", SOURCE, is_flat, lambda given: given.table(given.objects)),
    TableFormat("Label Studio JSON-MIN or CSV", "sheet", SOURCE, lambda table: is_flat(table.columns), unpack),
)
