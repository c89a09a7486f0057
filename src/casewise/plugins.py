"""The parts of casewise by kind and name: its own and those of other packages; and its optional packages.

A part is an object of one class for each kind, also in other packages: casewise's own parts stand in a mapping of the room that
they belong to, and another package names its parts in its `pyproject.toml`, under one group for each kind:

    [project.entry-points."casewise.judges"]
    mine = "my_package.judges:make"

A package's part is imported when it is used. One that cannot be imported disables itself and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points, requires
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from traceback import walk_tb
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from casewise.errors import ConfigurationError


@dataclass(frozen=True)
class PartKind:
    """A kind of part: what an entry point of the group `casewise.KIND` names, and where casewise's own parts are."""

    part: str | None
    """`module:class` of a part; None where a part is a function."""
    use: str
    """The place where a user names a part, and what a function takes and returns."""
    builtin: str | None = None
    """`module:attribute` of a mapping from the names of casewise's own parts to the parts, or of a function that returns one;
    None where it has no such objects."""


KINDS: dict[str, PartKind] = {
    "elicitations": PartKind(
        "casewise.ask.elicitations:ElicitationKind", "written --elicit NAME", "casewise.ask.elicitations:ELICITATIONS"
    ),
    "metrics": PartKind(
        "casewise.stats.metrics:Metric", "in the tables of metrics and in gates", "casewise.stats.metrics:BY_NAME"
    ),
    "judges": PartKind("casewise.judges.named:JudgeKind", "written NAME or NAME:REST", "casewise.judges.named:JUDGES"),
    "graders": PartKind(None, "a function of the text behind NAME: that returns a `Grader`; written NAME or NAME:REST"),
    "transforms": PartKind(
        "casewise.transforms.catalogue:TransformKind",
        "written NAME or NAME:REST in an arm",
        "casewise.transforms.catalogue:TRANSFORMS",
    ),
    "benchmarks": PartKind(
        "casewise.storage.loaders.loader:Loader",
        "written NAME wherever a benchmark is",
        "casewise.storage.loaders.public:own_loaders",
    ),
    "formats": PartKind(
        "casewise.storage.intake.formats.format:TableFormat",
        "a file of it is recognised by its content",
        "casewise.storage.intake.formats.find:own_formats",
    ),
    "report_formats": PartKind(
        "casewise.reports.formats:Format",
        "written --format NAME, or chosen by the ending of a file",
        "casewise.reports.formats:FORMATS",
    ),
    "recruiters": PartKind(
        None, "a function of `RecruiterSettings` that returns a `Recruiter`; [recruiter] kind = NAME"
    ),
    "exporters": PartKind(None, "a function of a source (text) and a target path that writes there; written --to NAME"),
}
"""Each kind of part, with what an entry point of its group names."""

P = TypeVar("P")


@dataclass(frozen=True)
class Plugin:
    """A part that another package brings."""

    kind: str
    """One of `KINDS`."""
    name: str
    package: str
    """The distribution that brings it, with its version."""
    value: str
    """Place of the part: module:attribute."""

    def load(self, part_type: type[P]) -> P:
        """Import the part.

        Raises ConfigurationError: it cannot be imported, or is no `part_type`; the message names its package.
        """
        imported = imported_part(self)
        if not isinstance(imported, part_type):
            raise ConfigurationError(
                f"{self.title} cannot be loaded: its type is {type(imported).__name__}, not {part_type.__name__}"
            )
        return imported

    @property
    def title(self) -> str:
        """The kind, the name and the package, as messages name it."""
        return f"the {' '.join(self.kind[:-1].split('_'))} {self.name!r} of {self.package} ({self.value})"


@cache
def imported_part(plugin: Plugin) -> object:
    try:
        return EntryPoint(plugin.name, plugin.value, f"casewise.{plugin.kind}").load()
    except (Exception, SystemExit) as error:  # the module is a stranger's, and may raise anything as it is imported
        words = " ".join(str(error).split())
        raise ConfigurationError(f"{plugin.title} cannot be loaded: {type(error).__name__}: {words}") from error


def package_that_raised(error: BaseException) -> str | None:
    """Return the package, with the place, whose code the traceback of an error runs through, the innermost; None for none."""
    packages_of = {
        point.value.partition(":")[0].partition(".")[0]: package_of(point)
        for kind in KINDS
        for point in entry_points_of(kind)
    }
    places = [(str(frame.f_globals.get("__name__")), line) for frame, line in walk_tb(error.__traceback__)]
    for module, line in reversed(places):
        package = packages_of.get(module.partition(".")[0])
        if package is not None and module.partition(".")[0] != __package__:
            return f"{package} ({module}, line {line})"
    return None


@cache
def builtin_parts(kind: str) -> Mapping[str, Any]:
    """Return casewise's own parts of a kind, by name."""
    where = KINDS[kind].builtin
    parts: Any = EntryPoint(kind, where, "casewise").load() if where else {}
    named: Mapping[str, Any] = parts() if callable(parts) else parts
    return named


def packages(kind: str) -> dict[str, str]:
    """Return the package that brings each part of a kind which is not casewise's own, by the part's name."""
    return {point.name: package_of(point) for point in sorted(entry_points_of(kind), key=lambda point: point.name)}


@cache
def part_names(kind: str) -> tuple[str, ...]:
    """Return the names of the parts of a kind: casewise's own, then those of installed packages in alphabetical order.

    A package's part is imported only when it is used, so a name may be of a part that cannot be loaded.
    """
    return tuple(dict.fromkeys((*builtin_parts(kind), *sorted(point.name for point in entry_points_of(kind)))))


