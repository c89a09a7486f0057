"""Potato's annotations. https://potato-annotation.readthedocs.io (2.0) and davidjurgens/potato, `user_state_management.py`.

A line an annotator and instance (`annotations` or `label_annotations`), a person's `user_state.json`, the output folder with a
folder for each person, or its table with a column `QUESTION:::LABEL` for each label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.errors import DataError
from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import ANNOTATOR, NOBODY, beside, single
from casewise.storage.intake.formats.format import Format, GivenFile, reader, rows_of
from casewise.storage.intake.table import Table, table_of
from casewise.text import count_of

STATE = "instance_id_to_label_to_value"

PEOPLE = (ANNOTATOR, "user_id", "user")

STATE_FILE, LINES_FILE = "user_state.json", "annotated_instances.jsonl"

NOT_TICKED = (False, None, "", "false", "False", 0, "0")


def chosen(entry: Entry, question: str, labels: Any) -> Any:
    """Return an answer: a value, or the labels that were ticked or typed."""
    labels = labels.get("labels", labels) if isinstance(labels, Mapping) else labels
    if not isinstance(labels, Mapping):
        return single(labels)
    ticked = [
        name if value in (True, "true", "True", 1, "1", name) else value
        for name, value in labels.items()
        if value not in NOT_TICKED
    ]
    return single(ticked) if ticked else entry.refuse(f"{question!r} has no label that was ticked")


def answers_of_line(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers of a line: one annotator's about one instance."""
    key = "label_annotations" if "label_annotations" in entry.values else "annotations"
    person = next((entry.name(name) for name in PEOPLE if entry.has(name)), None)
    if person is None:  # the line of a person's own file, which lies in a folder of their name
        person = entry.path.parent.name if entry.path.name == LINES_FILE else entry.name(ANNOTATOR)
    answers = {name: chosen(entry, name, labels) for name, labels in entry.entry(key).values.items()}
    case = next((name for name in ("id", "instance_id") if entry.has(name)), "id")
    cells = {"id": entry.name(case)}
    if entry.has("displayed_text"):
        cells["text"] = entry.text("displayed_text")
    yield beside(entry, cells, answers, person)


def answers_of_state(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers of a person's state: every instance that they answered."""
    state = entry.value(STATE)
    cases = dict(state) if isinstance(state, list) else entry.entry(STATE).values
    for case, answered in cases.items():
        place = Entry(entry.path, entry.line, {case: answered}, f"{entry.where}{', ' if entry.where else ''}{case}")
        labels = by_question(place, answered) if isinstance(answered, list) else place.entry(case).values
        answers = {name: chosen(place, name, values) for name, values in labels.items()}
        if answers:
            yield beside(place, {"id": case}, answers, entry.name("user_id"))


def by_question(entry: Entry, answered: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the labels of an instance by question, from pairs of `{schema, name}` and a value."""
    labels: dict[str, dict[str, Any]] = {}
    for pair in answered:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not isinstance(pair[0], Mapping)
            or not {"schema", "name"} <= set(pair[0])
        ):
            entry.refuse(f"{pair!r} is no pair of a label and its value")
        labels.setdefault(str(pair[0]["schema"]), {})[str(pair[0]["name"])] = pair[1]
    return labels


def files_of_people(given: GivenFile) -> list[Any]:
    return sorted([*given.path.rglob(STATE_FILE), *given.path.rglob(LINES_FILE)])


def read_folder(given: GivenFile) -> Table:
    """Return the answers of everybody in an output folder; a person with both files is read from the state.

    Raises DataError: nobody has answered.
    """
    rows: list[Entry] = []
    files = files_of_people(given)
    with_state = {file.parent for file in files if file.name == STATE_FILE}
    for file in files:
        if file.name == LINES_FILE and file.parent in with_state:
            continue
        of_person = GivenFile(file)
        if not of_person.head.strip():
            continue
        rows += rows_of(of_person, answers_of_state if file.name == STATE_FILE else answers_of_line)
    if not rows:
        raise DataError(given.path, None, NOBODY)
    return table_of(
        given.path, rows, notes=[f"{count_of(len({str(row.values[ANNOTATOR]) for row in rows}), 'person was')} read."]
    )


LABEL = ":::"
"""Stands in the name of a column between a question and one of its labels."""


def is_sheet(table: Table) -> bool:
    return {"user", "instance_id"} <= set(table.columns) and any(LABEL in name for name in table.columns)


def read_sheet(table: Table) -> Table:
    """Return the table with a column a question, whose cells are the label that was ticked or typed."""
    by_question: dict[str, dict[str, list[Any]]] = {}
    for name in [name for name in table.columns if LABEL in name]:
        question, _, label = name.partition(LABEL)
        by_question.setdefault(question, {})[label] = table.columns.pop(name)
    for question, of_labels in by_question.items():
        rows = ({label: cells[place] for label, cells in of_labels.items()} for place in range(len(table)))
        table.columns[question] = [
            chosen(table.row(place), question, labels)
            if any(cell not in NOT_TICKED for cell in labels.values())
            else None
            for place, labels in enumerate(rows)
        ]
    return table.renamed({"user": ANNOTATOR, "instance_id": "id", "displayed_text": "text"})


def is_line(seen: Mapping[str, Any]) -> bool:
    return "label_annotations" in seen or ("annotations" in seen and bool(set(PEOPLE) & set(seen)))


SOURCE = "https://potato-annotation.readthedocs.io (2.0)"

FORMATS = (
    Format("Potato's output folder", "folder", SOURCE, lambda given: bool(files_of_people(given)), read_folder),
    Format(
        "Potato's user state", "objects", SOURCE, lambda seen: STATE in seen, reader(answers_of_state, empty=NOBODY)
    ),
    Format("Potato's table", "sheet", SOURCE, is_sheet, read_sheet),
    Format("Potato's annotations", "objects", SOURCE, is_line, reader(answers_of_line, empty=NOBODY)),
)
