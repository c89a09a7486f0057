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
    with study.write(store, now) as live:
        who = admit(live, RecruiterIds(name), vault=VAULT)
        assert who is not None
        pass_tutorial(live, who.id)
        answer_quiz(live, who.id, RIGHT)
    return who.id


def answer(store, study, who, decision="respond", *, now=START):
    """Answer the next page; what became of it, None when there is none."""
    with study.write(store, now) as live:
        page = next_page(live, who)
        if page is None:
            return None
        given = Given(page.position, page.step, decision, seconds=5.0)
        return take_answer(live, who, given)


def finished(store, study, name, decision="respond"):
    who = begun(store, study, name)
    while answer(store, study, who, decision):
        pass
    with study.write(store, START) as live:
        finish_batch(live, who)
    return who


def pages_of(store, who):
    with store.read() as connection:
        return connection.execute(
            select(tables.pages).where(tables.pages.c.annotator_id == who).order_by(tables.pages.c.position)
        ).all()


def seen(store, study):
    with study.read(store) as live:
        return overview(live)


@pytest.mark.slow
def test_many_at_once_end_exact_and_within_a_batch(store):
    study = opened(store, design(ratings={"per_item": 6, "per_annotator": 5}), queries=10)
    with ThreadPoolExecutor(12) as crowd:
        people = list(crowd.map(lambda n: finished(store, study, f"p{n}"), range(26)))

    with study.read(store) as live:
        rated = Counter(live.scalars(select(tables.pages.c.item_id).where(tables.pages.c.state == "rated")).all())
        conditions = Counter(getattr(annotator(live, who), "condition", "nobody") for who in people)
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
        with study.write(store, START) as live:
            return take_answer(live, who, Given(1, 0, decision))

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
    with study.write(store, START + LATER) as live:
        lapse_and_void(live)

    assert sum(condition.open for condition in seen(store, study).conditions) == before + 3


def test_an_answer_renews_the_lease(store):
    study = opened(store)
    who = begun(store, study, "alice")
    answer(store, study, who, now=START + timedelta(minutes=29))
    with study.write(store, START + timedelta(minutes=45)) as live:
        lapsed = lapse_and_void(live)

    assert lapsed == 0


def test_an_answer_to_a_check_brings_back_whoever_stayed_away(store):
    study = opened(store, design(attention={"checks_per_batch": 1}))
    who = begun(store, study, "a")
    with study.write(store, START + LATER) as live:
        lapse_and_void(live)
    check = next(page for page in pages_of(store, who) if page.kind == "check")
    given = Given(check.position, 0, "respond")
    with study.write(store, START + LATER) as live:
        assert take_answer(live, who, given) == "rated"

    assert {page.state for page in pages_of(store, who)} == {"rated", "waiting"}


def test_a_late_rating_counts_only_while_its_item_has_an_open_slot(store):
    plan = design(
        ratings={"per_item": 1, "per_annotator": 4}, attention={"checks_per_batch": 0}, conditions=["no_context"]
    )
    study = opened(store, plan)
    late = begun(store, study, "late")
    given = [Given(page.position, step, "respond") for step, page in enumerate(pages_of(store, late))]
    with store.write() as connection:
        lapse_and_void(study.at(connection, START + LATER))
        first = take_answer(study.at(connection, START + LATER), late, given[0])
        lapse_and_void(study.at(connection, START + 3 * LATER))
    other = begun(store, study, "other", now=START + 3 * LATER)
    while answer(store, study, other, now=START + 3 * LATER):
        pass
    with study.write(store, START + 3 * LATER) as live:
        second = take_answer(live, late, given[1])

    assert (first, second) == ("rated", "surplus")
    state = seen(store, study)
    assert state.exact
    assert state.conditions[0].surplus == 1


def test_an_undo_keeps_the_slot(store):
    study = opened(store)
    who = begun(store, study, "alice")
    slot = pages_of(store, who)[0].slot_id
    answer(store, study, who)
    with study.write(store, START) as live:
        assert undo(live, who)

    page = pages_of(store, who)[0]
    assert (page.state, page.slot_id, page.verdict, page.step) == ("waiting", slot, None, None)


