"""A month of a study by a simulated clock: nothing acknowledged is lost, no item has one rating too many, the money is exact.

People come by the hour of the day; they finish, leave, pause for hours, stop, fail the quiz, submit without a code, or return their
submission. The app restarts each day, a backup is made each night, and in the middle it moves to a new database from a backup. Later the disk is
lost in the evening, and the last night's backup is restored. Three people are erased: before the move, on the day of the loss after its
backup, and after the date until which ratings can be withdrawn. At the end come the dates at which ids and hashes are deleted. What people were owed is kept by the simulation alone, and compared with
what the study says that it spent, and with what a reconciliation with the recruiter pays.
"""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, func, select
from tests.support.databases import empty_database
from tests.support.study import RIGHT, SECRET, START, design, opened

from casewise import database
from casewise.database.backup import backup, restore
from casewise.database.erasures import ErasureList
from casewise.database.tables import study as tables
from casewise.studies.answers import SubmittedAnswer, finish_batch, next_page, take_answer, take_returned
from casewise.studies.ledger import Payment, note_payment
from casewise.studies.monitor import maintain_round, monitor
from casewise.studies.owner import forget, replay_erasures, round_account
from casewise.studies.people import (
    Vault,
    admission_refusal,
    admit,
    annotator,
    answer_quiz,
    halt,
    pass_tutorial,
    stop_participation,
)
from casewise.studies.prolific import SETTLED, Submission, reconcile
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.slots import resume

DAYS, MOVES_ON, BREAKS_ON = 30, 12, 20
ERASED_ON, WITHDRAW_UNTIL, IDS_UNTIL, EXCLUDE_UNTIL = (8, 20, 24), 22, 45, 60
"""Days, of which the second erasure is after that day's backup and before the loss."""
BY_HOUR = np.array([1, 1, 0, 0, 0, 1, 2, 4, 6, 8, 9, 9, 8, 8, 8, 7, 7, 8, 9, 9, 8, 6, 4, 2], dtype=float)
CODE, SHORT, FAILED = "GOOD", "SHORT", "FAILED"
WAYS = ("finishes", "leaves", "pauses", "stops", "fails", "returns", "forgets the code")
SHARES = (0.6, 0.12, 0.1, 0.05, 0.05, 0.04, 0.04)
PAY = {"per_batch": 4.0, "screen_out": 0.5, "fee_percent": 30.0}


@dataclass
class Person:
    """What the simulation knows of somebody: what the pages told them, and how their submission stands at the recruiter."""

    name: str
    way: str
    id: str = ""
    status: str = "ACTIVE"
    code: str = ""
    rated: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    """Item to decision, and when the server acknowledged it."""
    paid: float = 0.0
    erased: str = ""
    """Whether the ratings were `withdrawn` or `kept` when the person was erased; empty for others."""
    ended: datetime | None = None


