from contextlib import ExitStack, suppress

import pytest
from tests.support.databases import new_database

from casewise.database import engine as module
from casewise.database.engine import only_one
from casewise.errors import RunConflict


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


def locks(folder):
    return list(folder.glob("*.lock"))


def test_nothing_lies_beside_the_database_afterwards(store, tmp_path):
    with only_one(store, "baking"):
        assert len(locks(tmp_path)) == store.is_sqlite
        with suppress(RunConflict), only_one(store, "baking"):
            pass
        assert len(locks(tmp_path)) == store.is_sqlite

    assert locks(tmp_path) == []


def test_whoever_opened_the_file_before_it_was_removed_takes_the_new_one(tmp_path, monkeypatch):
    with new_database(tmp_path / "x.db") as store, ExitStack() as first:
        first.enter_context(only_one(store, "baking"))

        def late(handle):
            monkeypatch.undo()
            first.close()
            return module.is_locked(handle)

        monkeypatch.setattr(module, "is_locked", late)
        with only_one(store, "baking"):
            with pytest.raises(RunConflict), only_one(store, "baking"):
                pass
            assert len(locks(tmp_path)) == 1
