"""Drafts: benchmarks in the making, in the database."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator
from sqlalchemy import Connection, func, insert, select

from casewise import database as databases
from casewise.contexts.review import MISSING, Phase
from casewise.database import Database
from casewise.database.tables import review as tables
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import ParameterSet, Query, Record, Taxonomy, paper_parameters

# One row for each query and intent from the beginning.


INTENTS = {"safe": True, "unsafe": False}
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,98}")


StatedParameters = Annotated[ParameterSet, BeforeValidator(lambda row: paper_parameters() if row is None else row)]
"""The set of parameters that a draft's row holds: the paper's where it holds none."""


Names = Annotated[tuple[str, ...], BeforeValidator(lambda row: () if row is None else tuple(row))]
"""Names that a draft's row holds as a list; none where it holds none."""


class BenchmarkDraft(Record):
    """A benchmark in the making."""

    id: str
    name: str
    taxonomy: Taxonomy
    created_at: datetime
    parameters: StatedParameters
    vary: Names = ()
    """The parameters and groups in which the two contexts of a query are meant to differ; empty if that is not stated."""


def create_draft(
    connection: Connection,
    name: str,
    *,
    queries: Iterable[Query],
    taxonomy: Taxonomy,
    parameters: ParameterSet = paper_parameters(),
    vary: Iterable[str] = (),
    intents: Iterable[str] = ("safe", "unsafe"),
    now: datetime,
) -> BenchmarkDraft:
    """Return a new draft with a place for one context per query and intent, none of them generated yet.

    Raises ConfigurationError: the name is taken or not valid, an intent is neither 'safe' nor 'unsafe', or `vary` names
    neither a group nor a parameter. BenchmarkError: there are no queries, two are equal, or the taxonomy lacks a category.
    """
    if not NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} is not a valid draft name: use lower-case letters, digits, '.', '_' and '-'"
        )
    if connection.execute(select(tables.drafts.c.id).where(tables.drafts.c.name == name)).first():
        raise ConfigurationError(f"a draft called {name!r} already exists")
    parameters.check_names(names := tuple(vary))
    draft = BenchmarkDraft(
        id=uuid.uuid4().hex, name=name, taxonomy=taxonomy, created_at=now, parameters=parameters, vary=names
    )
    own_set = None if parameters == paper_parameters() else parameters.as_json()
    values = {"id": draft.id, "name": name, "taxonomy": taxonomy.as_json(), "parameters": own_set, "created_at": now}
    connection.execute(insert(tables.drafts).values(values | {"vary": list(names) or None}))
    if not add_queries(connection, draft, queries, intents=intents, now=now):
        raise BenchmarkError("a draft needs at least one query")
    return draft


def add_queries(
    connection: Connection,
    draft: BenchmarkDraft,
    queries: Iterable[Query],
    *,
    intents: Iterable[str] = ("safe", "unsafe"),
    now: datetime,
) -> int:
    """Add further queries to `draft`, each with a place for one context an intent; return how many.

    Raises ConfigurationError: there is no such intent. BenchmarkError: a query is there already, two are equal, or one has a
    category that the taxonomy does not know.
    """
    safe_intents = [*dict.fromkeys(map(checked_intent, intents))]
    before, added = {query.id for query in draft_queries(connection, draft)}, list(queries)
    ids = set(before)
    for query in added:
        if query.id in ids:
            raise BenchmarkError(f"the query {query.text!r} appears twice; remove one")
        if draft.taxonomy.resolve(query.category) is None:
            raise BenchmarkError(
                f"{query.text!r} has the category {query.category!r}, which is not in {draft.taxonomy.name}"
            )
        ids.add(query.id)
    if not added:
        return 0
    rows = [{"draft_id": draft.id, "query_id": query.id, "category": query.category} for query in added]
    first = len(before)
    texts = [{"position": n, "query": query.as_json()} for n, query in enumerate(added, first)]
    connection.execute(insert(tables.queries), [row | text for row, text in zip(rows, texts, strict=True)])
    empty = {"phase": MISSING.phase, "state": MISSING.as_json(), "seq": 0, "findings": [], "updated_at": now}
    places = [
        row | empty | {"id": uuid.uuid4().hex, "intended_safe": intent, "position": 2 * n + (not intent)}
        for n, row in enumerate(rows, first)
        for intent in safe_intents
    ]
    connection.execute(insert(tables.contexts), places)
    return len(added)


@contextmanager
def open_draft(name: str, database: str | None = None) -> Iterator[tuple[Database, BenchmarkDraft]]:
    """Open a database and yield it with its draft of this name. Raises as `find_draft`."""
    with databases.open(database) as store:
        with store.read() as connection:
            draft = find_draft(connection, name)
        yield store, draft


def checked_intent(intent: str) -> bool:
    """Return whether contexts of this intent are meant to be safe. Raises ConfigurationError: there is no such intent."""
    if intent not in INTENTS:
        raise ConfigurationError(f"no intent is called {intent!r}; there are: {', '.join(INTENTS)}")
    return INTENTS[intent]


def find_draft(connection: Connection, name: str) -> BenchmarkDraft:
    """Return the draft called `name`. Raises ConfigurationError: there is none; the message lists those that are."""
    drafts = {draft.name: draft for draft in all_drafts(connection)}
    if name not in drafts:
        raise ConfigurationError(f"no draft is called {name!r}; there are: {', '.join(drafts) or 'none yet'}")
    return drafts[name]


def all_drafts(connection: Connection) -> list[BenchmarkDraft]:
    """Return all drafts, the newest first."""
    rows = connection.execute(select(tables.drafts).order_by(tables.drafts.c.created_at.desc(), tables.drafts.c.name))
    return [BenchmarkDraft(**row) for row in rows.mappings()]


def draft_queries(connection: Connection, draft: BenchmarkDraft) -> list[Query]:
    """Return the queries of `draft` in their order."""
    table = tables.queries
    rows = connection.scalars(select(table.c.query).where(table.c.draft_id == draft.id).order_by(table.c.position))
    return [Query.model_validate(row) for row in rows]


def progress(connection: Connection, draft: BenchmarkDraft) -> dict[Phase, int]:
    """Return the number of contexts in each phase, in the order of the review."""
    table = tables.contexts
    counts = connection.execute(
        select(table.c.phase, func.count()).where(table.c.draft_id == draft.id).group_by(table.c.phase)
    )
    by_phase = {Phase(phase): int(count) for phase, count in counts}
    return {phase: by_phase.get(phase, 0) for phase in Phase}
