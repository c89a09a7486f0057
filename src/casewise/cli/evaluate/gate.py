"""`casewise gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkOption, LabelsOption

__all__ = ["gate"]


@with_groups
def gate(
    *,
    run: Annotated[Path, typer.Argument(help="The run folder to be let through.")],
    baseline: Annotated[Path, typer.Option("--baseline", help="The run folder that it is held against.")],
    max_drop: Annotated[
        str, typer.Option("--max-drop", help="Metric and largest drop allowed: accuracy=0.01,over_refusal=0.02.")
    ],
    labels: LabelsOption = "votes",
    benchmark: BenchmarkOption = None,
    documents: DocumentOptions,
) -> None:
    """Is this run worse than that one by more than is allowed? Exit 0: no. 1: yes. 3: these items, or an unfinished run, cannot tell."""
    found = api.gate(run, baseline, max_drop=max_drop, labels=labels, benchmark=benchmark)
    documents.present(found)
    raise typer.Exit(found.exit_code)
