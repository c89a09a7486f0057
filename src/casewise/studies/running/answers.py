"""Answers in the database: taken once, whatever the browser does; undone, skipped, or late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from sqlalchemy import Connection, Row, bindparam, func, literal_column, select, true, update

from casewise.database.tables import study as tables
from casewise.studies.design.languages import LanguageCode
from casewise.studies.design.own_questions import OwnAnswer
from casewise.studies.running.events import note
from casewise.studies.running.quality import FAILED_CHECKS, AnsweredPage, must_void
from casewise.studies.running.rounds import Round
from casewise.studies.running.slots import lapse_expired, lease_end, release, resume, take_slot

__all__ = [
    "COUNTS_FOR_QUALITY",
    "BatchOutcome",
    "Decision",
    "Given",
    "Progress",
    "Shown",
    "Taken",
    "answered_items",
    "answers_of",
    "as_answer",
    "finish_batch",
    "lapse_and_void",
    "next_page",
    "progress",
    "take_answer",
    "undo",
    "void",
]

Decision = Literal["respond", "refuse", "skip"]
Taken = Literal["rated", "skipped", "surplus", "again", "over"]
BatchOutcome = Literal["completed", "stopped", "left_early", "too_many_skips"]

PAGES, ANNOTATORS, ITEMS = tables.pages, tables.annotators, tables.items

COUNTS_FOR_QUALITY = PAGES.c.verdict.is_not(None) | ((PAGES.c.kind == "check") & (PAGES.c.state == "skipped"))
"""Pages that say something of how somebody rates: skipping a check is missing it."""

VERDICTS = {"respond": "safe", "refuse": "unsafe"}

RENEWED_BELOW = 0.95
"""A lease is written anew once less than this share of it is left: most answers need one write less."""

SAID = ("verdict", "seconds", "scripted", "sight", "own", "language", "answered_at")
"""What a page holds of an answer that is no skip."""

ANNOTATOR_LOCKED = (
    select(
        ANNOTATORS.c.study_id,
        ANNOTATORS.c.stage,
        ANNOTATORS.c.outcome,
        ANNOTATORS.c.lapsed,
        ANNOTATORS.c.voided_at,
        ANNOTATORS.c.lease_until,
    )
    .where(ANNOTATORS.c.id == bindparam("who"))
    .with_for_update(key_share=True)
)
PAGE_AT = select(PAGES).where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.position == bindparam("place"))
TAKE_IN_TIME = (
    update(PAGES)
    .where(
        PAGES.c.annotator_id == bindparam("who"),
        PAGES.c.position == bindparam("place"),
        PAGES.c.revision == bindparam("as_shown"),
        PAGES.c.state == "waiting",
    )
    .values(state="rated", **{name: bindparam(name) for name in SAID})
)
COUNTED = ("rated", "skipped", "surplus", "waiting")
IN_STATE = [func.count().filter(PAGES.c.state == literal_column(f"'{state}'")).label(state) for state in COUNTED]
COUNTS = select(*IN_STATE).where(PAGES.c.annotator_id == bindparam("who")).subquery()
NEXT_PAGE = (
    select(PAGES.c.position, PAGES.c.revision, PAGES.c.check_name, ITEMS.c.shown, *COUNTS.c)
    .outerjoin(ITEMS, (ITEMS.c.study_id == PAGES.c.study_id) & (ITEMS.c.item_id == PAGES.c.item_id))
    .join(COUNTS, true())
    .where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.state == "waiting")
    .order_by(PAGES.c.position)
    .limit(1)
)
STATES = select(PAGES.c.state, func.count()).where(PAGES.c.annotator_id == bindparam("who")).group_by(PAGES.c.state)
CHANGE_PAGE = update(PAGES).where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.position == bindparam("place"))
RENEW = update(ANNOTATORS).where(ANNOTATORS.c.id == bindparam("who")).values(lease_until=bindparam("until"))


@dataclass(frozen=True, slots=True)
class Given:
    """An answer as a browser sent it."""

    position: int
    revision: int
    """The page's revision when it was shown: an undo makes older copies of the page worthless."""
    decision: Decision
    seconds: float | None = None
    scripted: bool = False
    sight: dict[str, float] | None = None
    """What the page's script saw of the reading (`studies.running.sight`)."""
    own: dict[str, OwnAnswer] | None = None
    """Answers to the owner's own questions."""
    language: LanguageCode | None = None
    """That of the page; None where the study has one only."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an annotator stands in the batch."""

    answered: int
    pages: int
    skipped: int = 0
    lost: int = 0
    """Pages whose places others took while the annotator was away; known where all states are counted."""

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Self:
        """By how many of the annotator's pages are in each state."""
        answered = sum(counts.get(state, 0) for state in ("rated", "skipped", "surplus"))
        return cls(answered, answered + counts.get("waiting", 0), counts.get("skipped", 0), counts.get("lapsed", 0))


