"""Any sequence of events that can happen to a study, played on the ledger or on the database store."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import select
from tests.support.study import LATER, SECRET, START, design, material

from casewise import database
from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.answers import Given, lapse_and_void, take_answer, undo, void
from casewise.studies.freeze import Open, StudyItem, choose_batch, choose_condition
from casewise.studies.people import Vault, admit, answer_quiz, pass_tutorial
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import load_round, open_round
from casewise.studies.slots import resume
from casewise.studies.wording import read_wording

# The study in memory: the state machine that the database store is held to.


State = Literal["reserved", "lapsed", "valid", "surplus", "void", "skipped"]


@dataclass(slots=True)
class HeldBatch:
    """What became of each item of one annotator's batch."""

    condition: str
    states: dict[str, State]
    active: bool = True
    """False once the lease ran out."""


@dataclass(slots=True)
class Ledger:
    """Slots, batches and ratings of one study.

    `items`: what is rated.
    `per_item`, `batch_size`: valid ratings promised to each item; items offered to each annotator.
    `rng`: all chance.
    """

    items: Iterable[StudyItem]
    per_item: int
    batch_size: int
    rng: np.random.Generator
    held: dict[str, HeldBatch] = field(default_factory=dict, init=False)
    by_id: dict[str, StudyItem] = field(init=False)
    free: dict[str, int] = field(init=False)
    """Open slots of each item."""

    def __post_init__(self) -> None:
        self.by_id = {item.item_id: item for item in self.items}
        self.free = dict.fromkeys(self.by_id, self.per_item)

    def open_slots(self) -> dict[str, int]:
        """Open slots of each condition."""
        totals = Counter[str]()
        for item in self.by_id.values():
            totals[item.condition] += self.free[item.item_id]
        return dict(totals)

    def arrive(self, annotator: str) -> tuple[str, ...]:
        """Give a new annotator a condition and a batch; the same batch again to one who has it already.

        Raises StudyError: no slot is open.
        """
        if annotator in self.held:
            return tuple(self.held[annotator].states)
        condition = choose_condition(self.open_slots(), self.rng)
        if condition is None:
            raise StudyError("no slot is open: every item has its ratings or is being rated")
        batch = choose_batch(
            [
                Open(item.item_id, item.query_id, self.free[item.item_id])
                for item in self.by_id.values()
                if item.condition == condition and self.free[item.item_id] > 0
            ],
            self.batch_size,
            rng=self.rng,
        )
        for item_id in batch:
            self.free[item_id] -= 1
        self.held[annotator] = HeldBatch(condition, dict.fromkeys(batch, "reserved"))
        return batch

    def rate(self, annotator: str, item_id: str) -> State:
        """Take a rating. Rating an item twice changes nothing."""
        held = self.held[annotator]
        if held.states[item_id] == "reserved":
            held.states[item_id] = "valid"
        elif held.states[item_id] == "lapsed":
            held.states[item_id] = "valid" if self.free[item_id] else "surplus"
            self.free[item_id] -= held.states[item_id] == "valid"
        return held.states[item_id]

    def skip(self, annotator: str, item_id: str) -> None:
        """Give back the slot of an item that the annotator would rather not rate."""
        held = self.held[annotator]
        if held.states[item_id] in {"reserved", "lapsed"}:
            self.free[item_id] += held.states[item_id] == "reserved"
            held.states[item_id] = "skipped"

    def undo(self, annotator: str, item_id: str) -> None:
        """Take back a rating; its slot stays the annotator's."""
        held = self.held[annotator]
        if held.active and held.states[item_id] == "valid":
            held.states[item_id] = "reserved"

    def lapse(self, annotator: str) -> None:
        """The lease ran out: what is not rated yet re-opens."""
        held = self.held[annotator]
        held.active = False
        for item_id, state in held.states.items():
            if state == "reserved":
                held.states[item_id] = "lapsed"
                self.free[item_id] += 1

    def resume(self, annotator: str) -> None:
        """The annotator is back: what of the batch is still open is reserved again."""
        held = self.held[annotator]
        if held.active:
            return
        held.active = True
        for item_id, state in held.states.items():
            if state == "lapsed" and self.free[item_id] > 0:
                held.states[item_id] = "reserved"
                self.free[item_id] -= 1

    def void(self, annotator: str) -> None:
        """Leave out all that the annotator rated; every slot re-opens."""
        held = self.held[annotator]
        held.active = False
        for item_id, state in held.states.items():
            if state in {"reserved", "valid"}:
                self.free[item_id] += 1
            if state != "skipped":
                held.states[item_id] = "void"

    def count(self, state: State) -> Counter[str]:
        """How often each item stands in `state`."""
        return Counter(item for held in self.held.values() for item, at in held.states.items() if at == state)


