"""`casewise doctor`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from casewise.cli.printing import JsonOption, print_json

__all__ = ["doctor"]


def doctor(
    reach: Annotated[
        bool, typer.Option("--reach", help="Also see which servers on this machine, and which providers, answer.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """What is installed, configured and reachable. Keys are never shown, only whether they are set."""
    from casewise.integrations.checkup import checkup  # loads every client

    found = checkup(os.environ, reach=reach)
    if as_json:
        print_json(found.as_json())
        return
    for name, version in found.versions.items():
        typer.echo(f"{name:14} {version}")
    typer.echo("")
    for extra in found.extras:
        missing = f"missing {', '.join(extra.missing)}: pip install 'casewise[{extra.name}]'"
        typer.echo(f"[{extra.name}]".ljust(15) + ("installed" if not extra.missing else missing))
    typer.echo("")
    widest = max((len(endpoint.key) for endpoint in found.endpoints), default=0)
    for endpoint in found.endpoints:
        answers = "" if endpoint.reachable is None else ("answers" if endpoint.reachable else "no answer")
        typer.echo(
            f"{endpoint.name + '/':14} {endpoint.key:{widest}}  {answers:{10 if reach else 0}} {endpoint.address}".rstrip()
        )
    typer.echo("")
    for text in found.data:
        typer.echo(text)
