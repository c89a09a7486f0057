"""Reports, comparisons, leaderboards, gates, replays and the view."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Protocol
from urllib.parse import parse_qsl

import typer

from casewise import api
from casewise.cli.commands import with_groups
from casewise.cli.printing import (
    BenchmarkOption,
    DocumentOptions,
    FormatOption,
    JsonOption,
    LabelsOption,
    OutputsOption,
    announce,
    note,
    print_json,
    say,
    say_files,
)
from casewise.errors import ConfigurationError, ExitCode
from casewise.extras import install_command

# `casewise demo`: the main job on what is embedded, from a judge to a page.


NEXT = (
    ("view {out}", "look around in what was judged, item by item"),
    ("data show demo 1", "read an item as the judge sees it"),
    ("judge demo --judge constant:intended", "a judge to hold it against"),
    ("data fetch casebench", "the published benchmark, once you accept its terms"),
)


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where the run goes.")] = Path("runs/demo"),
    form: FormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge the embedded demo benchmark with the embedded linear judge, and report."""
    run = api.judge("demo", "linear", out=out)
    found = run.report()
    page = out / "report.html"
    api.write_text(page, found.to_html())
    found.write_metrics(out)
    DocumentOptions(form=form, as_json=as_json).present(found, full=False)
    note(f"\nThe page: {page}")
    called = how_it_was_called()
    note("Next:")
    with_web = find_spec("uvicorn") is not None
    for command, what in NEXT if with_web else NEXT[1:]:
        note(f"  {called} {command.format(out=out):<40} {what}")
    if not with_web:
        note(f"  {install_command('web')}, and then {called} {NEXT[0][0].format(out=out)}: {NEXT[0][1]}")


def how_it_was_called() -> str:
    """`casewise`, or the path it was started by where the shell would not find it by name."""
    return "casewise" if shutil.which("casewise") or not Path(sys.argv[0]).is_file() else sys.argv[0]


# `casewise replay` and `casewise paper`: what was published, computed again.


@with_groups
def replay(
    *,
    files: Annotated[
        list[Path], typer.Argument(help="Judges' output files of the published release: output_MODE.json.")
    ],
    elicitation: Annotated[
        str | None,
        typer.Option("--elicitation", help="binary, score or probability, where the file's name does not say."),
    ] = None,
    documents: DocumentOptions,
) -> None:
    """Score judges' published outputs again: the release's numbers beside ours."""
    asked = api.elicitations_named(elicitation)
    found = [api.replay(file, elicitation=asked[0] if asked else None) for file in files]
    several = {"replays": [one.as_json() for one in found]}
    documents.present(api.Look(api.replay_page(*found), found[0].as_json() if len(found) == 1 else several))
    if all(one.n_unscored == one.n for one in found):
        raise typer.Exit(ExitCode.NOTHING_SCORED)


