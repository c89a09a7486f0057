"""`casewise compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.faces import Faces, FiguresOption, LatexOption, MarkdownOption, TablesOption
from casewise.cli.printing import JsonOption, LabelsOption, TiesOption, UnscoredOption, note, print_json, show, write

__all__ = ["compare"]


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders over the same benchmark, or one with several arms.")],
    labels: LabelsOption = "votes",
    ties: TiesOption = "half",
    unscored: UnscoredOption = "miss",
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, where it has moved since.")
    ] = None,
    by_repeat: Annotated[
        bool, typer.Option("--by-repeat", help="Compare repeats too, each as a judge of its own.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write the page here.")] = None,
    markdown: MarkdownOption = None,
    latex: LatexOption = None,
    figures: FiguresOption = None,
    tables: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Which judge agrees better with people, and is the difference real?"""
    options = api.report_options(labels, ties=ties, unscored=unscored)
    found = api.compare(*runs, benchmark=benchmark, by_repeat=by_repeat, options=options)
    Faces(markdown, latex, figures, tables).write(found.document)
    if as_json:
        print_json(found.as_json())
    else:
        show(found.document)
    if html is not None:
        write(html, found.to_html())
        note(f"page: {html}")
