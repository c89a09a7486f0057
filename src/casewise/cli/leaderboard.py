"""`casewise leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli.printing import JsonOption, LabelsOption, note, print_json, show, write

__all__ = ["leaderboard"]


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(help="Run folders over one benchmark.")],
    labels: LabelsOption = "votes",
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", help="The benchmark, where it has moved since.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the page here.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write Markdown here.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Runs beside each other and beside published numbers, with ranks that are intervals."""
    from casewise.evaluation.leaderboard import leaderboard as make_leaderboard
    from casewise.reporting.pages.leaderboard import leaderboard_page
    from casewise.stats.agreeing.labels import LabelPolicy

    board = make_leaderboard(runs, benchmark=benchmark, labels=LabelPolicy.parse(labels))
    page = leaderboard_page(board)
    if html is not None:
        from casewise.reporting.faces.html import html as as_html

        write(html, as_html(page))
        note(f"page: {html}")
    if markdown is not None:
        from casewise.reporting.faces.markdown import markdown as as_markdown

        write(markdown, as_markdown(page))
    if as_json:
        print_json(board.as_json())
    else:
        show(page)
