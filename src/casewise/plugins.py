"""Parts that other packages bring, by entry points, and the optional packages of casewise itself.

A package names its parts in its `pyproject.toml`, under one group for each kind:

    [project.entry-points."casewise.judges"]
    mine = "my_package.judges:make"

Names are looked up when somebody writes them, and a part is imported only then.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points, requires
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import unquote, urlsplit

from casewise.errors import ConfigurationError

__all__ = ["KINDS", "Plugin", "add_command", "extra_with", "install_command", "plugin", "plugin_names", "plugins"]

KINDS: dict[str, str] = {
    "elicitations": "a `casewise.ask.elicitations.Elicited`; written --elicit NAME",
    "metrics": "a `casewise.stats.metrics.Metric`; it stands in the tables of metrics and in gates",
    "judges": "a function of `casewise.judges.named.Wish` that returns a `Judge`; written NAME or NAME:REST",
    "graders": "a function of the text behind NAME: that returns a `Grader`; written NAME or NAME:REST",
    "transforms": "a `casewise.transforms.catalogue.TransformKind`; written NAME or NAME:REST in an arm",
    "benchmarks": "a `casewise.storage.loaders.loader.Loader`; written NAME wherever a benchmark is",
    "formats": "a `casewise.storage.intake.formats.format.Format`; a file of it is recognised by its content",
    "recruiters": "a function of `RecruiterSettings` that returns a `Recruiter`; [recruiter] kind = NAME",
    "exporters": "a function of a source (text) and a target path that writes there; written --to NAME",
}
"""Each kind of part: its entry-point group is `casewise.KIND`, and this is what an entry point names."""


@dataclass(frozen=True)
class Plugin:
    """A part that another package brings."""

    kind: str
    """One of `KINDS`."""
    name: str
    package: str
    """The distribution that brings it, with its version."""
    value: str
    """Where it is: module:attribute."""

    def load(self) -> Any:
        """Import the part.

        Raises ConfigurationError: it cannot be imported; the message names its package.
        """
        try:
            return EntryPoint(self.name, self.value, f"casewise.{self.kind}").load()
        except Exception as error:  # the module is a stranger's, and may raise anything as it is imported
            problem = f"{type(error).__name__}: {error}"
            raise ConfigurationError(
                f"the {self.kind[:-1]} {self.name!r} of {self.package} ({self.value}) cannot be loaded: {problem}"
            ) from error


def plugins(kind: str) -> tuple[Plugin, ...]:
    """Return the parts of one kind that installed packages bring, by name; nothing is imported.

    Raises ConfigurationError: two packages bring a part of one name.
    """
    return tuple(described(kind, name) for name in plugin_names(kind))


def plugin(kind: str, name: str) -> Any | None:
    """Return the part of this kind and name, imported; None where no package brings one.

    Raises ConfigurationError: it cannot be imported, or two packages bring it.
    """
    return described(kind, name).load() if name in plugin_names(kind) else None


def plugin_names(kind: str) -> tuple[str, ...]:
    """Return the names of the parts of one kind, in order."""
    return tuple(sorted({point.name for point in found(kind)}))


@cache
def found(kind: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=f"casewise.{kind}"))


def described(kind: str, name: str) -> Plugin:
    points = [point for point in found(kind) if point.name == name]
    if len({point.value for point in points}) > 1:
        packages = " and ".join(sorted({package_of(point) for point in points}))
        raise ConfigurationError(f"{packages} both bring {kind} called {name!r}; uninstall one of them")
    return Plugin(kind, name, package_of(points[0]), points[0].value)


def package_of(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


# Optional packages: which extra of casewise brings one, and the command that installs it.


def extra_with(module: str) -> str | None:
    """The extra that brings a module; None where none does."""
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
    requirement = f"{path if is_here else 'casewise'}[{','.join(extras)}]"
    if "archive-v0" in Path(sys.prefix).parts:  # uvx's own cache
        return f"uvx --from {shlex.quote(requirement)} casewise"
    return add_command(requirement, editable=is_here and bool(origin.get("dir_info", {}).get("editable")))


def add_command(requirement: str, *, editable: bool = False) -> str:
    """Return the command that installs a package into this environment, wherever it is typed.

    The installer is the environment's own pip; without it uv, and without uv the pip that Python brings.
    """
    python = shlex.quote(sys.executable)
    words = f"{'-e ' if editable else ''}{shlex.quote(requirement)}"
    if find_spec("pip"):
        return f"{python} -m pip install {words}"
    if which("uv"):
        return f"uv pip install --python {shlex.quote(sys.prefix)} {words}"
    return f"{python} -m ensurepip && {python} -m pip install {words}"
