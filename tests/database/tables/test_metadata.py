"""Parts that all tables share: moments in UTC, and rows that are added once."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import insert, select
from sqlalchemy.dialects import postgresql, sqlite
from tests.support.app import NOW

from casewise.database.tables import staff
from casewise.database.tables.metadata import UtcTime, insert_if_absent, metadata

EAST = timezone(timedelta(hours=5))


def test_a_moment_of_any_zone_is_kept_in_utc_which_sqlite_does_not_write_down():
    there = datetime(2026, 11, 20, 17, tzinfo=EAST)

    assert UtcTime().process_bind_param(there, postgresql.dialect()) == NOW
    assert UtcTime().process_bind_param(there, sqlite.dialect()) == datetime(2026, 11, 20, 12)  # noqa: DTZ001
    assert UtcTime().process_bind_param(None, sqlite.dialect()) is None
    with pytest.raises(ValueError, match="has no time zone"):
        UtcTime().process_bind_param(NOW.replace(tzinfo=None), sqlite.dialect())


def test_a_moment_comes_back_in_utc_whatever_the_driver_gives():
    for kept in (NOW.replace(tzinfo=None), NOW, NOW.astimezone(EAST)):
        read = UtcTime().process_result_value(kept, sqlite.dialect())
        assert (read, read and read.tzinfo) == (NOW, UTC)
    assert UtcTime().process_result_value(None, sqlite.dialect()) is None


def test_moments_go_through_either_database_unchanged(store):
    with store.write() as connection:
        connection.execute(insert(staff.events).values(at=NOW.astimezone(EAST), kind="test"))
        assert connection.scalars(select(staff.events.c.at)).one() == NOW


def test_a_row_is_added_once_and_the_first_stays(store):
    row = {"key": "k", "tokens": 1.0, "updated_at": NOW}
    with store.write() as connection:
        assert insert_if_absent(connection, staff.rate_limits, row)
        assert not insert_if_absent(connection, staff.rate_limits, row | {"tokens": 2.0})
        assert connection.scalars(select(staff.rate_limits.c.tokens)).all() == [1.0]


def test_every_constraint_has_a_name_so_that_migrations_can_speak_of_it():
    names = [constraint.name for table in metadata.sorted_tables for constraint in table.constraints]

    assert None not in names
    assert {"pk_people", "uq_people_email", "fk_sessions_person_id", "ck_studies_phase"} <= set(map(str, names))
