"""The database: opened, limited, locked, and appended to."""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, delete, event, select, text, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from casewise.database.tables import staff
from casewise.database.tables.metadata import insert_if_absent
from casewise.errors import ConfigurationError, RunConflict
from casewise.settings import database_named

# Short writes that wait for a commit go along with the next one: a disk takes as long for twenty as for one.


T = TypeVar("T")

MOST_TOGETHER = 32


class GroupedWrites:
    """Performs writes in one thread, as many in a transaction as have come while the one before was being committed.

    A result is there after its commit. Where a group fails, nothing of it was kept, and each of it is written by itself:
    so an error is that of one write alone, and a write may be performed twice and must change nothing but the database.
    With several `threads` each write is a transaction of its own: PostgreSQL writes side by side, and a transaction that locked two
    people's rows at once could wait in a circle.
    """

    def __init__(self, write: Callable[[], AbstractContextManager[Connection]], *, threads: int) -> None:
        self._write = write
        self._groups = threads == 1
        self._waiting: deque[tuple[Callable[[Connection], Any], Future[Any]]] = deque()
        self._threads = ThreadPoolExecutor(threads, "casewise writes")

    def submit(self, work: Callable[[Connection], T]) -> Future[T]:
        """Return a future of the result of `work`, once it is committed."""
        if not self._groups:
            return self._threads.submit(self._alone, work)
        result: Future[T] = Future()
        self._waiting.append((work, result))
        self._threads.submit(self._write_waiting)
        return result

    def close(self) -> None:
        """Perform what was submitted, and take nothing more."""
        self._threads.shutdown()

    def _alone(self, work: Callable[[Connection], T]) -> T:
        with self._write() as connection:
            return work(connection)

    def _write_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_TOGETHER))]
        group = [(work, result) for work, result in batch if result.set_running_or_notify_cancel()]
        if len(group) > 1:
            try:
                with self._write() as connection:
                    outcomes = [work(connection) for work, _ in group]
            except Exception:  # noqa: BLE001, S110 - whose it is comes out when each is performed by itself
                pass
            else:
                for (_, result), outcome in zip(group, outcomes, strict=True):
                    result.set_result(outcome)
                return
        for work, result in group:
            try:
                outcome = self._alone(work)
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is waited for
                result.set_exception(error)
            else:
                result.set_result(outcome)


# How the database is reached: reads that see one moment, and writes one after another.
#
# SQLite runs with a write-ahead log, foreign keys, a busy timeout, and takes its write lock when a write begins, so that
# a transaction never fails half-way because another one was faster. Within one process writers queue on a lock instead
# of on SQLite's busy handler, which sleeps and lets anyone in.


BUSY_TIMEOUT_MS = 30_000
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON")
PERSONAL_TABLES = ("study_keys", "study_annotators", "study_pages", "study_events", "study_fingerprints")
"""The tables with rows about single people."""
CONNECTIONS = 40
"""Connections of a process: as many as the web server has threads."""
CONNECTIONS_TO_SERVER = 20
"""Connections of one process to a server. PostgreSQL allows 100 by default and refuses further ones; a thread here waits."""


