"""The database that people's work is kept in: opened, backed up, restored."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from casewise import database as databases
from casewise.database import Database
from casewise.database.backup import backup as write_backup
from casewise.database.backup import restore as read_backup
from casewise.database.staff import invite as make_invitation
from casewise.database.staff import nobody_can_sign_in, roles_named
from casewise.errors import ConfigurationError
from casewise.settings import DEFAULT_DATABASE, Settings, from_environment

__all__ = ["backup", "invite", "opened", "ready_to_serve", "restore"]


@contextmanager
def opened(database: str | None = None) -> Iterator[Database]:
    """The database that is meant (else `CASEWISE_DATABASE`, else `casewise.db` here), brought up to date.

    Raises
    ------
    ConfigurationError
        It cannot be reached, is no database, or was written by a newer casewise.
    """
    with databases.open(named(database)) as store:
        yield store


def named(database: str | None) -> str:
    return database or os.environ.get("CASEWISE_DATABASE") or DEFAULT_DATABASE


def backup(file: str | Path, *, database: str | None = None) -> int:
    """Write everything that people have done to a new file, and say how many rows that is. They may go on working."""
    with opened(database) as store:
        return write_backup(store, Path(file))


def restore(file: str | Path, *, database: str | None = None) -> tuple[int, str]:
    """Put a backup into a new, empty database; how many rows, and where they are."""
    with Database(named(database)) as store:
        return read_backup(store, Path(file)), store.url.render_as_string()


def invite(email: str, *, roles: Iterable[str] = (), database: str | None = None, site_url: str | None = None) -> str:
    """A link with which somebody chooses a password; for people who are known, a new one.

    Parameters
    ----------
    roles
        `administrator`, `reviewer`, `expert`, `owner`.
    """
    settings = from_environment(database=database, site_url=site_url)
    wanted = roles_named(roles)
    with opened(settings.database) as store, store.write() as connection:
        token = make_invitation(connection, email, roles=wanted, by=None, now=datetime.now(UTC))
    return f"{settings.site_url}/join/{token}"


def ready_to_serve(settings: Settings, *, workers: int) -> bool:
    """Bring the database up to date before the web app starts; whether somebody can sign in to it.

    Raises
    ------
    ConfigurationError
        There is to be more than one worker, and the database is a file.
    """
    with opened(settings.database) as store:
        if workers > 1 and store.is_sqlite:
            raise ConfigurationError("several workers need a database server: --database postgresql://…")
        with store.read() as connection:
            return not nobody_can_sign_in(connection)
