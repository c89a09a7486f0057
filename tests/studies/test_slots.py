"""Slots: who gets which, until when, and in which order rows are locked."""

import re
from collections import Counter
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import event, select, update
from sqlalchemy.dialects import postgresql
from tests.support.databases import new_database
from tests.support.study import LATER, START, VAULT, answer, begun, design, finished, opened, pages_of

from casewise.database.tables import study as tables
from casewise.studies.freeze import OpenItem
from casewise.studies.people import admit
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import set_condition
from casewise.studies.slots import (
    annotator_generator,
    assign,
    find_open_items,
    lapse_expired,
    lease_end,
    release,
    reserve_slot,
    reserve_slots,
    resume,
)

SLOTS = tables.slots
ONE_EACH = {
    "conditions": ["no_context"],
    "ratings": {"per_item": 1, "per_annotator": 4},
    "attention": {"checks_per_batch": 1},
}
"""Four items that are promised one rating each: a batch takes them all."""


@pytest.fixture
def lite(tmp_path):
    with new_database(tmp_path / "casewise.db") as database:
        yield database


def newcomer(live, name="alice"):
    who = admit(live, RecruiterIds(name), vault=VAULT)
    assert who is not None
    return who.id


def row_of(live, who):
    return live.execute(select(tables.annotators).where(tables.annotators.c.id == who)).one()


def holders(live):
    return Counter(live.scalars(select(SLOTS.c.holder_id)).all())


def details(live, kind):
    return [(each.annotator_id, each.detail) for each in live.events(kind)]


def states(store, who, kind="item"):
    return Counter(page.state for page in pages_of(store, who) if page.kind == kind)


def test_a_batch_is_of_one_condition_holds_a_slot_for_each_item_and_is_noted(lite):
    study = opened(lite)
    with study.write(lite, START) as live:
        who = newcomer(live)
        assert assign(live, who) == 3
        person, held = row_of(live, who), holders(live)
        assert details(live, "assigned") == [(who, {"condition": person.condition, "items": 3})]
    pages = pages_of(lite, who)
    items, checks = ([page for page in pages if page.kind == kind] for kind in ("item", "check"))

    assert (person.stage, person.lapsed, person.lease_until) == ("rating", False, START + timedelta(minutes=30))
    assert [page.position for page in pages] == [1, 2, 3, 4]
    assert {(page.condition, page.state, page.scripted) for page in pages} == {(person.condition, "waiting", False)}
    assert held[who] == len({page.slot_id for page in items}) == len({page.query_id for page in items}) == 3
    assert [page.item_id.rpartition("_")[2] for page in items] == [page.query_id.rpartition("_")[2] for page in items]
    assert [(page.slot_id, page.item_id, page.query_id) for page in checks] == [(None, None, None)]
    assert checks[0].check_name in {check.name for check in study.wording.checks}
    assert all(page.check_name is None for page in items)


def test_a_batch_has_as_many_checks_as_the_design_says_all_different(lite):
    study = opened(lite, design(attention={"checks_per_batch": 3}))
    who = begun(lite, study, "alice")

    checks = [page.check_name for page in pages_of(lite, who) if page.kind == "check"]
    assert len(set(checks)) == len(checks) == 3


def test_chance_is_of_the_designs_seed_and_the_annotators_id(lite):
    study = opened(lite, design(seed=7))

    expected = np.random.default_rng([7, 0x1B]).integers(1 << 30, size=4).tolist()
    assert annotator_generator(study, "a1b").integers(1 << 30, size=4).tolist() == expected


def test_nobody_gets_a_batch_in_a_condition_that_is_closed(lite):
    study = opened(lite)
    with study.write(lite, START) as live:
        set_condition(live, "no_context", closed=True, by="owner")
        people = [newcomer(live, name) for name in "ab"]
        assert [assign(live, who) for who in people] == [3, 3]
        assert {row_of(live, who).condition for who in people} == {"safe_revised"}
        set_condition(live, "safe_revised", closed=True, by="owner")
        late = newcomer(live, "late")
        assert assign(live, late) == 0
        assert (row_of(live, late).condition, row_of(live, late).stage) == (None, "tutorial")


def test_a_batch_takes_what_an_expired_lease_held_and_not_before(lite):
    study = opened(lite, design(**ONE_EACH))
    first = begun(lite, study, "first")
    with study.write(lite, START + timedelta(minutes=30)) as live:
        second = newcomer(live, "second")
        assert assign(live, second) == 0
    with study.write(lite, START + timedelta(minutes=30, seconds=1)) as live:
        assert assign(live, second) == 4

    assert states(lite, first) == {"lapsed": 4}


