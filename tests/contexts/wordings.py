"""Contexts to test with."""

from __future__ import annotations

from casewise.contexts.checks import Wording

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
