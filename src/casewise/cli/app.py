"""`casewise`: every command, and what becomes of an error."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from casewise import __version__
from casewise.cli import (
    audit,
    backup,
    compare,
    contexts,
    data,
    demo,
    doctor,
    gate,
    leaderboard,
    paper,
    power,
    replay,
    report,
    run,
    serve,
)
from casewise.cli.judge import command as judge
from casewise.cli.study import commands as study
from casewise.errors import CasewiseError

__all__ = ["app", "main"]

app = typer.Typer(
    name="casewise",
    help="Does a judge decide in context, as people do, whether a chatbot should answer?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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


app.command("demo")(demo.demo)
app.command("judge")(judge.judge)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("replay")(replay.replay)
app.command("audit")(audit.audit)
app.command("gate")(gate.gate)
app.command("leaderboard")(leaderboard.leaderboard)
app.command("paper")(paper.paper)
app.add_typer(data.app, name="data")
app.add_typer(run.app, name="run")
app.add_typer(power.app, name="power")
app.add_typer(contexts.app, name="contexts")
app.add_typer(study.app, name="study")
app.command("doctor")(doctor.doctor)
app.add_typer(serve.app)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)


def main() -> None:
    """The program. What a user can act on is said in a line and ends with exit code 2; nobody sees a traceback."""
    print_what_the_terminal_can()
    try:
        app()
    except CasewiseError as error:
        fail(str(error), code=2)
    except KeyboardInterrupt:
        fail("interrupted; the same command goes on with what is missing", code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        fail(unusable(error), code=2)
    except Exception as error:
        if os.environ.get("CASEWISE_DEBUG"):
            raise
        fail(
            f"casewise itself failed ({type(error).__name__}: {error}); that is a bug. "
            "Set CASEWISE_DEBUG=1 to see where, and report it.",
            code=70,
        )


def print_what_the_terminal_can() -> None:
    """Characters that the terminal's encoding has not are written as escapes, so that no text stops a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def unusable(error: OSError) -> str:
    """A path that cannot even be looked at: a name that is too long, a folder that may not be entered, a full disk."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def fail(message: str, *, code: int) -> None:
    typer.echo(f"error: {message}", err=True)
    sys.exit(code)
