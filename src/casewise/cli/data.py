"""Benchmarks fetched, checked, shown, audited and exported."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from casewise import api
from casewise.cli.options import (
    BenchmarkArgument,
    BenchmarkOption,
    ItemArgument,
    LabelsOption,
    OutputsOption,
    WithTextsOption,
)
from casewise.cli.printing import (
    DocumentOptions,
    Documents,
    as_json,
    confirmed,
    note,
    print_json,
    say,
    say_files,
)
from casewise.errors import ConfigurationError, ExitCode
from casewise.options import Flat

# `casewise data`: benchmarks fetched, checked and shown.


app = App(name="data")

AnyFormat = Annotated[str, Parameter(help="demo, casebench, or a benchmark in any of the formats.")]
TaxonomyOption = Annotated[Path | None, Parameter(help="Categories of your own, as TOML.")]
ParametersOption = Annotated[Path | None, Parameter(help="Context parameters of your own, as TOML.")]


@app.command
def fetch(name: str, /, *, accept_terms: bool = False, prompts: bool = False, from_: Path | None = None) -> None:
    """Fetch the pinned release of CASE-Bench, once its terms are accepted.

    Parameters
    ----------
    name
        casebench
    accept_terms
        You have read the terms and accept them.
    prompts
        Fetch the paper's prompts as well, for --prompts published.
    from_
        Take this copy of the pinned file instead of downloading it.
    """
    fetched = api.fetch(
        name, accept_terms=accept_terms or asked, prompts=prompts, copy=from_, progress=sys.stderr.isatty()
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


@app.command
def check(benchmark: BenchmarkArgument, /) -> None:
    """Validate a benchmark: every record, every id, every checksum."""
    found = api.load(benchmark)
    counts, notes = found.counts.model_dump(), list(found.notes())
    if as_json():
        print_json({"valid": True, "name": found.name, "digest": found.digest, **counts, "notes": notes})
        return
    print(f"{benchmark} is valid: {', '.join(f'{n:,} {kind}' for kind, n in counts.items())}")
    for text in notes:
        note(f"note: {text}")


@app.command
def show(
    benchmark: BenchmarkArgument, item: ItemArgument = None, /, *, documents: Documents = DocumentOptions()
) -> None:
    """Show what a benchmark holds, or one item as a person would read it."""
    documents.present(api.look_at(benchmark, item))


@app.command(name="import")
def import_(
    file: Path,
    target: Path,
    /,
    *,
    columns: Flat[api.CaseColumns] = api.CaseColumns(),
    parameter: tuple[str, ...] = (),
    safe_word: tuple[str, ...] = (),
    unsafe_word: tuple[str, ...] = (),
    taxonomy: TaxonomyOption = None,
    parameters: ParametersOption = None,
) -> None:
    """Make a benchmark of your own labelled cases. Columns that are not named are guessed from their names.

    Parameters
    ----------
    file
        A CSV or JSON Lines file, a case a row.
    target
        A new folder for the benchmark.
    parameter
        COLUMN=group.parameter, for each column that states a part of the context.
    safe_word
        A word of the file that means safe; several times.
    unsafe_word
        One that means unsafe.
    """
    found = api.import_cases(
        file,
        target,
        columns=replace(columns, parameters=dict(map(column_and_parameter, parameter))),
        taxonomy=taxonomy,
        parameters=parameters,
        safe_words=safe_word,
        unsafe_words=unsafe_word,
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


@app.command
def join(first: AnyFormat, second: AnyFormat, target: Path, /, *, name: str | None = None) -> None:
    """Make one benchmark of two over the same queries; an item that was rated in both is refused.

    Parameters
    ----------
    second
        Another over the same queries, such as an exported study.
    target
        A new folder for both.
    name
        The new benchmark's name.
    """
    found = api.join(first, second, target, name=name)
    counts = found.counts
    what = f"{counts.items:,} items, {counts.ratings:,} ratings"
    say(f"{found.name} is at {target}: {what}", **written(found, target))


def written(benchmark: api.Benchmark, folder: Path) -> dict[str, Any]:
    """What was written, as values."""
    return {"folder": str(folder), "digest": benchmark.digest, "notes": list(benchmark.notes())} | (
        {"name": benchmark.name} | benchmark.counts.model_dump()
    )


@app.command
def export(benchmark: AnyFormat, target: Path, /, *, for_spreadsheet: bool = False) -> None:
    """Write one row an item as CSV for a spreadsheet program, with formulas made harmless.

    Parameters
    ----------
    target
        A CSV file.
    for_spreadsheet
        You know that the file is to look at, not to read back.
    """
    if not for_spreadsheet:
        raise ConfigurationError(
            "CSV is for spreadsheet programs only: give --for-spreadsheet, or use casewise export for a file "
            "that casewise reads back"
        )
    api.write_spreadsheet(api.load(benchmark), target)
    say(f"written to {target}", file=str(target))
    note("note: to look at, not to read back: cells that look like formulas begin with an apostrophe")


# `casewise audit`.


def audit(
    benchmark: BenchmarkArgument,
    /,
    *,
    fail_on: tuple[str, ...] = (),
    outputs: OutputsOption = None,
    seed: int = 0,
    documents: Documents = DocumentOptions(),
) -> None:
    """What a benchmark's numbers hide: its labels, its wording, its baselines, with evidence and what to do.

    Parameters
    ----------
    fail_on
        Exit with 1 if this finding is made: a code, a part such as labels, or any.
    seed
        Seed, recorded in the report.
    """
    wanted = api.checked_codes(fail_on)
    found = api.audit(benchmark, seed=seed, outputs=outputs)
    documents.present(found)
    if failing := found.matching(wanted):
        note(f"found, and asked to fail on: {', '.join(finding.code for finding in failing)}")
        raise SystemExit(ExitCode.NO)


# `casewise export`: benchmarks and runs in other people's formats.


def export_command(
    source: str,
    /,
    *,
    to: str,
    out: Path,
    about: Path | None = None,
    benchmark: BenchmarkOption = None,
    labels: LabelsOption = "votes",
    with_texts: WithTextsOption = False,
) -> None:
    """Write a benchmark or a run in another format.

    Parameters
    ----------
    source
        A benchmark, or a run folder.
    to
        Of a benchmark: folder, published, parquet, hf (a dataset for the hub) or croissant. Of a run: eee (Every Eval
        Ever) or inspect.
    out
        Where to: a new file or folder. Nothing is uploaded.
    about
        For croissant: a TOML file with what a benchmark cannot know of itself.
    """
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
