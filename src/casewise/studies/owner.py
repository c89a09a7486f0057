"""The owner's view of a round, its people and items, and changes to it while it runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select, update

from casewise.database.engine import expire_limits
from casewise.database.erasures import Erasure, ErasureList, Ratings
from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.notation import spoken
from casewise.records import Verdict
from casewise.studies.answers import COUNTS_FOR_QUALITY, ITEM_OF_PAGE, as_answer
from casewise.studies.freeze import StudyItem
from casewise.studies.ledger import Due, Payment, cost_of_more, due_of, note_withdrawn, payments, ratings_by_person
from casewise.studies.people import Vault, count_stages, open_slots_by_query, people_needed
from casewise.studies.quality import AnsweredPage, Dissent, Flag, disagreement, flags
from casewise.studies.recruiters import RecruiterIds, stored_id
from casewise.studies.rounds import (
    LiveRound,
    StudyPlan,
    add_slots,
    closed_conditions,
    load_round,
    round_state,
    shown_items,
)
from casewise.studies.slots import release
from casewise.text import count_of

ARRIVAL_LIMIT = "arrival:"
"""Prefix of the keys under which arrivals are counted: a keyed hash of an address that changes daily, deleted after a day."""

ANNOTATORS, PAGES, SLOTS = tables.annotators, tables.pages, tables.slots

IS_ITEM = PAGES.c.kind == "item"


@dataclass(frozen=True, slots=True)
class ConditionState:
    """The progress of a condition."""

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
    closed: bool = False
    """True where it gives no new batch, while other conditions go on."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The progress of a round."""

    conditions: tuple[ConditionState, ...]
    stages: dict[str, int]
    median_seconds: float | None
    """Median time for an answered item; put it into `pay.seconds_per_page`."""

    @property
    def promised(self) -> int:
        return sum(condition.promised for condition in self.conditions)

    @property
    def missing(self) -> int:
        """Promised ratings that are not there, in the conditions that are not closed."""
        return sum(condition.promised - condition.valid for condition in self.conditions if not condition.closed)

    @property
    def valid(self) -> int:
        return sum(condition.valid for condition in self.conditions)

    @property
    def exact(self) -> bool:
        """True where every promised rating is there, and not one more."""
        return all(condition.valid == condition.promised for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class PersonState:
    """One annotator, as the owner sees them: under a random id, with flags and their evidence."""

    id: str
    condition: str | None
    stage: str
    outcome: str | None
    answers: tuple[AnsweredPage, ...]
    skipped: int
    voided_at: datetime | None
    flags: tuple[Flag, ...]
    disagreement: Dissent
    feedback: str | None

    @property
    def status(self) -> str:
        """The outcome, or else the stage."""
        return self.outcome or self.stage

    @property
    def ratings(self) -> list[AnsweredPage]:
        """The answers to items."""
        return [answer for answer in self.answers if not answer.is_check]

    @property
    def rated(self) -> int:
        return len(self.ratings)

    @property
    def times(self) -> list[float]:
        """The times for items, in seconds, where they were observed."""
        return [rating.seconds for rating in self.ratings if rating.seconds is not None]

    @property
    def median_s(self) -> float | None:
        return median(self.times) if self.times else None


PAGE_STATES = {"valid": "rated", "reserved": "waiting", "surplus": "surplus", "void": "void", "skipped": "skipped"}
"""The states of pages that the fields of a condition's state count."""


def overview(study: LiveRound) -> Overview:
    """Return the state of a round now."""
    safe = [PAGES.c.state == "rated", PAGES.c.verdict == "safe", IS_ITEM]
    counts = {
        "items": study.counts(tables.items.c.condition),
        "promised": study.counts(SLOTS.c.condition),
        "open": study.counts(SLOTS.c.condition, where=[SLOTS.c.holder_id.is_(None)]),
        "people": study.counts(ANNOTATORS.c.condition),
        "safe": study.counts(PAGES.c.condition, where=safe),
    }
    pages, closed = study.counts(PAGES.c.condition, PAGES.c.state, where=[IS_ITEM]), closed_conditions(study)
    conditions = (
        ConditionState(
            name,
            **{field: counted[name] for field, counted in counts.items()},
            **{field: pages[name, state] for field, state in PAGE_STATES.items()},
            closed=name in closed,
        )
        for name in study.design.conditions
    )
    return Overview(tuple(conditions), count_stages(study), median_seconds(study))


def median_seconds(study: LiveRound) -> float | None:
    timed = (PAGES.c.study_id == study.id, IS_ITEM, PAGES.c.seconds.is_not(None))
    query = select(PAGES.c.seconds).where(*timed).order_by(PAGES.c.seconds).limit(1)
    seconds: float | None = study.scalars(query.offset(study.count(*timed) // 2)).first()
    return seconds


def people_states(study: LiveRound) -> list[PersonState]:
    """Return everybody who consented, in the order of arrival, with what their answers raise."""
    answers, votes = all_answers(study)
    pages, skipped = (study.counts(PAGES.c.annotator_id, where=where) for where in ([], [PAGES.c.state == "skipped"]))
    query = select(ANNOTATORS).where(ANNOTATORS.c.study_id == study.id)
    people = []
    for row in study.execute(query.order_by(ANNOTATORS.c.consented_at, ANNOTATORS.c.id)):
        own_answers = tuple(answers[row.id])
        own_verdicts = {a.item_id: a.verdict for a in own_answers if not a.is_check and a.verdict is not None}
        person = PersonState(
            id=row.id,
            condition=row.condition,
            stage=row.stage,
            outcome=row.outcome,
            answers=own_answers,
            skipped=skipped[row.id],
            voided_at=row.voided_at,
            flags=flags(own_answers, study.design, skipped=skipped[row.id], pages=pages[row.id]),
            disagreement=disagreement(own_verdicts, votes),
            feedback=row.feedback,
        )
        people.append(person)
    return people


@dataclass(frozen=True, slots=True)
class ItemState:
    """One item, as the owner sees it: how far it is and, once the round is closed, how people decided."""

    item: StudyItem
    valid: int
    skipped: int
    votes: Mapping[str, int] | None
    """Number of people who gave each answer. None before the round is closed, so that results cannot influence a study that runs."""

    @property
    def split(self) -> float:
        """Twice the share that did not give the most frequent answer: 0 where all say the same, 1 where as many say safe as unsafe."""
        return 0.0 if not self.valid or self.votes is None else 2 * (1 - max(self.votes.values()) / self.valid)


def item_states(study: LiveRound) -> list[ItemState]:
    """Return every item of the round, those first on which people disagree most, once it is closed."""
    closed = round_state(study) == "closed"
    counts = study.counts(PAGES.c.item_id, PAGES.c.state, where=[IS_ITEM])
    vote_counts = study.counts(PAGES.c.item_id, PAGES.c.verdict, where=[PAGES.c.state == "rated", IS_ITEM])
    answers = study.design.words.answers
    states = [
        ItemState(
            item,
            valid=counts[item.item_id, "rated"],
            skipped=counts[item.item_id, "skipped"],
            votes={vote: vote_counts[item.item_id, vote] for vote in answers} if closed else None,
        )
        for item in shown_items(study)
    ]
    return sorted(states, key=lambda state: (-state.split, state.item.item_id))


def pages_in_order(study: LiveRound, annotator_id: str) -> list[Row[Any]]:
    """Return one person's pages in the order in which they were shown."""
    query = select(PAGES, tables.items.c.shown).outerjoin(tables.items, ITEM_OF_PAGE)
    return list(study.execute(query.where(PAGES.c.annotator_id == annotator_id).order_by(PAGES.c.position)))


@dataclass(frozen=True, slots=True)
class PathStep:
    """One thing that happened on a person's way, in its order."""

    after_s: float | None
    """Seconds after the consent, by the server's clock; None before it."""
    what: str
    item_id: str | None = None
    text: str = ""
    """The request, or the name of an attention check."""
    seconds: float | None = None


def path_of(study: LiveRound, annotator_id: str) -> list[PathStep]:
    """Return a person's way through the study: every event, and every answer that stands, in the order of time and of steps.

    An answer that was taken back is seen by the event of its undo; what it was is not kept.
    """
    table = tables.events
    events = study.execute(select(table).where(table.c.annotator_id == annotator_id).order_by(table.c.id)).all()
    steps = [
        (event.at, 0, event.id, PathStep(None, f"{spoken(event.kind)}{detail_words(event)}", None))
        for event in events
        if event.kind != "skipped"
    ]
    for page in pages_in_order(study, annotator_id):
        if page.answered_at is not None:
            answer = study.design.words.answers.get(page.verdict, "Skip")
            text = page.shown["query"] if page.item_id else f"check: {page.check_name}"
            step = PathStep(None, f"page {page.position}: {answer}", page.item_id, text, page.seconds)
            steps.append((page.answered_at, 1, page.step or 0, step))
    if not steps:
        return []
    steps.sort(key=lambda step: step[:3])
    began = events[0].at if events else steps[0][0]
    return [replace(step, after_s=(at - began).total_seconds()) for at, _, _, step in steps]


def detail_words(event: Row[Any]) -> str:
    """Return what an event's details add to its kind, in words; nothing where they add none."""
    detail = {name: value for name, value in (event.detail or {}).items() if value not in ("", None, [])}
    if event.kind == "quiz":
        wrong = ", ".join(str(place + 1) for place in detail.get("wrong", ()))
        return f", attempt {detail['attempt']}: " + (f"wrong at question {wrong}" if wrong else "all right")
    if event.kind == "assigned":
        return f": {count_of(detail['items'], 'item')} of {detail['condition']}"
    return f" ({', '.join(f'{name} {value}' for name, value in detail.items())})" if detail else ""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One annotator's results on attention checks, and the speed of the answers."""

    person: PersonState
    checks: int
    passed: int
    skipped: int
    timed: int
    """Answers to items whose time was observed, of `answers`."""
    answers: int
    fastest_s: float | None
    too_fast: int
    """Timed answers under `ratings.minimum_seconds`."""


def check_rows(study: LiveRound) -> list[CheckRow]:
    """Return a row for everybody who answered something: those who failed most checks first, then the fastest."""
    least = study.design.ratings.minimum_seconds
    rows = []
    for person in people_states(study):
        if person.answers:
            checks = [answer for answer in person.answers if answer.is_check]
            row = CheckRow(
                person,
                checks=len(checks),
                passed=sum(answer.verdict == answer.expected for answer in checks),
                skipped=sum(answer.verdict is None for answer in checks),
                timed=len(person.times),
                answers=person.rated,
                fastest_s=min(person.times, default=None),
                too_fast=sum(time < least for time in person.times),
            )
            rows.append(row)
    untimed = float("inf")  # those whose times were not observed are not the fastest
    return sorted(rows, key=lambda row: (row.passed - row.checks, row.person.median_s or untimed))


Votes = dict[str, Counter[Verdict]]


def all_answers(study: LiveRound) -> tuple[defaultdict[str, list[AnsweredPage]], Votes]:
    """Return answers by annotator, and votes by item."""
    expected = {check.name: check.expected for check in study.round.wording.checks}
    answers: defaultdict[str, list[AnsweredPage]] = defaultdict(list)
    votes: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
    columns = ("annotator_id", "item_id", "check_name", "verdict", "seconds", "scripted")
    query = (
        select(*(PAGES.c[name] for name in columns))
        .where(PAGES.c.study_id == study.id, COUNTS_FOR_QUALITY)
        .order_by(PAGES.c.annotator_id, PAGES.c.position)
    )
    for row in study.execute(query):
        answers[row.annotator_id].append(as_answer(row, expected, words=0))
        if row.item_id is not None:
            votes[row.item_id][row.verdict] += 1
    return answers, votes


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a person whose ids are still kept, for what they are owed at the recruiter."""

    annotator: str
    ids: RecruiterIds
    status: str
    """Their outcome, or else their stage."""
    due: Due
    away: bool
    """True if the person is under way and their lease has ended."""
    rated: int = 0
    """Number of items that they rated."""


def standings(study: LiveRound, *, vault: Vault) -> list[Standing]:
    """Return each person in a round whose recruiter's ids are still kept, in the order of their arrival."""
    keys, since = tables.keys, study.now - timedelta(minutes=study.design.ratings.lease_minutes)
    rated = ratings_by_person(study)
    query = (
        select(ANNOTATORS, keys.c.wrapped)
        .join(keys, keys.c.annotator_id == ANNOTATORS.c.id)
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.sealed.is_not(None))
        .order_by(ANNOTATORS.c.consented_at)
    )
    people = []
    for row in study.execute(query):
        due = due_of(row.outcome, rated=rated[row.id])
        away = due == "under way" and (row.lapsed if row.stage == "rating" else row.consented_at < since)
        ids = vault.open(row.sealed, row.wrapped)
        people.append(Standing(row.id, ids, row.outcome or row.stage, due, away, rated[row.id]))
    return people


ASKED_TO_RETURN = "asked to return"


@dataclass(frozen=True)
class RoundAccount:
    """What a round knows of its people, to be compared with the recruiter's submissions."""

    people: tuple[Standing, ...]
    payments: Mapping[str, Sequence[Payment]]
    """Payments by annotator."""
    asked: frozenset[str]
    """Hashes of the submissions whose return was asked for."""
    all_known: bool
    """True where everybody's ids are still kept."""


def round_account(study: LiveRound, *, vault: Vault) -> RoundAccount:
    """Return the round's people, their payments, and whose return was asked for."""
    people = tuple(standings(study, vault=vault))
    asked = frozenset(event.detail["submission"] for event in study.events(ASKED_TO_RETURN))
    return RoundAccount(people, payments(study), asked, len(people) == sum(count_stages(study).values()))


def forget(
    study: LiveRound, annotator_id: str, *, vault: Vault, by: str, erasures: ErasureList | None = None
) -> Erasure:
    """Forget a person, named by recruiter id or study id; return the erasure, whose `ratings` were withdrawn or kept.

    The key of their ids, what they said about themselves and their remarks are deleted. Until `privacy.withdraw_until`
    their answers and what the log says of them are deleted too, the slots re-open, and they could take part anew; after
    it the ratings stay, and nothing is left that could join them to a person but the hash against returners. The erasure
    is on the disk in the list of `erasures` before anything else is done. Raises StudyError: no person of that id is in this
    round; ConfigurationError: the list cannot be written.
    """
    fingerprint = vault.fingerprint(study.round.name, stored_id(annotator_id, study.design.recruiter))
    named = (ANNOTATORS.c.id == annotator_id) | (ANNOTATORS.c.fingerprint == fingerprint)
    query = select(ANNOTATORS).where(ANNOTATORS.c.study_id == study.id, named)
    row = study.execute(query.with_for_update(key_share=True)).first()
    if row is None:
        raise StudyError(
            f"no person in {study.round.name} {study.round.version} ({study.round.phase}) has the id {annotator_id!r}"
        )
    ratings: Ratings = "withdrawn" if study.now.date() <= study.design.privacy.withdraw_until else "kept"
    if erasures is None:  # a database of a test or a rehearsal, which is never restored
        erasure = Erasure(0, study.id, row.id, study.now.isoformat(), ratings)
    else:
        erasure = erasures.add(study.id, row.id, ratings=ratings, at=study.now)
    erase(study, row, ratings=ratings, by=by)
    return erasure


def erase(study: LiveRound, annotator: Row[Any], *, ratings: Ratings, by: str) -> None:
    """Delete what is known about an annotator, with the ratings where they are `withdrawn`."""
    if ratings == "withdrawn":
        note_withdrawn(study, annotator, by=by)
        withdraw(study, annotator)
    study.execute(delete(tables.keys).where(tables.keys.c.annotator_id == annotator.id))
    study.set_annotator(annotator.id, sealed=None, fingerprint=None, demographics=None, feedback=None)
    study.note("forgotten", by=by, annotator_id=annotator.id, detail={"ratings": ratings})


def replay_erasures(connection: Connection, erasures: Sequence[Erasure], *, now: datetime) -> int:
    """Erase again whom a restored backup brought back, or whose erasure was begun and not ended; return how many.

    People who are not in the database, or are erased in it already, are passed over.
    """
    again = 0
    for erasure in erasures:
        row = connection.execute(select(ANNOTATORS).where(ANNOTATORS.c.id == erasure.annotator_id)).first()
        if row is None:
            continue
        known = row.sealed is not None or row.fingerprint is not None or row.demographics or row.feedback
        if not known and (erasure.ratings == "kept" or row.withdrawn_at is not None):
            continue
        study = load_round(connection, row.study_id)
        if study is not None:
            erase(study.at(connection, now), row, ratings=erasure.ratings, by="system")
            again += 1
    return again


def withdraw(study: LiveRound, annotator: Row[Any]) -> None:
    states = dict.fromkeys(("rated", "surplus", "void"), "withdrawn") | dict.fromkeys(("waiting", "lapsed"), "dropped")
    release(study, annotator.id, states=states)
    study.set_annotator(annotator.id, withdrawn_at=study.now, stage="done", outcome="withdrawn", lease_until=None)
    pages = update(PAGES).where(PAGES.c.annotator_id == annotator.id)
    cleared = dict.fromkeys(("verdict", "seconds", "sight", "own"))
    answered_checks = pages.where(PAGES.c.kind == "check", PAGES.c.verdict.is_not(None))
    study.execute(answered_checks.values(state="withdrawn", **cleared))
    study.execute(pages.values(answered_at=None, step=None, scripted=False))
    study.execute(delete(tables.events).where(tables.events.c.annotator_id == annotator.id))
    returners = tables.fingerprints
    own_returners = (returners.c.study_id == study.id, returners.c.fingerprint == annotator.fingerprint)
    study.execute(delete(returners).where(*own_returners))


def purge(study: LiveRound) -> int:
    """Delete what the consent page promised to delete by now; returns from how many people ids were deleted."""
    table = tables.fingerprints
    study.execute(delete(table).where(table.c.expires_on < study.now.date()))
    expire_limits(study.connection, now=study.now)
    if study.now.date() <= study.design.privacy.keep_ids_until:
        return 0
    query = select(ANNOTATORS.c.id).where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.sealed.is_not(None))
    people: list[Any] = list(study.scalars(query))
    for annotator_id in people:
        study.execute(delete(tables.keys).where(tables.keys.c.annotator_id == annotator_id))
        study.set_annotator(annotator_id, sealed=None, fingerprint=None)
    if people:
        study.note("ids deleted", detail={"people": len(people)})
    return len(people)


# Changing a round while it runs, on record: more ratings of each item. What was rated stays.


@dataclass(frozen=True)
class Amendment:
    """The consequences of more ratings of each item for a round that runs: each as it was, and as it will be.

    People and cost are those still to come, as `Monitor.money.to_come` counts them: not what is spent or promised.
    """

    per_item: tuple[int, int]
    ratings: tuple[int, int]
    people: tuple[int, int]
    cost: tuple[float, float]
    currency: str

    @property
    def change(self) -> str:
        """The sentence that reports print."""
        return "ratings.per_item was {} and is {}".format(*self.per_item)


def amendment_of(study: LiveRound, plan: StudyPlan) -> Amendment:
    """Return what it would mean for the round to go on with the ratings an item that `plan` has now.

    Raises StudyError: the round is not paused, the ratings an item are not more than they were, or anything else differs.
    """
    if round_state(study) != "paused":  # servers read a round once a minute, and a person must not rate by two designs
        raise StudyError(
            "pause the round first (casewise study set paused), amend it, and reopen it (casewise study set open)"
        )
    per_item = study.design.ratings.per_item, plan.design.ratings.per_item
    before, after = per_item
    items = shown_items(study)
    ratings = plan.design.ratings.model_copy(update={"per_item": before})
    amended_design = plan.design.model_copy(update={"ratings": ratings, "benchmark": study.design.benchmark})
    old, new = study.design.model_dump(mode="json"), amended_design.model_dump(mode="json")
    if frozen := [name for name in new if old[name] != new[name]]:
        raise StudyError(
            f"{', '.join(frozen)} cannot change while people rate; only ratings.per_item can. "
            "Undo the change, or set a new `version` for another study"
        )
    if {item.item_id: item.shown for item in plan.material.items} != {item.item_id: item.shown for item in items}:
        raise StudyError("the items differ from those being rated; undo the change, or set a new `version`")
    if plan.wording != study.round.wording:
        raise StudyError("the texts differ from those that people agreed to; undo the change, or set a new `version`")
    if after <= before:
        raise StudyError(f"ratings.per_item can only be raised: {before} were promised, and study.toml has {after}")
    free, stages = open_slots_by_query(study), count_stages(study)
    more = free.copy()
    for item in items:
        more[item.condition, item.query_id] += after - before
    people = people_needed(study, free), people_needed(study, more)
    cost = cost_of_more(study.design, stages, people=people[0]), cost_of_more(study.design, stages, people=people[1])
    return Amendment(per_item, (len(items) * before, len(items) * after), people, cost, study.design.pay.currency)


def amend(study: LiveRound, amendment: Amendment, *, reason: str, by: str) -> None:
    """Amend the round: the same link, the same people, and all that was rated."""
    before, after = amendment.per_item
    slots = tables.slots
    last = int(study.scalars(select(func.max(slots.c.number)).where(slots.c.study_id == study.id)).one())
    numbers = range(last + 1, last + 1 + after - before)
    add_slots(study.connection, study.id, shown_items(study), numbers)
    ratings = study.design.ratings.model_copy(update={"per_item": after})
    design = study.design.model_copy(update={"ratings": ratings}).model_dump(mode="json")
    study.execute(update(tables.studies).where(tables.studies.c.id == study.id).values(design=design))
    study.note("amended", by=by, detail={"why": reason, "changes": [amendment.change]})