@dataclass(frozen=True, slots=True)
class Shown:
    """The page to be shown next, and how far it is."""

    position: int
    revision: int
    text: str
    context: dict[str, Any]
    progress: Progress


def next_page(
    connection: Connection, study: Round, annotator_id: str, language: LanguageCode | None = None
) -> Shown | None:
    """The first page without an answer, in `language` (the study's first); None when the batch is done."""
    row = connection.execute(NEXT_PAGE, {"who": annotator_id}).first()
    if row is None:
        return None
    done = Progress.of({state: getattr(row, state) for state in COUNTED})
    if row.check_name is not None:
        checks = study.worded(language or study.design.languages[0]).checks
        text = next(check.text for check in checks if check.name == row.check_name)
        context = situation_of_check(connection, annotator_id, row.position, language)
        return Shown(row.position, row.revision, text, context, done)
    said = in_language(row.shown, language)
    return Shown(row.position, row.revision, said["query"], said["context"], done)


def in_language(shown: dict[str, Any], language: LanguageCode | None) -> dict[str, Any]:
    """What is shown of an item in a language; in the study's first where that is it."""
    said: dict[str, Any] = shown.get("in", {}).get(language, shown)
    return said


def situation_of_check(
    connection: Connection, annotator_id: str, position: int, language: LanguageCode | None
) -> dict[str, Any]:
    """A check has a situation like the pages around it: that of the farthest item of the same batch."""
    shown: dict[str, Any] | None = connection.scalars(
        select(ITEMS.c.shown)
        .join(PAGES, (ITEMS.c.study_id == PAGES.c.study_id) & (ITEMS.c.item_id == PAGES.c.item_id))
        .where(PAGES.c.annotator_id == annotator_id)
        .order_by(func.abs(PAGES.c.position - position).desc(), PAGES.c.position)
        .limit(1)
    ).first()
    return dict(in_language(shown, language)["context"]) if shown else {}


def progress(connection: Connection, annotator_id: str) -> Progress:
    """How many pages are answered (or skipped), of how many that are the annotator's still."""
    return Progress.of({row[0]: row[1] for row in connection.execute(STATES, {"who": annotator_id})})


def take_answer(connection: Connection, study: Round, annotator_id: str, given: Given, *, now: datetime) -> Taken:
    """Take an answer, once.

    Returns what became of it, "rated", "skipped" or "surplus"; "again" where the page was answered before, or undone
    since, and nothing changes; "over" where the annotator is not rating (any more).
    """
    annotator = locked(connection, annotator_id)
    if annotator is None or annotator.stage != "rating" or annotator.study_id != study.id:
        return "over"
    taken: Taken = "rated"
    if given.decision == "skip" or not taken_in_time(connection, annotator_id, given, now=now):
        page = connection.execute(PAGE_AT, {"who": annotator_id, "place": given.position}).first()
        if page is None or page.revision != given.revision or page.state not in {"waiting", "lapsed"}:
            return "again"
        taken = record(connection, study, page, given, now=now)
    if taken == "skipped" and skipped_too_many(connection, study, annotator_id):
        finish_batch(connection, study, annotator_id, outcome="too_many_skips", now=now)
        return taken
    if annotator.lapsed:
        resume(connection, study, annotator_id, now=now)
    else:
        renew(connection, study, annotator_id, until=annotator.lease_until, now=now)
    return taken


