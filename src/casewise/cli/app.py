"""`casewise`: every command, and what becomes of an error."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import (
    App,
    ArgumentCollection,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    RepeatArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)
from cyclopts.annotations import resolve_optional

from casewise import __version__
from casewise.cli.help import HELP
from casewise.errors import CasewiseError, ConfigurationError, ExitCode, did_you_mean

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Evaluate a judge": {
        "demo": ("evaluate:demo", "Judge the embedded demo benchmark and print its report."),
        "check": ("check:check", "Compare verdicts with labels in one table."),
        "judge": ("judge:judge", "Ask judges about every item of one benchmark or several."),
        "reread": ("reread:reread", "Show replies without a verdict; read stored replies again."),
        "init": ("run_file:init", "Write a run file with a comment on every line."),
        "run": ("run_file:run", "Run a run file: ask, report, check the gates."),
        "report": ("evaluate:report", "Report how often judges agree with people."),
        "compare": ("evaluate:compare", "Compare judges on the same items."),
        "leaderboard": ("evaluate:leaderboard", "Rank runs, with an interval for each rank."),
        "attack": ("attack:attack", "Attack a judge with false claims, with and without defences."),
        "robustness": ("attack:robustness", "Report how attacks changed a judge's verdicts."),
        "replies": ("replies:app", "Collect a chatbot's replies and grade them."),
        "paper": ("evaluate:paper", "Recompute the CASE-Bench paper's tables with your runs."),
    },
    "Build a benchmark": {
        "data": ("data:app", "List and fetch benchmarks, or import your own cases."),
        "contexts": ("contexts:app", "Select queries; generate, check and release contexts."),
        "audit": ("data:audit", "Find faults of a benchmark that distort its numbers."),
    },
    "Study with people": {
        "power": ("power:app", "Plan the number of annotators or of queries."),
        "study": ("study:app", "Plan, open, watch and analyse a study with people."),
        "prolific": ("prolific:app", "Recruit people at Prolific and pay them."),
        "invite": ("serve:invite", "Print a link to sign up, or links to a study."),
    },
    "Deploy": {
        "recommend": ("decider:recommend", "Choose the judge and the threshold to deploy, or none."),
        "decider": ("decider:app", "Fit, ask and monitor a judge with thresholds."),
        "gate": ("evaluate:gate", "Check a run against a baseline and a limit."),
    },
    "Look and share": {
        "show": ("data:show", "Show a benchmark, a run, an item, or attacks, guards, jobs, plugins."),
        "export": ("data:export", "Write benchmarks, runs, replies or ratings in other formats."),
        "serve": ("serve:serve", "Open the web app, runs or a study, or serve a decider."),
    },
    "Keep": {
        "backup": ("serve:backup", "Write the database to one file, or read it back."),
        "doctor": ("serve:doctor", "Show what is installed, configured and reachable."),
    },
}
"""Every command by its purpose: the place of its function or its `App`, and its line on the page of all commands.
A new one is a function in `cli/` and a line here; its own help is its docstring."""

EVERYWHERE = Group("With every command", sort_key=99)


def refuse_fractions(_app: App, _commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse 2.5 where a whole number is expected, which cyclopts would round to 2.

    Raises ConfigurationError: the message names the option.
    """
    for argument in arguments:
        hint = resolve_optional(argument.hint)
        for token in argument.tokens if hint is int else ():
            if "." in token.value:
                raise ConfigurationError(f"{token.keyword or argument.name} is {token.value}; it is a whole number")


app = App(
    name="casewise",
    help="Measure how often automated judges agree with people about whether a chatbot should answer.",
    version=f"casewise {__version__}",
    help_flags=("--help", "-h", "--help-all"),
    help_format="plaintext",
    help_formatter=HELP,
    default_parameter=Parameter(negative=()),
    config=refuse_fractions,
    suppress_keyboard_interrupt=False,
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
)
for place, (heading, commands) in enumerate(SECTIONS.items()):
    section = Group(heading, sort_key=place)
    for number, (name, (where, line)) in enumerate(commands.items()):
        app.command(f"casewise.cli.{where}", name=name, help=line, group=section, sort_key=number)
app.command(
    "casewise.cli.completion:install",
    name="--install-completion",
    help="Install shell completion for this application.",
)

app.meta.suppress_keyboard_interrupt = False

GARBAGE = 200_000
"""Objects between two looks for cycles of them. At Python's 700 a report looked 250 times, mostly at what it had just imported."""


@app.meta.default
def start(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    json: Annotated[bool, Parameter(group=EVERYWHERE)] = False,
) -> None:
    """Measure how often automated judges agree with people about whether a chatbot should answer.

    Parameters
    ----------
    json
        Print one JSON document on stdout and nothing else.
    """
    from casewise.cli.printing import gathering_results

    with gathering_results(json=json):
        app(tokens)


