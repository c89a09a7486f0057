"""Argilla's records: `to_json`, the server's records, and datasets on the Hub.

After `Record.to_dict` in `argilla/src/argilla/records/_resource.py` (commit d7a39e59, 2.x), `_io/_json.py` and `_io/_generic.py`
(`to_list` with `flatten`, which the Hub's data sets have) of github.com/argilla-io/argilla, and a public `records.json` of 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import NO_ANSWER, answer_row, metadata_columns, single
from casewise.storage.intake.formats.format import GivenFile, TableFormat, reader, rows_of
from casewise.storage.intake.table import Table, structured

SUBMITTED = "submitted"


def answers_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers to a record whose responses lie under its questions, or in a list as the server keeps them."""
    cells = {"id": entry.name("id")} if entry.has("id") else {}
    cells |= dict(entry.entry("fields").values)
    if entry.has("metadata"):
        cells |= metadata_columns(entry.value("metadata"))
    by_person: dict[str, dict[str, Any]] = {}
    if isinstance(entry.value("responses"), list):
        for response in entry.entries("responses"):
            if response.values.get("status", SUBMITTED) == SUBMITTED:
                answers = {
                    question: single(answer["value"] if isinstance(answer, Mapping) and "value" in answer else answer)
                    for question, answer in response.entry("values").values.items()
                }
                by_person.setdefault(response.name("user_id"), {}).update(answers)
    else:
        responses = entry.entry("responses")
        for question in responses.values:
            for response in responses.entries(question):
                if response.values.get("status", SUBMITTED) == SUBMITTED:
                    by_person.setdefault(response.name("user_id"), {})[question] = single(response.value("value"))
    for person, answers in by_person.items():
        yield answer_row(entry, cells, answers, person)


def flat_answers_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers to a record in one level, as on the Hub: `QUESTION.responses` with `.users` and `.status`."""
    values = {name: structured(cell) for name, cell in entry.values.items()}
    entry = Entry(entry.path, entry.line, values, entry.where)
    questions = [name.removesuffix(".responses") for name in values if name.endswith(".responses")]
    drop = tuple(f"{question}." for question in questions)
    cells = {name: value for name, value in values.items() if not name.startswith((*drop, "_", "vectors."))}
    by_person: dict[str, dict[str, Any]] = {}
    for question in questions:
        if not entry.has(f"{question}.responses"):
            continue
        answers, people = entry.list(f"{question}.responses"), entry.list(f"{question}.responses.users")
        status_column = f"{question}.responses.status"
        status = entry.list(status_column) if entry.has(status_column) else [SUBMITTED] * len(answers)
        if not len(answers) == len(people) == len(status):
            entry.refuse(f"{question!r} has {len(answers)} responses, {len(people)} users and {len(status)} states")
        for answer, person, state in zip(answers, people, status, strict=True):
            if state == SUBMITTED:
                by_person.setdefault(str(person), {})[question] = single(answer)
    for person, answered in by_person.items():
        yield answer_row(entry, {name: cell for name, cell in cells.items() if name not in answered}, answered, person)


def is_flat(seen: Mapping[str, Any]) -> bool:
    return any(str(name).endswith(".responses") for name in seen)


def read(given: GivenFile) -> Table:
    if any(isinstance(entry.values.get("responses"), Mapping) for entry in given.objects):
        given.notes.append(
            "Argilla's JSON does not say which answers were submitted; drafts and discarded ones count, too."
        )
    return given.table(rows_of(given, answers_of), empty=NO_ANSWER)


def read_sheet(table: Table) -> Table:
    """Return a CSV file of the Hub's records as a row a person."""
    given = GivenFile(table.path)
    rows = [Entry(table.path, row.line, cells, row.where) for row in table.rows for cells in flat_answers_of(row)]
    return given.table(rows, empty=NO_ANSWER)


SOURCE = "Argilla 2.x, source"

FORMATS = (
    TableFormat("Argilla JSON", "objects", SOURCE, lambda seen: "fields" in seen and "responses" in seen, read),
    TableFormat("Argilla on the Hub", "objects", SOURCE, is_flat, reader(flat_answers_of, empty=NO_ANSWER)),
    TableFormat("Argilla on the Hub, as CSV", "sheet", SOURCE, lambda table: is_flat(table.columns), read_sheet),
)
