"""Write the repository's address, `[tool.casewise] repository` in pyproject.toml, wherever the project names it.

    python scripts/repository.py

Until there is an address the word ADDRESS stands in its place.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

PLACES = ("README.md", "CONTRIBUTING.md", "docs/start/quickstart.md")
"""The pages whose commands clone the repository."""

CLONE = re.compile(r"(?<=git clone )\S+(?= casewise)")


def address() -> str:
    """Return the repository's address, or ADDRESS where none is set."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["casewise"]["repository"] or "ADDRESS"


def named(text: str) -> str:
    """Return a page with the address in its `git clone` commands."""
    return CLONE.sub(address(), text)


if __name__ == "__main__":
    for place in PLACES:
        page = ROOT / place
        page.write_text(named(page.read_text(encoding="utf-8")), encoding="utf-8")
