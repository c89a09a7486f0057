"""How commands speak: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from casewise.reporting.document import Document

__all__ = [
    "JsonOption",
    "LabelsOption",
    "TiesOption",
    "UnscoredOption",
    "note",
    "print_json",
    "progress_bar",
    "show",
    "write",
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]

LabelsOption = Annotated[
    str,
    typer.Option(
        "--labels", help="Label policy: votes, published or intended, with ,override:CATEGORY=unsafe where wanted."
    ),
]

TiesOption = Annotated[str, typer.Option("--ties", help="What a tie under votes is worth: half, drop, safe or unsafe.")]

UnscoredOption = Annotated[
    str, typer.Option("--unscored", help="What an item without a verdict is worth: miss, exclude or published.")
]


def print_json(value: Any) -> None:
    """Print `value` as the one JSON document on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def note(text: str) -> None:
    """Say something that is no result."""
    typer.echo(text, err=True)


def show(document: Document) -> None:
    """Print the brief sections of a report."""
    from rich.console import Console

    from casewise.reporting.faces.terminal import print_document

    print_document(document, Console(soft_wrap=False))


def write(path: Path, text: str) -> None:
    """Write a face of a report, whole or not at all."""
    from casewise.storage.files.atomic import write_text

    write_text(path, text)


@contextmanager
def progress_bar(label: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr that is told (done, of how many); none where stderr is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
