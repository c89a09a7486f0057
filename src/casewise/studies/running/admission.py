"""Who is let in: while the round is open and there is a place, once, and only after consent.

A place is held for whoever consented and has no batch yet, for as long as a lease lasts: nobody reads the tutorial and
passes the quiz for nothing. Nothing here writes before somebody consents.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, Select, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from casewise.database.tables import study as tables
from casewise.studies.design.assignment import most_taken
from casewise.studies.recruiters.protocol import RecruiterIds
from casewise.studies.running.annotators import Annotator, find_returner
from casewise.studies.running.events import note
from casewise.studies.running.privacy import Vault
from casewise.studies.running.rounds import Round, round_state

__all__ = [
    "NotLetIn",
    "admit",
    "has_room",
    "open_slots_by_query",
    "people_needed",
    "took_part",
    "waiting_people",
    "why_not_let_in",
]

NotLetIn = Literal["already", "closed", "paused", "full"]

ANNOTATORS, FINGERPRINTS, KEYS = tables.annotators, tables.fingerprints, tables.keys
ITEMS, PAGES, SLOTS = tables.items, tables.pages, tables.slots


def why_not_let_in(
    connection: Connection, study: Round, fingerprint: str, *, now: datetime, lock: bool = False
) -> NotLetIn | None:
    """Why nobody new with this fingerprint is let in now; None when they are.

    With `lock`, others who want in wait until this transaction ends, so that one place is not promised to two.
    """
    if lock:
        held = select(tables.studies.c.id).where(tables.studies.c.id == study.id)
        connection.execute(held.with_for_update(key_share=True))
    if took_part(connection, study, fingerprint, now=now):
        return "already"
    state = round_state(connection, study.id)
    if state != "open":
        return state
    return None if has_room(connection, study, now=now) else "full"


def has_room(connection: Connection, study: Round, *, now: datetime) -> bool:
    """Whether an item is left for one more, when everybody who consented before has taken the most that they can.

    Near the end that is less than a whole batch each. Slots of those whose lease has ended count: the next batch that
    is given takes them. What moves on while this is read is counted twice rather than not at all, for slots go from expired
    to open to held, and people out of those who wait: only with the study held is the answer yes a promise.
    """
    each = study.design.ratings.per_annotator
    whole_batches = waiting_people(connection, study, now=now) * each
    is_open = select(SLOTS.c.id).where(SLOTS.c.study_id == study.id, SLOTS.c.holder_id.is_(None))
    if counted(connection, is_open, most=whole_batches + 1) > whole_batches:
        return True
    free = expired_slots(connection, study, now=now) + open_slots_by_query(connection, study)
    waiting = waiting_people(connection, study, now=now)
    return free.total() > most_taken(by_condition(free), people=waiting, size=each)


def by_condition(free: Mapping[tuple[str, str], int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for (condition, _), slots in free.items():
        found.setdefault(condition, []).append(slots)
    return found


def people_needed(
    connection: Connection, study: Round, free: Mapping[tuple[str, str], int] | None = None, *, now: datetime
) -> int:
    """How many people, beside those who wait for a batch, it takes to fill the open slots, or those of `free`.

    By condition and query: a batch each, and one item of a query each.
    """
    size = study.design.ratings.per_annotator
    slots = by_condition(open_slots_by_query(connection, study) if free is None else free)
    needed = sum(max(-(-sum(of_queries) // size), *of_queries) for of_queries in slots.values())
    return max(0, needed - waiting_people(connection, study, now=now))


def open_slots_by_query(connection: Connection, study: Round) -> Counter[tuple[str, str]]:
    """Open slots of each query in each condition."""
    query = (
        select(SLOTS.c.condition, ITEMS.c.query_id, func.count())
        .join(ITEMS, (ITEMS.c.study_id == SLOTS.c.study_id) & (ITEMS.c.item_id == SLOTS.c.item_id))
        .where(SLOTS.c.study_id == study.id, SLOTS.c.holder_id.is_(None))
        .group_by(SLOTS.c.condition, ITEMS.c.query_id)
    )
    return Counter({(row[0], row[1]): row[2] for row in connection.execute(query)})


def expired_slots(connection: Connection, study: Round, *, now: datetime) -> Counter[tuple[str, str]]:
    """Slots of each query in each condition whose holders' lease has ended."""
    query = (
        select(PAGES.c.condition, PAGES.c.query_id, func.count())
        .join(ANNOTATORS, ANNOTATORS.c.id == PAGES.c.annotator_id)
        .where(
            ANNOTATORS.c.study_id == study.id,
            ANNOTATORS.c.stage == "rating",
            ANNOTATORS.c.lapsed.is_(False),
            ANNOTATORS.c.lease_until < now,
            PAGES.c.state == "waiting",
            PAGES.c.kind == "item",
        )
        .group_by(PAGES.c.condition, PAGES.c.query_id)
    )
    return Counter({(row[0], row[1]): row[2] for row in connection.execute(query)})


