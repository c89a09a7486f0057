"""Staff and their sessions: invitations, people, roles, sessions. Every change is an event that is only added.

Of an invitation or a session only a hash of its random token is stored.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.engine import Row

from casewise.database.tables import staff
from casewise.database.tables.metadata import insert_if_absent
from casewise.errors import ConfigurationError

INVITATION_LASTS = timedelta(days=7)


class Role(StrEnum):
    """The rights of a person. A person can have several roles, and none follows from another."""

    ADMINISTRATOR = "administrator"
    """Invites people, gives roles, sees all progress."""
    REVIEWER = "reviewer"
    """Reviews and revises contexts."""
    EXPERT = "expert"
    """Approves or returns what two reviewers agreed on."""
    OWNER = "owner"
    """Runs a study and sees its results."""


@dataclass(frozen=True)
class Person:
    """A person who can sign in."""

    id: str
    email: str
    name: str
    roles: frozenset[Role]
    active: bool

    def has(self, *roles: Role) -> bool:
        """Return whether this person has one of `roles`."""
        return not self.roles.isdisjoint(roles)


@dataclass(frozen=True)
class Invitation:
    """A link that lets its bearer choose a password."""

    email: str
    roles: frozenset[Role]


def token_hash(token: str) -> str:
    """Return the hash of a token that is stored, so that a stolen database gives no access."""
    return hashlib.sha256(token.encode()).hexdigest()


def invite(connection: Connection, email: str, *, roles: frozenset[Role], by: str | None, now: datetime) -> str:
    """Return the token of a new invitation of `email`. A person with an account can choose a new password with it.

    Raises ConfigurationError: `email` is no e-mail address, or no role is given to a new person.
    """
    email = email.strip().lower()
    if "@" not in email.strip("@") or any(letter.isspace() for letter in email):
        raise ConfigurationError(f"{email!r} is not an e-mail address")
    if not roles and find_by_email(connection, email) is None:
        raise ConfigurationError(f"{email}: give at least one role ({', '.join(Role)})")
    token = secrets.token_urlsafe(32)
    connection.execute(
        insert(staff.invitations).values(
            token_hash=token_hash(token),
            email=email,
            roles=sorted(roles),
            created_at=now,
            expires_at=now + INVITATION_LASTS,
        )
    )
    note(connection, "invited", by=by, subject=email, now=now, detail={"roles": sorted(roles)})
    return token


def open_invitation(connection: Connection, token: str, *, now: datetime) -> Invitation | None:
    """Return the invitation behind `token`; None when there is none, or it was used or has run out."""
    table = staff.invitations
    row = connection.execute(
        select(table).where(
            table.c.token_hash == token_hash(token), table.c.used_at.is_(None), table.c.expires_at > now
        )
    ).first()
    return None if row is None else Invitation(row.email, frozenset(Role(role) for role in row.roles))


def join(connection: Connection, token: str, *, name: str, password_hash: str, now: datetime) -> Person | None:
    """Use an invitation: add the person, or give a known one a new password and end their sessions.

    None when the invitation is not open (any more); of two who use one link at once, one gets None.
    """
    invitation, invitations, people = open_invitation(connection, token, now=now), staff.invitations, staff.people
    unused = (invitations.c.token_hash == token_hash(token), invitations.c.used_at.is_(None))
    if invitation is None or connection.execute(update(invitations).where(*unused).values(used_at=now)).rowcount != 1:
        return None
    person = find_by_email(connection, invitation.email)
    chosen = {"name": name, "password_hash": password_hash}
    if person is None:
        person_id = uuid.uuid4().hex
        values = {"id": person_id, "email": invitation.email, "active": True, "joined_at": now}
        connection.execute(insert(people).values(**values, **chosen))
        for role in sorted(invitation.roles):
            connection.execute(insert(staff.person_roles).values(person_id=person_id, role=role))
    else:
        person_id = person.id
        connection.execute(update(people).where(people.c.id == person_id).values(**chosen))
        revoke(connection, staff.sessions.c.person_id == person_id, now=now)
    note(connection, "joined" if person is None else "password renewed", by=person_id, subject=person_id, now=now)
    return find_person(connection, person_id)


def find_person(connection: Connection, person_id: str) -> Person | None:
    """Return the person with this id, or None."""
    return first_person(connection, staff.people.c.id == person_id)


def find_by_email(connection: Connection, email: str) -> Person | None:
    """Return the person with this e-mail address, in whatever case; or None."""
    return first_person(connection, staff.people.c.email == email.strip().lower())


def first_person(connection: Connection, which: ColumnElement[bool]) -> Person | None:
    row = connection.execute(select(staff.people).where(which)).first()
    return None if row is None else as_person(connection, row)


def as_person(connection: Connection, row: Row[Any]) -> Person:
    table = staff.person_roles
    roles = connection.scalars(select(table.c.role).where(table.c.person_id == row.id))
    return Person(row.id, row.email, row.name, frozenset(Role(role) for role in roles), row.active)


def password_hash_of(connection: Connection, person_id: str) -> str:
    """Return the stored argon2 hash of a person's password."""
    query = select(staff.people.c.password_hash).where(staff.people.c.id == person_id)
    return str(connection.scalars(query).one())


