"""`casewise data`: benchmarks fetched, checked and shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from casewise.cli.printing import JsonOption, note, print_json

__all__ = ["app"]

app = typer.Typer(help="Fetch, check and show benchmarks.", no_args_is_help=True, rich_markup_mode=None)


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
    from casewise.errors import ConfigurationError
    from casewise.storage.benchmarks.fetch import CASEBENCH, PROMPTS, take
    from casewise.storage.benchmarks.fetch import fetch as download

    if name != CASEBENCH.name:
        raise ConfigurationError(f"nothing to fetch is called {name!r}; there is {CASEBENCH.name}")
    accepted = accept_terms or asked(CASEBENCH.terms)
    if copy:
        pinned = [PROMPTS if prompts else CASEBENCH]
        paths = [take(copy, pinned[0], accept_terms=accepted)]
    else:
        pinned = [CASEBENCH, PROMPTS] if prompts else [CASEBENCH]
        paths = [download(one, accept_terms=accepted, progress=sys.stderr.isatty()) for one in pinned]
    for one, path in zip(pinned, paths, strict=True):
        typer.echo(f"{one.name} is at {path}")


def asked(terms: str) -> bool:
    """Whether the user accepts the terms when asked at a terminal."""
    if not sys.stdin.isatty():
        return False
    note(terms)
    return typer.confirm("Do you accept?", err=True)


@app.command()
def check(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, a benchmark folder, or a published JSON file.")],
    as_json: JsonOption = False,
) -> None:
    """Validate a benchmark: every record, every id, every checksum."""
    from casewise.storage.benchmarks.load import load_benchmark as load

    found = load(benchmark)
    if as_json:
        print_json(
            {
                "valid": True,
                "name": found.name,
                "digest": found.digest,
                **found.counts.model_dump(),
                "notes": list(found.notes()),
            }
        )
        return
    counts = ", ".join(f"{n:,} {kind}" for kind, n in found.counts.model_dump().items())
    typer.echo(f"{benchmark} is valid: {counts}")
    for text in found.notes():
        note(f"note: {text}")


@app.command()
def show(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, a benchmark folder, or a published JSON file.")],
    item: Annotated[str | None, typer.Argument(help="An item's id, its beginning, or its place from 1.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a benchmark holds, or one item as a person would read it."""
    from casewise.reporting.pages.benchmark import benchmark_json, benchmark_page, item_json, item_page
    from casewise.storage.benchmarks.load import load_benchmark as load

    found = load(benchmark)
    value: Any
    if item is None:
        value, page = benchmark_json(found), benchmark_page(found)
    else:
        one = found.find(item)
        value, page = item_json(found, one), item_page(found, one)
    if as_json:
        print_json(value)
        return
    from casewise.cli.printing import show as print_page

    print_page(page)


@app.command()
def convert(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, or a benchmark in any of the formats.")],
    target: Annotated[Path, typer.Argument(help="Where to write it: a new folder, or a file that ends in .json.")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="folder, published, parquet or huggingface. Default: by the target's name."),
    ] = None,
) -> None:
    """Write a benchmark in another format: its folder, the published JSON, Parquet, a Hugging Face dataset folder."""
    from casewise.storage.benchmarks.convert import convert as convert_benchmark

    done = convert_benchmark(benchmark, target, to=to)  # type: ignore[arg-type]  # convert checks it
    for text in done.lost:
        note(f"note: the published format has no room for {text}")
    typer.echo(f"{done.benchmark.name} is at {done.path} ({done.format})")


@app.command()
def export(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, or a benchmark in any of the formats.")],
    target: Annotated[Path, typer.Argument(help="A CSV file.")],
    for_spreadsheet: Annotated[
        bool, typer.Option("--for-spreadsheet", help="You know that the file is to look at, not to read back.")
    ] = False,
) -> None:
    """Write one row an item as CSV for a spreadsheet program, with formulas made harmless."""
    from casewise.errors import ConfigurationError
    from casewise.storage.benchmarks.load import load_benchmark as load
    from casewise.storage.benchmarks.spreadsheet import write_spreadsheet

    if not for_spreadsheet:
        raise ConfigurationError(
            "CSV is for spreadsheet programs only: give --for-spreadsheet, or use casewise data convert for a file "
            "that casewise reads back"
        )
    write_spreadsheet(load(benchmark), target)
    typer.echo(f"written to {target}")
    note("note: to look at, not to read back: cells that look like formulas begin with an apostrophe")