def waiting_people(connection: Connection, study: Round, *, now: datetime) -> int:
    """Those who consented within the length of a lease, have no batch yet, and did not leave by the recruiter's word."""
    since = now - timedelta(minutes=study.design.ratings.lease_minutes)
    query = select(func.count()).where(
        ANNOTATORS.c.study_id == study.id,
        ANNOTATORS.c.stage.in_(("tutorial", "quiz")),
        ANNOTATORS.c.consented_at > since,
        ANNOTATORS.c.lease_until.is_(None) | (ANNOTATORS.c.lease_until >= now),
    )
    return int(connection.scalars(query).one())


def counted(connection: Connection, rows: Select[tuple[int]], *, most: int) -> int:
    """How many `rows` there are, counted up to `most`."""
    return int(connection.scalars(select(func.count()).select_from(rows.limit(most).subquery())).one())


def took_part(connection: Connection, study: Round, fingerprint: str, *, now: datetime) -> bool:
    """Whether this person took part in another round of the study, and is to be kept out."""
    table = FINGERPRINTS
    row = connection.execute(
        select(table.c.study_id).where(
            table.c.study_name == excluded_under(study),
            table.c.fingerprint == fingerprint,
            table.c.expires_on >= now.date(),
        )
    ).first()
    return row is not None and row.study_id != study.id


def excluded_under(study: Round) -> str:
    """Rehearsals and previews exclude nobody from the study itself."""
    return study.name if study.phase in {"pilot", "main"} else f"{study.id} {study.phase}"


def admit(
    connection: Connection, study: Round, person: RecruiterIds, *, vault: Vault, now: datetime
) -> Annotator | None:
    """Somebody consented: only now are their ids kept, sealed. The same person again is the same annotator.

    None when the person took part in another round of this study.
    """
    fingerprint = vault.fingerprint(study.name, person.person)
    known = find_returner(connection, study, fingerprint)
    if known is not None:
        return known
    if took_part(connection, study, fingerprint, now=now):
        return None
    annotator_id = f"a{secrets.token_hex(12)}"
    try:
        with connection.begin_nested():
            add(connection, study, annotator_id, fingerprint=fingerprint, now=now)
    except IntegrityError:  # the same person consented in another tab just now
        return find_returner(connection, study, fingerprint)
    wrapped = vault.new_key()
    connection.execute(insert(KEYS).values(annotator_id=annotator_id, wrapped=wrapped))
    sealed = vault.seal(person, wrapped)
    connection.execute(update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(sealed=sealed))
    note(connection, study.id, "consented", at=now, by="annotator", annotator_id=annotator_id)
    return Annotator(annotator_id, study.id, "tutorial", None, None, 0, lapsed=False)


def add(connection: Connection, study: Round, annotator_id: str, *, fingerprint: str, now: datetime) -> None:
    connection.execute(
        insert(ANNOTATORS).values(
            id=annotator_id,
            study_id=study.id,
            stage="tutorial",
            fingerprint=fingerprint,
            quiz_attempts=0,
            lapsed=False,
            consented_at=now,
        )
    )
    expired = (FINGERPRINTS.c.fingerprint == fingerprint) & (FINGERPRINTS.c.expires_on < now.date())
    connection.execute(delete(FINGERPRINTS).where(expired))
    connection.execute(
        insert(FINGERPRINTS).values(
            study_name=excluded_under(study),
            fingerprint=fingerprint,
            study_id=study.id,
            expires_on=study.design.privacy.exclude_until,
        )
    )
