"""An annotator's way in the database: consent, tutorial, quiz, batch, end. The stage is the server's, never the page's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, func, select, update

from casewise.database.tables import study as tables
from casewise.studies.recruiters.protocol import RecruiterIds
from casewise.studies.running.events import note
from casewise.studies.running.privacy import Vault
from casewise.studies.running.rounds import Round, round_state
from casewise.studies.running.slots import assign

__all__ = [
    "Annotator",
    "QuizResult",
    "Stage",
    "annotator",
    "answer_quiz",
    "count_stages",
    "find_returner",
    "halt",
    "keep_questions",
    "leave_before_batch",
    "missed_before",
    "pass_tutorial",
    "person_of",
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
    pairs = zip(chosen, right, strict=True)
    missed = [place for place, (answer, expected) in enumerate(pairs) if answer != expected]
    connection.execute(update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(quiz_attempts=attempts))
    detail = {"attempt": attempts, "missed": len(missed), "wrong": missed}
    note(connection, study.id, "quiz", at=now, by="annotator", annotator_id=annotator_id, detail=detail)
    if len(missed) <= study.design.quiz.may_miss:
        if assign(connection, study, annotator_id, now=now):
            return "passed"
        end(connection, study, annotator_id, outcome="no_room", now=now)
        return "no_room"
    if attempts < study.design.quiz.attempts:
        return "again"
    end(connection, study, annotator_id, outcome="screened_out", now=now)
    return "screened_out"


def missed_before(connection: Connection, annotator_id: str) -> tuple[int, ...]:
    """Which questions the last attempt at the quiz missed; none before the first."""
    table = tables.events
    query = (
        select(table.c.detail)
        .where(table.c.annotator_id == annotator_id, table.c.kind == "quiz")
        .order_by(table.c.id.desc())
        .limit(1)
    )
    detail = connection.scalars(query).first()
    return tuple((detail or {}).get("wrong", ()))


def leave_before_batch(connection: Connection, study: Round, annotator_id: str, *, now: datetime) -> None:
    """Somebody stops in the tutorial or the quiz: nothing was rated, and their time is paid as a screen-out's is."""
    row = connection.execute(
        select(ANNOTATORS.c.stage).where(ANNOTATORS.c.id == annotator_id).with_for_update(key_share=True)
    ).one()
    if row.stage in {"tutorial", "quiz"}:
        end(connection, study, annotator_id, outcome="left_early", now=now)


def halt(connection: Connection, study: Round, who: Annotator, *, now: datetime) -> bool:
    """Whether somebody without a batch has to wait, because the round is paused.

    In a closed round they never get one: they end here, and are paid as those who found no item left.
    """
    state = round_state(connection, study.id)
    if state == "closed":
        end(connection, study, who.id, outcome="no_room", now=now)
    return state == "paused"


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
