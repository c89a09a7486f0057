"""What a person has typed and not submitted: kept as they type, and never overwritten in silence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from casewise.database.columns import insert_if_absent
from casewise.database.tables import review as tables

__all__ = ["Autosave", "Saved", "Typed", "discard", "find_autosave", "save"]

LONGEST = 20_000
"""Characters kept of one field."""


@dataclass(frozen=True)
class Typed:
    """What a tab sends: the words, the number of the last save that it knows, and the version it looks at."""

    fields: dict[str, str]
    saved: int
    version: int


@dataclass(frozen=True)
class Autosave:
    """Unsubmitted words. `saved` counts the saves: a tab that saves says which one it last saw."""

    fields: dict[str, str]
    saved: int
    seq: int
    """The version of the context that the person was looking at."""
    updated_at: datetime


@dataclass(frozen=True)
class Saved:
    """What a save came to: the number it got, or the newer words that were there already."""

    saved: int
    newer: Autosave | None = None


def find_autosave(connection: Connection, place_id: str, *, person_id: str, lock: bool = False) -> Autosave | None:
    """What `person_id` typed about this context and has not submitted, or None."""
    table = tables.autosaves
    wanted = select(table).where(table.c.context_id == place_id, table.c.person_id == person_id)
    row = connection.execute(wanted.with_for_update() if lock else wanted).first()
    return None if row is None else Autosave(row.fields, row.saved, row.seq, row.updated_at)


def save(connection: Connection, place_id: str, *, person_id: str, typed: Typed, now: datetime) -> Saved:
    """Keep what was typed, unless another tab saved something since the save that this one knows."""
    table = tables.autosaves
    words = {name: text[:LONGEST] for name, text in typed.fields.items()}
    values = {"fields": words, "saved": typed.saved + 1, "seq": typed.version, "updated_at": now}
    if insert_if_absent(connection, table, {"context_id": place_id, "person_id": person_id, **values}):
        return Saved(typed.saved + 1)
    kept = find_autosave(connection, place_id, person_id=person_id, lock=True)
    assert kept is not None
    if kept.saved != typed.saved and kept.fields != words:
        return Saved(kept.saved, newer=kept)
    mine = (table.c.context_id == place_id) & (table.c.person_id == person_id)
    connection.execute(update(table).where(mine).values(values | {"saved": kept.saved + 1}))
    return Saved(kept.saved + 1)


def discard(connection: Connection, place_id: str, *, person_id: str) -> None:
    """Forget what was typed."""
    table = tables.autosaves
    connection.execute(delete(table).where(table.c.context_id == place_id, table.c.person_id == person_id))
