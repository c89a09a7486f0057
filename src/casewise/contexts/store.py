"""The review in the database: events and autosaved words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, cast, delete, func, insert, select, update

from casewise.contexts.checks import Remark, Wording, pair_remark, updated_findings
from casewise.contexts.drafts import Names, StatedParameters
from casewise.contexts.flows import flow_remark, is_flow
from casewise.contexts.review import (
    MISSING,
    QUERY_ACTS,
    REVIEWERS,
    Act,
    Author,
    NotAllowed,
    Phase,
    ReviewAction,
    State,
    step,
)
from casewise.database.staff import Role
from casewise.database.tables import review as tables
from casewise.database.tables import staff
from casewise.database.tables.metadata import insert_if_absent
from casewise.errors import BenchmarkError, CasewiseError
from casewise.records import Query, Record

# What a person has typed and not submitted: kept as they type, and never overwritten in silence.


LONGEST = 20_000
"""Characters kept of one field."""


@dataclass(frozen=True)
class UnsubmittedText:
    """Unsubmitted words, as a tab sends them and as they are kept."""

    fields: dict[str, str]
    saved: int
    """Counts the saves: a tab that saves says which one it last saw."""
    version: int
    """The version of the context that the person was looking at."""


@dataclass(frozen=True)
class SaveOutcome:
    """The result of a save: its number, or the newer text that was there already."""

    saved: int
    newer: UnsubmittedText | None = None


def find_autosave(
    connection: Connection, place_id: str, *, person_id: str, lock: bool = False
) -> UnsubmittedText | None:
    """Return the text that `person_id` typed about this context and has not submitted, or None."""
    table = tables.autosaves
    autosave = select(table).where(table.c.context_id == place_id, table.c.person_id == person_id)
    row = connection.execute(autosave.with_for_update() if lock else autosave).first()
    return None if row is None else UnsubmittedText(row.fields, row.saved, row.seq)


def save(
    connection: Connection, place_id: str, *, person_id: str, typed: UnsubmittedText, now: datetime
) -> SaveOutcome:
    """Keep what was typed, unless another tab saved something since the save that this one knows."""
    table = tables.autosaves
    words = {name: text[:LONGEST] for name, text in typed.fields.items()}
    values = {"fields": words, "saved": typed.saved + 1, "seq": typed.version, "updated_at": now}
    if insert_if_absent(connection, table, {"context_id": place_id, "person_id": person_id, **values}):
        return SaveOutcome(typed.saved + 1)
    autosave = find_autosave(connection, place_id, person_id=person_id, lock=True)
    assert autosave is not None
    if autosave.saved != typed.saved and autosave.fields != words:
        return SaveOutcome(autosave.saved, newer=autosave)
    mine = (table.c.context_id == place_id) & (table.c.person_id == person_id)
    connection.execute(update(table).where(mine).values(values | {"saved": autosave.saved + 1}))
    return SaveOutcome(autosave.saved + 1)


def discard(connection: Connection, place_id: str, *, person_id: str) -> None:
    """Delete the unsaved text of a context."""
    table = tables.autosaves
    connection.execute(delete(table).where(table.c.context_id == place_id, table.c.person_id == person_id))


# The review in the database: each step an event that is only added, and exactly one of two who act at once.


ROLE_OF: dict[Act, tuple[Role, ...]] = {
    act: roles
    for roles, acts in {
        (Role.REVIEWER,): (
            Act.SUBMIT, Act.TAKE_BACK, Act.OFFER, Act.ACCEPT, Act.CONFIRM, Act.OBJECT, Act.REWRITE,
        ),
        (Role.EXPERT,): (Act.TAKE, Act.STEP_ASIDE, Act.APPROVE, Act.RETURN),
        (Role.REVIEWER, Role.EXPERT): (Act.COMMENT, Act.GIVE_UP),
        (Role.ADMINISTRATOR,): (Act.RESTART, Act.WITHDRAW, Act.RESTORE),
    }.items()
    for act in acts
}  # fmt: skip
"""The roles that may take each action in the browser. Only programs generate and import."""

OWNER = "owner"
"""The actor at the command line, where no one signs in."""


class ConflictingAction(CasewiseError):
    """Another person acted first, so nothing was done. The message says what they did."""


class ReviewPlace(Record):
    """A query and an intent, and where the context for them stands."""

    id: str
    draft_id: str
    query: Query
    intended_safe: bool
    position: int
    """Its place in the draft's order."""
    state: State
    seq: int
    findings: list[Remark]
    parameters: StatedParameters
    """The parameters that contexts of its draft state."""
    vary: Names
    """The parameters and groups in which the two contexts of a query are meant to differ; empty if that is not stated."""

    @property
    def intent(self) -> str:
        return "safe" if self.intended_safe else "unsafe"


