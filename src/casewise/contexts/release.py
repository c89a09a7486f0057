"""A draft released as a benchmark: immutable, checksummed, with a data card."""

from __future__ import annotations

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from sqlalchemy import Connection, select

from casewise.contexts.checks import Wording, is_identical_pair
from casewise.contexts.drafts import INTENTS, Draft, draft_queries, progress
from casewise.contexts.flows import BOTH_WRONG, RIGHT, cells, is_flow
from casewise.contexts.queue import ReviewStatistics, review_statistics
from casewise.contexts.review import PROGRAM_ACTS, Act, Author, Phase
from casewise.contexts.store import Event, ReviewPlace, Step, all_places, events_of, steps_of
from casewise.database.tables import review as tables
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Context, Item, Provenance, Query, Revision
from casewise.records.context import Origin
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import new_folder, sha256, write_benchmark
from casewise.storage.files import write_text
from casewise.text import count_of

# What a release says of itself in words: the data card and the terms.


TERMS = """# Terms of use

This benchmark holds harmful requests, and descriptions of circumstances in which answering them is appropriate. Such
descriptions can be misused to make a chatbot answer what it should not. Whoever uses it agrees:

1. to use it only to measure, study or improve how systems decide what to answer;
2. not to train a model on it, and to keep it out of training data (the canary string helps to filter it);
3. not to put its queries or contexts, whole or in part, where anybody can read them without agreeing to these terms,
   beyond a few examples in a scientific publication;
4. to pass it on only together with these terms;
5. not to try to find out who the people behind the revisions are.

The owners of the queries may have terms of their own; they go before these.
"""


REVIEWED = (
    "Two reviewers read each one independently and revised it; where they differed they",
    "discussed it until both accepted one wording. A third person who had written none of it approved or returned",
    "it, and both reviewers checked it once more. People appear under pseudonyms.",
    "",
)
AUTHORS = {
    Author.MODEL: "a model, unchanged",
    Author.PERSON_AFTER_MODEL: "a model, then changed by a person",
    Author.PERSON: "a person",
}
UNREVIEWED = ("Nobody reviewed or changed them. They serve studies of the effect of review.", "")


def data_card(
    benchmark: Benchmark, statistics: ReviewStatistics, *, writers: list[str], now: datetime, reviewed: bool = True
) -> str:
    """The data card of a release, in Markdown."""
    about, counts = benchmark.about, benchmark.counts
    conditions = Counter(item.condition for item in benchmark.items)
    gated = "yes: give it only to people who accept TERMS.md" if about.gated else "no"
    beyond_chance = "" if statistics.pi is None else f"; Scott's pi {statistics.pi:z.2f}"
    own_words = [f"- One reviewer had written the words anew: {statistics.own_words}"]
    review = [
        "## How the review went",
        f"- Both reviewers submitted the same words: {statistics.agreed_at_once}",
        f"- Both, or neither, saw a need to change something: {statistics.same_need}{beyond_chance}",
        *(own_words if statistics.own_words.count else []),
        f"- Changed between generation and approval, of those that a model wrote: {statistics.changed}",
        f"- Returned by an expert at least once: {statistics.returned}",
        "",
        "In brackets: 95 % Wilson intervals.",
        "",
    ]
    rows = [
        f"# Data card: {about.name} {about.version}",
        "",
        f"Released {now:%Y-%m-%d}. Licence: {about.licence or 'none stated'}. Gated: {gated}.",
        f"Canary: `{about.canary}` (it is in this file, in the manifest and in every context).",
        "",
        "## What it is",
        f"{counts.queries} queries in {len({q.category for q in benchmark.queries})} categories of {benchmark.taxonomy.name},",
        f"{counts.items} items ({', '.join(f'{name}: {n}' for name, n in sorted(conditions.items()))}),",
        f"{counts.contexts} contexts, intermediate wordings included, {counts.revisions} revisions.",
        f"Contexts state the parameters of {benchmark.parameters.name}: {', '.join(benchmark.parameters.names)}.",
        "It is meant for measuring how well a judge decides in context. It is not meant for training.",
        "A context's intent is its author's and is not a label: labels come from people's ratings.",
        "",
        "## How it was made",
        "The contexts were written by:",
        "",
        *writers,
        "",
        *(() if not reviewed else ("Who wrote the words that were approved:", "")),
        *(f"- {AUTHORS[author]}: {count}" for author, count in statistics.authors.items() if reviewed),
        *(("",) if reviewed else ()),
        *(REVIEWED if reviewed else UNREVIEWED),
        *(review if reviewed else ()),
        "## Risks",
        "Contexts in which it is appropriate to answer a harmful query can serve as templates for jailbreaks; see TERMS.md.",
        "The circumstances are invented, and say nothing about how often they occur.",
        "",
    ]
    return "\n".join(rows)


