"""The layout of help: options in groups, names to the left, plain words for the types of values."""

from __future__ import annotations

from ast import literal_eval
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

MOST_SHOWN = 15
"""Options that `--help` shows at most."""

PAGES = "html out json"

USUAL = {
    "attack": "judge out attacks defences noise repeats elicit sample limit base-url prompts max-cost dry-run yes json",
    "check": "judge query id context annotator vote votes label safe-word unsafe-word max-harm max-over-refusal html out json",
    "compare": f"labels ties unscored benchmark items fit-thresholds {PAGES}",
    "contexts check": "ask out retry-unread base-url database max-cost batch wait concurrency dry-run yes json",
    "contexts generate": "model base-url intents which attempts prompts max-cost concurrency dry-run yes json",
    "contexts select": "draft intents per-category seed movable keep-approved query category context intended database json",
    "data import": "out query id context category annotator vote votes label safe-word unsafe-word repeats skip-bad dry-run json",
    "decider fit": "out ratio max-harm max-over-refusal level labels elicit arm base-url refuse-unmeasured benchmark html json",
    "gate": f"baseline max-drop max-turned max-unscored labels benchmark items junit summary {PAGES}",
    "judge": "judge out elicit no-context omit repeats sample limit base-url prompts max-cost dry-run yes json",
    "leaderboard": f"outputs arms site labels unscored benchmark items {PAGES}",
    "power judges": f"difference from discordance items-per-query alpha power n benchmark {PAGES}",
    "power study": f"effect-size groups p1 p2 rates alpha power n people queries from difference {PAGES}",
    "recommend": f"ratio max-harm max-over-refusal level chosen-from labels benchmark {PAGES}",
    "replies collect": "model from out arms repeats sample limit base-url max-cost concurrency dry-run yes json",
    "replies grade": "grader rubric benchmark retry-ungraded base-url max-cost concurrency dry-run yes json",
    "report": f"failures full labels ties unscored benchmark items {PAGES}",
    "reread": "pattern reader by out marks browser base-url max-cost price-in price-out yes json",
    "serve": "host port keys capture on-full without-keys benchmark only with-texts database site-url workers json",
}
"""The options that `--help` shows of commands with more than `MOST_SHOWN`. `--help-all` shows every one."""


class Help(PlainFormatter):
    """A heading a group, and under it two columns."""

    whole = False
    """True for `--help-all`."""
    usual: frozenset[str] | None = None
    """The options of the command at hand that are shown; None for all."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:  # noqa: ARG002
        """Print a group of options or of commands."""
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        entries = [entry for entry in panel.entries if self.shows(entry)]
        if not entries:
            return
        console.print(f"{panel.title}:", highlight=False, markup=False)
        rows = [(names_of(entry), description_of(entry, console)) for entry in entries]
        width = min(max(len(names) for names, _ in rows), WIDEST_NAME)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=width, overflow="fold")
        grid.add_column(overflow="fold")
        for row in rows:
            grid.add_row(*map(Text, row))
        console.print(Padding(grid, (0, 0, 0, 2)), highlight=False, markup=False)
        console.print()

    def shows(self, entry: HelpEntry) -> bool:
        """Return True if an option is shown, as one of the usual or because it is required."""
        names = [name for name in entry.names if name.startswith("--")]
        return self.usual is None or not names or entry.required or not self.usual.isdisjoint(names)

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Print the usage line with casewise's words for values, and note its command."""
        words = [word.removesuffix("...") for word in str(usage).split(" ")]
        command = " ".join(words[1:]) + " "
        names = next((names for name, names in USUAL.items() if command.startswith(f"{name} ")), None)
        self.usual = None if self.whole or names is None else frozenset(f"--{name}" for name in names.split())
        super().render_usage(console, options, " ".join(VALUES.get(word, word) for word in words))

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """Print what a command does, a paragraph at a time as wide as the terminal."""
        with console.capture() as capture:
            super().render_description(console, options, description)
        for paragraph in capture.get().strip().split("\n\n"):
            console.print(" ".join(paragraph.split()), highlight=False, markup=False)
            console.print()
        if self.usual is not None:
            console.print("These are the usual options. --help-all shows every one.", highlight=False, markup=False)
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
    if entry.default not in (None, "False", "()", '""'):
        default = str(entry.default)
        several = literal_eval(default) if default.startswith("(") else (default,)
        parts.append(f"[default: {', '.join(map(str, several))}]")
    parts += ["[required]"] if entry.required else []
    return " ".join(part for part in parts if part)


HELP = Help()
