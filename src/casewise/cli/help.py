"""The layout of help: options in groups, names to the left, plain words for the types of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve
from cyclopts.help import PlainFormatter

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

VALUES = {"INT": "N", "FLOAT": "X", "PATH": "FILE", "STR": "TEXT", "CHOICE": "WORD"}
"""The word for the type of a value: cyclopts' word, and ours."""

WIDEST_NAME = 30
"""Columns for an option's names at most."""


class Help(PlainFormatter):
    """A heading a group, and under it two columns."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:  # noqa: ARG002
        """Print a group of options or of commands."""
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        if not panel.entries:
            return
        console.print(f"{panel.title}:", highlight=False, markup=False)
        rows = [(names_of(entry), description_of(entry, console)) for entry in panel.entries]
        width = min(max(len(names) for names, _ in rows), WIDEST_NAME)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width, overflow="fold")
        grid.add_column(overflow="fold")
        for row in rows:
            grid.add_row(*map(Text, row))
        console.print(Padding(grid, (0, 0, 0, 2)), highlight=False, markup=False)
        console.print()

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Print the usage line with our words for what a value is."""
        words = str(usage).replace("...", "").split(" ")
        super().render_usage(console, options, " ".join(VALUES.get(word, word) for word in words))

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """Print what a command does, a paragraph at a time as wide as the terminal."""
        with console.capture() as capture:
            super().render_description(console, options, description)
        for paragraph in capture.get().strip().split("\n\n"):
            console.print(" ".join(paragraph.split()), highlight=False, markup=False)
            console.print()


def names_of(entry: HelpEntry) -> str:
    """Return an option's names with the word for its value."""
    value = entry.metavar and VALUES.get(entry.metavar.removesuffix("..."), entry.metavar)
    return ", ".join(evolve(entry, metavar=value).display_labels_with_metavar)


def description_of(entry: HelpEntry, console: Console) -> str:
    """Return an option's help, the words that it takes, and its default."""
    with console.capture() as capture:
        console.print(entry.description or "", end="", highlight=False, markup=False, soft_wrap=True)
    parts = [" ".join(capture.get().split())]
    parts += [f"One of: {', '.join(entry.choices)}."] if entry.choices else []
    parts += [f"[default: {entry.default}]"] if entry.default not in (None, "False", "()", '""') else []
    parts += ["[required]"] if entry.required else []
    return " ".join(part for part in parts if part)


HELP = Help()
