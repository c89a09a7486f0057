"""Rounds of a study: their plan, people admitted, and what happened in them."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from math import floor
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from cyclopts.types import PositiveInt
from cyclopts.validators import Number
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Executable,
    Row,
    ScalarResult,
    func,
    insert,
    select,
    update,
)

from casewise.database import Database
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError, one_of
from casewise.records.base import digest, problems
from casewise.records.item import CONDITIONS, NO_CONTEXT_CONDITION
from casewise.storage import Benchmark
from casewise.storage.files import parse, read_text
from casewise.storage.load import load
from casewise.studies.design import (
    NO_CONTACT,
    PRESETS,
    RATED,
    UNRELEASED,
    Contact,
    Design,
    RatedThing,
    read_design,
    study_toml,
)
from casewise.studies.freeze import (
    Departure,
    Frozen,
    Material,
    StudyEstimate,
    StudyItem,
    collect,
    departures,
    estimate,
    pilot_sample,
    policy_of,
)
from casewise.studies.language import Translator
from casewise.studies.wording import StudyWording, read_wording
from casewise.text import count_of

# The event log of a study. Rows are only added; the database refuses anything else. No personal text goes in.


ACTORS = ("system", "annotator", "owner")


AT_RECRUITER = "at recruiter"
"""An event of no annotator: something is made there for the round."""


def note_at_recruiter(study: LiveRound, kind: str, state: str, object_id: str = "") -> None:
    """Record that an object is begun there, refused, or made with the id `object_id`."""
    study.note(AT_RECRUITER, by="owner", detail={"what": kind, "state": state, "id": object_id})


def objects_at_recruiter(study: LiveRound, kind: str) -> list[str]:
    """Return the ids of every object of this kind made there, in order; empty for one that was never confirmed."""
    ids: list[str] = []
    for detail in (event.detail for event in study.events(AT_RECRUITER)):
        if detail["what"] == kind:
            if detail["state"] != "begun":
                ids.pop()
            if detail["state"] != "refused":
                ids.append(detail["id"])
    return ids


def last_object_at_recruiter(study: LiveRound, kind: str) -> str | None:
    """Return the id of the last object of this kind; empty where the recruiter did not confirm it, None for none."""
    return next(reversed(objects_at_recruiter(study, kind)), None)


def refuse_second_object(study: LiveRound, kind: str, *, again: bool) -> None:
    """Refuse to make a second object of this kind. Raises StudyError: one was made or begun, and not `again`."""
    before = last_object_at_recruiter(study, kind)
    if before is None or again:
        return
    if before:
        raise StudyError(f"this round already has the {kind} {before} at the recruiter; to make another, add --again")
    raise StudyError(
        f"a {kind} was started for this round, but the recruiter did not confirm it: check there, and add --again "
        "if it does not exist"
    )


def amendments(study: LiveRound) -> list[tuple[datetime, dict[str, Any]]]:
    """Return the changes of a round while it ran: the time, with `why` and the `changes`, a sentence each."""
    return [(event.at, event.detail) for event in study.events("amended")]


READ_ANEW_S = 60.0
"""Interval at which a server reads the rounds that it keeps in memory."""


def seconds_to_wait(study: LiveRound) -> float:
    """Return how long an amended round stays paused: until every server has read it, and a little longer."""
    last = max((at for at, _ in amendments(study)), default=None)
    return 0.0 if last is None else max(0.0, READ_ANEW_S + 5 - (study.now - last).total_seconds())


def read_events(study: LiveRound) -> list[dict[str, Any]]:
    """Return all events of a round, in their order, as JSON values that do not say when a person worked.

    `after_s` are the seconds since the same annotator's first event; none where an event is of no annotator. Who of the
    staff it was is not told.
    """
    began: dict[str, datetime] = {}
    return [
        {
            "order": order,
            "after_s": None
            if (annotator_id := row.annotator_id) is None
            else round((row.at - began.setdefault(annotator_id, row.at)).total_seconds()),
            "by": row.by if row.by in ACTORS else "owner",
            "kind": row.kind,
            "annotator_id": annotator_id,
            "detail": row.detail,
        }
        for order, row in enumerate(study.events(), start=1)
    ]


Phase = Literal["pilot", "main", "rehearsal", "preview"]
RoundState = Literal["open", "paused", "closed"]


@dataclass(frozen=True)
class Round:
    """A round as it was opened. Only an amendment changes it; whether it is paused is asked of the database."""

    id: str
    name: str
    version: str
    phase: Phase
    design: Design
    wording: StudyWording
    categories: tuple[tuple[str, str], ...]
    """Name and risks of each category that annotators may meet."""
    benchmark: dict[str, Any]
    """Name, version and digest of the benchmark."""
    frozen: dict[str, Any] | None
    created_at: datetime

    @property
    def translator(self) -> Translator:
        """The translation of the pages' words into the study's language."""
        return Translator(self.design.language)

    def at(self, connection: Connection, now: datetime | None = None) -> LiveRound:
        """Bind the round to a transaction and a time; by default the time is now."""
        return LiveRound(self, connection, now or datetime.now(UTC))

    @contextmanager
    def read(self, database: Database, now: datetime | None = None) -> Iterator[LiveRound]:
        """Yield the round bound to a transaction that changes nothing."""
        with database.read() as connection:
            yield self.at(connection, now)

    @contextmanager
    def write(self, database: Database, now: datetime | None = None) -> Iterator[LiveRound]:
        """Yield the round bound to a transaction whose changes are made at its end, or none of them."""
        with database.write() as connection:
            yield self.at(connection, now)


ROUND = TypeAdapter(Round)
"""Reads a round from its row, and writes its columns."""


@dataclass(frozen=True)
class LiveRound:
    """A round in one transaction, at one time. What is read or written goes through its connection."""

    round: Round
    connection: Connection
    now: datetime

    @property
    def id(self) -> str:
        """The round's id."""
        return self.round.id

    @property
    def design(self) -> Design:
        """The round's design."""
        return self.round.design

    def execute(self, statement: Executable, values: Any = None) -> CursorResult[*tuple[Any, ...]]:
        """Run a statement in the transaction."""
        return self.connection.execute(statement, values)

    def scalars(self, statement: Executable, values: Any = None) -> ScalarResult[Any]:
        """Return the first column of a statement's rows."""
        return self.connection.scalars(statement, values)

    def counts(self, *columns: Column[Any], where: Iterable[ColumnElement[bool]] = ()) -> Counter[Any]:
        """Count the round's rows by the values of one column, or of several, of one table."""
        in_round = columns[0].table.c.study_id == self.id
        rows = self.execute(select(*columns, func.count()).where(in_round, *where).group_by(*columns))
        return Counter({row[0] if len(columns) == 1 else tuple(row[:-1]): row[-1] for row in rows})

    def count(self, *where: ColumnElement[bool]) -> int:
        """Count the rows that fulfil all conditions."""
        return int(self.scalars(select(func.count()).where(*where)).one())

    def set_annotator(self, annotator_id: str, **values: Any) -> None:
        """Change fields of an annotator."""
        annotators = tables.annotators
        self.execute(update(annotators).where(annotators.c.id == annotator_id).values(**values))

    def events(self, *kinds: str) -> Sequence[Row[*tuple[Any, ...]]]:
        """Return the round's events of these kinds, or all, in their order."""
        table = tables.events
        chosen = [table.c.kind.in_(kinds)] if kinds else []
        return self.execute(select(table).where(table.c.study_id == self.id, *chosen).order_by(table.c.id)).all()

    def note(
        self, kind: str, *, by: str = "system", annotator_id: str | None = None, detail: dict[str, Any] | None = None
    ) -> None:
        """Add an event. `by` is `system`, `annotator`, `owner` or a staff id."""
        values = {"study_id": self.id, "at": self.now, "by": by, "kind": kind, "annotator_id": annotator_id}
        self.execute(insert(tables.events).values(**values, detail=detail))


