import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.contexts.drafts import queries, room
from tests.contexts.wordings import wording
from tests.support.app import NOW, add_person

from casewise.contexts.drafts import all_drafts, create_draft, find_draft, progress
from casewise.contexts.queue import Filter, decline_categories, declined_categories, list_contexts, next_for
from casewise.contexts.record import read_record
from casewise.contexts.review import Act, Action, NotAllowed, Phase, replay
from casewise.contexts.statistics import review_statistics
from casewise.contexts.store import (
    ConflictingAction,
    UnsubmittedText,
    act,
    discard,
    events_of,
    find_place,
    save,
    sibling,
)
from casewise.database.staff import Role
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Query, sorry_bench

CHANGED = wording(recipient__type="Cashier")


def test_a_draft_has_a_place_for_each_query_and_intent(store):
    with store.write() as connection:
        draft = create_draft(connection, "x", queries=queries(3), taxonomy=sorry_bench(), now=NOW)

        assert progress(connection, draft)[Phase.MISSING] == 6
        assert find_draft(connection, "x") == all_drafts(connection)[0] == draft


@pytest.mark.parametrize(
    ("name", "chosen", "intents", "says"),
    [
        ("A Name", queries(1), ("safe",), "not a valid draft name"),
        ("x", [], ("safe",), "at least one"),
        ("x", [*queries(1), *queries(1)], ("safe",), "twice"),
        ("x", [Query(text="Why?", category="riddles")], ("safe",), "riddles"),
        ("x", queries(1), ("good",), "no intent"),
    ],
)
def test_what_makes_no_draft_is_explained(store, name, chosen, intents, says):
    with pytest.raises((BenchmarkError, ConfigurationError), match=says), store.write() as connection:
        create_draft(connection, name, queries=chosen, taxonomy=sorry_bench(), intents=intents, now=NOW)


def test_every_step_is_kept_and_adds_up_to_the_state(store):
    here = room(store)
    place = here.place()
    here.do(place, here.ada, Act.SUBMIT, wording())
    here.do(place, here.ben, Act.SUBMIT, CHANGED)
    here.do(place, here.ada, Act.COMMENT, None, "why a cashier?")
    after = here.do(place, here.ada, Act.ACCEPT)

    with store.read() as connection:
        events = events_of(connection, place.id)
    assert [event.act for event in events] == [Act.GENERATE, Act.SUBMIT, Act.SUBMIT, Act.COMMENT, Act.ACCEPT]
    assert replay(Action(by=e.by, act=e.act, wording=e.wording, reason=e.reason) for e in events) == after.state
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]


def test_a_review_cannot_be_taken_back_once_the_other_reviewer_types(store):
    here = room(store)
    place = here.place()
    here.do(place, here.ada, Act.SUBMIT, wording())
    typed = UnsubmittedText(CHANGED.fields(), saved=0, version=place.state.version)
    with store.write() as connection:
        save(connection, place.id, person_id=here.ben.id, typed=typed, now=NOW)
    with pytest.raises(NotAllowed, match="has begun"):
        here.do(place, here.ada, Act.TAKE_BACK)
    with store.write() as connection:
        discard(connection, place.id, person_id=here.ben.id)

    assert here.do(place, here.ada, Act.TAKE_BACK).state.phase == Phase.GENERATED


def test_a_review_that_was_taken_back_counts_as_none(store):
    here = room(store)
    place = here.place()
    here.do(place, here.ada, Act.SUBMIT, CHANGED)
    here.do(place, here.ada, Act.TAKE_BACK)
    with store.read() as connection:
        found = review_statistics(read_record(connection, all_drafts(connection)[0]))

    assert found.agreed_at_once.of == 0
    assert found.work == []


def test_the_history_of_a_context_cannot_be_rewritten_and_what_is_not_allowed_leaves_no_trace_in_it(store):
    here = room(store)
    place = here.place()

    with pytest.raises(DBAPIError, match="only added"), store.write() as connection:
        connection.execute(text("UPDATE review_events SET reason = 'nothing happened'"))
    with pytest.raises(NotAllowed):
        here.do(place, here.cleo, Act.TAKE)

    with store.read() as connection:
        assert len(events_of(connection, place.id)) == 1


def attempt(here, place, action, outcomes, start):
    start.wait()
    try:
        with here.store.write() as connection:
            act(connection, place.id, action, seen=place.state.version, now=NOW)
        outcomes.append("done")
    except (ConflictingAction, NotAllowed) as error:
        outcomes.append(str(error))


