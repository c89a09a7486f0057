"""doccano's exports. https://doccano.github.io/doccano (1.8): JSON Lines with a list of labels, or a file a person in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from casewise.errors import DataError
from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import ANNOTATOR, single
from casewise.storage.intake.formats.format import Format, GivenFile, rows_of
from casewise.storage.intake.table import Table, table_of

LABELS = ("label", "labels", "categories")


def is_line(seen: Mapping[str, Any]) -> bool:
    labels = next((seen[name] for name in LABELS if name in seen), None)
    return "Comments" in seen or (
        "id" in seen and "text" in seen and isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    )


def cells_of(entry: Entry) -> list[dict[str, Any]]:
    """Return a document with its one label, or its labels with commas between them."""
    return [
        {name: single(cell) if name in LABELS else cell for name, cell in entry.values.items() if name != "Comments"}
    ]


def read(given: GivenFile) -> Table:
    return given.table(rows_of(given, cells_of))


def files_of_people(given: GivenFile) -> list[Path]:
    """Return the files of a folder that holds nothing but JSON Lines, a person each."""
    if not given.path.is_dir():
        return []
    files = sorted(file for file in given.path.iterdir() if not file.name.startswith("."))
    return files if files and all(file.suffix == ".jsonl" and file.is_file() for file in files) else []


def read_folder(given: GivenFile) -> Table:
    """Return the documents of every person, who is called as the file is."""
    rows = []
    for file in files_of_people(given):
        of_person = GivenFile(file)
        if of_person.head.strip():
            rows += [
                Entry(file, row.line, {**row.values, ANNOTATOR: file.stem}, row.where)
                for row in rows_of(of_person, cells_of)
            ]
    if not rows:
        raise DataError(given.path, None, "holds no rows")
    return table_of(given.path, rows)


SOURCE = "https://doccano.github.io/doccano (1.8)"

FORMATS = (
    Format("doccano", "objects", SOURCE, is_line, read),
    Format("doccano, a file a person", "folder", SOURCE, lambda given: bool(files_of_people(given)), read_folder),
)
