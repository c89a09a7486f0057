"""The payment ledger of a round: what each person is owed, and what of it was begun, confirmed, refused, or is in doubt.

Every payment that the recruiter is told to make is on record before it is told, and again after its answer. A payment without
an answer, or whose answer was lost, is unsettled: it counts neither as paid nor as not paid, and it is settled only by what
the recruiter shows or by a person's word. What people are owed follows from how their part ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sqlalchemy import Row, select

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.design import Pay
from casewise.studies.rounds import LiveRound

ANNOTATORS, PAGES = tables.annotators, tables.pages

PAYMENT = "payment"
"""The kind of event that each step of a payment is."""
PAID_IN_FULL = ("completed", "stopped", "no_room", "too_many_skips", "failed_checks", "excluded")
"""Outcomes that take a place at the recruiter."""
BY_DECISION = ("too_many_skips", "failed_checks", "excluded")
"""Of these the outcomes that a person decides on: paid in full, or not."""
PAID_AS_SCREEN_OUT = ("screened_out", "left_early")
WITHDRAWN = "cost of withdrawn"
"""An event of no annotator: what a person had cost stays spent when all that is known of them is deleted."""

Purpose = Literal["pay", "bonus"]
"""`pay` is what somebody is owed by how their part ended; a `bonus` comes on top of it."""
PaymentState = Literal["begun", "confirmed", "refused", "doubtful"]
UNSETTLED: tuple[PaymentState, ...] = ("begun", "doubtful")
APPROVAL = "approval"
"""The id of a payment that the recruiter makes by approving, or by a code."""


@dataclass(frozen=True, slots=True)
class Payment:
    """One payment to a person, as far as it is known."""

    annotator_id: str
    payment: str
    """The recruiter's id of it; `approval` for the pay of a submission that is approved."""
    amount: float
    purpose: Purpose
    state: PaymentState
    """`begun`: the recruiter is told now, or the command was ended meanwhile. `doubtful`: its answer was lost."""
    why: str = ""

    @property
    def settled(self) -> bool:
        """True where it is known whether it was paid."""
        return self.state not in UNSETTLED


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Amounts that one person is owed and was paid, in the study's currency, without the recruiter's fee."""

    annotator_id: str
    status: str
    """How their part ended, or where they are."""
    owed: float
    """Not begun yet. Of a part that a person has to decide on, what it would be."""
    decision: bool
    """True where a person has to decide whether `owed` is paid."""
    begun: float
    confirmed: float
    doubtful: float
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self) | {"reasons": list(self.reasons)}


def note_payment(study: LiveRound, payment: Payment, *, by: str = "owner") -> None:
    """Put the state of a payment on record."""
    detail = asdict(payment)
    del detail["annotator_id"]
    study.note(PAYMENT, by=by, annotator_id=payment.annotator_id, detail=detail)


def payments(study: LiveRound, annotator_id: str | None = None) -> list[Payment]:
    """Return the payments to all, or to one, in the order in which they were begun, each in its last state."""
    latest: dict[tuple[str, str], Payment] = {}
    for event in study.events(PAYMENT):
        if annotator_id in (None, event.annotator_id):
            payment = Payment(event.annotator_id, **event.detail)
            latest[payment.annotator_id, payment.payment] = payment
    return list(latest.values())


def refuse_second(study: LiveRound, annotator_id: str) -> None:
    """Refuse to begin another bonus or payment by bonus. Raises StudyError: one was begun and not refused."""
    earlier = [paid for paid in payments(study, annotator_id) if paid.payment != APPROVAL and paid.state != "refused"]
    if any(not payment.settled for payment in earlier):
        raise StudyError(
            "an earlier bonus may have been paid; check at Prolific, then record the result: casewise study person "
            f"{annotator_id} --settle paid (or not-paid); to pay another, add --again"
        )
    if earlier:
        raise StudyError(f"{annotator_id} was already paid a bonus; to pay another, add --again")


def settle(study: LiveRound, annotator_id: str, payment: str | None, *, paid: bool) -> float:
    """Put on record what a person saw of the one unsettled payment to an annotator, or of this `payment`; return its amount.

    Raises StudyError: none is unsettled, or more than one.
    """
    unsettled = [one for one in payments(study, annotator_id) if not one.settled]
    matching = [one for one in unsettled if payment in (None, one.payment)]
    if len(matching) != 1:
        several = ", ".join(f"{one.payment} ({one.amount:.2f})" for one in unsettled)
        problem = f"several payments are in doubt ({several}); choose one with --payment" if several else ""
        raise StudyError(f"{annotator_id}: {problem or 'no payment is in doubt'}")
    state: PaymentState = "confirmed" if paid else "refused"
    note_payment(study, replace(matching[0], state=state, why="a person looked at the recruiter's"))
    return matching[0].amount


def pay_of(pay: Pay, outcome: str | None) -> float:
    """Return the pay for a part that ended with this outcome; 0 while it goes on."""
    if outcome in PAID_IN_FULL:
        return pay.per_batch
    return pay.screen_out if outcome in PAID_AS_SCREEN_OUT else 0.0


def ledger(study: LiveRound) -> list[LedgerLine]:
    """Return a line for everybody who is owed or was paid something, in the order of their arrival."""
    made: defaultdict[str, list[Payment]] = defaultdict(list)
    for payment in payments(study):
        made[payment.annotator_id].append(payment)
    rated = set(
        study.scalars(
            select(PAGES.c.annotator_id)
            .where(PAGES.c.study_id == study.id, PAGES.c.kind == "item", PAGES.c.verdict.is_not(None))
            .distinct()
        )
    )
    people = select(ANNOTATORS.c.id, ANNOTATORS.c.stage, ANNOTATORS.c.outcome).where(ANNOTATORS.c.study_id == study.id)
    lines = (
        ledger_line(row, made[row.id], study.design.pay, has_rated=row.id in rated)
        for row in study.execute(people.order_by(ANNOTATORS.c.consented_at, ANNOTATORS.c.id))
    )
    return [line for line in lines if line.owed or line.begun or line.confirmed or line.doubtful]


def ledger_line(row: Row[Any], made: list[Payment], pay: Pay, *, has_rated: bool) -> LedgerLine:
    nothing_rated = row.outcome in {"completed", "stopped"} and not has_rated
    due = pay_of(pay, row.outcome)
    under_way = sum(payment.amount for payment in made if payment.purpose == "pay" and payment.state != "refused")
    owed = max(0.0, round(due - under_way, 2))
    sums = {
        state: round(sum(payment.amount for payment in made if payment.state == state), 2)
        for state in ("begun", "confirmed", "doubtful")
    }
    status = row.outcome or row.stage
    reasons = [f"{status.replace('_', ' ')}: {due:.2f}"] if due else []
    reasons += [
        f"{payment.purpose} of {payment.amount:.2f} {payment.state}" + (f" ({payment.why})" if payment.why else "")
        for payment in made
    ]
    decision = owed > 0 and (row.outcome in BY_DECISION or nothing_rated)
    return LedgerLine(
        row.id, status, owed, decision, sums["begun"], sums["confirmed"], sums["doubtful"], tuple(reasons)
    )


@dataclass(frozen=True, slots=True)
class Spent:
    """Cost of a round, without the recruiter's fee."""

    spent: float
    """Owed by how people's parts ended, or confirmed; nothing that is in doubt."""
    doubtful: float
    """Payments that were begun and of which it is not known whether they were made."""


