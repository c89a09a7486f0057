from sqlalchemy import select
from tests.support.app import NOW

from casewise.database.tables import staff
from casewise.database.tables.metadata import insert_if_absent

ROW = {"key": "k", "tokens": 1.0, "updated_at": NOW}


def test_a_row_is_added_once_and_the_first_stays(store):
    with store.write() as connection:
        assert insert_if_absent(connection, staff.rate_limits, ROW)
        assert not insert_if_absent(connection, staff.rate_limits, ROW | {"tokens": 2.0})

        assert connection.scalars(select(staff.rate_limits.c.tokens)).all() == [1.0]
