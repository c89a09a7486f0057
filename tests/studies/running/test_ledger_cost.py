"""What a round has cost and will cost: by how it ended for people, by bonuses, and by the slots that are open."""

import pytest
from tests.support.study import LATER, START, VAULT, answer, begun, design, material, opened

from casewise.studies.answers import finish_batch, lapse_and_void
from casewise.studies.freeze import estimate
from casewise.studies.ledger import Payment, note_payment
from casewise.studies.monitor import monitor
from casewise.studies.owner import forget
from casewise.studies.people import admit
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import read_events

NO_CHECKS = {"checks_per_batch": 0}


def plan(**changes):
    return design(attention=NO_CHECKS, conditions=["no_context"], **changes)


def test_what_was_spent_on_somebody_stays_spent_when_they_withdraw(store):
    study = opened(store, plan(pay={"per_batch": 3.0, "screen_out": 0.5}), queries=9)
    who = begun(store, study, "alice")
    answer(store, study, who)
    left = begun(store, study, "ben")
    begun(store, study, "cat")
    with study.write(store, START) as live:
        for one in (who, left):
            finish_batch(live, one, outcome="stopped")
        note_payment(live, Payment(who, "bonus-0", 0.25, "bonus", "confirmed", "thanks"))
        note_payment(live, Payment(who, "bonus-1", 0.75, "bonus", "doubtful"))
        assert (monitor(live).money.spent, monitor(live).money.doubtful) == (3.0 + 0.25 + 0.5, 0.75)
        for name in ("alice", "ben", "cat", who):
            assert forget(live, name, vault=VAULT, by="owner")
        money = monitor(live).money
        log = read_events(live)
    assert (money.spent, money.doubtful, money.promised) == (3.75, 0.75, 0.0)
    assert [event["annotator_id"] for event in log if event["kind"] == "cost of withdrawn"] == [None, None]


def test_what_is_to_come_is_for_the_people_whom_the_open_slots_take(store):
    pay = {"per_batch": 3.0, "screen_out": 0.0}
    study = opened(store, design(ratings={"per_item": 4, "per_annotator": 10}, attention=NO_CHECKS, pay=pay), queries=1)
    with store.write() as connection:
        assert monitor(study.at(connection, START)).money.to_come == 2 * 4 * 3.0  # nobody rates an item twice
        admit(study.at(connection, START), RecruiterIds("alice"), vault=VAULT)
        money = monitor(study.at(connection, START)).money
        left = monitor(study.at(connection, START + LATER)).money
    assert (money.promised, money.to_come) == (3.0, 7 * 3.0)
    assert (left.promised, left.to_come) == (0.0, 8 * 3.0)


def test_nothing_is_promised_to_who_left_in_the_middle_and_the_slots_are_to_be_paid_for_anew(store):
    study = opened(store, plan(pay={"per_batch": 3.0, "screen_out": 0.0}), queries=3)
    begun(store, study, "alice")
    with store.write() as connection:
        here = monitor(study.at(connection, START)).money
        lapse_and_void(study.at(connection, START + LATER))
        left = monitor(study.at(connection, START + LATER)).money
    assert [(money.promised, money.to_come) for money in (here, left)] == [(3.0, 3.0), (0.0, 6.0)]


@pytest.mark.parametrize("pass_rate", [0.3, 0.7, 0.93, 1.0])
def test_a_round_that_begins_costs_what_the_check_said(store, pass_rate):
    pay, quiz = {"per_batch": 4.0, "screen_out": 1.0, "fee_percent": 33.3}, {"expected_pass_rate": pass_rate}
    checked = design(ratings={"per_item": 7, "per_annotator": 5}, attention=NO_CHECKS, pay=pay, quiz=quiz)
    study = opened(store, checked, queries=9)
    with study.read(store, START) as live:
        assert monitor(live).money.total == pytest.approx(estimate(checked, material(checked, queries=9)).total)
