"""`casewise paper`."""

from __future__ import annotations

from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups
from casewise.cli.printing import OutputsOption

__all__ = ["paper"]


@with_groups
def paper(
    *,
    benchmark: Annotated[str, typer.Argument(help="casebench, or the published JSON file.")] = "casebench",
    outputs: OutputsOption = None,
    documents: DocumentOptions,
) -> None:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not."""
    documents.present(api.paper(benchmark, outputs=outputs))
