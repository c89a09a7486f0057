"""`casewise audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkArgument, note
from casewise.errors import ExitCode

__all__ = ["audit"]


@with_groups
def audit(
    *,
    benchmark: BenchmarkArgument,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", help="Exit with 1 if this finding is made: a code, a part such as labels, or any."),
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option("--outputs", help="A folder with judges' output files of the release, to look at too."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed, recorded in the report.")] = 0,
    documents: DocumentOptions,
) -> None:
    """What a benchmark's numbers hide: its labels, its wording, its baselines, with evidence and what to do."""
    wanted = api.checked_codes(fail_on or [])
    found = api.audit(benchmark, seed=seed, outputs=() if outputs is None else outputs)
    documents.present(found)
    if failing := found.matching(wanted):
        note(f"found, and asked to fail on: {', '.join(finding.code for finding in failing)}")
        raise typer.Exit(ExitCode.NO)
