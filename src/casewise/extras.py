"""Optional parts: which extra brings a package, and the command that installs it for the way casewise is installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution, requires
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["extra_with", "install_command"]


def extra_with(module: str) -> str | None:
    """The extra that brings a module; None where none does."""
    package = module.partition(".")[0].lower()
    for requirement in requires("casewise") or ():
        name, _, extra = requirement.partition("extra ==")
        if package and extra and re.split(r"[^a-z0-9]", name.lower())[0] == package:
            return extra.strip(" '\"")
    return None


def install_command(*extras: str) -> str:
    """The command that adds extras to the casewise that runs.

    A clone or a folder is named by its path, a wheel by its file, anything else by its name on the index. The installer
    is the environment's own: pip, or uv where there is no pip; under uvx, a new call of it.
    """
    source, editable = installed_from()
    names = ",".join(extras)
    requirement = f"{source}[{names}]" if "@" not in source else source.replace(" @", f"[{names}] @", 1)
    parts = Path(sys.prefix).parts
    if "archive-v0" in parts:  # uvx's own cache
        return f"uvx --from '{requirement}' casewise"
    if ("uv", "tools") in pairwise(parts):
        return f"uv tool install '{requirement}'"
    flag = "-e " if editable else ""
    return f"{installer()} {flag}'{requirement}'"


def installer() -> str:
    """`pip install` where that is this environment's pip, else the same by its path, or uv's."""
    scripts = Path(sys.prefix) / ("Scripts" if os.name == "nt" else "bin")
    if find_spec("pip") is None:
        return (
            "uv pip install" if os.environ.get("VIRTUAL_ENV") == sys.prefix else f"uv pip install --python {sys.prefix}"
        )
    on_path = shutil.which("pip")
    if on_path and Path(on_path).parent == scripts:
        return "pip install"
    return f"{shlex.quote(shortest(Path(sys.executable)))} -m pip install"


def installed_from() -> tuple[str, bool]:
    """Return the source for an installer (path, `casewise @ URL` or name), and whether it is editable."""
    try:
        recorded = distribution("casewise").read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    origin = json.loads(recorded) if recorded else {}
    url = str(origin.get("url", ""))
    if url.startswith("file:"):
        path = Path(unquote(urlsplit(url).path))
        if path.exists():
            source = shortest(path)
            if source != "." and not Path(source).is_absolute():
                source = f"./{source}"  # or an installer takes it for a name on the index
            return source, bool(origin.get("dir_info", {}).get("editable"))
    elif url:
        kind = origin.get("vcs_info", {}).get("vcs")
        return f"casewise @ {f'{kind}+' if kind else ''}{url}", False
    return "casewise", False


def shortest(path: Path) -> str:
    """`path` from here, where it lies below this folder; else whole."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
