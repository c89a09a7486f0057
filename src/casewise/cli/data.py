"""Benchmarks fetched, checked, shown, audited and exported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from casewise import api
from casewise.cli.commands import with_groups
from casewise.cli.printing import (
    BenchmarkArgument,
    BenchmarkOption,
    DocumentOptions,
    JsonOption,
    LabelsOption,
    OutputsOption,
    confirmed,
    note,
    print_json,
    say,
    say_files,
)
from casewise.errors import ConfigurationError, ExitCode

# `casewise data`: benchmarks fetched, checked and shown.


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
        say(f"{found} is at {path}", **{found: str(path)})


def asked(terms: str) -> bool:
    """Whether the user accepts the terms when asked at a terminal; one who does not has read them and needs no more."""
    if not sys.stdin.isatty():
        return False
    note(terms)
    if not confirmed("Do you accept?"):
        raise ConfigurationError("the terms are not accepted, so nothing was fetched")
    return True


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


COLUMN = "The column with"


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A CSV or JSON Lines file, a case a row.")],
    target: Annotated[Path, typer.Argument(help="A new folder for the benchmark.")],
    query: Annotated[str | None, typer.Option("--query", help=f"{COLUMN} the query.")] = None,
    context: Annotated[
        str | None, typer.Option("--context", help=f"{COLUMN} the context: free text, or in JSON Lines an object.")
    ] = None,
    context_as: Annotated[
        str,
        typer.Option("--context-as", help="The group, or group.parameter, that a context of free text is given for."),
    ] = "situation",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", help="COLUMN=group.parameter, for each column that states a part of the context."),
    ] = None,
    category: Annotated[str | None, typer.Option("--category", help=f"{COLUMN} the category; '' for none.")] = None,
    pair: Annotated[str | None, typer.Option("--pair", help=f"{COLUMN} what joins the two contexts of a pair.")] = None,
    intended: Annotated[
        str | None, typer.Option("--intended", help=f"{COLUMN} what the context's author meant: safe or unsafe.")
    ] = None,
    votes: Annotated[str | None, typer.Option("--votes", help=f"{COLUMN} a list of verdicts, a person each.")] = None,
    n_safe: Annotated[str | None, typer.Option("--n-safe", help=f"{COLUMN} the number of safe votes.")] = None,
    n_unsafe: Annotated[str | None, typer.Option("--n-unsafe", help=f"{COLUMN} the number of unsafe votes.")] = None,
    n_votes: Annotated[str | None, typer.Option("--n-votes", help=f"{COLUMN} the number of all votes.")] = None,
    label: Annotated[str | None, typer.Option("--label", help=f"{COLUMN} one verdict a case.")] = None,
    rate: Annotated[str | None, typer.Option("--rate", help=f"{COLUMN} the share of people who say safe.")] = None,
    safe_word: Annotated[
        list[str] | None, typer.Option("--safe-word", help="A word of the file that means safe; several times.")
    ] = None,
    unsafe_word: Annotated[list[str] | None, typer.Option("--unsafe-word", help="One that means unsafe.")] = None,
    taxonomy: Annotated[Path | None, typer.Option("--taxonomy", help="Categories of your own, as TOML.")] = None,
    parameters: Annotated[
        Path | None, typer.Option("--parameters", help="Context parameters of your own, as TOML.")
    ] = None,
) -> None:
    """Make a benchmark of your own labelled cases. Columns that are not named are guessed from their names."""
    columns = api.CaseColumns(
        query=query,
        context=context,
        context_as=context_as,
        parameters=dict(map(column_and_parameter, parameter or ())),
        category=category,
        pair=pair,
        intended=intended,
        votes=votes,
        n_safe=n_safe,
        n_unsafe=n_unsafe,
        n_votes=n_votes,
        label=label,
        rate=rate,
    )
    found = api.import_cases(
        file,
        target,
        columns=columns,
        taxonomy=taxonomy,
        parameters=parameters,
        safe_words=safe_word or (),
        unsafe_words=unsafe_word or (),
    )
    for text in found.notes():
        note(f"note: {text}")
    cases, n = found.counts.items, found.counts.ratings
    say(f"{found.name} is at {target}: {cases:,} cases, {n:,} votes", **written(found, target))


def column_and_parameter(text: str) -> tuple[str, str]:
    column, sign, name = text.partition("=")
    if not (column and sign and name):
        raise ConfigurationError(f"--parameter is {text!r}; write COLUMN=group.parameter")
    return column, name


@app.command()
def join(
    first: AnyFormatArgument,
    second: Annotated[str, typer.Argument(help="Another over the same queries, such as an exported study.")],
    target: Annotated[Path, typer.Argument(help="A new folder for both.")],
    name: Annotated[str | None, typer.Option("--name", help="The new benchmark's name.")] = None,
) -> None:
    """Make one benchmark of two over the same queries; an item that was rated in both is refused."""
    found = api.join(first, second, target, name=name)
    counts = found.counts
    what = f"{counts.items:,} items, {counts.ratings:,} ratings"
    say(f"{found.name} is at {target}: {what}", **written(found, target))


def written(benchmark: api.Benchmark, folder: Path) -> dict[str, Any]:
    """What was written, as values."""
    return {"folder": str(folder), "digest": benchmark.digest, "notes": list(benchmark.notes())} | (
        {"name": benchmark.name} | benchmark.counts.model_dump()
    )


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
            "CSV is for spreadsheet programs only: give --for-spreadsheet, or use casewise export for a file "
            "that casewise reads back"
        )
    api.write_spreadsheet(api.load(benchmark), target)
    say(f"written to {target}", file=str(target))
    note("note: to look at, not to read back: cells that look like formulas begin with an apostrophe")


# `casewise audit`.


@with_groups
def audit(
    *,
    benchmark: BenchmarkArgument,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", help="Exit with 1 if this finding is made: a code, a part such as labels, or any."),
    ] = None,
    outputs: OutputsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed, recorded in the report.")] = 0,
    documents: DocumentOptions,
) -> None:
    """What a benchmark's numbers hide: its labels, its wording, its baselines, with evidence and what to do."""
    wanted = api.checked_codes(fail_on or [])
    found = api.audit(benchmark, seed=seed, outputs=outputs)
    documents.present(found)
    if failing := found.matching(wanted):
        note(f"found, and asked to fail on: {', '.join(finding.code for finding in failing)}")
        raise typer.Exit(ExitCode.NO)


