"""`casewise leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkOption, LabelsOption

__all__ = ["leaderboard"]


@with_groups
def leaderboard(
    *,
    runs: Annotated[list[Path], typer.Argument(help="Run folders over one benchmark.")],
    labels: LabelsOption = "votes",
    benchmark: BenchmarkOption = None,
    documents: DocumentOptions,
) -> None:
    """Runs beside each other and beside published numbers, with ranks that are intervals."""
    documents.present(api.leaderboard(*runs, benchmark=benchmark, labels=labels))