def spent(study: LiveRound, stages: Mapping[str, int]) -> Spent:
    """Return what people's parts and their bonuses cost. `stages`: how many people are where, or ended how."""
    total = sum(pay_of(study.design.pay, outcome) * count for outcome, count in stages.items())
    doubtful = 0.0
    for payment in payments(study):
        if not payment.settled:
            doubtful += payment.amount
            total -= payment.amount if payment.purpose == "pay" else 0.0
        elif payment.state == "confirmed" and payment.purpose == "bonus":
            total += payment.amount
    for event in study.events(WITHDRAWN):
        total += float(event.detail["cost"])
        doubtful += float(event.detail["doubtful"])
    return Spent(total, doubtful)


def note_withdrawn(study: LiveRound, annotator: Row[Any], *, by: str) -> None:
    """Keep what somebody has cost, and nothing else, before all that is known of them is deleted."""
    made = payments(study, annotator.id)
    doubtful = sum(payment.amount for payment in made if not payment.settled)
    bonuses = sum(payment.amount for payment in made if payment.purpose == "bonus" and payment.state == "confirmed")
    unsettled_pay = sum(payment.amount for payment in made if payment.purpose == "pay" and not payment.settled)
    cost = pay_of(study.design.pay, annotator.outcome) - unsettled_pay + bonuses
    if cost or doubtful:
        study.note(WITHDRAWN, by=by, detail={"cost": cost, "doubtful": doubtful})


def cost_of_more(pay: Pay, stages: Mapping[str, int], *, people: int) -> float:
    """Return the cost until `people` more have rated a batch, with those who will not pass the quiz meanwhile and the fee.

    `stages`: how many people are where now, or ended how.
    """
    passed = sum(stages.get(stage, 0) for stage in (*PAID_IN_FULL, "rating"))
    failed = stages.get("screened_out", 0)
    rate = (passed + 14) / (passed + failed + 20)  # as if fourteen of twenty had passed before the first came
    return people * (pay.per_batch + pay.screen_out * (1 - rate) / rate) * (1 + pay.fee_percent / 100)
