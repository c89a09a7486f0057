"""`casewise report`, `compare`, `leaderboard` and `gate`: what runs come to, alone and beside each other."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Protocol

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import (
    BenchmarkOption,
    LabelsOption,
    OutputsOption,
    note,
)
from casewise.errors import ConfigurationError, ExitCode

__all__ = ["NumbersOptions", "compare", "end_with_code", "gate", "leaderboard", "report"]


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
    grader_labels: Annotated[
        Path | None,
        typer.Option(
            "--grader-labels",
            help="People's labels of some replies: an exported study of replies, or a file (item_id, label).",
        ),
    ] = None,
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
    documents: DocumentOptions,
) -> None:
    """Which judge agrees better with people, and is the difference real? With --says and --does: does a model do what it says?"""
    options = numbers.options(fit_thresholds=fit_thresholds)
    if not (says or does):
        found = api.compare(*(runs or ()), benchmark=numbers.benchmark, by_repeat=by_repeat, options=options)
        documents.present(found)
        end_with_code(found)
        return
    if runs or by_repeat or not (says and does):
        raise ConfigurationError("--says and --does go together, without other runs and without --by-repeat")
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
    scale: Annotated[
        int | None,
        typer.Option(
            "--scale", min=1, help="Put judges and items on one scale; choose so many to place a new judge by."
        ),
    ] = None,
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
    found = api.leaderboard(*(runs or ()), benchmark=numbers.benchmark, outputs=outputs, options=options, scale=scale)
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
    found = api.gate(run, baseline, max_drop=max_drop, benchmark=numbers.benchmark, options=numbers.options())
    if junit is not None:
        api.write_text(junit, found.to_junit())
    documents.present(found)
    if annotations if annotations is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in found.annotations:
            note(line)
    raise typer.Exit(found.exit_code)
