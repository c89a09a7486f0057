"""The progress of a round: speed, cost, people lost, and alerts for its owner."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import ceil, inf
from pathlib import Path
from statistics import median
from typing import Any, Literal

from sqlalchemy import func, select, update

from casewise.database import Database
from casewise.database.staff import last_backup
from casewise.database.tables import staff
from casewise.database.tables import study as tables
from casewise.database.tables.metadata import insert_if_absent
from casewise.studies.answers import lapse_and_void
from casewise.studies.ledger import cost_of_more, spent
from casewise.studies.owner import ARRIVAL_LIMIT, Overview, PersonState, overview, people_states, purge, standings
from casewise.studies.people import Vault, people_needed, waiting_people
from casewise.studies.recruiters import stored_id
from casewise.studies.rounds import LiveRound, Round, amendments, round_state

ANNOTATORS, EVENTS, PAGES, TALLIES = tables.annotators, tables.events, tables.pages, tables.tallies

PACE_PERIOD = timedelta(hours=3)
"""Period over which the pace of ratings is measured."""


@dataclass(frozen=True, slots=True)
class Money:
    """Amounts in the design's currency, the recruiter's fee included."""

    spent: float
    """Amount spent on people who ended, whether or not the recruiter has paid them yet, and whether or not they withdrew later.

    Nothing that is in doubt.
    """
    doubtful: float
    """Payments that were begun, and of which it is not known whether they were made."""
    promised: float
    """Amount promised to people in the tutorial, the quiz or a batch now; not to those who left and whose lease has ended."""
    to_come: float
    """Expected cost of the people who are needed to fill the open slots, without those in the tutorial or the quiz, and for those who
    will not pass the quiz meanwhile.

    Nothing in a closed round, which lets no new person begin.
    """
    budget: float | None

    @property
    def total(self) -> float:
        return self.spent + self.doubtful + self.promised + self.to_come

    @property
    def budget_share(self) -> float | None:
        """The share of the budget that is spent, in doubt or promised; None where there is none."""
        return None if self.budget is None else (self.spent + self.doubtful + self.promised) / self.budget


@dataclass(frozen=True, slots=True)
class Funnel:
    """The number of people at each step."""

    arrived: int
    """People who opened the first page; counted without anything about them."""
    turned_away: int
    consented: int
    quiz: int
    """People who sent an answer to the quiz."""
    batch: dict[str, int]
    """People who were given a batch, by condition; `finished` rated all of it."""
    finished: dict[str, int]


@dataclass(frozen=True, slots=True)
class Monitor:
    """The progress of a round now."""

    overview: Overview
    valid_last_hour: int
    valid_per_hour: float
    """Valid ratings an hour, over the last three hours or since the round was opened."""
    ends_at: datetime | None
    """The time when the promised ratings will be there at that pace. None where there is no pace, nothing is missing,
    or the round is closed."""
    last_valid_at: datetime | None
    median_minutes_before: float | None
    """Minutes from consent to the batch, for `pay.minutes_before`."""
    money: Money
    funnel: Funnel
    last_outcomes: tuple[str, ...]
    """Outcomes of the 20 annotators who ended last."""
    amendments: tuple[str, ...]
    """The changes while it ran, with their dates and reasons."""

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values, without those of the overview."""
        plain = asdict(self)
        del plain["overview"]
        for name in ("ends_at", "last_valid_at"):
            plain[name] = plain[name].isoformat() if plain[name] else None
        return plain | {"money": plain["money"] | {"total": self.money.total, "budget_share": self.money.budget_share}}