class Event(Record):
    """One step in a context's history."""

    seq: int
    at: datetime
    by: str
    act: Act
    from_phase: Phase | None
    to_phase: Phase
    wording: Wording | None
    reason: str | None
    detail: dict[str, Any] | None = None

    @property
    def source_id(self) -> str | None:
        """The id of the words in the file that they were imported from."""
        return (self.detail or {}).get("source_id")

    @property
    def action(self) -> ReviewAction:
        """The action that the event records."""
        author = (self.detail or {}).get("author")
        return ReviewAction(by=self.by, act=self.act, wording=self.wording, reason=self.reason, author=author)


@dataclass(frozen=True)
class Step:
    """An event with the state before and after it."""

    event: Event
    before: State
    after: State
    author: Author | None
    """The kind of author of the event's words, or of the text that all see after it."""
    taken_back: bool = False
    """True if this is a submission that its author took back."""


def steps_of(events: Sequence[Event]) -> list[Step]:
    """Return the events, oldest first, with the states that they led from and to.

    An event states only what a person sent: accepting a proposal, for instance, has no words of its own. The text
    before and after an event is therefore the state's.
    """
    state = MISSING
    steps: list[Step] = []
    for event in events:
        after = step(state, event.action)
        if event.act == Act.TAKE_BACK:
            last = max(n for n, one in enumerate(steps) if one.event.act == Act.SUBMIT and one.event.by == event.by)
            steps[last] = replace(steps[last], taken_back=True)
        steps.append(Step(event, state, after, after.author_of(event.wording)))
        state = after
    return steps


def places_where(connection: Connection, *conditions: ColumnElement[bool], lock: bool = False) -> list[ReviewPlace]:
    """Return the places of contexts that meet these conditions, in the order of their draft."""
    table, queries, drafts = tables.contexts, tables.queries, tables.drafts
    same_query = (queries.c.draft_id == table.c.draft_id) & (queries.c.query_id == table.c.query_id)
    columns = [table.c[name] for name in ReviewPlace.model_fields if name in table.c]
    rows = (
        select(*columns, queries.c.query, drafts.c.parameters, drafts.c.vary)
        .select_from(table)
        .join(queries, same_query)
    )
    rows = rows.join(drafts, drafts.c.id == table.c.draft_id).where(*conditions).order_by(table.c.position)
    selected = connection.execute(rows.with_for_update(of=table) if lock else rows)
    return [ReviewPlace(**row) for row in selected.mappings()]


def find_place(connection: Connection, place_id: str, *, lock: bool = False) -> ReviewPlace | None:
    """Return the place with this id, or None. `lock` keeps others from acting on it until the transaction ends."""
    return next(iter(places_where(connection, tables.contexts.c.id == place_id, lock=lock)), None)


def place_at(connection: Connection, place_id: str) -> ReviewPlace:
    """Return the place with this id. Raises BenchmarkError: there is none."""
    place = find_place(connection, place_id)
    if place is None:
        raise BenchmarkError(f"there is no context {place_id!r}")
    return place


