"""The payment ledger of a round: what each person is owed, and what of it was begun, confirmed, refused, or is in doubt.

Every payment that the recruiter is told to make is on record before it is told, and again after its answer. A payment without
an answer, or whose answer was lost, is unsettled: it counts neither as paid nor as not paid, and it is settled only by what
the recruiter shows or by a person's word. What people are owed follows from how their part ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal

from sqlalchemy import Row, select

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.notation import spoken
from casewise.studies.design import Design, Outcome, Pay
from casewise.studies.freeze import expected_to_fail
from casewise.studies.rounds import LiveRound

ANNOTATORS, PAGES = tables.annotators, tables.pages

PAYMENT = "payment"
"""The kind of event that each step of a payment is."""
Due = Literal["full", "decide", "failed checks", "screen-out", "nothing", "under way"]
"""The pay that a person is owed: a batch, the owner's decision (too many skips, no rating, or failed checks), a screen-out,
nothing; or nothing yet."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The consequences of the outcome of a person's part."""

    due: Due
    code: Outcome
    """The outcome whose completion code the person gets at the recruiter."""


ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys(("completed", "stopped", "no_room"), Ending("full", "completed")),
    "too_many_skips": Ending("decide", "completed"),
    **dict.fromkeys(("failed_checks", "excluded"), Ending("failed checks", "failed_checks")),
    **dict.fromkeys(("screened_out", "left_early"), Ending("screen-out", "screened_out")),
}
"""What each outcome means for pay. A person who stops early or finds no item left is paid in full, and one who answered no
item for their time."""

WITHDRAWN = "cost of withdrawn"
"""An event of no annotator: what a person had cost stays spent when all that is known of them is deleted."""

Purpose = Literal["pay", "bonus"]
"""`pay` is owed by how a person's part ended; a `bonus` comes on top of it."""
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
    """The amount of which no payment was begun; for a part that a person has to decide on, the amount if it is paid."""
    decision: bool
    """True where a person has to decide whether `owed` is paid."""
    begun: float
    confirmed: float
    doubtful: float
    reasons: tuple[str, ...]


def note_payment(study: LiveRound, payment: Payment) -> None:
    """Record the state of a payment."""
    detail = asdict(payment)
    del detail["annotator_id"]
    study.note(PAYMENT, by="owner", annotator_id=payment.annotator_id, detail=detail)


def payments(study: LiveRound) -> Mapping[str, list[Payment]]:
    """Return the payments to each person in the order in which they were begun, each in its last state."""
    latest = {(event.annotator_id, event.detail["payment"]): event for event in study.events(PAYMENT)}
    made: defaultdict[str, list[Payment]] = defaultdict(list)
    for (annotator_id, _), event in latest.items():
        made[annotator_id].append(Payment(annotator_id, **event.detail))
    return made


def refuse_second(study: LiveRound, annotator_id: str) -> None:
    """Refuse to begin another bonus or payment by bonus. Raises StudyError: one was begun and not refused."""
    earlier = [paid for paid in payments(study)[annotator_id] if paid.payment != APPROVAL and paid.state != "refused"]
    if any(not payment.settled for payment in earlier):
        raise StudyError(
            "an earlier bonus may have been paid; check at Prolific, then record the result: casewise study person "
            f"{annotator_id} --settle paid (or not-paid); to pay another, add --again"
        )
    if earlier:
        raise StudyError(f"{annotator_id} was already paid a bonus; to pay another, add --again")


def settle(study: LiveRound, annotator_id: str, payment: str | None, *, paid: bool) -> float:
    """Record what a person saw of the one unsettled payment to an annotator, or of this `payment`; return its amount.

    Raises StudyError: none is unsettled, or more than one.
    """
    unsettled = [one for one in payments(study)[annotator_id] if not one.settled]
    matching = [one for one in unsettled if payment in (None, one.payment)]
    if len(matching) != 1:
        several = ", ".join(f"{one.payment} ({one.amount:.2f})" for one in unsettled)
        problem = f"several payments are in doubt ({several}); choose one with --payment" if several else ""
        raise StudyError(f"{annotator_id}: {problem or 'no payment is in doubt'}")
    state: PaymentState = "confirmed" if paid else "refused"
    note_payment(study, replace(matching[0], state=state, why="a person looked it up at the recruiter"))
    return matching[0].amount


def pay_of(pay: Pay, outcome: str | None) -> float:
    """Return the pay for a part that ended with this outcome; 0 while it goes on."""
    ending = ENDINGS.get(outcome or "")
    return 0.0 if ending is None else pay.screen_out if ending.due == "screen-out" else pay.per_batch


