"""How a round goes: speed, cost, people lost, and what needs its owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import inf
from statistics import median
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, case, func, select, update

from casewise.database.tables import study as tables
from casewise.database.tables.metadata import insert_if_absent
from casewise.studies.answers import (
    PAID_AS_SCREEN_OUT,
    PAID_IN_FULL,
    bonuses,
    cost_of_more,
    cost_of_withdrawn,
    lapse_and_void,
)
from casewise.studies.design import Pay
from casewise.studies.owner import Overview, PersonState, overview, people_states, purge
from casewise.studies.people import Vault, people_needed, person_of, waiting_people
from casewise.studies.recruiters import RecruiterIds, known_as
from casewise.studies.rounds import LiveRound, Round, amendments, round_state

# How a round goes: how fast, until when, what it costs, and where people are lost.


ANNOTATORS, EVENTS, PAGES = tables.annotators, tables.events, tables.pages

RECENT = timedelta(hours=3)
"""Over which the pace is taken."""


@dataclass(frozen=True, slots=True)
class Money:
    """In the design's currency, the recruiter's fee included."""

    spent: float
    """On those who ended, whether or not the recruiter has paid them yet, and whether or not they withdrew later."""
    promised: float
    """To those who are in the tutorial, the quiz or a batch now; not to whoever left and whose lease has ended."""
    to_come: float
    """For the people whom it takes to fill the open slots, without those in the tutorial or the quiz, and for those who
    will not pass the quiz meanwhile.

    Nothing in a closed round: nobody new begins.
    """
    budget: float | None

    @property
    def total(self) -> float:
        return self.spent + self.promised + self.to_come

    @property
    def budget_share(self) -> float | None:
        """What of the budget is spent or promised; None where there is none."""
        return None if self.budget is None else (self.spent + self.promised) / self.budget


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many people came how far."""

    arrived: int
    """Opened the first page; counted without anything about them, only since there is this count, and as of some seconds ago."""
    turned_away: int
    consented: int
    quiz: int
    """Sent an answer to the quiz."""
    batch: dict[str, int]
    """Were given a batch, by condition; `finished` rated all of it."""
    finished: dict[str, int]


@dataclass(frozen=True, slots=True)
class Monitor:
    """How a round goes now."""

    overview: Overview
    valid_last_hour: int
    valid_per_hour: float
    """Over the last three hours, or since the round was opened."""
    ends_at: datetime | None
    """When the promised ratings will be there at that pace; None where there is no pace, nothing is missing, or the round is closed."""
    last_valid_at: datetime | None
    median_minutes_before: float | None
    """From consent to the batch: put it into `pay.minutes_before`."""
    money: Money
    funnel: Funnel
    last_outcomes: tuple[str, ...]
    """Of the 20 who ended last."""
    amendments: tuple[str, ...]
    """What was changed while it ran, when and why."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, without what the overview says."""
        plain = asdict(self)
        del plain["overview"]
        for name in ("ends_at", "last_valid_at"):
            plain[name] = plain[name].isoformat() if plain[name] else None
        return plain | {"money": plain["money"] | {"total": self.money.total, "budget_share": self.money.budget_share}}


def monitor(study: LiveRound) -> Monitor:
    """How the round goes; changes nothing."""
    counts = overview(study)
    since = max(study.now - RECENT, study.created_at)
    hours = max((study.now - since).total_seconds() / 3600, 1 / 60)
    lately = valid_lately(study, since=since, hour=study.now - timedelta(hours=1))
    pace, missing = lately.since / hours, counts.promised - counts.valid
    going = round_state(study) != "closed"
    waiting = waiting_people(study)
    return Monitor(
        overview=counts,
        valid_last_hour=lately.in_hour,
        valid_per_hour=pace,
        ends_at=study.now + timedelta(hours=missing / pace) if pace and missing and going else None,
        last_valid_at=lately.last_at,
        median_minutes_before=minutes_before(study),
        money=money_of(
            study.design.pay,
            counts,
            under_way=waiting + rating_people(study),
            people=people_needed(study) if going else 0,
            besides=bonuses(study) + cost_of_withdrawn(study),
        ),
        funnel=funnel(study, counts),
        last_outcomes=last_outcomes(study),
        amendments=tuple(
            f"{at:%Y-%m-%d}: {'; '.join(amendment['changes'])} ({amendment['why']})"
            for at, amendment in amendments(study)
        ),
    )


class Lately(NamedTuple):
    """Valid ratings: the last one, and how many there are since two moments."""

    last_at: datetime | None
    since: int
    in_hour: int


def valid_lately(study: LiveRound, *, since: datetime, hour: datetime) -> Lately:
    after = [func.coalesce(func.sum(case((PAGES.c.answered_at > moment, 1), else_=0)), 0) for moment in (since, hour)]
    query = select(func.max(PAGES.c.answered_at), *after).where(
        PAGES.c.study_id == study.id, PAGES.c.state == "rated", PAGES.c.kind == "item"
    )
    last, *counts = study.execute(query).one()
    return Lately(last, *map(int, counts))


