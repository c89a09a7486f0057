"""`casewise data`: benchmarks fetched, checked and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkArgument, JsonOption, note, print_json
from casewise.errors import ConfigurationError

__all__ = ["app"]

app = typer.Typer(help="Fetch, check and show benchmarks.", no_args_is_help=True, rich_markup_mode=None)

AnyFormatArgument = Annotated[str, typer.Argument(help="demo, casebench, or a benchmark in any of the formats.")]


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="casebench")],
    accept_terms: Annotated[
        bool, typer.Option("--accept-terms", help="You have read the terms and accept them.")
    ] = False,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Fetch the paper's prompts as well, for --prompts published.")
    ] = False,
    copy: Annotated[
        Path | None, typer.Option("--from", help="Take this copy of the pinned file instead of downloading it.")
    ] = None,
) -> None:
    """Fetch the pinned release of CASE-Bench, once its terms are accepted."""
    fetched = api.fetch(
        name, accept_terms=accept_terms or asked, prompts=prompts, copy=copy, progress=sys.stderr.isatty()
    )
    for found, path in fetched.items():
        typer.echo(f"{found} is at {path}")


def asked(terms: str) -> bool:
    """Whether the user accepts the terms when asked at a terminal."""
    if not sys.stdin.isatty():
        return False
    note(terms)
    return typer.confirm("Do you accept?", err=True)


@app.command()
def check(benchmark: BenchmarkArgument, as_json: JsonOption = False) -> None:
    """Validate a benchmark: every record, every id, every checksum."""
    found = api.load(benchmark)
    counts, notes = found.counts.model_dump(), list(found.notes())
    if as_json:
        print_json({"valid": True, "name": found.name, "digest": found.digest, **counts, "notes": notes})
        return
    typer.echo(f"{benchmark} is valid: {', '.join(f'{n:,} {kind}' for kind, n in counts.items())}")
    for text in notes:
        note(f"note: {text}")


@app.command()
@with_groups
def show(
    *,
    benchmark: BenchmarkArgument,
    item: Annotated[str | None, typer.Argument(help="An item's id, its beginning, or its place from 1.")] = None,
    documents: DocumentOptions,
) -> None:
    """Show what a benchmark holds, or one item as a person would read it."""
    documents.present(api.look_at(benchmark, item))


@app.command()
def convert(
    benchmark: AnyFormatArgument,
    target: Annotated[Path, typer.Argument(help="Where to write it: a new folder, or a file that ends in .json.")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="folder, published, parquet or huggingface. Default: by the target's name."),
    ] = None,
) -> None:
    """Write a benchmark in another format: its folder, the published JSON, Parquet, a Hugging Face dataset folder."""
    done = api.convert(benchmark, target, to=to)  # type: ignore[arg-type]  # convert checks it
    for text in done.lost:
        note(f"note: the published format has no room for {text}")
    typer.echo(f"{done.benchmark.name} is at {done.path} ({done.format})")


@app.command()
def export(
    benchmark: AnyFormatArgument,
    target: Annotated[Path, typer.Argument(help="A CSV file.")],
    for_spreadsheet: Annotated[
        bool, typer.Option("--for-spreadsheet", help="You know that the file is to look at, not to read back.")
    ] = False,
) -> None:
    """Write one row an item as CSV for a spreadsheet program, with formulas made harmless."""
    if not for_spreadsheet:
        raise ConfigurationError(
            "CSV is for spreadsheet programs only: give --for-spreadsheet, or use casewise data convert for a file "
            "that casewise reads back"
        )
    api.write_spreadsheet(api.load(benchmark), target)
    typer.echo(f"written to {target}")
    note("note: to look at, not to read back: cells that look like formulas begin with an apostrophe")
