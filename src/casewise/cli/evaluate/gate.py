"""`casewise gate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkOption, ItemsOption, LabelsOption, TiesOption, UnscoredOption, note

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
    ties: TiesOption = "half",
    unscored: UnscoredOption = "miss",
    items: ItemsOption = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML here, a test case a metric.")] = None,
    annotations: Annotated[
        bool | None,
        typer.Option(
            "--annotations/--no-annotations",
            help="Print ::error lines that GitHub annotates a run with. Default: where GITHUB_ACTIONS is set.",
        ),
    ] = None,
    benchmark: BenchmarkOption = None,
    documents: DocumentOptions,
) -> None:
    """Is this run worse than that one by more than is allowed? Exit 0: no. 1: yes. 3: these items, or an unfinished run, cannot tell."""
    options = api.report_options(labels, ties=ties, unscored=unscored, items=items)
    found = api.gate(run, baseline, max_drop=max_drop, benchmark=benchmark, options=options)
    if junit is not None:
        api.write_text(junit, found.to_junit())
    documents.present(found)
    if annotations if annotations is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in found.annotations:
            note(line)
    raise typer.Exit(found.exit_code)
