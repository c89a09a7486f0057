"""Options that belong together, as one object: a frozen dataclass of annotated fields in a command's signature.

    @dataclass(frozen=True)
    class Limits:
        max_cost: Annotated[float | None, Option("--max-cost", help="US dollars.")] = None

    @with_groups
    def judge(benchmark: Annotated[str, Argument()], limits: Limits) -> None: ...

Typer sees `benchmark` and `max_cost`, in the order in which they are written; the command gets a `Limits`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

__all__ = ["with_groups"]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """`command` as typer wants it: each option group is spelt out into the options that it has."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    spelt = [
        one
        for parameter in inspect.signature(command).parameters.values()
        for one in (
            options_of(groups[parameter.name])
            if parameter.name in groups
            else (parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY),)
        )
    ]

    @wraps(command)
    def called(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**given, **made)

    # Typer reads both; `wraps` has copied those of the command.
    vars(called)["__signature__"] = inspect.Signature(spelt)
    called.__annotations__ = {one.name: one.annotation for one in spelt}
    return called


def options_of(group: Any) -> Iterator[inspect.Parameter]:
    """The fields of an option group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )
