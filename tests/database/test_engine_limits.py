from datetime import timedelta

from tests.support.app import NOW

from casewise.database.engine import RateLimit, forget_limit, take

LIMIT = RateLimit(burst=3, per_s=30)


def attempts(store, count, *, at=NOW):
    with store.write() as connection:
        return [take(connection, "key", LIMIT, now=at) for _ in range(count)]


def test_a_burst_is_allowed_and_one_more_after_its_share_of_the_time(store):
    assert attempts(store, 5) == [True, True, True, False, False]
    assert attempts(store, 2, at=NOW + timedelta(seconds=10.1)) == [True, False]
    with store.write() as connection:
        assert take(connection, "other", LIMIT, now=NOW), "each key has a limit of its own"
        forget_limit(connection, "key")
    assert attempts(store, 1) == [True]