def minutes_before(study: LiveRound) -> float | None:
    query = (
        select(EVENTS.c.at, ANNOTATORS.c.consented_at)
        .join(ANNOTATORS, ANNOTATORS.c.id == EVENTS.c.annotator_id)
        .where(EVENTS.c.study_id == study.id, EVENTS.c.kind == "assigned")
    )
    minutes = [(row.at - row.consented_at).total_seconds() / 60 for row in study.execute(query)]
    return median(minutes) if minutes else None


def rating_people(study: LiveRound) -> int:
    """Those in a batch whose lease has not ended."""
    conditions = (ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.stage == "rating", ANNOTATORS.c.lapsed.is_(False))
    return int(study.scalars(select(func.count()).where(*conditions)).one())


def money_of(pay: Pay, counts: Overview, *, under_way: int, people: int, besides: float) -> Money:
    """What a round has cost, and will by those under way and by `people` who are yet to come.

    `besides`: in bonuses, and on who withdrew.
    """
    fee, stages = 1 + pay.fee_percent / 100, counts.stages
    full = sum(stages.get(outcome, 0) for outcome in PAID_IN_FULL)
    partly = sum(stages.get(outcome, 0) for outcome in PAID_AS_SCREEN_OUT)
    return Money(
        spent=(full * pay.per_batch + partly * pay.screen_out + besides) * fee,
        promised=under_way * pay.per_batch * fee,
        to_come=cost_of_more(pay, stages, people=people),
        budget=pay.budget,
    )


def arrivals(study: LiveRound) -> dict[str, int]:
    """How many opened the first page, and how many were not let in, as far as servers have written it down."""
    tallies = tables.tallies
    query = select(tallies.c.kind, tallies.c.count).where(tallies.c.study_id == study.id)
    return {row[0]: row[1] for row in study.execute(query)}


def funnel(study: LiveRound, counts: Overview) -> Funnel:
    counted = arrivals(study)
    tried = select(func.count(EVENTS.c.annotator_id.distinct())).where(
        EVENTS.c.study_id == study.id, EVENTS.c.kind == "quiz"
    )
    finished = (
        select(ANNOTATORS.c.condition, func.count())
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.outcome.in_(("completed", "failed_checks", "excluded")))
        .group_by(ANNOTATORS.c.condition)
    )
    finished_by: dict[str, int] = {row[0]: row[1] for row in study.execute(finished)}
    return Funnel(
        arrived=counted.get("arrived", 0),
        turned_away=counted.get("turned away", 0),
        consented=sum(counts.stages.values()),
        quiz=int(study.scalars(tried).one()),
        batch={condition.condition: condition.people for condition in counts.conditions},
        finished={name: finished_by.get(name, 0) for name in study.design.conditions},
    )


def last_outcomes(study: LiveRound) -> tuple[str, ...]:
    query = (
        select(ANNOTATORS.c.outcome)
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.finished_at.is_not(None))
        .order_by(ANNOTATORS.c.finished_at.desc())
        .limit(20)
    )
    outcomes: Sequence[str] = study.scalars(query).all()
    return tuple(outcomes)


# People of a round as their owner looks for them: found by id, condition, outcome and flag; sorted; a page at a
# time.


Sort = Literal["flags", "arrival", "rated", "skipped", "time"]

SORTS: dict[Sort, Callable[[PersonState], Any]] = {
    "flags": lambda person: (person.voided_at is not None, -len(person.flags)),
    "arrival": lambda _person: 0,
    "rated": lambda person: -person.rated,
    "skipped": lambda person: -person.skipped,
    "time": lambda person: inf if person.median_s is None else person.median_s,
}
"""Each among people in the order of their arrival."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleQuery:
    """Whom to find; what is empty asks for nothing."""

    search: str = ""
    """The beginning of an annotator's number. It stands in addresses, so it is never anybody's id at the recruiter."""
    condition: str = ""
    status: str = ""
    """A stage, an outcome, or `left out`."""
    flag: str = ""
    """A kind of flag, or `any`."""
    sort: Sort = "flags"


@dataclass(frozen=True, slots=True)
class FoundPeople:
    """A page of them."""

    people: tuple[PersonState, ...]
    total: int
    offset: int


def find_people(study: LiveRound, filters: PeopleQuery, *, limit: int, offset: int = 0) -> FoundPeople:
    """The people who fit `wanted`, `limit` of them from `offset` on; the last `limit` or fewer where that is beyond them."""
    search = "".join(filters.search.split()).lower()
    matches = [
        person
        for person in people_states(study)
        if person.id.startswith(search)
        and filters.condition in ("", person.condition)
        and (person.voided_at is not None if filters.status == "left out" else filters.status in ("", person.status))
        and (not filters.flag or any(filters.flag in ("any", flag.kind) for flag in person.flags))
    ]
    offset = min(offset, max(0, len(matches) - 1) // limit * limit)
    people = sorted(matches, key=SORTS[filters.sort])[offset : offset + limit]
    return FoundPeople(tuple(people), len(matches), offset)


def look_up(study: LiveRound, annotator_id: str, *, vault: Vault, by: str) -> RecruiterIds | None:
    """The recruiter's ids of an annotator, and on record that somebody looked; None once they are deleted."""
    study.note("looked up", by=by, annotator_id=annotator_id)
    return person_of(study, annotator_id, vault=vault)


