"""`casewise run`: what a run holds, read as a person would."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkOption

__all__ = ["app"]

app = typer.Typer(help="Look into a run.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def run() -> None:
    """Look into a run."""


@app.command()
@with_groups
def show(
    *,
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    item: Annotated[str | None, typer.Argument(help="An item's id, its beginning, or its place from 1.")] = None,
    benchmark: BenchmarkOption = None,
    documents: DocumentOptions,
) -> None:
    """Show what a run holds, or one item with its judgements: context, query, reply, verdict, people's votes."""
    documents.present(api.look_at_run(run, item, benchmark=benchmark))
