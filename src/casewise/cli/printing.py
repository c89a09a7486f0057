"""How commands speak: results to stdout, everything else to stderr."""

from __future__ import annotations

import hashlib
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
    "announce",
    "confirmed",
    "done_of",
    "end",
    "note",
    "note_first",
    "note_problems",
    "note_unfinished",
    "print_json",
    "say",
    "say_files",
    "saying",
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


def tell_pending(progress: api.RunProgress, run: Path | None = None) -> None:
    """Say what was handed over for `run` and is not answered yet."""
    if progress.n_pending:
        look = "casewise run jobs" + (f" {shlex.quote(str(run))}" if run else "")
        note(f"{progress.n_pending:,} calls are out ({look}): the same command with --batch collects what is ready")


def done_of(progress: api.RunProgress, usable: str) -> str:
    """What a run holds, and what this session took."""
    held = f" ({progress.resumed:,} were there already)" if progress.resumed else ""
    cost = f", ${progress.cost_usd:.4f}" if progress.cost_usd else ""
    return (
        f"{progress.n_usable:,} {usable}{held}, {progress.n_unusable:,} {progress.unusable}; "
        f"{progress.n_calls:,} calls in {progress.seconds:.1f} s{cost}"
    )


def note_problems(progress: api.RunProgress) -> None:
    """Say why answers were of no use, the commonest reasons first."""
    for problem, times in progress.problems.most_common(3):
        note(f"{progress.unusable}, {times:,} times: {problem}")


def note_unfinished(progress: api.RunProgress, run: Path) -> None:
    """Say what is left of a run, and that the same command goes on with it."""
    tell_pending(progress, run)
    if progress.stopped:
        note(f"stopped: {progress.stopped}; the same command goes on with what is left")


def print_json(value: Any) -> None:
    """Print `value` as the one JSON document on stdout."""
    sys.stdout.write(api.json_text(value))


FACTS: ContextVar[dict[str, Any] | None] = ContextVar("FACTS", default=None)
"""What a command has said so far where it is to be one JSON document; None where it is to be lines."""


def say(text: str, **facts: Any) -> None:
    """Say a result: `text` as a line or, with --json, `facts` as members of the one document."""
    said = FACTS.get()
    if said is None:
        typer.echo(text)
    else:
        said |= facts


def announce(text: str, *, err: bool = False, **facts: Any) -> None:
    """`say` at once, by a command that goes on until it is stopped."""
    if FACTS.get() is None:
        typer.echo(text, err=err)
    else:
        print_json(facts)
        sys.stdout.flush()


@contextmanager
def saying(*, as_json: bool) -> Iterator[None]:
    """Have `say` gather one JSON document, which is printed at the end; or have it print lines."""
    said: dict[str, Any] = {}
    before = FACTS.set(said if as_json else None)
    try:
        yield
    except typer.Exit:
        print_said(said)
        raise
    else:
        print_said(said)
    finally:
        FACTS.reset(before)


def say_files(target: Path) -> None:
    """With --json: every file of what was written, its size and its digest."""
    if (said := FACTS.get()) is None:
        return
    under = target if target.is_dir() else target.parent
    paths = sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]
    contents = ((path, path.read_bytes()) for path in paths)
    said["files"] = [
        {"file": path.relative_to(under).as_posix(), "bytes": len(found), "sha256": hashlib.sha256(found).hexdigest()}
        for path, found in contents
    ]


def print_said(facts: dict[str, Any]) -> None:
    if facts:
        print_json(facts)


def note(text: str) -> None:
    """Say something that is no result."""
    typer.echo(text, err=True)


def note_first(lines: Sequence[str]) -> None:
    """The first three of what --json has whole, and how many more there are."""
    for line in lines[:3]:
        note(line)
    if more := lines[3:]:
        note(f"and {len(more):,} more like the last (all of them: --json)")


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes; Ctrl-C ends the command, which polars would keep from it until Enter."""
    signal.siginterrupt(signal.SIGINT, True)
    try:
        return typer.confirm(question, err=True)
    except typer.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        return False


def show(document: api.Document, *, full: bool = True) -> None:
    """Print the answer of a report; `full` adds its brief sections."""
    from rich.console import Console

    api.print_document(document, Console(soft_wrap=False), full=full)
