"""`casewise gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.printing import JsonOption, LabelsOption, print_json, show, write

__all__ = ["gate"]


def gate(
    run: Annotated[Path, typer.Argument(help="The run folder to be let through.")],
    baseline: Annotated[Path, typer.Option("--baseline", help="The run folder that it is held against.")],
    max_drop: Annotated[
        str, typer.Option("--max-drop", help="Metric and largest drop allowed: accuracy=0.01,over_refusal=0.02.")
    ],
    labels: LabelsOption = "votes",
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, where it has moved since.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the summary as Markdown here, for a CI's summary page.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Is this run worse than that one by more than is allowed? Exit 0: no. 1: yes. 3: these items cannot tell."""
    found = api.gate(run, baseline, max_drop=max_drop, labels=labels, benchmark=benchmark)
    if markdown is not None:
        write(markdown, found.to_markdown())
    if as_json:
        print_json(found.as_json())
    else:
        show(found.document)
    raise typer.Exit(found.exit_code)
