"""Potato's annotations, of its releases 1 and 2.

After `user_state_management.py`, `export/tabular_exporter.py`, `annotator_origin.py` and `server_utils/schemas` of potato-annotation
2.12.1 (github.com/davidjurgens/potato), https://potato-annotation.readthedocs.io (2.0), and output folders of release 1 in that
repository.

A person's `user_state.json`, the output folder with a folder for each person, a line an annotator and instance (`annotations`,
`label_annotations` or `labels`), or a table with a column for each label: `QUESTION:::LABEL` of release 1, `QUESTION.LABEL` of release 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from casewise.errors import DataError
from casewise.storage.entries import Entry
from casewise.storage.files import shortened_json
from casewise.storage.intake.formats.annotations import ANNOTATOR, NO_ANSWER, answer_row, single
from casewise.storage.intake.formats.format import GivenFile, TableFormat, rows_of
from casewise.storage.intake.table import Table, table_of
from casewise.text import count_of

STATE = "instance_id_to_label_to_value"

PEOPLE = (ANNOTATOR, "user_id", "user")

ANSWERS = ("label_annotations", "annotations", "labels", "annotation")
"""Keys with the answers of a line; the last is of the first files of release 1."""

ORIGIN, HUMAN = "annotator_origin", "human"
"""The column with who or what answered, and the word for a person. Where nothing is stated it was a person."""

STATE_FILE, LINES_FILE = "user_state.json", "annotated_instances.jsonl"

PAGE = ".html"
"""The end of the ids that release 1 gives to pages of a survey, such as consent."""

NOT_TICKED = (False, None, "", "false", "False", 0, "0")

TICKED = ("true", "True", "on")

TYPED = (
    "text_box", "free_response", "number", "slider", "select-one", "confidence_level", "decision", "selection", "scale_value",
)  # fmt: skip
"""Labels that Potato itself names: their values are answers that a person typed, moved or selected."""


def answers_to(question: str, labels: Any) -> dict[str, Any]:
    """Return the answer to a question, and nothing where no label was ticked.

    Numbers of several labels are ratings of each of them, and have a column each; the number of a single one is the key that ticks it.
    """
    labels = labels.get("labels", labels) if isinstance(labels, Mapping) else labels
    if not isinstance(labels, Mapping):
        return {question: single(labels)}
    answers: dict[str, Any] = {}
    ratings: dict[str, Any] = {}
    for name, value in labels.items():
        if name in (*TYPED, question):
            if value not in (None, ""):
                answers[name] = value
        elif value is True or value in (*TICKED, name, f"{question}:::{name}"):
            answers[name] = str(name).removeprefix("scale_")
        elif value not in NOT_TICKED:
            (ratings if str(value).isdecimal() else answers)[name] = value
    if len(ratings) == 1 and not answers:
        return {question: str(next(iter(ratings))).removeprefix("scale_")}
    return ({question: single(list(answers.values()))} if answers else {}) | {
        f"{question}: {name}": value for name, value in ratings.items()
    }


def answers_of_line(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers of a line: one annotator's about one instance."""
    key = next((name for name in ANSWERS if name in entry.values), ANSWERS[0])
    person = next((entry.name(name) for name in PEOPLE if entry.has(name)), None)
    if person is None:  # the line of a person's own file, which lies in a folder of their name
        person = entry.path.parent.name if entry.path.name == LINES_FILE else entry.name(ANNOTATOR)
    case = next((name for name in ("id", "instance_id") if entry.has(name)), "id")
    cells = {"id": entry.name(case), ORIGIN: kind_of(entry.values.get(ORIGIN))}
    if entry.has("displayed_text"):
        cells["text"] = entry.text("displayed_text")
    yield answer_row(entry, cells, answers_in(entry.entry(key).values), person)


def answers_of_state(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the answers of a person's state: every instance that they answered."""
    state = entry.value(STATE)
    for pair in state if isinstance(state, list) else entry.entry(STATE).values.items():
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], (str, int)):
            entry.refuse(f"{STATE!r} has {shortened_json(pair)}, which is no pair of a case and its answers")
        case, answered = str(pair[0]), pair[1]
        place = Entry(entry.path, entry.line, {case: answered}, f"{entry.where}{', ' if entry.where else ''}{case}")
        labels = by_question(place, answered) if isinstance(answered, list) else place.entry(case).values
        if answers := answers_in(labels):
            cells = {"id": case, ORIGIN: kind_of(entry.values.get("origin"))}
            yield answer_row(place, cells, answers, entry.name("user_id"))


