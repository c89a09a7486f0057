"""What people have cost, the recruiter's fee apart: by how it ended for them, for further batches, and in bonuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, select

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.design.design import Pay
from casewise.studies.running.events import note
from casewise.studies.running.further import FURTHER, further_pay
from casewise.studies.running.rounds import Round

__all__ = [
    "PAID_AS_SCREEN_OUT",
    "PAID_IN_FULL",
    "WITHDRAWN",
    "FurtherPaid",
    "begun_bonuses",
    "bonuses",
    "cost_of",
    "cost_of_more",
    "cost_of_withdrawn",
    "in_doubt",
    "none_begun",
    "settle_bonus",
]

EVENTS = tables.events

PAID_IN_FULL = ("completed", "stopped", "no_room", "too_many_skips", "failed_checks")
"""Outcomes that take a place at the recruiter; who failed checks is paid or not by a person's decision, and counted."""
PAID_AS_SCREEN_OUT = ("screened_out", "left_early")
WITHDRAWN = "cost of withdrawn"
"""An event of no annotator: what a person had cost stays spent when all that is known of them is deleted."""


@dataclass(frozen=True, slots=True)
class Bonus:
    """One that the recruiter was told to pay and did not refuse; `paid` if it said so."""

    annotator_id: str
    payment: str
    """The recruiter's id of it."""
    amount: float
    why: str
    paid: bool


@dataclass(frozen=True, slots=True)
class FurtherPaid:
    """What became of what somebody is owed for further batches."""

    annotator: str
    amount: float
    state: Literal["paid", "not paid", "in doubt"]
    """In doubt: the recruiter was told to pay, and did not answer that it does."""
    why: str = ""


def begun_bonuses(connection: Connection, study_id: str, annotator_id: str | None = None) -> list[Bonus]:
    """What was paid by hand or for further batches, or may have been, to all or to one."""
    mine = [] if annotator_id is None else [EVENTS.c.annotator_id == annotator_id]
    query = select(EVENTS.c.annotator_id, EVENTS.c.kind, EVENTS.c.detail).where(
        EVENTS.c.study_id == study_id, EVENTS.c.kind.in_(("bonus begun", "bonus refused", "bonus paid")), *mine
    )
    rows = connection.execute(query.order_by(EVENTS.c.id)).all()
    ends = {(kind, said.get("payment")) for _, kind, said in rows}
    return [
        Bonus(
            who,
            said.get("payment", ""),
            float(said["amount"]),
            said.get("for", ""),
            ("bonus paid", said.get("payment")) in ends,
        )
        for who, kind, said in rows
        if kind == "bonus begun" and ("bonus refused", said.get("payment")) not in ends
    ]


def in_doubt(annotator_id: str) -> str:
    """What to do where the recruiter was told to pay and did not say that it does."""
    return f"a bonus was begun before; see at Prolific whether it was paid, and say so: casewise prolific settle {annotator_id}"


def none_begun(connection: Connection, study: Round, annotator_id: str, why: str) -> None:
    """Nothing, unless a bonus was begun for somebody: any, or for further batches one for these.

    Raises StudyError: there was.
    """
    begun = [one for one in begun_bonuses(connection, study.id, annotator_id) if why != FURTHER or one.why == FURTHER]
    if begun:
        doubtful = not all(one.paid for one in begun)
        said = in_doubt(annotator_id) if doubtful else f"{annotator_id} was paid a bonus before"
        raise StudyError(said if why == FURTHER else f"{said}; for another, say --again")


def settle_bonus(
    connection: Connection, study_id: str, annotator_id: str, payment: str | None, *, paid: bool, at: datetime
) -> float:
    """Put on record what became of somebody's one bonus in doubt, or of the one that is this `payment`; its amount.

    Raises StudyError: none is in doubt, or more than one.
    """
    doubtful = [one for one in begun_bonuses(connection, study_id, annotator_id) if not one.paid]
    found = [one for one in doubtful if payment in (None, one.payment)]
    if len(found) != 1:
        several = ", ".join(f"{one.payment} ({one.amount:.2f})" for one in doubtful)
        said = f"in doubt are {several}: name one with --payment" if several else "no bonus is in doubt"
        raise StudyError(f"{annotator_id}: {said}")
    kind = "bonus paid" if paid else "bonus refused"
    detail = {"amount": found[0].amount, "payment": found[0].payment, "looked_up": True}
    note(connection, study_id, kind, at=at, by="owner", annotator_id=annotator_id, detail=detail)
    return found[0].amount


def bonuses(connection: Connection, study_id: str, annotator_id: str | None = None) -> float:
    """What was paid by hand, or may have been, to all or to one; bonuses for further batches count as owed already."""
    return sum(one.amount for one in begun_bonuses(connection, study_id, annotator_id) if one.why != FURTHER)


def cost_of(connection: Connection, study: Round, who: Row[Any]) -> float:
    """What an annotator has cost so far."""
    pay, besides = study.design.pay, bonuses(connection, study.id, who.id)
    besides += sum(further_pay(connection, study, who.id).values())
    if who.outcome in PAID_IN_FULL:
        return besides + pay.per_batch
    return besides + (pay.screen_out if who.outcome in PAID_AS_SCREEN_OUT else 0.0)


def cost_of_more(pay: Pay, stages: Mapping[str, int], *, people: int) -> float:
    """What it takes until `people` more have rated a batch, with those who will not pass the quiz meanwhile and the fee.

    `stages`: how many people are where now, or ended how.
    """
    passed = sum(stages.get(stage, 0) for stage in (*PAID_IN_FULL, "rating"))
    failed = stages.get("screened_out", 0)
    rate = (passed + 14) / (passed + failed + 20)  # as if fourteen of twenty had passed before the first came
    return people * (pay.per_batch + pay.screen_out * (1 - rate) / rate) * (1 + pay.fee_percent / 100)


def cost_of_withdrawn(connection: Connection, study_id: str) -> float:
    """What people had cost who withdrew."""
    query = select(EVENTS.c.detail).where(EVENTS.c.study_id == study_id, EVENTS.c.kind == WITHDRAWN)
    return sum(float(said["cost"]) for said in connection.scalars(query))
