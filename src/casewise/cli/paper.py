"""`casewise paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.faces import Faces, FiguresOption, LatexOption, MarkdownOption, TablesOption
from casewise.cli.printing import note, show, write

__all__ = ["paper"]


def paper(
    benchmark: Annotated[str, typer.Argument(help="casebench, or the published JSON file.")] = "casebench",
    outputs: Annotated[
        Path | None, typer.Option("--outputs", help="A folder with judges' output files of the release.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the page here.")] = None,
    markdown: MarkdownOption = None,
    latex: LatexOption = None,
    figures: FiguresOption = None,
    tables: TablesOption = None,
) -> None:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not."""
    found = api.paper(benchmark, outputs=() if outputs is None else outputs)
    if html is not None:
        write(html, found.to_html())
        note(f"page: {html}")
    Faces(markdown, latex, figures, tables).write(found.document)
    show(found.document)
