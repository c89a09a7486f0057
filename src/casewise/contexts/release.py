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

from casewise.contexts.checks import Wording
from casewise.contexts.drafts import Draft, draft_queries, progress
from casewise.contexts.queue import ReviewStatistics, review_statistics
from casewise.contexts.review import Act, Phase
from casewise.contexts.store import Event, ReviewPlace, all_places, events_of
from casewise.database.tables import review as tables
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Context, Item, Provenance, Revision
from casewise.records.context import Origin
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import new_folder, sha256, write_benchmark
from casewise.storage.files import write_text

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
        f"- Changed between generation and approval: {statistics.changed}",
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
    they stand. Unreviewed: one is not written yet; ConfigurationError: there is something at `folder` already, or it
    cannot be written.
    """
    check_complete(connection, draft, unreviewed=options.unreviewed)
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


def writers_of(connection: Connection, draft: Draft) -> list[str]:
    """Return a line for each model that wrote contexts, as the endpoint names it, with its prompt and dates."""
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
    return lines


def as_benchmark(connection: Connection, draft: Draft, *, options: ReleaseOptions, now: datetime) -> Benchmark:
    """The benchmark that `draft` is now: the approved contexts as items, and every earlier wording in its revisions."""
    canary = f"{CANARY}:{uuid.uuid4()}"
    queries = draft_queries(connection, draft)
    pseudonyms: dict[str, str] = {}
    contexts: dict[str, Context] = {}
    items = [Item(query_id=query.id, condition="no_context") for query in queries if options.with_no_context]
    revisions: list[Revision] = []
    for place in all_places(connection, draft.id):
        way = Way(place, events_of(connection, place.id), canary, pseudonyms)
        if options.unreviewed:
            assert way.generated is not None  # as was checked
            items.append(Item.of(way.generated))
            contexts[way.generated.id] = way.generated
            continue
        revisions.extend(way.revisions())
        items.append(Item.of(way.final))
        if options.with_generated and way.generated is not None:
            intent = "safe" if place.intended_safe else "unsafe"
            items.append(Item.of(way.generated, condition=f"{intent}_generated"))
        contexts |= {context.id: context for context in way.contexts()}
    review = "that nobody reviewed" if options.unreviewed else "and signed off by people"
    return Benchmark(
        about=About(
            name=draft.name,
            version=options.version,
            description=f"Queries with contexts generated by a model {review}; released {now:%Y-%m-%d}",
            licence=options.licence,
            terms="TERMS.md",
            gated=options.gated,
            canary=canary,
        ),
        queries=tuple(queries),
        contexts=tuple(contexts.values()),
        items=tuple(items),
        revisions=tuple(revisions),
        taxonomy=draft.taxonomy,
        parameters=draft.parameters,
    )


class Way:
    """The wordings of one place in their order, as contexts and revisions.

    `pseudonyms`: people appear as `person-1`, `person-2`, … in the order in which they first acted.
    """

    def __init__(self, place: ReviewPlace, events: list[Event], canary: str, pseudonyms: dict[str, str]) -> None:
        self.place, self.canary, self.pseudonyms = place, canary, pseudonyms
        self.worded = [event for event in events if event.wording is not None]
        self.programs = {event.by for event in events if event.act == "generate"}
        assert place.state.wording is not None
        self.generated = None
        if place.generated is not None:
            by = next(event.by for event in reversed(self.worded) if event.wording == place.generated)
            self.generated = self.context(place.generated, by=by, origin="generated")
        self.final = self.context(place.state.wording, by="review", origin="revised")

    def pseudonym(self, person_id: str) -> str:
        return self.pseudonyms.setdefault(person_id, f"person-{len(self.pseudonyms) + 1}")

    def context(self, words: Wording, *, by: str, origin: Origin) -> Context:
        """The context of `words`; one that was approved unchanged counts as revised, as it went through review."""
        generated = None if origin == "generated" else self.generated
        return Context(
            query_id=self.place.query.id,
            intended_safe=self.place.intended_safe,
            origin=origin,
            lineage_id=generated.id if generated else "",
            provenance=Provenance(by=by, detail={"canary": self.canary}),
            **words.model_dump(),
        )

    def contexts(self) -> Iterator[Context]:
        """Every wording; of equal ones the last stands: the approved one, else the generated one."""
        for event in self.worded:
            assert event.wording is not None
            program = event.by in self.programs
            by = event.by if program else self.pseudonym(event.by)
            yield self.context(event.wording, by=by, origin="generated" if program else "revised")
        if self.generated is not None:
            yield self.generated
        yield self.final

    def revisions(self) -> Iterator[Revision]:
        """Each wording that somebody put in the place of another."""
        before: Wording | None = None
        for event in self.worded:
            assert event.wording is not None
            if before is not None and event.wording != before and event.by not in self.programs:
                yield Revision(
                    id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.place.id}:{event.seq}")),
                    before_id=self.context(before, by="", origin="revised").id,
                    after_id=self.context(event.wording, by="", origin="revised").id,
                    reviewer=self.pseudonym(event.by),
                    reason=event.reason or event.act,
                    at=event.at,
                )
            if event.act in {"generate", "rewrite"} or event.to_phase in {Phase.AGREED, Phase.RESOLVED}:
                before = event.wording
