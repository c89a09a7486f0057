"""Drafts: benchmarks in the making, and the queries that they are made of."""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator
from sqlalchemy import Connection, func, insert, select

from casewise import database as databases
from casewise.contexts.review import MISSING, Phase
from casewise.database import Database
from casewise.database.tables import review as tables
from casewise.errors import BenchmarkError, ConfigurationError, DataError
from casewise.records import ParameterSet, Query, Record, Taxonomy, action_parameters, paper_parameters, sorry_bench
from casewise.stats.words import EarlierTexts, word_runs
from casewise.storage.benchmark import Benchmark
from casewise.storage.entries import Entry
from casewise.storage.files import read_text
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.load import load, named_benchmark, read_cases

# Choosing queries for a draft: read from the usual files, duplicates reported, balanced by category.


TEXT_KEYS = ("text", "query", "prompt", "question", "turns")
CATEGORY_KEYS = ("category", "class", "topic")
ALIKE = 0.8
"""Jaccard similarity of word pairs from which two queries are reported as near-duplicates."""


@dataclass(frozen=True)
class Twin:
    """Two queries that are the same, or nearly. The second is left out."""

    kept: Query
    dropped: Query
    similarity: float


@dataclass(frozen=True)
class SelectedQueries:
    """The chosen queries, the duplicates left out, and the categories with fewer queries than asked for."""

    queries: list[Query]
    twins: list[Twin]
    short: dict[str, int]
    """Category to how many were found, none included, where that is fewer than wanted."""

    def __repr__(self) -> str:
        return f"<SelectedQueries: {len(self.queries):,}, {len(self.twins):,} left out as duplicates>"


def read_queries(path: Path, taxonomy: Taxonomy) -> list[Query]:
    """The queries of a CSV, JSONL, JSON or Parquet file, of SORRY-Bench's `question.jsonl`, or of a benchmark.

    A row needs a text (`text`, `query`, `prompt`, `question`, or SORRY-Bench's `turns`) and a `category`: a name of the
    taxonomy, an alias, or its number from 1. Rows of SORRY-Bench in another style than `base` are passed over.

    Raises DataError: the file cannot be read, a row lacks something, or its category is not in the taxonomy; the
    message says where.
    """
    if (source := source_benchmark(path)) is not None:
        return list(source.queries)
    table = read_any_table(path).whole()
    queries = [as_query(row, taxonomy) for row in table.rows if row.values.get("prompt_style") in (None, "base")]
    if not queries:
        raise DataError(path, None, "it contains no queries")
    return queries


def source_benchmark(path: Path) -> Benchmark | None:
    """Return the benchmark that `path` is the folder, the published JSON file, the trace or the name of, or None."""
    if path.is_file() and "tool_call" in read_any_table(path).columns:
        return read_cases(path).benchmark
    if path.is_file():  # rows have the intent that only the published format gives
        exists = path.suffix.lower() == ".json" and '"context_intended_to_be_safe"' in read_text(path)
    else:
        exists = path.is_dir() or str(path) == "demo" or named_benchmark(str(path)) is not None
    return load(str(path)) if exists else None


def as_query(row: Entry, taxonomy: Taxonomy) -> Query:
    headers = {header.strip().lower(): header for header in row.values}  # `Text` and `Category` are the usual names too
    text, named = (
        next((row.values[headers[key]] for key in keys if key in headers and row.has(headers[key])), None)
        for keys in (TEXT_KEYS, CATEGORY_KEYS)
    )
    if isinstance(text, list):
        text = text[0]
    if not isinstance(text, str) or not text.strip():
        row.refuse(f"no text in any of {', '.join(TEXT_KEYS)}")
    category = category_named(named, taxonomy)
    if category is None:
        row.refuse(f"category {named!r} is not in {taxonomy.name}")
    return Query(
        text=text.strip(),
        category=category,
        source=str(row.values.get("source") or row.path.name),
        category_as_published=str(named) if str(named) != category else None,
    )


