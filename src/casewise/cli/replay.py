"""`casewise replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cli.printing import JsonOption, print_json

if TYPE_CHECKING:
    from casewise.evaluation.replay import Replay

__all__ = ["replay"]


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
    from casewise.cli.judge.options import elicitations_of
    from casewise.evaluation.replay import replay as score_again
    from casewise.stats.agreeing.estimates import Resampling

    named = elicitations_of(elicitation)
    found = score_again(file, elicitation=named[0] if named else None, resampling=Resampling(seed=seed))
    if as_json:
        print_json(found.as_json())
    else:
        print_replay(found)


def print_replay(found: Replay) -> None:
    from rich.console import Console

    from casewise.reporting.faces.terminal import print_table
    from casewise.reporting.pages.replay import replay_table

    console = Console()
    print_table(replay_table(found), console)
    console.print(
        "published: the release's own rules (the intent counts as a vote, an unparsed reply as 1.0).\n"
        "votes: people's votes alone, a tie half and half, an unscored item a miss; 95 % intervals over queries.",
        style="dim",
        highlight=False,
    )
