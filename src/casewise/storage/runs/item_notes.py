"""What who looks at runs writes down about their items: notes and tags, in a file of their own in a run's folder."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from casewise.records.base import Record
from casewise.storage.files.atomic import cannot_add
from casewise.storage.files.jsonl import read_jsonl

__all__ = ["ITEM_NOTES", "ItemNote", "add_item_note", "read_item_notes"]

ITEM_NOTES = "item_notes.jsonl"

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=r"^[^,\x00-\x1f]+$")]


class ItemNote(Record):
    """What somebody wrote down about an item; of several notes on one item the last one counts."""

    item_id: str
    text: Annotated[str, StringConstraints(max_length=20_000)] = ""
    tags: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()
    at: datetime

    @property
    def says_nothing(self) -> bool:
        """Whether it takes back what was noted before."""
        return not (self.text.strip() or self.tags)


def read_item_notes(runs: Iterable[Path]) -> dict[str, ItemNote]:
    """The notes that count in the folders of `runs`, by item.

    Raises DataError: a line of the file is no note; the message names it.
    """
    files = (run / ITEM_NOTES for run in runs)
    notes = sorted(
        (note for file in files if file.is_file() for note in read_jsonl(file, ItemNote)), key=lambda n: n.at
    )
    return {item: note for item, note in {note.item_id: note for note in notes}.items() if not note.says_nothing}


def add_item_note(run: Path, note: ItemNote) -> None:
    """Append a note to the file in the folder of a run. Raises ConfigurationError: it cannot be written."""
    try:
        with (run / ITEM_NOTES).open("a", encoding="utf-8") as file:
            file.write(note.line() + "\n")
    except OSError as error:
        raise cannot_add(run / ITEM_NOTES, error) from error
