"""`casewise`: every command, and what becomes of an error."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer._completion_classes import completion_init

from casewise import __version__
from casewise.cli.commands import Entry, lazy_group
from casewise.errors import CasewiseError, ExitCode
from casewise.extras import extra_with, install_command

HERE = "casewise.cli"

SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Evaluate a judge": (
        Entry("demo", f"{HERE}.evaluate:demo", "The whole of it on an embedded benchmark, in a minute."),
        Entry("judge", f"{HERE}.judge:judge", "Have a judge decide every item of a benchmark."),
        Entry("report", f"{HERE}.evaluate:report", "How well judges agree with people: numbers and a page."),
        Entry("compare", f"{HERE}.evaluate:compare", "Which judge agrees better, and is the difference real?"),
        Entry("guards", f"{HERE}.judge:guards", "The guards that can judge, and what of each was checked."),
        Entry(
            "leaderboard",
            f"{HERE}.evaluate:leaderboard",
            "Runs beside each other, with ranks that are intervals.",
        ),
        Entry("attack", f"{HERE}.attack:attack", "Lie to a judge about the context, with and without defences."),
        Entry("robustness", f"{HERE}.attack:robustness", "What attacks did to a judge's verdicts: numbers and a page."),
        Entry("replies", f"{HERE}.replies:app", "What a chatbot does: collect its replies, and grade them."),
        Entry("view", f"{HERE}.evaluate:view", "Look around in runs in a browser, item by item."),
        Entry("run", f"{HERE}.evaluate:app", "Look into a run."),
        Entry("replay", f"{HERE}.evaluate:replay", "Score a published output again: its numbers beside ours."),
        Entry("paper", f"{HERE}.evaluate:paper", "The CASE-Bench paper's tables and figures, recomputed."),
    ),
    "Build a benchmark": (
        Entry("data", f"{HERE}.data:app", "Fetch, check and show benchmarks."),
        Entry("contexts", f"{HERE}.contexts:app", "Select queries, generate contexts, check, review, release."),
        Entry("audit", f"{HERE}.data:audit", "What a benchmark's numbers hide, and what to do about it."),
    ),
    "Study with people": (
        Entry("power", f"{HERE}.power:app", "How many annotators, and what so many can find."),
        Entry("study", f"{HERE}.study:app", "Have people rate items, each as often as promised."),
        Entry("prolific", f"{HERE}.prolific:app", "Recruit a study's people at Prolific."),
        Entry("serve", f"{HERE}.serve:serve", "Open the review room and the studies in a browser."),
        Entry("invite", f"{HERE}.serve:invite", "A link with which somebody chooses a password."),
    ),
    "Deploy": (
        Entry("decider", f"{HERE}.decider:app", "A judge with fitted thresholds: fit, ask, serve, monitor."),
        Entry("gate", f"{HERE}.evaluate:gate", "Is this run worse than that one by more than is allowed?"),
    ),
    "Share": (Entry("export", f"{HERE}.data:export_command", "Benchmarks and runs in other people's formats."),),
    "Keep": (
        Entry("backup", f"{HERE}.serve:backup", "Write everything that people have done to one file."),
        Entry("restore", f"{HERE}.serve:restore", "Put a backup into a new, empty database."),
        Entry("doctor", f"{HERE}.serve:doctor", "What is installed, configured and reachable."),
    ),
}
"""Every command by what it is for. A new one is a file in `cli/` and a line here."""

app = typer.Typer(
    name="casewise",
    cls=lazy_group(SECTIONS),
    help="Does a judge decide in context, as people do, whether a chatbot should answer?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


GARBAGE = 50_000
"""Objects between two looks for cycles of them. At Python's 700 a report looked 250 times, mostly at what it had just imported."""

COMPLETING = "_CASEWISE_COMPLETE"
"""The variable by which a shell asks for completions."""


def say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"casewise {__version__}")
        raise typer.Exit


@app.callback()
def casewise(
    version: Annotated[
        bool, typer.Option("--version", callback=say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Does a judge decide in context, as people do, whether a chatbot should answer?"""


def main() -> None:
    """The program. What a user can act on is said in a line and ends with its exit code; nobody sees a traceback."""
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # or Python looks through all that was imported as it ends: a fifth of a second
    open_what_is_closed()
    print_what_the_terminal_can()
    refuse_what_is_no_text(sys.argv[1:])
    if COMPLETING in os.environ:
        completion_init()  # what typer calls where it adds options of its own for it
    try:
        app()
    except CasewiseError as error:
        fail(str(error), code=error.exit_code)
    except KeyboardInterrupt:
        fail("interrupted; the same command goes on with what is missing", code=ExitCode.INTERRUPTED)
    except BrokenPipeError:
        pipe_closed()
    except SystemExit as error:  # what prints may exit with 1 where nobody reads: that would be a "no"
        if isinstance(error.__context__, BrokenPipeError):
            pipe_closed()
        raise
    except OSError as error:
        fail(unusable(error), code=ExitCode.USAGE)
    except Exception as error:
        if os.environ.get("CASEWISE_DEBUG"):
            raise
        if isinstance(error, ModuleNotFoundError) and (extra := extra_with(error.name or "")) is not None:
            fail(f"this needs {error.name}: {install_command(extra)}", code=ExitCode.USAGE)
        fail(
            f"casewise itself failed ({type(error).__name__}: {error}); that is a bug. "
            "Set CASEWISE_DEBUG=1 to see where, and report it.",
            code=ExitCode.INTERNAL,
        )


def open_what_is_closed() -> None:
    """A scheduler may start a program with its streams closed; the next file that is opened would stand in their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (as long as the program)


def refuse_what_is_no_text(words: list[str]) -> None:
    """A path may be any bytes; what a run records of it has to be UTF-8."""
    if strange := next((word for word in words if any("\ud800" <= letter <= "\udfff" for letter in word)), None):
        fail(
            f"{strange} is not {sys.getfilesystemencoding()}: rename the file, or set the locale that it was named under "
            "(LC_ALL=C.UTF-8)",
            code=ExitCode.USAGE,
        )


def pipe_closed() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(ExitCode.PIPE_CLOSED)


def print_what_the_terminal_can() -> None:
    """Characters that the terminal's encoding has not are written as escapes, so that no text stops a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def unusable(error: OSError) -> str:
    """A path that cannot even be looked at: a name that is too long, a folder that may not be entered, a full disk."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def fail(message: str, *, code: ExitCode) -> None:
    typer.echo(f"error: {message}", err=True)
    sys.exit(code)
