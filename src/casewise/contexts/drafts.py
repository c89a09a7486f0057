"""Drafts: benchmarks in the making, in the database. One row for each query and intent from the beginning."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select

from casewise.contexts.review import MISSING, Phase
from casewise.database.tables import review as tables
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Category, ParameterSet, Query, Taxonomy, paper_parameters

__all__ = [
    "Draft",
    "all_drafts",
    "checked_intent",
    "create_draft",
    "draft_queries",
    "find_draft",
    "parameters_stated",
    "progress",
]

INTENTS = {"safe": True, "unsafe": False}
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,98}")


@dataclass(frozen=True)
class Draft:
    """A benchmark in the making."""

    id: str
    name: str
    taxonomy: Taxonomy
    created_at: datetime
    parameters: ParameterSet

    def category(self, name: str) -> Category | None:
        """The category called `name` in this draft's taxonomy."""
        return self.taxonomy.resolve(name)


def create_draft(
    connection: Connection,
    name: str,
    *,
    queries: Iterable[Query],
    taxonomy: Taxonomy,
    parameters: ParameterSet = paper_parameters(),
    intents: Iterable[str] = ("safe", "unsafe"),
    now: datetime,
) -> Draft:
    """A new draft with a place for one context per query and intent, none of them generated yet.

    Raises ConfigurationError: the name is taken or no name, or an intent is neither 'safe' nor 'unsafe'.
    BenchmarkError: there are no queries, two are equal, or one has a category that the taxonomy does not know.
    """
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} is no name for a draft: use small letters, digits, '.', '_' and '-'")
    if connection.execute(select(tables.drafts.c.id).where(tables.drafts.c.name == name)).first():
        raise ConfigurationError(f"there is a draft called {name!r} already")
    chosen = checked_queries(queries, taxonomy)
    draft = Draft(uuid.uuid4().hex, name, taxonomy, now, parameters)
    own = None if parameters == paper_parameters() else parameters.as_json()
    connection.execute(
        insert(tables.drafts).values(
            id=draft.id, name=name, taxonomy=taxonomy.as_json(), parameters=own, created_at=now
        )
    )
    add_places(connection, draft, chosen, [checked_intent(intent) for intent in dict.fromkeys(intents)])
    return draft


def checked_intent(intent: str) -> bool:
    """Whether contexts of this intent are meant to be safe. Raises ConfigurationError: there is no such intent."""
    if intent not in INTENTS:
        raise ConfigurationError(f"no intent is called {intent!r}; there are: {', '.join(INTENTS)}")
    return INTENTS[intent]


def checked_queries(queries: Iterable[Query], taxonomy: Taxonomy) -> list[Query]:
    chosen = list(queries)
    if not chosen:
        raise BenchmarkError("a draft needs at least one query")
    seen: set[str] = set()
    for query in chosen:
        if query.id in seen:
            raise BenchmarkError(f"the query {query.text!r} is there twice; leave one out")
        if taxonomy.resolve(query.category) is None:
            raise BenchmarkError(f"{query.text!r} is of category {query.category!r}, which {taxonomy.name} has not")
        seen.add(query.id)
    return chosen


def add_places(connection: Connection, draft: Draft, queries: list[Query], intents: list[bool]) -> None:
    of_query = [{"draft_id": draft.id, "query_id": query.id, "category": query.category} for query in queries]
    connection.execute(
        insert(tables.queries),
        [
            row | {"position": n, "query": query.as_json()}
            for n, (row, query) in enumerate(zip(of_query, queries, strict=True))
        ],
    )
    empty = {"phase": MISSING.phase, "seq": 0, "findings": [], "updated_at": draft.created_at}
    state = MISSING.as_json()
    connection.execute(
        insert(tables.contexts),
        [
            row
            | empty
            | {"id": uuid.uuid4().hex, "intended_safe": intent, "state": state, "position": 2 * n + (not intent)}
            for n, row in enumerate(of_query)
            for intent in intents
        ],
    )


def find_draft(connection: Connection, name: str) -> Draft:
    """The draft called `name`. Raises ConfigurationError: there is none; the message lists those that are."""
    for draft in all_drafts(connection):
        if draft.name == name:
            return draft
    names = ", ".join(draft.name for draft in all_drafts(connection)) or "none yet"
    raise ConfigurationError(f"no draft is called {name!r}; there are: {names}")


def all_drafts(connection: Connection) -> list[Draft]:
    """All drafts, the newest first."""
    rows = connection.execute(select(tables.drafts).order_by(tables.drafts.c.created_at.desc(), tables.drafts.c.name))
    return [
        Draft(
            row.id, row.name, Taxonomy.model_validate(row.taxonomy), row.created_at, parameters_stated(row.parameters)
        )
        for row in rows
    ]


def parameters_stated(row: dict[str, Any] | None) -> ParameterSet:
    """The set of parameters that a draft's row holds: the paper's where it holds none."""
    return paper_parameters() if row is None else ParameterSet.model_validate(row)


def draft_queries(connection: Connection, draft: Draft) -> list[Query]:
    """The queries of `draft` in their order."""
    table = tables.queries
    rows = connection.scalars(select(table.c.query).where(table.c.draft_id == draft.id).order_by(table.c.position))
    return [Query.model_validate(row) for row in rows]


def progress(connection: Connection, draft: Draft) -> dict[Phase, int]:
    """How many contexts of `draft` stand where; every phase is named, in the order of the review."""
    table = tables.contexts
    counts = connection.execute(
        select(table.c.phase, func.count()).where(table.c.draft_id == draft.id).group_by(table.c.phase)
    )
    found = {Phase(phase): int(count) for phase, count in counts}
    return {phase: found.get(phase, 0) for phase in Phase}
