"""The record of a draft: every step from the selection of its queries to its releases, as the database and a release hold it.

A release carries it as `events.jsonl`. The states of all contexts, the authors of their words, the revisions, the statistics and
the data card follow from it and from nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, func, insert, select

from casewise.contexts.checks import Wording
from casewise.contexts.drafts import BenchmarkDraft
from casewise.contexts.review import MISSING, PROGRAM_ACTS, Act, Author, Phase, State
from casewise.contexts.store import OWNER, Event, Step, steps_of
from casewise.database.tables import review as tables
from casewise.records import Context, Record
from casewise.storage.files import numbered_lines

IMPORTER = "casewise"
"""The pseudonym of the author who imports words from tables and releases."""

EVENTS = "events.jsonl"
"""The file of a release that holds its record."""


class DraftAct(StrEnum):
    """A step of a draft as a whole."""

    SELECT = "select"
    ADD = "add"
    """Further queries, with or without contexts."""
    RELEASE = "release"


class DraftEvent(Record):
    """One step of a draft as a whole, with its facts: the source and the seed of a selection, the version of a release."""

    seq: int
    at: datetime
    act: DraftAct
    detail: dict[str, Any]


@dataclass(frozen=True)
class ContextRecord:
    """The steps of one context, oldest first, with the states that they led from and to."""

    query_id: str
    intended_safe: bool
    steps: tuple[Step, ...]

    @property
    def key(self) -> str:
        """The query and the intent, as releases name the place."""
        return place_key(self.query_id, intended_safe=self.intended_safe)

    @property
    def state(self) -> State:
        """The state that the steps led to."""
        return self.steps[-1].after if self.steps else MISSING

    @property
    def generated_step(self) -> Step | None:
        """The step with the text that a model wrote last."""
        by_model = (
            step
            for step in reversed(self.steps)
            if step.event.act in PROGRAM_ACTS and step.event.wording is not None and step.author == Author.MODEL
        )
        return next(by_model, None)

    @property
    def generated(self) -> Wording | None:
        """The text that a model wrote last, before a revision."""
        return self.generated_step.event.wording if self.generated_step else None

    @property
    def source_id(self) -> str | None:
        """The id that the file gives it from which its words were imported."""
        return next((step.event.source_id for step in self.steps if step.event.source_id), None)

    @property
    def is_withdrawn(self) -> bool:
        return self.state.phase == Phase.WITHDRAWN

    def id_of(self, words: Wording | None) -> str | None:
        """Return the id of the context that states `words` here, whatever its author."""
        if words is None:
            return None
        context = Context(
            query_id=self.query_id, intended_safe=self.intended_safe, origin="imported", **words.model_dump()
        )
        return context.id


def place_key(query_id: str, *, intended_safe: bool) -> str:
    """Return the name of the place of a context: its query and its intent."""
    return f"{query_id} {'safe' if intended_safe else 'unsafe'}"


class EventLine(Record):
    """A line of `events.jsonl`: one step of the draft, or of one of its contexts.

    The steps of a query that was withdrawn state no words: what was withdrawn is not published.
    """

    number: int
    at: datetime
    act: str
    by: str
    """A person under a pseudonym, a model or a program by its name, or `owner` at the command line."""
    actor: Literal["person", "model", "program"]
    query_id: str | None = None
    intended_safe: bool | None = None
    seq: int | None = None
    """The number of the step within its context."""
    from_phase: Phase | None = None
    to_phase: Phase | None = None
    wording: Wording | None = None
    """The words that were sent with the step."""
    wording_id: str | None = None
    author: Author | None = None
    """The kind of author of these words, or of the text that all see after the step."""
    before_id: str | None = None
    """The context, in `contexts.jsonl`, with the text that all saw before the step."""
    after_id: str | None = None
    taken_back: bool | None = None
    """True of a submission that its author took back."""
    reason: str | None = None
    detail: dict[str, Any] | None = None


PUBLISHED = (
    "model_version", "prompt", "temperature", "attempt", "ignored", "input_tokens", "output_tokens", "cost_usd",
    "author", "source", "source_id",
)  # fmt: skip
"""The published parts of an event's detail: nothing of addresses, machines and raw replies."""