def at_once(here, place, *actions):
    """Do all `actions` from as many threads at the same moment, all looking at `place` as it is."""
    outcomes: list[str] = []
    start = threading.Barrier(len(actions))
    threads = [threading.Thread(target=attempt, args=(here, place, action, outcomes, start)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return outcomes


def test_of_two_who_act_at_once_exactly_one_does_and_the_other_is_told(store):
    here = room(store)
    place = here.place()
    here.do(place, here.ada, Act.SUBMIT, wording())
    place = here.do(place, here.ben, Act.SUBMIT, CHANGED)

    outcomes = at_once(
        here,
        place,
        Action(by=here.ada.id, act=Act.ACCEPT),
        Action(by=here.ben.id, act=Act.OFFER, wording=wording(recipient__type="Teller")),
    )

    assert sorted(outcome == "done" for outcome in outcomes) == [False, True]
    assert any("Another person changed" in outcome for outcome in outcomes)
    with store.read() as connection:
        assert len(events_of(connection, place.id)) == 4


def test_two_experts_at_once_take_a_context_once(store):
    here = room(store)
    place = here.place()
    here.do(place, here.ada, Act.SUBMIT, wording())
    place = here.do(place, here.ben, Act.SUBMIT, wording())

    outcomes = at_once(here, place, *(Action(by=f"expert {n}", act=Act.TAKE) for n in range(8)))

    assert outcomes.count("done") == 1
    with store.read() as connection:
        after = find_place(connection, place.id)
        assert after is not None
        assert [event.by for event in events_of(connection, place.id)][-1] == after.state.expert


def test_two_reviewers_submitting_at_once_are_both_heard(store):
    here = room(store)
    place = here.place()

    outcomes = at_once(
        here,
        place,
        Action(by=here.ada.id, act=Act.SUBMIT, wording=wording()),
        Action(by=here.ben.id, act=Act.SUBMIT, wording=wording()),
    )

    assert outcomes == ["done", "done"]
    assert here.place().state.phase == Phase.AGREED


def test_one_reviewer_submitting_twice_at_once_is_heard_once(store):
    here = room(store)

    outcomes = at_once(here, here.place(), *[Action(by=here.ada.id, act=Act.SUBMIT, wording=wording())] * 4)

    assert outcomes.count("done") == 1
    assert here.place().state.phase == Phase.UNDER_REVIEW


def waiting(here, person):
    with here.store.read() as connection:
        return [one.position for one in list_contexts(connection, here.draft, person, Filter(mine=True)).contexts]


def test_the_queue_shows_each_person_what_waits_for_them(store):
    here = room(store)
    first, second = here.places()[:2]
    here.do(first, here.ada, Act.SUBMIT, wording())
    here.do(second, here.ada, Act.SUBMIT, wording())
    here.do(second, here.ben, Act.SUBMIT, wording())

    assert waiting(here, here.ada) == [2, 3]
    assert waiting(here, here.ben) == [0, 2, 3]
    assert waiting(here, here.cleo) == [1]


@pytest.mark.slow
def test_who_has_confirmed_is_not_asked_again(store):
    here = room(store, count=1)
    place = here.place()
    for by, act_ in [(here.ada, Act.SUBMIT), (here.ben, Act.SUBMIT), (here.cleo, Act.TAKE), (here.cleo, Act.APPROVE)]:
        here.do(place, by, act_, wording())
    here.do(place, here.ada, Act.CONFIRM)

    assert waiting(here, here.ada) == [1]
    assert waiting(here, here.ben) == [0, 1]


@pytest.mark.slow
def test_a_category_passed_on_is_not_asked_about(store):
    here = room(store)
    with store.write() as connection:
        decline_categories(connection, here.ada.id, [here.place().query.category])

        assert declined_categories(connection, here.ada.id) == {here.place().query.category}
    assert waiting(here, here.ada) == [2, 3]
    assert waiting(here, here.ben) == [0, 1, 2, 3]


def test_who_wrote_a_context_anew_leaves_it_to_two_others_where_there_are_two(store):
    here = room(store, count=1)
    place = here.place()
    here.do(place, here.ada, Act.GIVE_UP, None, "It answers another query.")
    here.do(place, here.ben, Act.REWRITE, CHANGED)
    assert waiting(here, here.ben) == [0, 1]

    dora = add_person(store, "Dora", Role.REVIEWER)
    assert waiting(here, here.ben) == [1]
    with pytest.raises(NotAllowed, match="two others"):
        here.do(place, here.ben, Act.SUBMIT, CHANGED)
    with store.write() as connection:
        decline_categories(connection, dora.id, [place.query.category])
    assert waiting(here, here.ben) == [0, 1]

    here.do(place, here.ada, Act.SUBMIT, CHANGED)
    here.do(place, here.ben, Act.SUBMIT, CHANGED)
    with store.read() as connection:
        assert review_statistics(read_record(connection, here.draft)).own_words.count == 1


def test_next_goes_round(store):
    here = room(store)

    with store.read() as connection:
        assert next_for(connection, here.draft, here.ada, after=0) == here.place(1).id
        assert next_for(connection, here.draft, here.ada, after=3) == here.place(0).id
        assert next_for(connection, here.draft, here.cleo) is None


def test_filters_narrow_the_queue(store):
    here = room(store)

    def count(**chosen):
        with store.read() as connection:
            return len(list_contexts(connection, here.draft, here.ada, Filter(**chosen)).contexts)

    assert count(intended_safe=True) == 2
    assert count(category=here.place().query.category) == 2
    assert count(phase=Phase.APPROVED) == 0
    assert count(after=2) == 1
    with store.read() as connection:
        other = sibling(connection, here.place())
    assert other is not None
    assert (other.query, other.intended_safe) == (here.place().query, False)


def test_an_expert_is_credited_with_the_contexts_that_stand_approved_by_them(store):
    here = room(store, count=1)
    place, approve = here.place(), [(here.cleo, Act.TAKE), (here.cleo, Act.APPROVE)]
    steps = [(here.ada, Act.SUBMIT), (here.ben, Act.SUBMIT), *approve, (here.ada, Act.OBJECT)]
    steps += [(here.ada, Act.OFFER), (here.ben, Act.ACCEPT), *approve]
    for by, step in steps:
        here.do(place, by, step, place.state.wording if step in {Act.SUBMIT, Act.OFFER} else None, "because")

    with store.read() as connection:
        work = review_statistics(read_record(connection, here.draft)).work

    assert {one.person_id: one.approvals for one in work} == {here.ada.id: 0, here.ben.id: 0, here.cleo.id: 1}
