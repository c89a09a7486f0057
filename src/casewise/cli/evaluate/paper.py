"""`casewise paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups

__all__ = ["paper"]


@with_groups
def paper(
    *,
    benchmark: Annotated[str, typer.Argument(help="casebench, or the published JSON file.")] = "casebench",
    outputs: Annotated[
        Path | None, typer.Option("--outputs", help="A folder with judges' output files of the release.")
    ] = None,
    documents: DocumentOptions,
) -> None:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not."""
    documents.present(api.paper(benchmark, outputs=() if outputs is None else outputs))