def answers_in(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers to all questions."""
    return {column: answer for name, of_name in labels.items() for column, answer in answers_to(name, of_name).items()}


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


def kind_of(origin: Any) -> str | None:
    """Return the kind of annotator that is stated, such as llm; an origin without a kind is not a person's."""
    return str(origin.get("kind")) if isinstance(origin, Mapping) and origin else origin or None


def of_people(table: Table) -> Table:
    """Return the answers of people to instances, without pages of a survey and without answers of machines."""

    def reason(row: Entry) -> str | None:
        if str(row.values.get("id")).endswith(PAGE):
            return "a page of the survey"
        return "an answer of a machine" if row.values.get(ORIGIN) not in (None, HUMAN) else None

    table = table.without(reason)
    if not len(table):
        raise DataError(table.path, None, NO_ANSWER)
    table.columns.pop(ORIGIN, None)
    return table


def reader(cells: Callable[[Entry], Iterable[Mapping[str, Any]]]) -> Callable[[GivenFile], Table]:
    return lambda file: of_people(file.table(rows_of(file, cells), empty=NO_ANSWER))


def files_of_people(folder: GivenFile) -> list[Any]:
    return sorted([*folder.path.rglob(STATE_FILE), *folder.path.rglob(LINES_FILE)])


def read_folder(folder: GivenFile) -> Table:
    """Return the answers of all annotators in an output folder; a person with both files is read from the state.

    Raises DataError: no person has answered.
    """
    rows: list[Entry] = []
    files = files_of_people(folder)
    with_state = {file.parent for file in files if file.name == STATE_FILE}
    for file in files:
        if file.name == LINES_FILE and file.parent in with_state:
            continue
        of_person = GivenFile(file)
        if not of_person.head.strip():
            continue
        rows += rows_of(of_person, answers_of_state if file.name == STATE_FILE else answers_of_line)
    if not rows:
        raise DataError(folder.path, None, NO_ANSWER)
    table = of_people(table_of(folder.path, rows))
    table.notes.append(f"{count_of(len(set(table.columns[ANNOTATOR])), 'person was')} read.")
    return table


NO_LABELS = ("_spans", "_room", "_room_id")
"""Columns of a question in tables of release 2 that are no labels."""


def label_mark(table: Table) -> str | None:
    """Return what stands between a question and its label in the names of columns; None of a table that is not Potato's."""
    mark = ":::" if {"user", "instance_id"} <= set(table.columns) else "."
    if mark == "." and table.names[:2] != ("instance_id", "user_id"):
        return None
    return mark if any(mark in name for name in table.columns) else None


def read_sheet(table: Table) -> Table:
    """Return the table with a column a question, whose cells are the label that was ticked or typed.

    A table of release 2 that has a column for a question as well states in it which of several labels counts.
    """
    mark = label_mark(table) or ""
    labels: dict[str, dict[str, list[Any]]] = {}
    for name in [name for name in table.columns if mark in name]:
        question, _, label = name.partition(mark)
        cells = table.columns.pop(name)
        if mark != "." or label not in NO_LABELS:
            labels.setdefault(question, {})[label] = cells
    answers = [
        answers_in(
            {
                question: {label: cells[place] for label, cells in of_labels.items()}
                for question, of_labels in labels.items()
            }
        )
        for place in range(len(table))
    ]
    for column in dict.fromkeys(column for row in answers for column in row):
        counts = table.columns.get(column, [None] * len(table))
        table.columns[column] = [
            row.get(column) if final is None else final for row, final in zip(answers, counts, strict=True)
        ]
    names = {"user": ANNOTATOR, "user_id": ANNOTATOR, "instance_id": "id", "displayed_text": "text"}
    return of_people(table.renamed(names))


def is_line(seen: Mapping[str, Any]) -> bool:
    by_person = bool(set(PEOPLE) & set(seen))
    return (
        "label_annotations" in seen
        or ("annotations" in seen and by_person)
        or (isinstance(seen.get("labels"), Mapping) and by_person and "instance_id" in seen)
    )


SOURCE = "potato-annotation 1 and 2.12, source"

FORMATS = (
    TableFormat("Potato's output folder", "folder", SOURCE, lambda folder: bool(files_of_people(folder)), read_folder),
    TableFormat("Potato's user state", "objects", SOURCE, lambda seen: STATE in seen, reader(answers_of_state)),
    TableFormat("Potato's table", "sheet", SOURCE, lambda table: label_mark(table) is not None, read_sheet),
    TableFormat("Potato's annotations", "objects", SOURCE, is_line, reader(answers_of_line)),
)
