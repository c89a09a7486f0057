import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.contexts.drafts import room
from tests.contexts.wordings import OTHER, wording
from tests.support.app import NOW

from casewise.contexts.checks import Remark
from casewise.contexts.queue import check_draft
from casewise.contexts.review import Act, NotAllowed, Phase, ReviewAction
from casewise.contexts.store import (
    ConflictingAction,
    UnsubmittedText,
    act,
    discard,
    events_of,
    find_place,
    save,
    steps_of,
    store_findings,
)

CHANGED = wording(recipient__type="Cashier")


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
    assert steps_of(events)[-1].after == after.state
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
        ReviewAction(by=here.ada.id, act=Act.ACCEPT),
        ReviewAction(by=here.ben.id, act=Act.OFFER, wording=wording(recipient__type="Teller")),
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

    outcomes = at_once(here, place, *(ReviewAction(by=f"expert {n}", act=Act.TAKE) for n in range(8)))

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
        ReviewAction(by=here.ada.id, act=Act.SUBMIT, wording=wording()),
        ReviewAction(by=here.ben.id, act=Act.SUBMIT, wording=wording()),
    )

    assert outcomes == ["done", "done"]
    assert here.place().state.phase == Phase.AGREED


def test_one_reviewer_submitting_twice_at_once_is_heard_once(store):
    here = room(store)

    outcomes = at_once(here, here.place(), *[ReviewAction(by=here.ada.id, act=Act.SUBMIT, wording=wording())] * 4)

    assert outcomes.count("done") == 1
    assert here.place().state.phase == Phase.UNDER_REVIEW


def test_a_finding_about_several_contexts_goes_with_the_words_that_it_was_about(store):
    here = room(store, unsafe=wording(**OTHER))
    with store.write() as connection:
        check_draft(connection, here.draft)
    here.do(here.place(2), here.ada, Act.GIVE_UP, None, "again")

    here.do(here.place(2), here.ada, Act.REWRITE, wording(recipient__type="Guard"))

    assert here.place(2).findings == []


def test_findings_follow_the_words(store):
    here = room(store, unsafe=wording(**OTHER))
    place = here.place()
    opinions = [
        Remark(check="drift", message="It is milder.", evidence="bank clerk", by="some/model"),
        Remark(check="drift", message="It is milder.", evidence="fraud prevention", by="some/model"),
    ]
    with store.write() as connection:
        store_findings(connection, {place.id: opinions})

    for by in (here.ada, here.ben):
        here.do(place, by, Act.SUBMIT, wording(recipient__type="A malicious clerk"))

    assert [(one.check, one.evidence) for one in here.place().findings] == [
        ("gives the intent away", "malicious"),
        ("drift", "fraud prevention"),
    ]


def test_a_finding_goes_when_the_other_context_that_it_is_about_gets_other_words(store):
    here = room(store, unsafe=wording(**OTHER))
    with store.write() as connection:
        check_draft(connection, here.draft)
    assert [(one.check, one.about) for one in here.place(2).findings] == [("too alike", here.place(0).id)]

    for by in (here.ada, here.ben):
        here.do(here.place(), by, Act.SUBMIT, wording(**OTHER | {"recipient__type": "Guard"}))

    assert here.place(2).findings == []