def with_submission(study: LiveRound, submission: str, *, vault: Vault) -> str | None:
    """The annotator behind a submission, or a person, at the recruiter's, or None.

    Ids are sealed, so each is opened until it is found.
    """
    submission = "".join(submission.split())
    keys, person = tables.keys, known_as(submission, study.design.recruiter)
    if not person:
        return None
    query = (
        select(ANNOTATORS.c.id, ANNOTATORS.c.sealed, keys.c.wrapped)
        .join(keys, keys.c.annotator_id == ANNOTATORS.c.id)
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.sealed.is_not(None))
    )
    rows = study.execute(query)
    opened = ((row.id, vault.open(row.sealed, row.wrapped)) for row in rows)
    return next((annotator for annotator, ids in opened if ids.session == submission or ids.person == person), None)


# What a round needs done while nobody looks: leases that end, dates of deletion.


TALLIES = tables.tallies


def keep_up(study: LiveRound) -> None:
    """Re-open what expired leases hold, and delete what is due."""
    lapse_and_void(study)
    purge(study)


def add_tally(connection: Connection, study_id: str, kind: str, count: int) -> None:
    """Count `count` more of a kind."""
    study_row = select(tables.studies.c.id).where(tables.studies.c.id == study_id)
    if connection.execute(study_row).first() is None:
        return
    if insert_if_absent(connection, TALLIES, {"study_id": study_id, "kind": kind, "count": count}):
        return
    connection.execute(
        update(TALLIES)
        .where(TALLIES.c.study_id == study_id, TALLIES.c.kind == kind)
        .values(count=TALLIES.c.count + count)
    )


# When a round needs its owner: it stalls, a condition lags, too many fail, the budget nears its end.


AlertKind = Literal["stalled", "lagging", "failing", "budget"]
ENOUGH_ENDED = 10
"""Fewer who ended say nothing of how many fail."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A reason to look at a round."""

    kind: AlertKind
    said: str


def alerts(monitor: Monitor, study: Round, *, now: datetime) -> tuple[Alert, ...]:
    """What holds now of an open round, in a fixed order."""
    checks = (
        stalled(monitor, study, now=now),
        lagging(monitor, study),
        failing(monitor, study),
        budget(monitor, study),
    )
    return tuple(alert for alert in checks if alert is not None)


def stalled(monitor: Monitor, study: Round, *, now: datetime) -> Alert | None:
    patience = timedelta(minutes=study.design.alerts.stalled_minutes)
    last = max(study.created_at, monitor.last_valid_at or study.created_at)
    missing = monitor.overview.promised - monitor.overview.valid
    if not missing or now - last <= patience:
        return None
    minutes = (now - last).total_seconds() / 60
    return Alert("stalled", f"no valid rating for {minutes:,.0f} minutes, and {missing:,} are missing")


def lagging(monitor: Monitor, study: Round) -> Alert | None:
    shares = {c.condition: (c.valid + c.reserved) / c.promised for c in monitor.overview.conditions if c.promised}
    if len(shares) < 2:
        return None
    name = min(shares, key=lambda condition: shares[condition])
    mean_of_others = sum(share for condition, share in shares.items() if condition != name) / (len(shares) - 1)
    behind = mean_of_others - shares[name]
    promised = next(c.promised for c in monitor.overview.conditions if c.condition == name)
    if behind <= study.design.alerts.lagging_share or behind * promised <= 2 * study.design.ratings.per_annotator:
        return None  # a batch apart is what random assignment makes of small rounds
    return Alert(
        "lagging", f"{name} has {shares[name]:.0%} of its ratings given or reserved, the others {mean_of_others:.0%}"
    )


def failing(monitor: Monitor, study: Round) -> Alert | None:
    failed = sum(outcome in {"screened_out", "failed_checks", "excluded"} for outcome in monitor.last_outcomes)
    of = len(monitor.last_outcomes)
    if of < ENOUGH_ENDED or failed <= study.design.alerts.failing_share * of:
        return None
    return Alert("failing", f"{failed} of the last {of} who ended did not pass the quiz or were excluded by the rules")


def budget(monitor: Monitor, study: Round) -> Alert | None:
    share, pay = monitor.money.budget_share, study.design.pay
    if share is None or share <= study.design.alerts.budget_share:
        return None
    spent = monitor.money.spent + monitor.money.promised
    return Alert(
        "budget",
        f"{spent:,.2f} of {pay.budget:,.2f} {pay.currency} are spent or promised; about {monitor.money.to_come:,.2f} will follow",
    )