# `casewise export`: benchmarks and runs in other people's formats.


def export_command(
    source: Annotated[str, typer.Argument(help="A benchmark, or a run folder.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Of a benchmark: folder, published, parquet, hf (a dataset for the hub) or croissant. Of a run: "
            "eee (Every Eval Ever) or inspect.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where to: a new file or folder. Nothing is uploaded.")],
    about: Annotated[
        Path | None,
        typer.Option("--about", help="For croissant: a TOML file with what a benchmark cannot know of itself."),
    ] = None,
    benchmark: BenchmarkOption = None,
    labels: LabelsOption = "votes",
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="Write the texts of a benchmark whose terms restrict them.")
    ] = False,
) -> None:
    """Write a benchmark or a run in another format."""
    options = api.report_options(labels)
    api.check_format(source, to)
    if to == "inspect":
        from casewise.share.inspect_log import export_inspect_log  # needs an extra

        api.of_a_judge(source, to)
        if not with_texts and api.withholds_texts(source, benchmark=benchmark):
            raise ConfigurationError(
                "an Inspect log holds queries, contexts and replies, and this benchmark is gated: --with-texts writes them"
            )
        done = api.Handed(export_inspect_log(Path(source), out, benchmark=benchmark, policy=options.labels))
    else:
        done = api.hand_on(source, out, to=to, about=about, benchmark=benchmark, options=options, with_texts=with_texts)
    for text in done.notes:
        note(f"note: {text}")
    say(str(done.path), format=to, path=str(done.path), notes=list(done.notes))
    say_files(out)
