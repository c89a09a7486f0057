"""`casewise audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.printing import JsonOption, note, print_json, show, write

__all__ = ["audit"]


def audit(
    benchmark: Annotated[str, typer.Argument(help="demo, casebench, a benchmark folder, or a published JSON file.")],
    html: Annotated[Path | None, typer.Option("--html", help="Write the report as a page here.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the report as Markdown here.")] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option("--fail-on", help="Exit with 1 if this finding is made: a code, a part such as labels, or any."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed, recorded in the report.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """What a benchmark's numbers hide: its labels, its wording, its baselines, with evidence and what to do."""
    wanted = api.checked_codes(fail_on or [])
    found = api.audit(benchmark, seed=seed)
    if html is not None:
        write(html, found.to_html())
    if markdown is not None:
        write(markdown, found.to_markdown())
    if as_json:
        print_json(found.as_json())
    else:
        show(found.document)
    for path in (html, markdown):
        if path is not None:
            note(f"written: {path}")
    if failing := found.matching(wanted):
        note(f"found, and asked to fail on: {', '.join(finding.code for finding in failing)}")
        raise typer.Exit(1)
