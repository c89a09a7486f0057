from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError, StatementError
from tests.support.app import NOW

from casewise import database
from casewise.database import Database
from casewise.database.engine import CONNECTIONS_TO_SERVER
from casewise.database.tables import metadata, staff
from casewise.errors import ConfigurationError

EVENT = {"at": NOW, "kind": "test"}


def test_a_new_database_is_its_owners_alone(tmp_path):
    store = database.open(str(tmp_path / "new.db"))
    with store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE something (id INTEGER)")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    store.close()

    assert set(modes.values()) == {0o600}
    assert "new.db-wal" in modes


def test_migrations_make_exactly_the_tables_the_code_speaks_of(store):
    with store.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})

        assert compare_metadata(context, metadata) == []


def test_opening_twice_changes_nothing_and_events_can_neither_be_changed_nor_deleted(store):
    with store.write() as connection:
        connection.execute(insert(staff.events).values(EVENT))
    with database.open(store.url.render_as_string(hide_password=False)) as again, again.read() as connection:
        assert connection.execute(select(staff.events.c.kind, staff.events.c.at)).all() == [("test", NOW)]
    for change in ("UPDATE staff_events SET kind = 'other'", "DELETE FROM staff_events"):
        with pytest.raises(DBAPIError, match="only added"), store.write() as connection:
            connection.execute(text(change))


def test_a_write_that_fails_leaves_nothing_behind(store):
    wrong: list[tuple[type[Exception], Any]] = [
        (StatementError, insert(staff.events).values(EVENT | {"at": NOW.replace(tzinfo=None)})),  # whose moment is it?
        (DBAPIError, insert(staff.person_roles).values(person_id="nobody", role="reviewer")),
    ]

    def write(statement):
        with store.write() as connection:
            connection.execute(insert(staff.events).values(EVENT))
            connection.execute(statement)

    for error, statement in wrong:
        with pytest.raises(error):
            write(statement)
    with store.read() as connection:
        assert connection.scalars(select(staff.events.c.kind)).all() == []


@pytest.mark.parametrize("revision", ["9999", "0000"])
def test_a_database_of_another_casewise_is_refused_and_told(store, revision):
    with store.write() as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{revision}'"))

    with pytest.raises(ConfigurationError, match="newer casewise, or of one before"):
        database.open(store.url.render_as_string(hide_password=False))


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://x/y", "mysql"),
        ("sqlite:///:memory:", "in memory"),
        ("nowhere/at/all.db", "does not exist"),
        ("://", "no database url"),
    ],
)
def test_what_is_no_database_of_ours_is_refused(tmp_path, url, says):
    with pytest.raises(ConfigurationError, match=says):
        Database(url)
    (tmp_path / "letter.db").write_text("Dear Sir or Madam, " * 100)
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        database.open(str(tmp_path / "letter.db"))


@pytest.mark.postgres
def test_a_process_leaves_room_for_others_on_a_server_and_its_threads_wait(postgres_url):
    with database.open(postgres_url) as store, ThreadPoolExecutor(2 * CONNECTIONS_TO_SERVER) as threads:

        def seen(_number):
            with store.read() as connection:
                connection.exec_driver_sql("SELECT pg_sleep(0.05)")
                mine = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                return connection.exec_driver_sql(mine).scalar_one()

        counted = list(threads.map(seen, range(4 * CONNECTIONS_TO_SERVER)))

    assert len(counted) == 4 * CONNECTIONS_TO_SERVER
    assert max(counted) <= CONNECTIONS_TO_SERVER
