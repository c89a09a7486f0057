"""The review queue, its statistics, and the report on a whole set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, false, func, or_, select, true, update

from casewise.contexts.checks import Alike, Remark, Wording, check_wording, find_alike, pair_remark
from casewise.contexts.drafts import Draft, progress
from casewise.contexts.flows import flow_remark, is_flow
from casewise.contexts.review import Act, Author, Phase
from casewise.contexts.store import ReviewPlace, all_places, enough_others
from casewise.database.staff import Person, Role
from casewise.database.tables import review as tables
from casewise.database.tables.metadata import insert_if_absent
from casewise.stats import wilson

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
    shown = (columns.id, columns.position, columns.category, columns.intended_safe, columns.phase, columns.findings)
    rows = connection.execute(
        select(*shown, queries.query)
        .join(tables.queries, and_(queries.draft_id == columns.draft_id, queries.query_id == columns.query_id))
        .where(conditions(draft, person, chosen))
        .order_by(columns.position)
        .limit(PAGE + 1)
    ).mappings()
    listed = [
        Listed(**row | {"query": row["query"]["text"], "phase": Phase(row["phase"]), "findings": len(row["findings"])})
        for row in map(dict, rows)
    ]
    return QueuePage(listed[:PAGE], listed[PAGE - 1].position if len(listed) > PAGE else None)


def count_waiting(connection: Connection, draft: Draft, person: Person) -> int:
    """Return how many contexts of `draft` wait for `person`."""
    waiting = select(func.count()).select_from(tables.contexts).where(conditions(draft, person, Filter(mine=True)))
    return int(connection.execute(waiting).scalar_one())


def next_for(connection: Connection, draft: Draft, person: Person, *, after: int | None = None) -> str | None:
    """The id of the next context that waits for `person`, beginning after a position and then from the start."""
    columns = tables.contexts.c
    later_first = [] if after is None else [columns.position <= after]
    waiting = select(columns.id).where(conditions(draft, person, Filter(mine=True)))
    place_id = connection.scalars(waiting.order_by(*later_first, columns.position).limit(1)).first()
    return None if place_id is None else str(place_id)


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
    """Return whether this person has read the warning about `draft`."""
    table = tables.warnings_read
    reading = select(table.c.at).where(table.c.person_id == person_id, table.c.draft_id == draft.id)
    return connection.execute(reading).first() is not None


def read_warning(connection: Connection, draft: Draft, person_id: str, *, now: datetime) -> None:
    """Note that this person has read the warning; saying so twice is saying it once."""
    insert_if_absent(connection, tables.warnings_read, {"person_id": person_id, "draft_id": draft.id, "at": now})


# How a draft's review went: agreement between reviewers, the share changed, who did how much.


@dataclass(frozen=True)
class Share:
    """`count` of `of`, with a 95 % Wilson score interval; without a value where there is nothing to count."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The limits of the interval."""
        limits = wilson(self.count, self.of) if self.of else None
        return (float(limits.low), float(limits.high)) if limits else None

    def as_json(self) -> dict[str, Any]:
        """The share as JSON values."""
        low, high = self.interval or (None, None)
        return {"count": self.count, "of": self.of, "low": low, "high": high, "value": self.value}

    def __str__(self) -> str:
        if self.interval is None:
            return "none yet"
        low, high = self.interval
        return f"{self.count} of {self.of}: {100 * self.count / self.of:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


@dataclass(frozen=True)
class Work:
    """The amount of work of one person; approvals and returns count contexts, each once."""

    person_id: str
    reviews: int
    revised: int
    approvals: int
    returns: int


