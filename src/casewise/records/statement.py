"""What a parameter of a context states: a text, a number, true or false, or these in lists or under headings.

Almost all are plain texts. Of the 900 published contexts 31 state the recipient's background, and three or four each
other parameter, under headings (`demographics`, `previous_interaction.role`); two of these hold booleans and numbers
(`general_usage: false`, `age: 45`). Each is kept as it is: `false` and `"false"` are different statements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StringConstraints, WrapValidator
from pydantic_core import ValidationError
from typing_extensions import TypeAliasType

__all__ = ["Statement", "Text", "as_text", "headings"]

Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S", strict=True)]
"""A text that says something."""

Stated = TypeAliasType(
    "Stated",
    "Text | StrictBool | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | Annotated[list[Stated | None], Field(min_length=1)] | "
    "Annotated[dict[str, Stated | None], Field(min_length=1)]",
)


def one_problem(value: Any, validated: Any) -> Any:
    """Says what is wrong with a statement once, where pydantic would say it for each form that it could have."""
    try:
        return validated(value)
    except ValidationError:
        raise ValueError(problem(value)) from None


Statement = Annotated[Stated, WrapValidator(one_problem)]


def problem(value: Any, *, where: str = "") -> str:
    """Why `value` is no statement, in words: the first part of it that states nothing, and where that stands."""
    if isinstance(value, (dict, list)) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value, 1)
        wrong = next(((name, part) for name, part in parts if part is not None and not states(part)), None)
        if wrong is not None:
            name, part = wrong
            return problem(part, where=f"{where}{', ' if where else ''}{name!r}")
    found = said_of_nothing(value)
    place = f"under {where} it " if where else ""
    return f"{place}states {found}; a parameter states a text, a number, true or false, or these in a list or under headings"


def said_of_nothing(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "a text of spaces" if value else "an empty text"
    return repr(value)[:80]


def states(value: Any) -> bool:
    """Whether `value` is a statement."""
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, (list, dict)):
        parts = value.values() if isinstance(value, dict) else value
        return bool(value) and all(part is None or states(part) for part in parts)
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


def as_text(statement: Statement) -> str:
    """`statement` as one running text: `demographics, role: an analyst; …`; a plain text is left as it is."""
    if isinstance(statement, str):
        return statement
    return "; ".join(f"{heading}: {text}" if heading else text for heading, text in headings(statement))


def headings(statement: Statement | None, *, above: str = "") -> Iterator[tuple[str, str]]:
    """Every text of `statement` with its heading, words for underscores; a plain text has the empty one.

    True and false are said as `yes` and `no`, a number in its digits, and null as `not stated`.
    """
    if isinstance(statement, list):
        for part in statement:
            yield from headings(part, above=above)
    elif isinstance(statement, dict):
        for name, part in statement.items():
            spoken = name.replace("_", " ")
            yield from headings(part, above=f"{above}, {spoken}" if above else spoken)
    else:
        yield above, in_words(statement)


def in_words(value: str | float | bool | None) -> str:
    """A statement that has no parts, as one says it."""
    if value is None:
        return "not stated"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
