"""A draft released as a benchmark: immutable, checksummed, with a data card."""

from __future__ import annotations

import csv
import io
import shlex
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from sqlalchemy import Connection

from casewise.contexts.checks import PairComparison, PairKind, Wording, compare_pair
from casewise.contexts.drafts import INTENTS, BenchmarkDraft, draft_queries
from casewise.contexts.flows import BOTH_WRONG, RIGHT, is_flow, texts_by_condition
from casewise.contexts.generation import REHEARSALS
from casewise.contexts.record import (
    EVENTS,
    ContextRecord,
    DraftAct,
    DraftEvent,
    DraftRecord,
    ReleaseChanges,
    changes_since,
    note_draft_event,
    place_key,
    read_record,
)
from casewise.contexts.review import PROGRAM_ACTS, Act, Author, Phase
from casewise.contexts.statistics import review_statistics
from casewise.contexts.store import Event, Step
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Context, Item, Provenance, Query, Revision
from casewise.records.context import Origin
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import new_folder, sha256, write_benchmark
from casewise.storage.files import filled_template, json_text, json_value, shipped_text, write_text
from casewise.text import count_of

AUTHORS = {
    Author.MODEL: "a model, unchanged",
    Author.PERSON_AFTER_MODEL: "a model, then changed by a person",
    Author.PERSON: "a person",
    Author.UNKNOWN: "unknown; imported and unchanged",
    Author.PERSON_AFTER_UNKNOWN: "unknown; imported, then changed by a person",
}


def data_card(
    benchmark: Benchmark,
    record: DraftRecord,
    *,
    pairs: Sequence[Pair],
    changes: ReleaseChanges | None,
    day: date,
    reviewed: bool = True,
) -> str:
    """Return the data card of a release, in Markdown."""
    conditions = Counter(item.condition for item in benchmark.items)
    values = {
        "about": benchmark.about,
        "benchmark": benchmark,
        "counts": benchmark.counts,
        "categories": len({query.category for query in benchmark.queries}),
        "conditions": sorted(conditions.items()),
        "selections": [event for event in record.events if event.act != DraftAct.RELEASE],
        "withdrawn": record.withdrawn,
        "writers": writers_of(record),
        "authors": AUTHORS,
        "statistics": review_statistics(record),
        "kinds": Counter(pair.comparison.kind for pair in pairs),
        "vary": next((event.detail["vary"] for event in record.events if event.detail.get("vary")), ()),
        "changes": changes,
        "day": day,
        "reviewed": reviewed,
    }
    return filled_template("casewise.contexts", "writing/data_card.md.jinja", values)


# A draft becomes a benchmark: immutable, checksummed, with its revisions, its statistics and a data card.
#
# Contexts in which it is appropriate to answer harmful queries are templates for jailbreaks, so a release is gated by
# default and every context carries a canary: a model that knows this string was trained on it.


CANARY = "casewise-canary"
CHECKSUMS = "SHA256SUMS"
"""File of the checksums of every file, in the form that `sha256sum --check` reads."""


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


