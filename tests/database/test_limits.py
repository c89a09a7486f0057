from datetime import timedelta

from tests.support.app import NOW

from casewise.database.engine import Limit, forget_limit, take

LIMIT = Limit(burst=3, per_s=30)


def attempts(store, count, *, at=NOW):
    with store.write() as connection:
        return [take(connection, "key", LIMIT, now=at) for _ in range(count)]


def test_a_burst_is_allowed_and_no_more(store):
    assert attempts(store, 5) == [True, True, True, False, False]


def test_one_more_is_allowed_after_its_share_of_the_time(store):
    attempts(store, 4)

    assert attempts(store, 2, at=NOW + timedelta(seconds=10.1)) == [True, False]


def test_keys_have_limits_of_their_own(store):
    attempts(store, 4)

    with store.write() as connection:
        assert take(connection, "other", LIMIT, now=NOW)


def test_a_forgotten_limit_begins_anew(store):
    attempts(store, 4)

    with store.write() as connection:
        forget_limit(connection, "key")

    assert attempts(store, 1) == [True]