def open_round(
    connection: Connection,
    design: Design,
    *,
    phase: Phase,
    wording: StudyWording,
    material: Material,
    now: datetime,
    frozen: dict[str, Any] | None = None,
) -> Round:
    """Put a round into the database, with all its slots, and return it. Its id is in the annotators' link.

    Raises StudyError: there is a round of that name, version and phase already, or nothing to rate.
    """
    if not material.items:
        raise StudyError("there is nothing to rate: no item of the benchmark is in one of the study's conditions")
    if find_round(connection, design.name, version=design.version, phase=phase) is not None:
        raise StudyError(
            f"the {phase} round of {design.name} {design.version} already exists; set a new `version` in study.toml "
            "for another one"
        )
    study = Round(
        id=uuid.uuid4().hex[:20],
        name=design.name,
        version=design.version,
        phase=phase,
        design=design,
        wording=wording,
        categories=material.categories,
        benchmark=material.benchmark,
        frozen=frozen,
        created_at=now,
    )
    columns = ROUND.dump_python(study, mode="json") | {"state": "open", "created_at": now}
    connection.execute(insert(tables.studies).values(columns))
    connection.execute(insert(tables.items), [asdict(item) | {"study_id": study.id} for item in material.items])
    add_slots(connection, study.id, material.items, range(1, design.ratings.per_item + 1))
    study.at(connection, now).note("opened", detail={"phase": phase, "items": len(material.items)})
    return study


