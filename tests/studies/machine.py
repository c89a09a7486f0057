"""Any sequence of events that can happen to a study, played on its database."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import select
from tests.support.study import LATER, SECRET, START, design, material

from casewise import database
from casewise.database.tables import study as tables
from casewise.studies.answers import SubmittedAnswer, lapse_and_void, take_answer, undo, void
from casewise.studies.people import Vault, admit, answer_quiz, pass_tutorial
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import open_round
from casewise.studies.slots import resume
from casewise.studies.wording import read_wording

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


class InDatabase:
    """The store, on SQLite or PostgreSQL; a crash is another connection in the middle of a write."""

    def __init__(self, url: str, seed: int) -> None:
        self.url, self.now, self.seed = url, START, seed
        self.database = database.open(url)
        plan = design(attention={"checks_per_batch": 0, "may_skip": 1.0}, seed=seed)
        with self.database.write() as connection:
            texts = read_wording(plan, Path())
            shown = material(plan)
            self.study = open_round(connection, plan, phase="main", wording=texts, material=shown, now=START)
        self.ids = dict[str, str]()

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

    def answer(self, name: str, item_id: str, decision: str) -> None:
        pages = tables.pages
        with self.study.write(self.database, self.now) as live:
            page = live.execute(
                select(pages).where(pages.c.annotator_id == self.ids[name], pages.c.item_id == item_id)
            ).one()
            step = live.scalars(select(tables.annotators.c.step).where(tables.annotators.c.id == self.ids[name])).one()
            given = SubmittedAnswer(page.position, step, decision)  # type: ignore[arg-type]
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
            void(live, self.ids[name], reason="a test", by="owner")

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
        return [Entry(names[row.annotator_id], row.condition, row.item_id, row.query_id, row.state) for row in rows]

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

    def new_database(self) -> str:
        """The address of a new, empty database."""
        raise NotImplementedError

    @initialize(seed=st.integers(0, 2**16))
    def begin(self, seed: int) -> None:
        self.subject = InDatabase(self.new_database(), seed)
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
    @rule(data=st.data(), decision=st.sampled_from(["respond", "respond", "respond", "skip"]))
    def decide(self, data: st.DataObject, decision: str) -> None:
        entry = data.draw(st.sampled_from(sorted(self.subject.entries(), key=str)))
        self.subject.answer(entry.annotator, entry.item_id, decision)
        self.only_arrivals = self.only_arrivals and decision == "respond"

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
        held = Counter(entry.item_id for entry in self.subject.entries() if entry.state in {"waiting", "rated"})
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
