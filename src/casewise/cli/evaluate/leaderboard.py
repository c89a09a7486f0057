"""`casewise leaderboard`."""

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
    OutputsOption,
    TiesOption,
    UnscoredOption,
)

__all__ = ["leaderboard"]


@with_groups
def leaderboard(
    *,
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders over one benchmark; none with --benchmark and outputs.")
    ] = None,
    labels: LabelsOption = "votes",
    ties: TiesOption = "half",
    unscored: UnscoredOption = "miss",
    items: ItemsOption = None,
    fit_thresholds: FitThresholdsOption = False,
    benchmark: BenchmarkOption = None,
    outputs: OutputsOption = None,
    documents: DocumentOptions,
) -> None:
    """Runs beside each other, published judges and baselines, with ranks that are intervals."""
    options = api.report_options(labels, ties=ties, unscored=unscored, items=items, fit_thresholds=fit_thresholds)
    documents.present(api.leaderboard(*(runs or ()), benchmark=benchmark, outputs=outputs, options=options))
