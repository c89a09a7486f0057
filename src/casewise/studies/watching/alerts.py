"""When a round needs its owner: it stalls, a condition lags, too many fail, the budget nears its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, select

from casewise.database.tables import study as tables
from casewise.studies.running.events import note
from casewise.studies.running.rounds import Round
from casewise.studies.watching.monitoring import Monitor

__all__ = ["Alert", "AlertKind", "alerts", "keep_alerts", "raised_before"]

AlertKind = Literal["stalled", "lagging", "failing", "budget"]

EVENTS = tables.events
ENOUGH_ENDED = 10
"""Fewer who ended say nothing of how many fail."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A reason to look at a round."""

    kind: AlertKind
    said: str


def alerts(seen: Monitor, study: Round, *, now: datetime) -> tuple[Alert, ...]:
    """What holds now of an open round, in a fixed order."""
    found = (stalled(seen, study, now=now), lagging(seen, study), failing(seen, study), budget(seen, study))
    return tuple(alert for alert in found if alert is not None)


def stalled(seen: Monitor, study: Round, *, now: datetime) -> Alert | None:
    patience = timedelta(minutes=study.design.alerts.stalled_minutes)
    last = max(study.created_at, seen.last_valid_at or study.created_at)
    missing = seen.overview.promised - seen.overview.valid
    if not missing or now - last <= patience:
        return None
    minutes = (now - last).total_seconds() / 60
    return Alert("stalled", f"no valid rating for {minutes:,.0f} minutes, and {missing:,} are missing")


def lagging(seen: Monitor, study: Round) -> Alert | None:
    shares = {c.condition: (c.valid + c.reserved) / c.promised for c in seen.overview.conditions if c.promised}
    if len(shares) < 2:
        return None
    name = min(shares, key=lambda condition: shares[condition])
    others = sum(share for condition, share in shares.items() if condition != name) / (len(shares) - 1)
    behind = others - shares[name]
    promised = next(c.promised for c in seen.overview.conditions if c.condition == name)
    if behind <= study.design.alerts.lagging_share or behind * promised <= 2 * study.design.ratings.per_annotator:
        return None  # a batch apart is what random assignment makes of small rounds
    return Alert("lagging", f"{name} has {shares[name]:.0%} of its ratings given or held, the others {others:.0%}")


def failing(seen: Monitor, study: Round) -> Alert | None:
    failed = sum(outcome in {"screened_out", "failed_checks"} for outcome in seen.last_outcomes)
    of = len(seen.last_outcomes)
    if of < ENOUGH_ENDED or failed <= study.design.alerts.failing_share * of:
        return None
    return Alert("failing", f"{failed} of the last {of} who ended did not pass the quiz or failed attention checks")


def budget(seen: Monitor, study: Round) -> Alert | None:
    share, pay = seen.money.budget_share, study.design.pay
    if share is None or share <= study.design.alerts.budget_share:
        return None
    spent = seen.money.spent + seen.money.promised
    return Alert(
        "budget",
        f"{spent:,.2f} of {pay.budget:,.2f} {pay.currency} are spent or promised; {seen.money.to_come:,.2f} are to come",
    )


def raised_before(connection: Connection, study_id: str) -> set[str]:
    """The kinds of alerts that were raised and are not over."""
    query = (
        select(EVENTS.c.kind, EVENTS.c.detail)
        .where(EVENTS.c.study_id == study_id, EVENTS.c.kind.in_(("alert", "alert over")))
        .order_by(EVENTS.c.id)
    )
    state = {detail["alert"]: kind == "alert" for kind, detail in connection.execute(query)}
    return {alert for alert, holds in state.items() if holds}


def keep_alerts(connection: Connection, study: Round, found: tuple[Alert, ...], *, now: datetime) -> None:
    """Put on record what began and what is over, so that one thing is told once."""
    before = raised_before(connection, study.id)
    for alert in found:
        if alert.kind in before:
            continue
        note(connection, study.id, "alert", at=now, detail={"alert": alert.kind, "said": alert.said})
    for kind in sorted(before - {alert.kind for alert in found}):
        note(connection, study.id, "alert over", at=now, detail={"alert": kind})
