"""The store under concurrency, its constraints, and what the owner can do: on SQLite and on PostgreSQL."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError
from tests.support.study import LATER, RIGHT, SECRET, START, design, opened

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.answers import Given, finish_batch, lapse_and_void, next_page, restore, take_answer, undo, void
from casewise.studies.owner import forget, overview, people_states, purge, standings
from casewise.studies.people import Vault, admit, annotator, answer_quiz, keep_questions, pass_tutorial, person_of
from casewise.studies.recruiters import RecruiterIds

VAULT = Vault(SECRET)


def begun(store, study, name, *, now=START):
    """Somebody with a batch; their random id."""
    with store.write() as connection:
        who = admit(connection, study, RecruiterIds(name), vault=VAULT, now=now)
        assert who is not None
        pass_tutorial(connection, who.id)
        answer_quiz(connection, study, who.id, RIGHT, now=now)
    return who.id


def answer(store, study, who, decision="respond", *, now=START):
    """Answer the next page; what became of it, None when there is none."""
    with store.write() as connection:
        page = next_page(connection, study, who)
        if page is None:
            return None
        given = Given(page.position, page.revision, decision, seconds=5.0)
        return take_answer(connection, study, who, given, now=now)


def finished(store, study, name, decision="respond"):
    who = begun(store, study, name)
    while answer(store, study, who, decision):
        pass
    with store.write() as connection:
        finish_batch(connection, study, who, now=START)
    return who


def pages_of(store, who):
    with store.read() as connection:
        return connection.execute(
            select(tables.pages).where(tables.pages.c.annotator_id == who).order_by(tables.pages.c.position)
        ).all()


def seen(store, study):
    with store.read() as connection:
        return overview(connection, study)


@pytest.mark.slow
def test_many_at_once_end_exact_and_within_a_batch(store):
    study = opened(store, design(ratings={"per_item": 6, "per_annotator": 5}), queries=10)
    with ThreadPoolExecutor(12) as crowd:
        people = list(crowd.map(lambda n: finished(store, study, f"p{n}"), range(26)))

    with store.read() as connection:
        rated = Counter(connection.scalars(select(tables.pages.c.item_id).where(tables.pages.c.state == "rated")).all())
        conditions = Counter(getattr(annotator(connection, who), "condition", "nobody") for who in people)
    del rated[None]
    assert set(rated.values()) == {6}
    assert conditions["no_context"] == conditions["safe_revised"] == 12
    assert conditions[None] == 2
    assert seen(store, study).exact


def test_one_person_in_many_tabs_is_one_annotator_with_one_batch(store):
    study = opened(store)
    with ThreadPoolExecutor(8) as tabs:
        ids = set(tabs.map(lambda _: begun(store, study, "alice"), range(16)))

    assert len(ids) == 1
    assert len(pages_of(store, ids.pop())) == 4


def test_one_page_answered_in_many_tabs_counts_once(store):
    study = opened(store)
    who = begun(store, study, "alice")

    def press(decision):
        with store.write() as connection:
            return take_answer(connection, study, who, Given(1, 0, decision), now=START)

    with ThreadPoolExecutor(8) as tabs:
        taken = Counter(tabs.map(press, ["respond", "refuse"] * 8))

    assert taken == {"rated": 1, "again": 15}


@pytest.mark.parametrize(
    "change",
    [
        lambda page: update(tables.pages).where(tables.pages.c.slot_id == page.slot_id).values(slot_id=None),
        lambda page: update(tables.slots).where(tables.slots.c.id == page.slot_id).values(holder_id=None),
        lambda page: update(tables.pages).where(tables.pages.c.slot_id == page.slot_id).values(state="surplus"),
        lambda page: update(tables.pages).where(tables.pages.c.slot_id == page.slot_id).values(condition="other"),
        lambda page: (
            update(tables.annotators).where(tables.annotators.c.id == page.annotator_id).values(condition="other")
        ),
        lambda page: insert(tables.slots).values(
            study_id=page.study_id, item_id=page.item_id, condition=page.condition, number=1
        ),
        lambda page: insert(tables.pages).values(
            **{**page._mapping, "position": 99, "slot_id": None, "state": "lapsed"}
        ),
        lambda page: update(tables.events).values(kind="nothing happened"),
        lambda page: tables.events.delete(),
    ],
    ids=[
        "a rating without a slot",
        "a slot taken from its page",
        "a surplus rating that counts",
        "a page of another condition",
        "an annotator of another condition",
        "one promised rating twice",
        "one item twice",
        "a changed event",
        "a deleted event",
    ],
)
def test_the_database_itself_refuses(store, change):
    study = opened(store)
    who = begun(store, study, "alice")
    page = next(page for page in pages_of(store, who) if page.kind == "item")

    with pytest.raises(DBAPIError), store.write() as connection:
        connection.execute(change(page))


def test_a_lease_runs_out_and_its_slots_reopen(store):
    study = opened(store)
    begun(store, study, "alice")
    before = sum(condition.open for condition in seen(store, study).conditions)
    with store.write() as connection:
        lapse_and_void(connection, study, now=START + LATER)

    assert sum(condition.open for condition in seen(store, study).conditions) == before + 3


def test_an_answer_renews_the_lease(store):
    study = opened(store)
    who = begun(store, study, "alice")
    answer(store, study, who, now=START + timedelta(minutes=29))
    with store.write() as connection:
        lapsed = lapse_and_void(connection, study, now=START + timedelta(minutes=45))

    assert lapsed == 0


def test_an_answer_to_a_check_brings_back_whoever_stayed_away(store):
    study = opened(store, design(attention={"checks_per_batch": 1}))
    who = begun(store, study, "a")
    with store.write() as connection:
        lapse_and_void(connection, study, now=START + LATER)
    check = next(page for page in pages_of(store, who) if page.kind == "check")
    given = Given(check.position, check.revision, "respond")
    with store.write() as connection:
        assert take_answer(connection, study, who, given, now=START + LATER) == "rated"

    assert {page.state for page in pages_of(store, who)} == {"rated", "waiting"}


def test_a_late_rating_counts_only_while_its_item_has_an_open_slot(store):
    plan = design(
        ratings={"per_item": 1, "per_annotator": 4}, attention={"checks_per_batch": 0}, conditions=["no_context"]
    )
    study = opened(store, plan)
    late = begun(store, study, "late")
    given = [Given(page.position, 0, "respond") for page in pages_of(store, late)]
    with store.write() as connection:
        lapse_and_void(connection, study, now=START + LATER)
        first = take_answer(connection, study, late, given[0], now=START + LATER)
        lapse_and_void(connection, study, now=START + 3 * LATER)
    other = begun(store, study, "other", now=START + 3 * LATER)
    while answer(store, study, other, now=START + 3 * LATER):
        pass
    with store.write() as connection:
        second = take_answer(connection, study, late, given[1], now=START + 3 * LATER)

    assert (first, second) == ("rated", "surplus")
    state = seen(store, study)
    assert state.exact
    assert state.conditions[0].surplus == 1


def test_an_undo_keeps_the_slot(store):
    study = opened(store)
    who = begun(store, study, "alice")
    slot = pages_of(store, who)[0].slot_id
    answer(store, study, who)
    with store.write() as connection:
        assert undo(connection, study, who, now=START)

    page = pages_of(store, who)[0]
    assert (page.state, page.slot_id, page.verdict, page.revision) == ("waiting", slot, None, 1)


def test_voiding_reopens_all_slots_and_keeps_the_ratings_apart(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with store.write() as connection:
        assert void(connection, study, who, why="asked us to", by="owner", now=START) == 3
        assert void(connection, study, who, why="again", by="owner", now=START) == 0

    state = seen(store, study)
    assert state.valid == 0
    assert sum(condition.void for condition in state.conditions) == 3
    assert Counter(page.verdict for page in pages_of(store, who) if page.kind == "item") == {"safe": 3}


def test_who_leaves_after_failing_checks_is_voided_where_the_design_says_so(store):
    study = opened(store, design(attention={"void": True, "checks_per_batch": 4}))
    who = begun(store, study, "alice")
    wrong = {"safe": "refuse", "unsafe": "respond"}
    expected = {check.name: check.expected for check in study.wording.checks}
    for page in pages_of(store, who)[:5]:  # of seven: where chance put the checks, at least two of the four
        answer(store, study, who, wrong[expected.get(page.check_name, "safe")])
    with store.write() as connection:
        lapse_and_void(connection, study, now=START + LATER)
        person = next(one for one in people_states(connection, study) if one.id == who)

    assert person.voided_at is not None
    assert person.flags[0].kind == "failed_checks"
    assert person.outcome == "failed_checks", "who comes back gets no completion code"
    with store.write() as connection:
        restore(connection, study, who, why="the checks were unclear", by="owner", now=START + LATER)
        (standing,) = standings(connection, study, vault=VAULT, now=START)
    assert (standing.ids.person, standing.due) == ("alice", "full")
    with store.read() as connection:
        (after,) = people_states(connection, study)
    left = any(page.state == "dropped" for page in pages_of(store, who))  # chance may have put only checks at the end
    assert after.outcome == ("stopped" if left else "completed")


def test_who_is_left_out_by_hand_in_the_middle_has_stopped_and_can_be_paid(store):
    study = opened(store)
    who = begun(store, study, "alice")
    answer(store, study, who)
    with store.write() as connection:
        void(connection, study, who, why="a colleague", by="owner", now=START)
        (standing,) = standings(connection, study, vault=VAULT, now=START)
        person = next(one for one in people_states(connection, study) if one.id == who)

    assert (person.stage, person.outcome) == ("done", "stopped")
    assert (standing.ids.person, standing.due) == ("alice", "full")


@pytest.mark.parametrize(("ends", "outcome"), [("stopped", "left_early"), ("too_many_skips", "too_many_skips")])
def test_who_answered_no_item_left_early_unless_skipping_checks_ended_it(store, ends, outcome):
    study = opened(store)
    who = begun(store, study, "alice")
    with store.write() as connection:
        finish_batch(connection, study, who, outcome=ends, now=START)
        assert people_states(connection, study)[0].outcome == outcome


def test_forgetting_before_the_date_withdraws_everything(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with store.write() as connection:
        keep_questions(connection, who, demographics={"age": "25 to 34"}, feedback="hello")
        assert forget(connection, study, "alice", vault=VAULT, by="owner", now=START)

    with store.read() as connection:
        row = connection.execute(select(tables.annotators)).one()
        assert person_of(connection, who, vault=VAULT) is None
        assert connection.execute(select(tables.fingerprints)).all() == []
    assert (row.sealed, row.fingerprint, row.demographics, row.feedback) == (None, None, None, None)
    assert all(page.verdict is None for page in pages_of(store, who) if page.kind == "item")
    assert sum(condition.open for condition in seen(store, study).conditions) == 16


def test_forgetting_after_the_date_keeps_anonymous_ratings_and_the_hash(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with store.write() as connection:
        assert not forget(connection, study, who, vault=VAULT, by="owner", now=START + timedelta(days=60))

    assert seen(store, study).valid == 3
    with store.read() as connection:
        assert person_of(connection, who, vault=VAULT) is None
        assert len(connection.execute(select(tables.fingerprints)).all()) == 1


def test_nobody_of_that_id_can_be_forgotten(store):
    study = opened(store)
    with pytest.raises(StudyError, match="'zoe'"), store.write() as connection:
        forget(connection, study, "zoe", vault=VAULT, by="owner", now=START)


def test_ids_are_deleted_when_the_consent_page_said_so(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with store.write() as connection:
        assert purge(connection, study, now=START) == 0
        assert purge(connection, study, now=START + timedelta(days=100)) == 1

    with store.write() as connection:
        assert person_of(connection, who, vault=VAULT) is None
        assert admit(connection, study, RecruiterIds("alice"), vault=VAULT, now=START + timedelta(days=100)) is None


def test_ids_can_be_read_by_who_pays_until_then(store):
    study = opened(store)
    with store.write() as connection:
        who = admit(connection, study, RecruiterIds("alice", "s1", "x9"), vault=VAULT, now=START)
        assert who is not None
        assert person_of(connection, who.id, vault=VAULT) == RecruiterIds("alice", "s1", "x9")


def test_no_event_holds_what_a_person_said_or_is_called(store):
    study = opened(store)
    who = finished(store, study, "alice-the-person")
    with store.write() as connection:
        keep_questions(connection, who, demographics={"age": "25 to 34"}, feedback="hello")
        events = str(connection.execute(select(tables.events)).all())

    assert "alice" not in events
    assert "25 to 34" not in events
    assert "hello" not in events
    assert VAULT.fingerprint("tea", "alice-the-person") not in events


def test_the_same_round_cannot_be_opened_twice(store):
    opened(store)
    with pytest.raises(StudyError, match="already exists"):
        opened(store)
