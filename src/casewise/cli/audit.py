"""`casewise audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import BenchmarkArgument, OutputsOption, note
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
    outputs: OutputsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed, recorded in the report.")] = 0,
    documents: DocumentOptions,
) -> None:
    """What a benchmark's numbers hide: its labels, its wording, its baselines, with evidence and what to do."""
    wanted = api.checked_codes(fail_on or [])
    found = api.audit(benchmark, seed=seed, outputs=outputs)
    documents.present(found)
    if failing := found.matching(wanted):
        note(f"found, and asked to fail on: {', '.join(finding.code for finding in failing)}")
        raise typer.Exit(ExitCode.NO)
