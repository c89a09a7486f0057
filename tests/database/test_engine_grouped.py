"""Writes in one transaction, on SQLite: kept before they are answered, each once, and an error is its own write's alone."""

import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from sqlalchemy import event, func, insert, select
from sqlalchemy.exc import IntegrityError
from tests.support.app import NOW
from tests.support.databases import empty_database

from casewise import database
from casewise.database.tables import staff

ROWS = staff.rate_limits

WRITES_UNTIL_KILLED = """
import itertools, os, sys, threading
from datetime import UTC, datetime
from sqlalchemy import insert
from casewise.database.engine import Database
from casewise.database.tables import staff
store, numbers = Database(sys.argv[1]), itertools.count()
def write_on():
    while True:
        name = f"{sys.argv[2]}-{next(numbers)}"
        row = insert(staff.rate_limits).values(key=name, tokens=0, updated_at=datetime.now(UTC))
        store.write_together(lambda connection: connection.execute(row).close()).result()
        os.write(1, f"{name}\\n".encode())
for _ in range(7):
    threading.Thread(target=write_on).start()
write_on()
"""


@pytest.fixture
def grouping(tmp_path):
    with database.open(empty_database(tmp_path / "casewise.db")) as opened:
        yield opened


def kept(store):
    with store.read() as connection:
        return set(connection.scalars(select(ROWS.c.key)))


def adding(name):
    """A write of one row, which returns how many there are then."""

    def work(connection):
        connection.execute(insert(ROWS).values(key=name, tokens=0, updated_at=NOW))
        return connection.scalar(select(func.count()).select_from(ROWS))

    return work


@contextmanager
def held_up(store):
    """Whatever is submitted in this block waits for the write before it."""
    began, go_on = threading.Event(), threading.Event()

    def work(_connection):
        began.set()
        assert go_on.wait(30)

    first = store.write_together(work)
    assert began.wait(30)
    yield
    go_on.set()
    first.result(30)


def test_writes_that_wait_are_committed_once(grouping):
    commits: list[object] = []
    with held_up(grouping):
        waiting = {name: grouping.write_together(adding(name)) for name in "abcd"}
        event.listen(grouping.engine, "commit", commits.append)

    assert {name: one.result(30) for name, one in waiting.items()} == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert len(commits) == 2  # of the write that held them up, and of all of them


def test_a_result_is_there_only_when_others_see_it(grouping):
    seen = []
    with held_up(grouping):
        for name in "ab":
            grouping.write_together(adding(name)).add_done_callback(lambda _: seen.append(kept(grouping)))
    grouping.close()

    assert seen == [{"a", "b"}, {"a", "b"}]


def test_an_error_is_its_own_write_s_and_the_others_are_kept_once(grouping):
    with held_up(grouping):
        first, again, other = (grouping.write_together(adding(name)) for name in ("a", "a", "b"))

    with pytest.raises(IntegrityError):
        again.result(30)
    assert (first.result(30), other.result(30)) == (1, 2)
    assert kept(grouping) == {"a", "b"}


def test_a_write_that_nobody_waits_for_any_more_is_left_out(grouping):
    with held_up(grouping):
        given_up, other = (grouping.write_together(adding(name)) for name in "ab")
        assert given_up.cancel()

    assert other.result(30) == 1
    assert kept(grouping) == {"b"}


def test_on_either_database_a_write_is_kept_and_an_error_raised(store):
    assert store.write_together(adding("a")).result(30) == 1
    with pytest.raises(IntegrityError):
        store.write_together(adding("a")).result(30)
    assert kept(store) == {"a"}


@pytest.mark.slow
def test_nothing_that_was_answered_is_lost_when_the_process_is_killed(grouping):
    answered: set[str] = set()
    for kill in range(3):
        command = [sys.executable, "-c", WRITES_UNTIL_KILLED, str(grouping.url.database), str(kill)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            answered |= {process.stdout.readline().strip() for _ in range(40 + 7 * kill)}
            process.kill()
            answered |= {line.strip() for line in process.stdout if line.endswith("\n")}

    assert len(answered) >= 40 + 47 + 54
    assert answered <= kept(grouping)