# A draft becomes a benchmark: immutable, checksummed, with its revisions, its statistics and a data card.
#
# Contexts in which it is appropriate to answer harmful queries are templates for jailbreaks, so a release is gated by
# default and every context carries a canary: whoever finds that string in a model knows what it was trained on.


CANARY = "casewise-canary"
CHECKSUMS = "SHA256SUMS"
"""Of every file, in the form that `sha256sum --check` reads."""


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions:
    """The description of a release, and its contents besides the approved contexts."""

    version: str
    """The release's version, such as 1.0.0."""
    licence: str | None = None
    """Licence of the release."""
    gated: Annotated[bool, Parameter(negative="--open")] = True
    """Require people to accept terms before they get the benchmark; --open requires nothing."""
    with_no_context: Annotated[bool, Parameter(name="--no-context")] = False
    """Add an item without context for each query."""
    with_generated: Annotated[bool, Parameter(name="--generated")] = False
    """Add items with the generated form of contexts that the review changed."""
    # A context that was approved unchanged is an item of both conditions, so that a release can hold all five of the paper.
    unreviewed: bool = False
    """Release the generated contexts only; no approval is needed."""


def release(connection: Connection, draft: Draft, folder: Path, *, options: ReleaseOptions, now: datetime) -> Path:
    """Write `draft` as a new benchmark folder: all of it or nothing.

    Besides what every benchmark has, it holds `DATA_CARD.md`, `TERMS.md` and `statistics.json`, and the checksums of
    all files in `SHA256SUMS`. Raises BenchmarkError: a context is not approved yet; the message counts them by where
    they stand. Unreviewed: one is not written yet. The two contexts of a query say the same; ConfigurationError: there is something at `folder` already, or it
    cannot be written.
    """
    check_complete(connection, draft, unreviewed=options.unreviewed)
    check_pairs(connection, draft, unreviewed=options.unreviewed)
    if folder.exists():
        raise ConfigurationError(f"{folder} exists and a benchmark is never overwritten; choose another place")
    benchmark = as_benchmark(connection, draft, options=options, now=now)
    statistics, writers = review_statistics(connection, draft), writers_of(connection, draft)
    card = data_card(benchmark, statistics, writers=writers, now=now, reviewed=not options.unreviewed)
    with new_folder(folder) as draft_folder:
        released = write_benchmark(benchmark, draft_folder)
        write_text(released / "DATA_CARD.md", card)
        write_text(released / "TERMS.md", TERMS)
        write_text(released / "statistics.json", json.dumps(statistics.as_json(), indent=1) + "\n")
        sums = [f"{sha256(path)}  {path.name}\n" for path in sorted(released.iterdir())]
        write_text(released / CHECKSUMS, "".join(sums))
    return folder


def check_complete(connection: Connection, draft: Draft, *, unreviewed: bool) -> None:
    """Raise BenchmarkError where a context is not approved yet; unreviewed: not generated yet."""
    if unreviewed:
        places = all_places(connection, draft.id)
        if missing := sum(place.generated is None for place in places):
            raise BenchmarkError(
                f"{draft.name}: {missing} of {len(places)} contexts are not generated yet; "
                f"generate them: casewise contexts generate {draft.name} --model MODEL"
            )
        return
    counts = progress(connection, draft)
    unsigned = {phase: count for phase, count in counts.items() if count and phase != Phase.APPROVED}
    if unsigned:
        summary = ", ".join(f"{count} {phase}" for phase, count in unsigned.items())
        raise BenchmarkError(
            f"{draft.name}: {sum(unsigned.values())} of {sum(counts.values())} contexts are not approved ({summary}); "
            "a release needs every one signed off"
        )


def check_pairs(connection: Connection, draft: Draft, *, unreviewed: bool) -> None:
    """Raise BenchmarkError where the safe and the unsafe context of a query say the same."""
    wordings: dict[str, list[Wording]] = defaultdict(list)
    queries: dict[str, str] = {}
    for place in all_places(connection, draft.id):
        words = place.generated if unreviewed else place.state.wording
        if words is not None:
            wordings[place.query.id].append(words)
            queries[place.query.id] = place.query.text
    same = [queries[key] for key, pair in wordings.items() if len(pair) == 2 and is_identical_pair(*pair)]
    if same:
        raise BenchmarkError(
            f"{draft.name}: {'the safe and the unsafe context of ' + count_of(len(same), 'query')} say the same, the first "
            f"of {same[0]!r}; have an administrator restart the review of one of each two, and revise it"
        )