def all_places(connection: Connection, draft_id: str) -> list[ReviewPlace]:
    """Return all places of a draft, in its order, read at once."""
    return places_where(connection, tables.contexts.c.draft_id == draft_id)


def sibling(connection: Connection, place: ReviewPlace) -> ReviewPlace | None:
    """Return the place of the same query with the other intent, for contrast; None where the draft has none."""
    others = (one for one in places_of_query(connection, place.draft_id, place.query.id) if one.id != place.id)
    return next(others, None)


def places_of_query(connection: Connection, draft_id: str, query_id: str, *, lock: bool = False) -> list[ReviewPlace]:
    """Return the places of a query, one for each intent; they are always locked in their order."""
    columns = tables.contexts.c
    return places_where(connection, columns.draft_id == draft_id, columns.query_id == query_id, lock=lock)


def act_on_query(
    connection: Connection, place_id: str, action: ReviewAction, *, seen: int | None, now: datetime
) -> ReviewPlace:
    """Perform `action`, one of `QUERY_ACTS`, on every context of the query of a place. Parameters and errors as of `act`."""
    place = place_at(connection, place_id)
    for one in places_of_query(connection, place.draft_id, place.query.id, lock=True):
        act(connection, one.id, action, seen=seen if one.id == place_id else None, now=now)
    return place_at(connection, place_id)


def act(
    connection: Connection,
    place_id: str,
    action: ReviewAction,
    *,
    seen: int | None,
    now: datetime,
    detail: dict[str, Any] | None = None,
) -> ReviewPlace:
    """Perform `action` in the transaction of `connection`.

    `seen`: the state's version that the person was looking at; None for programs, which look now.
    `detail`: what else the event should say, such as the model and prompt of a generated text.

    Raises BenchmarkError: there is no such place. Overtaken: the state changed since `seen`: nothing is done.
    NotAllowed: the action is not allowed now, or not to this person.
    """
    found = place_at(connection, place_id)
    pair = places_of_query(connection, found.draft_id, found.query.id, lock=True)  # its findings may follow these words
    place = next(one for one in pair if one.id == place_id)
    if seen is not None and seen != place.state.version:
        last = events_of(connection, place.id)[-1]
        raise ConflictingAction(
            f"Another person changed this context while you looked at it ({last.act}); it is now {last.to_phase}. "
            "Your step was not applied. Read the changes, then decide again."
        )
    after = step(place.state, action)
    typed_by = tables.autosaves.c.person_id
    other_typing = select(typed_by).where(tables.autosaves.c.context_id == place_id, typed_by != action.by).limit(1)
    if action.act == Act.TAKE_BACK and connection.execute(other_typing).first() is not None:
        raise NotAllowed(
            "The other reviewer has begun, so you can no longer take your review back. You see their review when they submit it."
        )
    if action.act == Act.SUBMIT and is_left_to_others(connection, place, action.by):
        raise NotAllowed("You wrote these words, so two others review them.")
    connection.execute(  # the key (context, seq) is how the database itself refuses two steps at once
        insert(tables.events).values(
            context_id=place.id,
            seq=place.seq + 1,
            at=now,
            by=action.by,
            act=action.act,
            from_phase=place.state.phase,
            to_phase=after.phase,
            wording=None if action.wording is None else action.wording.as_json(),
            reason=action.reason,
            detail=detail,
        )
    )
    first, second = (*after.reviewers, None, None)[:2]
    values = {
        "phase": after.phase,
        "seq": place.seq + 1,
        "first_reviewer": first,
        "second_reviewer": second,
        "confirmed_by": next(iter(after.confirmed), None),
        "expert": after.expert,
        "state": after.as_json(),
        "updated_at": now,
    }
    connection.execute(update(tables.contexts).where(tables.contexts.c.id == place.id).values(values))
    if after.wording is not None and after.wording != place.state.wording:
        other = next((one for one in pair if one.id != place.id), None)
        refresh_findings(connection, place, after.wording, other)
    if action.act in QUERY_ACTS:
        return place
    discard(connection, place.id, person_id=action.by)
    current = place_at(connection, place_id)
    mine = place.state.positions.get(action.by)
    if action.act == Act.TAKE_BACK and mine is not None and mine != place.state.wording:  # to be changed, not lost
        typed = UnsubmittedText(mine.fields(), saved=0, version=current.state.version)
        save(connection, place_id, person_id=action.by, typed=typed, now=now)
    return current