def category_named(named: object, taxonomy: Taxonomy) -> str | None:
    """The taxonomy's own name for a category given by name, alias, in another case, or by its number from 1."""
    if isinstance(named, int) or (isinstance(named, str) and named.isdecimal()):
        index = int(named) - 1
        return taxonomy.names[index] if 0 <= index < len(taxonomy.names) else None
    if not isinstance(named, str):
        return None
    category = taxonomy.resolve(named) or taxonomy.resolve(named.strip().lower())
    return category.name if category else None


def select_queries(
    queries: Sequence[Query], taxonomy: Taxonomy, *, per_category: int | None, rng: np.random.Generator
) -> SelectedQueries:
    """Leave out duplicates, then draw `per_category` queries of each category at random (None: all of them).

    The chosen queries come in the order of the taxonomy, and within a category in the order they were read.
    """
    queries_left, twins = without_twins(queries)
    by_category: dict[str, list[Query]] = defaultdict(list)
    for query in queries_left:
        by_category[query.category].append(query)
    chosen: list[Query] = []
    short: dict[str, int] = {}
    for category in taxonomy.names:
        candidates = by_category[category]
        if per_category is None or len(candidates) <= per_category:
            chosen.extend(candidates)
            if per_category is not None and len(candidates) < per_category:
                short[category] = len(candidates)
            continue
        places = sorted(rng.choice(len(candidates), size=per_category, replace=False))
        chosen.extend(candidates[place] for place in places)
    return SelectedQueries(chosen, twins, short)


def without_twins(queries: Iterable[Query]) -> tuple[list[Query], list[Twin]]:
    """The queries without those that repeat an earlier one, and the pairs.

    Candidates share a word pair, so the cost grows with the repeated pairs and not with the square of the queries.
    """
    distinct: list[Query] = []
    earlier = EarlierTexts()
    twins: list[Twin] = []
    for query in queries:
        words = re.findall(r"\w+", unicodedata.normalize("NFKC", query.text).casefold())
        pairs = word_runs(["^", *words, "$"], length=2)
        places, similarity = earlier.most_alike(pairs)
        if places and similarity >= ALIKE:
            twins.append(Twin(distinct[places[0]], query, similarity))
            continue
        earlier.add(pairs)
        distinct.append(query)
    return distinct, twins


# Drafts: benchmarks in the making, in the database. One row for each query and intent from the beginning.


INTENTS = {"safe": True, "unsafe": False}
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,98}")


StatedParameters = Annotated[ParameterSet, BeforeValidator(lambda row: paper_parameters() if row is None else row)]
"""The set of parameters that a draft's row holds: the paper's where it holds none."""


class Draft(Record):
    """A benchmark in the making."""

    id: str
    name: str
    taxonomy: Taxonomy
    created_at: datetime
    parameters: StatedParameters


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
        raise ConfigurationError(
            f"{name!r} is not a valid draft name: use lower-case letters, digits, '.', '_' and '-'"
        )
    if connection.execute(select(tables.drafts.c.id).where(tables.drafts.c.name == name)).first():
        raise ConfigurationError(f"a draft called {name!r} already exists")
    by_id: dict[str, Query] = {}
    for query in queries:
        if query.id in by_id:
            raise BenchmarkError(f"the query {query.text!r} appears twice; remove one")
        if taxonomy.resolve(query.category) is None:
            raise BenchmarkError(f"{query.text!r} has the category {query.category!r}, which is not in {taxonomy.name}")
        by_id[query.id] = query
    if not by_id:
        raise BenchmarkError("a draft needs at least one query")
    draft = Draft(id=uuid.uuid4().hex, name=name, taxonomy=taxonomy, created_at=now, parameters=parameters)
    own = None if parameters == paper_parameters() else parameters.as_json()
    values = {"id": draft.id, "name": name, "taxonomy": taxonomy.as_json(), "parameters": own, "created_at": now}
    connection.execute(insert(tables.drafts).values(values))
    rows = [{"draft_id": draft.id, "query_id": query.id, "category": query.category} for query in by_id.values()]
    texts = [{"position": n, "query": query.as_json()} for n, query in enumerate(by_id.values())]
    connection.execute(insert(tables.queries), [row | text for row, text in zip(rows, texts, strict=True)])
    empty = {"phase": MISSING.phase, "state": MISSING.as_json(), "seq": 0, "findings": [], "updated_at": now}
    places = [
        row | empty | {"id": uuid.uuid4().hex, "intended_safe": intent, "position": 2 * n + (not intent)}
        for n, row in enumerate(rows)
        for intent in dict.fromkeys(map(checked_intent, intents))
    ]
    connection.execute(insert(tables.contexts), places)
    return draft


