"""`casewise paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    from casewise.reporting.pages.paper import paper_page
    from casewise.storage.benchmarks.load import load_benchmark

    files = sorted(outputs.rglob("output_*.json")) if outputs is not None else []
    page = paper_page(load_benchmark(benchmark), outputs=files)
    if html is not None:
        from casewise.reporting.faces.html import html as as_html

        write(html, as_html(page))
        note(f"page: {html}")
    Faces(markdown, latex, figures, tables).write(page)
    show(page)
