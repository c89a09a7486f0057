"""Label Studio's exports. https://labelstud.io/guide/task_format (1.20): JSON, JSON-MIN and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import NOBODY, beside, single
from casewise.storage.intake.formats.format import Format, GivenFile, rows_of
from casewise.storage.intake.table import Table, structured

FORMS = ("choices", "rating", "number", "text", "taxonomy", "datetime")
"""Keys of a result's value that hold an answer about the whole case; the others mark regions."""

MIN_COLUMNS = {"annotation_id", "annotator", "lead_time"}
"""Columns that JSON-MIN and CSV always have."""


def answers_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers to a task: each annotation that was not cancelled is a person's."""
    cells = {"id": entry.name("id")} if entry.has("id") else {}
    cells |= dict(entry.entry("data").values)
    for annotation in entry.entries("annotations"):
        if annotation.values.get("was_cancelled") is True:
            continue
        answers = {}
        for result in annotation.entries("result"):
            value = result.entry("value").values
            if form := next((form for form in FORMS if form in value), None):
                answers[result.name("from_name")] = single(value[form])
        yield beside(annotation, cells, answers, person_in(annotation, "completed_by"))


def person_in(entry: Entry, key: str) -> str:
    """Return the id of a person, who stands as a number or as an object with one."""
    return entry.entry(key).name("id") if isinstance(entry.value(key), Mapping) else entry.name(key)


def read(given: GivenFile) -> Table:
    cancelled = sum(
        annotation.get("was_cancelled") is True
        for entry in given.objects
        for annotation in entry.values.get("annotations") or ()
        if isinstance(annotation, Mapping)
    )
    left_out = {"the annotation was cancelled": cancelled} if cancelled else {}
    return given.table(rows_of(given, answers_of), empty=NOBODY, left_out=left_out)


def unpacked(cell: Any) -> Any:
    """Return a cell of JSON-MIN or CSV: choices and people as objects become their values."""
    value = structured(cell)
    if isinstance(value, Mapping):
        if form := next((form for form in FORMS if form in value), None):
            return single(value[form])
        if {"id", "email"} <= set(value):
            return str(value["id"])
    return cell


def read_flat(given: GivenFile) -> Table:
    """Return JSON-MIN's rows with choices and people unpacked."""
    return unpack(given.table(given.objects))


def unpack(table: Table) -> Table:
    table.columns = {name: [unpacked(cell) for cell in cells] for name, cells in table.columns.items()}
    return table


def is_flat(seen: Mapping[str, Any]) -> bool:
    return set(seen) >= MIN_COLUMNS


SOURCE = "https://labelstud.io/guide/export (1.20)"

FORMATS = (
    Format("Label Studio JSON", "objects", SOURCE, lambda seen: "data" in seen and "annotations" in seen, read),
    Format("Label Studio JSON-MIN", "objects", SOURCE, is_flat, read_flat),
    Format("Label Studio CSV", "sheet", SOURCE, lambda table: is_flat(table.columns), unpack),
)
