"""Writes docs/reference/commands: the help of every command as the command line gives it, a page for each noun, and its place in the site."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

from cyclopts import App

from casewise.cli.app import SECTIONS, app, show_docstring_as_help
from casewise.cli.help import HELP

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference" / "commands"


def reference() -> dict[str, str]:
    """Return the text of every page of the folder by its file's name."""
    return {"index.md": _index()} | {f"{noun}.md": _page(noun) for noun in _nouns()}


def leaves(command: App, *above: str) -> list[tuple[str, ...]]:
    """Return the names of every command that does something."""
    inner = [name for name in command if not name.startswith("-")]
    return [leaf for name in inner for leaf in leaves(command[name], *above, name)] if inner else [above]


def _nouns() -> list[str]:
    return [noun for commands in SECTIONS.values() for noun in commands]


def _index() -> str:
    lines = ["# Commands", "", "`scripts/write_commands.py` writes these pages from the `--help` of each command."]
    for heading, commands in SECTIONS.items():
        lines += ["", f"## {heading}", "", "| command | purpose |", "|---|---|"]
        lines += [f"| [`casewise {noun}`]({noun}.md) | {purpose} |" for noun, (_, purpose) in commands.items()]
    return "\n".join([*lines, ""])


def _page(noun: str) -> str:
    show_docstring_as_help(noun)
    names = leaves(app[noun], noun)
    parts = [f"# casewise {noun}", ""]
    for name in names:
        shown = io.StringIO()
        with (
            redirect_stdout(shown),
            patch.object(HELP, "whole", new=True),
            patch.dict(os.environ, {"COLUMNS": "100", "TERM": "dumb"}),
        ):
            app.meta([*name, "--help"])
        heading = [] if names == [(noun,)] else [f"## casewise {' '.join(name)}", ""]
        parts += [*heading, "```text", shown.getvalue().strip(), "```", ""]
    return "\n".join(line.rstrip() for part in parts for line in part.split("\n"))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    pages = reference()
    for page in FOLDER.glob("*.md"):
        if page.name not in pages:
            page.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    site = ROOT / "zensical.toml"
    places = "".join(f'      "reference/commands/{name}",\n' for name in pages)
    nav = re.sub(
        r'(\{ "Commands" = \[\n).*?(?=    \])',
        lambda found: found[1] + places,
        site.read_text("utf-8"),
        flags=re.DOTALL,
    )
    site.write_text(nav, encoding="utf-8")
    print(f"wrote {len(pages)} pages in {FOLDER.name}/")