class Month:
    """The study, its database of the day, and everybody in it."""

    def __init__(self, folder) -> None:
        self.folder, self.rng, self.now = folder, np.random.default_rng(11), START
        self.url = empty_database(folder / "first.db")
        self.store = database.open(self.url)
        self.vault = Vault(SECRET)
        self.erasures, self.erased_again = ErasureList(folder / "erasures.jsonl", b"a key for tests"), list[int]()
        self.erasures.create()
        dates = {"withdraw_until": WITHDRAW_UNTIL, "keep_ids_until": IDS_UNTIL, "exclude_until": EXCLUDE_UNTIL}
        codes = {"completion_code": CODE, "screened_out_code": SHORT, "failed_checks_code": FAILED}
        plan = design(
            ratings={"per_item": 24, "per_annotator": 10, "lease_minutes": 60},
            attention={"checks_per_batch": 0},
            recruiter={"kind": "prolific", **codes},
            quiz={"attempts": 2},
            pay=PAY,
            privacy={name: START.date() + timedelta(days=days) for name, days in dates.items()},
        )
        self.study = opened(self.store, plan, queries=60)
        self.people: list[Person] = []
        self.events: list[tuple[datetime, int, Iterator[timedelta] | str]] = []
        self.order = 0
        self.lost_after: datetime | None = None

    def at(self, when: datetime, what: Iterator[timedelta] | str) -> None:
        self.order += 1
        heapq.heappush(self.events, (when, self.order, what))

    def play(self) -> None:
        """Everything of the month, in its order."""
        for day in range(DAYS):
            midnight = START.replace(hour=0) + timedelta(days=day)
            self.at(midnight + timedelta(hours=3), "backup")
            self.at(midnight + timedelta(hours=float(self.rng.uniform(4, 24))), "restart")
            for hour, rate in enumerate(BY_HOUR):
                for _ in range(self.rng.poisson(rate / BY_HOUR.sum() * 12)):
                    self.at(midnight + timedelta(hours=hour + float(self.rng.random())), "arrival")
            for minute in range(0, 24 * 60, 15):
                self.at(midnight + timedelta(minutes=minute), "upkeep")
        self.at(START.replace(hour=15) + timedelta(days=MOVES_ON), "move")
        self.at(START.replace(hour=19, minute=30) + timedelta(days=BREAKS_ON), "break")
        for day in ERASED_ON:
            self.at(START.replace(hour=12) + timedelta(days=day), "erase")
        while self.events:
            self.now, _, what = heapq.heappop(self.events)
            if isinstance(what, str):
                getattr(self, what)()
            elif (pause := next(what, None)) is not None:
                self.at(self.now + pause, what)

    def upkeep(self) -> None:
        with self.study.write(self.store, self.now) as live:
            maintain_round(live)
        for person in self.people:  # Prolific ends what takes too long
            if person.status == "ACTIVE" and person.ended and self.now - person.ended > timedelta(hours=3):
                person.status = "TIMED-OUT"

    def restart(self) -> None:
        self.store.close()
        self.store = database.open(self.url)

    def backup(self) -> None:
        self.last_backup = self.folder / f"{self.now:%Y-%m-%dT%H%M}.jsonl.gz"
        self.backed_up_at = self.now
        backup(self.store, self.last_backup)

    def move(self) -> None:
        """To another machine: a backup with the app stopped, restored into a new database."""
        self.backup()
        self.restored("second.db")

    def restored(self, name: str) -> None:
        self.store.close()
        self.url = empty_database(self.folder / name)
        self.store = database.open(self.url)
        restore(self.store, self.last_backup, replay=self.replay)

    def replay(self, connection: Connection) -> None:
        self.erased_again.append(replay_erasures(connection, self.erasures.read(), now=self.now))

    def erase(self) -> None:
        """Somebody who was paid, and whom the last backup has, asks for the erasure of their data."""
        person = next(
            person
            for person in self.people
            if person.status == "AWAITING REVIEW"
            and person.code == CODE
            and person.ended
            and person.ended < self.backed_up_at
        )
        person.status, person.paid = "APPROVED", PAY["per_batch"]
        with self.study.write(self.store, self.now) as live:
            key = live.scalars(select(tables.keys.c.wrapped).where(tables.keys.c.annotator_id == person.id)).one()
            person.erased = forget(live, person.id, vault=self.vault, by="owner", erasures=self.erasures).ratings
        self.store.scrub()
        for file in self.folder.glob(f"{Path(self.url).name}*"):
            assert key.encode() not in file.read_bytes(), f"{file.name} holds the key of an erased person"

    def break_(self) -> None:
        """The disk is gone: what was acknowledged after the last night's backup is lost, and known to be."""
        self.lost_after, self.broke_at = self.backed_up_at, self.now
        self.restored("third.db")

    def arrival(self) -> None:
        person = Person(f"{len(self.people):04}", str(self.rng.choice(WAYS, p=SHARES)))
        self.people.append(person)
        self.at(self.now, self.walk(person))

    def minutes(self, least: float, most: float) -> timedelta:
        return timedelta(minutes=float(self.rng.uniform(least, most)))

    def walk(self, person: Person) -> Iterator[timedelta]:
        """A person's way; each pause is until the next request."""
        ids = RecruiterIds(f"p{person.name}", "study-1", f"s{person.name}")
        yield self.minutes(0.5, 2)
        with self.study.write(self.store, self.now) as live:
            fingerprint = self.vault.fingerprint(self.study.name, ids.person)
            if admission_refusal(live, fingerprint, lock=True):
                person.status = "RETURNED"
                return
            who = admit(live, ids, vault=self.vault)
        assert who is not None
        person.id = who.id
        yield self.minutes(2, 6)
        attempts = 2 if person.way == "fails" else 1
        for attempt in range(attempts):
            with self.study.write(self.store, self.now) as live:
                here = annotator(live, person.id)
                if here is None:
                    break  # the disk was lost while they read: the page says that nobody is here
                if halt(live, here) != "open":
                    break
                pass_tutorial(live, person.id)
                chosen = (0,) * len(RIGHT) if person.way == "fails" else RIGHT
                answer_quiz(live, person.id, chosen)
            if attempt + 1 < attempts:
                yield self.minutes(0.5, 2)
        most = int(self.rng.integers(2, 8)) if person.way in {"leaves", "stops", "returns"} else 99
        while len(person.rated) < most:
            with self.study.write(self.store, self.now) as live:
                here = annotator(live, person.id)
                if here is None or here.stage != "rating":
                    break
                if here.lapsed:
                    resume(live, person.id)
                page = next_page(live, person.id)
                if page is None:
                    finish_batch(live, person.id)
                    break
                item = live.scalars(
                    select(tables.pages.c.item_id).where(
                        tables.pages.c.annotator_id == person.id, tables.pages.c.position == page.position
                    )
                ).one()
                decision = "skip" if self.rng.random() < 0.01 else str(self.rng.choice(["respond", "refuse"]))
                given = SubmittedAnswer(page.position, page.step, decision, seconds=20.0)  # type: ignore[arg-type]
                taken = take_answer(live, person.id, given)
                assert take_answer(live, person.id, given) in {"again", "over"}
            if taken == "rated":
                person.rated[item] = (decision, self.now)
            away = person.way == "pauses" and len(person.rated) == 4
            yield self.minutes(120, 900) if away else self.minutes(0.3, 2)
        self.leave(person)

    def leave(self, person: Person) -> None:
        """The last page, or none: what the recruiter hears of it."""
        person.ended = self.now
        if person.way == "returns":
            person.status = "RETURNED"
            return
        if person.way == "leaves":
            return
        with self.study.write(self.store, self.now) as live:
            if annotator(live, person.id) is None:
                return
            if person.way == "stops":
                stop_participation(live, person.id)
            here = annotator(live, person.id)
        outcome = here.outcome if here else None
        if outcome in {"screened_out", "left_early"} and int(person.name) % 2:
            person.status = "AWAITING REVIEW"  # without the code that would have paid the screen-out
        elif outcome in {"screened_out", "left_early"}:
            person.status, person.code, person.paid = "SCREENED OUT", SHORT, PAY["screen_out"]
        elif outcome is not None:
            person.status, person.code = "AWAITING REVIEW", "" if person.way == "forgets the code" else CODE

    def settle(self) -> Counter[str]:
        """Reconcile until nothing is left to be done; what was done."""
        done: Counter[str] = Counter()
        while True:
            there = [
                Submission(f"s{person.name}", f"p{person.name}", "study-1", person.status, person.code)
                for person in self.people
            ]
            with self.study.read(self.store, self.now) as live:
                account = round_account(live, vault=self.vault)
            lines = reconcile(there, account, self.study.design, vault=self.vault)
            self.lines = {line.submission.person: line for line in lines if line.submission}
            chosen = [line for line in lines if line.action]
            if not chosen:
                return done
            by_name = {f"p{person.name}": person for person in self.people}
            for line in chosen:
                assert line.submission is not None
                if line.action == "ask return":
                    by_name[line.submission.person].status = "RETURNED"
                    done["ask return"] += 1
                    continue
                assert line.standing is not None
                person, who = by_name[line.submission.person], line.standing.annotator
                with self.study.write(self.store, self.now) as live:
                    if line.action == "approve":
                        person.status = "APPROVED"
                        person.paid += line.amount
                    elif line.action == "pay":
                        note_payment(live, Payment(who, f"b-{person.name}", line.amount, "pay", "confirmed"))
                        person.paid += line.amount
                    elif line.action == "leave out":
                        take_returned(live, who, by="owner")
                    else:
                        stop_participation(live, who)
                done[str(line.action)] += 1


