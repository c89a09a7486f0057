"""What the owner sees and does: the state of every condition, people with their flags, and forgetting somebody."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, case, delete, func, select, update

from casewise.database.tables import staff
from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.records import Verdict
from casewise.studies.recruiters import RecruiterIds, known_as
from casewise.studies.running.annotators import count_stages, person_of
from casewise.studies.running.answers import COUNTS_FOR_QUALITY, as_answer
from casewise.studies.running.events import note
from casewise.studies.running.paying import WITHDRAWN, cost_of
from casewise.studies.running.privacy import Vault
from casewise.studies.running.quality import AnsweredPage, Dissent, Flag, Skips, disagreement, flags
from casewise.studies.running.rounds import Round
from casewise.studies.running.slots import release

__all__ = [
    "ARRIVAL_LIMIT",
    "ConditionState",
    "Overview",
    "Payable",
    "PersonState",
    "everybody",
    "forget",
    "overview",
    "people_states",
    "purge",
    "to_be_paid",
]

ARRIVAL_LIMIT = "arrival:"
"""Begins the keys under which arrivals are counted: a keyed hash of an address that changes daily, deleted after a day."""

ANNOTATORS, PAGES, SLOTS = tables.annotators, tables.pages, tables.slots


@dataclass(frozen=True, slots=True)
class ConditionState:
    """How far a condition is."""

    condition: str
    items: int
    promised: int
    valid: int
    reserved: int
    open: int
    surplus: int
    void: int
    skipped: int
    people: int
    safe: int
    """Valid ratings that say safe; kept from those who rate, and not shown before the study is closed."""


@dataclass(frozen=True, slots=True)
class Overview:
    """How far a round is."""

    conditions: tuple[ConditionState, ...]
    stages: dict[str, int]
    median_seconds: float | None
    """Median time for an answered item; put it into `pay.seconds_per_page`."""

    @property
    def promised(self) -> int:
        return sum(condition.promised for condition in self.conditions)

    @property
    def valid(self) -> int:
        return sum(condition.valid for condition in self.conditions)

    @property
    def exact(self) -> bool:
        """Whether every promised rating is there, and not one more."""
        return all(condition.valid == condition.promised for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class PersonState:
    """One annotator, as the owner sees them: under a random id, with flags and their evidence."""

    id: str
    condition: str | None
    stage: str
    outcome: str | None
    rated: int
    skipped: int
    consented_at: datetime
    voided_at: datetime | None
    flags: tuple[Flag, ...]
    disagreement: Dissent
    feedback: str | None


def overview(connection: Connection, study: Round) -> Overview:
    """The state of a round now."""
    slots = slot_counts(connection, study.id)
    pages = page_counts(connection, study.id)
    people = people_counts(connection, study.id)
    return Overview(
        conditions=tuple(
            condition_state(name, slots[name], pages[name], people.get(name, 0)) for name in study.design.conditions
        ),
        stages=count_stages(connection, study.id),
        median_seconds=median_seconds(connection, study.id),
    )


def condition_state(name: str, slots: dict[str, int], pages: dict[str, int], people: int) -> ConditionState:
    return ConditionState(
        condition=name,
        items=slots.get("items", 0),
        promised=slots.get("promised", 0),
        valid=pages.get("rated", 0),
        reserved=pages.get("waiting", 0),
        open=slots.get("open", 0),
        surplus=pages.get("surplus", 0),
        void=pages.get("void", 0),
        skipped=pages.get("skipped", 0),
        people=people,
        safe=pages.get("safe", 0),
    )


def slot_counts(connection: Connection, study_id: str) -> defaultdict[str, dict[str, int]]:
    is_open = case((SLOTS.c.holder_id.is_(None), 1), else_=0)
    query = (
        select(SLOTS.c.condition, func.count(), func.sum(is_open), func.count(SLOTS.c.item_id.distinct()))
        .where(SLOTS.c.study_id == study_id)
        .group_by(SLOTS.c.condition)
    )
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for condition, promised, still_open, items in connection.execute(query):
        found[condition] = {"promised": promised, "open": int(still_open), "items": items}
    return found


def page_counts(connection: Connection, study_id: str) -> defaultdict[str, dict[str, int]]:
    query = (
        select(PAGES.c.condition, PAGES.c.state, PAGES.c.verdict, func.count())
        .where(PAGES.c.study_id == study_id, PAGES.c.kind == "item")
        .group_by(PAGES.c.condition, PAGES.c.state, PAGES.c.verdict)
    )
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for condition, state, verdict, count in connection.execute(query):
        counts = found[condition]
        counts[state] = counts.get(state, 0) + count
        if state == "rated" and verdict == "safe":
            counts["safe"] = count
    return found


def people_counts(connection: Connection, study_id: str) -> dict[str, int]:
    query = (
        select(ANNOTATORS.c.condition, func.count())
        .where(ANNOTATORS.c.study_id == study_id, ANNOTATORS.c.condition.is_not(None))
        .group_by(ANNOTATORS.c.condition)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def median_seconds(connection: Connection, study_id: str) -> float | None:
    timed = (PAGES.c.study_id == study_id, PAGES.c.kind == "item", PAGES.c.seconds.is_not(None))
    count = connection.scalars(select(func.count()).select_from(PAGES).where(*timed)).one()
    if not count:
        return None
    query = select(PAGES.c.seconds).where(*timed).order_by(PAGES.c.seconds).offset(count // 2).limit(1)
    median: float | None = connection.scalars(query).one()
    return median


def people_states(connection: Connection, study: Round) -> list[PersonState]:
    """Everybody who consented, in the order of arrival, with what their answers raise."""
    answers, votes = all_answers(connection, study)
    skips = skips_of_people(connection, study.id)
    query = select(ANNOTATORS).where(ANNOTATORS.c.study_id == study.id).order_by(ANNOTATORS.c.consented_at)
    return [
        PersonState(
            id=row.id,
            condition=row.condition,
            stage=row.stage,
            outcome=row.outcome,
            rated=sum(not answer.is_check for answer in answers[row.id]),
            skipped=skips[row.id].skipped,
            consented_at=row.consented_at,
            voided_at=row.voided_at,
            flags=flags(answers[row.id], study.design, skips=skips[row.id]),
            disagreement=differs(row.id, answers[row.id], votes),
            feedback=row.feedback,
        )
        for row in connection.execute(query)
    ]


Votes = dict[str, dict[str, Verdict]]


def all_answers(connection: Connection, study: Round) -> tuple[defaultdict[str, list[AnsweredPage]], Votes]:
    """Answers by annotator, and votes by item and annotator."""
    expected = {check.name: check.expected for check in study.wording.checks}
    answers: defaultdict[str, list[AnsweredPage]] = defaultdict(list)
    votes: defaultdict[str, dict[str, Verdict]] = defaultdict(dict)
    query = (
        select(PAGES)
        .where(PAGES.c.study_id == study.id, COUNTS_FOR_QUALITY)
        .order_by(PAGES.c.annotator_id, PAGES.c.position)
    )
    for row in connection.execute(query):
        answers[row.annotator_id].append(as_answer(row, expected))
        if row.item_id is not None:
            votes[row.item_id][row.annotator_id] = row.verdict
    return answers, votes


def differs(annotator_id: str, answers: list[AnsweredPage], votes: Votes) -> Dissent:
    own = {answer.item_id: answer.verdict for answer in answers if not answer.is_check and answer.verdict is not None}
    others = {item: [verdict for who, verdict in votes[item].items() if who != annotator_id] for item in own}
    return disagreement(own, others)


def skips_of_people(connection: Connection, study_id: str) -> defaultdict[str, Skips]:
    query = (
        select(PAGES.c.annotator_id, func.sum(case((PAGES.c.state == "skipped", 1), else_=0)), func.count())
        .where(PAGES.c.study_id == study_id)
        .group_by(PAGES.c.annotator_id)
    )
    found: defaultdict[str, Skips] = defaultdict(lambda: Skips(0, 0))
    for annotator_id, skipped, pages in connection.execute(query):
        found[annotator_id] = Skips(int(skipped), pages)
    return found


def everybody(connection: Connection, study: Round, *, vault: Vault) -> list[RecruiterIds]:
    """The recruiter's ids of a round's people, as far as they are still kept."""
    query = select(ANNOTATORS.c.id).where(ANNOTATORS.c.study_id == study.id).order_by(ANNOTATORS.c.consented_at)
    found = (person_of(connection, annotator_id, vault=vault) for annotator_id in connection.scalars(query).all())
    return [person for person in found if person is not None]


@dataclass(frozen=True, slots=True)
class Payable:
    """Who is to be paid at the recruiter's; people who were screened out are paid by their code."""

    people: list[RecruiterIds]
    """Those who finished, stopped early, or found no item left."""
    doubtful: list[RecruiterIds]
    """Those who skipped more than the design allows, or who rated nothing of what they were given: somebody decides."""
    failed_checks: int = 0
    """How many more were left out for failed checks: whether they are paid is decided at the recruiter."""


