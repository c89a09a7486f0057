"""The review queue, its statistics, and the report on a whole set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, delete, false, func, or_, select, true

from casewise.contexts.checks import (
    PairComparison,
    PairKind,
    Remark,
    SimilarContext,
    check_wording,
    compare_pair,
    find_alike,
)
from casewise.contexts.drafts import BenchmarkDraft
from casewise.contexts.review import Phase
from casewise.contexts.store import ReviewPlace, all_places, enough_others, remark_on_pair, store_findings
from casewise.database.staff import Person, Role
from casewise.database.tables import review as tables
from casewise.database.tables.metadata import insert_if_absent
from casewise.stats.words import Folds, out_of_fold
from casewise.text import count_of

# What waits for whom: the list of a draft's contexts with its filters, a page at a time; what reviewers need not
# read.


PAGE = 50
"""Contexts on one page of the queue."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The filter of a list of contexts; None and empty texts filter nothing."""

    mine: bool = False
    """Only those that wait for this person."""
    phase: Phase | None = None
    category: str | None = None
    intended_safe: bool | None = None
    after: int | None = None
    """The position of the last context of the page before."""


@dataclass(frozen=True)
class QueueRow:
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

    contexts: list[QueueRow]
    next_after: int | None


def waiting_for(person: Person) -> ColumnElement[bool]:
    """Return the condition that a context waits for `person`, who has not passed on its category."""
    columns = tables.contexts.c
    reviews = (columns.first_reviewer == person.id) | (columns.second_reviewer == person.id)
    not_yet_mine = columns.first_reviewer.is_(None) | (columns.first_reviewer != person.id)
    not_yet_confirmed = columns.confirmed_by.is_(None) | (columns.confirmed_by != person.id)
    written_by_others = func.coalesce(columns.state["author"].as_string(), "") != person.id
    mine_to_judge = written_by_others | ~enough_others(person.id, columns.category)
    as_reviewer = or_(
        and_(columns.phase == Phase.GENERATED, mine_to_judge),
        columns.phase == Phase.BEYOND_REPAIR,
        and_(columns.phase == Phase.MISSING, columns.state["problem"].as_string().is_not(None)),
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


def conditions(draft: BenchmarkDraft, person: Person, chosen: Filter) -> ColumnElement[bool]:
    columns = tables.contexts.c
    return and_(
        columns.draft_id == draft.id,
        waiting_for(person) if chosen.mine else true(),
        columns.phase == chosen.phase if chosen.phase else true(),
        columns.category == chosen.category if chosen.category else true(),
        columns.intended_safe == chosen.intended_safe if chosen.intended_safe is not None else true(),
        columns.position > chosen.after if chosen.after is not None else true(),
    )


def list_contexts(connection: Connection, draft: BenchmarkDraft, person: Person, chosen: Filter) -> QueuePage:
    """Return the page of contexts that `chosen` describes, in the order of their queries."""
    columns, queries = tables.contexts.c, tables.queries.c
    shown = (columns.id, columns.position, columns.category, columns.intended_safe, columns.phase, columns.findings)
    rows = connection.execute(
        select(*shown, queries.query)
        .join(tables.queries, and_(queries.draft_id == columns.draft_id, queries.query_id == columns.query_id))
        .where(conditions(draft, person, chosen))
        .order_by(columns.position)
        .limit(PAGE + 1)
    ).mappings()
    listed = [
        QueueRow(
            **row | {"query": row["query"]["text"], "phase": Phase(row["phase"]), "findings": len(row["findings"])}
        )
        for row in map(dict, rows)
    ]
    return QueuePage(listed[:PAGE], listed[PAGE - 1].position if len(listed) > PAGE else None)


def count_waiting(connection: Connection, draft: BenchmarkDraft, person: Person) -> int:
    """Return how many contexts of `draft` wait for `person`."""
    waiting = select(func.count()).select_from(tables.contexts).where(conditions(draft, person, Filter(mine=True)))
    return int(connection.execute(waiting).scalar_one())


def next_for(connection: Connection, draft: BenchmarkDraft, person: Person, *, after: int | None = None) -> str | None:
    """Return the id of the next context that waits for `person`, beginning after a position and then from the start."""
    columns = tables.contexts.c
    later_first = [] if after is None else [columns.position <= after]
    waiting = select(columns.id).where(conditions(draft, person, Filter(mine=True)))
    place_id = connection.scalars(waiting.order_by(*later_first, columns.position).limit(1)).first()
    return None if place_id is None else str(place_id)


def declined_categories(connection: Connection, person_id: str) -> frozenset[str]:
    """Return the categories that this person passes on."""
    table = tables.passes
    return frozenset(connection.scalars(select(table.c.category).where(table.c.person_id == person_id)))


def decline_categories(connection: Connection, person_id: str, categories: Iterable[str]) -> None:
    """Set the categories that this person declines to exactly `categories`."""
    table = tables.passes
    connection.execute(delete(table).where(table.c.person_id == person_id))
    for category in sorted(set(categories)):
        insert_if_absent(connection, table, {"person_id": person_id, "category": category})


def has_read_warning(connection: Connection, draft: BenchmarkDraft, person_id: str) -> bool:
    """Return whether this person has read the warning about `draft`."""
    table = tables.warnings_read
    reading = select(table.c.at).where(table.c.person_id == person_id, table.c.draft_id == draft.id)
    return connection.execute(reading).first() is not None


def read_warning(connection: Connection, draft: BenchmarkDraft, person_id: str, *, now: datetime) -> None:
    """Record that this person has read the warning; saying so twice is saying it once."""
    insert_if_absent(connection, tables.warnings_read, {"person_id": person_id, "draft_id": draft.id, "at": now})


FOLDS = 5
FEWEST = 20
"""Number of queries from which a classifier is fitted."""


@dataclass(frozen=True)
class SetReport:
    """The results of the checks over a whole set."""

    contexts: int
    without_findings: int
    findings: dict[str, int]
    """Contexts with at least one finding, by check."""
    alike: list[SimilarContext]
    pairs: dict[str, PairComparison]
    """How the two contexts of each query differ, by the query's id, in the draft's order."""
    guessed: float | None
    """Share of contexts whose intent a linear classifier guesses from their words, queries held out; None if too few."""

    def lines(self) -> list[str]:
        """Return the report in lines of text."""
        rows = [f"{self.contexts} contexts, {self.without_findings} without any finding"]
        rows += [f"{count:6}  {check}" for check, count in sorted(self.findings.items(), key=lambda sign: -sign[1])]
        if self.alike:
            rows.append(f"{count_of(len(self.alike), 'context')} too similar to another of the same intent")
        if self.pairs:
            kinds = Counter(pair.kind for pair in self.pairs.values())
            rows.append(f"{count_of(len(self.pairs), 'pair')} of contexts of one query:")
            rows += [f"{kinds[kind]:6}  {kind}" for kind in PairKind if kinds[kind]]
            names = Counter(name for pair in self.pairs.values() for name in pair.differing)
            rows.append("  differ in: " + (", ".join(f"{name} {n}" for name, n in names.items()) or "nothing"))
        if self.guessed is not None:
            rows.append(
                f"a linear classifier guesses the intent of {self.guessed:.0%} from the words alone (chance: 50 %)"
            )
        return rows


def guessed_share(places: Sequence[ReviewPlace]) -> float | None:
    """Return the share of contexts whose intent the word baseline guesses, with the queries of each fold held out."""
    queries, intents = [place.query.id for place in places], np.array([place.intended_safe for place in places])
    if len(set(queries)) < FEWEST or len(np.unique(intents)) < 2:
        return None
    folds = Folds.from_groups(np.unique(queries, return_inverse=True)[1], n=FOLDS)
    texts = [" ".join(place.state.wording.fields().values()) for place in places if place.state.wording is not None]
    return float(np.mean((out_of_fold(texts, intents.astype(float), folds=(folds,)) > 0.5) == intents))


def check_draft(connection: Connection, draft: BenchmarkDraft) -> SetReport:
    """Check all contexts of `draft` that have words by rules, keep the findings, and report on the set.

    Findings of models stay; those of rules are made anew, so that checking twice is checking once.
    """
    places = {
        place.id: place
        for place in all_places(connection, draft.id)
        if place.state.wording is not None and place.state.phase != Phase.WITHDRAWN
    }
    wordings = {key: words for key, place in places.items() if (words := place.state.wording) is not None}
    alike = [
        pair
        for intent in (True, False)
        for pair in find_alike({key: words for key, words in wordings.items() if places[key].intended_safe == intent})
    ]
    by_query = {(place.query.id, place.intended_safe): key for key, place in places.items()}
    findings: dict[str, list[Remark]] = {}
    pairs: dict[str, PairComparison] = {}
    for key, place in places.items():
        findings[key] = check_wording(place.query.text, wordings[key], draft.parameters)
        if (other := by_query.get((place.query.id, not place.intended_safe))) is not None:
            in_pair = remark_on_pair(place, wordings[key], wordings[other], about=other)
            findings[key] += [] if in_pair is None else [in_pair]
            if place.intended_safe:
                pairs[place.query.id] = compare_pair(wordings[key], wordings[other], vary=draft.vary)
        findings[key] += [finding for finding in place.findings if finding.by != "rules"]
    for similar_place in alike:
        message = f"{similar_place.similarity:.0%} of its three-word sequences also stand in the context for “{places[similar_place.second].query.text}”."
        findings[similar_place.first].append(Remark(check="too alike", about=similar_place.second, message=message))
    store_findings(connection, findings)
    checks = Counter(check for remarks in findings.values() for check in {remark.check for remark in remarks})
    return SetReport(
        contexts=len(findings),
        without_findings=sum(not remarks for remarks in findings.values()),
        findings=dict(checks),
        alike=alike,
        pairs=pairs,
        guessed=guessed_share(list(places.values())),
    )