def release(
    connection: Connection, draft: BenchmarkDraft, folder: Path, *, options: ReleaseOptions, now: datetime
) -> Path:
    """Write `draft` as a new benchmark folder: all of it or nothing.

    Besides what every benchmark has, it holds the record of the draft (`events.jsonl`), the parameters in which the contexts of
    a pair differ (`pairs.csv`), what it changes of the release before it (`changes.json`), `DATA_CARD.md`, `TERMS.md`,
    `statistics.json`, and the checksums of all files in `SHA256SUMS`. Queries that were withdrawn are left out and named.

    Raises
    ------
    BenchmarkError
        A context is not approved yet; the message counts them by where they stand. Unreviewed: one is not written yet. The two
        contexts of a query say the same.
    ConfigurationError
        There is something at `folder` already, or it cannot be written.
    """
    record = read_record(connection, draft).with_pseudonyms()
    queries = [query for query in draft_queries(connection, draft) if query.id not in record.withdrawn]
    check_complete(draft, record, unreviewed=options.unreviewed)
    pairs = pairs_of(queries, record, vary=draft.vary, unreviewed=options.unreviewed)
    check_pairs(draft, pairs)
    if folder.exists():
        raise ConfigurationError(f"{folder} exists and a benchmark is never overwritten; choose another place")
    benchmark = as_benchmark(draft, queries, record, options=options, now=now)
    final = {
        context.key: context.id_of(words) or ""
        for context in record.standing
        if (words := released_words(context, unreviewed=options.unreviewed)) is not None
    }
    changes = changes_since(record.events, final)
    facts = {
        "version": options.version,
        "title": f"{draft.name} {options.version}",
        "digest": benchmark.digest,
        "unreviewed": options.unreviewed,
        "contexts": final,
    }
    note_draft_event(connection, draft.id, DraftAct.RELEASE, facts, now=now)
    own = DraftEvent(seq=len(record.events) + 1, at=now, act=DraftAct.RELEASE, detail=facts)
    record = replace(record, events=(*record.events, own))
    card = data_card(benchmark, record, pairs=pairs, changes=changes, day=now.date(), reviewed=not options.unreviewed)
    with new_folder(folder) as draft_folder:
        released = write_benchmark(benchmark, draft_folder)
        write_text(released / "DATA_CARD.md", card)
        write_text(released / "TERMS.md", shipped_text("casewise.contexts", "writing/terms.md"))
        write_text(released / "statistics.json", json_text(review_statistics(record).as_json()))
        write_text(released / EVENTS, record.as_jsonl())
        write_text(released / "pairs.csv", pairs_table(pairs))
        if changes is not None:
            write_text(released / "changes.json", json_text(json_value(changes)))
        sums = [f"{sha256(path)}  {path.name}\n" for path in sorted(released.iterdir())]
        write_text(released / CHECKSUMS, "".join(sums))
    return folder


def released_words(context: ContextRecord, *, unreviewed: bool) -> Wording | None:
    """Return the words that a release shows of a context; unreviewed: those that a model wrote."""
    return context.generated if unreviewed else context.state.wording


def check_complete(draft: BenchmarkDraft, record: DraftRecord, *, unreviewed: bool) -> None:
    """Raise BenchmarkError where a context is not approved yet; unreviewed: not generated yet."""
    standing = record.standing
    if not standing:
        raise BenchmarkError(f"{draft.name}: every query is withdrawn, so there is nothing to release")
    if unreviewed:
        if missing := sum(context.generated is None for context in standing):
            raise BenchmarkError(
                f"{draft.name}: {missing} of {len(standing)} contexts are not generated yet; "
                f"generate them: casewise contexts generate {shlex.quote(str(draft.name))} --model MODEL"
            )
        return
    unsigned: Counter[Phase] = Counter(
        context.state.phase for context in standing if context.state.phase != Phase.APPROVED
    )
    if unsigned:
        summary = ", ".join(f"{unsigned[phase]} {phase}" for phase in Phase if unsigned[phase])
        raise BenchmarkError(
            f"{draft.name}: {unsigned.total()} of {len(standing)} contexts are not approved ({summary}); "
            "a release needs every one signed off, or its query withdrawn with a reason (casewise contexts withdraw)"
        )


@dataclass(frozen=True)
class Pair:
    """The two contexts of a query, compared."""

    query: Query
    safe: str
    """The id of the context that is meant to be safe."""
    unsafe: str
    comparison: PairComparison


def pairs_of(
    queries: Sequence[Query], record: DraftRecord, *, vary: Sequence[str] = (), unreviewed: bool = False
) -> list[Pair]:
    """Return the pairs of contexts of `queries` that both have words; unreviewed: words of a model."""
    by_key = {context.key: context for context in record.standing}
    pairs: list[Pair] = []
    for query in queries:
        safe, unsafe = (by_key.get(place_key(query.id, intended_safe=intent)) for intent in (True, False))
        if safe is None or unsafe is None:
            continue
        words, others = (released_words(context, unreviewed=unreviewed) for context in (safe, unsafe))
        if words is not None and others is not None:
            comparison = compare_pair(words, others, vary=vary)
            pairs.append(Pair(query, safe.id_of(words) or "", unsafe.id_of(others) or "", comparison))
    return pairs


