"""How the database is reached: reads that see one moment, and writes one after another.

SQLite runs with a write-ahead log, foreign keys, a busy timeout, and takes its write lock when a write begins, so that
a transaction never fails half-way because another one was faster. Within one process writers queue on a lock instead
of on SQLite's busy handler, which sleeps and lets anyone in.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from casewise.database.grouped import GroupedWrites
from casewise.errors import ConfigurationError

__all__ = ["CONNECTIONS_TO_SERVER", "Database", "database_url"]

T = TypeVar("T")

BUSY_TIMEOUT_MS = 30_000
CONNECTIONS = 40
"""As many as the web server has threads."""
CONNECTIONS_TO_SERVER = 20
"""Of one process. PostgreSQL lets in 100 unless it is told otherwise, and turns away whoever comes then; a thread here waits."""


class Database:
    """A reachable database. Make one with `database.open`, which also brings it up to date; close it, or use `with`."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.engine = made_engine(self.url)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = threading.Lock() if self.is_sqlite else nullcontext()
        self._grouped = GroupedWrites(self.write, threads=1 if self.is_sqlite else CONNECTIONS_TO_SERVER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees the database at one moment and changes nothing."""
        with self.engine.connect() as connection, connection.begin() as transaction:
            yield connection
            transaction.rollback()

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """As `read`, and every statement sees the same moment; on PostgreSQL that has to be asked for."""
        with self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin() as transaction:
                yield connection
                transaction.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection whose changes are all made at the end, or none of them when an error leaves the block."""
        with self.engine.connect() as connection:
            connection.execution_options(casewise_write=True)
            with self._turn, connection.begin():
                yield connection

    def write_together(self, work: Callable[[Connection], T]) -> Future[T]:
        """What `work` returns, once it is committed; on SQLite together with others that waited (`GroupedWrites`)."""
        return self._grouped.submit(work)

    def answers(self) -> bool:
        """Whether the database can be asked now."""
        try:
            with self.read() as connection:
                connection.exec_driver_sql("SELECT 1")
        except DBAPIError:
            return False
        return True

    def close(self) -> None:
        """Give back all connections."""
        self._grouped.close()
        self.engine.dispose()


def database_url(url: str) -> URL:
    """`url` with the driver filled in; a plain path is an SQLite file.

    Raises ConfigurationError: neither SQLite nor PostgreSQL, or no URL.
    """
    if "://" not in url:
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigurationError(f"{url!r} is no database url: {error}") from error
    backend = parsed.get_backend_name()
    if backend in {"postgresql", "postgres"}:
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ConfigurationError(f"the database is {backend!r}; casewise knows 'sqlite' and 'postgresql'")
    return parsed


def made_engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url, pool_size=CONNECTIONS_TO_SERVER, max_overflow=0, pool_pre_ping=True)
    if url.database in {None, "", ":memory:"}:
        raise ConfigurationError("a database in memory would be lost with the server; name a file")
    folder = Path(str(url.database)).absolute().parent
    if not folder.is_dir():
        raise ConfigurationError(f"{url.database}: the folder {folder} does not exist")
    with suppress(
        OSError
    ):  # the owner's alone, as what SQLite puts beside it; there already, or SQLite says what is wrong
        os.close(os.open(str(url.database), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    engine = sqlalchemy.create_engine(url, pool_size=CONNECTIONS, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", prepare_sqlite)
    event.listen(engine, "begin", begin_sqlite)
    return engine


def prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver would begin transactions of its own, too late
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_TIMEOUT_MS}"):
        connection.execute(f"PRAGMA {pragma}")


def begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("casewise_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
