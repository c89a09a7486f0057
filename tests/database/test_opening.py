import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, inspect, select, text
from sqlalchemy.exc import DBAPIError, StatementError
from tests.support.app import NOW
from tests.support.study import opened

from casewise import database
from casewise.database import Database
from casewise.database.engine import CONNECTIONS_TO_SERVER
from casewise.database.tables import metadata, staff
from casewise.database.tables.metadata import RETIRED_COLUMNS, RETIRED_TABLES
from casewise.errors import ConfigurationError
from casewise.studies.owner import overview, people_states
from casewise.studies.rounds import all_rounds, load_round

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


@pytest.fixture
def of_0011(tmp_path):
    """A database as casewise wrote it when 0011 was its last migration: a round of tea, rated by ann and begun by ben."""
    with closing(sqlite3.connect(tmp_path / "0011.db")) as connection, connection:
        connection.executescript((Path(__file__).parent / "study_0011.sql").read_text(encoding="utf-8"))
    return tmp_path / "0011.db"


def test_a_database_of_0011_is_brought_up_to_date_with_all_that_was_rated(of_0011):
    with database.open(str(of_0011)) as store, store.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        (listed,) = all_rounds(connection)
        study = load_round(connection, listed.id)
        assert study is not None
        people = people_states(study.at(connection))

        assert {(person.rated, person.status) for person in people} == {(3, "completed"), (1, "rating")}
        assert overview(study.at(connection)).valid == 4


def test_on_either_database_what_is_retired_is_dropped(store):
    opened(store)
    with store.write() as connection:
        for name in RETIRED_TABLES:
            connection.execute(text(f"CREATE TABLE {name} (text TEXT)"))
        for name, columns in RETIRED_COLUMNS.items():
            for column in columns:
                connection.execute(text(f"ALTER TABLE {name} ADD COLUMN {column} INTEGER"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0011'"))

    with database.open(store.url.render_as_string(hide_password=False)) as again, again.read() as connection:
        found = inspect(connection)
        assert not set(RETIRED_TABLES) & set(found.get_table_names())
        for name, columns in RETIRED_COLUMNS.items():
            assert not set(columns) & {column["name"] for column in found.get_columns(name)}


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        ("$.languages", '["en", "es"]', "several languages"),
        ("$.ratings.most_batches", "2", "more than one batch a person"),
        ("$.recruiter.kind", '"form"', "a recruiter with a posted form"),
        ("$.questions", '[{"name": "why", "kind": "text"}]', "a question of the kind 'text'"),
    ],
)
def test_a_database_with_a_round_that_works_otherwise_now_is_refused_whole_with_what_to_do(of_0011, place, value, says):
    with closing(sqlite3.connect(of_0011)) as connection, connection:
        connection.execute("UPDATE studies SET design = json_set(design, ?, json(?))", (place, value))
    with pytest.raises(
        ConfigurationError, match=rf"main round of tea 1 .*\({says}\); export it with the casewise that"
    ):
        database.open(str(of_0011))
    with closing(sqlite3.connect(of_0011)) as connection, connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0011",)]
        assert connection.execute("SELECT count(*) FROM study_flags").fetchall() == [(2,)]


def test_translations_that_people_wrote_stay_in_the_database(of_0011):
    with closing(sqlite3.connect(of_0011)) as connection, connection:
        values = ("tea", "es", "1", 1, "q_1", "How?", "¿Cómo?", 1)
        connection.execute(
            "INSERT INTO review_translations (study, language, id, position, of, source, text, version) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
    database.open(str(of_0011)).close()
    with closing(sqlite3.connect(of_0011)) as connection, connection:
        assert connection.execute("SELECT text FROM review_translations").fetchall() == [("¿Cómo?",)]


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


@pytest.mark.parametrize("revision", ["9999", "0010"])
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
