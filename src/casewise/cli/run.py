"""`casewise run`: what a run holds, read as a person would, or by another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli.printing import JsonOption, print_json

__all__ = ["app"]

app = typer.Typer(help="Look into a run, or export it.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def run() -> None:
    """Look into a run, or export it."""


@app.command()
def show(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    item: Annotated[str | None, typer.Argument(help="An item's id, its beginning, or its place from 1.")] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, where it has moved since.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a run holds, or one item with its judgements: context, query, reply, verdict, people's votes."""
    from casewise.cli.printing import show as print_page
    from casewise.reporting.pages.run import run_json, run_page

    if as_json:
        print_json(run_json(run, item, benchmark=benchmark))
    else:
        print_page(run_page(run, item, benchmark=benchmark))


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
    from casewise.errors import ConfigurationError
    from casewise.integrations.inspect_log import export_inspect_log
    from casewise.stats.agreeing.labels import LabelPolicy

    if to != "inspect":
        raise ConfigurationError(f"--to is {to!r}; it can be inspect")
    path = export_inspect_log(run, out or run / "run.eval", benchmark=benchmark, policy=LabelPolicy.parse(labels))
    typer.echo(str(path))
