"""Benchmarks fetched, imported, audited, shown and exported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from casewise import api
from casewise.cli.options import (
    BenchmarkArgument,
    BenchmarkOption,
    DatabaseOption,
    LabelsOption,
    OutputsOption,
    PhaseOption,
    WithTextsOption,
)
from casewise.cli.printing import (
    DocumentOptions,
    Documents,
    as_json,
    confirmed,
    note,
    print_json,
    print_table,
    say,
    say_files,
)
from casewise.cli.printing import show as print_document
from casewise.errors import ConfigurationError, ExitCode
from casewise.options import Flat
from casewise.plugins import KINDS, Plugin
from casewise.plugins import plugins as parts_of

# `casewise data`: benchmarks fetched and imported.


app = App(name="data")

TaxonomyOption = Annotated[Path | None, Parameter(help="Categories of your own, as TOML.")]
ParametersOption = Annotated[Path | None, Parameter(help="Context parameters of your own, as TOML.")]


@app.command(name="list")
def list_() -> None:
    """List public benchmarks by name, with size, content, labels, licence and source."""
    known = api.public_benchmarks()
    if as_json():
        print_json({"benchmarks": [asdict(benchmark) for benchmark in known]})
        return
    print_table(
        ("name", "size", "judged", "labelled by", "licence", "from", "fetched"),
        [
            (
                one.name,
                one.size,
                one.judged,
                one.labels_by or "see its file",
                one.licence,
                one.source if one.pinned else f"{one.source}, unpinned",
                "yes" if one.fetched else "no",
            )
            for one in known
        ],
    )
    note("casewise data fetch NAME gets one; unpinned: its checksum is shown and recorded at the first fetch")


@app.command
def fetch(
    name: str,
    /,
    *,
    accept_terms: bool = False,
    prompts: bool = False,
    from_: tuple[Path, ...] = (),
    out: Path | None = None,
) -> None:
    """Fetch a public benchmark from its publisher, once its terms are accepted. Every command then takes its name.

    Parameters
    ----------
    name
        A name that casewise data list shows, or judgebench_SET, with :METRIC where a set has several.
    accept_terms
        You have read the terms and accept them.
    prompts
        Of casebench: fetch the paper's prompts as well, for --prompts published.
    from_
        Take this copy of a file instead of downloading it; several times where a benchmark has several files.
    out
        Write it to this new folder as well.
    """
    fetched = api.fetch(
        name,
        accept_terms=accept_terms or asked,
        prompts=prompts,
        copies=from_,
        target=out,
        progress=sys.stderr.isatty(),
    )
    for file, checksum in fetched.checksums.items():
        note(f"{file} is not pinned; its sha256 is {checksum}, and is recorded")
    for title, path in fetched.files.items():
        say(f"{title} is at {path}", **{title: str(path)})


def asked(terms: str) -> bool:
    """Whether the user accepts the terms when asked at a terminal; one who does not has read them and needs no more."""
    if not sys.stdin.isatty():
        return False
    note(terms)
    if not confirmed("Do you accept?"):
        raise ConfigurationError("the terms are not accepted, so nothing was fetched")
    return True


@app.command(name="import")
def import_(
    file: Path,
    target: Path,
    /,
    *,
    columns: Flat[api.CaseColumns] = api.CaseColumns(),
    options: Flat[api.ImportOptions] = api.ImportOptions(),
    ratings: Flat[api.RatingTable] = api.RatingTable(),
    parameter: tuple[str, ...] = (),
    safe_word: tuple[str, ...] = (),
    unsafe_word: tuple[str, ...] = (),
    taxonomy: TaxonomyOption = None,
    parameters: ParametersOption = None,
) -> None:
    """Import your own labelled cases as a benchmark. Columns without an option are found by their names.

    Parameters
    ----------
    file
        A CSV or JSON Lines file, a case a row; or with --annotator a rating a row, and with --wide a person a row. Or what
        Label Studio, Argilla or Potato export as JSON.
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
        options=options,
        ratings=ratings,
    )
    for text in (*(found.about.remarks or ()), *found.notes()):
        note(f"note: {text}")
    cases, n = found.counts.items, found.counts.ratings
    say(f"{found.name} is at {target}: {cases:,} cases, {n:,} votes", **written(found, target))


def column_and_parameter(text: str) -> tuple[str, str]:
    column, sign, name = text.partition("=")
    if not (column and sign and name):
        raise ConfigurationError(f"--parameter is {text!r}; write COLUMN=group.parameter")
    return column, name


def written(benchmark: api.Benchmark, folder: Path) -> dict[str, Any]:
    """What was written, as values."""
    return {"folder": str(folder), "digest": benchmark.digest, "notes": list(benchmark.notes())} | (
        {"name": benchmark.name} | benchmark.counts.model_dump()
    )


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


# `casewise show` and `export`: whatever it is, one command.