def add_slots(connection: Connection, study_id: str, items: Sequence[StudyItem], numbers: range) -> None:
    """Open slots with these numbers for each item."""
    slots = [
        {"study_id": study_id, "item_id": item.item_id, "condition": item.condition, "number": number}
        for item in items
        for number in numbers
    ]
    connection.execute(insert(tables.slots), slots)


def load_round(connection: Connection, study_id: str) -> Round | None:
    """Return the round with this id, or None."""
    row = connection.execute(select(tables.studies).where(tables.studies.c.id == study_id)).first()
    return None if row is None else ROUND.validate_python(row._asdict())


def find_round(connection: Connection, name: str, *, version: str | None = None, phase: Phase) -> Round | None:
    """Return the round of this name and phase: of that version, or else the one opened last; None if there is none."""
    table = tables.studies
    query = select(table).where(table.c.name == name, table.c.phase == phase).order_by(table.c.created_at.desc())
    if version is not None:
        query = query.where(table.c.version == version)
    row = connection.execute(query).first()
    return None if row is None else ROUND.validate_python(row._asdict())


def all_rounds(connection: Connection) -> Sequence[Row[Any]]:
    """Return id, name, version, phase, state and time of opening of all rounds, the newest first."""
    columns = (tables.studies.c[name] for name in ("id", "name", "version", "phase", "state", "created_at"))
    return connection.execute(select(*columns).order_by(tables.studies.c.created_at.desc())).all()


def shown_items(study: LiveRound) -> tuple[StudyItem, ...]:
    """Return the items of the round, as they were when it was opened."""
    table = tables.items
    rows = study.execute(select(table).where(table.c.study_id == study.id).order_by(table.c.item_id))
    return tuple(StudyItem(row.item_id, row.query_id, row.condition, row.shown) for row in rows)


def round_state(study: LiveRound) -> RoundState:
    """Return whether people are let in now."""
    state: RoundState = study.scalars(select(tables.studies.c.state).where(tables.studies.c.id == study.id)).one()
    return state


def set_state(study: LiveRound, state: RoundState, *, by: str) -> None:
    """Pause a round, let people in again, or close it. People in the middle of a batch may finish it."""
    study.execute(update(tables.studies).where(tables.studies.c.id == study.id).values(state=state))
    study.note(state, by=by)


CONDITION_CLOSED, CONDITION_OPENED = "condition closed", "condition opened"


def closed_conditions(study: LiveRound) -> frozenset[str]:
    """Return the conditions that give no new batch, while others go on."""
    table = tables.events
    scope = (table.c.study_id == study.id, table.c.annotator_id.is_(None))
    changes = select(table.c.kind, table.c.detail).where(*scope, table.c.kind.in_((CONDITION_CLOSED, CONDITION_OPENED)))
    last = {row.detail["condition"]: row.kind for row in study.execute(changes.order_by(table.c.id))}
    return frozenset(name for name, kind in last.items() if kind == CONDITION_CLOSED)


def set_condition(study: LiveRound, condition: str, *, closed: bool, by: str) -> None:
    """Stop giving batches in one condition, or give them again. People who have a batch may finish it.

    Raises StudyError: the study has no such condition.
    """
    one_of(condition, study.design.conditions, "the condition", error=StudyError)
    if closed != (condition in closed_conditions(study)):
        kind = CONDITION_CLOSED if closed else CONDITION_OPENED
        study.note(kind, by=by, detail={"condition": condition})


@dataclass(frozen=True)
class StudyPlan:
    """Everything that a round needs."""

    path: Path
    design: Design
    wording: StudyWording
    benchmark: Benchmark
    material: Material
    frozen: Frozen | None

    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"<StudyPlan {self.design.name} {self.design.version}: {count_of(len(self.material.items), 'item')}{frozen}>"

    @property
    def estimate(self) -> StudyEstimate:
        """The needs and cost of the design."""
        return estimate(self.design, self.material)

    @property
    def policy(self) -> dict[str, Any]:
        """The settings, texts and items that freezing fixes, by name."""
        return policy_of(self.design, self.wording, self.material.items)

    @property
    def departures(self) -> tuple[Departure, ...]:
        """The departures of the study from what was frozen; empty also where nothing was."""
        return departures(self.policy, self.frozen) if self.frozen else ()

    @property
    def problem(self) -> str | None:
        """The reason why people cannot be asked to take part in it as it is, or None."""
        blanks = self.design.contact.placeholders
        if blanks:
            return f"{self.path}: [contact] still has {' and '.join(blanks)}; fill them in: annotators write to this person"
        return self.estimate.problem


