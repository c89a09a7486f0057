"""How a round goes: how fast, until when, what it costs, and where people are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, func, select

from casewise.database.tables import study as tables
from casewise.studies.design.design import Pay
from casewise.studies.running.admission import people_needed, waiting_people
from casewise.studies.running.events import amendments
from casewise.studies.running.further import further_pay
from casewise.studies.running.owner import Overview, overview
from casewise.studies.running.paying import (
    PAID_AS_SCREEN_OUT,
    PAID_IN_FULL,
    bonuses,
    cost_of_more,
    cost_of_withdrawn,
)
from casewise.studies.running.rounds import Round, round_state

__all__ = ["Funnel", "Money", "Monitor", "arrivals", "monitor"]

PAGES, ANNOTATORS, EVENTS = tables.pages, tables.annotators, tables.events

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
    further: dict[str, float]
    """What each annotator is owed for batches after their first."""
    amendments: tuple[str, ...]
    """What was changed while it ran, when and why."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, without what the overview says."""
        plain = asdict(self)
        del plain["overview"]
        for name in ("ends_at", "last_valid_at"):
            plain[name] = plain[name].isoformat() if plain[name] else None
        return plain | {"money": plain["money"] | {"total": self.money.total, "budget_share": self.money.budget_share}}


def monitor(connection: Connection, study: Round, *, now: datetime) -> Monitor:
    """How the round goes; changes nothing."""
    seen, further = overview(connection, study), further_pay(connection, study)
    since = max(now - RECENT, study.created_at)
    hours = max((now - since).total_seconds() / 3600, 1 / 60)
    lately = valid_lately(connection, study.id, since=since, hour=now - timedelta(hours=1))
    pace, missing = lately.since / hours, seen.promised - seen.valid
    going = round_state(connection, study.id) != "closed"
    waiting = waiting_people(connection, study, now=now)
    return Monitor(
        overview=seen,
        valid_last_hour=lately.in_hour,
        valid_per_hour=pace,
        ends_at=now + timedelta(hours=missing / pace) if pace and missing and going else None,
        last_valid_at=lately.last_at,
        median_minutes_before=minutes_before(connection, study.id),
        money=money_of(
            study.design.pay,
            seen,
            under_way=waiting + rating_people(connection, study.id),
            people=people_needed(connection, study, now=now) if going else 0,
            besides=sum(further.values()) + bonuses(connection, study.id) + cost_of_withdrawn(connection, study.id),
        ),
        funnel=funnel(connection, study, seen),
        last_outcomes=last_outcomes(connection, study.id),
        further=further,
        amendments=tuple(
            f"{at:%Y-%m-%d}: {'; '.join(said['changes'])} ({said['why']})"
            for at, said in amendments(connection, study.id)
        ),
    )


class Lately(NamedTuple):
    """Valid ratings: the last one, and how many there are since two moments."""

    last_at: datetime | None
    since: int
    in_hour: int


def valid_lately(connection: Connection, study_id: str, *, since: datetime, hour: datetime) -> Lately:
    after = [func.coalesce(func.sum(case((PAGES.c.answered_at > moment, 1), else_=0)), 0) for moment in (since, hour)]
    query = select(func.max(PAGES.c.answered_at), *after).where(
        PAGES.c.study_id == study_id, PAGES.c.state == "rated", PAGES.c.kind == "item"
    )
    last, *counts = connection.execute(query).one()
    return Lately(last, *map(int, counts))


def minutes_before(connection: Connection, study_id: str) -> float | None:
    query = (
        select(EVENTS.c.at, ANNOTATORS.c.consented_at)
        .join(ANNOTATORS, ANNOTATORS.c.id == EVENTS.c.annotator_id)
        .where(EVENTS.c.study_id == study_id, EVENTS.c.kind == "assigned")
    )
    minutes = [(row.at - row.consented_at).total_seconds() / 60 for row in connection.execute(query)]
    return median(minutes) if minutes else None


def rating_people(connection: Connection, study_id: str) -> int:
    """Those in a batch whose lease has not ended."""
    here = (ANNOTATORS.c.study_id == study_id, ANNOTATORS.c.stage == "rating", ANNOTATORS.c.lapsed.is_(False))
    return int(connection.scalars(select(func.count()).where(*here)).one())


def money_of(pay: Pay, seen: Overview, *, under_way: int, people: int, besides: float) -> Money:
    """What a round has cost, and will by those under way and by `people` who are yet to come.

    `besides`: for further batches, bonuses, and on who withdrew.
    """
    fee, stages = 1 + pay.fee_percent / 100, seen.stages
    full = sum(stages.get(outcome, 0) for outcome in PAID_IN_FULL)
    partly = sum(stages.get(outcome, 0) for outcome in PAID_AS_SCREEN_OUT)
    return Money(
        spent=(full * pay.per_batch + partly * pay.screen_out + besides) * fee,
        promised=under_way * pay.per_batch * fee,
        to_come=cost_of_more(pay, stages, people=people),
        budget=pay.budget,
    )


def arrivals(connection: Connection, study_id: str) -> dict[str, int]:
    """How many opened the first page, and how many were not let in, as far as servers have written it down."""
    tallies = tables.tallies
    query = select(tallies.c.kind, tallies.c.count).where(tallies.c.study_id == study_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def funnel(connection: Connection, study: Round, seen: Overview) -> Funnel:
    counted = arrivals(connection, study.id)
    tried = select(func.count(EVENTS.c.annotator_id.distinct())).where(
        EVENTS.c.study_id == study.id, EVENTS.c.kind == "quiz"
    )
    finished = (
        select(ANNOTATORS.c.condition, func.count())
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.outcome.in_(("completed", "failed_checks")))
        .group_by(ANNOTATORS.c.condition)
    )
    done: dict[str, int] = {row[0]: row[1] for row in connection.execute(finished)}
    return Funnel(
        arrived=counted.get("arrived", 0),
        turned_away=counted.get("turned away", 0),
        consented=sum(seen.stages.values()),
        quiz=int(connection.scalars(tried).one()),
        batch={condition.condition: condition.people for condition in seen.conditions},
        finished={name: done.get(name, 0) for name in study.design.conditions},
    )


def last_outcomes(connection: Connection, study_id: str) -> tuple[str, ...]:
    query = (
        select(ANNOTATORS.c.outcome)
        .where(ANNOTATORS.c.study_id == study_id, ANNOTATORS.c.finished_at.is_not(None))
        .order_by(ANNOTATORS.c.finished_at.desc())
        .limit(20)
    )
    found: Sequence[str] = connection.scalars(query).all()
    return tuple(found)
