"""What reviewers need not read: the warning they get first, and the categories they pass on without a reason."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, delete, select

from casewise.contexts.drafts import Draft
from casewise.database.tables import review as tables
from casewise.database.upsert import insert_if_absent

__all__ = ["has_read_warning", "pass_on", "passed_categories", "read_warning"]


def passed_categories(connection: Connection, person_id: str) -> frozenset[str]:
    """The categories that this person passes on."""
    table = tables.passes
    return frozenset(connection.scalars(select(table.c.category).where(table.c.person_id == person_id)))


def pass_on(connection: Connection, person_id: str, categories: Iterable[str]) -> None:
    """Have this person pass on exactly `categories`."""
    table = tables.passes
    connection.execute(delete(table).where(table.c.person_id == person_id))
    for category in sorted(set(categories)):
        insert_if_absent(connection, table, {"person_id": person_id, "category": category})


def has_read_warning(connection: Connection, draft: Draft, person_id: str) -> bool:
    """Whether this person was told what they will read in `draft`."""
    table = tables.warnings_read
    wanted = select(table.c.at).where(table.c.person_id == person_id, table.c.draft_id == draft.id)
    return connection.execute(wanted).first() is not None


def read_warning(connection: Connection, draft: Draft, person_id: str, *, now: datetime) -> None:
    """Note that this person has read the warning; saying so twice is saying it once."""
    insert_if_absent(connection, tables.warnings_read, {"person_id": person_id, "draft_id": draft.id, "at": now})
