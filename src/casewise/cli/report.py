"""`casewise report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.faces import Faces, FiguresOption, LatexOption, MarkdownOption, TablesOption
from casewise.cli.printing import (
    JsonOption,
    LabelsOption,
    TiesOption,
    UnscoredOption,
    note,
    print_json,
    show,
    write,
)

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="One or more run folders over the same benchmark.")],
    labels: LabelsOption = "votes",
    ties: TiesOption = "half",
    unscored: UnscoredOption = "miss",
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, where it has moved since.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Where to write the page. Default: report.html in the run's folder.")
    ] = None,
    items: Annotated[
        str | None, typer.Option("--items", help="Only these items: clear, close, low-margin or hard (casewise audit).")
    ] = None,
    fit_thresholds: Annotated[
        bool,
        typer.Option("--fit-thresholds", help="Give scalars verdicts, by thresholds fitted on other queries."),
    ] = False,
    markdown: MarkdownOption = None,
    latex: LatexOption = None,
    figures: FiguresOption = None,
    tables: TablesOption = None,
    as_json: JsonOption = False,
) -> None:
    """How well judges agree with people: print the main numbers, and write the page."""
    options = api.report_options(labels, ties=ties, unscored=unscored, items=items, fit_thresholds=fit_thresholds)
    found = api.report(*runs, benchmark=benchmark, options=options)
    page = html or runs[0] / "report.html"
    write(page, found.to_html())
    if len(runs) == 1:
        found.write_metrics(runs[0])
    Faces(markdown, latex, figures, tables).write(found.document)
    if as_json:
        print_json(found.as_json())
    else:
        show(found.document)
    note(f"page: {page}")