@with_groups
def paper(
    *,
    benchmark: Annotated[str, typer.Argument(help="casebench, or the published JSON file.")] = "casebench",
    outputs: OutputsOption = None,
    documents: DocumentOptions,
) -> None:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not."""
    documents.present(api.paper(benchmark, outputs=outputs))


# `casewise report`, `compare`, `leaderboard` and `gate`: what runs come to, alone and beside each other.


@dataclass(frozen=True)
class NumbersOptions:
    """Which items count in the numbers, and how."""

    labels: LabelsOption = "votes"
    ties: Annotated[
        str, typer.Option("--ties", help="What a tie under votes is worth: half, drop, safe or unsafe.")
    ] = "half"
    unscored: Annotated[
        str, typer.Option("--unscored", help="What an item without a verdict is worth: miss, exclude or published.")
    ] = "miss"
    benchmark: BenchmarkOption = None
    items: Annotated[
        str | None, typer.Option("--items", help="Only these items: clear, close, low-margin or hard (casewise audit).")
    ] = None

    def options(self, *, fit_thresholds: bool = False) -> api.ReportOptions:
        """What these words name."""
        return api.report_options(
            self.labels, ties=self.ties, unscored=self.unscored, items=self.items, fit_thresholds=fit_thresholds
        )


class MayHaveScored(Protocol):
    """Numbers of judges."""

    @property
    def nothing_scored(self) -> bool: ...


GraderLabelsOption = Annotated[
    Path | None,
    typer.Option(
        "--grader-labels",
        help="People's labels of some replies: an exported study of replies, or a file (item_id, label).",
    ),
]

FitThresholdsOption = Annotated[
    bool, typer.Option("--fit-thresholds", help="Give scalars verdicts, by thresholds fitted on other queries.")
]


@with_groups
def report(
    *,
    runs: Annotated[list[Path], typer.Argument(help="One or more run folders over the same benchmark.")],
    numbers: NumbersOptions,
    fit_thresholds: FitThresholdsOption = False,
    margin: Annotated[
        float,
        typer.Option("--margin", help="Agreement by which a judge may lie below one more person and be no worse."),
    ] = 0.05,
    grader_labels: GraderLabelsOption = None,
    with_replies: Annotated[
        bool,
        typer.Option(
            "--with-replies", help="With a chatbot's replies to the worst disagreements, in the page behind a click."
        ),
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Print the main tables too, not the answer alone.")] = False,
    documents: DocumentOptions,
) -> None:
    """How well judges agree with people: print the answer, and write the page."""
    options = replace(numbers.options(fit_thresholds=fit_thresholds), margin=margin, grader_labels=grader_labels)
    options = replace(options, with_replies=with_replies)
    found = api.report(*runs, benchmark=numbers.benchmark, options=options)
    page = documents.html or runs[0] / "report.html"
    api.write_text(page, found.to_html(), private=found.document.quotes_replies)
    if len(runs) == 1:
        found.write_metrics(runs[0])
    replace(documents, html=None).present(found, full=full)
    note(f"page: {page}" + ("" if full else " (here with the main tables: --full)"))
    end_with_code(found)


def end_with_code(found: MayHaveScored) -> None:
    """End with its own code where not one item has a verdict or a value."""
    if found.nothing_scored:
        raise typer.Exit(ExitCode.NOTHING_SCORED)


@with_groups
def compare(
    *,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders over the same benchmark, or one with several arms.")
    ] = None,
    says: Annotated[
        list[Path] | None, typer.Option("--says", help="A run that asked a model for verdicts; may be repeated.")
    ] = None,
    does: Annotated[
        list[Path] | None, typer.Option("--does", help="A folder of the same model's graded replies; may be repeated.")
    ] = None,
    numbers: NumbersOptions,
    fit_thresholds: FitThresholdsOption = False,
    by_repeat: Annotated[
        bool, typer.Option("--by-repeat", help="Compare repeats too, each as a judge of its own.")
    ] = False,
    grader_labels: GraderLabelsOption = None,
    documents: DocumentOptions,
) -> None:
    """Which judge agrees better with people, and is the difference real? With --says and --does: does a model do what it says?"""
    options = numbers.options(fit_thresholds=fit_thresholds)
    if not (says or does):
        if grader_labels is not None:
            raise ConfigurationError("--grader-labels goes with --says and --does")
        found = api.compare(*(runs or ()), benchmark=numbers.benchmark, by_repeat=by_repeat, options=options)
        documents.present(found)
        end_with_code(found)
        return
    if runs or by_repeat or not (says and does):
        raise ConfigurationError("--says and --does go together, without other runs and without --by-repeat")
    options = replace(options, grader_labels=grader_labels)
    told = api.replying.compare_says_does(says, does, benchmark=numbers.benchmark, options=options)
    documents.present(told)
    end_with_code(told)


@with_groups
def leaderboard(
    *,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders over one benchmark; none with --benchmark and outputs.")
    ] = None,
    numbers: NumbersOptions,
    fit_thresholds: FitThresholdsOption = False,
    outputs: OutputsOption = None,
    site: Annotated[
        Path | None,
        typer.Option("--site", help="Write it as a site to this new folder, the report of each run behind its row."),
    ] = None,
    with_texts: Annotated[
        bool, typer.Option("--with-texts", help="With --site: show items of a gated benchmark in reports too.")
    ] = False,
    documents: DocumentOptions,
) -> None:
    """Runs beside each other, published judges and baselines, with ranks that are intervals."""
    options = numbers.options(fit_thresholds=fit_thresholds)
    found = api.leaderboard(*(runs or ()), benchmark=numbers.benchmark, outputs=outputs, options=options)
    if site is not None:
        note(f"site: {found.write_site(site, with_texts=with_texts)}")
    documents.present(found)
    end_with_code(found.found)


@with_groups
def gate(
    *,
    run: Annotated[Path, typer.Argument(help="The run folder to be let through.")],
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="The run folder that it is held against, with --max-drop.")
    ] = None,
    max_drop: Annotated[
        str | None,
        typer.Option("--max-drop", help="Metric and largest drop allowed: accuracy=0.01,over_refusal=0.02."),
    ] = None,
    max_turned: Annotated[
        str | None,
        typer.Option(
            "--max-turned",
            help="Instead of a baseline: the share that no attack of the run may exceed: safe=0.1,unsafe=0.2,silenced=0.05.",
        ),
    ] = None,
    defence: Annotated[str, typer.Option("--defence", help="With --max-turned: the defence under which.")] = "none",
    max_unscored: Annotated[
        float | None,
        typer.Option(
            "--max-unscored",
            min=0.0,
            max=1.0,
            help="With --max-drop: the run passes with this share of items without a verdict at most. Default: 0.05.",
        ),
    ] = None,
    numbers: NumbersOptions,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML here, a test case a metric.")] = None,
    annotations: Annotated[
        bool | None,
        typer.Option(
            "--annotations/--no-annotations",
            help="Print ::error lines that GitHub annotates a run with. Default: where GITHUB_ACTIONS is set.",
        ),
    ] = None,
    documents: DocumentOptions,
) -> None:
    """Is this run worse than that one by more than is allowed? Exit 0: no. 1: yes. 3: these items, or an unfinished run, cannot tell."""
    if max_turned is not None and baseline is None and max_drop is None and junit is None:
        bounds = api.require_robustness(
            run, max_turned, defence=defence, benchmark=numbers.benchmark, options=numbers.options()
        )
        documents.present(bounds)
        raise typer.Exit(bounds.exit_code)
    if baseline is None or max_drop is None or max_turned is not None:
        raise ConfigurationError("give --baseline with --max-drop, or --max-turned alone: two gates are two commands")
    found = api.gate(
        run,
        baseline,
        max_drop=max_drop,
        max_unscored=max_unscored,
        benchmark=numbers.benchmark,
        options=numbers.options(),
    )
    if junit is not None:
        api.write_text(junit, found.to_junit())
    documents.present(found)
    if annotations if annotations is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in found.annotations:
            note(line)
    raise typer.Exit(found.exit_code)


# `casewise run`: what a run holds, read as a person would.


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


HEADINGS = ("batch", "provider", "model", "done", "stands", "since", "expires in", "at most", "run")


@app.command()
def jobs(
    *,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders, or what holds them. Default: runs and replies, here.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also jobs that have ended, were refused or are lost.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is out at providers' batch interfaces: since when, until when, and what it may cost. Nobody is called."""
    found = api.batch_jobs(runs or (), ended=every)
    if as_json:
        print_json({"jobs": [one.as_json() for one in found]})
        return
    if not found:
        note(
            "nothing is out"
            if runs
            else "nothing is out in runs and replies; of another folder: casewise run jobs FOLDER"
        )
        return
    now = datetime.now(UTC)
    rows = [list(HEADINGS), *(one.cells(now) for one in found)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    note("the command that handed them over collects them")


# `casewise view`: a room to look around in runs, item by item.


def view(
    runs: Annotated[list[Path], typer.Argument(help="One or more run folders over the same benchmark.")],
    benchmark: BenchmarkOption = None,
    labels: LabelsOption = "votes",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port of 127.0.0.1 to listen on.")] = 8109,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write pages that open from disk to this new folder instead.")
    ] = None,
    only: Annotated[
        str, typer.Option("--only", help="With --out: these items, as the address says behind its question mark.")
    ] = "",
    with_texts: Annotated[
        bool,
        typer.Option(
            "--with-texts", help="With --out: write the texts of a gated benchmark too, and what chatbots wrote."
        ),
    ] = False,
) -> None:
    """Look around in runs in a browser: items beside judges, searched and filtered, two judges side by side, notes."""
    if out is None and (only or with_texts):
        raise ConfigurationError("--only and --with-texts are for --out")
    viewed = api.view_runs(runs, benchmark=benchmark, policy=api.report_options(labels).labels)
    if out is not None:
        copy(viewed, out, only=only, with_texts=with_texts)
        return
    import uvicorn  # an extra

    from casewise.web.viewing import create_view

    address = f"http://127.0.0.1:{port}"
    table = viewed.now()
    announce(
        f"{len(table.items):,} items are at {address} (Ctrl-C ends it)",
        err=True,
        address=address,
        n_items=len(table.items),
        series=[one.name for one in table.series],
    )
    if open_browser:
        typer.launch(address)
    uvicorn.run(
        create_view(viewed, port=port),
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
    )


def copy(viewed: api.Viewed, out: Path, *, only: str, with_texts: bool) -> None:
    from casewise.web.viewing import write_view

    table = viewed.now()
    withheld = not with_texts and api.restricted(table.benchmark)
    wanted = api.ItemsWanted.of(dict(parse_qsl(only.removeprefix("?"), keep_blank_values=True)))
    done = write_view(viewed, out, only=wanted, withheld=withheld, quoted=with_texts)
    if withheld:
        note("the benchmark is gated: queries, contexts, replies and notes are withheld; --with-texts writes them")
    elif table.of_replies and not with_texts:
        note("what chatbots wrote is withheld; --with-texts writes it, for you alone to read")
    note(f"{done.n_items:,} items and {done.n_lists:,} lists; begin at:")
    say(str(done.path), path=str(done.path), n_items=done.n_items, n_lists=done.n_lists, texts_withheld=withheld)
    say_files(out)
