"""Contexts: who asks whom, on what platform and on what terms, after Contextual Integrity."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import from_json

from casewise.errors import ConfigurationError, did_you_mean
from casewise.notation import spoken
from casewise.records.base import (
    ALREADY_VALIDATED,
    ContentRecord,
    Provenance,
    Record,
    content_id,
    read_record,
    shipped_toml,
)

# What a parameter of a context states: a text, a number, true or false, or these in lists or under headings.
#
# Almost all are plain texts. Of the 900 published contexts 31 state the recipient's background, and three or four each
# other parameter, under headings (`demographics`, `previous_interaction.role`); two of these hold booleans and numbers
# (`general_usage: false`, `age: 45`). Each is kept as it is: `false` and `"false"` are different statements.


Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S", strict=True)]
"""A text that says something."""


def check_statement(value: Any, *, where: str = "") -> Any:
    """Return `value` if it is a statement; `where` is its place in the statement that holds it."""
    if isinstance(value, (dict, list)) and value:
        for name, part in value.items() if isinstance(value, dict) else enumerate(value, 1):
            if part is not None:
                check_statement(part, where=f"{where}{', ' if where else ''}{name!r}")
    elif not (value.strip() if isinstance(value, str) else isinstance(value, (int, float)) and math.isfinite(value)):
        content = "null" if value is None else repr(value)[:80]
        if isinstance(value, str):
            content = "a text of spaces" if value else "an empty text"
        raise ValueError(
            f"{f'under {where} it ' if where else ''}states {content}; a parameter is a text, a number, true or false, or "
            "these in a list or under headings"
        )
    return value


Statement = Annotated[Any, BeforeValidator(check_statement)]


def as_text(statement: Statement) -> str:
    """Return `statement` as one text, `demographics, role: an analyst; …`; a plain text stays as it is."""
    if isinstance(statement, str):
        return statement
    return "; ".join(f"{heading}: {text}" if heading else text for heading, text in headings(statement))


def headings(statement: Statement | None, *, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of `statement` with its heading, words for underscores; a plain text has the empty one.

    True and false are said as `yes` and `no`, a number in its digits, and null as `not stated`.
    """
    if isinstance(statement, list):
        for part in statement:
            yield from headings(part, above=above)
    elif isinstance(statement, dict):
        for name, part in statement.items():
            words = spoken(name)
            yield from headings(part, above=f"{above}, {words}" if above else words)
    elif isinstance(statement, bool):
        yield above, "yes" if statement else "no"
    else:
        yield above, "not stated" if statement is None else str(statement)


# A context: the circumstances of a query, after Contextual Integrity (Nissenbaum 2004; CASE-Bench §3.1); its
# revisions.


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
    """The time within which an answer is needed. 147 of the 900 published contexts do not say."""
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
"""The shown part of a context: group to parameter to statement, in reading order; empty when nothing is left."""


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
    """The author's intent; None if it is not stated."""
    sender: Sender | None = None
    recipient: Recipient | None = None
    transmission_principle: TransmissionPrinciple | None = None
    subject: Statement | None = None
    """Whom the information is about, where that is a party of its own."""
    information_type: Statement | None = None
    """The kind of information that flows."""
    own: dict[str, dict[str, Statement]] | None = None
    """Further statements: groups of another set of parameters, and those of the paper's that are not whole."""
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
        for group, parameters in (self.own or {}).items():
            if not parameters or group in OPTIONAL or (group in GROUPS and getattr(self, group) is not None):
                raise ValueError(f"'own' states {group!r}, which stands beside it or says nothing")
        if not self.shown():
            raise ValueError("it states nothing")
        return self

    @classmethod
    def from_groups(cls, groups: Mapping[str, Any], **fields: Any) -> Self:
        """Return the context that states `groups`, group by group, whichever set of parameters that is.

        Raises pydantic.ValidationError: a parameter states nothing.
        """
        return cls(**grouped(groups), **fields)

    def shown(self) -> ShownContext:
        """Return the whole context as nested texts, in reading order."""
        return shown_context(self)

    def texts(self) -> dict[str, str]:
        """Return every parameter that this context states, by dotted name, as one running text."""
        return parameter_texts(self.shown())

    @property
    def written(self) -> StatedTexts:
        """The statements of the context, and who wrote it."""
        return StatedTexts(self.texts(), self.provenance.by if self.provenance else None)

    @property
    def pair_id(self) -> str:
        """The id that the safe-intended and the unsafe-intended context of one query and one origin share."""
        return content_id("p", {"query_id": self.query_id, "origin": self.origin})


