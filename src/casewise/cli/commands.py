"""How commands are declared: groups loaded on first use, options shared by several."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import nullcontext
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from casewise import api
from casewise.cli.printing import JsonOption, note, saying

# Options that belong together, as one object: a frozen dataclass of annotated fields in a command's signature.
#
#     @dataclass(frozen=True)
#     class Limits:
#         max_cost: Annotated[float | None, Option("--max-cost", help="US dollars.")] = None
#
#     @with_groups
#     def judge(benchmark: Annotated[str, Argument()], limits: Limits) -> None: ...
#
# Typer sees `benchmark` and `max_cost`, in the order in which they are written; the command gets a `Limits`.


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


# The top of the command line: commands in sections, each loaded when it is called and not before.


class Entry(NamedTuple):
    """A command, or a noun with commands of its own."""

    name: str
    where: str
    """`module:name` of its function or its `typer.Typer`."""
    help: str
    """What the page of all commands says of it, in one line; the command's own help says more."""


class OnceCommand(TyperCommand):
    """A command that refuses an option of one value given twice; typer takes the last and says nothing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = self.make_parser(ctx).parse_args(list(args))[2]
        rest = super().parse_args(ctx, args)
        for one in given:
            if isinstance(one, TyperOption) and not (one.multiple or one.is_flag) and given.count(one) > 1:
                ctx.fail(f"{one.opts[0]} is given more than once; it takes one value")
        return rest


class LazyCommands(MutableMapping[str, Any]):
    """Name to command, made when it is asked for."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = dict(entries)
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = command_at(self.entries[name])
        return self.made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self.made[name] = command

    def __delitem__(self, name: str) -> None:
        del self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries


def command_at(entry: Entry) -> Any:
    """The command that an entry speaks of, loaded."""
    module, _, attribute = entry.where.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    around = typer.Typer(add_completion=False, rich_markup_mode=None)
    around.callback()(nothing)
    if isinstance(found, typer.Typer):
        as_all_are(found)
        around.add_typer(found, name=entry.name)
    else:
        around.command(entry.name, cls=OnceCommand)(as_json_too(found))
    return vars(get_command(around))["commands"][entry.name]


def as_all_are(app: typer.Typer) -> None:
    """Give every command of `app`, and of what is under it, --json, and let none take an option twice."""
    for command in app.registered_commands:
        command.cls = OnceCommand
        if command.callback is not None:
            command.callback = as_json_too(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            as_all_are(group.typer_instance)


def nothing() -> None:
    """With a callback a program stays a group, however few commands it has."""


def lazy_group(sections: Mapping[str, tuple[Entry, ...]]) -> type[TyperGroup]:
    """A group of the commands in `sections`, by their headings; an empty section is not shown."""
    entries = {entry.name: entry for section in sections.values() for entry in section}
    width = max(len(name) for name in entries)

    class LazyGroup(TyperGroup):
        def __init__(self, **attrs: Any) -> None:
            super().__init__(**attrs)
            self.commands = LazyCommands(entries)

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (typer asks so)
            return list(entries)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
            for heading, section in sections.items():
                if section:
                    with formatter.section(heading):
                        formatter.write_dl([(entry.name.ljust(width), entry.help) for entry in section])

    return LazyGroup


# Options that the commands of `casewise study` share.


DEFAULT = Path("study.toml")

StudyArgument = Annotated[Path, typer.Argument(help="The study's TOML file.")]
StudyOption = Annotated[Path, typer.Option("--study", help="The study's TOML file.")]
PhaseOption = Annotated[str, typer.Option("--phase", help="main or pilot.")]