def monitor(study: LiveRound) -> Monitor:
    """Return how the round goes; changes nothing."""
    counts, going = overview(study), round_state(study) != "closed"
    since = max(study.now - PACE_PERIOD, study.round.created_at)
    hours = max((study.now - since).total_seconds() / 3600, 1 / 60)
    valid = (PAGES.c.study_id == study.id, PAGES.c.state == "rated", PAGES.c.kind == "item")
    pace = study.count(*valid, PAGES.c.answered_at > since) / hours
    missing = counts.missing
    begun = (
        select(EVENTS.c.at, ANNOTATORS.c.consented_at)
        .join(ANNOTATORS, ANNOTATORS.c.id == EVENTS.c.annotator_id)
        .where(EVENTS.c.study_id == study.id, EVENTS.c.kind == "assigned")
    )
    minutes_before = [(row.at - row.consented_at).total_seconds() / 60 for row in study.execute(begun)]
    ended = select(ANNOTATORS.c.outcome).where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.finished_at.is_not(None))
    return Monitor(
        overview=counts,
        valid_last_hour=study.count(*valid, PAGES.c.answered_at > study.now - timedelta(hours=1)),
        valid_per_hour=pace,
        ends_at=study.now + timedelta(hours=missing / pace) if pace and missing and going else None,
        last_valid_at=study.scalars(select(func.max(PAGES.c.answered_at)).where(*valid)).one(),
        median_minutes_before=median(minutes_before) if minutes_before else None,
        money=money(study, counts.stages, people=people_needed(study) if going else 0),
        funnel=funnel(study, counts),
        last_outcomes=tuple(study.scalars(ended.order_by(ANNOTATORS.c.finished_at.desc()).limit(20))),
        amendments=tuple(
            f"{at:%Y-%m-%d}: {'; '.join(amendment['changes'])} ({amendment['why']})"
            for at, amendment in amendments(study)
        ),
    )


def money(study: LiveRound, stages: Mapping[str, int], *, people: int) -> Money:
    """Return what the round has cost, and will cost by those under way and by `people` who are yet to come."""
    pay, fee = study.design.pay, 1 + study.design.pay.fee_percent / 100
    cost = spent(study, stages)
    rating = (ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.stage == "rating", ANNOTATORS.c.lapsed.is_(False))
    return Money(
        spent=cost.spent * fee,
        doubtful=cost.doubtful * fee,
        promised=(waiting_people(study) + study.count(*rating)) * pay.per_batch * fee,
        to_come=cost_of_more(study.design, stages, people=people),
        budget=pay.budget,
    )


def funnel(study: LiveRound, counts: Overview) -> Funnel:
    tallies = study.execute(select(TALLIES.c.kind, TALLIES.c.count).where(TALLIES.c.study_id == study.id))
    counted = {row[0]: row[1] for row in tallies}
    finished = study.counts(
        ANNOTATORS.c.condition, where=[ANNOTATORS.c.outcome.in_(("completed", "failed_checks", "excluded"))]
    )
    return Funnel(
        arrived=counted.get("arrived", 0),
        turned_away=counted.get("turned away", 0),
        consented=sum(counts.stages.values()),
        quiz=study.count(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.quiz_attempts > 0),
        batch={condition.condition: condition.people for condition in counts.conditions},
        finished={name: finished[name] for name in study.design.conditions},
    )


Sort = Literal["flags", "arrival", "rated", "skipped", "time"]

