"""The progress of a round: pace, money, people, alerts, and the machine under it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.databases import new_database
from tests.support.study import LATER, RIGHT, START, VAULT, answer, begun, big_enough, design, finished, opened

from casewise.database.staff import BACKED_UP, note
from casewise.database.tables import study as tables
from casewise.studies.answers import finish_batch, void
from casewise.studies.ledger import Payment, note_payment
from casewise.studies.monitor import (
    SORTS,
    Machine,
    PeopleQuery,
    alerts,
    count_arrival,
    find_by_submission,
    find_people,
    machine,
    maintain_round,
    monitor,
)
from casewise.studies.owner import PersonState, forget
from casewise.studies.people import admit, annotator, answer_quiz, pass_tutorial
from casewise.studies.quality import AnsweredPage, Dissent, Flag
from casewise.studies.recruiters import RecruiterIds, make_recruiter, new_invitation
from casewise.studies.rounds import set_state

NO_CHECKS = {"checks_per_batch": 0}


@pytest.fixture
def lite(tmp_path):
    with new_database(tmp_path / "casewise.db") as database:
        yield database


def seen(store, study, after=timedelta()):
    with study.read(store, START + after) as live:
        return monitor(live)


# Pace.


@pytest.fixture
def paced(lite):
    """Sixteen ratings are promised; ann rated three at the tenth minute."""
    study = opened(lite, design(attention=NO_CHECKS))
    ann = begun(lite, study, "ann")
    for _ in range(3):
        answer(lite, study, ann, now=START + timedelta(minutes=10))
    return study


def test_the_pace_is_of_the_time_since_the_round_was_opened_or_of_the_last_three_hours(lite, paced):
    hours = (1, 2.5, 4)

    assert [seen(lite, paced, timedelta(hours=n)).valid_per_hour for n in hours] == [3, pytest.approx(1.2), 0]
    assert [seen(lite, paced, timedelta(minutes=n)).valid_last_hour for n in (69, 70)] == [3, 0]
    assert seen(lite, paced).last_valid_at == START + timedelta(minutes=10)


def test_the_pace_of_the_first_moments_is_that_of_a_minute(lite):
    study = opened(lite, design(attention=NO_CHECKS))
    assert seen(lite, study).valid_per_hour == 0
    answer(lite, study, begun(lite, study, "ann"), now=START + timedelta(seconds=20))

    assert seen(lite, study, timedelta(seconds=30)).valid_per_hour == pytest.approx(60)


def test_a_round_ends_when_what_is_missing_is_there_at_that_pace_unless_it_is_closed(lite, paced):
    assert seen(lite, paced, LATER).ends_at == START + LATER + timedelta(hours=13 / 3)
    assert seen(lite, paced, 4 * LATER).ends_at is None
    with paced.write(lite, START) as live:
        set_state(live, "closed", by="owner")
    assert seen(lite, paced, LATER).ends_at is None


def test_the_minutes_before_a_batch_are_the_median_from_consent_to_it(lite):
    study = opened(lite, design(attention=NO_CHECKS))
    assert seen(lite, study).median_minutes_before is None
    for name, minutes in (("ann", 4), ("ben", 9)):
        with study.write(lite, START) as live:
            who = admit(live, RecruiterIds(name), vault=VAULT)
            assert who is not None
        with study.write(lite, START + timedelta(minutes=minutes)) as live:
            pass_tutorial(live, who.id)
            answer_quiz(live, who.id, RIGHT)

    assert seen(lite, study, LATER).median_minutes_before == 6.5


def test_the_last_outcomes_are_of_the_twenty_who_ended_last(lite):
    study = opened(lite)
    with study.write(lite, START) as live:
        for n in range(22):
            who = admit(live, RecruiterIds(f"p{n}"), vault=VAULT)
            assert who is not None
            if n:
                ended = START + timedelta(minutes=n)
                live.set_annotator(who.id, stage="done", outcome=f"outcome {n}", finished_at=ended)

    assert seen(lite, study).last_outcomes == tuple(f"outcome {n}" for n in range(21, 1, -1))


def test_amendments_are_told_with_their_day_changes_and_reason(lite):
    study = opened(lite)
    with study.write(lite, START) as live:
        live.note("amended", detail={"why": "wide intervals", "changes": ["one", "two"]})

    assert seen(lite, study).amendments == ("2026-11-20: one; two (wide intervals)",)


# Money.


def test_money_is_spent_in_doubt_promised_or_to_come_with_the_fee(lite):
    pay = {"per_batch": 3.0, "screen_out": 0.0, "fee_percent": 10.0, "budget": 100.0}
    study = opened(lite, design(attention=NO_CHECKS, pay=pay))
    finished(lite, study, "done")
    away = begun(lite, study, "away")
    with study.write(lite, START + LATER) as live:
        maintain_round(live)
    begun(lite, study, "here", now=START + LATER)
    with study.write(lite, START + LATER) as live:
        assert admit(live, RecruiterIds("reads"), vault=VAULT)
        note_payment(live, Payment(away, "b", 1.0, "bonus", "doubtful"))
        found = monitor(live).money

    assert (found.spent, found.doubtful, found.promised) == pytest.approx((3.3, 1.1, 6.6))
    assert found.to_come == pytest.approx(
        3 * 3.3
    )  # two for the five open slots of each condition, but one reads already
    assert found.total == pytest.approx(3.3 + 1.1 + 6.6 + 3 * 3.3)
    assert found.budget_share == pytest.approx(0.11)
    assert replace(found, budget=None).budget_share is None


def test_a_closed_round_has_no_money_to_come(store):
    study = opened(store)
    assert seen(store, study).money.to_come > 0
    with study.write(store, START) as live:
        set_state(live, "closed", by="owner")
    assert seen(store, study).money.to_come == 0


def test_the_json_has_times_as_texts_and_the_sums_of_money_and_no_overview(lite, paced):
    found = seen(lite, paced, LATER)
    written = found.as_json()

    assert written["ends_at"] == "2026-11-20T17:20:00+00:00"
    assert written["money"]["total"] == found.money.total
    assert written["money"]["budget_share"] is None
    assert "overview" not in written
    assert seen(lite, paced, 4 * LATER).as_json()["ends_at"] is None


# People.


def test_the_funnel_counts_people_at_each_step(lite):
    study = opened(lite, design(attention=NO_CHECKS, conditions=["no_context"], ratings={"per_item": 3}))
    done, left = finished(lite, study, "done"), begun(lite, study, "left")
    out = finished(lite, study, "out")
    with study.write(lite, START) as live:
        finish_batch(live, left, outcome="stopped")
        void(live, out, reason="asked us to", by="owner")
        live.set_annotator(out, outcome="excluded")
        assert admit(live, RecruiterIds("reads"), vault=VAULT)
        for visit in ("x", "x", "y"):
            count_arrival(live, "arrived", visit=visit)
        count_arrival(live, "turned away", visit="x")
        funnel = monitor(live).funnel
        condition = getattr(annotator(live, done), "condition", None)

    assert (funnel.arrived, funnel.turned_away, funnel.consented, funnel.quiz) == (2, 1, 4, 3)
    assert (condition, funnel.batch, funnel.finished) == ("no_context", {"no_context": 3}, {"no_context": 2})


def person(*seconds: float | None, **changes: Any) -> PersonState:
    """Somebody who rated an item in each of so many seconds."""
    answers = tuple(AnsweredPage(f"i{n}", "safe", time) for n, time in enumerate(seconds))
    plain: dict[str, Any] = {"id": "a1", "condition": None, "stage": "rating", "outcome": None, "answers": answers}
    plain |= {"skipped": 0, "voided_at": None, "flags": (), "disagreement": Dissent(0, 0), "feedback": None}
    return PersonState(**plain | changes)


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        ("flags", person(flags=(Flag("too_fast", 1, 0, ""),)), person()),
        ("flags", person(), person(voided_at=START, flags=(Flag("too_fast", 1, 0, ""),))),
        ("rated", person(None, None), person(None)),
        ("skipped", person(skipped=2), person(skipped=1)),
        ("time", person(1.0, 1.0, 9.0), person(2.0)),
        ("time", person(9.0), person(None)),
    ],
)
def test_people_are_sorted_by_what_needs_a_look(sort, first, last):
    assert SORTS[sort](first) < SORTS[sort](last)
    assert SORTS["arrival"](first) == SORTS["arrival"](last)


@pytest.fixture
def study(lite):
    return opened(lite, big_enough(), queries=10)


def found(store, study, **wanted):
    with study.read(store) as live:
        return find_people(live, PeopleQuery(**wanted), limit=50)


def ids(page):
    return [person.id for person in page.people]


def behind(store, study, typed):
    with study.read(store) as live:
        return find_by_submission(live, typed, vault=VAULT)


def test_people_are_found_by_number_condition_status_and_flag(lite, study):
    same, away = finished(lite, study, "ann"), begun(lite, study, "ben")
    person = found(lite, study, search=same[:12]).people[0]
    assert (person.id, person.rated, person.median_s, person.status) == (same, 10, 5.0, "completed")
    assert {flag.kind for flag in person.flags} == {"same_answer", "even_timing"}
    assert ids(found(lite, study, search="ben")) == [], "an address holds nobody's id"
    assert behind(lite, study, "ben") == away
    assert ids(found(lite, study, search="%")) == []
    assert ids(found(lite, study, status="rating")) == [away]
    assert ids(found(lite, study, flag="same_answer")) == [same]
    assert ids(found(lite, study, flag="too_fast")) == []
    assert ids(found(lite, study, condition=person.condition or "")) == [same]
    assert ids(found(lite, study, sort="flags")) == [same, away]
    assert found(lite, study).total == 2


def test_a_page_of_people_is_cut_from_all_and_says_of_how_many(lite, study):
    for name in ("ann", "ben", "cat"):
        begun(lite, study, name)
    with study.read(lite) as live:
        pages = [find_people(live, PeopleQuery(sort="arrival", page=n), limit=2) for n in (1, 2, 9)]
    assert [(len(page.people), page.total, page.page, page.pages) for page in pages] == [
        (2, 3, 1, 2),
        *[(1, 3, 2, 2)] * 2,
    ]


def test_who_differs_from_the_majority_is_shown(lite, study):
    for name, decision in (("a", "respond"), ("b", "refuse"), ("c", "respond"), ("d", "respond"), ("e", "refuse")):
        finished(lite, study, name, decision)
    assert any(person.disagreement.differs for person in found(lite, study).people)


def test_who_withdraws_leaves_no_flag_and_no_count(lite, study):
    ann = finished(lite, study, "ann")
    assert found(lite, study, flag="any").total == 1
    with study.write(lite, START) as live:
        forget(live, ann, vault=VAULT, by="owner")
    (person,) = found(lite, study).people
    assert (person.flags, person.rated, person.skipped, person.median_s) == ((), 0, 0, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "arrived", "typed"),
    [
        ("code", {"participant": "Ann.B"}, " Ann.B "),
        ("code", {"participant": "Ann.B"}, "Ann. B"),
        ("prolific", {"PROLIFIC_PID": "5F3a", "STUDY_ID": "s", "SESSION_ID": "1"}, "5F3A"),
        ("invitation", None, None),
    ],
)
def test_an_id_finds_its_person_as_it_was_given_to_them(lite, kind, arrived, typed):
    study = opened(lite, design(recruiter={"kind": kind, "failed_checks_code": "FAIL"}, quiz={"attempts": 2}))
    key = b"of the round"
    if kind == "invitation":
        typed = f" {new_invitation(key).upper()}"  # all 48 digits of the link
        arrived = {"participant": typed.strip()}
    person = make_recruiter(study.design.recruiter, invitation_key=key).arrive(arrived)
    with study.write(lite, START) as live:
        who = admit(live, person, vault=VAULT)
    assert who is not None
    assert behind(lite, study, typed) == who.id
    with study.write(lite, START) as live:
        forget(live, typed, vault=VAULT, by="owner")
    assert behind(lite, study, typed) is None


def test_a_stalled_round_is_said_until_it_goes_on(lite):
    study = opened(lite)
    ben = begun(lite, study, "ben")
    with study.read(lite, START + timedelta(minutes=62)) as live:
        seen = monitor(live)
    for hours, length in ((1.05, "63 minutes"), (2, "2 hours"), (72, "3 days")):
        found = alerts(seen, study, now=START + timedelta(hours=hours))
        assert found == {"stalled": f"no valid rating for {length}, and 16 are missing"}
    for _ in range(2):  # one of them may be a check
        answer(lite, study, ben, now=START + timedelta(minutes=62))
    with study.read(lite, START + timedelta(minutes=63)) as live:
        seen = monitor(live)
    assert alerts(seen, study, now=START + timedelta(minutes=63)) == {}


@pytest.fixture
def quiet(lite):
    """What an open round raises nothing about, of a budget of 10, and the round."""
    study = opened(lite, design(pay={"budget": 10.0, "fee_percent": 0.0}, alerts={"failing_share": 0.4}))
    return seen(lite, study), study


def raised(monitor, study, **money):
    return alerts(replace(monitor, money=replace(monitor.money, **money)), study, now=START)


def test_a_budget_is_nearly_used_by_what_is_spent_in_doubt_or_promised(quiet):
    monitor, study = quiet
    much = {"spent": 4.0, "doubtful": 3.0, "promised": 2.5, "to_come": 7.0}

    assert raised(monitor, study, **much) == {
        "budget": "9.50 of 10.00 USD are spent or promised; about 7.00 will follow"
    }
    assert raised(monitor, study, **much | {"promised": 2.0}) == {}
    assert raised(monitor, study, **much | {"budget": None}) == {}


@pytest.mark.parametrize(
    ("failed", "passed", "raises"), [(5, 5, True), (4, 6, False), (9, 0, False), (10, 0, True), (9, 11, True)]
)
def test_more_failures_than_expected_are_said_once_enough_people_have_ended(quiet, failed, passed, raises):
    monitor, study = quiet
    ways = ("screened_out", "failed_checks", "excluded")
    outcomes = (*(ways[n % 3] for n in range(failed)), *["completed", "returned"] * (passed // 2))
    outcomes += ("stopped",) * (failed + passed - len(outcomes))
    said = f"{failed} of the last {failed + passed} who ended did not pass the quiz or were excluded by the rules"

    assert alerts(replace(monitor, last_outcomes=outcomes), study, now=START) == ({"failing": said} if raises else {})


def test_nothing_stalls_that_is_complete_and_a_round_that_was_just_opened_does_not(quiet):
    monitor, study = quiet
    complete = replace(monitor, overview=replace(monitor.overview, conditions=()))

    assert alerts(complete, study, now=START + 9 * LATER) == {}
    assert alerts(monitor, study, now=START + timedelta(minutes=60)) == {}
    assert set(alerts(monitor, study, now=START + timedelta(minutes=61))) == {"stalled"}


def test_maintenance_ends_leases_and_deletes_what_is_due(lite):
    study = opened(lite)
    who = begun(lite, study, "ann")
    with study.write(lite, START + timedelta(days=400)) as live:
        maintain_round(live)
        row = live.execute(select(tables.annotators).where(tables.annotators.c.id == who)).one()

    assert (row.lapsed, row.sealed) == (True, None)


# The machine.


GB = 1_000_000_000


@pytest.mark.parametrize(
    ("free", "disk", "problem"),
    [
        (10 * GB, 100 * GB, None),
        (10 * GB - 1, 100 * GB, "Little space is left on the disk: 10.0 GB of 100.0 GB"),
        (GB, 2 * GB, None),
        (GB - 1, 2 * GB, "Little space is left on the disk: 1.0 GB of 2.0 GB"),
    ],
)
def test_a_tenth_of_the_disk_and_a_gigabyte_stay_free(free, disk, problem):
    assert Machine(free, disk, 1, timedelta(0)).problems == (() if problem is None else (problem,))


@pytest.mark.parametrize(
    ("age", "problems"),
    [
        (timedelta(hours=26), ()),
        (timedelta(hours=30), ("The last backup is 30 hours old",)),
        (None, ("No backup was written yet: casewise backup FILE",)),
    ],
)
def test_a_backup_is_late_after_a_day_and_two_hours(age, problems):
    assert Machine(9 * GB, 9 * GB, 1, age).problems == problems


def test_the_machine_is_the_disk_of_the_database_with_the_age_of_its_backup(lite, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=3, total=len(str(place))))
    folder = Path(str(lite.url.database)).parent
    size, before = lite.size_bytes(), machine(lite, now=START)
    with lite.write() as connection:
        note(connection, BACKED_UP, by=None, subject=None, now=START)

    assert (before.free_bytes, before.disk_bytes, before.backup_age) == (3, len(str(folder)), None)
    assert before.database_bytes == size
    assert machine(lite, now=START + LATER).backup_age == LATER
