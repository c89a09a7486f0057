"""`casewise guards`: which guards there are."""

from __future__ import annotations

from typing import Annotated

import typer

from casewise import api
from casewise.cli.printing import JsonOption, print_json, show

__all__ = ["guards"]


def guards(
    names: Annotated[
        list[str] | None, typer.Argument(help="Guards, or TOML files of your own, to be shown in full.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the guards that can judge, how each is told of a context, and what of its profile was checked."""
    given = tuple(names or ())
    if as_json:
        chosen = [api.deciding.profile_named(name) for name in given] or list(api.deciding.all_profiles().values())
        print_json({one.name: one.as_json() for one in chosen})
        return
    show(api.deciding.guards_page(given))
