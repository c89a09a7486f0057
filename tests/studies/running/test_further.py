"""More than one batch a person: exact quotas, one condition, nothing twice, and pay for each."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from tests.studies.test_store import VAULT, answer, begun, pages_of, seen
from tests.support.study import LATER, START, Walker, design, opened

from casewise.studies.answers import (
    Given,
    finish_batch,
    further_pay,
    lapse_and_void,
    may_take_another,
    next_page,
    take_another,
    take_answer,
)
from casewise.studies.monitor import monitor
from casewise.studies.owner import forget, to_be_paid
from casewise.studies.people import admit, annotator
from casewise.studies.quality import AnsweredPage, failed_checks
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import note, read_events, set_state

NO_CHECKS = {"checks_per_batch": 0}


def plan(most=3, **changes):
    ratings = {"per_item": 2, "per_annotator": 3, "most_batches": most} | changes.pop("ratings", {})
    return design(ratings=ratings, attention=NO_CHECKS, conditions=["no_context"], **changes)


def rated_a_batch(store, study, name):
    who = begun(store, study, name)
    while answer(store, study, who):
        pass
    return who


def found(connection, who):
    known = annotator(connection, who)
    assert known is not None
    return known


def another(store, study, who, *, now=START):
    with store.write() as connection:
        return take_another(connection, study, found(connection, who), now=now)


def offered(store, study, who):
    with store.read() as connection:
        return may_take_another(connection, study, found(connection, who), now=START)


def test_another_batch_has_other_queries_of_the_same_condition_and_each_item_ends_with_what_was_promised(store):
    study = opened(store, plan(), queries=9)
    for name in ("alice", "bob"):
        who = rated_a_batch(store, study, name)
        while another(store, study, who):
            while answer(store, study, who):
                pass
        pages = pages_of(store, who)
        assert len(pages) == len({page.query_id for page in pages}) == 9
        assert [page.position for page in pages] == list(range(1, 10))
        assert not offered(store, study, who), "three batches are the most"

    assert seen(store, study).exact


def test_pressing_in_many_tabs_gives_one_more_batch(store):
    study = opened(store, plan(), queries=9)
    who = rated_a_batch(store, study, "alice")
    with ThreadPoolExecutor(6) as tabs:
        given = list(tabs.map(lambda _: another(store, study, who), range(6)))

    assert Counter(given) == {3: 1, 0: 5}


@pytest.mark.parametrize("why", ["one batch", "pages are left", "paused", "no unread query", "held for others"])
def test_nothing_more_is_offered_where(store, why):
    most, queries = (1 if why == "one batch" else 3), (3 if why == "no unread query" else 6)
    study = opened(store, plan(most=most, ratings={"per_item": 1} if why == "held for others" else {}), queries=queries)
    who = begun(store, study, "alice") if why == "pages are left" else rated_a_batch(store, study, "alice")
    with store.write() as connection:
        if why == "paused":
            set_state(connection, study.id, "paused", by="owner", now=START)
        if why == "held for others":
            from casewise.studies.people import admit
            from casewise.studies.recruiters import RecruiterIds

            admit(connection, study, RecruiterIds("bob"), vault=VAULT, now=START)

    assert not offered(store, study, who)
    assert another(store, study, who) == 0


def test_nothing_more_is_offered_in_a_condition_that_is_ahead_of_another(store):
    study = opened(store, design(ratings={"most_batches": 3}, attention=NO_CHECKS), queries=6)
    who = rated_a_batch(store, study, "alice")
    assert not offered(store, study, who)
    rated_a_batch(store, study, "bob")
    assert offered(store, study, who)


def test_checks_may_be_failed_in_each_batch_and_whoever_fails_more_is_offered_nothing(store):
    study = opened(store, design(conditions=["no_context"], ratings={"most_batches": 2}), queries=6)
    who = begun(store, study, "alice")
    for page in pages_of(store, who):
        with store.write() as connection:
            take_answer(
                connection, study, who, Given(page.position, 0, "skip" if page.check_name else "respond"), now=START
            )
    assert not offered(store, study, who)

    wrong = [AnsweredPage(f"check {n}", "safe", 1.0, expected="unsafe") for n in range(3)]
    attention = design(attention={"checks_per_batch": 2, "may_fail": 1}).attention
    assert failed_checks(wrong[:2], attention) is not None
    assert (
        failed_checks([wrong[0], *(AnsweredPage("right", "safe", 1.0, expected="safe"),) * 2, wrong[1]], attention)
        is None
    )
    assert failed_checks(wrong, attention) is not None


def test_further_batches_are_owed_by_what_was_answered_of_them_and_count_as_spent(store):
    study = opened(store, plan(pay={"per_batch": 3.0}), queries=9)
    who = rated_a_batch(store, study, "alice")
    another(store, study, who)
    for _ in range(2):
        answer(store, study, who)
    with store.write() as connection:
        finish_batch(connection, study, who, outcome="stopped", now=START)
        assert further_pay(connection, study) == further_pay(connection, study, who) == {who: 2.0}
        assert monitor(connection, study, now=START).money.spent == 5.0
        assert [one.person for one in to_be_paid(connection, study, vault=VAULT).people] == ["alice"]


def test_what_was_spent_on_somebody_stays_spent_when_they_withdraw(store):
    study = opened(store, plan(pay={"per_batch": 3.0, "screen_out": 0.5}), queries=9)
    who = rated_a_batch(store, study, "alice")
    another(store, study, who)
    for _ in range(2):
        answer(store, study, who)
    left = begun(store, study, "ben")
    begun(store, study, "cat")
    with store.write() as connection:
        for one in (who, left):
            finish_batch(connection, study, one, outcome="stopped", now=START)
        note(connection, study.id, "bonus begun", at=START, annotator_id=who, detail={"amount": 0.25, "for": "thanks"})
        assert monitor(connection, study, now=START).money.spent == 5.0 + 0.25 + 0.5
        for name in ("alice", "ben", "cat", who):
            assert forget(connection, study, name, vault=VAULT, by="owner", now=START)
        money = monitor(connection, study, now=START).money
        log = read_events(connection, study.id)
    assert (money.spent, money.promised) == (5.75, 0.0)
    assert [event["annotator_id"] for event in log if event["kind"] == "cost of withdrawn"] == [None, None]


def test_what_is_to_come_is_for_the_people_whom_the_open_slots_take(store):
    pay = {"per_batch": 3.0, "screen_out": 0.0}
    study = opened(store, design(ratings={"per_item": 4, "per_annotator": 10}, attention=NO_CHECKS, pay=pay), queries=1)
    with store.write() as connection:
        assert monitor(connection, study, now=START).money.to_come == 2 * 4 * 3.0  # nobody rates an item twice
        admit(connection, study, RecruiterIds("alice"), vault=VAULT, now=START)
        money = monitor(connection, study, now=START).money
        left = monitor(connection, study, now=START + LATER).money
    assert (money.promised, money.to_come) == (3.0, 7 * 3.0)
    assert (left.promised, left.to_come) == (0.0, 8 * 3.0)


def test_nothing_is_promised_to_who_left_in_the_middle_and_the_slots_are_to_be_paid_for_anew(store):
    study = opened(store, plan(most=1, pay={"per_batch": 3.0, "screen_out": 0.0}), queries=3)
    begun(store, study, "alice")
    with store.write() as connection:
        here = monitor(connection, study, now=START).money
        lapse_and_void(connection, study, now=START + LATER)
        left = monitor(connection, study, now=START + LATER).money
    assert [(money.promised, money.to_come) for money in (here, left)] == [(3.0, 3.0), (0.0, 6.0)]


def test_who_leaves_in_another_batch_is_paid_for_the_first_and_its_slots_reopen(store):
    study = opened(store, plan(), queries=9)
    who = rated_a_batch(store, study, "alice")
    another(store, study, who)
    late = START + LATER + timedelta(minutes=1)
    with store.write() as connection:
        lapse_and_void(connection, study, now=late)
        assert [one.person for one in to_be_paid(connection, study, vault=VAULT).people] == ["alice"]
        assert next_page(connection, study, who) is None
    assert seen(store, study).conditions[0].open == 15
    with store.write() as connection:
        assert forget(connection, study, who, vault=VAULT, by="owner", now=START)
    assert seen(store, study).conditions[0].open == 18


def test_an_annotator_takes_another_batch_on_the_pages_and_reads_what_is_paid(app):
    study = opened(app.state.database, plan(most=2, pay={"per_batch": 3.0}), queries=6)
    walker = Walker(app, study)
    walker.arrive()
    walker.open("/consent")
    assert "up to 2 times as many in all. Each time is paid 3.00 USD more" in walker.page
    where = walker.to_rating()
    while where == "/rate":
        where = walker.decide()
    assert where == "/questions"
    assert "up to 3, for 3.00 USD more" in walker.page
    where = walker.send("/another")
    answered = 0
    while where == "/rate":
        where, answered = walker.decide(), answered + 1
    assert answered == 3
    assert "Rate more" not in walker.page
    assert walker.send("/questions") == "/end"
    assert "after the first 3 requests you are paid 3.00 USD more" in walker.page
    assert "THANKS42" in walker.page