def begin_draft(
    queries: Path,
    *,
    draft: str | None = None,
    per_category: int | None = None,
    seed: int = 0,
    movable: bool = False,
    intents: Iterable[str] = ("safe", "unsafe"),
    taxonomy: Path | None = None,
    parameters: Path | None = None,
    database: str | None = None,
) -> SelectedQueries:
    """Choose queries, balanced by category, and begin a draft with them. Duplicates are named and left out.

    Parameters
    ----------
    queries
        CSV, JSONL, JSON, Parquet, SORRY-Bench's `question.jsonl`, or a benchmark.
    draft
        The new draft's name; by default the file's.
    per_category
        Queries of each category; by default all.
    movable
        Leave out the queries of a benchmark that no context moves: people's verdict is the same under each.
    intents
        The intents that each query needs a context for.
    taxonomy, parameters
        TOML files with categories and with parameters of contexts of your own; by default those of the benchmark that the
        queries come from, or SORRY-Bench's and the paper's.
    """
    source = source_benchmark(queries)
    categories = Taxonomy.read(taxonomy) if taxonomy else source.taxonomy if source else sorry_bench()
    stated = source.parameters if source else paper_parameters()
    if source and not source.contexts and {query.judged for query in source.queries} == {"action"}:
        stated = action_parameters()
    if parameters:
        stated = ParameterSet.read(parameters)
    if movable and (source is None or not source.counts.ratings):
        raise ConfigurationError(f"which queries contexts move is known of a benchmark with ratings, not of {queries}")
    unmoved = source.unmoved if movable and source is not None else ()
    candidates = [query for query in read_queries(queries, categories) if query.id not in unmoved]
    selected = select_queries(candidates, categories, per_category=per_category, rng=np.random.default_rng(seed))
    with databases.open(database) as store, store.write() as connection:
        create_draft(
            connection,
            draft or queries.stem.lower(),
            queries=selected.queries,
            taxonomy=categories,
            parameters=stated,
            intents=intents,
            now=datetime.now(UTC),
        )
    return selected


@contextmanager
def open_draft(name: str, database: str | None = None) -> Iterator[tuple[Database, Draft]]:
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


def find_draft(connection: Connection, name: str) -> Draft:
    """Return the draft called `name`. Raises ConfigurationError: there is none; the message lists those that are."""
    drafts = {draft.name: draft for draft in all_drafts(connection)}
    if name not in drafts:
        raise ConfigurationError(f"no draft is called {name!r}; there are: {', '.join(drafts) or 'none yet'}")
    return drafts[name]


def all_drafts(connection: Connection) -> list[Draft]:
    """All drafts, the newest first."""
    rows = connection.execute(select(tables.drafts).order_by(tables.drafts.c.created_at.desc(), tables.drafts.c.name))
    return [Draft(**row) for row in rows.mappings()]


def draft_queries(connection: Connection, draft: Draft) -> list[Query]:
    """The queries of `draft` in their order."""
    table = tables.queries
    rows = connection.scalars(select(table.c.query).where(table.c.draft_id == draft.id).order_by(table.c.position))
    return [Query.model_validate(row) for row in rows]


def progress(connection: Connection, draft: Draft) -> dict[Phase, int]:
    """Return the number of contexts in each phase, in the order of the review."""
    table = tables.contexts
    counts = connection.execute(
        select(table.c.phase, func.count()).where(table.c.draft_id == draft.id).group_by(table.c.phase)
    )
    by_phase = {Phase(phase): int(count) for phase, count in counts}
    return {phase: by_phase.get(phase, 0) for phase in Phase}