def init_study(
    source: str,
    *,
    preset: str = "lab",
    path: Path,
    name: str | None = None,
    today: date | None = None,
    contact: Contact = NO_CONTACT,
    rates: RatedThing = "requests",
    people: int | None = None,
) -> Design:
    """Write a commented `study.toml` for the benchmark at `source`.

    `contact`: whom annotators can write to.
    `people`: take as many ratings of each item as so many people can give, counting those who will not pass the quiz;
    else the preset's number.

    Raises ConfigurationError: there is a file at `path` already; StudyError: there is no such preset, or it is for generated
    contexts and the benchmark has none; or so few people cannot rate every item once.
    """
    preset_name = one_of(preset, PRESETS, "--preset", error=StudyError)
    if path.exists():
        raise ConfigurationError(f"{path} exists; choose another place with --to")
    benchmark = load(source)
    kinds = {query.judged for query in benchmark.queries}
    if rates == "requests" and len(kinds) == 1:  # of the benchmark's own kind
        rates = next(name for name, words in RATED.items() if words.judged in kinds)
    if RATED[rates].asks_first and kinds != {"action"}:
        raise StudyError(f"{source} does not hold only actions, so people cannot ask an agent to ask first")
    present = {item.condition for item in benchmark.items} | ({NO_CONTEXT_CONDITION} if rates != "replies" else set())
    conditions = [name for name in CONDITIONS if name in present] + sorted(present - set(CONDITIONS))
    if preset_name == "paper-rest":
        if missing := set(UNRELEASED) - present:
            raise StudyError(
                f"{source} has no items in {' and '.join(sorted(missing))}; generate contexts for its queries "
                "(casewise contexts select, generate, release --unreviewed) and name that release"
            )
        conditions = list(UNRELEASED)
    is_path = Path(source).exists()

    def written(per_item: int | None = None) -> tuple[str, Design]:
        text = study_toml(
            preset_name,
            name=name or re.sub(r"[^a-z0-9]", "-", benchmark.name.lower()).strip("-")[:60] or "study",
            benchmark=str(Path(source).resolve()) if is_path else source,
            conditions=conditions,
            today=today or datetime.now(UTC).date(),
            contact=contact,
            rates=rates,
            per_item=per_item,
        )
        try:
            return text, Design.model_validate(tomllib.loads(text))
        except ValidationError as error:
            raise ConfigurationError("; ".join(problems(error, Design, "the study"))) from error

    text, design = written()
    if people is not None:
        text, design = written(ratings_by(people, design, collect(design, benchmark)))
    path.write_text(text, encoding="utf-8")
    return design