def pairs_table(pairs: Sequence[Pair]) -> str:
    """Return the pairs as CSV: a row a query, with the parameters in which its two contexts differ."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["query_id", "query", "safe_context_id", "unsafe_context_id", "kind", "differs_in", "same_in"])
    for pair in pairs:
        differing, same = ("; ".join(names) for names in (pair.comparison.differing, pair.comparison.same))
        rows.writerow([pair.query.id, pair.query.text, pair.safe, pair.unsafe, pair.comparison.kind, differing, same])
    return file.getvalue()


def check_pairs(draft: BenchmarkDraft, pairs: Sequence[Pair]) -> None:
    """Raise BenchmarkError where the safe and the unsafe context of a query say the same."""
    same = [pair.query.text for pair in pairs if pair.comparison.kind == PairKind.IDENTICAL]
    if same:
        raise BenchmarkError(
            f"{draft.name}: {'the safe and the unsafe context of ' + count_of(len(same), 'query')} say the same, the first "
            f"of {same[0]!r}; ask an administrator to restart the review of one of the two, and revise it"
        )


def writers_of(record: DraftRecord) -> list[str]:
    """Return a line for each model that wrote contexts, with its prompt and dates, for each import, and for the people who wrote any."""
    days: dict[str, list[date]] = defaultdict(list)
    written: list[tuple[str, str, date]] = []
    for context in record.standing:
        for event in (step.event for step in context.steps):
            detail = event.detail or {}
            if event.act == Act.GENERATE:
                version, prompt = detail.get("model_version"), detail.get("prompt")
                named = f" ({version})" if version not in (None, event.by) else ""
                days[f"{event.by}{named}" + (f", prompt {prompt}" if prompt else "")].append(event.at.date())
            elif event.act in {Act.IMPORT, Act.ADOPT}:
                author = detail.get("author") or Author.UNKNOWN
                days[f"imported from {detail.get('source')}, author {author}"].append(event.at.date())
            elif event.act == Act.REWRITE:
                written.append((event.by, context.key, event.at.date()))
    lines = [f"{writer}: {count_of(len(on), 'context')}, {period(on)}" for writer, on in sorted(days.items())]
    if written:
        people, places = {by for by, _, _ in written}, {place for _, place, _ in written}
        by = f"{count_of(len(people), 'person')}: {count_of(len(places), 'context')}"
        lines.append(f"{by}, {period([on for _, _, on in written])}")
    return lines


def period(days: Sequence[date]) -> str:
    """Return the first of `days`, and the last where it is another."""
    return f"{min(days)}" if min(days) == max(days) else f"{min(days)} to {max(days)}"


def rehearsal_models(record: DraftRecord) -> list[str]:
    """Return the rehearsal models that wrote contexts of a draft, by name: what they write means nothing."""
    models = {step.event.by for context in record.standing for step in context.steps if step.event.act == Act.GENERATE}
    return sorted(models & REHEARSALS.keys())


def as_benchmark(
    draft: BenchmarkDraft, queries: Sequence[Query], record: DraftRecord, *, options: ReleaseOptions, now: datetime
) -> Benchmark:
    """Return the benchmark that `draft` is now: the approved contexts as items, and every earlier wording in its revisions."""
    canary = f"{CANARY}:{uuid.uuid4()}"
    contexts: dict[str, Context] = {}
    items = [Item(query_id=query.id, condition="no_context") for query in queries if options.with_no_context]
    revisions: list[Revision] = []
    authors: set[Author] = set()
    for context in record.standing:
        way = WordingHistory(context, canary)
        if options.unreviewed:
            assert way.generated is not None  # as was checked
            items.append(Item.from_context(way.generated))
            contexts[way.generated.id] = way.generated
            continue
        revisions.extend(way.revisions())
        authors.add(way.author)
        items.append(Item.from_context(way.final, source_id=context.source_id))
        if options.with_generated and way.generated is not None:
            items.append(
                Item.from_context(way.generated, condition=f"{'safe' if context.intended_safe else 'unsafe'}_generated")
            )
        contexts |= {one.id: one for one in way.contexts()}
    crossed = with_four_texts(draft, queries, record, contexts, items, canary, unreviewed=options.unreviewed)
    made_up = rehearsal_models(record)
    return Benchmark(
        about=About(
            name=draft.name,
            version=options.version,
            description=f"Queries with contexts {written_by(authors, options)}; released {now:%Y-%m-%d}",
            licence=options.licence,
            terms="TERMS.md",
            gated=options.gated,
            canary=canary,
            synthetic=f"contexts that {' and '.join(made_up)} made up at random" if made_up else None,
        ),
        queries=tuple(queries),
        contexts=tuple(contexts.values()),
        items=tuple(crossed),
        revisions=tuple(revisions),
        taxonomy=draft.taxonomy,
        parameters=draft.parameters,
    )


def with_four_texts(
    draft: BenchmarkDraft,
    queries: Sequence[Query],
    record: DraftRecord,
    contexts: dict[str, Context],
    items: list[Item],
    canary: str,
    *,
    unreviewed: bool,
) -> list[Item]:
    """Return the items with the four of each action in place of its two; the contexts that are made of both are added.

    The conditions are those of `casewise.contexts.flows`. An action of which only one text was wanted keeps its item.
    """
    flows = {query.id for query in queries if is_flow(query, draft.parameters)}
    by_text: dict[str, dict[bool, Wording]] = defaultdict(dict)
    for one in record.standing:
        if one.query_id in flows:
            words = released_words(one, unreviewed=unreviewed)
            assert words is not None  # as was checked
            by_text[one.query_id][one.intended_safe] = words
    kept = [item for item in items if len(by_text.get(item.query_id, {})) < len(INTENTS) or item.context_id is None]
    for query_id, texts in by_text.items():
        if len(texts) < len(INTENTS):
            continue
        for condition, words in texts_by_condition(texts[True], texts[False], draft.parameters).items():
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
        return "generated by a model and not reviewed"
    ways = {
        "generated by a model": authors & {Author.MODEL, Author.PERSON_AFTER_MODEL},
        "written by people": authors & {Author.PERSON},
        "imported from elsewhere": authors & {Author.UNKNOWN, Author.PERSON_AFTER_UNKNOWN},
    }
    return f"{' or '.join(way for way, found in ways.items() if found)} and signed off by people"


class WordingHistory:
    """The wordings of one place in their order, as contexts, revisions and events."""

    def __init__(self, record: ContextRecord, canary: str) -> None:
        self.record, self.canary = record, canary
        self.worded = [step for step in record.steps if step.event.wording is not None]
        self.root: Context | None = None
        self.generated = None
        if (by_model := record.generated_step) is not None:
            self.generated = self.root = self.context_of(by_model)
        elif self.worded:
            self.root = self.context_of(self.worded[0])
        self.author = record.state.author_of() or Author.UNKNOWN
        if record.state.wording is not None:
            by = "review" if record.steps[-1].event.act != Act.ADOPT else writer_of(record.steps[-1].event)
            self.final = self.context(record.state.wording, by=by, author=self.author, reviewed=True)

    def context_of(self, step: Step) -> Context:
        """Return the context of the words that were sent with a step."""
        assert step.event.wording is not None
        return self.context(step.event.wording, by=writer_of(step.event), author=step.author or Author.UNKNOWN)

    def context(self, words: Wording, *, by: str, author: Author, reviewed: bool = False) -> Context:
        """Return the context of `words`; one that was approved unchanged counts as revised, as it went through review."""
        origin: Origin = "generated" if author == Author.MODEL and not reviewed else "revised"
        root = None if origin == "generated" else self.root
        return Context(
            query_id=self.record.query_id,
            intended_safe=self.record.intended_safe,
            origin=origin,
            lineage_id=root.id if root else "",
            provenance=Provenance(by=by, detail={"canary": self.canary, "author": str(author)}),
            **words.model_dump(),
        )

    def contexts(self) -> Iterator[Context]:
        """Yield every wording under its first author, the generated and the approved one last: of equal ones the last stands."""
        by_first: dict[str, Context] = {}
        for context in map(self.context_of, self.worded):
            by_first.setdefault(context.id, context)
        yield from by_first.values()
        if self.generated is not None:
            yield self.generated
        yield self.final

    def revisions(self) -> Iterator[Revision]:
        """Yield each wording that a person stood for in the place of the text that all saw then."""
        for step in self.worded:
            event, before = step.event, step.before.wording
            assert event.wording is not None
            if before is None or event.wording == before or event.act in PROGRAM_ACTS or step.taken_back:
                continue
            yield Revision(
                id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.record.key}:{event.seq}")),
                before_id=self.record.id_of(before) or "",
                after_id=self.record.id_of(event.wording) or "",
                reviewer=event.by,
                reason=event.reason or event.act,
                at=event.at,
            )


def writer_of(event: Event) -> str:
    """Return who wrote the words of an event: a person, a model, or the source that they were imported from."""
    return str((event.detail or {}).get("source") or event.by) if event.act in {Act.IMPORT, Act.ADOPT} else event.by