@dataclass(frozen=True)
class DraftRecord:
    """The record of a draft. People stand in it by their ids; `with_pseudonyms` replaces these."""

    events: tuple[DraftEvent, ...]
    contexts: tuple[ContextRecord, ...]
    """Contexts in the draft's order."""

    @cached_property
    def standing(self) -> tuple[ContextRecord, ...]:
        """The contexts whose query was not withdrawn."""
        return tuple(context for context in self.contexts if not context.is_withdrawn)

    @cached_property
    def in_order(self) -> list[tuple[DraftEvent | ContextRecord, Step | None]]:
        """All steps in the order of time. Those of one context keep their order, whatever a clock said."""
        rows: list[tuple[datetime, int, int, DraftEvent | ContextRecord, Step | None]] = [
            (event.at, -1, event.seq, event, None) for event in self.events
        ]
        for place, context in enumerate(self.contexts):
            times = accumulate((step.event.at for step in context.steps), max)
            rows += [(at, place, step.event.seq, context, step) for at, step in zip(times, context.steps, strict=True)]
        rows.sort(key=lambda row: row[:3])
        return [(of, step) for *_, of, step in rows]

    @property
    def withdrawn(self) -> dict[str, str]:
        """The ids of the queries that were withdrawn, with the reason."""
        return {
            context.query_id: context.steps[-1].event.reason or ""
            for context in self.contexts
            if context.is_withdrawn and context.steps
        }

    def with_pseudonyms(self) -> DraftRecord:
        """Return the record in which people are `person-1`, `person-2`, … in the order in which they first acted."""
        steps = [step.event for _, step in self.in_order if step is not None]
        people = dict.fromkeys(event.by for event in steps if event.act not in PROGRAM_ACTS and event.by != OWNER)
        names = {by: f"person-{number}" for number, by in enumerate(people, 1)}

        def renamed(event: Event) -> Event:
            return event.model_copy(update={"by": names.get(event.by, event.by)})

        contexts = (
            replace(context, steps=tuple(steps_of([renamed(step.event) for step in context.steps])))
            for context in self.contexts
        )
        return DraftRecord(self.events, tuple(contexts))

    def lines(self) -> list[EventLine]:
        """Return all steps in the order of time."""
        rows: list[dict[str, Any]] = []
        for of, step in self.in_order:
            if isinstance(of, DraftEvent):
                rows.append({"at": of.at, "act": of.act, "by": OWNER, "actor": "person", "detail": of.detail})
            elif step is not None:
                rows.append(event_line_fields(of, step))
        return [EventLine(number=number, **row) for number, row in enumerate(rows, 1)]

    def as_jsonl(self) -> str:
        """Return the lines of `events.jsonl`."""
        rows = (line.model_dump(mode="json", exclude_none=True) for line in self.lines())
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def event_line_fields(context: ContextRecord, step: Step) -> dict[str, Any]:
    event = step.event
    by_program = event.act in {Act.IMPORT, Act.ADOPT} or (event.act == Act.FAIL and event.by == IMPORTER)
    detail = {name: value for name, value in (event.detail or {}).items() if name in PUBLISHED}
    return {
        **dict(event),
        "actor": "person" if event.act not in PROGRAM_ACTS else "program" if by_program else "model",
        "query_id": context.query_id,
        "intended_safe": context.intended_safe,
        "wording": None if context.is_withdrawn else event.wording,
        "wording_id": context.id_of(event.wording),
        "author": step.author,
        "before_id": context.id_of(step.before.wording),
        "after_id": context.id_of(step.after.wording),
        "taken_back": step.taken_back or None,
        "detail": detail or None,
    }


def read_record(connection: Connection, draft: BenchmarkDraft) -> DraftRecord:
    """Return the record of `draft` from its events."""
    events, contexts = tables.events, tables.contexts
    places = connection.execute(
        select(contexts.c.id, contexts.c.query_id, contexts.c.intended_safe)
        .where(contexts.c.draft_id == draft.id)
        .order_by(contexts.c.position)
    ).all()
    rows = connection.execute(
        select(events.c.context_id, *(events.c[name] for name in Event.model_fields))
        .join(contexts, contexts.c.id == events.c.context_id)
        .where(contexts.c.draft_id == draft.id)
        .order_by(events.c.context_id, events.c.seq)
    )
    by_place: dict[str, list[Event]] = {place.id: [] for place in places}
    for context_id, *values in rows:
        by_place[context_id].append(Event.model_validate(dict(zip(Event.model_fields, values, strict=True))))
    return DraftRecord(
        events=tuple(draft_events(connection, draft.id)),
        contexts=tuple(
            ContextRecord(place.query_id, place.intended_safe, tuple(steps_of(by_place[place.id]))) for place in places
        ),
    )