def ratings_by(people: int, design: Design, material: Material) -> int:
    """Return how often so many people can rate each item, at most as often as the design asks.

    Those who will not pass the quiz are among the people, as `estimate` counts them.

    Raises StudyError: they cannot rate every item once.
    """
    raters = floor(people * design.quiz.expected_pass_rate)
    ratings, items = raters * design.ratings.per_annotator, len(material.items)
    for per_item in range(min(design.ratings.per_item, ratings // items), 0, -1):
        update = {"ratings": design.ratings.model_copy(update={"per_item": per_item})}
        if estimate(design.model_copy(update=update), material).people <= people:
            return per_item
    raise StudyError(
        f"about {raters:,} of {count_of(people, 'person')} pass the quiz (quiz.expected_pass_rate). At {design.ratings.per_annotator} items each "
        f"they give {count_of(ratings, 'rating')}, and the study has {count_of(items, 'item')}; take more people, or a benchmark of fewer "
        "queries (casewise contexts select)"
    )


def read_plan(path: Path) -> StudyPlan:
    """Return the study that `study.toml` at `path` describes.

    Raises ConfigurationError: a setting or a text is wrong; DataError: the benchmark cannot be read; StudyError: a
    condition has no item, or the frozen policy was tampered with.
    """
    design = read_design(path)
    inside = path.parent / design.benchmark
    benchmark = load(inside if inside.exists() else design.benchmark)
    file = path.with_suffix(".frozen.json")
    frozen = Frozen.from_json(parse(read_text(file), path=file), source=str(file)) if file.exists() else None
    return StudyPlan(path, design, read_wording(design, path.parent), benchmark, collect(design, benchmark), frozen)


def freeze_plan(plan: StudyPlan, *, at: datetime) -> Path:
    """Freeze the policy of a study; returns the file that keeps it.

    Raises StudyError: the study should not run as it is, or it is frozen already: freezing again would hide departures.
    """
    if plan.problem:
        raise StudyError(plan.problem)
    path = plan.path.with_suffix(".frozen.json")
    frozen = Frozen(plan.policy, digest(plan.policy), at)
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(frozen.as_json(), file, indent=2, ensure_ascii=False)
            file.write("\n")
    except FileExistsError as error:
        raise StudyError(
            f"{path} exists: the study is already frozen. If you change study.toml, reports list the change as a departure"
        ) from error
    return path


def open_plan(connection: Connection, plan: StudyPlan, *, phase: Phase, now: datetime) -> Round:
    """Open a round of `plan` and return it.

    Raises StudyError: the main round is not frozen yet, no person can be asked to take part as it is, or it is there
    already.
    """
    if phase == "main" and plan.frozen is None:
        raise StudyError(
            f"{plan.path} is not frozen; freeze it first: casewise study check --freeze {shlex.quote(str(plan.path))}"
        )
    if phase in {"main", "pilot"} and plan.problem:
        raise StudyError(plan.problem)
    frozen = plan.frozen.as_json() if plan.frozen else None
    return open_round(
        connection, plan.design, phase=phase, wording=plan.wording, material=plan.material, frozen=frozen, now=now
    )


def pilot_of(plan: StudyPlan, *, queries: int, per_item: int) -> StudyPlan:
    """Return a small round of the same design: a few random queries in all conditions, each rated a few times."""
    rng = np.random.default_rng(plan.design.seed)
    ratings = plan.design.ratings.model_copy(update={"per_item": per_item})
    design = plan.design.model_copy(update={"ratings": ratings})
    return replace(plan, design=design, material=pilot_sample(plan.material, queries=queries, rng=rng), frozen=None)


Share = Annotated[float, Parameter(validator=Number(gte=0, lte=1), metavar="0–1")]


@dataclass(frozen=True)
class RehearsalOptions:
    """The number of simulated people, and how they behave."""

    annotators: PositiveInt = 100
    """Number of simulated people in the first wave."""
    careless: Share = 0.1
    """Share of people who answer at random."""
    dropout: Share = 0.15
    """Share of people who leave before the end."""
    at_once: PositiveInt = 16
    """Number of people on the pages at the same time."""
    lease_s: Annotated[float, Parameter(name="--lease", validator=Number(gte=1))] = 15.0
    """Seconds until the slots of people who left open again."""
    until_full: Annotated[bool, Parameter(negative="--no-until-full")] = True
    """Send more people until every item has its ratings."""
    seed: int = 1
    """Seed of the simulated people."""


def rehearsal_of(plan: StudyPlan, *, lease_s: float, stamp: str) -> StudyPlan:
    """Return the whole design with short leases, under a version of its own; simulated people may answer faster than a person
    reads.
    """
    design = plan.design.model_copy(
        update={
            "ratings": plan.design.ratings.model_copy(update={"lease_minutes": lease_s / 60}),
            "exclusion": plan.design.exclusion.model_copy(update={"least_seconds": 0.0, "seconds_per_100_words": 0.0}),
            "version": f"{plan.design.version} {stamp}",
        }
    )
    return replace(plan, design=design, frozen=None)


SIGHT = {
    "shown_s": "seconds from when the page was shown to the answer, by the page's own clock",
    "request_s": "seconds until the first line of the request had been on the screen for half a second",
    "situation_s": "the same for the situation; absent if none is shown",
    "end_s": "the same for the last line of the situation; absent if it was never on the screen for half a second",
    "situation_share": "the share of the situation's lines that were on the screen for half a second or longer in all",
    "situation_view_s": "seconds during which any of the situation was on the screen",
    "scrolled_px": "how far the page was scrolled in all",
    "away": "how often the page was left for another tab or window",
    "away_s": "seconds that it was away",
}
"""The measurements that are kept of a page."""

LONGEST_SIGHT = 1000
LARGEST_MEASUREMENT = 10_000_000


def read_sight(sent: str) -> dict[str, float] | None:
    """Read what a page's script sent: known names with a number that a page could measure. None where there is none."""
    try:
        values = json.loads(sent) if len(sent) <= LONGEST_SIGHT else None
    except ValueError:
        return None
    if not isinstance(values, dict):
        return None
    numbers = {name: values[name] for name in SIGHT if type(values.get(name)) in (int, float)}
    return {name: float(value) for name, value in numbers.items() if 0 <= value < LARGEST_MEASUREMENT} or None
