"""The app in the test's own process, and people signed in to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import httpx2
import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.support.databases import empty_database
from tests.support.server import KEY

from casewise.database import Database
from casewise.database.staff import Person, Role, invite, join
from casewise.settings import Settings
from casewise.web import create_app

PASSWORD = "plum orbit lantern"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[FastAPI]:
    path = empty_database(tmp_path / "casewise.db")
    app = create_app(Settings(database=path, secret_key=KEY, site_url="http://testserver"))
    yield app
    app.state.database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def app_on_either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FastAPI]:
    """The app on SQLite and on a real PostgreSQL: for a module whose own `app` asks for it."""
    sqlite = request.param == "sqlite"
    url = empty_database(tmp_path / "casewise.db") if sqlite else request.getfixturevalue("postgres_copy")
    erasures = str(tmp_path / "erasures.jsonl")
    app = create_app(Settings(database=url, secret_key=KEY, site_url="http://testserver", erasures=erasures))
    yield app
    app.state.database.close()


@cache
def hashed_password() -> str:
    """Hashing takes long on purpose; what is hashed at little cost is compared at little cost too."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)


def add_person(store: Database, name: str, *roles: Role) -> Person:
    """Somebody with these roles, whose address is NAME@example.org and whose password is `PASSWORD`."""
    hashed = hashed_password()
    with store.write() as connection:
        token = invite(
            connection, f"{name.lower()}@example.org", roles=frozenset(roles), by=None, now=datetime.now(UTC)
        )
        person = join(connection, token, name=name, password_hash=hashed, now=datetime.now(UTC))
    assert person is not None
    return person


def form_token(page: str) -> str:
    """The CSRF token on a page."""
    match = re.search(r'name="csrf" value="([0-9a-f]+)"', page)
    assert match is not None, page
    return match[1]


@dataclass
class Visitor:
    """A browser without a screen: it keeps cookies and sends forms with the token of the page they are on."""

    client: TestClient

    def get(self, path: str) -> httpx2.Response:
        return self.client.get(path)

    def send(self, path: str, *, on: str | None = None, **fields: object) -> httpx2.Response:
        """Send the form to `path` as found on the page `on` (default: the same path)."""
        token = form_token(self.client.get(on or path).text)
        return self.client.post(path, data={"csrf": token, **fields})


def visitor(app: FastAPI) -> Visitor:
    return Visitor(TestClient(app, follow_redirects=False))


def entered(app: FastAPI, name: str) -> Visitor:
    """A person of the review room, signed in, who has read the warning of its draft."""
    guest = visitor(app)
    guest.send("/sign-in", email=f"{name}@example.org", password=PASSWORD)
    guest.send("/review/drafts/letters/warning")
    return guest


def signed_in(app: FastAPI, name: str, *roles: Role) -> Visitor:
    """A visitor signed in as a new person with these roles."""
    person = add_person(app.state.database, name, *roles)
    guest = visitor(app)
    response = guest.send("/sign-in", email=person.email, password=PASSWORD)
    assert response.status_code == 303, response.text
    return guest
