"""Who is signed in. A session is a random token of which only the hash is stored; it can be revoked."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from sqlalchemy import Connection, insert, select, update

from casewise.database.staff import Person, find_person, token_hash
from casewise.database.tables import staff

__all__ = ["SESSION_LASTS", "end_session", "session_person", "start_session"]

SESSION_LASTS = timedelta(hours=12)


def start_session(connection: Connection, person: Person, *, now: datetime) -> str:
    """A new session's token."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        insert(staff.sessions).values(
            token_hash=token_hash(token), person_id=person.id, created_at=now, expires_at=now + SESSION_LASTS
        )
    )
    return token


def session_person(connection: Connection, token: str, *, now: datetime) -> Person | None:
    """Who is signed in with `token`; None when nobody (any more), or the person was shut out."""
    table = staff.sessions
    person_id = connection.scalars(
        select(table.c.person_id).where(
            table.c.token_hash == token_hash(token), table.c.revoked_at.is_(None), table.c.expires_at > now
        )
    ).one_or_none()
    person = None if person_id is None else find_person(connection, person_id)
    return person if person is not None and person.active else None


def end_session(connection: Connection, token: str, *, now: datetime) -> None:
    """Revoke the session with this token, if it is open."""
    table = staff.sessions
    connection.execute(
        update(table)
        .where(table.c.token_hash == token_hash(token), table.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
