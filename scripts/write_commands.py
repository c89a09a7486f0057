"""Writes docs/commands.md: the help of every command, as the command line gives it."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

from cyclopts import App

from casewise.cli.app import app, prepare

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"


def reference() -> str:
    """The whole page."""
    parts = ["# Commands", "", "What `--help` says of every command; `scripts/write_commands.py` writes this page.", ""]
    for names in leaves(app):
        prepare(names[0])
        shown = io.StringIO()
        with redirect_stdout(shown), patch.dict(os.environ, {"COLUMNS": "100", "TERM": "dumb"}):
            app.meta([*names, "--help"])
        parts += [f"## `casewise {' '.join(names)}`", "", "```text", shown.getvalue().strip(), "```", ""]
    return "\n".join(line.rstrip() for part in parts for line in part.split("\n"))


def leaves(command: App, *above: str) -> list[tuple[str, ...]]:
    """The names of every command that does something."""
    inner = [name for name in command if not name.startswith("-")]
    return [leaf for name in inner for leaf in leaves(command[name], *above, name)] if inner else [above]


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
