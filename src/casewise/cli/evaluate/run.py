"""`casewise run`: what a run holds, read as a person would, or by another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkOption
from casewise.errors import ConfigurationError

__all__ = ["app"]

app = typer.Typer(help="Look into a run, or export it.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def run() -> None:
    """Look into a run, or export it."""


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


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    to: Annotated[str, typer.Option("--to", help="inspect: a log that `inspect view` opens.")],
    out: Annotated[Path | None, typer.Option("--out", help="Where to. Default: RUN/run.eval.")] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, where it is no longer where the run found it.")
    ] = None,
    labels: Annotated[str, typer.Option("--labels", help="Label policy: votes, published or intended.")] = "votes",
) -> None:
    """Write a run in the format of another program."""
    from casewise.integrations.inspect_log import export_inspect_log  # needs an extra

    if to != "inspect":
        raise ConfigurationError(f"--to is {to!r}; it can be inspect")
    policy = api.report_options(labels).labels
    typer.echo(str(export_inspect_log(run, out or run / "run.eval", benchmark=benchmark, policy=policy)))