def show(
    what: str,
    names: tuple[str, ...] = (),
    /,
    *,
    benchmark: BenchmarkOption = None,
    all_: bool = False,
    documents: Documents = DocumentOptions(),
) -> None:
    """Show what a benchmark or a run holds, one item of it, or what there is: attacks, guards, batch jobs, plugins.

    A benchmark is read whole: every record, every id and every checksum is checked.

    Parameters
    ----------
    what
        demo, a public benchmark by its name, a benchmark folder, a published JSON file, or a run folder. attacks: attacks, perturbations and
        defences, with examples. guards: how each is told of a context, and what of its profile was checked. jobs: what is
        out at batch interfaces, since when, until when, and what each may cost; nobody is called. plugins: parts that other
        installed packages bring, and whether each can be loaded.
    names
        An item's id, its beginning, or its place from 1: it is shown as a person would read it, of a run with verdict and
        people's votes. Of attacks, a benchmark whose parameters the twins are of; of guards, those to be shown in full, or
        TOML files of your own; of jobs, run folders or what holds them. Default for jobs: runs and replies, here.
    all_
        Of jobs: also those that have ended, were refused or are lost.
    """
    if what == "jobs":
        list_jobs(names, ended=all_)
    elif what == "guards":
        profiles = [api.deciding.profile_named(name) for name in names] or list(api.deciding.all_profiles().values())
        print_or_show(
            {profile.name: profile.as_json() for profile in profiles}, lambda: api.deciding.guards_page(names)
        )
    elif what == "plugins":
        list_plugins()
    elif what == "attacks":
        offers = api.attacks_offered(names[0] if names else None)
        print_or_show(offers.as_json(), lambda: offers.document)
    elif len(names) > 1:
        raise ConfigurationError(f"one item is shown at a time; {', '.join(names)} are {len(names)}")
    elif api.is_run(what):
        documents.present(api.look_at_run(what, *names, benchmark=benchmark))
    elif benchmark is not None:
        raise ConfigurationError("--benchmark is for a run")
    else:
        documents.present(api.look_at(what, *names))


def print_or_show(numbers: dict[str, Any], document: Callable[[], api.Document]) -> None:
    if as_json():
        print_json(numbers)
    else:
        print_document(document())


def list_plugins() -> None:
    """List the parts that other installed packages bring, and whether each can be loaded."""
    rows = [(part, problem_of(part)) for kind in KINDS for part in parts_of(kind)]
    lines = [f"{part.kind:13} {part.name:20} {part.package:24} {problem or 'loads'}" for part, problem in rows] or [
        f"No installed package brings a part. A package may bring {', '.join(KINDS)}."
    ]
    say("\n".join(lines), plugins=[asdict(part) | {"problem": problem} for part, problem in rows])


def problem_of(part: Plugin) -> str | None:
    try:
        part.load()
    except ConfigurationError as error:
        return str(error)
    return None


HEADINGS = ("batch", "provider", "model", "done", "stands", "since", "expires in", "at most", "run")


def list_jobs(runs: tuple[str, ...], *, ended: bool) -> None:
    """What is out at providers' batch interfaces."""
    found = api.batch_jobs(runs, ended=ended)
    if as_json():
        print_json({"jobs": [job.as_json() for job in found]})
        return
    if not found:
        elsewhere = "" if runs else " in runs and replies; of another folder: casewise show jobs FOLDER"
        note(f"nothing is out{elsewhere}")
        return
    print_table(HEADINGS, [job.cells(datetime.now(UTC)) for job in found])
    note("the command that handed them over collects them")


def export(
    source: str,
    /,
    *,
    to: str | None = None,
    out: Path,
    join: str | None = None,
    about: Path | None = None,
    benchmark: BenchmarkOption = None,
    labels: LabelsOption = "votes",
    with_texts: WithTextsOption = False,
    phase: PhaseOption = "main",
    database: DatabaseOption = None,
) -> None:
    """Write a benchmark, a run, replies or a study's ratings in another format. Nothing is uploaded.

    Parameters
    ----------
    source
        A benchmark, a run folder, a folder of replies, or study.toml.
    to
        Of a benchmark: folder, published, parquet, hf (a dataset for the hub), croissant, or csv (to look at in a
        spreadsheet, not to read back). Of a run: eee (Every Eval Ever), inspect, or paraphrases (those that a model made,
        for people to read). Of replies: table (with their grades; .jsonl or .parquet). Of a study: ratings (a benchmark
        folder). Default: the first of these.
    out
        A new file or folder.
    join
        Another benchmark over the same queries, such as an exported study: both become one folder. An item that was rated
        in both is refused.
    about
        For croissant: a TOML file with what a benchmark cannot know of itself.
    """
    kind = api.kind_of_source(source)
    to = api.check_format(source, to)
    if kind == "study":
        done = api.studies.export(out, study=source, phase=phase, database=database)
        facts = {"folder": str(done.folder), "ratings": done.ratings, "excluded": done.excluded, "exact": done.exact}
        say(f"{done.folder}: {done.ratings:,} ratings, {done.excluded:,} apart in excluded.jsonl", **facts)
        if not done.exact:
            note("The study is not complete: some items have fewer ratings than promised.")
        return
    if join is not None:
        if to != "folder":
            raise ConfigurationError("--join makes one benchmark folder of two benchmarks: leave --to out")
        joined = api.join(source, join, out)
        counts = joined.counts
        say(f"{out}: {counts.items:,} items, {counts.ratings:,} ratings", **written(joined, out))
        return
    handed = api.hand_on(
        source,
        out,
        to=to,
        about=about,
        benchmark=benchmark,
        options=api.report_options(labels),
        with_texts=with_texts,
    )
    for text in handed.notes:
        note(f"note: {text}")
    say(str(handed.path), format=to, path=str(handed.path), notes=list(handed.notes))
    say_files(out)
