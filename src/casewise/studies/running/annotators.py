"""An annotator's way in the database: consent, tutorial, quiz, batch, end. The stage is the server's, never the page's."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from casewise.database.tables import study as tables
from casewise.studies.recruiters.protocol import RecruiterIds
from casewise.studies.running.events import note
from casewise.studies.running.privacy import Vault
from casewise.studies.running.rounds import Round
from casewise.studies.running.slots import assign

__all__ = [
    "Annotator",
    "QuizResult",
    "Stage",
    "admit",
    "annotator",
    "answer_quiz",
    "count_stages",
    "find_returner",
    "has_room",
    "keep_questions",
    "pass_tutorial",
    "person_of",
    "took_part",
]

Stage = Literal["tutorial", "quiz", "rating", "done"]
QuizResult = Literal["passed", "again", "screened_out", "no_room"]

ANNOTATORS, FINGERPRINTS, KEYS = tables.annotators, tables.fingerprints, tables.keys


@dataclass(frozen=True, slots=True)
class Annotator:
    """Where somebody stands."""

    id: str
    study_id: str
    stage: Stage
    outcome: str | None
    condition: str | None
    quiz_attempts: int
    lapsed: bool


def annotator(connection: Connection, annotator_id: str) -> Annotator | None:
    """The annotator with this id, or None."""
    row = connection.execute(select(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id)).first()
    return None if row is None else as_annotator(row)


def as_annotator(row: Row[Any]) -> Annotator:
    return Annotator(row.id, row.study_id, row.stage, row.outcome, row.condition, row.quiz_attempts, row.lapsed)


def find_returner(connection: Connection, study: Round, fingerprint: str) -> Annotator | None:
    """Whoever arrived in this round with the same recruiter id before: they continue where they were."""
    row = connection.execute(
        select(ANNOTATORS).where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.fingerprint == fingerprint)
    ).first()
    return None if row is None else as_annotator(row)


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


def has_room(connection: Connection, study: Round) -> bool:
    """Whether any slot is open now."""
    slots = tables.slots
    query = select(slots.c.id).where(slots.c.study_id == study.id, slots.c.holder_id.is_(None)).limit(1)
    return connection.scalars(query).first() is not None


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


def pass_tutorial(connection: Connection, annotator_id: str) -> None:
    """On to the quiz; from anywhere else nothing happens."""
    connection.execute(
        update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id, ANNOTATORS.c.stage == "tutorial").values(stage="quiz")
    )


def answer_quiz(
    connection: Connection, study: Round, annotator_id: str, chosen: Sequence[int | None], *, now: datetime
) -> QuizResult:
    """Count an attempt: on to the rating, another attempt, or screened out."""
    row = connection.execute(
        select(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).with_for_update(key_share=True)
    ).one()
    if row.stage != "quiz":
        return "passed" if row.stage == "rating" else "again"
    attempts = row.quiz_attempts + 1
    right = [question.right for question in study.wording.quiz]
    missed = sum(answer != expected for answer, expected in zip(chosen, right, strict=True))
    connection.execute(update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(quiz_attempts=attempts))
    detail = {"attempt": attempts, "missed": missed}
    note(connection, study.id, "quiz", at=now, by="annotator", annotator_id=annotator_id, detail=detail)
    if missed <= study.design.quiz.may_miss:
        if assign(connection, study, annotator_id, now=now):
            return "passed"
        end(connection, study, annotator_id, outcome="no_room", now=now)
        return "no_room"
    if attempts < study.design.quiz.attempts:
        return "again"
    end(connection, study, annotator_id, outcome="screened_out", now=now)
    return "screened_out"


def end(connection: Connection, study: Round, annotator_id: str, *, outcome: str, now: datetime) -> None:
    connection.execute(
        update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(stage="done", outcome=outcome, finished_at=now)
    )
    note(connection, study.id, outcome, at=now, annotator_id=annotator_id)


def keep_questions(connection: Connection, annotator_id: str, *, demographics: dict[str, str], feedback: str) -> None:
    """Keep what somebody chose to say about themselves, and their remarks."""
    connection.execute(
        update(ANNOTATORS)
        .where(ANNOTATORS.c.id == annotator_id)
        .values(demographics=demographics or None, feedback=feedback or None)
    )


def person_of(connection: Connection, annotator_id: str, *, vault: Vault) -> RecruiterIds | None:
    """The recruiter's ids of an annotator; None once they are deleted."""
    row = connection.execute(
        select(ANNOTATORS.c.sealed, KEYS.c.wrapped)
        .join(KEYS, KEYS.c.annotator_id == ANNOTATORS.c.id)
        .where(ANNOTATORS.c.id == annotator_id)
    ).first()
    return None if row is None or row.sealed is None else vault.open(row.sealed, row.wrapped)


def count_stages(connection: Connection, study_id: str) -> dict[str, int]:
    """How many people are at each stage, or ended with each outcome."""
    query = (
        select(ANNOTATORS.c.stage, ANNOTATORS.c.outcome, func.count())
        .where(ANNOTATORS.c.study_id == study_id)
        .group_by(ANNOTATORS.c.stage, ANNOTATORS.c.outcome)
    )
    counts: dict[str, int] = {}
    for stage, outcome, count in connection.execute(query):
        counts[outcome or stage] = counts.get(outcome or stage, 0) + count
    return counts
