"""What people have cost, the recruiter's fee apart: by how it ended for them, for further batches, and in bonuses."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, select

from casewise.database.tables import study as tables
from casewise.studies.running.further import FURTHER, further_pay
from casewise.studies.running.rounds import Round

__all__ = ["PAID_AS_SCREEN_OUT", "PAID_IN_FULL", "WITHDRAWN", "bonuses", "cost_of", "cost_of_withdrawn"]

EVENTS = tables.events

PAID_IN_FULL = ("completed", "stopped", "no_room", "too_many_skips", "failed_checks")
"""Outcomes that take a place at the recruiter; who failed checks is paid or not by a person's decision, and counted."""
PAID_AS_SCREEN_OUT = ("screened_out", "left_early")
WITHDRAWN = "cost of withdrawn"
"""An event of no annotator: what a person had cost stays spent when all that is known of them is deleted."""


def bonuses(connection: Connection, study_id: str, annotator_id: str | None = None) -> float:
    """What was paid by hand, or may have been, to all or to one; bonuses for further batches count as owed already."""
    query = select(EVENTS.c.detail).where(EVENTS.c.study_id == study_id, EVENTS.c.kind == "bonus begun")
    if annotator_id is not None:
        query = query.where(EVENTS.c.annotator_id == annotator_id)
    return sum(float(said["amount"]) for said in connection.scalars(query) if said.get("for") != FURTHER)


def cost_of(connection: Connection, study: Round, who: Row[Any]) -> float:
    """What an annotator has cost so far."""
    pay, besides = study.design.pay, bonuses(connection, study.id, who.id)
    besides += sum(further_pay(connection, study, who.id).values())
    if who.outcome in PAID_IN_FULL:
        return besides + pay.per_batch
    return besides + (pay.screen_out if who.outcome in PAID_AS_SCREEN_OUT else 0.0)


def cost_of_withdrawn(connection: Connection, study_id: str) -> float:
    """What people had cost who withdrew."""
    query = select(EVENTS.c.detail).where(EVENTS.c.study_id == study_id, EVENTS.c.kind == WITHDRAWN)
    return sum(float(said["cost"]) for said in connection.scalars(query))