def to_be_paid(connection: Connection, study: Round, *, vault: Vault) -> Payable:
    """Who has done what they are paid for, and of whom somebody has to say so.

    Whoever took another batch and was never back has completed the first.
    """
    rated = select(PAGES.c.annotator_id).where(
        PAGES.c.study_id == study.id, PAGES.c.kind == "item", PAGES.c.verdict.is_not(None)
    )
    further = (
        select(tables.events.c.annotator_id)
        .where(tables.events.c.study_id == study.id, tables.events.c.kind == "assigned")
        .group_by(tables.events.c.annotator_id)
        .having(func.count() > 1)
    )
    query = select(ANNOTATORS.c.id, ANNOTATORS.c.outcome, ANNOTATORS.c.id.in_(rated)).where(
        ANNOTATORS.c.study_id == study.id,
        ANNOTATORS.c.outcome.in_(("completed", "stopped", "no_room", "too_many_skips"))
        | (ANNOTATORS.c.lapsed & (ANNOTATORS.c.stage == "rating") & ANNOTATORS.c.id.in_(further)),
    )
    failed = (ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.outcome == "failed_checks")
    found = Payable([], [], connection.scalars(select(func.count()).where(*failed)).one())
    for annotator_id, outcome, has_rated in connection.execute(query.order_by(ANNOTATORS.c.consented_at)).all():
        person = person_of(connection, annotator_id, vault=vault)
        sure = outcome == "no_room" or (has_rated and outcome != "too_many_skips")
        if person is not None:
            (found.people if sure else found.doubtful).append(person)
    return found