SORTS: dict[Sort, Callable[[PersonState], Any]] = {
    "flags": lambda person: (person.voided_at is not None, -len(person.flags)),
    "arrival": lambda _person: 0,
    "rated": lambda person: -person.rated,
    "skipped": lambda person: -person.skipped,
    "time": lambda person: inf if person.median_s is None else person.median_s,
}
"""Orders of the list of people; ties stay in the order of arrival."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleQuery:
    """The people to find; an empty field filters nothing."""

    search: str = ""
    """The beginning of an annotator's number. It stands in addresses, so it is never a person's id at the recruiter."""
    condition: str = ""
    status: str = ""
    """A stage, an outcome, or `left out`."""
    flag: str = ""
    """A kind of flag, or `any`."""
    sort: Sort = "flags"
    page: int = 1


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """One page of the people found."""

    people: tuple[PersonState, ...]
    total: int
    page: int
    pages: int


def find_people(study: LiveRound, filters: PeopleQuery, *, limit: int) -> PeoplePage:
    """Return a page of `limit` of the people who fit; the last page where the one asked for is beyond them."""
    search = "".join(filters.search.split()).lower()
    matches = [
        person
        for person in people_states(study)
        if person.id.startswith(search)
        and filters.condition in ("", person.condition)
        and (person.voided_at is not None if filters.status == "left out" else filters.status in ("", person.status))
        and (not filters.flag or any(filters.flag in ("any", flag.kind) for flag in person.flags))
    ]
    pages = max(1, ceil(len(matches) / limit))
    page = min(filters.page, pages)
    people = sorted(matches, key=SORTS[filters.sort])[(page - 1) * limit : page * limit]
    return PeoplePage(tuple(people), len(matches), page, pages)


def find_by_submission(study: LiveRound, submission: str, *, vault: Vault) -> str | None:
    """Return the annotator behind a submission, or a person, at the recruiter's, or None.

    Ids are sealed, so all are opened.
    """
    submission = "".join(submission.split())
    person = stored_id(submission, study.design.recruiter)
    for standing in standings(study, vault=vault) if person else ():
        if standing.ids.session == submission or standing.ids.person == person:
            return standing.annotator
    return None


def maintain_round(study: LiveRound) -> None:
    """Re-open what expired leases hold, and delete what is due."""
    lapse_and_void(study)
    purge(study)


def count_arrival(study: LiveRound, kind: Literal["arrived", "turned away"], *, visit: str) -> None:
    """Count one more person at the first page, once a day: `visit` is a keyed hash that changes daily, kept for a day."""
    key = {"key": f"{ARRIVAL_LIMIT}{kind}:{visit}", "tokens": 0.0, "updated_at": study.now}
    if not insert_if_absent(study.connection, staff.rate_limits, key):
        return
    count = {"study_id": study.id, "kind": kind, "count": 1}
    if not insert_if_absent(study.connection, TALLIES, count):
        counted = update(TALLIES).where(TALLIES.c.study_id == study.id, TALLIES.c.kind == kind)
        study.execute(counted.values(count=TALLIES.c.count + 1))


# When a round needs its owner: it stalls, too many fail, the budget nears its end.


AlertKind = Literal["stalled", "failing", "budget"]
UNITS = {"days": 1440, "hours": 60, "minutes": 1}
"""Minutes in each unit of time."""
FEWEST_ENDED = 10
"""People who ended below which the share of failures raises no alert."""


def alerts(monitor: Monitor, study: Round, *, now: datetime) -> dict[AlertKind, str]:
    """Return the reasons to look at an open round, a sentence each, in a fixed order."""
    limits, pay, counts = study.design.alerts, study.design.pay, monitor.overview
    raised: dict[AlertKind, str] = {}
    minutes = (now - max(study.created_at, monitor.last_valid_at or study.created_at)).total_seconds() / 60
    if (missing := counts.missing) and minutes > limits.stalled_minutes:
        length = next(
            f"{minutes / unit:,.0f} {name}" for name, unit in UNITS.items() if minutes >= 2 * unit or unit == 1
        )
        raised["stalled"] = f"no valid rating for {length}, and {missing:,} are missing"
    ended = len(monitor.last_outcomes)
    failed = sum(outcome in {"screened_out", "failed_checks", "excluded"} for outcome in monitor.last_outcomes)
    if ended >= FEWEST_ENDED and failed > limits.failing_share * ended:
        raised["failing"] = (
            f"{failed} of the last {ended} who ended did not pass the quiz or were excluded by the rules"
        )
    if (share := monitor.money.budget_share) is not None and share > limits.budget_share:
        spent = monitor.money.spent + monitor.money.doubtful + monitor.money.promised
        raised["budget"] = (
            f"{spent:,.2f} of {pay.budget:,.2f} {pay.currency} are spent or promised; "
            f"about {monitor.money.to_come:,.2f} will follow"
        )
    return raised


# Whether the machine under the rounds is well: space, size, and how old the last backup is.


LEAST_FREE_SHARE, LEAST_FREE_BYTES = 0.1, 1_000_000_000
OLDEST_BACKUP = timedelta(hours=26)
"""Age of the newest backup beyond which it is late: a day and two hours."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The disk, the database and its backups, as they are now."""

    free_bytes: int
    disk_bytes: int
    database_bytes: int
    backup_age: timedelta | None
    """Age of the newest backup; None where none was ever written."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems that need a look, in sentences."""
        problems = []
        if self.free_bytes < max(LEAST_FREE_BYTES, LEAST_FREE_SHARE * self.disk_bytes):
            problems.append(
                f"Little space is left on the disk: {self.free_bytes / 1e9:,.1f} GB of {self.disk_bytes / 1e9:,.1f} GB"
            )
        if self.backup_age is None:
            problems.append("No backup was written yet: casewise backup FILE")
        elif self.backup_age > OLDEST_BACKUP:
            problems.append(f"The last backup is {self.backup_age.total_seconds() / 3600:,.0f} hours old")
        return tuple(problems)


def machine(database: Database, *, now: datetime) -> Machine:
    """Return how the machine is. The disk is that of an SQLite database; of a server's database, the app's own."""
    place = Path(str(database.url.database)).absolute().parent if database.is_sqlite else Path.cwd()
    disk = shutil.disk_usage(place)
    with database.read() as connection:
        last = last_backup(connection)
    age = None if last is None else now - last
    return Machine(disk.free, disk.total, database.size_bytes(), age)
