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
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from casewise import api
from casewise.cli.printing import JsonOption, note, saying

__all__ = ["as_json_too", "with_groups"]


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
        with api.telling_long_steps(note) if sys.stderr.isatty() else nullcontext():  # as progress is: no log has times
            command(**given, **made)

    as_typer_reads(called, spelt)
    return called


def as_json_too(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with --json, where it has none of its own: what it says by `say` is then one JSON document."""
    spelt = inspect.signature(command).parameters
    if "as_json" in spelt:
        return command

    @wraps(command)
    def called(*, as_json: bool, **given: Any) -> None:
        with saying(as_json=as_json):
            command(**given)

    hints = get_type_hints(command, include_extras=True)
    last = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption)
    own = [one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY) for one in spelt.values()]
    as_typer_reads(called, [*own, last])
    return called


def as_typer_reads(command: Callable[..., Any], parameters: list[inspect.Parameter]) -> None:
    """Give `command` these parameters, in both places where typer looks; `wraps` has copied those of another."""
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {one.name: one.annotation for one in parameters}


def options_of(group: Any) -> Iterator[inspect.Parameter]:
    """The fields of an option group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
        )