PER_ITEM, BATCH = 2, 3


@dataclass(frozen=True)
class Entry:
    """One item of somebody's batch."""

    annotator: str
    condition: str
    item_id: str
    query_id: str
    state: str


class Killed(Exception):
    """The process ends in the middle of a write."""


class Subject(Protocol):
    """What the machine drives."""

    def arrive(self, name: str) -> bool: ...
    def rate(self, name: str, item_id: str) -> None: ...
    def skip(self, name: str, item_id: str) -> None: ...
    def undo(self, name: str) -> None: ...
    def lapse(self, name: str) -> None: ...
    def resume(self, name: str) -> None: ...
    def void(self, name: str) -> None: ...
    def crash(self) -> None: ...
    def entries(self) -> list[Entry]: ...
    def free(self) -> dict[str, int]: ...
    def close(self) -> None: ...


class InMemory:
    """The ledger."""

    def __init__(self, seed: int) -> None:
        self.plan = material(design())
        self.ledger = Ledger(self.plan.items, per_item=PER_ITEM, batch_size=BATCH, rng=np.random.default_rng(seed))
        self.last: dict[str, str] = {}

    def arrive(self, name: str) -> bool:
        try:
            return bool(self.ledger.arrive(name))
        except StudyError:
            return False

    def rate(self, name: str, item_id: str) -> None:
        self.ledger.rate(name, item_id)
        self.last[name] = item_id

    def skip(self, name: str, item_id: str) -> None:
        self.ledger.skip(name, item_id)

    def undo(self, name: str) -> None:
        if name in self.last:
            self.ledger.undo(name, self.last[name])

    def lapse(self, name: str) -> None:
        self.ledger.lapse(name)

    def resume(self, name: str) -> None:
        self.ledger.resume(name)

    def void(self, name: str) -> None:
        self.ledger.void(name)

    def crash(self) -> None:
        """Nothing is kept outside the ledger."""

    def entries(self) -> list[Entry]:
        items = self.ledger.by_id
        return [
            Entry(name, held.condition, item_id, items[item_id].query_id, state)
            for name, held in self.ledger.held.items()
            for item_id, state in held.states.items()
        ]

    def free(self) -> dict[str, int]:
        return self.ledger.free

    def close(self) -> None:
        """Nothing to give back."""


STATES = {"waiting": "reserved", "rated": "valid", "dropped": "void"}


class InDatabase:
    """The store, on SQLite or PostgreSQL; a crash is another connection in the middle of a write."""

    def __init__(self, url: str, seed: int) -> None:
        self.url, self.now, self.seed = url, START, seed
        self.database = database.open(url)
        plan = design(attention={"checks_per_batch": 0, "may_skip": 1.0}, seed=seed)
        with self.database.write() as connection:
            texts = read_wording(plan, Path())
            study_id = open_round(connection, plan, phase="main", wording=texts, material=material(plan), now=START)
            found = load_round(connection, study_id)
        assert found is not None
        self.study, self.ids = found, dict[str, str]()

    def arrive(self, name: str) -> bool:
        with self.study.write(self.database, self.now) as live, self.known_id(name):
            person = admit(live, RecruiterIds(name), vault=Vault(SECRET))
            assert person is not None
            if person.stage != "tutorial":
                return True
            self.ids[name] = person.id
            pass_tutorial(live, person.id)
            right = [question.right for question in self.study.wording.quiz]
            return answer_quiz(live, person.id, right) == "passed"

    def known_id(self, name: str) -> AbstractContextManager[object]:
        """A study id that is the same in every replay: what people are given depends on it, and hypothesis replays."""
        known = hashlib.sha256(f"{self.seed}:{name}".encode()).hexdigest()[:24]
        return patch("casewise.studies.people.secrets.token_hex", return_value=known)

    def rate(self, name: str, item_id: str) -> None:
        self.answer(name, item_id, "respond")

    def skip(self, name: str, item_id: str) -> None:
        self.answer(name, item_id, "skip")

    def answer(self, name: str, item_id: str, decision: str) -> None:
        pages = tables.pages
        with self.study.write(self.database, self.now) as live:
            page = live.execute(
                select(pages).where(pages.c.annotator_id == self.ids[name], pages.c.item_id == item_id)
            ).one()
            given = Given(page.position, page.revision, decision)  # type: ignore[arg-type]
            self.now += timedelta(seconds=1)
            for _twice in range(2):
                take_answer(live, self.ids[name], given)

    def undo(self, name: str) -> None:
        with self.study.write(self.database, self.now) as live:
            undo(live, self.ids[name])

    def lapse(self, name: str) -> None:
        """Everybody else is active: their leases are renewed, and this one's is long over."""
        annotators = tables.annotators
        with self.study.write(self.database, self.now) as live:
            live.execute(annotators.update().values(lease_until=self.now + LATER))
            live.execute(
                annotators.update()
                .where(annotators.c.id == self.ids[name])
                .values(lease_until=self.now - timedelta(seconds=1))
            )
            lapse_and_void(live)

    def resume(self, name: str) -> None:
        with self.study.write(self.database, self.now) as live:
            row = live.execute(select(tables.annotators).where(tables.annotators.c.id == self.ids[name])).one()
            if row.lapsed and row.stage == "rating":
                resume(live, self.ids[name])

    def void(self, name: str) -> None:
        with self.study.write(self.database, self.now) as live:
            void(live, self.ids[name], why="a test", by="owner")

    def crash(self) -> None:
        with suppress(Killed), self.database.write() as connection:
            connection.execute(tables.pages.update().values(scripted=True))
            connection.execute(tables.annotators.update().values(stage="done"))
            raise Killed
        self.database.close()
        self.database = database.open(self.url)

    def entries(self) -> list[Entry]:
        names = {found: name for name, found in self.ids.items()}
        with self.database.read() as connection:
            rows = connection.execute(select(tables.pages)).all()
        return [
            Entry(names[row.annotator_id], row.condition, row.item_id, row.query_id, STATES.get(row.state, row.state))
            for row in rows
        ]

    def free(self) -> dict[str, int]:
        with self.database.read() as connection:
            rows = connection.execute(select(tables.slots.c.item_id, tables.slots.c.holder_id)).all()
        counts = {row.item_id: 0 for row in rows}
        for row in rows:
            counts[row.item_id] += row.holder_id is None
        return counts

    def close(self) -> None:
        self.database.close()


class StudyMachine(RuleBasedStateMachine):
    """People arrive, rate, skip, undo, fall asleep, come back, are voided, and the server crashes: in any order."""

    def make(self, seed: int) -> Subject:
        return InMemory(seed)

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed: int) -> None:
        self.subject = self.make(seed)
        self.names: list[str] = []
        self.arrivals = 0
        self.only_arrivals = True

    def teardown(self) -> None:
        if hasattr(self, "subject"):
            self.subject.close()

    @rule()
    def arrive(self) -> None:
        self.arrivals += 1
        name = f"p{self.arrivals}"
        room = any(self.subject.free().values())
        assert self.subject.arrive(name) == room
        if room:
            self.names.append(name)

    @precondition(lambda self: self.names)
    @rule(data=st.data())
    def arrive_again(self, data: st.DataObject) -> None:
        before = self.subject.entries()
        self.subject.arrive(data.draw(st.sampled_from(self.names)))
        assert self.subject.entries() == before

    @precondition(lambda self: self.names)
    @rule(data=st.data(), act=st.sampled_from(["rate", "rate", "rate", "skip"]))
    def decide(self, data: st.DataObject, act: str) -> None:
        entry = data.draw(st.sampled_from(sorted(self.subject.entries(), key=str)))
        getattr(self.subject, act)(entry.annotator, entry.item_id)
        self.only_arrivals = self.only_arrivals and act == "rate"

    @precondition(lambda self: self.names)
    @rule(data=st.data(), act=st.sampled_from(["undo", "lapse", "resume", "void"]))
    def disturb(self, data: st.DataObject, act: str) -> None:
        getattr(self.subject, act)(data.draw(st.sampled_from(self.names)))
        self.only_arrivals = self.only_arrivals and act in {"undo", "resume"}

    @rule()
    def crash(self) -> None:
        before = sorted(map(str, self.subject.entries()))
        self.subject.crash()
        assert sorted(map(str, self.subject.entries())) == before

    @invariant()
    def every_slot_is_open_reserved_or_filled(self) -> None:
        held = Counter(entry.item_id for entry in self.subject.entries() if entry.state in {"reserved", "valid"})
        for item_id, free in self.subject.free().items():
            assert free >= 0
            assert free + held[item_id] == PER_ITEM

    @invariant()
    def nobody_sees_two_conditions_or_one_query_twice(self) -> None:
        entries = self.subject.entries()
        for name in self.names:
            own = [entry for entry in entries if entry.annotator == name]
            assert len({entry.condition for entry in own}) <= 1
            assert len({entry.query_id for entry in own}) == len(own) <= BATCH

    @invariant()
    def conditions_stay_within_a_batch_of_each_other(self) -> None:
        if not self.only_arrivals:
            return
        held = Counter(entry.condition for entry in self.subject.entries())
        sizes = [held[condition] for condition in design().conditions]
        assert max(sizes) - min(sizes) <= BATCH
