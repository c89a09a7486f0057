"""The invariants of a study under any sequence of events: on SQLite, and on PostgreSQL."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from tests.studies.machine import StudyMachine
from tests.support.databases import empty_database

from casewise.studies.freeze import OpenItem, choose_batch, choose_condition, lay_out, most_taken

QUIETLY = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.slow
def test_no_sequence_of_events_breaks_the_store_on_sqlite(tmp_path):
    class OnSqlite(StudyMachine):
        def new_database(self):
            return empty_database(Path(tempfile.mkdtemp(dir=tmp_path)) / "study.db")

    run_state_machine_as_test(OnSqlite, settings=settings(QUIETLY, max_examples=12, stateful_step_count=30))


@pytest.mark.slow
@pytest.mark.postgres
def test_no_sequence_of_events_breaks_the_store_on_postgresql(postgres_server, postgres_template):
    class OnPostgres(StudyMachine):
        def new_database(self):
            name = f"test_{os.urandom(6).hex()}"
            with psycopg.connect(postgres_server, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
            return postgres_server.removesuffix("postgres") + name

    run_state_machine_as_test(OnPostgres, settings=settings(QUIETLY, max_examples=8, stateful_step_count=25))


def test_where_no_slot_is_open_there_is_no_condition():
    assert choose_condition({"a": 0, "b": 0}, np.random.default_rng(1)) is None
    assert choose_condition({}, np.random.default_rng(1)) is None


def test_equal_conditions_are_equally_likely():
    rng = np.random.default_rng(1)
    drawn = Counter(choose_condition({"a": 5, "b": 5, "c": 4}, rng) for _ in range(2000))

    assert drawn["c"] == 0
    assert 900 < drawn["a"] < 1100


@given(
    items=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), max_size=20),
    size=st.integers(1, 10),
    seed=st.integers(0, 99),
)
def test_a_batch_has_one_item_of_a_query_and_the_emptiest_first(items, size, seed):
    pool = [OpenItem(f"i{index}", f"q{query}", slots) for index, (query, slots) in enumerate(items)]
    batch = choose_batch(pool, size, rng=np.random.default_rng(seed))
    by_id = {item.item_id: item for item in pool}
    queries = [by_id[item].query_id for item in batch]
    best = {item.query_id: max(o.slots for o in pool if o.query_id == item.query_id) for item in pool}

    assert len(set(queries)) == len(queries) == min(size, len(best))
    assert all(by_id[item].slots == best[by_id[item].query_id] for item in batch)
    left_out = [slots for query, slots in best.items() if query not in queries]
    assert not left_out or max(left_out) <= min(by_id[item].slots for item in batch)


def test_checks_stand_at_random_places_but_never_first():
    places = set()
    for seed in range(200):
        pages = lay_out(["a", "b", "c"], ["check"], rng=np.random.default_rng(seed))
        places.add([page.kind for page in pages].index("check"))

    assert places == {1, 2, 3}


def test_items_come_in_every_order():
    orders = {
        tuple(page.id for page in lay_out(["a", "b", "c"], [], rng=np.random.default_rng(seed))) for seed in range(100)
    }

    assert len(orders) == 6


def test_the_most_that_people_can_take():
    one_condition = {"a": [4, 4, 1]}

    assert [most_taken(one_condition, people=people, size=2) for people in range(6)] == [0, 2, 4, 6, 8, 9]
    assert most_taken(one_condition | {"b": [1]}, people=2, size=2) == 4
    assert most_taken({"a": [1, 1, 1], "b": [5]}, people=3, size=3) == 5
    assert most_taken({}, people=3, size=3) == 0


@settings(database=None, deadline=None, derandomize=True)
@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(1, 4), min_size=1, max_size=5), min_size=1),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_nobody_is_left_without_a_slot_while_more_are_open_than_the_others_can_take(open_slots, size, seed):
    rng, taken, people = np.random.default_rng(seed), 0, 0
    free = {name: {f"{name}{number}": left for number, left in enumerate(slots)} for name, slots in open_slots.items()}
    total = sum(map(sum, open_slots.values()))
    while total > most_taken(open_slots, people=people, size=size):
        condition = choose_condition({name: sum(items.values()) for name, items in free.items()}, rng)
        pool = [OpenItem(item, item[1:], left) for item, left in free[condition].items() if left]
        batch = choose_batch(pool, size, rng=rng)
        for item in batch:
            free[condition][item] -= 1
        taken, people = taken + len(batch), people + 1
        assert batch
        assert taken <= most_taken(open_slots, people=people, size=size)
