"""Databases that are empty and up to date, without running the migrations anew for each test."""

from __future__ import annotations

import hashlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import psycopg
import pytest

from casewise import database
from casewise.database import Database


@pytest.fixture(autouse=True)
def numbered_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """Annotators and rounds get the same ids in each run of a test, and with them the same conditions, items and checks."""
    numbers = itertools.count()

    def token_hex(length: int) -> str:
        return hashlib.sha256(str(next(numbers)).encode()).hexdigest()[: 2 * length]

    monkeypatch.setattr("casewise.studies.people.secrets", SimpleNamespace(token_hex=token_hex))
    monkeypatch.setattr("casewise.studies.rounds.uuid", SimpleNamespace(uuid4=lambda: UUID(token_hex(16))))


@cache
def empty_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        database.open(str(path)).close()
        return path.read_bytes()


def empty_database(path: Path) -> str:
    """Put an empty SQLite database at `path`; the path."""
    path.write_bytes(empty_file())
    return str(path)


def new_database(path: Path) -> Database:
    """The same, opened."""
    return database.open(empty_database(path))


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a database that is empty and up to date."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE template_empty")
    database.open(postgres_server.removesuffix("postgres") + "template_empty").close()
    return "template_empty"


@pytest.fixture
def postgres_copy(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """The URL of a copy of it."""
    name = f"test_{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield postgres_server.removesuffix("postgres") + name
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty, up-to-date database: the same test runs on SQLite and on a real PostgreSQL."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_copy")
    else:
        url = empty_database(tmp_path / "casewise.db")
    with database.open(url) as opened:
        yield opened