def test_open_items_are_those_of_a_condition_in_order_with_what_is_left_and_the_first_slot(lite):
    study = opened(lite)
    with study.write(lite, START) as live:
        who = newcomer(live)
        opens, firsts = find_open_items(live, "no_context")
        assert opens == [OpenItem(f"i_no_context_{n}", f"q_{n}", 2) for n in range(4)]
        taken = reserve_slots(live, who, SLOTS.c.id.in_([firsts["i_no_context_0"], firsts["i_no_context_2"]]))
        assert taken == {name: firsts[name] for name in ("i_no_context_0", "i_no_context_2")}
        opens, again = find_open_items(live, "no_context")

        assert [item.slots for item in opens] == [1, 2, 1, 2]
        assert again["i_no_context_0"] > firsts["i_no_context_0"]
        numbers = live.execute(select(SLOTS.c.id, SLOTS.c.number)).all()
        assert dict(map(tuple, numbers))[firsts["i_no_context_1"]] == 1


def test_what_somebody_holds_is_not_taken(lite):
    study = opened(lite)
    with study.write(lite, START) as live:
        first, second = newcomer(live, "first"), newcomer(live, "second")
        slots = live.scalars(select(SLOTS.c.id).where(SLOTS.c.condition == "no_context", SLOTS.c.number == 1)).all()
        reserve_slots(live, first, SLOTS.c.id.in_(slots[:2]))

        assert [*reserve_slots(live, second, SLOTS.c.id.in_(slots[1:3])).values()] == [slots[2]]
        assert reserve_slots(live, second, SLOTS.c.id.in_(slots[:3])) == {}
        assert (holders(live)[first], holders(live)[second]) == (2, 1)


def test_a_slot_of_a_page_is_of_its_item_and_held_for_its_annotator_and_none_where_all_are_held(lite):
    study = opened(lite, design(ratings={"per_item": 3, "per_annotator": 3}))
    who = begun(lite, study, "alice")
    page = next(page for page in pages_of(lite, who) if page.kind == "item")
    with study.write(lite, START) as live:
        is_open = select(SLOTS.c.id).where(SLOTS.c.item_id == page.item_id, SLOTS.c.holder_id.is_(None))
        others = live.scalars(is_open.order_by(SLOTS.c.id)).all()

        assert reserve_slot(live, page) == others[0]
        assert holders(live)[who] == 4
        assert [reserve_slot(live, page), reserve_slot(live, page)] == [others[1], None]


def test_a_release_changes_the_named_states_of_one_annotators_items_and_reopens_what_no_page_holds(lite):
    study = opened(lite)
    mine, others = begun(lite, study, "alice"), begun(lite, study, "bob")
    while pages_of(lite, mine)[0].state == "waiting" or not states(lite, mine)["rated"]:
        answer(lite, study, mine)
    n_rated = states(lite, mine)["rated"]
    with study.write(lite, START) as live:
        assert release(live, mine, states={"waiting": "dropped", "lapsed": "dropped"}) == 3 - n_rated
        assert (holders(live)[mine], holders(live)[others]) == (n_rated, 3)

    assert states(lite, mine) == {"rated": n_rated, "dropped": 3 - n_rated}
    assert states(lite, others) == {"waiting": 3}
    assert states(lite, mine, "check")["dropped"] == 0
    with study.write(lite, START) as live:
        assert release(live, mine, states={"rated": "void"}) == n_rated
    assert {page.verdict for page in pages_of(lite, mine) if page.state == "void"} == {"safe"}


def test_what_is_withdrawn_is_forgotten(lite):
    study = opened(lite, design(attention={"checks_per_batch": 0}))
    who = finished(lite, study, "alice")
    with study.write(lite, START) as live:
        assert release(live, who, states={"rated": "withdrawn"}) == 3

    assert {(page.state, page.verdict, page.seconds) for page in pages_of(lite, who)} == {("withdrawn", None, None)}