class StatedTexts(NamedTuple):
    """The statements of a context, as its `texts`, and who wrote it."""

    texts: dict[str, str]
    by: str | None

    @classmethod
    def from_line(cls, line: str) -> Self:
        """Return the context on a line that was read as a context before, to the byte: a fifth of the time that its record takes."""
        fields = from_json(line)
        texts: dict[str, Any] = {}
        for group, names in FIELDS:
            if statements := fields.get(group):
                texts |= {dotted: text for name, dotted in names if (text := statements.get(name)) is not None}
        texts |= {name: text for name in OPTIONAL if (text := fields.get(name)) is not None}
        if fields.get("own") or not {str}.issuperset(map(type, texts.values())):
            return cls(*Context.model_validate_json(line, strict=True, context=ALREADY_VALIDATED).written)
        return cls(texts, (fields.get("provenance") or {}).get("by"))


def grouped(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a context from its statements by group; groups other than the paper's are its `own`."""
    whole: dict[str, Any] = {}
    own_group: dict[str, Any] = {}
    for group, value in groups.items():
        if group in OPTIONAL:
            whole[group] = value
            continue
        try:
            whole[group] = GROUP_MODELS[group].model_validate(value)
        except (KeyError, ValidationError):
            own_group[group] = value
    return whole | {"own": own_group or None}


def shown_context(stating: Record) -> ShownContext:
    """Return the statements of a record with the fields of `grouped`, as nested texts in reading order."""
    groups = stating.model_dump(mode="json", include={*GROUPS, *OPTIONAL, "own"}, exclude_none=True)
    own_group = groups.pop("own", None)
    if own_group is None:
        return groups
    groups |= own_group
    return {group: groups[group] for group in (*GROUPS, *own_group, *OPTIONAL) if group in groups}


def parameter_texts(shown: ShownContext) -> dict[str, str]:
    """Return the dotted names to what is stated, as one running text each."""
    texts: dict[str, str] = {}
    for group, value in shown.items():
        if group in OPTIONAL:
            texts[group] = as_text(value)
        else:
            texts |= {f"{group}.{name}": as_text(statement) for name, statement in value.items()}
    return texts


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return `names` in reading order, without repeats and without parameters whose whole group is named.

    Raises ConfigurationError: a name is no group or parameter.
    """
    distinct = set(names)
    check_names(distinct, (*GROUPS, *PARAMETERS, *OPTIONAL))
    return reading_order(distinct)


def check_names(names: Collection[str], parameters: Collection[str], *, form: re.Pattern[str] | None = None) -> None:
    """Check that each of `names` is one of these parameters and groups, or has this form.

    Raises ConfigurationError: one is not; the message lists those that are.
    """
    for name in sorted(names):
        if name not in parameters and not (form and form.fullmatch(name)):
            raise ConfigurationError(
                f"no parameter of a context is called {name!r}{did_you_mean(name, parameters)}; there are: "
                f"{', '.join(parameters)}"
            )


NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")


def reading_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return `names` in reading order, the paper's first and others by the alphabet, as an arm keeps them.

    Whether a benchmark has such parameters is not asked here. Raises ConfigurationError: nothing can be called so.
    """
    distinct, paper = set(names), (*GROUPS, *PARAMETERS, *OPTIONAL)
    check_names(distinct, paper, form=NAME)
    ordered = (*paper, *sorted(distinct.difference(paper)))
    return tuple(name for name in ordered if name in distinct and name.split(".")[0] not in distinct - {name})


def omit(shown: ShownContext, names: tuple[str, ...]) -> ShownContext:
    """Return `shown` without the parameters and groups called `names`; a group of which nothing is left disappears."""
    remaining: ShownContext = {}
    for group, value in shown.items():
        if group in names:
            continue
        if group in OPTIONAL:
            remaining[group] = value
        elif parameters := {name: text for name, text in value.items() if f"{group}.{name}" not in names}:
            remaining[group] = parameters
    return remaining


class Revision(Record):
    """The change of a context by a reviewer, with its reason and time. Its key is its `id`, a UUID."""

    id: str
    before_id: str
    after_id: str
    reviewer: str
    reason: str
    at: datetime


# The parameters that contexts state: those of the paper by default, or the user's own as TOML.


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""Small letters, digits and underscores, so that an arm can name it: `without:caller.role`."""


class Parameter(Record):
    """A parameter of contexts."""

    name: Name
    title: str | None = None
    """The title that reviewers and annotators read; the name in words where there is none."""
    meaning: str | None = None
    """The meaning that a model that writes contexts is told; without one, the title or the name in words."""
    may_be_missing: bool = False


class Group(Record):
    """Parameters that belong together."""

    name: Name
    title: str | None = None
    parameters: Annotated[tuple[Parameter, ...], Field(min_length=1)]


class ParameterSet(Record):
    """Groups of parameters, in reading order. `subject` and `information_type` may stand in any context besides."""

    name: str
    groups: Annotated[tuple[Group, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_plain(self) -> Self:
        names: set[str] = set()
        dotted = (f"{group.name}.{part.name}" for group in self.groups for part in group.parameters)
        for name in (*(group.name for group in self.groups), *dotted):
            if name in names or name in OPTIONAL:
                raise ValueError(f"{name!r} " + ("stands twice" if name in names else "is a parameter of every set"))
            names.add(name)
        own_groups = [group.name for group in self.groups if group.name not in GROUPS]
        if own_groups and names.issuperset(GROUPS):
            raise ValueError(f"a set with all three groups of the paper has no other, such as {own_groups[0]!r}")
        return self

    @cached_property
    def by_name(self) -> dict[str, Parameter]:
        """Parameters by dotted name, in reading order."""
        return {f"{group.name}.{part.name}": part for group in self.groups for part in group.parameters}

    @property
    def names(self) -> tuple[str, ...]:
        """Dotted names, in reading order."""
        return tuple(self.by_name)

    @property
    def all_names(self) -> tuple[str, ...]:
        """The dotted names of all parameters that a context may state, in reading order."""
        return (*self.names, *OPTIONAL)

    @property
    def meanings(self) -> dict[str, str]:
        """The meanings of parameters by dotted name, if they are stated."""
        return {name: meaning for name, part in self.by_name.items() if (meaning := part.meaning or part.title)}

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    @property
    def titles(self) -> dict[str, str]:
        """Dotted names and groups to the titles that they were given."""
        titled = {group.name: group.title for group in self.groups}
        titled |= {name: part.title for name, part in self.by_name.items()}
        return {name: title for name, title in titled.items() if title}

    @property
    def required(self) -> tuple[str, ...]:
        """Dotted names of what every context states."""
        return tuple(name for name, part in self.by_name.items() if not part.may_be_missing)

    def problem(self, context: Context) -> str | None:
        """Return the reason why `context` does not fit this set, or None."""
        if self is paper_parameters() and context.own is None and context.sender and context.recipient:
            return None if context.transmission_principle else "states nothing in 'transmission_principle'"
        names = context.texts()
        missing = next((name for name in self.required if name not in names), None)
        strange = next((name for name in names if name not in self.all_names), None)
        if missing:
            return f"states nothing for {missing!r}, which {self.name!r} asks of every context"
        return f"states {strange!r}, which {self.name!r} does not have" if strange else None

    def check_names(self, names: Collection[str]) -> None:
        """Check that each of `names` is a group or parameter of this set.

        Raises ConfigurationError: one is not; the message lists those that are.
        """
        check_names(names, (*self.group_names, *self.all_names))

    @classmethod
    def read(cls, path: Path) -> ParameterSet:
        """Read a set from TOML: `name`, and a `[[groups]]` table for each group with its `[[groups.parameters]]`.

        Raises DataError: the file is not TOML, or no such set; the message says where.
        """
        return read_record(path, cls, "a set of parameters")


@cache
def paper_parameters() -> ParameterSet:
    """Return the eight parameters in three groups of CASE-Bench (§3.1), of which the urgency may be missing."""
    groups = tuple(
        Group(
            name=group,
            parameters=tuple(
                Parameter(name=name, may_be_missing=not field.is_required())
                for name, field in model.model_fields.items()
            ),
        )
        for group, model in GROUP_MODELS.items()
    )
    return ParameterSet(name="CASE-Bench", groups=groups)


@cache
def action_parameters() -> ParameterSet:
    """Return the parameters of contexts for an agent's actions. What flows, and about whom, stands in the action itself."""
    return ParameterSet.model_validate(shipped_toml("casewise.records", "action_parameters.toml"))
