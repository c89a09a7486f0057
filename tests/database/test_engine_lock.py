import pytest

from casewise.database.engine import only_one
from casewise.errors import RunConflict


@pytest.mark.slow
def test_a_second_one_is_told_and_the_first_goes_on(store):
    with only_one(store, "baking"):
        with pytest.raises(RunConflict, match="another process is baking"), only_one(store, "baking"):
            pass
        with only_one(store, "brewing"):
            pass


def test_an_error_gives_the_lock_back(store):
    with pytest.raises(BlockingIOError), only_one(store, "baking"):
        raise BlockingIOError
    for _ in range(2):
        with only_one(store, "baking"):
            pass