def due_of(outcome: str | None, *, rated: int) -> Due:
    """Return the pay that is due for a part that ended so; who finished without a rating is left to the owner."""
    if outcome is None:
        return "under way"
    if outcome in {"completed", "stopped"} and not rated:
        return "decide"
    return ENDINGS[outcome].due if outcome in ENDINGS else "nothing"


def ratings_by_person(study: LiveRound) -> Mapping[str, int]:
    """Return how many items each person rated, whether or not the ratings count."""
    return study.counts(PAGES.c.annotator_id, where=[PAGES.c.kind == "item", PAGES.c.verdict.is_not(None)])


def ledger(study: LiveRound) -> list[LedgerLine]:
    """Return a line for everybody who is owed or was paid something, in the order of their arrival."""
    made, rated = payments(study), ratings_by_person(study)
    people = select(ANNOTATORS.c.id, ANNOTATORS.c.stage, ANNOTATORS.c.outcome).where(ANNOTATORS.c.study_id == study.id)
    lines = (
        ledger_line(row, made[row.id], study.design.pay, rated=rated[row.id])
        for row in study.execute(people.order_by(ANNOTATORS.c.consented_at, ANNOTATORS.c.id))
    )
    return [line for line in lines if line.owed or line.begun or line.confirmed or line.doubtful]


def ledger_line(row: Row[Any], made: list[Payment], pay: Pay, *, rated: int) -> LedgerLine:
    due = pay_of(pay, row.outcome)
    under_way = sum(payment.amount for payment in made if payment.purpose == "pay" and payment.state != "refused")
    owed = max(0.0, round(due - under_way, 2))
    sums = {
        state: round(sum(payment.amount for payment in made if payment.state == state), 2)
        for state in ("begun", "confirmed", "doubtful")
    }
    status = row.outcome or row.stage
    reasons = [f"{spoken(status)}: {due:.2f}"] if due else []
    reasons += [
        f"{payment.purpose} of {payment.amount:.2f} {payment.state}" + (f" ({payment.why})" if payment.why else "")
        for payment in made
    ]
    decision = owed > 0 and due_of(row.outcome, rated=rated) in {"decide", "failed checks"}
    return LedgerLine(row.id, status, owed, decision, **sums, reasons=tuple(reasons))


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Cost of a round, without the recruiter's fee."""

    spent: float
    """The amount owed by how people's parts ended, or confirmed; nothing that is in doubt."""
    doubtful: float
    """Payments that were begun and of which it is not known whether they were made."""


def spent(study: LiveRound, stages: Mapping[str, int]) -> RoundCost:
    """Return what people's parts and their bonuses cost. `stages`: how many people are where, or ended how."""
    owed = sum(pay_of(study.design.pay, outcome) * count for outcome, count in stages.items())
    now = with_payments(owed, chain.from_iterable(payments(study).values()))
    withdrawn = [event.detail for event in study.events(WITHDRAWN)]
    return RoundCost(
        now.spent + sum(detail["cost"] for detail in withdrawn),
        now.doubtful + sum(detail["doubtful"] for detail in withdrawn),
    )


def with_payments(owed: float, made: Iterable[Payment]) -> RoundCost:
    """Return the cost of what was `owed` with the payments made: bonuses on top, and what is in doubt apart."""
    made = list(made)
    bonuses = sum(payment.amount for payment in made if payment.purpose == "bonus" and payment.state == "confirmed")
    unsettled = [payment for payment in made if not payment.settled]
    unsettled_pay = sum(payment.amount for payment in unsettled if payment.purpose == "pay")
    return RoundCost(owed - unsettled_pay + bonuses, sum(payment.amount for payment in unsettled))


def note_withdrawn(study: LiveRound, annotator: Row[Any], *, by: str) -> None:
    """Keep the cost of a person, and nothing else, before all that is known of them is deleted."""
    cost = with_payments(pay_of(study.design.pay, annotator.outcome), payments(study)[annotator.id])
    if cost.spent or cost.doubtful:
        study.note(WITHDRAWN, by=by, detail={"cost": cost.spent, "doubtful": cost.doubtful})


def cost_of_more(design: Design, stages: Mapping[str, int], *, people: int) -> float:
    """Return the cost until `people` more have rated a batch, with those who will not pass the quiz meanwhile and the fee.

    `stages`: how many people are where now, or ended how. Before the first of them it is the cost that `study check` states.
    """
    paid_in_full = (outcome for outcome, ending in ENDINGS.items() if ending.due != "screen-out")
    passed = sum(stages.get(stage, 0) for stage in (*paid_in_full, "rating"))
    failed = stages.get("screened_out", 0)
    rate = (passed + 20 * design.quiz.expected_pass_rate) / (passed + failed + 20)  # as if twenty had come before
    pay, failing = design.pay, expected_to_fail(people, pass_rate=rate)
    return (people * pay.per_batch + failing * pay.screen_out) * (1 + pay.fee_percent / 100)