def enough_others(person_id: str, category: ColumnElement[str] | str) -> ColumnElement[bool]:
    """Return the condition that two others than this person review the category: only then can its author leave a context to
    them.
    """
    people, roles, passes = staff.people, staff.person_roles, tables.passes
    passed = select(passes.c.person_id).where(passes.c.category == category).correlate(tables.contexts)
    reviewers = select(func.count()).join_from(people, roles).where(people.c.active, roles.c.role == Role.REVIEWER)
    reviewers = reviewers.where(people.c.id != person_id, people.c.id.not_in(passed))
    return reviewers.correlate(tables.contexts).scalar_subquery() >= REVIEWERS


def is_left_to_others(connection: Connection, place: ReviewPlace, person_id: str) -> bool:
    """Return whether this person rewrote the text under review, and two others are there to judge it."""
    if place.state.author != person_id:
        return False
    return bool(connection.scalar(select(enough_others(person_id, place.query.category))))


def refresh_findings(connection: Connection, place: ReviewPlace, words: Wording, other: ReviewPlace | None) -> None:
    """Look anew at a context that got these words, and at what was found about others because of its words before."""
    findings = updated_findings(place.query.text, words, place.findings, place.parameters)
    if other is not None and other.state.wording is not None:
        in_pair = remark_on_pair(place, words, other.state.wording, about=other.id)
        findings += [] if in_pair is None else [in_pair]
        back = remark_on_pair(other, other.state.wording, words, about=place.id)
        of_other = [one for one in other.findings if one.about != place.id]
        store_findings(connection, {other.id: [*of_other, *([] if back is None else [back])]})
    store_findings(connection, {place.id: findings})
    columns = tables.contexts.c
    mentions = cast(columns.findings, String).contains(place.id)
    elsewhere = columns.query_id != place.query.id
    stale = select(columns.id, columns.findings).where(columns.draft_id == place.draft_id, mentions, elsewhere)
    rows = connection.execute(stale.with_for_update(skip_locked=True)).all()  # two people never wait for each other
    for row in rows:
        remarks = [Remark(**finding) for finding in row.findings]
        store_findings(connection, {row.id: [one for one in remarks if one.about != place.id]})


def remark_on_pair(place: ReviewPlace, words: Wording, other: Wording, *, about: str) -> Remark | None:
    """Find what is wrong between the two contexts of a query: those of an action differ in little by design."""
    if not is_flow(place.query, place.parameters):
        return pair_remark(words, other, about=about, vary=place.vary)
    remark = flow_remark(words, other, place.parameters)
    return None if remark is None else remark.model_copy(update={"about": about})


def store_findings(connection: Connection, by_place: Mapping[str, list[Remark]]) -> None:
    """Put findings where the pages show them. They are no part of the review's history: people's steps are."""
    table = tables.contexts
    for place_id, findings in by_place.items():
        rows = [finding.as_json() for finding in findings]
        connection.execute(update(table).where(table.c.id == place_id).values(findings=rows))


def events_of(connection: Connection, place_id: str) -> list[Event]:
    """Return the history of a place, oldest first."""
    table = tables.events
    columns = [table.c[name] for name in Event.model_fields]
    rows = connection.execute(select(*columns).where(table.c.context_id == place_id).order_by(table.c.seq))
    return [Event.model_validate(dict(row)) for row in rows.mappings()]
