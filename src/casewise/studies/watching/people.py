"""People of a round as their owner looks for them: found by id, condition, outcome and flag; sorted; a page at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, case, func, select

from casewise.database.tables import study as tables
from casewise.studies.recruiters import RecruiterIds, known_as
from casewise.studies.running.annotators import person_of
from casewise.studies.running.events import note
from casewise.studies.running.privacy import Vault
from casewise.studies.running.quality import Dissent, Flag
from casewise.studies.running.rounds import Round

__all__ = ["SORTS", "FoundPeople", "FoundPerson", "PeopleQuery", "Sort", "find_people", "look_up", "with_submission"]

ANNOTATORS, PAGES, FLAGS = tables.annotators, tables.pages, tables.flags

Sort = Literal["flags", "arrival", "rated", "skipped", "time"]

COUNTED = select(func.count()).where(FLAGS.c.annotator_id == ANNOTATORS.c.id).scalar_subquery()
SORTS: dict[Sort, tuple[ColumnElement[Any], ...]] = {
    "flags": (ANNOTATORS.c.voided_at.is_not(None), COUNTED.desc(), ANNOTATORS.c.consented_at),
    "arrival": (ANNOTATORS.c.consented_at,),
    "rated": (func.coalesce(ANNOTATORS.c.rated, 0).desc(), ANNOTATORS.c.consented_at),
    "skipped": (func.coalesce(ANNOTATORS.c.skipped, 0).desc(), ANNOTATORS.c.consented_at),
    "time": (func.coalesce(ANNOTATORS.c.median_s, 1e9), ANNOTATORS.c.consented_at),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleQuery:
    """Whom to find; what is empty asks for nothing."""

    search: str = ""
    """The beginning of an annotator's number. It stands in addresses, so it is never anybody's id at the recruiter."""
    condition: str = ""
    status: str = ""
    """A stage, an outcome, or `left out`."""
    flag: str = ""
    """A kind of flag, or `any`."""
    sort: Sort = "flags"


@dataclass(frozen=True, slots=True)
class FoundPerson:
    """One annotator, under a random id, as of their last assessment."""

    id: str
    condition: str | None
    status: str
    rated: int | None
    skipped: int | None
    median_s: float | None
    voided_at: datetime | None
    feedback: str | None
    flags: tuple[Flag, ...]
    disagreement: Dissent


@dataclass(frozen=True, slots=True)
class FoundPeople:
    """A page of them."""

    people: tuple[FoundPerson, ...]
    total: int
    offset: int
    assessed_at: datetime | None
    """When what is kept with annotators was last worked out for any of the round; for each, only after they did something."""


def find_people(
    connection: Connection, study: Round, wanted: PeopleQuery, *, limit: int, offset: int = 0
) -> FoundPeople:
    """The people who fit `wanted`, `limit` of them from `offset` on; the last `limit` or fewer where that is beyond them."""
    where = fitting(study, wanted)
    total = int(connection.scalars(select(func.count()).select_from(ANNOTATORS).where(*where)).one())
    offset = min(offset, max(0, total - 1) // limit * limit)
    assessed = select(func.max(ANNOTATORS.c.assessed_at)).where(ANNOTATORS.c.study_id == study.id)
    query = select(ANNOTATORS).where(*where).order_by(*SORTS[wanted.sort], ANNOTATORS.c.id).limit(limit).offset(offset)
    rows = connection.execute(query).all()
    ids = [row.id for row in rows]
    flags, dissents = flags_of(connection, ids), dissents_of(connection, study.id, ids)
    people = tuple(as_found(row, flags[row.id], dissents[row.id]) for row in rows)
    return FoundPeople(people, total, offset, connection.scalars(assessed).one())


def fitting(study: Round, wanted: PeopleQuery) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [ANNOTATORS.c.study_id == study.id]
    if search := "".join(wanted.search.split()):
        where.append(ANNOTATORS.c.id.startswith(search.lower(), autoescape=True))
    if wanted.condition:
        where.append(ANNOTATORS.c.condition == wanted.condition)
    if wanted.status == "left out":
        where.append(ANNOTATORS.c.voided_at.is_not(None))
    elif wanted.status:
        where.append(func.coalesce(ANNOTATORS.c.outcome, ANNOTATORS.c.stage) == wanted.status)
    if wanted.flag:
        raised = select(FLAGS.c.annotator_id).where(FLAGS.c.study_id == study.id)
        where.append(ANNOTATORS.c.id.in_(raised if wanted.flag == "any" else raised.where(FLAGS.c.kind == wanted.flag)))
    return where


def as_found(row: Row[Any], flags: list[Flag], disagreement: Dissent) -> FoundPerson:
    return FoundPerson(
        id=row.id,
        condition=row.condition,
        status=row.outcome or row.stage,
        rated=row.rated if row.condition else 0,
        skipped=row.skipped if row.condition else 0,
        median_s=row.median_s,
        voided_at=row.voided_at,
        feedback=row.feedback,
        flags=tuple(flags),
        disagreement=disagreement,
    )


def flags_of(connection: Connection, ids: Sequence[str]) -> defaultdict[str, list[Flag]]:
    found: defaultdict[str, list[Flag]] = defaultdict(list)
    for row in connection.execute(select(FLAGS).where(FLAGS.c.annotator_id.in_(ids)).order_by(FLAGS.c.kind)):
        found[row.annotator_id].append(Flag(row.kind, row.value, row.threshold, row.evidence))
    return found


def dissents_of(connection: Connection, study_id: str, ids: Sequence[str]) -> defaultdict[str, Dissent]:
    """How often each of `ids` differs from the majority of the others on an item; ties are not compared."""
    mine, others = PAGES.alias("mine"), PAGES.alias("others")
    safe = func.sum(case((others.c.verdict == "safe", 1), else_=0))
    each = (
        select(mine.c.annotator_id, mine.c.verdict, safe.label("safe"), func.count().label("votes"))
        .join(others, (others.c.study_id == mine.c.study_id) & (others.c.item_id == mine.c.item_id))
        .where(
            mine.c.study_id == study_id,
            mine.c.annotator_id.in_(ids),
            mine.c.verdict.is_not(None),
            mine.c.item_id.is_not(None),
            others.c.verdict.is_not(None),
            others.c.annotator_id != mine.c.annotator_id,
        )
        .group_by(mine.c.annotator_id, mine.c.item_id, mine.c.verdict)
        .subquery()
    )
    leans_safe = each.c.safe * 2 > each.c.votes
    differs = func.sum(case((leans_safe == (each.c.verdict == "safe"), 0), else_=1))
    query = (
        select(each.c.annotator_id, differs, func.count())
        .where(each.c.safe * 2 != each.c.votes)
        .group_by(each.c.annotator_id)
    )
    found: defaultdict[str, Dissent] = defaultdict(lambda: Dissent(0, 0))
    for annotator_id, many, compared in connection.execute(query):
        found[annotator_id] = Dissent(int(many), compared)
    return found


def look_up(
    connection: Connection, study: Round, annotator_id: str, *, vault: Vault, by: str, now: datetime
) -> RecruiterIds | None:
    """The recruiter's ids of an annotator, and on record that somebody looked; None once they are deleted."""
    note(connection, study.id, "looked up", at=now, by=by, annotator_id=annotator_id)
    return person_of(connection, annotator_id, vault=vault)


def with_submission(connection: Connection, study: Round, submission: str, *, vault: Vault) -> str | None:
    """The annotator behind a submission, or a person, at the recruiter's, or None.

    Ids are sealed, so each is opened until it is found.
    """
    submission = "".join(submission.split())
    keys, person = tables.keys, known_as(submission, study.design.recruiter)
    if not person:
        return None
    query = (
        select(ANNOTATORS.c.id, ANNOTATORS.c.sealed, keys.c.wrapped)
        .join(keys, keys.c.annotator_id == ANNOTATORS.c.id)
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.sealed.is_not(None))
    )
    rows = connection.execute(query)
    opened = ((row.id, vault.open(row.sealed, row.wrapped)) for row in rows)
    return next((who for who, ids in opened if ids.session == submission or ids.person == person), None)
