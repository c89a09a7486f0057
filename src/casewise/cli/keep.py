"""`casewise backup`, `restore` and `doctor`: the whole database, while it is in use; what is installed and reachable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.printing import DatabaseOption, JsonOption, note, print_json, say

__all__ = ["backup", "doctor", "restore"]


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


def backup(
    file: Annotated[Path, typer.Argument(help="A new file, .jsonl or .jsonl.gz.")], database: DatabaseOption = None
) -> None:
    """Write everything that people have done to one file. People may go on working meanwhile."""
    count = api.databases.backup(file, database=database)
    say(f"{count:,} rows are in {file}", rows=count, file=str(file))
    note("it holds personal data and password hashes: keep it safe, and keep the secret key apart from it")


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `casewise backup`.")], database: DatabaseOption = None
) -> None:
    """Put a backup into a new, empty database, SQLite or PostgreSQL, whichever it came from."""
    count, where = api.databases.restore(file, database=database)
    say(f"{count:,} rows are restored to {where}", rows=count, database=str(where))