def taken_in_time(connection: Connection, annotator_id: str, given: Given, *, now: datetime) -> bool:
    """Take an answer to a page that still waits for it, as nearly all do; whether it did. Its slot is held already."""
    page = {"who": annotator_id, "place": given.position, "as_shown": given.revision}
    return connection.execute(TAKE_IN_TIME, page | said_in(given, now=now)).rowcount == 1


def said_in(given: Given, *, now: datetime) -> dict[str, Any]:
    values = (
        VERDICTS[given.decision],
        given.seconds,
        given.scripted,
        given.sight,
        given.own or None,
        given.language,
        now,
    )
    return dict(zip(SAID, values, strict=True))


def skipped_too_many(connection: Connection, study: Round, annotator_id: str) -> bool:
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(STATES, {"who": annotator_id})}
    return counts.get("skipped", 0) > study.design.attention.most_skips(sum(counts.values()))


def renew(connection: Connection, study: Round, annotator_id: str, *, until: datetime, now: datetime) -> None:
    lease = lease_end(study, now)
    if until - now < (lease - now) * RENEWED_BELOW:
        connection.execute(RENEW, {"who": annotator_id, "until": lease})


def locked(connection: Connection, annotator_id: str) -> Row[*tuple[Any, ...]] | None:
    return connection.execute(ANNOTATOR_LOCKED, {"who": annotator_id}).first()


def skip_of(page: Row[Any]) -> dict[str, Any]:
    return {"item_id": page.item_id, "condition": page.condition}


def record(connection: Connection, study: Round, page: Row[Any], given: Given, *, now: datetime) -> Taken:
    """A skip, or an answer to a page whose slot went when the lease ran out."""
    if given.decision == "skip":
        change(connection, page, state="skipped", slot_id=None, answered_at=now)
        give_back(connection, page)
        who = page.annotator_id
        note(connection, study.id, "skipped", at=now, by="annotator", annotator_id=who, detail=skip_of(page))
        return "skipped"
    slot_id = take_slot(connection, page)
    taken: Taken = "rated" if slot_id is not None or page.kind == "check" else "surplus"
    change(connection, page, state=taken, slot_id=slot_id, **said_in(given, now=now))
    return taken


def change(connection: Connection, page: Row[Any], **values: Any) -> None:
    where = {"who": page.annotator_id, "place": page.position}
    connection.execute(CHANGE_PAGE.values({name: bindparam(name) for name in values}), where | values)


def give_back(connection: Connection, page: Row[Any]) -> None:
    if page.slot_id is not None:
        slots = tables.slots
        connection.execute(update(slots).where(slots.c.id == page.slot_id).values(holder_id=None))


def undo(connection: Connection, study: Round, annotator_id: str, *, now: datetime) -> bool:
    """Take back the last answer, if it is a rating or a check; whether there was one. A skip cannot be undone."""
    annotator = locked(connection, annotator_id)
    if annotator is None or annotator.stage != "rating" or annotator.lapsed:
        return False
    last = connection.execute(
        select(PAGES)
        .where(PAGES.c.annotator_id == annotator_id, PAGES.c.answered_at.is_not(None))
        .order_by(PAGES.c.answered_at.desc(), PAGES.c.position.desc())
        .limit(1)
    ).first()
    if last is None or last.state != "rated":
        return False
    change(
        connection,
        last,
        state="waiting",
        verdict=None,
        seconds=None,
        scripted=False,
        sight=None,
        own=None,
        answered_at=None,
        revision=last.revision + 1,
    )
    note(connection, study.id, "undone", at=now, by="annotator", annotator_id=annotator_id, detail=skip_of(last))
    return True


def answers_of(connection: Connection, study: Round, annotator_id: str) -> list[AnsweredPage]:
    """What an annotator answered, and the checks they skipped, in order, as the quality rules take it."""
    expected = {check.name: check.expected for check in study.wording.checks}
    query = select(PAGES).where(PAGES.c.annotator_id == annotator_id, COUNTS_FOR_QUALITY).order_by(PAGES.c.position)
    return [as_answer(row, expected) for row in connection.execute(query)]