def test_who_stays_away_loses_what_they_did_not_answer_once(lite):
    study = opened(lite)
    away, here = begun(lite, study, "away"), begun(lite, study, "here", now=START + timedelta(minutes=30))
    done = finished(lite, study, "done")
    with study.write(lite, START + timedelta(minutes=30)) as live:
        assert lapse_expired(live) == 0
    with study.write(lite, START + LATER) as live:
        assert (lapse_expired(live), lapse_expired(live)) == (1, 0)
        assert details(live, "lapsed") == [(away, {"reopened": 3})]
        assert [row_of(live, who).lapsed for who in (away, here, done)] == [True, False, False]
        assert holders(live)[away] == 0

    assert (states(lite, away), states(lite, away, "check")) == ({"lapsed": 3}, {"waiting": 1})
    assert states(lite, here) == {"waiting": 3}


def lapsed(store, study, name="alice", *, answered=0):
    """Somebody whose lease ran out after some answers."""
    who = begun(store, study, name)
    for _ in range(answered):
        answer(store, study, who)
    with study.write(store, START + LATER) as live:
        lapse_expired(live)
    return who


def test_who_comes_back_holds_again_what_is_still_open(lite):
    study = opened(lite)
    who = lapsed(lite, study)
    with study.write(lite, START + LATER) as live:
        assert resume(live, who) == 3
        person = row_of(live, who)
        assert (person.lapsed, person.lease_until) == (False, lease_end(live))
        assert lease_end(live) == START + LATER + timedelta(minutes=30)
        assert details(live, "resumed") == [(who, {"items": 3})]
        assert holders(live)[who] == 3

    assert (states(lite, who), states(lite, who, "check")) == ({"waiting": 3}, {"waiting": 1})


@pytest.mark.parametrize(("answered", "checks"), [(0, "dropped"), (1, "waiting")])
def test_checks_are_dropped_where_others_took_every_item_and_none_was_answered(lite, answered, checks):
    study = opened(lite, design(**ONE_EACH | {"attention": {"checks_per_batch": 2}}))
    who = lapsed(lite, study, answered=answered)
    other = begun(lite, study, "other", now=START + LATER)
    with study.write(lite, START + LATER) as live:
        assert resume(live, who) == 0
        assert row_of(live, who).lapsed is False

    assert states(lite, who) == Counter({"lapsed": 4 - answered, "rated": answered})
    assert states(lite, other) == {"waiting": 4 - answered}
    assert states(lite, who, "check") == {checks: 2}


def test_studies_and_annotators_are_locked_before_slots_and_nobody_waits_for_a_slot(lite):
    """In PostgreSQL's words; SQLite has no locks of rows."""
    study, locks, statements = opened(lite), list[tuple[str, str]](), list[str]()

    def note(_connection, statement, *_rest):
        words = str(statement.compile(dialect=postgresql.dialect()))
        if match := re.search(r"FROM (?:study_)?(\w+).*(FOR .*)", words, re.DOTALL):
            locks.append((match[1], match[2]))
            statements.append(words)

    with study.write(lite, START) as live:
        who = newcomer(live)
        event.listen(live.connection, "before_execute", note)
        assign(live, who)
    page = next(page for page in pages_of(lite, who) if page.kind == "item")
    with study.write(lite, START) as live:
        event.listen(live.connection, "before_execute", note)
        reserve_slot(live, page)

    assert re.search(r"WHERE \S+\.id = ", statements[0])
    assert locks == [
        ("studies", "FOR NO KEY UPDATE"),
        ("annotators", "FOR NO KEY UPDATE SKIP LOCKED"),
        ("slots", "FOR UPDATE SKIP LOCKED"),
        ("slots", "FOR UPDATE SKIP LOCKED"),
    ]


@pytest.mark.postgres
def test_where_somebody_else_is_taking_every_slot_there_is_no_batch(postgres_copy):
    from casewise import database

    with database.open(postgres_copy) as store:
        study = opened(store)
        with study.write(store, START) as live:
            who = newcomer(live)
        with store.write() as taking:
            taking.execute(select(SLOTS.c.id).with_for_update())
            with study.write(store, START) as live:
                assert assign(live, who) == 0
                assert row_of(live, who).stage == "tutorial"


def test_a_slot_that_is_given_up_goes_to_the_next(lite):
    study = opened(lite, design(**ONE_EACH))
    with study.write(lite, START) as live:
        who, other = newcomer(live, "alice"), newcomer(live, "bob")
        assign(live, who)
        live.execute(update(tables.pages).where(tables.pages.c.kind == "item").values(state="dropped", slot_id=None))
        live.execute(update(SLOTS).values(holder_id=None))

        assert assign(live, other) == 4
