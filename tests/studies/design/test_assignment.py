"""The invariants of a study under any sequence of events: on the ledger, on SQLite, and on PostgreSQL."""

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
from tests.studies.machine import InDatabase, Ledger, StudyMachine
from tests.support.databases import empty_database

from casewise.errors import StudyError
from casewise.studies.freeze import Open, StudyItem, choose_batch, choose_condition, lay_out, most_taken

QUIETLY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.slow
def test_no_sequence_of_events_breaks_the_ledger():
    run_state_machine_as_test(
        StudyMachine, settings=settings(max_examples=150, stateful_step_count=40, deadline=None, database=None)
    )


@pytest.mark.slow
def test_no_sequence_of_events_breaks_the_store_on_sqlite(tmp_path):
    class OnSqlite(StudyMachine):
        def make(self, seed):
            return InDatabase(empty_database(Path(tempfile.mkdtemp(dir=tmp_path)) / "study.db"), seed)

    run_state_machine_as_test(
        OnSqlite,
        settings=settings(
            max_examples=12, stateful_step_count=30, deadline=None, database=None, suppress_health_check=QUIETLY
        ),
    )


@pytest.mark.slow
@pytest.mark.postgres
def test_no_sequence_of_events_breaks_the_store_on_postgresql(postgres_server, postgres_template):
    class OnPostgres(StudyMachine):
        def make(self, seed):
            name = f"test_{os.urandom(6).hex()}"
            with psycopg.connect(postgres_server, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
            return InDatabase(postgres_server.removesuffix("postgres") + name, seed)

    run_state_machine_as_test(
        OnPostgres,
        settings=settings(
            max_examples=8, stateful_step_count=25, deadline=None, database=None, suppress_health_check=QUIETLY
        ),
    )


def test_the_papers_design_ends_exact_with_people_who_all_finish():
    conditions = ("no_context", "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised")
    items = [StudyItem(f"{c}{q}", f"q{q}", c, {}) for c in conditions for q in range(90)]
    ledger = Ledger(items, per_item=21, batch_size=25, rng=np.random.default_rng(1))
    people = 0

    while any(ledger.open_slots().values()):
        for item_id in ledger.arrive(f"p{people}"):
            ledger.rate(f"p{people}", item_id)
        people += 1

    assert set(ledger.count("valid").values()) == {21}
    assert people <= 5 * (90 * 21 // 25 + 1)


def test_an_item_that_is_full_takes_a_late_rating_as_surplus():
    ledger = Ledger([StudyItem("i", "q", "c", {})], per_item=1, batch_size=1, rng=np.random.default_rng(1))
    ledger.arrive("first")
    ledger.lapse("first")
    ledger.arrive("second")

    assert ledger.rate("second", "i") == "valid"
    assert ledger.rate("first", "i") == "surplus"


def test_a_late_rating_counts_while_the_slot_is_free():
    ledger = Ledger([StudyItem("i", "q", "c", {})], per_item=1, batch_size=1, rng=np.random.default_rng(1))
    ledger.arrive("first")
    ledger.lapse("first")

    assert ledger.rate("first", "i") == "valid"
    with pytest.raises(StudyError, match="no slot is open"):
        ledger.arrive("second")


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
    pool = [Open(f"i{index}", f"q{query}", slots) for index, (query, slots) in enumerate(items)]
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
    ledger = Ledger([], per_item=0, batch_size=size, rng=np.random.default_rng(seed))
    for condition, slots in open_slots.items():
        for number, free in enumerate(slots):
            item = f"{condition}{number}"
            ledger.by_id[item], ledger.free[item] = StudyItem(item, f"q{number}", condition, {}), free
    total, taken, people = sum(map(sum, open_slots.values())), 0, 0
    while total > most_taken(open_slots, people=people, size=size):
        batch = ledger.arrive(str(people))
        taken, people = taken + len(batch), people + 1
        assert batch
        assert taken <= most_taken(open_slots, people=people, size=size)
