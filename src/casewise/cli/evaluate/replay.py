"""`casewise replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.documents import DocumentOptions
from casewise.cli.option_groups import with_groups

__all__ = ["replay"]


@with_groups
def replay(
    *,
    file: Annotated[Path, typer.Argument(help="A judge's output file of the published release: output_MODE.json.")],
    elicitation: Annotated[
        str | None,
        typer.Option("--elicitation", help="binary, score or probability, where the file's name does not say."),
    ] = None,
    documents: DocumentOptions,
) -> None:
    """Score a judge's published output again: the release's numbers beside ours."""
    asked = api.elicitations_named(elicitation)
    found = api.replay(file, elicitation=asked[0] if asked else None)
    documents.present(api.Look(api.replay_page(found), found.as_json()))
