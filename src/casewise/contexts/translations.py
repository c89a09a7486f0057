"""Translations in the review room: one person writes each text in the other language, and another one reads both.

Whoever changes a text has translated it, so somebody else has to read it again; that nobody reads their own, the database
refuses too. What a model wrote (a paraphrase) has no translator, and one person reads it. `version` counts the changes of a text: of two people who act on the same one, the second is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, case, func, insert, or_, select, update

from casewise.database.tables import review, staff
from casewise.records.translation import Translation

TABLE = review.translations
PEOPLE = staff.people
READ, WRITTEN = TABLE.c.reviewer_id.is_not(None), TABLE.c.text != ""
BY_MODEL = TABLE.c.translator_id.is_(None)


@dataclass(frozen=True, slots=True)
class TranslationSet:
    """The texts of one study in one language, and how far they are."""

    study: str
    language: str
    texts: int
    written: int
    read: int
    waiting: int
    """For whoever asked: to be translated, or to be read by somebody other than who translated it."""


class RoomText(NamedTuple):
    """Which text of which set."""

    study: str
    language: str
    id: str


def put_texts(connection: Connection, study: str, texts: Iterable[Translation]) -> int:
    """Put what is to be translated into the room; how many texts are new, or have another source than before.

    What is written already, by a model or by somebody who is not of the room, any one person reads.
    """
    changed = 0
    for position, one in enumerate(texts, start=1):
        key = RoomText(study, one.language, blake2b(one.of.encode(), digest_size=12).hexdigest())
        there = find_text(connection, key)
        if there is not None and there.source == one.source:
            continue
        changed += 1
        values = {"position": position, "source": one.source, "reviewer_id": None}
        if there is None:
            row = key._asdict() | values | {"of": one.of, "text": one.text, "version": 0}
            connection.execute(insert(TABLE).values(row))
        else:
            connection.execute(update(TABLE).where(*at(key)).values(**values, version=there.version + 1))
    return changed


def at(key: RoomText) -> tuple[Any, ...]:
    return TABLE.c.study == key.study, TABLE.c.language == key.language, TABLE.c.id == key.id


def waits_for(person_id: str) -> Any:
    return ~READ & or_(~WRITTEN, BY_MODEL, TABLE.c.translator_id != person_id)


def sets_for(connection: Connection, person_id: str) -> list[TranslationSet]:
    """All sets, and how much of each waits for a person."""
    counts = [
        func.coalesce(func.sum(case((what, 1), else_=0)), 0)
        for what in (or_(WRITTEN, READ), READ, waits_for(person_id))
    ]
    query = select(TABLE.c.study, TABLE.c.language, func.count(), *counts).group_by(TABLE.c.study, TABLE.c.language)
    rows = connection.execute(query.order_by(TABLE.c.study, TABLE.c.language))
    return [TranslationSet(row[0], row[1], *map(int, row[2:])) for row in rows]


def find_text(connection: Connection, key: RoomText) -> Row[Any] | None:
    """One text, or None."""
    return connection.execute(select(TABLE).where(*at(key))).first()


def next_text(connection: Connection, study: str, language: str, person_id: str, *, after: int = 0) -> str | None:
    """The id of the first text after a position, and then from the start, that waits for a person; or None."""
    here = (TABLE.c.study == study, TABLE.c.language == language)
    order = (TABLE.c.position <= after, TABLE.c.position, TABLE.c.id)
    return connection.scalars(select(TABLE.c.id).where(*here, waits_for(person_id)).order_by(*order).limit(1)).first()


OWN_A_PAGE = 200


def own_texts(
    connection: Connection, study: str, language: str, person_id: str, *, offset: int = 0
) -> tuple[Row[Any], ...]:
    """What a person translated, read or left out, in the order of the texts: a page of them, and one more if there is one."""
    own = or_(TABLE.c.translator_id == person_id, TABLE.c.reviewer_id == person_id)
    query = select(TABLE).where(TABLE.c.study == study, TABLE.c.language == language, own)
    query = query.order_by(TABLE.c.position, TABLE.c.id).offset(offset).limit(OWN_A_PAGE + 1)
    return tuple(connection.execute(query))


def translate_text(connection: Connection, key: RoomText, text: str, *, by: str, seen: int) -> bool:
    """Write a text in the other language; False if somebody changed it since it was `seen`."""
    values = {"text": text, "translator_id": by, "reviewer_id": None, "version": seen + 1}
    return connection.execute(update(TABLE).where(*at(key), TABLE.c.version == seen).values(**values)).rowcount == 1


def confirm_text(connection: Connection, key: RoomText, *, by: str, seen: int) -> bool:
    """Say that both texts say the same; False if it was changed since, is not written, or is one's own."""
    here = (*at(key), TABLE.c.version == seen, WRITTEN, or_(BY_MODEL, TABLE.c.translator_id != by))
    return connection.execute(update(TABLE).where(*here).values(reviewer_id=by, version=seen + 1)).rowcount == 1


def leave_out_text(connection: Connection, key: RoomText, *, by: str, seen: int) -> bool:
    """Say that what a model wrote says something else; False if it was changed since, or a person wrote it."""
    here = (*at(key), TABLE.c.version == seen, WRITTEN, BY_MODEL)
    left = update(TABLE).where(*here).values(text="", reviewer_id=by, version=seen + 1)
    return connection.execute(left).rowcount == 1


def texts_of(connection: Connection, study: str, language: str) -> list[Translation]:
    """What the room has of a study in a language, with who translated and who read it."""
    wrote, read = PEOPLE.alias("wrote"), PEOPLE.alias("read_both")
    query = (
        select(TABLE, wrote.c.name.label("wrote"), read.c.name.label("read_by"))
        .outerjoin(wrote, wrote.c.id == TABLE.c.translator_id)
        .outerjoin(read, read.c.id == TABLE.c.reviewer_id)
        .where(TABLE.c.study == study, TABLE.c.language == language)
        .order_by(TABLE.c.position, TABLE.c.id)
    )
    return [
        Translation(
            of=row.of,
            language=row.language,
            text=row.text,
            source=row.source,
            translator=signed(row.wrote, row.translator_id),
            reviewer=signed(row.read_by, row.reviewer_id),
        )
        for row in connection.execute(query)
    ]


def as_done(given: Translation, in_room: Translation | None) -> Translation:
    """A translation as the room has it; a text that came with its translator and stands as it came keeps the name."""
    if in_room is None:
        return given
    same = in_room.text == given.text and not in_room.translator
    return in_room.model_copy(update={"translator": given.translator}) if same else in_room


def signed(name: str | None, person_id: str | None) -> str:
    """A name that tells two people of one name apart; empty where nobody is meant."""
    return f"{name} ({person_id[:6]})" if name and person_id else ""