setattr(Month, "break", Month.break_)


@pytest.mark.slow
def test_a_month_loses_nothing_and_its_money_is_exact(tmp_path):
    month = Month(tmp_path)
    month.play()
    month.now += timedelta(days=1)
    month.upkeep()
    done = month.settle()
    assert min(done[action] for action in ("approve", "pay", "ask return", "end", "leave out")) > 0, done
    assert set(Counter(person.way for person in month.people)) == set(WAYS)

    with month.study.read(month.store, month.now) as live:
        pages = live.execute(select(tables.pages).where(tables.pages.c.kind == "item")).all()
        stages = {row.id: row.outcome for row in live.execute(select(tables.annotators))}
        seen = monitor(live)
    stored = {(row.annotator_id, row.item_id): row for row in pages}

    def lost(when: datetime) -> bool:
        return month.lost_after is not None and month.lost_after < when <= month.broke_at

    kept = [
        (person.id, item, decision)
        for person in month.people
        for item, (decision, when) in person.rated.items()
        if not lost(when) and person.id in stages
    ]
    gone = [person for person in month.people if person.id and person.id not in stages]
    assert len(kept) > 2000
    erased = {person.id: person.erased for person in month.people if person.erased}
    assert sorted(erased.values()) == ["kept", "withdrawn", "withdrawn"]
    assert month.erased_again == [0, 1], "the backup of the day of the loss brought one back, who is erased again"
    for who, item, decision in kept:
        row = stored[who, item]
        if erased.get(who) == "withdrawn":
            assert (row.state, row.verdict, row.seconds) == ("withdrawn", None, None)
            continue
        assert row.state == ("void" if stages[who] == "returned" else "rated"), (row.state, stages[who])
        assert row.verdict == {"respond": "safe", "refuse": "unsafe"}[decision]
    counts = Counter(row.item_id for row in pages if row.state == "rated")
    assert max(counts.values()) <= month.study.design.ratings.per_item
    assert all(lost(when) for person in gone for _, when in person.rated.values())

    # What the study says that it spent is what people were paid, but for those whose records the disk took with it.
    fee = 1 + PAY["fee_percent"] / 100
    paid = sum(person.paid for person in month.people if person.id in stages)
    assert seen.money.spent == pytest.approx(paid * fee)
    assert seen.money.promised == 0
    # Those are listed for a person to decide, each of them, and nobody else is left over.
    owed = {f"p{person.name}" for person in gone if person.status == "AWAITING REVIEW"}
    assert len(owed) > 0
    owed |= {f"p{person.name}" for person in month.people if person.erased}
    assert {name for name, line in month.lines.items() if line.advice != SETTLED and name in owed} == owed
    left = {name: line.advice for name, line in month.lines.items() if line.advice != SETTLED and name not in owed}
    assert left == {}

    for days, left_over in ((IDS_UNTIL, (0, True)), (EXCLUDE_UNTIL, (0, False))):
        month.now = START + timedelta(days=days + 1)
        month.upkeep()
        with month.study.read(month.store, month.now) as live:
            sealed = live.scalars(select(func.count(tables.annotators.c.sealed))).one()
            hashes = live.scalars(select(func.count()).select_from(tables.fingerprints)).one()
        assert (sealed, hashes > 0) == left_over