@dataclass(frozen=True)
class ReviewStatistics:
    """The review of a draft in numbers. Each context counts with its latest round of reviews."""

    progress: dict[Phase, int]
    agreed_at_once: Share
    """Contexts on which both reviewers submitted the same words, of those that both reviewed."""
    same_need: Share
    """Contexts of which both reviewers, or neither, changed something."""
    pi: float | None
    """Scott's pi of "needs a change", the two reviewers being exchangeable; None where all or none do."""
    changed: Share
    """Contexts whose words now differ from those that a model wrote, of those of a model that are agreed on."""
    authors: dict[Author, int]
    """Contexts that are agreed on, by the kind of author of their words."""
    returned: Share
    """Contexts that an expert returned at least once, of those that an expert decided on."""
    own_words: Share
    """Contexts of which one reviewer had written the words anew, of those that both reviewed."""
    work: list[Work]

    def as_json(self) -> dict[str, Any]:
        """The numbers as JSON values, each share with its value; who did how much is left out."""
        values = {name: value for name, value in vars(self).items() if name != "work"}
        return {name: value.as_json() if isinstance(value, Share) else value for name, value in values.items()}

    def lines(self) -> list[str]:
        """Return the number of contexts in each phase, and the agreement of the reviewers, in lines of text."""
        stands = [f"{count:6}  {phase}" for phase, count in self.progress.items() if count]
        if not self.agreed_at_once.of:
            return stands
        return [
            *stands,
            f"both reviewers submitted the same words: {self.agreed_at_once}",
            f"both, or neither, saw a need to change: {self.same_need}",
            f"changed since a model wrote them: {self.changed}",
            "written by: " + ", ".join(f"{count} {author}" for author, count in self.authors.items()),
            f"returned by an expert: {self.returned}",
        ]


def review_statistics(connection: Connection, draft: Draft) -> ReviewStatistics:
    """Return the numbers of `draft`, from its events."""
    tally = read_events(connection, draft)
    pairs = [pair for pair in tally.rounds.values() if len(pair) == 2]
    same_need = Share(sum(pair[0].changed == pair[1].changed for pair in pairs), len(pairs))
    pi = None  # (observed - expected) / (1 - expected), where a pair agrees by chance as Scott (1955) expects
    if pairs:
        change = sum(submitted.changed for pair in pairs for submitted in pair) / (2 * len(pairs))
        expected = change**2 + (1 - change) ** 2
        pi = None if expected == 1 else (same_need.count / same_need.of - expected) / (1 - expected)
    agreed_on = [Phase.AGREED, Phase.RESOLVED, Phase.EXPERT_REVIEW, Phase.FINAL_CHECK, Phase.APPROVED]
    agreed = [place for place in all_places(connection, draft.id) if place.state.phase in agreed_on]
    authors = Counter(place.state.author_of(place.generated) for place in agreed)
    return ReviewStatistics(
        progress=progress(connection, draft),
        agreed_at_once=Share(sum(pair[1].agreed for pair in pairs), len(pairs)),
        same_need=same_need,
        pi=pi,
        changed=Share(authors[Author.PERSON_AFTER_MODEL], len(agreed) - authors[Author.PERSON]),
        authors={author: authors[author] for author in Author},
        returned=Share(sum(Act.RETURN in acts for acts in tally.decided.values()), len(tally.decided)),
        own_words=Share(sum(pair[0].own or pair[1].own for pair in pairs), len(pairs)),
        work=[
            Work(reviewer, acts[Act.SUBMIT], acts["revised"], acts[Act.APPROVE], acts[Act.RETURN])
            for reviewer, acts in sorted(tally.work.items())
            if acts
        ],
    )


class Submission(NamedTuple):
    """One reviewer's submission: whether it changed anything, was of words of their own, and made an agreement."""

    changed: bool
    own: bool
    agreed: bool


class ReviewTally(NamedTuple):
    """The latest round of submissions of each context, what each person did, and what experts decided."""

    rounds: dict[str, list[Submission]]
    work: dict[str, Counter[str]]
    decided: dict[str, set[Act]]


def read_events(connection: Connection, draft: Draft) -> ReviewTally:
    events, contexts = tables.events, tables.contexts
    rows = connection.execute(
        select(events.c.context_id, events.c.act, events.c.by, events.c.to_phase, events.c.detail)
        .join(contexts, contexts.c.id == events.c.context_id)
        .where(contexts.c.draft_id == draft.id)
        .order_by(events.c.context_id, events.c.seq)
    )
    tally = ReviewTally(defaultdict(list), defaultdict(Counter), defaultdict(set))
    counted: set[tuple[str, str, str]] = set()
    for context_id, act, by, to_phase, detail in rows:
        submissions, work = tally.rounds[context_id], tally.work[by]
        if act in {Act.GENERATE, Act.REWRITE, Act.RESTART}:
            submissions.clear()
        elif act == Act.SUBMIT:
            changed, own = bool((detail or {}).get("changed")), "own_words" in (detail or {})
            submissions.append(Submission(changed, own, to_phase == Phase.AGREED))
            work.update({"revised": changed, Act.SUBMIT: 1})
        elif act == Act.TAKE_BACK:
            work.subtract({"revised": submissions.pop().changed, Act.SUBMIT: 1})
        elif act in {Act.APPROVE, Act.RETURN}:
            tally.decided[context_id].add(Act(act))
            work[act] += (context_id, by, act) not in counted  # one that came back is one context still
            counted.add((context_id, by, act))
    return tally