class Database:
    """A reachable database. Make one with `database.open`, which also brings it up to date; close it, or use `with`."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.engine = create_engine(self.url)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[Any] = threading.Lock() if self.is_sqlite else nullcontext()
        self._grouped = GroupedWrites(self.write, threads=1 if self.is_sqlite else CONNECTIONS_TO_SERVER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[Connection]:
        """Yield a connection that changes nothing; with `snapshot`, every statement sees the database at the same moment."""
        with self.engine.connect() as connection:
            if snapshot and not self.is_sqlite:  # on SQLite they do so by themselves
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin() as transaction:
                yield connection
                transaction.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection whose changes are all made at the end, or none of them when an error leaves the block."""
        with self.engine.connect() as connection:
            connection.execution_options(casewise_write=True)
            with self._turn, connection.begin():
                yield connection

    def write_together(self, work: Callable[[Connection], T]) -> Future[T]:
        """Return a future of the result of `work`, once it is committed; on SQLite together with others that waited (`GroupedWrites`)."""
        return self._grouped.submit(work)

    def problem(self, *, now: datetime) -> str | None:
        """Write a moment to the database and read it back; return why that does not work now, or None."""
        table, key = staff.rate_limits, f"health:{os.getpid()}"
        try:
            with self.write() as connection:
                insert_if_absent(connection, table, {"key": key, "tokens": 0.0, "updated_at": now})
                connection.execute(update(table).where(table.c.key == key).values(updated_at=now))
            with self.read() as connection:
                read = connection.scalar(select(table.c.updated_at).where(table.c.key == key))
        except (DBAPIError, PoolTimeout) as error:
            return "does not answer, or cannot be written: " + str(getattr(error, "orig", error)).splitlines()[0]
        return None if read == now else "does not keep what is written"

    def scrub(self) -> None:
        """Overwrite what was deleted in every file of the database: no page, no free space and no log holds it afterwards.

        PostgreSQL writes the tables of people anew; copies in its own write-ahead log stay until the server reuses them.
        """
        with self._turn, self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if self.is_sqlite:
                driver = connection.connection.driver_connection
                assert driver is not None
                driver.execute("VACUUM")
            else:
                for table in PERSONAL_TABLES:
                    connection.exec_driver_sql(f"VACUUM FULL {table}")
        self.empty_log()

    def empty_log(self) -> bool:
        """Move SQLite's write-ahead log into the database and empty it; return False where readers kept it from that."""
        if not self.is_sqlite:
            return True
        with self._turn, self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None
            ((busy, _, _),) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not busy

    def size_bytes(self) -> int:
        """Return how large the database is, its log included."""
        if self.is_sqlite:
            place = Path(str(self.url.database))
            return sum(path.stat().st_size for path in (place, place.with_name(f"{place.name}-wal")) if path.exists())
        with self.read() as connection:
            return int(connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one())

    def close(self) -> None:
        """Give back all connections."""
        self._grouped.close()
        self.engine.dispose()


def database_url(url: str) -> URL:
    """Return `url` with the driver filled in; a plain path is an SQLite file.

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


def create_engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sqlalchemy.create_engine(url, pool_size=CONNECTIONS_TO_SERVER, max_overflow=0, pool_pre_ping=True)
    if url.database in {None, "", ":memory:"}:
        raise ConfigurationError("a database in memory would be lost with the server; name a file")
    folder = Path(str(url.database)).absolute().parent
    if not folder.is_dir():
        raise ConfigurationError(f"{url.database}: the folder {folder} does not exist")
    with suppress(OSError):  # the owner's alone; where it is there already, SQLite says what is wrong with it
        os.close(os.open(str(url.database), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    engine = sqlalchemy.create_engine(url, pool_size=CONNECTIONS, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver would begin transactions of its own, too late
        for pragma in (*PRAGMAS, f"busy_timeout={BUSY_TIMEOUT_MS}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("casewise_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


# Opening a database brings it up to date: migrations only run forward, and only one process runs them.


MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x6361_7365_7769_7365
"""Any fixed number: the name of PostgreSQL's advisory lock ("casewise" in ASCII)."""


def open(url: str | None = None) -> Database:  # noqa: A001 - read as `database.open(url)`
    """Return the database at `url`, a path (SQLite) or an URL, with all migrations applied; by default the environment's.

    Raises ConfigurationError: it cannot be reached, is no database, or was written by a newer casewise.
    """
    database = Database(database_named(url))
    try:
        with database.write() as connection:
            migrate(connection)
    except BaseException as error:
        database.close()
        if isinstance(error, DBAPIError):
            problem = f"cannot be opened: {error.orig}"
        elif isinstance(error, CommandError):
            problem = f"this database is of a newer casewise, or of one before its first release ({error})"
        else:
            raise
        raise ConfigurationError(f"{database.url.render_as_string()}: {problem}") from error
    return database


