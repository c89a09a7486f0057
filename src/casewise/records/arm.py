"""An arm: how an item is shown to a judge, as an ordered tuple of transforms.

Records hold the names of transforms; `casewise.showing` does them. An arm's name is canonical by construction: two arms
that show the same by the same steps are equal and have one name, and `Arm.named(arm.name) == arm`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Self
from urllib.parse import quote, unquote

from pydantic import Field, model_validator

from casewise.errors import ConfigurationError
from casewise.records.base import Record
from casewise.records.context import GROUPS, in_order

__all__ = ["FULL", "NO_CONTEXT", "WITHOUT", "Arm", "Transform"]

WITHOUT = "without"
"""The kind of transform that leaves parameters or groups out."""

WRITTEN = re.compile(r"(?P<kind>[a-z][a-z0-9_-]*)(?:@(?P<version>[1-9]\d*))?(?::(?P<rest>.*))?", re.DOTALL)

PLAIN = ":,./#=@"
"""What stands in a name as it is, besides letters and digits; `+` and spaces, which part names, are escaped."""


class Transform(Record):
    """One change of what is shown, by name: `without:recipient`, or one of another kind, version and rest."""

    kind: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
    rest: str = ""
    """What this transform of its kind is about: parameters, a function, a file."""
    version: Annotated[int, Field(ge=1)] = 1

    @property
    def name(self) -> str:
        """`kind`, `@version` unless that is 1, and `:rest` where there is one."""
        if self == NOTHING_LEFT:
            return "none"
        version = f"@{self.version}" if self.version > 1 else ""
        return f"{self.kind}{version}{':' if self.rest else ''}{quote(self.rest, safe=PLAIN)}"

    @property
    def omits(self) -> tuple[str, ...]:
        """The parameters and groups that it leaves out; none where it does anything else."""
        return tuple(self.rest.split(",")) if (self.kind, self.version) == (WITHOUT, 1) else ()

    @classmethod
    def named(cls, name: str) -> Self:
        """The transform called `name`.

        Raises
        ------
        ConfigurationError
            Nothing can be called so.
        """
        if name == "none":
            return cls(kind=WITHOUT, rest=",".join(GROUPS))
        written = WRITTEN.fullmatch(name)
        if written is None or name == "full":
            raise ConfigurationError(
                f"no arm is called {name!r}; arms are called full, none, or such as without:recipient"
            )
        return cls(kind=written["kind"], rest=unquote(written["rest"] or ""), version=int(written["version"] or 1))


NOTHING_LEFT = Transform(kind=WITHOUT, rest=",".join(GROUPS))


class Arm(Record):
    """How an item is shown: as it is, changed by each transform in turn."""

    transforms: tuple[Transform, ...] = ()

    @model_validator(mode="after")
    def _canonical(self) -> Self:
        object.__setattr__(self, "transforms", tuple(joined(self.transforms)))
        return self

    @classmethod
    def without(cls, *omitted: str) -> Self:
        """The arm that leaves out parameters or groups; `full` where none is named.

        Raises
        ------
        ConfigurationError
            A name is none that a parameter or a group can have.
        """
        return cls(transforms=(Transform(kind=WITHOUT, rest=",".join(omitted)),) if omitted else ())

    @classmethod
    def named(cls, name: str) -> Self:
        """The arm called `name`: `full`, or transforms joined by `+`. Whether there are such is not asked here.

        Raises
        ------
        ConfigurationError
            `name` is no arm's name.
        """
        return cls() if name == "full" else cls(transforms=tuple(Transform.named(part) for part in name.split("+")))

    @property
    def name(self) -> str:
        """`full`, `none`, `without:` and what is left out, or several transforms joined by `+`."""
        return "+".join(one.name for one in self.transforms) or "full"

    @property
    def shows_all(self) -> bool:
        """Whether items are shown as they are."""
        return not self.transforms

    @property
    def only_omits(self) -> bool:
        """Whether items are shown as they are but for what is left out, if anything."""
        return all(one.omits for one in self.transforms)

    @property
    def omitted(self) -> tuple[str, ...]:
        """The parameters and groups that are left out, in reading order."""
        return in_order(name for one in self.transforms for name in one.omits)


def joined(transforms: Iterable[Transform]) -> Iterator[Transform]:
    """`transforms` with omissions that follow each other made one, in reading order; of groups, all three are all."""
    omitted: tuple[str, ...] = ()
    for one in transforms:
        if one.omits:
            omitted = in_order((*omitted, *one.omits))
        else:
            yield from omission(omitted)
            yield one
            omitted = ()
    yield from omission(omitted)


def omission(names: tuple[str, ...]) -> Iterator[Transform]:
    if names:
        yield NOTHING_LEFT if set(GROUPS) <= set(names) else Transform(kind=WITHOUT, rest=",".join(names))


FULL = Arm()
NO_CONTEXT = Arm(transforms=(NOTHING_LEFT,))
