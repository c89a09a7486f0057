"""Optional parts: which extra brings a package, and the command that installs it."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution, requires
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
    """The command that adds extras to casewise: to a clone or a wheel by its path, else by its name on the index."""
    try:
        recorded = distribution("casewise").read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    origin = json.loads(recorded or "{}")
    path = Path(unquote(urlsplit(origin.get("url", "")).path))
    is_here = origin.get("url", "").startswith("file:") and path.exists()
    flag = "-e " if is_here and origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {flag}'{path if is_here else 'casewise'}[{','.join(extras)}]'"