def migrate(connection: Connection, *, to: str = "head") -> None:
    """Apply the migrations up to `to` on `connection`, in its transaction: all of them or none."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, to)


# Rate limits kept in the database, so that they hold for all workers and across restarts: one token bucket a key.


@dataclass(frozen=True)
class RateLimit:
    """`burst` actions at once, and one more each `per_s / burst` seconds."""

    burst: int
    per_s: float
    """Seconds in which an empty bucket fills again."""


def take(connection: Connection, key: str, limit: RateLimit, *, now: datetime) -> bool:
    """Return whether one more action under `key` is allowed now; if so, it is counted. Call it in a write.

    `key` is at most 100 characters and no personal datum: hash addresses with a key first.
    """
    table = staff.rate_limits
    insert_if_absent(connection, table, {"key": key, "tokens": float(limit.burst), "updated_at": now})
    row = connection.execute(select(table).where(table.c.key == key).with_for_update()).one()
    elapsed_s = max(0.0, (now - row.updated_at).total_seconds())
    tokens: float = min(float(limit.burst), row.tokens + elapsed_s * limit.burst / limit.per_s)
    allowed = tokens >= 1
    connection.execute(
        update(table).where(table.c.key == key).values(tokens=tokens - 1 if allowed else tokens, updated_at=now)
    )
    return allowed


LIMITS_KEPT = timedelta(days=1)
"""Every bucket is full again long before, and a full one is as good as none."""


def expire_limits(connection: Connection, *, now: datetime) -> None:
    """Delete the buckets that were not used for a day."""
    connection.execute(delete(staff.rate_limits).where(staff.rate_limits.c.updated_at < now - LIMITS_KEPT))


def forget_limit(connection: Connection, key: str) -> None:
    """Fill the bucket of `key` again."""
    connection.execute(delete(staff.rate_limits).where(staff.rate_limits.c.key == key))


# One process at a time for work that should not be paid for twice; the lock goes with its process, however that
# ends.


@contextmanager
def job_lock(database: Database, job: str) -> Iterator[None]:
    """Lock `job`: within the block no other process that uses `database` does it.

    Raises RunConflict: another one is doing it now.
    """
    locked = locked_file(database, job) if database.is_sqlite else advisory_lock(database, job)
    with locked as has_lock:
        if not has_lock:
            raise RunConflict(f"another process is {job} at the moment; wait for it, or stop it first")
        yield


@contextmanager
def locked_file(database: Database, job: str) -> Iterator[bool]:
    """Yield a file beside the database that is locked; it stays, as SQLite's own files do."""
    handle = os.open(f"{database.url.database}.{number_of(job):x}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        has_lock = True
    except BlockingIOError:
        has_lock = False
    try:
        yield has_lock
    finally:
        os.close(handle)


@contextmanager
def advisory_lock(database: Database, job: str) -> Iterator[bool]:
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        key = {"key": number_of(job)}
        has_lock = bool(connection.execute(text("SELECT pg_try_advisory_lock(:key)"), key).scalar_one())
        try:
            yield has_lock
        finally:
            if has_lock:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), key)


def number_of(job: str) -> int:
    """Return a number that fits PostgreSQL's bigint."""
    return int.from_bytes(hashlib.blake2b(job.encode(), digest_size=7).digest(), "big")


# Tables to which rows are only ever added: the database itself refuses to change or delete one.


WITHDRAWN = "EXISTS (SELECT 1 FROM study_annotators a WHERE a.id = OLD.annotator_id AND a.withdrawn_at IS NOT NULL)"
"""Only the events of an annotator who withdrew can be deleted. No event can be changed."""

POSTGRESQL_APPEND_ONLY = (
    (
        "CREATE OR REPLACE FUNCTION casewise_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF TG_TABLE_NAME = 'study_events' AND TG_OP = 'DELETE' THEN "
        f"IF {WITHDRAWN} THEN RETURN OLD; END IF; END IF; "
        "RAISE EXCEPTION 'rows of %% are only added', TG_TABLE_NAME; END $$"
    ),
    (
        "CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION casewise_append_only()"
    ),
    (
        "CREATE TRIGGER {table}_never_emptied BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION casewise_append_only()"
    ),
)
SQLITE_APPEND_ONLY = tuple(
    f"CREATE TRIGGER {{table}}_no_{change} BEFORE {change} ON {{table}} {{when}} "
    "BEGIN SELECT RAISE(ABORT, 'rows of {table} are only added'); END"
    for change in ("update", "delete")
)


def make_append_only(connection: Connection, table: str) -> None:
    """Create triggers that refuse UPDATE and DELETE (and TRUNCATE, on PostgreSQL) on `table`. Called by migrations."""
    postgresql = connection.dialect.name == "postgresql"
    for statement in POSTGRESQL_APPEND_ONLY if postgresql else SQLITE_APPEND_ONLY:
        when = f"WHEN NOT {WITHDRAWN}" if table == "study_events" and "BEFORE delete" in statement else ""
        connection.exec_driver_sql(statement.format(table=table, when=when))
