"""Writes docs/commands.md: the help of every command, as the command line gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.main import get_command
from typer.testing import CliRunner

from casewise.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"


def reference() -> str:
    """The whole page."""
    parts = ["# Commands", "", "What `--help` says of every command; `scripts/write_commands.py` writes this page.", ""]
    for names in leaves(get_command(app)):
        shown = CliRunner().invoke(
            app, [*names, "--help"], env={"COLUMNS": "100", "TERM": "dumb"}, prog_name="casewise"
        )
        parts += [f"## `casewise {' '.join(names)}`", "", "```text", shown.stdout.strip(), "```", ""]
    return "\n".join(line.rstrip() for part in parts for line in part.split("\n"))


def leaves(command: Any, *above: str) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    if not inner:
        return [above]
    return [names for name, one in inner.items() if not one.hidden for names in leaves(one, *above, name)]


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    typer.echo(f"wrote {PAGE.name}")
