"""`casewise report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import (
    BenchmarkOption,
    FitThresholdsOption,
    ItemsOption,
    LabelsOption,
    TiesOption,
    UnscoredOption,
    note,
)
from casewise.errors import ExitCode

__all__ = ["report"]


@with_groups
def report(
    *,
    runs: Annotated[list[Path], typer.Argument(help="One or more run folders over the same benchmark.")],
    labels: LabelsOption = "votes",
    ties: TiesOption = "half",
    unscored: UnscoredOption = "miss",
    benchmark: BenchmarkOption = None,
    items: ItemsOption = None,
    fit_thresholds: FitThresholdsOption = False,
    margin: Annotated[
        float,
        typer.Option("--margin", help="Agreement by which a judge may lie below one more person and be no worse."),
    ] = 0.05,
    documents: DocumentOptions,
) -> None:
    """How well judges agree with people: print the main numbers, and write the page."""
    options = api.report_options(labels, ties=ties, unscored=unscored, items=items, fit_thresholds=fit_thresholds)
    found = api.report(*runs, benchmark=benchmark, options=replace(options, margin=margin))
    page = documents.html or runs[0] / "report.html"
    api.write_text(page, found.to_html())
    if len(runs) == 1:
        found.write_metrics(runs[0])
    replace(documents, html=None).present(found)
    note(f"page: {page}")
    if found.nothing_scored:
        raise typer.Exit(ExitCode.NOTHING_SCORED)
