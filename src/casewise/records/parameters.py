"""The parameters that contexts state: those of the paper by default, or the user's own as TOML."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from casewise.errors import ConfigurationError, did_you_mean
from casewise.records.base import Record
from casewise.records.context import GROUP_MODELS, GROUPS, OPTIONAL, Context, ShownContext
from casewise.records.toml import read_record

__all__ = ["Group", "Parameter", "ParameterSet", "paper_parameters", "stated"]

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
"""Small letters, digits and underscores, so that an arm can name it: `without:caller.role`."""


class Parameter(Record):
    """One thing that a context states."""

    name: Name
    title: str | None = None
    """What reviewers and annotators read; the name in words where there is none."""
    meaning: str | None = None
    """What a model that writes contexts is told it stands for; its title, or its name in words, where there is none."""
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
        seen: set[str] = set()
        for name in (*(group.name for group in self.groups), *self.names):
            if name in seen or name in OPTIONAL:
                raise ValueError(f"{name!r} " + ("stands twice" if name in seen else "is a parameter of every set"))
            seen.add(name)
        own = [group.name for group in self.groups if group.name not in GROUPS]
        if own and seen.issuperset(GROUPS):
            raise ValueError(f"a set with all three groups of the paper has no other, such as {own[0]!r}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Dotted names, in reading order."""
        return tuple(f"{group.name}.{one.name}" for group in self.groups for one in group.parameters)

    @property
    def every(self) -> tuple[str, ...]:
        """Dotted names of all that a context may state, in reading order."""
        return (*self.names, *OPTIONAL)

    @property
    def meanings(self) -> dict[str, str]:
        """Dotted names to what they stand for, where that was said."""
        return {
            f"{group.name}.{one.name}": said
            for group in self.groups
            for one in group.parameters
            if (said := one.meaning or one.title)
        }

    @property
    def group_names(self) -> tuple[str, ...]:
        return tuple(group.name for group in self.groups)

    @property
    def titles(self) -> dict[str, str]:
        """Dotted names and groups to the titles that they were given."""
        titled = {group.name: group.title for group in self.groups}
        titled |= {f"{group.name}.{one.name}": one.title for group in self.groups for one in group.parameters}
        return {name: title for name, title in titled.items() if title}

    @property
    def required(self) -> tuple[str, ...]:
        """Dotted names of what every context states."""
        return tuple(
            f"{group.name}.{one.name}" for group in self.groups for one in group.parameters if not one.may_be_missing
        )

    def problem(self, context: Context) -> str | None:
        """Why `context` does not fit this set, or None."""
        if self is paper_parameters() and context.own is None and context.sender and context.recipient:
            return None if context.transmission_principle else "states nothing in 'transmission_principle'"
        return self.problem_of(stated(context.shown()))

    def problem_of(self, said: Collection[str]) -> str | None:
        """Why a context that states these dotted names does not fit, or None."""
        missing = next((name for name in self.required if name not in said), None)
        strange = next((name for name in said if name not in self.every), None)
        if missing:
            return f"states nothing for {missing!r}, which {self.name!r} asks of every context"
        return f"states {strange!r}, which {self.name!r} does not have" if strange else None

    def check_names(self, names: Collection[str]) -> None:
        """Check that each of `names` is a group or parameter of this set.

        Raises
        ------
        ConfigurationError
            One is not; the message lists those that are.
        """
        known = (*self.group_names, *self.every)
        for name in names:
            if name not in known:
                raise ConfigurationError(
                    f"no parameter of a context is called {name!r}{did_you_mean(name, known)}; there are: "
                    f"{', '.join(known)}"
                )

    @classmethod
    def read(cls, path: Path) -> ParameterSet:
        """Read a set from TOML: `name`, and a `[[groups]]` table for each group with its `[[groups.parameters]]`.

        Raises
        ------
        DataError
            The file is not TOML, or no such set; the message says where.
        """
        return read_record(path, cls, "a set of parameters")


def stated(shown: ShownContext) -> tuple[str, ...]:
    """The dotted names that a context states."""
    return tuple(
        name
        for group, value in shown.items()
        for name in ((group,) if group in OPTIONAL else (f"{group}.{parameter}" for parameter in value))
    )


@cache
def paper_parameters() -> ParameterSet:
    """The eight parameters in three groups of CASE-Bench (§3.1), of which the urgency may be missing."""
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