def forget(connection: Connection, study: Round, who: str, *, vault: Vault, by: str, now: datetime) -> bool:
    """Forget a person, named by recruiter id or study id; whether their ratings were withdrawn as well.

    The key of their ids, what they said about themselves and their remarks are deleted. Until `privacy.withdraw_until`
    their answers and what the log says of them are deleted too, the slots re-open, and they could take part anew; after
    it the ratings stay, and nothing is left that could join them to a person but the hash against returners. Raises
    StudyError: nobody of that id is in this round.
    """
    fingerprint = vault.fingerprint(study.name, known_as(who, study.design.recruiter))
    row = connection.execute(
        select(ANNOTATORS)
        .where(ANNOTATORS.c.study_id == study.id, (ANNOTATORS.c.id == who) | (ANNOTATORS.c.fingerprint == fingerprint))
        .with_for_update(key_share=True)
    ).first()
    if row is None:
        raise StudyError(f"nobody in {study.name} {study.version} ({study.phase}) has the id {who!r}")
    withdraws = now.date() <= study.design.privacy.withdraw_until
    if withdraws:
        if cost := cost_of(connection, study, row):
            note(connection, study.id, WITHDRAWN, at=now, by=by, detail={"cost": cost})
        withdraw(connection, study, row.id, fingerprint=row.fingerprint, now=now)
    delete_personal(connection, row.id)
    detail = {"ratings": "withdrawn" if withdraws else "kept"}
    note(connection, study.id, "forgotten", at=now, by=by, annotator_id=row.id, detail=detail)
    return withdraws


def withdraw(
    connection: Connection, study: Round, annotator_id: str, *, fingerprint: str | None, now: datetime
) -> None:
    gone = dict.fromkeys(("rated", "surplus", "void"), "withdrawn") | dict.fromkeys(("waiting", "lapsed"), "dropped")
    release(connection, annotator_id, states=gone)
    connection.execute(
        update(ANNOTATORS)
        .where(ANNOTATORS.c.id == annotator_id)
        .values(
            withdrawn_at=now,
            stage="done",
            outcome="withdrawn",
            lease_until=None,
            rated=None,
            skipped=None,
            median_s=None,
        )
    )
    checks = (PAGES.c.annotator_id == annotator_id, PAGES.c.kind == "check", PAGES.c.verdict.is_not(None))
    nothing = dict.fromkeys(("verdict", "seconds", "sight", "own"))
    connection.execute(update(PAGES).where(*checks).values(state="withdrawn", **nothing))
    connection.execute(
        update(PAGES).where(PAGES.c.annotator_id == annotator_id).values(answered_at=None, scripted=False)
    )
    for table in (tables.events, tables.flags):
        connection.execute(delete(table).where(table.c.annotator_id == annotator_id))
    if fingerprint is not None:
        table = tables.fingerprints
        connection.execute(delete(table).where(table.c.study_id == study.id, table.c.fingerprint == fingerprint))


def delete_personal(connection: Connection, annotator_id: str) -> None:
    connection.execute(delete(tables.keys).where(tables.keys.c.annotator_id == annotator_id))
    connection.execute(
        update(ANNOTATORS)
        .where(ANNOTATORS.c.id == annotator_id)
        .values(sealed=None, fingerprint=None, demographics=None, feedback=None)
    )


def purge(connection: Connection, study: Round, *, now: datetime) -> int:
    """Delete what the consent page promised to delete by now; returns from how many people ids were deleted."""
    table, limits = tables.fingerprints, staff.rate_limits
    connection.execute(delete(table).where(table.c.expires_on < now.date()))
    old = (limits.c.key.startswith(ARRIVAL_LIMIT), limits.c.updated_at < now - timedelta(days=1))
    connection.execute(delete(limits).where(*old))
    if now.date() <= study.design.privacy.keep_ids_until:
        return 0
    query = select(ANNOTATORS.c.id).where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.sealed.is_not(None))
    people: list[Any] = list(connection.scalars(query))
    for annotator_id in people:
        connection.execute(delete(tables.keys).where(tables.keys.c.annotator_id == annotator_id))
        connection.execute(
            update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).values(sealed=None, fingerprint=None)
        )
    if people:
        note(connection, study.id, "ids deleted", at=now, detail={"people": len(people)})
    return len(people)
