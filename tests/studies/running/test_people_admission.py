"""Who is let in, and who is told that there is no place: on SQLite and on PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.studies.test_owner_store import seen
from tests.support.study import LATER, RIGHT, START, VAULT, answer, begun, design, opened

from casewise.database.tables.study import slots
from casewise.studies.people import admission_refusal, admit, annotator, answer_quiz, has_room, pass_tutorial
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import set_state

SMALL = {"per_item": 1, "per_annotator": 4, "lease_minutes": 30}
"""Two conditions of four queries: places for two people."""


@pytest.fixture
def study(store):
    return opened(store, design(ratings=SMALL))


def room(store, study, *, now=START):
    with study.read(store, now) as live:
        return has_room(live)


def why(store, study, name, *, now=START):
    with study.write(store, now) as live:
        return admission_refusal(live, VAULT.fingerprint(study.name, name), lock=True)


def consented(store, study, name, *, now=START):
    with study.write(store, now) as live:
        who = admit(live, RecruiterIds(name), vault=VAULT)
    assert who is not None
    return who.id


def quizzed(store, study, who, *, now=START):
    with study.write(store, now) as live:
        pass_tutorial(live, who)
        return answer_quiz(live, who, RIGHT)


def held(store, study, who):
    with store.read() as connection:
        return len(
            connection.execute(select(slots).where(slots.c.study_id == study.id, slots.c.holder_id == who)).all()
        )


def test_slots_of_people_who_left_are_room_again_without_anybody_looking_at_the_study(store, study):
    for name in ("a", "b"):
        answer(store, study, begun(store, study, name))

    assert not room(store, study)
    assert room(store, study, now=START + LATER)
    newcomer = begun(store, study, "c", now=START + LATER)
    with study.read(store) as live:
        found = annotator(live, newcomer)
    assert found is not None
    assert found.stage == "rating"


def test_asking_for_room_changes_nothing(store, study):
    begun(store, study, "a")
    before = seen(store, study)
    room(store, study, now=START + LATER)

    assert seen(store, study) == before


@pytest.mark.slow
def test_a_place_is_held_for_everybody_who_reads_the_tutorial(store, study):
    first = [consented(store, study, name) for name in ("a", "b")]

    assert why(store, study, "c") == "full"
    assert [quizzed(store, study, who) for who in first] == ["passed", "passed"]


def test_near_the_end_only_what_somebody_can_still_be_given_is_held_for_them(store):
    study = opened(store, design(ratings=SMALL | {"per_annotator": 3}))
    for name in ("a", "b"):
        begun(store, study, name)
    consented(store, study, "c")

    assert why(store, study, "d") is None
    consented(store, study, "d")
    assert why(store, study, "e") == "full"


def test_whoever_comes_last_gets_what_smaller_batches_leave(store):
    study = opened(store, design(ratings=SMALL | {"per_annotator": 3}))
    people = []
    for name in ("a", "b", "c", "d"):
        assert why(store, study, name) is None
        people.append(consented(store, study, name))

    assert why(store, study, "e") == "full"
    assert [quizzed(store, study, who) for who in people] == ["passed"] * 4
    assert sorted(held(store, study, who) for who in people) == [1, 1, 3, 3]


def test_room_is_counted_by_what_people_can_take_of_expired_slots_too(store):
    study = opened(store, design(ratings=SMALL | {"per_annotator": 3}))
    for name in ("a", "b"):
        begun(store, study, name)
    for name in ("c", "d", "e"):
        assert why(store, study, name, now=START + LATER) is None
        consented(store, study, name, now=START + LATER)

    assert why(store, study, "f", now=START + LATER) is None
    consented(store, study, "f", now=START + LATER)
    assert why(store, study, "g", now=START + LATER) == "full"


def test_whoever_stays_away_from_the_quiz_holds_a_place_no_longer_than_a_lease(store, study):
    for name in ("a", "b"):
        consented(store, study, name)

    assert why(store, study, "c", now=START + timedelta(minutes=29)) == "full"
    assert why(store, study, "c", now=START + timedelta(minutes=31)) is None


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_nobody_new_is_let_in_unless_the_round_is_open(store, study, state):
    with study.write(store, START) as live:
        set_state(live, state, by="owner")

    assert why(store, study, "a") == state
