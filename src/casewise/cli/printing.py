"""How commands speak: results to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from casewise import api
from casewise.errors import ExitCode

__all__ = [
    "BenchmarkArgument",
    "BenchmarkOption",
    "DatabaseOption",
    "JsonOption",
    "LabelsOption",
    "OutputsOption",
    "UrlOption",
    "end",
    "note",
    "print_json",
    "show",
    "tell_pending",
]

BenchmarkArgument = Annotated[
    str, typer.Argument(help="demo, casebench, a benchmark folder, or a published JSON file.")
]

BenchmarkOption = Annotated[str | None, typer.Option("--benchmark", help="The benchmark, where it has moved since.")]

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database", help="A file (SQLite) or postgresql://…; else CASEWISE_DATABASE, else casewise.db here."
    ),
]

UrlOption = Annotated[
    str | None,
    typer.Option(
        "--site-url", help="The web app's address in a browser (https:// behind TLS); else CASEWISE_SITE_URL."
    ),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]

LabelsOption = Annotated[
    str,
    typer.Option(
        "--labels", help="Label policy: votes, published or intended, with ,override:CATEGORY=unsafe where wanted."
    ),
]

OutputsOption = Annotated[
    Path | None,
    typer.Option("--outputs", help="A folder with judges' output files of the release; else CASEWISE_OUTPUTS."),
]


def end(progress: api.RunProgress) -> None:
    """End the command with the exit code of a run that may have stopped early, be out in part, or come to nothing."""
    if progress.stopped or progress.n_pending:
        raise typer.Exit(ExitCode.STOPPED)
    if progress.n_unusable and not progress.n_usable:
        raise typer.Exit(ExitCode.NOTHING_SCORED)


def tell_pending(progress: api.RunProgress) -> None:
    """Say what was handed over and is not answered yet."""
    if progress.n_pending:
        note(f"{progress.n_pending:,} calls are out (casewise run jobs): the same command collects what is ready")


def print_json(value: Any) -> None:
    """Print `value` as the one JSON document on stdout."""
    sys.stdout.write(api.json_text(value))


def note(text: str) -> None:
    """Say something that is no result."""
    typer.echo(text, err=True)


def show(document: api.Document, *, full: bool = True) -> None:
    """Print the answer of a report; `full` adds its brief sections."""
    from rich.console import Console

    api.print_document(document, Console(soft_wrap=False), full=full)
