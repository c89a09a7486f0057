"""Rounds of a study in the database: a pilot, the main study, a rehearsal or a preview."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, insert, select, update

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.design.design import Design
from casewise.studies.design.languages import LanguageCode, Speech
from casewise.studies.design.material import Material, StudyItem
from casewise.studies.design.translating import Translated
from casewise.studies.design.wording import StudyWording
from casewise.studies.running.events import note

__all__ = [
    "ROWS_AT_ONCE",
    "ListedRound",
    "NewRound",
    "Phase",
    "Round",
    "RoundState",
    "add_items",
    "all_rounds",
    "find_round",
    "load_round",
    "open_round",
    "round_state",
    "set_state",
    "shown_items",
]

Phase = Literal["pilot", "main", "rehearsal", "preview"]
RoundState = Literal["open", "paused", "closed"]

WORDING = TypeAdapter(StudyWording)
ROWS_AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Round:
    """A round as it was opened. It changes by an amendment only; whether it is paused is asked of the database."""

    id: str
    name: str
    version: str
    phase: Phase
    design: Design
    wording: StudyWording
    categories: tuple[tuple[str, str], ...]
    """Name and risks of each category that annotators may meet."""
    benchmark: dict[str, Any]
    """Name, version and digest of the benchmark."""
    frozen: dict[str, Any] | None
    created_at: datetime
    translated: Mapping[LanguageCode, Translated] = field(default_factory=dict)
    """The texts in the design's languages but the first, in which `wording` is."""

    def worded(self, language: LanguageCode) -> StudyWording:
        """The texts in one of the study's languages."""
        there = self.translated.get(language)
        return there.wording if there else self.wording

    def speech(self, language: LanguageCode) -> Speech:
        """Says things in one of the study's languages, the owner's own words among them."""
        there = self.translated.get(language)
        return Speech(language, there.words if there else {})


@dataclass(frozen=True, slots=True)
class ListedRound:
    """A line of the list of rounds."""

    id: str
    name: str
    version: str
    phase: Phase
    state: RoundState
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewRound:
    """What a round is opened with."""

    design: Design
    phase: Phase
    wording: StudyWording
    material: Material
    frozen: dict[str, Any] | None = None
    translated: Mapping[LanguageCode, Translated] = field(default_factory=dict)


def open_round(connection: Connection, new: NewRound, *, now: datetime) -> str:
    """Put a round into the database, with all its slots; returns its id, which is in the annotators' link.

    Raises StudyError: there is a round of that name, version and phase already, or nothing to rate.
    """
    design, items = new.design, new.material.items
    if not items:
        raise StudyError("there is nothing to rate: no item of the benchmark is in one of the study's conditions")
    if find_round(connection, design.name, version=design.version, phase=new.phase) is not None:
        raise StudyError(
            f"the {new.phase} round of {design.name} {design.version} is there already; give `version` in study.toml a "
            "new value for another one"
        )
    study_id = uuid.uuid4().hex[:20]
    connection.execute(insert(tables.studies).values(id=study_id, **round_row(new), created_at=now))
    add_items(connection, study_id, items, per_item=design.ratings.per_item)
    note(connection, study_id, "opened", at=now, detail={"phase": new.phase, "items": len(items)})
    return study_id


def round_row(new: NewRound) -> dict[str, Any]:
    return {
        "name": new.design.name,
        "version": new.design.version,
        "phase": new.phase,
        "state": "open",
        "design": new.design.model_dump(mode="json"),
        "wording": WORDING.dump_python(new.wording, mode="json"),
        "categories": [list(pair) for pair in new.material.categories],
        "benchmark": new.material.benchmark,
        "frozen": new.frozen,
        "translated": {
            language: {"wording": WORDING.dump_python(there.wording, mode="json"), "words": dict(there.words)}
            for language, there in new.translated.items()
        },
    }


def add_items(connection: Connection, study_id: str, items: Sequence[StudyItem], *, per_item: int) -> None:
    rows = [
        {
            "study_id": study_id,
            "item_id": item.item_id,
            "condition": item.condition,
            "query_id": item.query_id,
            "shown": item.shown,
        }
        for item in items
    ]
    connection.execute(insert(tables.items), rows)
    slots = [
        {"study_id": study_id, "item_id": item.item_id, "condition": item.condition, "number": number}
        for item in items
        for number in range(1, per_item + 1)
    ]
    for start in range(0, len(slots), ROWS_AT_ONCE):
        connection.execute(insert(tables.slots), slots[start : start + ROWS_AT_ONCE])


def load_round(connection: Connection, study_id: str) -> Round | None:
    """The round with this id, or None."""
    row = connection.execute(select(tables.studies).where(tables.studies.c.id == study_id)).first()
    return None if row is None else as_round(row)


def find_round(connection: Connection, name: str, *, version: str | None = None, phase: Phase) -> Round | None:
    """The round of this name and phase: of that version, or else the one opened last; None if there is none."""
    table = tables.studies
    query = select(table).where(table.c.name == name, table.c.phase == phase).order_by(table.c.created_at.desc())
    if version is not None:
        query = query.where(table.c.version == version)
    row = connection.execute(query).first()
    return None if row is None else as_round(row)


def all_rounds(connection: Connection) -> list[ListedRound]:
    """All rounds, the newest first."""
    table = tables.studies
    query = select(table.c.id, table.c.name, table.c.version, table.c.phase, table.c.state, table.c.created_at)
    return [ListedRound(*row) for row in connection.execute(query.order_by(table.c.created_at.desc()))]


def as_round(row: Row[Any]) -> Round:
    return Round(
        id=row.id,
        name=row.name,
        version=row.version,
        phase=row.phase,
        design=Design.model_validate(row.design),
        wording=WORDING.validate_python(row.wording),
        categories=tuple((name, risks) for name, risks in row.categories),
        benchmark=row.benchmark,
        frozen=row.frozen,
        created_at=row.created_at,
        translated={
            language: Translated(WORDING.validate_python(there["wording"]), there["words"])
            for language, there in (row.translated or {}).items()
        },
    )


def shown_items(connection: Connection, study_id: str) -> tuple[StudyItem, ...]:
    """What the round shows, as it was put into the database when it was opened."""
    table = tables.items
    rows = connection.execute(select(table).where(table.c.study_id == study_id).order_by(table.c.item_id))
    return tuple(StudyItem(row.item_id, row.query_id, row.condition, row.shown) for row in rows)


def round_state(connection: Connection, study_id: str) -> RoundState:
    """Whether people are let in now."""
    state: RoundState = connection.scalars(select(tables.studies.c.state).where(tables.studies.c.id == study_id)).one()
    return state


def set_state(connection: Connection, study_id: str, state: RoundState, *, by: str, now: datetime) -> None:
    """Pause a round, let people in again, or close it. Whoever is in the middle of a batch may finish it."""
    connection.execute(update(tables.studies).where(tables.studies.c.id == study_id).values(state=state))
    note(connection, study_id, state, by=by, at=now)
