"""A context: the circumstances of a query, after Contextual Integrity (Nissenbaum 2004; CASE-Bench §3.1); its revisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import ValidationError, model_validator
from pydantic_core import from_json

from casewise.errors import ConfigurationError, did_you_mean
from casewise.records.base import CHECKED_BEFORE, ContentRecord, Provenance, Record, content_id
from casewise.records.statement import Statement, as_text

__all__ = [
    "GROUPS",
    "GROUP_MODELS",
    "OPTIONAL",
    "PARAMETERS",
    "Context",
    "Origin",
    "Recipient",
    "Revision",
    "Sender",
    "ShownContext",
    "StatedTexts",
    "TransmissionPrinciple",
    "checked_names",
    "grouped",
    "in_order",
    "omit",
    "shown_of",
    "texts_of",
]

Origin = Literal["generated", "revised", "imported"]

GROUPS = ("sender", "recipient", "transmission_principle")
"""The groups of parameters that the paper's contexts have."""


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

FIELDS = tuple(
    (group, tuple((name, f"{group}.{name}") for name in one.model_fields)) for group, one in GROUP_MODELS.items()
)
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
        "own",
    )

    query_id: str
    intended_safe: bool | None = None
    """What its author meant; None where nobody said."""
    sender: Sender | None = None
    recipient: Recipient | None = None
    transmission_principle: TransmissionPrinciple | None = None
    subject: Statement | None = None
    """Whom the information is about, where that is a party of its own."""
    information_type: Statement | None = None
    """What kind of information flows."""
    own: dict[str, dict[str, Statement]] | None = None
    """What it states beside these: groups of another set of parameters, and those of the paper's that are not whole."""
    origin: Origin
    lineage_id: str = ""
    """The id of the first context of this line of revisions: its own, unless it was revised."""
    provenance: Provenance | None = None

    @model_validator(mode="after")
    def _lineage_begins_here(self) -> Self:
        if not self.lineage_id:
            object.__setattr__(self, "lineage_id", self.id)
        return self

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        for group, said in (self.own or {}).items():
            if not said or group in OPTIONAL or (group in GROUPS and getattr(self, group) is not None):
                raise ValueError(f"'own' states {group!r}, which stands beside it or says nothing")
        if not self.shown():
            raise ValueError("it states nothing")
        return self

    @classmethod
    def stating(cls, said: Mapping[str, Any], **fields: Any) -> Self:
        """The context that states `said`, group by group, whichever set of parameters that is.

        Raises
        ------
        pydantic.ValidationError
            A parameter states nothing.
        """
        return cls(**grouped(said), **fields)

    def shown(self) -> ShownContext:
        """The whole context as nested texts, in reading order."""
        return shown_of(self)

    def texts(self) -> dict[str, str]:
        """Every parameter that this context states, by dotted name, as one running text."""
        return texts_of(self.shown())

    @property
    def written(self) -> StatedTexts:
        """What it states, and who wrote it."""
        return StatedTexts(self.texts(), self.provenance.by if self.provenance else None)

    @property
    def pair_id(self) -> str:
        """Joins the safe-intended and the unsafe-intended context of one query and one origin."""
        return content_id("p", {"query_id": self.query_id, "origin": self.origin})


class StatedTexts(NamedTuple):
    """What a context states, as its `texts`, and who wrote it."""

    texts: dict[str, str]
    by: str | None

    @classmethod
    def of_line(cls, line: str) -> Self:
        """From a line that was read as a context before, to the byte: a fifth of the time that its record takes."""
        said = from_json(line)
        found: dict[str, Any] = {}
        for group, names in FIELDS:
            if stated := said.get(group):
                found |= {dotted: stated[name] for name, dotted in names if stated.get(name) is not None}
        found |= {name: said[name] for name in OPTIONAL if said.get(name) is not None}
        if said.get("own") or not all(isinstance(text, str) for text in found.values()):
            return cls(*Context.model_validate_json(line, strict=True, context=CHECKED_BEFORE).written)
        return cls(found, (said.get("provenance") or {}).get("by"))


def grouped(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that states `said`, group by group: what is none of the paper's whole groups is its own."""
    whole: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for group, value in said.items():
        if group in OPTIONAL:
            whole[group] = value
            continue
        try:
            whole[group] = GROUP_MODELS[group].model_validate(value)
        except (KeyError, ValidationError):
            own[group] = value
    return whole | {"own": own or None}


def shown_of(stating: Record) -> ShownContext:
    """What a record with the fields of `grouped` states, as nested texts in reading order."""
    said = stating.model_dump(mode="json", include={*GROUPS, *OPTIONAL, "own"}, exclude_none=True)
    own = said.pop("own", None)
    if own is None:
        return said
    said |= own
    return {group: said[group] for group in (*GROUPS, *own, *OPTIONAL) if group in said}


def texts_of(shown: ShownContext) -> dict[str, str]:
    """Dotted names to what is stated, as one running text each."""
    found: dict[str, str] = {}
    for group, value in shown.items():
        if group in OPTIONAL:
            found[group] = as_text(value)
        else:
            found |= {f"{group}.{name}": as_text(statement) for name, statement in value.items()}
    return found


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """`names` in reading order, without repeats and without parameters whose whole group is named.

    Raises ConfigurationError: a name is no group or parameter.
    """
    known = (*GROUPS, *PARAMETERS, *OPTIONAL)
    wanted = set(names)
    for name in sorted(wanted):
        if name not in known:
            raise ConfigurationError(
                f"no parameter of a context is called {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}"
            )
    return in_order(wanted)


NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """`names` in reading order, the paper's first and others by the alphabet, as an arm keeps them.

    Whether a benchmark has such parameters is not asked here. Raises ConfigurationError: nothing can be called so.
    """
    wanted = set(names)
    known = (*GROUPS, *PARAMETERS, *OPTIONAL)
    for name in sorted(wanted):
        if not NAME.fullmatch(name):
            raise ConfigurationError(
                f"no parameter of a context is called {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}"
            )
    ordered = (*known, *sorted(wanted.difference(known)))
    return tuple(name for name in ordered if name in wanted and name.split(".")[0] not in wanted - {name})


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
