"""`casewise backup` and `casewise restore`: the whole database, while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casewise import api
from casewise.cli.printing import DatabaseOption, note

__all__ = ["backup", "restore"]


def backup(
    file: Annotated[Path, typer.Argument(help="A new file, .jsonl or .jsonl.gz.")], database: DatabaseOption = None
) -> None:
    """Write everything that people have done to one file. People may go on working meanwhile."""
    count = api.databases.backup(file, database=database)
    typer.echo(f"{count:,} rows are in {file}")
    note("it holds personal data and password hashes: keep it safe, and keep the secret key apart from it")


def restore(
    file: Annotated[Path, typer.Argument(help="A file of `casewise backup`.")], database: DatabaseOption = None
) -> None:
    """Put a backup into a new, empty database, SQLite or PostgreSQL, whichever it came from."""
    count, where = api.databases.restore(file, database=database)
    typer.echo(f"{count:,} rows are restored to {where}")
