"""Read exports of annotation tools as a long table: a row per person and case, a column per question.

The shapes are those of the tools' own documentation. Label Studio's JSON: tasks with `data` and `annotations`. Argilla's
records: `fields` with `responses`, nested or with flat columns (`QUESTION.responses`, `.users`, `.status`). Potato: a line an
annotator and instance (`annotations` or `label_annotations`), or a person's `user_state.json`. Exports that are a table
already, such as Label Studio's JSON-MIN and CSV, Potato's CSV and Prolific's CSV, need nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.storage.entries import Entry, Table, filled, is_csv, json_entries, read_csv, table_of, text_or_json

ANNOTATOR = "annotator"
"""The column with who answered."""

FORMS = ("choices", "rating", "number", "text", "taxonomy", "datetime")
"""Keys of a Label Studio result's value that hold an answer about the whole case; the others mark regions."""

STATE = "instance_id_to_label_to_value"


def read_any_table(path: Path) -> Table:
    """Return the rows of a file: CSV, the objects of a JSON file, or the long table that an annotation tool's export holds.

    Raises DataError: the file is none of these, or holds nothing; the message says where.
    """
    if is_csv(path):
        return read_csv(path)
    entries = json_entries(path, single=True)
    reader = next((read for matches, read in READERS if matches(entries[0].values)), None)
    if reader is None:
        return table_of(path, map(filled, entries))
    table = [filled(Entry(path, entry.line, cells)) for entry in entries for cells in reader(entry)]
    if not table:
        raise DataError(path, None, "nobody has answered yet: no case has an answer that was submitted")
    return table_of(path, table)


def beside(entry: Entry, cells: Mapping[str, Any], answers: Mapping[str, Any], annotator: str) -> dict[str, Any]:
    """Return the fields of a case and one person's answers. No question may have the name of a column of the case."""
    if twice := set(answers) & set(cells):
        entry.refuse(f"the question {min(twice)!r} is called as a field of the data; rename one of them in the tool")
    return {**cells, **answers, ANNOTATOR: annotator}


def single(values: Any) -> Any:
    """One answer as itself; several as a text with commas."""
    if not isinstance(values, list):
        return values
    return values[0] if len(values) == 1 else ", ".join(map(text_or_json, values))


def label_studio(entry: Entry) -> Iterator[dict[str, Any]]:
    """A task: each annotation that was not cancelled is a person's."""
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
        whole = isinstance(annotation.value("completed_by"), Mapping)
        person = annotation.entry("completed_by").name("id") if whole else annotation.name("completed_by")
        yield beside(annotation, cells, answers, person)


def argilla(entry: Entry) -> Iterator[dict[str, Any]]:
    """A record whose responses lie under its questions, or in a list as the server keeps them."""
    cells = {"id": entry.name("id")} if entry.has("id") else {}
    cells |= dict(entry.entry("fields").values)
    if entry.has("metadata"):
        cells |= {f"metadata.{name}": value for name, value in entry.entry("metadata").values.items()}
    by_person: dict[str, dict[str, Any]] = {}
    if isinstance(entry.value("responses"), list):
        for response in entry.entries("responses"):
            if response.values.get("status", "submitted") == "submitted":
                answers = {
                    question: single(answer["value"] if isinstance(answer, Mapping) and "value" in answer else answer)
                    for question, answer in response.entry("values").values.items()
                }
                by_person.setdefault(response.name("user_id"), {}).update(answers)
    else:
        responses = entry.entry("responses")
        for question in responses.values:
            for response in responses.entries(question):
                if response.values.get("status", "submitted") == "submitted":
                    by_person.setdefault(response.name("user_id"), {})[question] = single(response.value("value"))
    for person, answers in by_person.items():
        yield beside(entry, cells, answers, person)


def flat_argilla(entry: Entry) -> Iterator[dict[str, Any]]:
    """A record in one level, as on the Hub: `QUESTION.responses` with `.users` and `.status`."""
    questions = [name.removesuffix(".responses") for name in entry.values if name.endswith(".responses")]
    drop = tuple(f"{question}." for question in questions)
    cells = {name: value for name, value in entry.values.items() if not name.startswith((*drop, "_", "vectors."))}
    by_person: dict[str, dict[str, Any]] = {}
    for question in questions:
        if not entry.has(f"{question}.responses"):
            continue
        answers, people = entry.list(f"{question}.responses"), entry.list(f"{question}.responses.users")
        status = (
            entry.list(f"{question}.responses.status")
            if entry.has(f"{question}.responses.status")
            else ["submitted"] * len(answers)
        )
        if not len(answers) == len(people) == len(status):
            entry.refuse(f"{question!r} has {len(answers)} responses, {len(people)} users and {len(status)} states")
        for answer, person, state in zip(answers, people, status, strict=True):
            if state == "submitted":
                by_person.setdefault(str(person), {})[question] = single(answer)
    for person, values in by_person.items():
        yield beside(entry, {name: cell for name, cell in cells.items() if name not in values}, values, person)


def chosen(entry: Entry, question: str, labels: Any) -> Any:
    """A Potato answer: a value, or labels with whether each was ticked or what was typed."""
    if not isinstance(labels, Mapping):
        return single(labels)
    labels = labels.get("labels", labels)
    if not isinstance(labels, Mapping):
        return single(labels)
    ticked = [name for name, value in labels.items() if value not in (False, None, "", "false", "False", 0, "0")]
    return single(ticked) if ticked else entry.refuse(f"{question!r} has no label that was ticked")


def potato(entry: Entry) -> Iterator[dict[str, Any]]:
    """A line an annotator and instance."""
    key = "label_annotations" if "label_annotations" in entry.values else "annotations"
    person = next((name for name in (ANNOTATOR, "user_id", "user") if entry.has(name)), ANNOTATOR)
    answers = {name: chosen(entry, name, labels) for name, labels in entry.entry(key).values.items()}
    case = next((name for name in ("id", "instance_id") if entry.has(name)), "id")
    cells = {"id": entry.name(case)}
    if entry.has("displayed_text"):
        cells["text"] = entry.text("displayed_text")
    yield beside(entry, cells, answers, entry.name(person))


def potato_state(entry: Entry) -> Iterator[dict[str, Any]]:
    """A person's state: every instance that they answered."""
    cases = entry.entry(STATE)
    for case in cases.values:
        answered = cases.entry(case)
        answers = {name: chosen(answered, name, labels) for name, labels in answered.values.items()}
        yield beside(answered, {"id": case}, answers, entry.name("user_id"))


READERS: Iterable[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Entry], Iterator[dict[str, Any]]]]] = (
    (lambda case: "data" in case and "annotations" in case, label_studio),
    (lambda case: "fields" in case and "responses" in case, argilla),
    (lambda case: any(str(name).endswith(".responses") for name in case), flat_argilla),
    (lambda case: STATE in case, potato_state),
    (
        lambda case: (
            "label_annotations" in case or ("annotations" in case and bool({ANNOTATOR, "user_id", "user"} & set(case)))
        ),
        potato,
    ),
)
"""The test of each export's first object that recognises it, and the function that reads it."""
