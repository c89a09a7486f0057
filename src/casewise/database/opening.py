"""Opening a database brings it up to date: migrations only run forward, and only one process runs them."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from casewise.database.engine import Database
from casewise.errors import ConfigurationError

__all__ = ["migrate", "open"]

MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x6361_7365_7769_7365
"""Any fixed number: the name of PostgreSQL's advisory lock ("casewise" in ASCII)."""


def open(url: str) -> Database:  # noqa: A001 - read as `database.open(url)`
    """The database at `url`, a path (SQLite) or an URL, with all migrations applied.

    Raises ConfigurationError: it cannot be reached, is no database, or was written by a newer casewise.
    """
    database = Database(url)
    try:
        with database.write() as connection:
            migrate(connection)
    except BaseException as error:
        database.close()
        if isinstance(error, CommandError | DBAPIError):
            raise ConfigurationError(f"{database.url.render_as_string()}: {why_not(error)}") from error
        raise
    return database


def why_not(error: CommandError | DBAPIError) -> str:
    if isinstance(error, DBAPIError):
        return f"cannot be opened: {error.orig}"
    return f"this database is not of this casewise, but of a newer one or of one before its first release ({error})"


def migrate(connection: Connection, *, to: str = "head") -> None:
    """Apply the migrations up to `to` on `connection`, in its transaction: all of them or none."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, to)
