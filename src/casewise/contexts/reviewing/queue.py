"""What waits for whom: the list of a draft's contexts with its filters, a page at a time; what reviewers need not read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, delete, false, func, or_, select, true

from casewise.contexts.drafts import Draft
from casewise.contexts.review import Phase
from casewise.contexts.reviewing.store import enough_others
from casewise.database.columns import insert_if_absent
from casewise.database.staff import Person, Role
from casewise.database.tables import review as tables

__all__ = [
    "Filter",
    "count_waiting",
    "has_read_warning",
    "list_contexts",
    "next_for",
    "pass_on",
    "passed_categories",
    "read_warning",
]

PAGE = 50
"""Contexts on one page of the queue."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which contexts to list; None and empty texts filter nothing."""

    mine: bool = False
    """Only those that wait for this person."""
    phase: Phase | None = None
    category: str | None = None
    intended_safe: bool | None = None
    after: int | None = None
    """The position of the last context of the page before."""


@dataclass(frozen=True)
class Listed:
    """A line of the queue."""

    id: str
    position: int
    query: str
    category: str
    intended_safe: bool
    phase: Phase
    findings: int


@dataclass(frozen=True)
class QueuePage:
    """A page of the queue. `next_after` begins the next one; None where this is the last."""

    contexts: list[Listed]
    next_after: int | None


def waiting_for(person: Person) -> ColumnElement[bool]:
    """The condition that a context waits for `person`, who has not passed on its category."""
    columns = tables.contexts.c
    reviews = (columns.first_reviewer == person.id) | (columns.second_reviewer == person.id)
    not_yet_mine = columns.first_reviewer.is_(None) | (columns.first_reviewer != person.id)
    not_yet_confirmed = columns.confirmed_by.is_(None) | (columns.confirmed_by != person.id)
    written_by_others = func.coalesce(columns.state["author"].as_string(), "") != person.id
    mine_to_judge = written_by_others | ~enough_others(person.id, columns.category)
    as_reviewer = or_(
        and_(columns.phase == Phase.GENERATED, mine_to_judge),
        columns.phase == Phase.BEYOND_REPAIR,
        and_(columns.phase == Phase.UNDER_REVIEW, not_yet_mine, mine_to_judge),
        and_(columns.phase == Phase.IN_DISCUSSION, reviews),
        and_(columns.phase == Phase.FINAL_CHECK, reviews, not_yet_confirmed),
    )
    mine_or_free = or_(
        columns.phase.in_([Phase.AGREED, Phase.RESOLVED]) & ~func.coalesce(reviews, false()),
        (columns.phase == Phase.EXPERT_REVIEW) & (columns.expert == person.id),
    )
    passed = select(tables.passes.c.category).where(tables.passes.c.person_id == person.id)
    roles = or_(
        as_reviewer if person.has(Role.REVIEWER) else false(),
        mine_or_free if person.has(Role.EXPERT) else false(),
    )
    return and_(roles, columns.category.not_in(passed))


def conditions(draft: Draft, person: Person, chosen: Filter) -> ColumnElement[bool]:
    columns = tables.contexts.c
    return and_(
        columns.draft_id == draft.id,
        waiting_for(person) if chosen.mine else true(),
        columns.phase == chosen.phase if chosen.phase else true(),
        columns.category == chosen.category if chosen.category else true(),
        columns.intended_safe == chosen.intended_safe if chosen.intended_safe is not None else true(),
        columns.position > chosen.after if chosen.after is not None else true(),
    )


def list_contexts(connection: Connection, draft: Draft, person: Person, chosen: Filter) -> QueuePage:
    """The page of contexts that `chosen` describes, in the order of their queries."""
    columns, queries = tables.contexts.c, tables.queries.c
    rows = connection.execute(
        select(
            columns.id,
            columns.position,
            queries.query,
            columns.category,
            columns.intended_safe,
            columns.phase,
            columns.findings,
        )
        .join(tables.queries, and_(queries.draft_id == columns.draft_id, queries.query_id == columns.query_id))
        .where(conditions(draft, person, chosen))
        .order_by(columns.position)
        .limit(PAGE + 1)
    ).all()
    listed = [
        Listed(
            row.id,
            row.position,
            row.query["text"],
            row.category,
            row.intended_safe,
            Phase(row.phase),
            len(row.findings),
        )
        for row in rows[:PAGE]
    ]
    return QueuePage(listed, listed[-1].position if len(rows) > PAGE else None)


def count_waiting(connection: Connection, draft: Draft, person: Person) -> int:
    """How many contexts of `draft` wait for `person`."""
    wanted = select(func.count()).select_from(tables.contexts).where(conditions(draft, person, Filter(mine=True)))
    return int(connection.execute(wanted).scalar_one())


def next_for(connection: Connection, draft: Draft, person: Person, *, after: int | None = None) -> str | None:
    """The id of the next context that waits for `person`, beginning after a position and then from the start."""
    columns = tables.contexts.c
    for position in [after, None] if after is not None else [None]:
        found = connection.scalars(
            select(columns.id)
            .where(conditions(draft, person, Filter(mine=True, after=position)))
            .order_by(columns.position)
            .limit(1)
        ).first()
        if found is not None:
            return str(found)
    return None


def passed_categories(connection: Connection, person_id: str) -> frozenset[str]:
    """The categories that this person passes on."""
    table = tables.passes
    return frozenset(connection.scalars(select(table.c.category).where(table.c.person_id == person_id)))


def pass_on(connection: Connection, person_id: str, categories: Iterable[str]) -> None:
    """Have this person pass on exactly `categories`."""
    table = tables.passes
    connection.execute(delete(table).where(table.c.person_id == person_id))
    for category in sorted(set(categories)):
        insert_if_absent(connection, table, {"person_id": person_id, "category": category})


def has_read_warning(connection: Connection, draft: Draft, person_id: str) -> bool:
    """Whether this person was told what they will read in `draft`."""
    table = tables.warnings_read
    wanted = select(table.c.at).where(table.c.person_id == person_id, table.c.draft_id == draft.id)
    return connection.execute(wanted).first() is not None


def read_warning(connection: Connection, draft: Draft, person_id: str, *, now: datetime) -> None:
    """Note that this person has read the warning; saying so twice is saying it once."""
    insert_if_absent(connection, tables.warnings_read, {"person_id": person_id, "draft_id": draft.id, "at": now})