def writers_of(connection: Connection, draft: Draft) -> list[str]:
    """Return a line for each model that wrote contexts, with its prompt and dates, and one for the people who wrote any."""
    events, contexts = tables.events.c, tables.contexts.c
    version, prompt = (events.detail[name].as_string() for name in ("model_version", "prompt"))
    rows = connection.execute(
        select(events.by, version, prompt, events.at)
        .select_from(tables.events.join(tables.contexts, contexts.id == events.context_id))
        .where(contexts.draft_id == draft.id, events.act == Act.GENERATE)
    )
    days: dict[tuple[str, str | None, str | None], list[date]] = defaultdict(list)
    for by, name, words, at in rows:
        days[by, name, words].append(at.date())
    lines = []
    for (model, name, words), on in sorted(days.items(), key=str):
        named = f" ({name})" if name not in (None, model) else ""
        asked = f", prompt {words}" if words else ""
        until = f" to {max(on)}" if max(on) != min(on) else ""
        lines.append(f"- {model}{named}{asked}: {len(on)} contexts, {min(on)}{until}")
    written = connection.execute(
        select(events.context_id, events.by, events.at)
        .select_from(tables.events.join(tables.contexts, contexts.id == events.context_id))
        .where(contexts.draft_id == draft.id, events.act == Act.REWRITE)
    ).all()
    if written:
        places, people, on = (
            {row[0] for row in written},
            {row[1] for row in written},
            [row[2].date() for row in written],
        )
        until = f" to {max(on)}" if max(on) != min(on) else ""
        lines.append(f"- {count_of(len(people), 'person')}: {count_of(len(places), 'context')}, {min(on)}{until}")
    return lines


def writing_models(connection: Connection, draft: Draft) -> set[str]:
    """Return the models that wrote contexts of `draft`, by name."""
    events, contexts = tables.events.c, tables.contexts.c
    models = select(events.by).join(tables.contexts, contexts.id == events.context_id)
    return set(connection.scalars(models.where(contexts.draft_id == draft.id, events.act == Act.GENERATE)))


def as_benchmark(connection: Connection, draft: Draft, *, options: ReleaseOptions, now: datetime) -> Benchmark:
    """The benchmark that `draft` is now: the approved contexts as items, and every earlier wording in its revisions."""
    canary = f"{CANARY}:{uuid.uuid4()}"
    queries = draft_queries(connection, draft)
    pseudonyms: dict[str, str] = {}
    contexts: dict[str, Context] = {}
    items = [Item(query_id=query.id, condition="no_context") for query in queries if options.with_no_context]
    revisions: list[Revision] = []
    authors: set[Author] = set()
    for place in all_places(connection, draft.id):
        way = Way(place, steps_of(events_of(connection, place.id)), canary, pseudonyms)
        if options.unreviewed:
            assert way.generated is not None  # as was checked
            items.append(Item.of(way.generated))
            contexts[way.generated.id] = way.generated
            continue
        revisions.extend(way.revisions())
        authors.add(place.state.author_of(place.generated))
        items.append(Item.of(way.final))
        if options.with_generated and way.generated is not None:
            intent = "safe" if place.intended_safe else "unsafe"
            items.append(Item.of(way.generated, condition=f"{intent}_generated"))
        contexts |= {context.id: context for context in way.contexts()}
    crossed = as_four(connection, draft, {query.id: query for query in queries}, contexts, items, canary)
    return Benchmark(
        about=About(
            name=draft.name,
            version=options.version,
            description=f"Queries with contexts {written_by(authors, options)}; released {now:%Y-%m-%d}",
            licence=options.licence,
            terms="TERMS.md",
            gated=options.gated,
            canary=canary,
        ),
        queries=tuple(queries),
        contexts=tuple(contexts.values()),
        items=tuple(crossed),
        revisions=tuple(revisions),
        taxonomy=draft.taxonomy,
        parameters=draft.parameters,
    )


