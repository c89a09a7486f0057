import pytest

from casewise.database.engine import job_lock
from casewise.errors import RunConflict


@pytest.mark.slow
def test_a_second_one_is_told_and_the_first_goes_on(store):
    with job_lock(store, "baking"):
        with pytest.raises(RunConflict, match="another process is baking"), job_lock(store, "baking"):
            pass
        with job_lock(store, "brewing"):
            pass


def test_an_error_gives_the_lock_back(store):
    with pytest.raises(BlockingIOError), job_lock(store, "baking"):
        raise BlockingIOError
    for _ in range(2):
        with job_lock(store, "baking"):
            pass
