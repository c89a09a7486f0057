"""`casewise replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.printing import JsonOption, print_json, print_tables

__all__ = ["replay"]

HOW_TO_READ = (
    "published: the release's own rules (the intent counts as a vote, an unparsed reply as 1.0).\n"
    "votes: people's votes alone, a tie half and half, an unscored item a miss; 95 % intervals over queries."
)


def replay(
    file: Annotated[Path, typer.Argument(help="A judge's output file of the published release: output_MODE.json.")],
    elicitation: Annotated[
        str | None,
        typer.Option("--elicitation", help="binary, score or probability, where the file's name does not say."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the intervals.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Score a judge's published output again: the release's numbers beside ours."""
    asked = api.elicitations_named(elicitation)
    found = api.replay(file, elicitation=asked[0] if asked else None, seed=seed)
    if as_json:
        print_json(found.as_json())
    else:
        print_tables(api.replay_table(found), remarks=[HOW_TO_READ, *found.notes], style="dim")