def test_voiding_reopens_all_slots_and_keeps_the_ratings_apart(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with study.write(store, START) as live:
        assert void(live, who, why="asked us to", by="owner") == 3
        assert void(live, who, why="again", by="owner") == 0

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
    with study.write(store, START + LATER) as live:
        lapse_and_void(live)
        person = next(one for one in people_states(live) if one.id == who)

    assert person.voided_at is not None
    assert person.flags[0].kind == "failed_checks"
    assert person.outcome == "failed_checks", "who comes back gets no completion code"
    with store.write() as connection:
        restore(study.at(connection, START + LATER), who, why="the checks were unclear", by="owner")
        (standing,) = standings(study.at(connection, START), vault=VAULT)
    assert (standing.ids.person, standing.due) == ("alice", "full")
    with study.read(store) as live:
        (after,) = people_states(live)
    left = any(page.state == "dropped" for page in pages_of(store, who))  # chance may have put only checks at the end
    assert after.outcome == ("stopped" if left else "completed")


def test_who_is_left_out_by_hand_in_the_middle_has_stopped_and_can_be_paid(store):
    study = opened(store)
    who = begun(store, study, "alice")
    answer(store, study, who)
    with study.write(store, START) as live:
        void(live, who, why="a colleague", by="owner")
        (standing,) = standings(live, vault=VAULT)
        person = next(one for one in people_states(live) if one.id == who)

    assert (person.stage, person.outcome) == ("done", "stopped")
    assert (standing.ids.person, standing.due) == ("alice", "full")


@pytest.mark.parametrize(("ends", "outcome"), [("stopped", "left_early"), ("too_many_skips", "too_many_skips")])
def test_who_answered_no_item_left_early_unless_skipping_checks_ended_it(store, ends, outcome):
    study = opened(store)
    who = begun(store, study, "alice")
    with study.write(store, START) as live:
        finish_batch(live, who, outcome=ends)
        assert people_states(live)[0].outcome == outcome


def test_forgetting_before_the_date_withdraws_everything(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with study.write(store, START) as live:
        keep_questions(live, who, demographics={"age": "25 to 34"}, feedback="hello")
        assert forget(live, "alice", vault=VAULT, by="owner").ratings == "withdrawn"

    with study.read(store) as live:
        row = live.execute(select(tables.annotators)).one()
        assert person_of(live, who, vault=VAULT) is None
        assert live.execute(select(tables.fingerprints)).all() == []
    assert (row.sealed, row.fingerprint, row.demographics, row.feedback) == (None, None, None, None)
    assert all(page.verdict is None for page in pages_of(store, who) if page.kind == "item")
    assert sum(condition.open for condition in seen(store, study).conditions) == 16


def test_forgetting_after_the_date_keeps_anonymous_ratings_and_the_hash(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with study.write(store, START + timedelta(days=60)) as live:
        assert forget(live, who, vault=VAULT, by="owner").ratings == "kept"
    with pytest.raises(StudyError, match="'zoe'"), study.write(store, START) as live:
        forget(live, "zoe", vault=VAULT, by="owner")
    with pytest.raises(StudyError, match="already exists"):
        opened(store)

    assert seen(store, study).valid == 3
    with study.read(store) as live:
        assert person_of(live, who, vault=VAULT) is None
        assert len(live.execute(select(tables.fingerprints)).all()) == 1


def test_ids_are_deleted_when_the_consent_page_said_so(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with store.write() as connection:
        assert purge(study.at(connection, START)) == 0
        assert person_of(study.at(connection, START), who, vault=VAULT) == RecruiterIds("alice")
        assert purge(study.at(connection, START + timedelta(days=100))) == 1

    with study.write(store, START + timedelta(days=100)) as live:
        assert person_of(live, who, vault=VAULT) is None
        assert admit(live, RecruiterIds("alice"), vault=VAULT) is None


def test_no_event_holds_what_a_person_said_or_is_called(store):
    study = opened(store)
    who = finished(store, study, "alice-the-person")
    with study.write(store) as live:
        keep_questions(live, who, demographics={"age": "25 to 34"}, feedback="hello")
        events = str(live.execute(select(tables.events)).all())

    assert "alice" not in events
    assert "25 to 34" not in events
    assert "hello" not in events
    assert VAULT.fingerprint("tea", "alice-the-person") not in events