def draft_events(connection: Connection, draft_id: str) -> Iterator[DraftEvent]:
    """Yield the steps of a draft as a whole, oldest first."""
    table = tables.draft_events
    columns = [table.c[name] for name in DraftEvent.model_fields]
    rows = connection.execute(select(*columns).where(table.c.draft_id == draft_id).order_by(table.c.seq))
    yield from (DraftEvent.model_validate(dict(row)) for row in rows.mappings())


def note_draft_event(
    connection: Connection, draft_id: str, act: DraftAct, detail: Mapping[str, Any], *, now: datetime
) -> None:
    """Add a step of a draft as a whole."""
    table = tables.draft_events
    last = connection.scalar(select(func.max(table.c.seq)).where(table.c.draft_id == draft_id))
    values = {"draft_id": draft_id, "seq": (last or 0) + 1, "at": now, "act": act, "detail": dict(detail)}
    connection.execute(insert(table).values(values))


def is_record(path: Path) -> bool:
    """Return whether `path` is the record of a release: exports of studies have an `events.jsonl` too."""
    if not path.exists():
        return False
    first = next((text for _, text in numbered_lines(path)), "")
    return '"actor"' in first and '"act"' in first


def read_lines(path: Path) -> list[EventLine]:
    """Return the lines of a release's `events.jsonl`."""
    return [EventLine.model_validate_json(text) for _, text in numbered_lines(path)]


def record_from_lines(lines: Iterable[EventLine]) -> DraftRecord:
    """Return the record that the lines of a release make, with the state of each context that was not withdrawn.

    The contexts come in the order of their first steps. Those of a query that was withdrawn have no words, and are left out.
    """
    of_draft: list[DraftEvent] = []
    of_place: dict[tuple[str, bool], list[Event]] = {}
    for line in lines:
        if line.query_id is None or line.intended_safe is None:
            fields = {"seq": len(of_draft) + 1, "at": line.at, "act": line.act, "detail": line.detail or {}}
            of_draft.append(DraftEvent.model_validate(fields))
        else:
            event = Event.model_validate({name: getattr(line, name) for name in Event.model_fields})
            of_place.setdefault((line.query_id, line.intended_safe), []).append(event)
    contexts = [
        ContextRecord(query_id, intended_safe, tuple(steps_of(steps)))
        for (query_id, intended_safe), steps in of_place.items()
        if steps[-1].to_phase != Phase.WITHDRAWN
    ]
    return DraftRecord(tuple(of_draft), tuple(contexts))


@dataclass(frozen=True)
class ReleaseChanges:
    """The differences between a release and the one that it grew from, by the ids of queries and the intents."""

    since: str
    """The name and the version of the earlier release."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int


def changes_since(events: Sequence[DraftEvent], contexts: Mapping[str, str]) -> ReleaseChanges | None:
    """Return the differences of `contexts`, ids by place, to the last release that the draft grew from or made; None without one."""
    bases = [base for event in events if (base := base_of(event)) is not None]
    if not bases:
        return None
    since, before = bases[-1]
    return ReleaseChanges(
        since=since,
        added=tuple(key for key in contexts if key not in before),
        removed=tuple(key for key in before if key not in contexts),
        changed=tuple(key for key in contexts if key in before and before[key] != contexts[key]),
        unchanged=sum(before.get(key) == context_id for key, context_id in contexts.items()),
    )


def base_of(event: DraftEvent) -> tuple[str, Mapping[str, str]] | None:
    """Return the release that an event made or began with: its title, and the ids of its contexts by place."""
    if event.act == DraftAct.RELEASE:
        return str(event.detail["title"]), event.detail["contexts"]
    release = event.detail.get("release")
    return None if release is None else (str(release["title"]), release["contexts"])
