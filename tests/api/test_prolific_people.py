"""Writing to, paying more and asking back one annotator at Prolific, on record and never twice by accident; places, groups
and webhooks there."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from sqlalchemy import select, update
from tests.support.study import SECRET, START

from casewise import database
from casewise.api import Study, StudyAtProlific
from casewise.api.prolific import NewProlificStudy
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError
from casewise.studies.people import Vault, admit, people_needed
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import find_round, open_plan, read_plan


@pytest.fixture
def there(place):
    """An annotator of a round at Prolific, and where it is: on either database."""
    place["phase"] = "pilot"
    with database.open(str(place["database"])) as store, store.write() as connection:
        plan = read_plan(place["file"])
        study = open_plan(connection, plan, phase="pilot", now=START)
        who = admit(study.at(connection, START), RecruiterIds("person-1", "study-1", "sub-1"), vault=Vault(SECRET))
    assert who is not None
    return who.id, place


def events(place):
    with database.open(str(place["database"])) as store, store.read() as connection:
        rows = connection.execute(select(tables.events).where(tables.events.c.by == "owner")).all()
    return [(row.kind, row.detail) for row in rows]


def test_an_annotator_is_written_to_and_the_words_are_not_kept(prolific, there):
    who, place = there
    StudyAtProlific(**place).message(who, "Thank you. Your code was wrong.")
    assert prolific.messages == [
        {"recipient_id": "person-1", "study_id": "study-1", "body": "Thank you. Your code was wrong."}
    ]
    assert events(place) == [("messaged", {})]


def test_a_bonus_is_paid_once_whatever_becomes_of_the_answer(prolific, there):
    who, place = there
    prolific.breaks = "POST /bulk"
    with pytest.raises(StudyError, match="502"):
        StudyAtProlific(**place).bonus(who, 1.5)
    for purpose in ("bonus", "pay"):
        with pytest.raises(StudyError, match="an earlier bonus may have been paid"):
            StudyAtProlific(**place).bonus(who, 1.5, purpose=purpose)
    assert prolific.bonuses == {"bonus-0": "sub-1,1.50"}
    assert prolific.paid == ["bonus-0"]

    prolific.breaks = ""
    StudyAtProlific(**place).bonus(who, 2, again=True)
    assert prolific.paid == ["bonus-0", "bonus-1"]
    states = [(detail["payment"], detail["state"]) for _, detail in events(place)]
    assert states == [
        ("bonus-0", "begun"),
        ("bonus-0", "doubtful"),
        ("bonus-1", "begun"),
        ("bonus-1", "confirmed"),
    ]
    money, fee = Study(**place).status().monitor.money, 1 + read_plan(place["file"]).design.pay.fee_percent / 100
    assert money.spent == pytest.approx(2 * fee)
    assert money.doubtful == pytest.approx(1.5 * fee)
    (line,) = StudyAtProlific(**place).ledger()
    assert (line.confirmed, line.doubtful, line.owed) == (2.0, 1.5, 0.0)


@pytest.mark.slow
def test_a_bonus_in_doubt_is_settled_by_what_somebody_saw_and_counts_accordingly(prolific, there):
    who, place = there
    prolific.breaks = "POST /bulk"
    for amount in (1, 2):
        with pytest.raises(StudyError, match="502"):
            StudyAtProlific(**place).bonus(who, amount, again=True)
    with pytest.raises(
        StudyError,
        match=r"several payments are in doubt \(bonus-0 \(1\.00\), bonus-1 \(2\.00\)\); choose one with --payment",
    ):
        StudyAtProlific(**place).settle(who, paid=True)
    assert StudyAtProlific(**place).settle(who, paid=True, payment="bonus-0") == 1
    assert StudyAtProlific(**place).settle(who, paid=False) == 2
    fee = read_plan(place["file"]).design.pay.fee_percent
    assert Study(**place).status().monitor.money.spent == pytest.approx(1 + fee / 100)
    with pytest.raises(StudyError, match="was already paid a bonus; to pay another, add --again"):
        StudyAtProlific(**place).bonus(who, 1)


def test_two_commands_at_once_pay_one_bonus(prolific, there):
    who, place = there
    prolific.meet = Barrier(2)  # both have prepared theirs before either is paid

    def pay(_number):
        try:
            StudyAtProlific(**place).bonus(who, 1.5)
        except StudyError as error:
            return str(error)
        return "paid"

    with ThreadPoolExecutor(2) as two:
        said = sorted(two.map(pay, range(2)))
    assert len(prolific.bonuses) == 2
    assert len(prolific.paid) == 1
    assert re.search("an earlier bonus|was already paid a bonus", said[0])  # as far as the other is just then
    assert said[1] == "paid"


@pytest.mark.slow
def test_a_bonus_that_was_refused_is_not_spent_and_may_be_paid_later(prolific, there):
    who, place = there
    prolific.has_no_money = True
    with pytest.raises(StudyError, match="the balance is too low"):
        StudyAtProlific(**place).bonus(who, 1.5)
    assert Study(**place).status().monitor.money.spent == 0
    prolific.has_no_money = False
    StudyAtProlific(**place).bonus(who, 1.5)
    assert prolific.paid == ["bonus-1"]
    for wrong in (float("inf"), 0.004):
        with pytest.raises(StudyError, match=r"0\.01 or more"):
            StudyAtProlific(**place).bonus(who, wrong, again=True)


def test_what_may_have_been_done_is_not_to_be_repeated_blindly(prolific, there):
    who, place = there
    prolific.breaks = "P"
    with pytest.raises(StudyError, match=r"502.*check at Prolific before you repeat it"):
        StudyAtProlific(**place).message(who, "hello")
    assert len(prolific.messages) == 1


def test_only_a_refusal_means_that_no_place_can_be_taken_away(prolific, there):
    prolific.places |= {"total_available_places": 500}
    _, place = there
    Study(**place).set_state("closed")
    prolific.breaks = "PATCH"
    with pytest.raises(StudyError, match=r"502.*try again"):
        StudyAtProlific(**place, prolific_study="study-1").fit_places()
    assert prolific.paused == []


def test_a_return_is_asked_for_and_a_second_request_is_told(prolific, there):
    who, place = there
    StudyAtProlific(**place).ask_return(who, "The code did not fit")
    assert prolific.returns == {"sub-1": ["The code did not fit"]}
    with pytest.raises(StudyError, match="requested already"):
        StudyAtProlific(**place).ask_return(who, "again")


def test_who_is_forgotten_or_unknown_cannot_be_written_to(prolific, there, monkeypatch):
    who, place = there
    with pytest.raises(StudyError, match="no person in this round"):
        StudyAtProlific(**place).message("a0", "hello")
    monkeypatch.setenv("CASEWISE_PROLIFIC_TOKEN", "another")
    with pytest.raises(ConfigurationError, match="did not accept"):
        StudyAtProlific(**place).message(who, "hello")
    change(place, tables.keys.delete())
    with pytest.raises(StudyError, match="deleted"):
        StudyAtProlific(**place).message(who, "hello")
    assert prolific.messages == []


def change(place, *statements):
    with database.open(str(place["database"])) as store, store.write() as connection:
        for statement in statements:
            connection.execute(statement)


def test_places_are_raised_and_lowered_to_what_the_round_needs_now(prolific, there):
    _, place = there
    change(place, update(tables.annotators).values(consented_at=datetime.now(UTC)))
    found = StudyAtProlific(**place, prolific_study="study-1").fit_places()
    needed = found.needed

    assert needed > 6
    with database.open(str(place["database"])) as store, store.read() as connection:
        study = find_round(connection, "tea", phase="pilot")
        assert study is not None
        later = datetime.now(UTC) + timedelta(days=1)  # nobody waits any more
        assert needed == people_needed(study.at(connection, later)) - 1, "one is in the tutorial and has a place"
    assert prolific.places["total_available_places"] == found.after == 4 + needed
    prolific.places |= {"total_available_places": 500}
    assert StudyAtProlific(**place, prolific_study="study-1").fit_places().after == 4 + needed
    assert prolific.places["total_available_places"] == 4 + needed


@pytest.mark.slow
def test_where_no_place_can_be_taken_away_the_study_is_paused_once_nobody_is_needed(prolific, there):
    _, place = there
    prolific.lets_shrink = False
    prolific.places |= {"total_available_places": 500}
    found = StudyAtProlific(**place, prolific_study="study-1").fit_places()
    assert (found.after, found.paused) == (500, False)
    assert "can only be increased" in found.why
    assert prolific.paused == []

    change(place, update(tables.slots).values(holder_id=there[0]), update(tables.annotators).values(lease_until=None))
    found = StudyAtProlific(**place, prolific_study="study-1").fit_places()
    assert (found.needed, found.paused) == (0, True)
    assert prolific.paused == ["study-1 PAUSE"]
    assert not StudyAtProlific(**place, prolific_study="study-1").fit_places().started

    change(place, update(tables.slots).values(holder_id=None))
    assert StudyAtProlific(**place, prolific_study="study-1").fit_places().started
    assert prolific.status == "ACTIVE"


def test_a_closed_round_needs_nobody_and_of_a_paused_one_no_place_is_set(prolific, there):
    _, place = there
    Study(**place).set_state("paused")
    with pytest.raises(StudyError, match="the round is paused"):
        StudyAtProlific(**place, prolific_study="study-1").fit_places()
    assert prolific.places["total_available_places"] == 10
    Study(**place).set_state("closed")
    found = StudyAtProlific(**place, prolific_study="study-1").fit_places()
    assert (found.needed, prolific.places["total_available_places"]) == (0, 4)


def test_a_rounds_people_go_into_a_group_that_is_kept_out(prolific, there):
    _, place = there
    assert StudyAtProlific(**place).keep_out("w1") == (1, "group-0")
    for admitted in ((), ("person-2",)):
        joins(there[1], *admitted)
        assert StudyAtProlific(**place).keep_out("w1")[1] == "group-0"
    assert prolific.groups == {"group-0": ["person-1", "person-2"]}
    assert StudyAtProlific(**place).keep_out("w1", again=True) == (2, "group-1")


def joins(place, *people):
    with database.open(str(place["database"])) as store, store.write() as connection:
        study = find_round(connection, "tea", phase="pilot")
        assert study is not None
        for person in people:
            assert admit(study.at(connection, START), RecruiterIds(person, "study-1", person), vault=Vault(SECRET))


@pytest.mark.slow
def test_a_rounds_study_is_created_once_and_one_in_doubt_not_a_second_time(prolific, there, monkeypatch):
    _, place = there
    site = {**place, "site_url": "https://study.uni.edu"}
    prolific.busy = 1
    with pytest.raises(StudyError, match="429"):
        StudyAtProlific(**site).create()
    prolific.breaks = "POST /studies"
    with pytest.raises(StudyError, match="502"):
        StudyAtProlific(**site).create()
    prolific.breaks = ""
    with pytest.raises(StudyError, match=r"a study was started for this round.*check there, and add --again"):
        StudyAtProlific(**site).create()
    assert len(prolific.created) == 1
    assert StudyAtProlific(**site).create(NewProlificStudy(again=True))[0] == "study-2"
    prolific.busy = 1
    with pytest.raises(StudyError, match="429"):
        StudyAtProlific(**site).create(NewProlificStudy(again=True))
    with pytest.raises(StudyError, match="already has the study study-2 at the recruiter"):
        StudyAtProlific(**site).create()
    assert len(prolific.created) == 2


def test_how_many_people_are_left_is_asked_with_the_filters_of_the_design(prolific, there):
    assert StudyAtProlific(there[1]["file"]).eligible() == 1234
    assert {one["filter_id"] for one in prolific.counted} == {"age", "approval_rate", "approval_numbers"}


@pytest.mark.slow
def test_a_busy_recruiter_is_said_to_be(prolific, there):
    prolific.busy = 1
    with pytest.raises(StudyError, match="429"):
        StudyAtProlific(there[1]["file"]).eligible()
