"""Contexts to test with, and what people did to them."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.support.app import NOW

from casewise.contexts.checks import Wording
from casewise.contexts.record import ContextRecord
from casewise.contexts.review import Act, Phase
from casewise.contexts.store import Event, steps_of

FIELDS = {
    "sender.nature_of_the_interaction": "A training session on fraud prevention",
    "sender.platform_type": "The learning platform of a bank",
    "recipient.type": "Bank clerk",
    "recipient.background": "Ten years at the counter, now trained to recognise forged letters",
    "transmission_principle.urgency": "Before the course ends on Friday",
    "transmission_principle.sender_purpose": "To show what such letters look like",
    "transmission_principle.confidentiality": "Answers stay within the course",
    "transmission_principle.source_accountability": "The bank's training department answers for what is taught",
}

OTHER = {name.replace(".", "__"): f"{number} is said here {number}" for number, name in enumerate(FIELDS)}
"""Changes that leave nothing of the usual words."""


def wording(**changes: str) -> Wording:
    """A wording; changes are named with two underscores for the dot: `recipient__type`."""
    return Wording.from_fields(FIELDS | {name.replace("__", "."): text for name, text in changes.items()})


def history(
    *actions: tuple[str, Act, Wording | None],
    query: str = "q",
    intended_safe: bool = True,
    at: datetime = NOW,
    reason: str = "because",
) -> ContextRecord:
    """The record of a context of which people did this, a minute after each other: who, the act, and the words."""
    events = [
        Event(
            seq=n, at=at + timedelta(minutes=n), by=by, act=act, from_phase=None, to_phase=Phase.GENERATED,
            wording=words, reason=reason,
        )
        for n, (by, act, words) in enumerate(actions, 1)
    ]  # fmt: skip
    return ContextRecord(query, intended_safe=intended_safe, steps=tuple(steps_of(events)))