def as_four(
    connection: Connection,
    draft: Draft,
    queries: dict[str, Query],
    contexts: dict[str, Context],
    items: list[Item],
    canary: str,
) -> list[Item]:
    """Return the items with the four of each action in place of its two; the contexts that are made of both are added.

    The conditions are those of `casewise.contexts.flows`. An action of which only one text was wanted keeps its item.
    """
    by_text: dict[str, dict[bool, Wording]] = defaultdict(dict)
    for place in all_places(connection, draft.id):
        if is_flow(queries[place.query.id], draft.parameters):
            words = place.state.wording or place.generated
            assert words is not None  # as was checked
            by_text[place.query.id][place.intended_safe] = words
    kept = [item for item in items if len(by_text.get(item.query_id, {})) < len(INTENTS) or item.context_id is None]
    for query_id, texts in by_text.items():
        if len(texts) < len(INTENTS):
            continue
        for condition, words in cells(texts[True], texts[False], draft.parameters).items():
            context = Context(
                query_id=query_id,
                intended_safe=condition == RIGHT,
                origin="revised",
                provenance=Provenance(by="casewise", detail={"canary": canary, "made_of": "both texts"}),
                **words.model_dump(),
            )
            context = contexts.setdefault(context.id, context)
            whole = condition in (RIGHT, BOTH_WRONG)
            pair = {"pair_id": context.pair_id} if whole else {}
            kept.append(Item(query_id=query_id, context_id=context.id, condition=condition, **pair))
    return kept


def written_by(authors: set[Author], options: ReleaseOptions) -> str:
    """Return who wrote the contexts of a release and who reviewed them, in words."""
    if options.unreviewed:
        return "generated by a model that nobody reviewed"
    models, people = authors - {Author.PERSON}, authors & {Author.PERSON}
    by = (
        "written by people"
        if not models
        else "generated by a model or written by people"
        if people
        else "generated by a model"
    )
    return f"{by} and signed off by people"


class Way:
    """The wordings of one place in their order, as contexts, revisions and events.

    `pseudonyms`: people appear as `person-1`, `person-2`, … in the order in which they first acted.
    """

    def __init__(self, place: ReviewPlace, steps: list[Step], canary: str, pseudonyms: dict[str, str]) -> None:
        self.place, self.steps, self.canary, self.pseudonyms = place, steps, canary, pseudonyms
        self.worded = [step for step in steps if step.event.wording is not None]
        self.root: Context | None = None
        self.generated = None
        if place.generated is not None:
            by = next(step.event.by for step in reversed(self.worded) if step.event.wording == place.generated)
            self.generated = self.root = self.context(place.generated, by=by, author=Author.MODEL)
        elif self.worded:
            first = self.worded[0].event
            assert first.wording is not None
            self.root = self.context(first.wording, by=self.pseudonym(first.by), author=Author.PERSON)
        assert place.state.wording is not None
        author = place.state.author_of(place.generated)
        self.final = self.context(place.state.wording, by="review", author=author, reviewed=True)

    def pseudonym(self, person_id: str) -> str:
        return self.pseudonyms.setdefault(person_id, f"person-{len(self.pseudonyms) + 1}")

    def actor(self, event: Event) -> str:
        """A program under its own name, a person under a pseudonym."""
        return event.by if event.act in PROGRAM_ACTS else self.pseudonym(event.by)

    def context(self, words: Wording, *, by: str, author: Author, reviewed: bool = False) -> Context:
        """The context of `words`; one that was approved unchanged counts as revised, as it went through review."""
        origin: Origin = "generated" if author == Author.MODEL and not reviewed else "revised"
        root = None if origin == "generated" else self.root
        return Context(
            query_id=self.place.query.id,
            intended_safe=self.place.intended_safe,
            origin=origin,
            lineage_id=root.id if root else "",
            provenance=Provenance(by=by, detail={"canary": self.canary, "author": str(author)}),
            **words.model_dump(),
        )

    def id_of(self, words: Wording) -> str:
        """The id of the context that states `words`, whoever wrote it."""
        return self.context(words, by="", author=Author.PERSON).id

    def contexts(self) -> Iterator[Context]:
        """Every wording under its first author, the generated and the approved one last: of equal ones the last stands."""
        by_first: dict[str, Context] = {}
        for step in self.worded:
            assert step.event.wording is not None
            context = self.context(step.event.wording, by=self.actor(step.event), author=step.author)
            by_first.setdefault(context.id, context)
        yield from by_first.values()
        if self.generated is not None:
            yield self.generated
        yield self.final

    def revisions(self) -> Iterator[Revision]:
        """Each wording that a person stood for in the place of the text that all saw then."""
        for step in self.worded:
            event, before = step.event, step.before.wording
            assert event.wording is not None
            if before is None or event.wording == before or event.act in PROGRAM_ACTS or step.taken_back:
                continue
            yield Revision(
                id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.place.id}:{event.seq}")),
                before_id=self.id_of(before),
                after_id=self.id_of(event.wording),
                reviewer=self.pseudonym(event.by),
                reason=event.reason or event.act,
                at=event.at,
            )