def find_part(kind: str, name: str, part_type: type[P]) -> P | None:
    """Return the part of this kind and name; None where there is none.

    Raises ConfigurationError: it is another package's and cannot be loaded, or two packages bring it.
    """
    if (builtin := builtin_parts(kind).get(name)) is not None:
        assert isinstance(builtin, part_type), f"{name} is no {part_type.__name__}"
        return builtin
    return find_plugin(kind, name).load(part_type) if name in part_names(kind) else None


def find_function(kind: str, name: str) -> Callable[..., Any] | None:
    """Return the part of this kind and name, which is a function or a class; None where there is none.

    Raises ConfigurationError: as `find_part`, or it cannot be called.
    """
    made = find_part(kind, name, object)
    if made is None or callable(made):
        return made
    raise ConfigurationError(f"{find_plugin(kind, name).title} cannot be loaded: it is no function")


def all_parts(kind: str, part_type: type[P]) -> dict[str, P]:
    """Return all parts of a kind that can be used, by name. A part that cannot is left out: see `disabled_reasons`."""
    usable: dict[str, P] = {}
    for name in part_names(kind):
        with suppress(ConfigurationError):
            if (usable_part := find_part(kind, name, part_type)) is not None:
                usable[name] = usable_part
    return usable


def disabled_reasons(kind: str) -> tuple[str, ...]:
    """Return a sentence for each part of installed packages that is left out, with the reason."""
    problems = dict.fromkeys(problem for _, problem in installed_plugins(kind) if problem)
    return tuple(f"{problem[0].upper()}{problem[1:]}. It is left out." for problem in problems)


def installed_plugins(kind: str) -> Iterator[tuple[Plugin, str | None]]:
    """Yield the parts of one kind that installed packages bring, each with the reason why it cannot be used, if any."""
    for point in sorted(entry_points_of(kind), key=lambda point: point.name):
        yield Plugin(kind, point.name, package_of(point), point.value), part_problem(kind, point.name)


def part_problem(kind: str, name: str) -> str | None:
    """Return the reason why a package's part cannot be used; None where it can."""
    part_type = KINDS[kind].part
    try:
        if part_type is None:
            find_function(kind, name)
        else:
            find_plugin(kind, name).load(EntryPoint(name, part_type, "casewise").load())
    except ConfigurationError as error:
        return str(error)
    return None


@cache
def entry_points_of(kind: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=f"casewise.{kind}"))


def find_plugin(kind: str, name: str) -> Plugin:
    points = [point for point in entry_points_of(kind) if point.name == name]
    if name in builtin_parts(kind):
        raise ConfigurationError(
            f"{package_of(points[0])} brings {kind} called {name!r}, which is casewise's own name; it has to have another"
        )
    if len({point.value for point in points}) > 1:
        packages = " and ".join(sorted({package_of(point) for point in points}))
        raise ConfigurationError(f"{packages} both bring {kind} called {name!r}; uninstall one of them")
    return Plugin(kind, name, package_of(points[0]), points[0].value)


def package_of(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


# Optional packages: which extra of casewise brings one, and the command that installs it.


def extra_with(module: str) -> str | None:
    """Return the extra that brings a module; None where none does."""
    package = module.partition(".")[0].lower()
    for requirement in requires("casewise") or ():
        name, _, extra = requirement.partition("extra ==")
        if package and extra and re.split(r"[^a-z0-9]", name.lower())[0] == package:
            return extra.strip(" '\"")
    return None


def install_command(*extras: str) -> str:
    """Return the command that adds extras to the casewise that runs: to a clone or a wheel by its path, else by its name.

    Under uvx it is a new call of that.
    """
    try:
        recorded = distribution("casewise").read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    origin = json.loads(recorded or "{}")
    path = Path(unquote(urlsplit(origin.get("url", "")).path))
    is_here = origin.get("url", "").startswith("file:") and path.exists()
    requirement = f"{relative_to_here(str(path)) if is_here else 'casewise'}[{','.join(extras)}]"
    if "archive-v0" in Path(sys.prefix).parts:  # uvx's own cache
        return f"uvx --from {shlex.quote(requirement)} casewise"
    return add_command(requirement, editable=is_here and bool(origin.get("dir_info", {}).get("editable")))


def add_command(requirement: str, *, editable: bool = False, dependencies: bool = True) -> str:
    """Return the command that installs a package into this environment, to be typed in the current folder.

    The installer is the environment's own pip; without it uv, and without uv the pip that Python brings.
    """
    python = shlex.quote(relative_to_here(sys.executable))
    words = f"{'-e ' if editable else ''}{'' if dependencies else '--no-deps '}{shlex.quote(requirement)}"
    if find_spec("pip"):
        return f"{python} -m pip install {words}"
    if which("uv"):
        return f"uv pip install --python {shlex.quote(relative_to_here(sys.prefix))} {words}"
    return f"{python} -m ensurepip && {python} -m pip install {words}"


def relative_to_here(path: str) -> str:
    """Return a path in its short form, relative to the current folder, if it lies in that folder."""
    if not Path(path).absolute().is_relative_to(Path.cwd()):
        return path
    short = os.path.relpath(path)
    return short if short == "." or os.sep in short else f"./{short}"  # a bare name is a package of the index