def everyone(connection: Connection) -> list[Person]:
    """Return all people, by name."""
    rows = connection.execute(select(staff.people).order_by(func.lower(staff.people.c.name), staff.people.c.id))
    return [as_person(connection, row) for row in rows.all()]


def has_no_active_people(connection: Connection) -> bool:
    """Return True if no person is active, as in a new database."""
    return connection.execute(select(staff.people.c.id).where(staff.people.c.active).limit(1)).first() is None


def roles_named(names: Iterable[str]) -> frozenset[Role]:
    """Return the roles called `names`. Raises ConfigurationError: a name is no role; the message lists those that are."""
    for name in names:
        if name not in set(Role):
            raise ConfigurationError(f"no role is called {name!r}; there are: {', '.join(Role)}")
    return frozenset(Role(name) for name in names)


def set_roles(connection: Connection, person_id: str, roles: frozenset[Role], *, by: str, now: datetime) -> None:
    """Give a person exactly `roles`."""
    table = staff.person_roles
    connection.execute(delete(table).where(table.c.person_id == person_id))
    for role in sorted(roles):
        connection.execute(insert(table).values(person_id=person_id, role=role))
    note(connection, "roles changed", by=by, subject=person_id, now=now, detail={"roles": sorted(roles)})


def set_active(connection: Connection, person_id: str, *, active: bool, by: str, now: datetime) -> None:
    """Activate or deactivate a person's account; on deactivation their sessions end at once."""
    connection.execute(update(staff.people).where(staff.people.c.id == person_id).values(active=active))
    if not active:
        revoke(connection, staff.sessions.c.person_id == person_id, now=now)
    note(connection, "let in" if active else "shut out", by=by, subject=person_id, now=now)


def note(
    connection: Connection,
    kind: str,
    *,
    by: str | None,
    subject: str | None,
    now: datetime,
    detail: dict[str, Any] | None = None,
) -> None:
    """Add an event to the staff's log."""
    connection.execute(insert(staff.events).values(at=now, by=by, kind=kind, subject=subject, detail=detail))


def set_study_owner(connection: Connection, study_name: str, email: str, *, belongs: bool) -> None:
    """Make a person an owner of a study, or no longer.

    Raises ConfigurationError: no owner has that address.
    """
    person = find_by_email(connection, email)
    if person is None or not person.has(Role.OWNER):
        raise ConfigurationError(f"{email}: no owner has this address; casewise invite {email} --role owner")
    table = staff.study_owners
    if belongs:
        insert_if_absent(connection, table, {"study_name": study_name, "person_id": person.id})
    else:
        connection.execute(delete(table).where(table.c.study_name == study_name, table.c.person_id == person.id))


def study_owners(connection: Connection, study_name: str) -> list[str]:
    """Return the addresses of the people who belong to a study."""
    table, people = staff.study_owners, staff.people
    query = select(people.c.email).join(table, table.c.person_id == people.c.id)
    return list(connection.scalars(query.where(table.c.study_name == study_name).order_by(people.c.email)))


def may_see_study(connection: Connection, person_id: str, study_name: str) -> bool:
    """Return whether an owner sees a study: those they belong to, and no others.

    Owners who belong to none see the studies without an owner.
    """
    table = staff.study_owners
    own_studies = set(connection.scalars(select(table.c.study_name).where(table.c.person_id == person_id)))
    if own_studies:
        return study_name in own_studies
    return connection.execute(select(table).where(table.c.study_name == study_name).limit(1)).first() is None


BACKED_UP = "backed up"


def last_backup(connection: Connection) -> datetime | None:
    """Return when the last backup was written with `casewise backup`; None where none was."""
    at = select(func.max(staff.events.c.at)).where(staff.events.c.kind == BACKED_UP)
    moment: datetime | None = connection.scalar(at)
    return moment


SESSION_LASTS = timedelta(hours=12)


def start_session(connection: Connection, person: Person, *, now: datetime) -> str:
    """Return a new session's token."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        insert(staff.sessions).values(
            token_hash=token_hash(token), person_id=person.id, created_at=now, expires_at=now + SESSION_LASTS
        )
    )
    return token


def session_person(connection: Connection, token: str, *, now: datetime) -> Person | None:
    """Return the person signed in with `token`. None if the session has ended or the person was deactivated."""
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
    revoke(connection, staff.sessions.c.token_hash == token_hash(token), now=now)


def revoke(connection: Connection, which: ColumnElement[bool], *, now: datetime) -> None:
    ended = update(staff.sessions).where(which, staff.sessions.c.revoked_at.is_(None))
    connection.execute(ended.values(revoked_at=now))
