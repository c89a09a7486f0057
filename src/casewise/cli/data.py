"""Commands that list, fetch, import, audit, show and export benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from casewise import api
from casewise.cli.options import (
    BenchmarkArgument,
    BenchmarkOption,
    DatabaseOption,
    LabelsOption,
    ParameterColumns,
    PhaseOption,
    WithTextsOption,
    values_by_name,
)
from casewise.cli.printing import (
    DocumentOptions,
    Documents,
    confirm,
    is_json_output,
    note,
    print_json,
    print_table,
    say,
)
from casewise.cli.printing import show as print_document
from casewise.errors import ConfigurationError, ExitCode
from casewise.options import Flat
from casewise.plugins import KINDS, installed_plugins
from casewise.reports.document import Document
from casewise.stats.metrics import Metric, problem_with
from casewise.storage.benchmark import Benchmark
from casewise.storage.intake.cells import Policies
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.joins import RatingTable
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import ImportOptions, bad_rows_file
from casewise.storage.receipt import Receipt
from casewise.storage.words import VerdictWords
from casewise.text import count_of

app = App(name="data")

TaxonomyOption = Annotated[Path | None, Parameter(help="Categories of your own, as TOML.")]
ParametersOption = Annotated[Path | None, Parameter(help="Context parameters of your own, as TOML.")]


@app.command(name="list")
def list_() -> None:
    """List public benchmarks by name, with size, content, labels, licence and source."""
    benchmarks = api.public_benchmarks().to_dicts()
    if is_json_output():
        print_json({"benchmarks": benchmarks})
        return
    print_table(
        ("name", "size", "judged", "labelled by", "licence", "metrics", "from", "fetched"),
        [
            (
                row["name"],
                row["size"],
                row["judged"],
                row["labels_by"] or "see its file",
                row["licence"],
                row["metrics"] or "one",
                row["source"] if row["pinned"] else f"{row['source']}, unpinned",
                "yes" if row["fetched"] else "no",
            )
            for row in benchmarks
        ],
    )
    note("casewise data fetch NAME fetches one; unpinned: casewise records the checksum of the first copy")


@app.command
def fetch(
    name: str,
    /,
    *,
    accept_terms: bool = False,
    prompts: bool = False,
    outputs: bool = False,
    from_: tuple[Path, ...] = (),
    out: Path | None = None,
) -> None:
    """Fetch a public benchmark from its publisher after you accept its terms. Every command then takes its name.

    Parameters
    ----------
    name
        A name from casewise data list, or judgebench_SET; with :METRIC if the set has several metrics.
    accept_terms
        State that you have read the publisher's terms and accept them. --yes of other commands agrees to a cost only.
    prompts
        For casebench: also fetch the paper's prompts, for --prompts published.
    outputs
        For casebench: also fetch the published answers of its seven judges, for --outputs casebench.
    from_
        Use this copy of a file instead of a download; may be repeated if the benchmark has several files. With --outputs:
        the folder that they are in, exp of the release.
    out
        Also write the benchmark to this new folder.
    """
    fetched = api.fetch(
        name,
        accept_terms=accept_terms or accepts_terms,
        prompts=prompts,
        outputs=outputs,
        copies=from_,
        target=out,
        progress=sys.stderr.isatty(),
    )
    for file, checksum in fetched.checksums.items():
        note(f"casewise had no checksum of {file}; it recorded the one of this copy: sha256 {checksum}")
    for title, path in fetched.files.items():
        say(f"{title} is at {path}", **{title: str(path)})


def accepts_terms(terms: str) -> bool:
    """Return True if the user accepts the terms at a terminal, and False if there is no terminal."""
    if not sys.stdin.isatty():
        return False
    note(terms)
    if not confirm("Do you accept?"):
        raise ConfigurationError("the terms are not accepted, so nothing was fetched")
    return True


@app.command(name="import")
def import_(
    file: Path,
    /,
    *,
    out: Path | None = None,
    columns: Flat[CaseColumns] = CaseColumns(),
    words: Flat[VerdictWords] = VerdictWords(),
    policies: Flat[Policies] = Policies(),
    options: Flat[ImportOptions] = ImportOptions(),
    ratings: Flat[RatingTable] = RatingTable(),
    form: Flat[FileOptions] = FileOptions(),
    parameter: ParameterColumns = (),
    taxonomy: TaxonomyOption = None,
    parameters: ParametersOption = None,
    dry_run: bool = False,
) -> None:
    """Import your own labelled cases as a benchmark. If a file can be read in two ways, casewise asks and does not guess.

    Parameters
    ----------
    file
        A table with one row for each case; with --annotator, for each rating; with --wide, for each person. The format is
        recognised by content: CSV, JSON, Excel, Parquet, Arrow, or an export of Label Studio, Argilla, Potato, doccano,
        Qualtrics or MTurk.
    out
        A new folder for the benchmark.
    dry_run
        Print how each column and word would be read and what becomes of the rows; write nothing.
    """
    if out is None and not dry_run:
        raise ConfigurationError("name a new folder with --out, or preview the import with --dry-run")
    benchmark = api.import_cases(
        file,
        None if dry_run else out,
        columns=replace(columns, parameters=values_by_name(parameter)),
        words=words,
        policies=policies,
        taxonomy=taxonomy,
        parameters=parameters,
        options=options,
        ratings=ratings,
        file=form,
    )
    receipt, counts = benchmark.about.receipt, benchmark.counts
    if dry_run or out is None:
        lines = receipt.sentences() if receipt else ()
        total = f"{count_of(counts.items, 'item')}, {count_of(counts.ratings, 'rating')}; nothing was written."
        facts = {"receipt": receipt.as_json() if receipt else None, **counts.model_dump()}
        say("\n".join((*lines, total)), **facts)
        return
    for text in (*noteworthy_lines(receipt), *(benchmark.about.remarks or ()), *benchmark.notes()):
        note(f"note: {text}")
    if bad_rows_file(out).exists():
        note(f"note: rows that could not be read are in {bad_rows_file(out)}, each with the reason")
    print_written(benchmark, out)


def noteworthy_lines(receipt: Receipt | None) -> tuple[str, ...]:
    """Return the lines of a receipt that every user should read: rows that were merged or dropped, and decisions about a
    file."""
    if receipt is None:
        return ()
    rows = receipt.model_copy(update={"columns": (), "words": ()}).sentences()
    return tuple(rows) if receipt.n_kept < receipt.n_rows else receipt.notes


def print_written(benchmark: Benchmark, folder: Path) -> None:
    """Print the place and the counts of a written benchmark. The word for its labels follows their origin."""
    from casewise.storage.wording import LabelWords

    counts = benchmark.counts
    labels = LabelWords.for_benchmark(benchmark).counted(counts.ratings)
    facts = {
        "folder": str(folder),
        "digest": benchmark.digest,
        "notes": list(benchmark.notes()),
        "name": benchmark.name,
    }
    say(f"{benchmark.name} is at {folder}: {count_of(counts.items, 'item')}, {labels}", **facts, **counts.model_dump())


def audit(
    benchmark: BenchmarkArgument,
    /,
    *,
    fail_on: tuple[str, ...] = (),
    seed: int = 0,
    documents: Documents = DocumentOptions(),
) -> None:
    """Report faults of a benchmark that distort its numbers: in labels, wording and baselines, with evidence and remedy.

    Parameters
    ----------
    fail_on
        Exit with 1 if the audit has this finding: a code, a part such as labels, or any.
    seed
        Seed of the audit; the report records it.
    """
    from casewise.audits.subject import check_codes  # and the whole audit

    codes = check_codes(fail_on)
    report = api.audit(benchmark, seed=seed)
    documents.present(report)
    if failing := report.select_findings(codes):
        note(f"exit code 1: the audit has findings of --fail-on: {', '.join(finding.code for finding in failing)}")
        raise SystemExit(ExitCode.NO)


def show(
    what: str,
    names: tuple[str, ...] = (),
    /,
    *,
    benchmark: BenchmarkOption = None,
    all_: bool = False,
    documents: Documents = DocumentOptions(),
) -> None:
    """Show the content of a benchmark or a run, one item of it, or a list of attacks, guards, batch jobs or plugins.

    The command checks every record, id and checksum of a benchmark.

    Parameters
    ----------
    what
        demo, the name of a public benchmark, a benchmark folder, a published JSON file, or a run folder. Or one of four
        lists. attacks: attacks, perturbations and defences, with examples. guards: the profile of each guard. jobs:
        unfinished batch jobs with start, end and maximum cost, from local records. plugins: parts from other installed
        packages.
    names
        An item's id, the beginning of it, or its number from 1; a run adds verdict and votes. With attacks: a benchmark,
        for twins of its parameters. With guards: guards to show in full, or your own TOML files. With jobs: run folders,
        or folders that hold them. Default for jobs: runs and replies in this folder.
    all_
        With jobs: also list jobs that have ended, were refused or are lost.
    """
    if what == "jobs":
        list_jobs(names, ended=all_)
    elif what == "guards":
        from casewise.judges.guard_profiles import all_profiles, find_profile  # and every guard

        profiles = [find_profile(name) for name in names] or list(all_profiles().values())
        print_or_show(
            {profile.name: profile.as_json() for profile in profiles}, lambda: api.deciding.guards_page(names)
        )
    elif what == "plugins":
        list_plugins()
    elif what == "attacks":
        offers = api.list_attacks(names[0] if names else None)
        print_or_show(offers.as_json(), lambda: offers.document)
    elif len(names) > 1:
        raise ConfigurationError(f"casewise show prints one item at a time; give one of {', '.join(names)}")
    elif api.exporting.is_run(what):
        documents.present(api.show_run(what, *names, benchmark=benchmark))
    elif benchmark is not None:
        raise ConfigurationError("--benchmark works only with a run")
    else:
        documents.present(api.show_benchmark(what, *names))


def print_or_show(numbers: dict[str, Any], document: Callable[[], Document]) -> None:
    if is_json_output():
        print_json(numbers)
    else:
        print_document(document())


def list_plugins() -> None:
    """List the parts that other installed packages bring, and whether each can be loaded."""
    rows = [
        (part, problem or (problem_with(part.load(Metric), part.name) if kind == "metrics" else None))
        for kind in KINDS
        for part, problem in installed_plugins(kind)
    ]
    lines = [f"{part.kind:13} {part.name:20} {part.package:24} {problem or 'loads'}" for part, problem in rows] or [
        f"No installed package adds a part. A package can add {', '.join(KINDS)}."
    ]
    say("\n".join(lines), plugins=[asdict(part) | {"problem": problem} for part, problem in rows])


HEADINGS = ("batch", "provider", "model", "done", "stage", "since", "expires", "at most", "run")


def list_jobs(runs: tuple[str, ...], *, ended: bool) -> None:
    """List the batch jobs at providers."""
    jobs = api.batch_jobs(runs, ended=ended)
    if is_json_output():
        print_json({"jobs": jobs})
        return
    if not jobs:
        searched = "" if runs else " in runs and replies; for another folder: casewise show jobs FOLDER"
        note(f"no batch job is open{searched}")
        return
    print_table(
        HEADINGS,
        [
            (
                job["batch"] or job["job"],
                job["provider"],
                job["model"],
                f"{job['n_done']:,}/{job['n_requests']:,}",
                job["state"] or job["stage"],
                job["since"][:16],
                (job["expires"] or "")[:16],
                "unknown" if job["cost_at_most_usd"] is None else f"${job['cost_at_most_usd']:.4f}",
                job["run"],
            )
            for job in jobs
        ],
    )
    note("times are in UTC; to collect the replies of a job, repeat the command that submitted it")


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
        Format. For a benchmark: folder, published, parquet, hf (a dataset for the hub), croissant, or csv (for a
        spreadsheet; casewise cannot read it back). For a run: eee (Every Eval Ever), inspect, garak or pyrit. For replies: table
        (with grades; .jsonl or .parquet). For a study: ratings (a benchmark folder). Default: the first format.
    out
        A new file or folder.
    join
        Another benchmark over the same queries, such as an exported study, to join into one folder. The command refuses
        an item that was rated in both.
    about
        With croissant: a TOML file with facts that the benchmark does not hold.
    """
    kind = api.exporting.kind_of_source(source)
    to = api.exporting.check_format(source, to)
    if kind == "study":
        exported = api.Study(source, phase, database).export(out)
        facts = {name: getattr(exported, name) for name in ("ratings", "excluded", "exact")}
        ratings = count_of(exported.ratings, "rating")
        text = f"{exported.folder}: {ratings}, and {exported.excluded:,} excluded in excluded.jsonl"
        say(text, folder=str(exported.folder), **facts)
        if not exported.exact:
            note("The study is not complete: some items have fewer ratings than promised.")
        return
    if join is not None:
        if to != "folder":
            raise ConfigurationError("--join writes a benchmark folder; leave --to out")
        print_written(api.join(source, join, out), out)
        return
    handed = api.export(
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
