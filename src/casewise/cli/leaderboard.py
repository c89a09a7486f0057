"""`casewise leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
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
    board = api.leaderboard(*runs, benchmark=benchmark, labels=labels)
    if html is not None:
        write(html, board.to_html())
        note(f"page: {html}")
    if markdown is not None:
        write(markdown, board.to_markdown())
    if as_json:
        print_json(board.as_json())
    else:
        show(board.document)
