"""Every database is closed where it was opened, also by a command that fails half-way."""

import pytest
from sqlalchemy.pool import QueuePool
from tests.support.command import invoke

from casewise import database
from casewise.database import Database


@pytest.fixture
def opened(monkeypatch):
    """Every database that is made while the test runs."""
    made = []
    begin = Database.__init__

    def remember(self, url):
        begin(self, url)
        made.append(self)

    monkeypatch.setattr(Database, "__init__", remember)
    return made


def connections(store):
    """How many it holds, in use or not."""
    pool = store.engine.pool
    assert isinstance(pool, QueuePool)
    return pool.checkedin() + pool.checkedout()


@pytest.mark.parametrize(
    "command",
    [
        "contexts select demo --intents none",
        "contexts generate nowhere --model fake/contexts",
        "contexts check nowhere",
        "contexts release nowhere --version 1.0.0",
        "backup /nowhere/x.jsonl",
        "backup nowhere.jsonl --restore",
        "serve --workers 2",
        "study status demo",
    ],
)
def test_a_command_that_fails_leaves_no_connection_open(command, opened, monkeypatch, capsys):
    said = invoke(*command.split())

    assert said.code == 2, said
    assert [connections(store) for store in opened] == [0] * len(opened)
    assert opened or command.startswith("study")


def test_what_is_opened_with_with_is_closed(tmp_path):
    with database.open(str(tmp_path / "x.db")) as store, store.read():
        pass

    assert connections(store) == 0
