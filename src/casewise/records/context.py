"""A context: the circumstances of a query, after Contextual Integrity (Nissenbaum 2004; CASE-Bench §3.1); its revisions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from casewise.errors import ConfigurationError
from casewise.records.base import ContentRecord, Provenance, Record, content_id
from casewise.records.statement import Statement, as_text

__all__ = [
    "GROUPS",
    "OPTIONAL",
    "PARAMETERS",
    "Context",
    "Origin",
    "Recipient",
    "Revision",
    "Sender",
    "ShownContext",
    "TransmissionPrinciple",
    "checked_names",
    "omit",
]

Origin = Literal["generated", "revised", "imported"]

GROUPS = ("sender", "recipient", "transmission_principle")
"""The groups of parameters that every context has."""


class Sender(Record):
    """The chatbot whose answer flows to the recipient."""

    nature_of_the_interaction: Statement
    platform_type: Statement


class Recipient(Record):
    """The user who asks."""

    type: Statement
    background: Statement


class TransmissionPrinciple(Record):
    """The terms on which information flows from sender to recipient."""

    urgency: Statement | None = None
    """How soon an answer is needed. 147 of the 900 published contexts do not say."""
    sender_purpose: Statement
    confidentiality: Statement
    source_accountability: Statement


GROUP_MODELS: dict[str, type[Record]] = {
    "sender": Sender,
    "recipient": Recipient,
    "transmission_principle": TransmissionPrinciple,
}

PARAMETERS = tuple(f"{group}.{name}" for group, model in GROUP_MODELS.items() for name in model.model_fields)
"""Dotted names of the parameters of the three groups, in reading order."""

OPTIONAL = ("subject", "information_type")

ShownContext = dict[str, Any]
"""What of a context is shown: group to parameter to statement, in reading order; empty when nothing is left."""


class Context(ContentRecord):
    """The circumstances of a query.

    Two contexts with the same words are the same context: the id is a hash of the query's id, the intent and the
    parameters, not of who wrote them or when. A revision is a new context with the same `lineage_id`.
    """

    kind: ClassVar[str] = "c"
    identity: ClassVar[tuple[str, ...]] = (
        "query_id",
        "intended_safe",
        "sender",
        "recipient",
        "transmission_principle",
        "subject",
        "information_type",
    )

    query_id: str
    intended_safe: bool
    sender: Sender
    recipient: Recipient
    transmission_principle: TransmissionPrinciple
    subject: Statement | None = None
    """Whom the information is about, where that is a party of its own."""
    information_type: Statement | None = None
    """What kind of information flows."""
    origin: Origin
    lineage_id: str = ""
    """The id of the first context of this line of revisions: its own, unless it was revised."""
    provenance: Provenance | None = None

    @model_validator(mode="after")
    def _lineage_begins_here(self) -> Self:
        if not self.lineage_id:
            object.__setattr__(self, "lineage_id", self.id)
        return self

    def shown(self) -> ShownContext:
        """The whole context as nested texts, in reading order."""
        return self.model_dump(mode="json", include={*GROUPS, *OPTIONAL}, exclude_none=True)

    def omitting(self, *names: str) -> ShownContext:
        """What is shown when the parameters or groups called `names` are left out.

        A group of which nothing is left disappears. Leaving out a parameter that this context does not state is
        no error: not every context states every parameter.

        Raises
        ------
        ConfigurationError
            A name is no parameter of any context; the message lists those that are.
        """
        return omit(self.shown(), checked_names(names))

    def texts(self) -> dict[str, str]:
        """Every parameter that this context states, by dotted name, as one running text."""
        found: dict[str, str] = {}
        for group, value in self.shown().items():
            if group in OPTIONAL:
                found[group] = as_text(value)
            else:
                found |= {f"{group}.{name}": as_text(statement) for name, statement in value.items()}
        return found

    @property
    def pair_id(self) -> str:
        """Joins the safe-intended and the unsafe-intended context of one query and one origin."""
        return content_id("p", {"query_id": self.query_id, "origin": self.origin})


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """`names` in reading order, without repeats and without parameters whose whole group is named.

    Raises
    ------
    ConfigurationError
        A name is no group or parameter.
    """
    known = (*GROUPS, *PARAMETERS, *OPTIONAL)
    wanted = set(names)
    for name in sorted(wanted):
        if name not in known:
            raise ConfigurationError(f"no parameter of a context is called {name!r}; there are: {', '.join(known)}")
    return tuple(name for name in known if name in wanted and name.split(".")[0] not in wanted - {name})


def omit(shown: ShownContext, names: tuple[str, ...]) -> ShownContext:
    """`shown` without the parameters and groups called `names`; a group of which nothing is left disappears."""
    left: ShownContext = {}
    for group, value in shown.items():
        if group in names:
            continue
        if group in OPTIONAL:
            left[group] = value
        elif kept := {name: text for name, text in value.items() if f"{group}.{name}" not in names}:
            left[group] = kept
    return left


class Revision(Record):
    """Who changed which context into which, when and why. Its key is its `id`, a UUID."""

    id: str
    before_id: str
    after_id: str
    reviewer: str
    reason: str
    at: datetime