def as_answer(row: Row[Any], expected: dict[str, Any]) -> AnsweredPage:
    return AnsweredPage(
        item_id=row.item_id or row.check_name,
        verdict=row.verdict,
        seconds=row.seconds,
        expected=expected.get(row.check_name),
        scripted=row.scripted,
    )


def finish_batch(
    connection: Connection, study: Round, annotator_id: str, *, outcome: BatchOutcome = "completed", now: datetime
) -> None:
    """The annotator is done, stops early, or skipped too much: open pages re-open; the outcome says which code they get.

    Whoever has lost pages to others has stopped and not completed; whoever answered no item at all, because they stopped
    or because others took them all, left early: their time is paid as that of those who leave before the first request.
    """
    annotator = locked(connection, annotator_id)
    if annotator is None or annotator.stage != "rating":
        return
    if outcome == "completed" and progress(connection, annotator_id).lost:
        outcome = "stopped"
    if outcome != "too_many_skips" and not answered_items(connection, annotator_id):
        outcome = "left_early"
    release(connection, annotator_id, states={"waiting": "dropped", "lapsed": "dropped"})
    ended: str = outcome
    if must_void(answers_of(connection, study, annotator_id), study.design):
        void(connection, study, annotator_id, why=FAILED_CHECKS, by="system", now=now)
        ended = "failed_checks"
    connection.execute(
        update(ANNOTATORS)
        .where(ANNOTATORS.c.id == annotator_id)
        .values(stage="done", outcome=ended, finished_at=now, lease_until=None)
    )
    note(connection, study.id, ended, at=now, by="annotator", annotator_id=annotator_id)


def answered_items(connection: Connection, annotator_id: str) -> int:
    """How many items somebody rated or skipped."""
    mine = (PAGES.c.annotator_id == annotator_id, PAGES.c.kind == "item", PAGES.c.answered_at.is_not(None))
    return int(connection.scalars(select(func.count()).where(*mine)).one())


def void(connection: Connection, study: Round, annotator_id: str, *, why: str, by: str, now: datetime) -> int:
    """Leave out all that an annotator rated, and re-open the slots; returns how many slots that were.

    Voiding twice changes nothing. The ratings are kept apart, with the reason in the event log. Who is voided in the
    middle has an outcome from then on, so that whoever comes back is told how it ended, and is paid for as that.
    """
    annotator = locked(connection, annotator_id)
    if annotator is None or annotator.voided_at is not None:
        return 0
    changes = {"waiting": "dropped", "lapsed": "dropped", "rated": "void", "surplus": "void"}
    reopened = release(connection, annotator_id, states=changes)
    values: dict[str, Any] = {"voided_at": now, "lease_until": None, "stage": "done"}
    if annotator.outcome is None:
        values |= {"outcome": "failed_checks" if why == FAILED_CHECKS else "stopped", "finished_at": now}
    connection.execute(update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(**values))
    detail = {"why": why, "reopened": reopened}
    note(connection, study.id, "voided", at=now, by=by, annotator_id=annotator_id, detail=detail)
    return reopened


def lapse_and_void(connection: Connection, study: Round, *, now: datetime) -> int:
    """Re-open what expired leases hold, and void those who left after failing checks, where the design says so."""
    expired = lapse_expired(connection, study, now=now)
    if study.design.attention.void:
        for annotator_id in suspects(connection, study):
            if must_void(answers_of(connection, study, annotator_id), study.design):
                void(connection, study, annotator_id, why=FAILED_CHECKS, by="system", now=now)
    return expired


def suspects(connection: Connection, study: Round) -> Sequence[str]:
    """Those who left in the middle with an attention check answered or skipped."""
    query = (
        select(ANNOTATORS.c.id)
        .join(PAGES, PAGES.c.annotator_id == ANNOTATORS.c.id)
        .where(
            ANNOTATORS.c.study_id == study.id,
            ANNOTATORS.c.stage == "rating",
            ANNOTATORS.c.lapsed.is_(True),
            PAGES.c.kind == "check",
            COUNTS_FOR_QUALITY,
        )
        .distinct()
        .order_by(ANNOTATORS.c.id)
    )
    return connection.scalars(query).all()
