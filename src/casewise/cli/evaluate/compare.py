"""`casewise compare`."""

from __future__ import annotations

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
)

__all__ = ["compare"]


@with_groups
def compare(
    *,
    runs: Annotated[list[Path], typer.Argument(help="Run folders over the same benchmark, or one with several arms.")],
    labels: LabelsOption = "votes",
    ties: TiesOption = "half",
    unscored: UnscoredOption = "miss",
    benchmark: BenchmarkOption = None,
    items: ItemsOption = None,
    fit_thresholds: FitThresholdsOption = False,
    by_repeat: Annotated[
        bool, typer.Option("--by-repeat", help="Compare repeats too, each as a judge of its own.")
    ] = False,
    documents: DocumentOptions,
) -> None:
    """Which judge agrees better with people, and is the difference real?"""
    options = api.report_options(labels, ties=ties, unscored=unscored, items=items, fit_thresholds=fit_thresholds)
    documents.present(api.compare(*runs, benchmark=benchmark, by_repeat=by_repeat, options=options))