def main() -> None:
    """Run the program. An error that a user can act on is one line with its own exit code. No traceback is printed."""
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # or Python looks through all that was imported as it ends: a fifth of a second
    open_closed_streams()
    escape_unprintable_characters()
    refuse_undecodable_arguments(sys.argv[1:])
    try:
        show_docstring_as_help(next((word for word in sys.argv[1:] if not word.startswith("-")), None))
        HELP.whole = "--help-all" in sys.argv
        app.meta(sys.argv[1:])
    except (CasewiseError, CycloptsError) as error:
        fail(error_message(error), code=getattr(error, "exit_code", ExitCode.USAGE))
    except KeyboardInterrupt:
        fail("interrupted; the same command resumes", code=ExitCode.INTERRUPTED)
    except BrokenPipeError:
        exit_on_closed_pipe()
    except SystemExit as error:  # rich exits with 1 where the pipe is closed: that would be a "no"
        if isinstance(error.__context__, BrokenPipeError):
            exit_on_closed_pipe()
        fail_of_package(error)
        raise
    except OSError as error:
        fail(": ".join(map(str, filter(None, (error.filename, error.strerror or error)))), code=ExitCode.USAGE)
    except Exception as error:
        if os.environ.get("CASEWISE_DEBUG"):
            raise
        from casewise.plugins import extra_with, install_command  # and the metadata of packages

        if isinstance(error, ModuleNotFoundError) and (extra := extra_with(error.name or "")) is not None:
            fail(f"this needs {error.name}: {install_command(extra)}", code=ExitCode.USAGE)
        fail_of_package(error)
        fail(
            f"casewise itself failed ({type(error).__name__}: {error}); that is a bug. "
            "Set CASEWISE_DEBUG=1 to see where, and report it.",
            code=ExitCode.INTERNAL,
        )


def fail_of_package(error: BaseException) -> None:
    """End the program with the name of the package whose code raised an error; return where that is casewise's own."""
    from casewise.plugins import package_that_raised

    if (package := package_that_raised(error)) is not None:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        fail(f"the package {package} failed ({reason}); report it to its authors", code=ExitCode.INTERNAL)


def error_message(error: Exception) -> str:
    """Return the message of an error in the command line or in the data."""
    if isinstance(error, MissingArgumentError) and error.argument:
        return f"{error.argument.name} is missing; {command_of(error)} --help explains it"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        command = command_of(error)
        return f"{command} takes no further argument {error.unused_tokens[0]!r}; {command} --help shows what it takes"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} is given more than once; it takes one value"
    if isinstance(error, UnknownOptionError):
        option = (error.token.keyword or error.token.value).partition("=")[0]
        names = [name for argument in error.argument_collection if argument.parse for name in argument.names]
        command = command_of(error)
        return f"{command} has no option {option}{did_you_mean(option, names)}; {command} --help-all lists its options"
    if isinstance(error, CycloptsError) and isinstance(error.__cause__, ValueError) and error.argument is not None:
        import pydantic

        from casewise.records.base import reason_of

        if isinstance(error.__cause__, pydantic.ValidationError):
            return f"{error.argument.name}: {reason_of(error.__cause__.errors(include_url=False)[0])}"
    return str(error)


def command_of(error: CycloptsError) -> str:
    """Return the command that an error of the command line concerns, as a user types it."""
    return " ".join(("casewise", *(error.command_chain or ())))


def show_docstring_as_help(name: str | None) -> None:
    """Use a command's docstring as its description; the line in `SECTIONS` is for the page of all commands.

    Raises ConfigurationError: there is no such command.
    """
    if name is None:
        return
    if name not in app:
        names = [name for commands in SECTIONS.values() for name in commands]
        raise ConfigurationError(
            f"no command is called {name!r}{did_you_mean(name, names)}; casewise --help lists them"
        )
    app[name].help = None


def open_closed_streams() -> None:
    """Open closed standard streams on the null device. A scheduler may close them, and the next opened file would take
    their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (as long as the program)


def refuse_undecodable_arguments(words: list[str]) -> None:
    """Refuse arguments that are not UTF-8: a run records paths as UTF-8."""
    if strange := next((word for word in words if any("\ud800" <= letter <= "\udfff" for letter in word)), None):
        fail(
            f"{strange} is not {sys.getfilesystemencoding()}: rename the file, or set the locale that it was named under "
            "(LC_ALL=C.UTF-8)",
            code=ExitCode.USAGE,
        )


def exit_on_closed_pipe() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(ExitCode.PIPE_CLOSED)


def escape_unprintable_characters() -> None:
    """Write characters that the terminal cannot encode as escapes, so that no text stops a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def fail(message: str, *, code: ExitCode) -> None:
    sys.stderr.write(f"error: {message}\n")
    sys.exit(code)
