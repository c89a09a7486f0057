"""Selection from a file to a draft: queries chosen and balanced by category, and the contexts that come with them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from cyclopts.types import PositiveInt
from sqlalchemy import Connection

from casewise import database as databases
from casewise.contexts.checks import Wording
from casewise.contexts.drafts import BenchmarkDraft, add_queries, create_draft, draft_queries, find_draft
from casewise.contexts.record import (
    EVENTS,
    IMPORTER,
    DraftAct,
    is_record,
    note_draft_event,
    place_key,
    read_lines,
    record_from_lines,
)
from casewise.contexts.review import Act, Author, Phase, ReviewAction
from casewise.contexts.store import act, all_places
from casewise.errors import ConfigurationError, DataError
from casewise.options import Hidden
from casewise.records import (
    Context,
    ParameterSet,
    Query,
    ShortRepr,
    Taxonomy,
    action_parameters,
    paper_parameters,
    sorry_bench,
)
from casewise.records.context import Statement
from casewise.stats.words import EarlierTexts, word_runs
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import sha256
from casewise.storage.entries import Entry
from casewise.storage.files import read_text
from casewise.storage.intake.cases import Cases
from casewise.storage.intake.cells import CaseFrame
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.roles import CaseColumns, find_columns
from casewise.storage.intake.table import Table
from casewise.storage.load import EMBEDDED, import_cases, load, named_benchmark
from casewise.storage.words import plain_name
from casewise.text import count_of

TEXT_KEYS = ("text", "query", "prompt", "question", "turns")
CATEGORY_KEYS = ("category", "class", "topic")
ALIKE = 0.8
"""Jaccard similarity of word pairs from which two queries are reported as near-duplicates."""


@dataclass(frozen=True)
class DuplicateQuery:
    """Two queries that are the same, or nearly. The second is left out."""

    kept: Query
    dropped: Query
    similarity: float


def queries_from_table(table: Table, path: Path, taxonomy: Taxonomy) -> list[Query]:
    """Return the queries of a table.

    A row needs a text (`text`, `query`, `prompt`, `question`, or SORRY-Bench's `turns`) and a `category`: a name of the
    taxonomy, an alias, or its number from 1. Rows of SORRY-Bench in another style than `base` are passed over.

    Raises DataError: a row lacks something, or its category is not in the taxonomy; the message says where.
    """
    rows = (row for row in table.whole().rows if row.values.get("prompt_style") in (None, "base"))
    if not (queries := [query_from_row(row, taxonomy) for row in rows]):
        raise DataError(path, None, "it contains no queries")
    return queries


def source_benchmark(path: Path) -> Benchmark | None:
    """Return the benchmark that `path` is the folder, the published JSON file, the trace or the name of, or None."""
    if path.is_file() and "tool_call" in read_any_table(path).columns:
        return import_cases(path)
    if path.is_file():  # rows have the intent that only the published format gives
        exists = path.suffix.lower() == ".json" and '"context_intended_to_be_safe"' in read_text(path)
    else:
        exists = path.is_dir() or str(path) in EMBEDDED or named_benchmark(str(path)) is not None
    return load(str(path)) if exists else None


def query_from_row(row: Entry, taxonomy: Taxonomy) -> Query:
    headers = {header.strip().lower(): header for header in row.values}  # `Text` and `Category` are the usual names too
    text, named = (
        next((row.values[headers[key]] for key in keys if key in headers and row.has(headers[key])), None)
        for keys in (TEXT_KEYS, CATEGORY_KEYS)
    )
    if isinstance(text, list):
        text = text[0]
    if not isinstance(text, str) or not text.strip():
        row.refuse(f"no text in any of {', '.join(TEXT_KEYS)}")
    category = find_category(named, taxonomy)
    if category is None:
        row.refuse(f"category {named!r} is not in {taxonomy.name}")
    return Query(
        text=text.strip(),
        category=category,
        source=str(row.values.get("source") or row.path.name),
        category_as_published=str(named) if str(named) != category else None,
    )


def find_category(named: object, taxonomy: Taxonomy) -> str | None:
    """Return the taxonomy's own name for a category given by name, alias, in another case, or by its number from 1."""
    if isinstance(named, int) or (isinstance(named, str) and named.isdecimal()):
        index = int(named) - 1
        return taxonomy.names[index] if 0 <= index < len(taxonomy.names) else None
    if not isinstance(named, str):
        return None
    category = taxonomy.resolve(named) or taxonomy.resolve(named.strip().lower())
    return category.name if category else None


def select_queries(
    queries: Sequence[Query],
    taxonomy: Taxonomy,
    *,
    per_category: int | None,
    rng: np.random.Generator,
    before: Sequence[Query] = (),
) -> SelectedQueries:
    """Leave out duplicates, then draw `per_category` queries of each category at random (None: all of them).

    The chosen queries come in the order of the taxonomy, and within a category in the order they were read.
    """
    queries_left, duplicates = without_duplicates(queries, before=before)
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
    return SelectedQueries(chosen, duplicates, short)


def without_duplicates(
    queries: Iterable[Query], *, before: Sequence[Query] = ()
) -> tuple[list[Query], list[DuplicateQuery]]:
    """Return the queries without those that repeat an earlier one, or one that was there `before`, and the pairs.

    Candidates share a word pair, so the cost grows with the repeated pairs and not with the square of the queries.
    """
    distinct: list[Query] = []
    earlier = EarlierTexts()
    duplicates: list[DuplicateQuery] = []
    for place, query in enumerate((*before, *queries)):
        words = re.findall(r"\w+", unicodedata.normalize("NFKC", query.text).casefold())
        pairs = word_runs(["^", *words, "$"], length=2)
        places, similarity = earlier.most_similar(pairs)
        if place >= len(before) and places and similarity >= ALIKE:
            duplicates.append(DuplicateQuery(distinct[places[0]], query, similarity))
            continue
        earlier.add(pairs)
        distinct.append(query)
    return distinct[len(before) :], duplicates


# Contexts that come with the queries: from a table through the intake, or from a benchmark.


@dataclass(frozen=True)
class ContextColumns:
    """The columns of a table of contexts. Those that are not named are recognised by their names."""

    query: str | None = None
    """The column with the query."""
    category: str | None = None
    """The column with the query's category; '' for none."""
    context: str | None = None
    """The column with the whole context: free text, or an object of parameters."""
    intended: str | None = None
    """The column that says what a context is meant to be: safe or unsafe."""
    parameters: Hidden[Mapping[str, str]] = field(default_factory=dict)
    """Further columns, by the context parameter that each states: group.parameter."""


@dataclass(frozen=True)
class ImportedContext:
    """A context that a file brings."""

    fields: Mapping[str, str]
    author: Author | None
    """The stated kind of author, or None."""
    approved: bool = False
    """True if the release that it comes from states that it was approved."""
    source_id: str | None = None
    """The id that the user's own file gives it."""


@dataclass(frozen=True)
class Source:
    """The content of a file for a draft: queries, contexts by query and intent, and the facts for the record."""

    title: str
    queries: list[Query]
    taxonomy: Taxonomy
    parameters: ParameterSet
    contexts: Mapping[str, ImportedContext] = field(default_factory=dict)
    unmoved: frozenset[str] | None = None
    """The queries that no context moves; None without ratings."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What was left out of the file or read otherwise than it stands there, in words."""


def read_source(
    path: Path,
    *,
    taxonomy: Taxonomy | None = None,
    parameters: ParameterSet | None = None,
    columns: ContextColumns = ContextColumns(),
    options: SelectionOptions | None = None,
) -> Source:
    """Read queries, and the contexts that come with them, from a table, a benchmark or a release.

    Raises DataError: a row cannot be read. ConfigurationError: a context has no intent, or something would have to be guessed.
    """
    options = options or SelectionOptions()
    if (benchmark := source_benchmark(path)) is not None:
        return source_from_benchmark(benchmark, path, options, parameters=parameters)
    table = read_any_table(path)
    facts = {"sha256": sha256(path)}
    found = None if options.queries_only else context_columns(table, columns, parameters)
    if found is None:
        categories = taxonomy or sorry_bench()
        queries = queries_from_table(table, path, categories)
        return Source(path.name, queries, categories, parameters or paper_parameters(), facts=facts)
    cases = Cases(table, found, CaseFrame(taxonomy, parameters), declared=found).benchmark()
    receipt = tuple(cases.about.receipt.sentences()) if cases.about.receipt else ()
    source = source_from_benchmark(cases, path, options)
    return replace(source, unmoved=None, facts=facts, notes=(*receipt, *source.notes))


def context_columns(table: Table, columns: ContextColumns, parameters: ParameterSet | None) -> CaseColumns | None:
    """Return the columns of a table of contexts, or None where it has queries alone."""
    query = columns.query or next((name for name in table.names if plain_name(name) in TEXT_KEYS), None)
    stated = CaseColumns(
        query=query,
        category=columns.category or next((name for name in table.names if plain_name(name) in CATEGORY_KEYS), None),
        context=columns.context,
        intended=columns.intended,
        parameters=columns.parameters,
        judged="request",
    )
    found = find_columns(table.names, stated, parameters=parameters, has_ratings=False)
    return found if found.context or found.parameters else None


def source_from_benchmark(
    benchmark: Benchmark, path: Path, options: SelectionOptions, *, parameters: ParameterSet | None = None
) -> Source:
    """Return what a benchmark gives a draft: of each query and intent the context of its last condition, revised before generated."""
    stated = benchmark.parameters
    if not benchmark.contexts and {query.judged for query in benchmark.queries} == {"action"}:
        stated = action_parameters()
    unmoved = frozenset(benchmark.unmoved_queries) if benchmark.counts.ratings else None
    facts: dict[str, Any] = {"benchmark": benchmark.title, "digest": benchmark.digest}
    shown: dict[str, Context] = {}
    source_ids: dict[str, str | None] = {}
    without_intent, further = 0, 0
    for item in sorted(benchmark.items, key=lambda item: item.condition.endswith("_generated")):
        context = benchmark.context_of(item)
        if context is None:
            continue
        if context.intended_safe is None:
            without_intent += 1
            continue
        key = place_key(context.query_id, intended_safe=context.intended_safe)
        further += shown.setdefault(key, context).id != context.id
        source_ids.setdefault(key, item.source_id)
    source = Source(
        path.name, list(benchmark.queries), benchmark.taxonomy, parameters or stated, unmoved=unmoved, facts=facts
    )
    if options.queries_only:
        stay = count_of(len(shown) + without_intent + further, "context")
        left = f"left out by --queries-only: {stay} of {path.name}"
        return replace(source, notes=(left,) if shown or without_intent else ())
    if without_intent:
        raise ConfigurationError(
            f"{count_of(without_intent, 'context')} of {path.name} without an intent, which a review needs: name the column that says "
            "safe or unsafe with --intended, or take the queries alone with --queries-only"
        )
    if shown and parameters is not None and parameters != benchmark.parameters:
        raise ConfigurationError(
            f"the contexts of {path.name} state the parameters of {benchmark.parameters.name}, not of {parameters.name}; take the "
            "queries alone with --queries-only"
        )
    approved = approved_in(path)
    written_by = Author(options.written_by) if options.written_by else None
    given = {
        key: ImportedContext(
            context.texts(), written_by or stated_author(context), approved.get(key) == context.id, source_ids[key]
        )
        for key, context in shown.items()
    }
    if shown and is_record(path / EVENTS):
        facts["release"] = {"title": benchmark.title, "contexts": {key: one.id for key, one in shown.items()}}
    flattened = sum(
        not all(isinstance(statement, str) for statement in parts_of(context)) for context in shown.values()
    )
    notes = (
        (
            further,
            f"left out: {count_of(further, 'context')} of {path.name}; a draft has one context for each query and intent",
        ),
        (flattened, f"imported as running text: parameters under headings, in {count_of(flattened, 'context')}"),
    )
    return replace(source, contexts=given, notes=tuple(note for count, note in notes if count))


def parts_of(context: Context) -> Iterable[Statement]:
    for value in context.shown().values():
        yield from value.values() if isinstance(value, dict) else (value,)


def stated_author(context: Context) -> Author | None:
    """Return the kind of author that a release of casewise states for a context."""
    detail = (context.provenance.detail if context.provenance else None) or {}
    author = detail.get("author")
    return Author(author) if author in set(Author) else None


def approved_in(folder: Path) -> dict[str, str]:
    """Return the ids of the contexts that the release in `folder` states as approved, by place; none of another benchmark."""
    if not is_record(folder / EVENTS):
        return {}
    record = record_from_lines(read_lines(folder / EVENTS))
    return {
        context.key: context.id_of(context.state.wording) or ""
        for context in record.contexts
        if context.state.phase == Phase.APPROVED
    }


# A draft begins, or grows.


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """The rule by which queries are chosen, and what becomes of contexts that come with them."""

    intents: str = "safe,unsafe"
    """Intents to make contexts for: safe, unsafe, or both, separated by a comma."""
    per_category: PositiveInt | None = None
    """Queries of each category. Default: all."""
    seed: int = 0
    """Seed of the draw of queries."""
    movable: bool = False
    """Leave out queries of a benchmark whose label is the same in every context (casewise audit)."""
    queries_only: bool = False
    """Take the queries without the contexts that come with them."""
    keep_approved: bool = False
    """Keep the approval of contexts that come from a release; without it they are reviewed anew."""
    written_by: Literal["model", "person"] | None = None
    """Who wrote the contexts that come with the queries, where the file does not state it."""
    to_writers: bool = False
    """Have reviewers write the contexts that are missing."""

    @property
    def every_intent(self) -> tuple[str, ...]:
        """The intents that each query needs a context for."""
        return tuple(intent.strip() for intent in self.intents.split(","))


@dataclass(frozen=True, repr=False)
class SelectedQueries(ShortRepr):
    """The chosen queries, the duplicates left out, and the categories with fewer queries than asked for."""

    queries: list[Query] = field(repr=False)
    duplicates: list[DuplicateQuery] = field(repr=False)
    short: dict[str, int]
    """Category to how many were found, none included, where that is fewer than wanted."""
    imported: int = 0
    """Contexts that came in for review."""
    adopted: int = 0
    """Contexts that came in with their approval."""
    missing: int = 0
    """Contexts that the file lacks, and that wait for reviewers to write them."""
    notes: tuple[str, ...] = ()
    """What was left out, or read otherwise than it stands in the file."""


def begin_draft(
    queries: Path,
    *,
    draft: str | None = None,
    options: SelectionOptions = SelectionOptions(),
    columns: ContextColumns = ContextColumns(),
    vary: Iterable[str] = (),
    taxonomy: Path | None = None,
    parameters: Path | None = None,
    database: str | None = None,
) -> SelectedQueries:
    """Choose queries, balanced by category, and begin a draft with them and with the contexts that come with them.

    Parameters
    ----------
    queries
        CSV, JSONL, JSON, Excel, Parquet, SORRY-Bench's `question.jsonl`, a benchmark, or a release.
    draft
        The new draft's name; by default the file's.
    vary
        The parameters and groups in which the two contexts of a query are meant to differ.
    taxonomy, parameters
        TOML files with categories and with parameters of contexts of your own; by default those of the file, or SORRY-Bench's
        and the paper's.

    Raises
    ------
    DataError
        A row cannot be read; the message says where.
    ConfigurationError
        A context has no intent, the name is taken, or something would have to be guessed.
    """
    source = read_source(
        queries,
        taxonomy=Taxonomy.read(taxonomy) if taxonomy else None,
        parameters=ParameterSet.read(parameters) if parameters else None,
        columns=columns,
        options=options,
    )
    categories = Taxonomy.read(taxonomy) if taxonomy else source.taxonomy
    chosen, now = choose(source, categories, options), datetime.now(UTC)
    with databases.open(database) as store, store.write() as connection:
        begun = create_draft(
            connection,
            draft or queries.stem.lower(),
            queries=chosen.queries,
            taxonomy=categories,
            parameters=source.parameters,
            vary=vary,
            intents=options.every_intent,
            now=now,
        )
        facts = {"intents": list(options.every_intent), "vary": list(begun.vary), "taxonomy": categories.name}
        return import_contexts(connection, begun, source, chosen, options, act_=DraftAct.SELECT, facts=facts, now=now)


def add_to_draft(
    draft: str,
    queries: Path,
    *,
    options: SelectionOptions = SelectionOptions(),
    columns: ContextColumns = ContextColumns(),
    database: str | None = None,
) -> SelectedQueries:
    """Give a draft further queries, and contexts for those that it has and that lack one. Parameters and errors as of `begin_draft`."""
    now = datetime.now(UTC)
    with databases.open(database) as store, store.write() as connection:
        found = find_draft(connection, draft)
        source = read_source(
            queries, taxonomy=found.taxonomy, parameters=found.parameters, columns=columns, options=options
        )
        before = draft_queries(connection, found)
        chosen = choose(source, found.taxonomy, options, before=before)
        add_queries(connection, found, chosen.queries, intents=options.every_intent, now=now)
        facts = {"intents": list(options.every_intent)}
        return import_contexts(connection, found, source, chosen, options, act_=DraftAct.ADD, facts=facts, now=now)


def choose(
    source: Source, taxonomy: Taxonomy, options: SelectionOptions, *, before: Sequence[Query] = ()
) -> SelectedQueries:
    """Choose among the queries of a source; what repeats one that the draft has `before` is left out."""
    if options.movable and source.unmoved is None:
        raise ConfigurationError(f"--movable needs a benchmark with ratings, and {source.title} has none")
    if options.keep_approved and not any(given.approved for given in source.contexts.values()):
        raise ConfigurationError(
            f"--keep-approved needs a release that records approvals in {EVENTS}, and {source.title} is none"
        )
    unmoved = source.unmoved or () if options.movable else ()
    known = {query.id for query in before}
    candidates = [query for query in source.queries if query.id not in unmoved and query.id not in known]
    rng = np.random.default_rng(options.seed)
    return select_queries(candidates, taxonomy, per_category=options.per_category, rng=rng, before=before)


def import_contexts(
    connection: Connection,
    draft: BenchmarkDraft,
    source: Source,
    chosen: SelectedQueries,
    options: SelectionOptions,
    *,
    act_: DraftAct,
    facts: Mapping[str, Any],
    now: datetime,
) -> SelectedQueries:
    """Import the contexts that come with the chosen queries, hand missing ones to writers, and note the selection in the record."""
    places = {
        place_key(place.query.id, intended_safe=place.intended_safe): place
        for place in all_places(connection, draft.id)
    }
    done = Counter[Act]()
    not_taken = sum(key not in places for key in source.contexts)
    in_draft = {place.query.id for place in places.values()}
    known = len({query.id for query in source.queries} & in_draft) - len(chosen.queries)
    occupied = 0
    for key, given in source.contexts.items():
        if (place := places.get(key)) is None:
            continue
        if place.state.phase != Phase.MISSING:
            occupied += 1
            continue
        if strange := [name for name in given.fields if name not in draft.parameters.all_names]:
            raise ConfigurationError(
                f"{source.title}: the context of {place.query.text!r} states {', '.join(strange)}, and the draft's contexts do "
                f"not; they state {', '.join(draft.parameters.names)}"
            )
        words = Wording.from_fields(given.fields, draft.parameters, whole=False)
        chosen_act = Act.ADOPT if options.keep_approved and given.approved else Act.IMPORT
        action = ReviewAction(by=IMPORTER, act=chosen_act, wording=words, author=given.author)
        detail = {"source": source.facts.get("benchmark") or source.title, "author": given.author or Author.UNKNOWN}
        detail |= {"source_id": given.source_id} if given.source_id else {}
        act(connection, place.id, action, seen=None, now=now, detail=detail)
        done[chosen_act] += 1
        del places[key]
    if options.to_writers or source.contexts:
        of_chosen = {query.id for query in chosen.queries}
        reason = (
            f"{source.title} has no context for it" if source.contexts else "people write the contexts of this draft"
        )
        for place in places.values():
            if place.query.id in of_chosen and place.state.phase == Phase.MISSING:
                act(connection, place.id, ReviewAction(by=IMPORTER, act=Act.FAIL, reason=reason), seen=None, now=now)
                done[Act.FAIL] += 1
    lines = (
        (known, f"already in the draft: {count_of(known, 'query')} of {source.title}"),
        (occupied, f"left out: {count_of(occupied, 'context')} that the draft has already"),
        (not_taken, f"left out: {count_of(not_taken, 'context')} of {source.title} whose queries were not selected"),
    )
    chosen = replace(
        chosen,
        imported=done[Act.IMPORT],
        adopted=done[Act.ADOPT],
        missing=done[Act.FAIL],
        notes=(*source.notes, *(line for count, line in lines if count)),
    )
    record = {
        "source": source.title,
        **source.facts,
        **facts,
        "read": len(source.queries),
        "selected": len(chosen.queries),
        "per_category": options.per_category,
        "seed": options.seed,
        "movable": options.movable,
        "left_out": len(chosen.duplicates),
        "duplicates": [
            {"text": duplicate.dropped.text, "kept": duplicate.kept.text} for duplicate in chosen.duplicates
        ],
        "short": chosen.short,
        "imported": chosen.imported + chosen.adopted,
        "notes": list(chosen.notes),
    }
    note_draft_event(connection, draft.id, act_, record, now=now)
    return chosen