# Checking a whole draft: findings go to where reviewers see them, and a report says what single contexts do not
# show.


FOLDS = 5
FEWEST = 20
"""Queries from which a classifier is worth asking."""


@dataclass(frozen=True)
class SetReport:
    """The results of the checks over a whole set."""

    contexts: int
    without_findings: int
    findings: dict[str, int]
    """Contexts with at least one finding, by check."""
    alike: list[Alike]
    guessed: float | None
    """Share of contexts whose intent a linear classifier guesses from their words, queries held out; None if too few."""

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report in lines of text."""
        rows = [f"{self.contexts} contexts, {self.without_findings} without any finding"]
        rows += [f"{count:6}  {check}" for check, count in sorted(self.findings.items(), key=lambda sign: -sign[1])]
        if self.alike:
            rows.append(f"{len(self.alike)} contexts are too similar to another of the same intent")
        if self.guessed is not None:
            rows.append(
                f"a linear classifier guesses the intent of {self.guessed:.0%} from the words alone (chance: 50 %)"
            )
        return rows


def guessed_share(places: Sequence[ReviewPlace]) -> float | None:
    """Accuracy of a logistic regression on TF-IDF words, with the queries of each fold held out."""
    queries, intents = [place.query.id for place in places], [place.intended_safe for place in places]
    if len(set(queries)) < FEWEST or len(set(intents)) < 2:
        return None
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=1000))
    texts = [" ".join(place.state.wording.fields().values()) for place in places if place.state.wording is not None]
    guesses = cross_val_predict(model, texts, intents, groups=queries, cv=GroupKFold(FOLDS))
    return float(sum(guess == intent for guess, intent in zip(guesses, intents, strict=True)) / len(intents))


def remark_on_pair(place: ReviewPlace, words: Wording, other: Wording) -> Remark | None:
    """Find what is wrong between the two contexts of a query: those of an action differ in little by design."""
    if is_flow(place.query, place.parameters):
        return flow_remark(words, other, place.parameters)
    return pair_remark(words, other)


def check_draft(connection: Connection, draft: Draft) -> SetReport:
    """Check all contexts of `draft` that have words by rules, keep the findings, and report on the set.

    Findings of models stay; those of rules are made anew, so that checking twice is checking once.
    """
    places = {place.id: place for place in all_places(connection, draft.id)}
    wordings = {key: words for key, place in places.items() if (words := place.state.wording) is not None}
    alike = [
        pair
        for intent in (True, False)
        for pair in find_alike({key: words for key, words in wordings.items() if places[key].intended_safe == intent})
    ]
    too_alike = {
        pair.first: Remark(
            check="too alike",
            message=f"{pair.similarity:.0%} of its word triples are also in the context for “{places[pair.second].query.text}”.",
        )
        for pair in alike
    }
    by_query = {(places[key].query.id, places[key].intended_safe): words for key, words in wordings.items()}
    in_pairs = {
        key: [remark]
        for key, words in wordings.items()
        if (other := by_query.get((places[key].query.id, not places[key].intended_safe))) is not None
        and (remark := remark_on_pair(places[key], words, other)) is not None
    }
    findings = {
        key: [
            *check_wording(places[key].query.text, words, draft.parameters),
            *in_pairs.get(key, []),
            *([too_alike[key]] if key in too_alike else []),
            *(finding for finding in places[key].findings if finding.by != "rules"),
        ]
        for key, words in wordings.items()
    }
    keep_findings(connection, findings)
    checks = Counter(check for remarks in findings.values() for check in {remark.check for remark in remarks})
    return SetReport(
        contexts=len(findings),
        without_findings=sum(not remarks for remarks in findings.values()),
        findings=dict(checks),
        alike=alike,
        guessed=guessed_share([places[key] for key in wordings]),
    )


def keep_findings(connection: Connection, by_place: Mapping[str, list[Remark]]) -> None:
    """Put findings where the pages show them. They are no part of the review's history: people's steps are."""
    table = tables.contexts
    for place_id, findings in by_place.items():
        rows = [finding.as_json() for finding in findings]
        connection.execute(update(table).where(table.c.id == place_id).values(findings=rows))
