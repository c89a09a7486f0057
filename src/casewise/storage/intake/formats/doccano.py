"""doccano's exports, after `backend/data_export` of github.com/doccano/doccano (1.8).

A project that people share gives one file. Any other gives an archive with a file a person, as JSON Lines or as a JSON array.
A document has `text` and a list of labels: `label`, or `cats` where spans are marked as well. Releases before 1.3 write a list of
`annotations`, each with the numbers of its label and its user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import ANNOTATOR, NO_ANSWER, single
from casewise.storage.intake.formats.format import GivenFile, TableFormat, reader, rows_of
from casewise.storage.intake.table import Table, table_of

LABELS = ("label", "cats", "labels", "categories")


def is_line(seen: Mapping[str, Any]) -> bool:
    labels = next((seen[name] for name in LABELS if name in seen), None)
    return "Comments" in seen or (
        "id" in seen and "text" in seen and isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    )


def is_numbered(seen: Mapping[str, Any]) -> bool:
    """Return whether a document has the annotations of the first releases."""
    marks = seen.get("annotations")
    return isinstance(marks, list) and "annotation_approver" in seen


def numbered_cells_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield a document with the labels of each of its annotators."""
    cells = {name: cell for name, cell in entry.values.items() if name != "annotations"}
    labels: dict[str, list[Any]] = {}
    for mark in entry.entries("annotations"):
        labels.setdefault(mark.name("user"), []).append(mark.value("label"))
    for user, of_user in labels.items():
        yield {**cells, "label": single(of_user), ANNOTATOR: user}


def cells_of(entry: Entry) -> list[dict[str, Any]]:
    """Return a document with its one label, or its labels with commas between them."""
    return [
        {name: single(cell) if name in LABELS else cell for name, cell in entry.values.items() if name != "Comments"}
    ]


def files_of_people(given: GivenFile) -> list[Path]:
    """Return the files of a folder that holds nothing but documents with labels, a file a person."""
    if not given.path.is_dir():
        return []
    files = sorted(file for file in given.path.iterdir() if not file.name.startswith("."))
    if not all(file.suffix in (".jsonl", ".json") and file.is_file() for file in files):
        return []
    written = [of_person for of_person in map(GivenFile, files) if of_person.head.strip()]
    if not all(of_person.is_json and is_line(of_person.objects[0].values) for of_person in written):
        return []
    return [of_person.path for of_person in written]


def read_folder(given: GivenFile) -> Table:
    """Return the documents of every person, who is called as the file is."""
    rows = []
    for file in files_of_people(given):
        rows += [
            Entry(file, row.line, {**row.values, ANNOTATOR: file.stem}, row.where)
            for row in rows_of(GivenFile(file), cells_of)
        ]
    return table_of(given.path, rows)


SOURCE = "github.com/doccano/doccano (1.8)"

FORMATS = (
    TableFormat("doccano", "objects", SOURCE, is_line, reader(cells_of)),
    TableFormat("doccano before 1.3", "objects", SOURCE, is_numbered, reader(numbered_cells_of, empty=NO_ANSWER)),
    TableFormat("doccano, a file a person", "folder", SOURCE, lambda given: bool(files_of_people(given)), read_folder),
)
