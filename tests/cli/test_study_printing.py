"""What `casewise study` prints of plans, rounds and rehearsals."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.study import design

from casewise.cli import study as commands
from casewise.cli.printing import gathering_results
from casewise.studies.freeze import StudyEstimate
from casewise.studies.ledger import LedgerLine
from casewise.studies.monitor import Funnel, Money, Monitor
from casewise.studies.owner import ConditionState, Overview
from casewise.studies.rounds import RehearsalOptions
from casewise.web.load_test import NO_PLACE, TURNED_AWAY, RehearsalResult

STUDY = Path("s.toml")

HALF_DONE = ConditionState("no_context", items=4, promised=8, valid=5, reserved=1, open=2, surplus=0, void=3, skipped=1, people=3, safe=4)  # fmt: skip
DONE = ConditionState("safe_revised", items=4, promised=8, valid=8, reserved=0, open=0, surplus=1, void=0, skipped=0, people=2, safe=6, closed=True)  # fmt: skip
OVERVIEW = Overview((HALF_DONE, DONE), {"rating": 2, "done": 3}, median_seconds=12.34)
NOTHING = Monitor(
    overview=Overview((replace(HALF_DONE, valid=0),), {}, None),
    valid_last_hour=0,
    valid_per_hour=0.0,
    ends_at=None,
    last_valid_at=None,
    median_minutes_before=None,
    money=Money(spent=0.0, doubtful=0.0, promised=0.0, to_come=40.0, budget=None),
    funnel=Funnel(arrived=0, turned_away=0, consented=0, quiz=0, batch={}, finished={}),
    last_outcomes=(),
    amendments=(),
)
UNDER_WAY = replace(
    NOTHING,
    overview=OVERVIEW,
    valid_last_hour=7,
    valid_per_hour=6.5,
    ends_at=datetime(2026, 11, 21, 8, 30, tzinfo=UTC),
    median_minutes_before=4.25,
    money=Money(spent=8.0, doubtful=1.5, promised=4.0, to_come=1200.0, budget=1500.0),
    funnel=Funnel(
        arrived=9, turned_away=2, consented=7, quiz=6, batch={"no_context": 3, "safe_revised": 2}, finished={"no_context": 1, "safe_revised": 1}
    ),
    amendments=("2026-11-20: ratings.per_item was 2 and is 3 (wide intervals)",),
)  # fmt: skip


def printed(capsys):
    return capsys.readouterr().out.splitlines()


def test_a_round_is_told_by_condition_with_a_total(capsys):
    commands.print_overview(OVERVIEW)

    head, *rows, people, median, end = printed(capsys)
    assert " ".join(head.split()) == "condition promised valid reserved open surplus void skipped people"
    assert [row.rsplit(maxsplit=8) for row in rows] == [
        ["no_context", "8", "5", "1", "2", "0", "3", "1", "3"],
        ["safe_revised (closed)", "8", "8", "0", "0", "1", "0", "0", "2"],
        ["all", "16", "13", "1", "2", "1", "3", "1", "5"],
    ]
    assert (people, median) == ("people: 3 done, 2 rating", "median time for an item: 12.3 s")
    assert end == "some items do not have the promised ratings yet"


def test_a_round_without_people_has_no_stages_and_no_median_time(capsys):
    commands.print_overview(Overview((DONE,), {}, None))

    lines = printed(capsys)
    assert len(lines) == 4
    assert lines[-1] == "every item has exactly the promised ratings"


def test_the_pace_the_cost_and_the_people_of_a_round_are_told(capsys):
    commands.print_monitor(UNDER_WAY, currency="EUR")

    assert printed(capsys) == [
        "valid ratings: 7 in the last hour; the current pace is 6.5 an hour; at this pace the round is complete about 2026-11-21 08:30 UTC",
        "median from consent to the batch: 4.2 minutes",
        "amended 2026-11-20: ratings.per_item was 2 and is 3 (wide intervals)",
        "8.00 EUR spent, 1.50 in doubt, 4.00 promised, 1,200.00 to come: 1,213.50 EUR; the budget is 1,500.00 EUR",
        "9 arrived (2 more turned away), 7 consented, 6 tried the quiz, 5 had a batch, 2 rated all of it",
    ]


def test_a_round_without_a_rating_has_no_pace_and_one_without_an_end_states_none(capsys):
    commands.print_monitor(NOTHING, currency="EUR")
    assert printed(capsys) == [
        "0.00 EUR spent, 0.00 in doubt, 0.00 promised, 40.00 to come: 40.00 EUR",
        "0 arrived (0 more turned away), 0 consented, 0 tried the quiz, 0 had a batch, 0 rated all of it",
    ]
    commands.print_monitor(replace(UNDER_WAY, ends_at=None), currency="EUR")
    assert printed(capsys)[0] == "valid ratings: 7 in the last hour; the current pace is 6.5 an hour"


@pytest.fixture
def watched(monkeypatch):
    """A round that `status`, `ledger` and the commands that change it find, and what they asked of it."""
    asked = list[Any]()
    place = SimpleNamespace(round=SimpleNamespace(name="tea", version="1", phase="pilot", design=design()))
    place.status = lambda: SimpleNamespace(state="paused", round=place.round, monitor=UNDER_WAY)
    place.currency = lambda: "EUR"
    place.asked, place.emails = asked, []

    def owners(**changes):
        asked.append(changes)
        return place.emails

    def found(*where, **more):
        place.where = (*where, *more.values())
        return place

    place.owners = owners
    monkeypatch.setattr("casewise.cli.study.Study", found)
    return place


def test_the_status_of_a_round_is_lines_or_one_document(watched, capsys):
    commands.status(STUDY, phase="pilot", database="x.db")
    lines = printed(capsys)
    assert watched.where == (STUDY, "pilot", "x.db")
    assert lines[0] == "tea 1, pilot round, paused"
    assert len(lines) == 1 + 7 + 5
    with gathering_results(json=True):
        commands.status(STUDY)
    document = json.loads(capsys.readouterr().out)
    assert (document["state"], document["exact"], document["valid_last_hour"]) == ("paused", False, 7)
    assert [row["valid"] for row in document["conditions"]] == [5, 8]


OWED = (
    LedgerLine("a1", "completed", owed=4.0, decision=False, begun=0.0, confirmed=0.25, doubtful=0.0, reasons=()),
    LedgerLine(
        "a2",
        "failed_checks",
        owed=0.5,
        decision=True,
        begun=1.0,
        confirmed=0.0,
        doubtful=1000.0,
        reasons=("failed checks", "a bonus"),
    ),
)


def test_what_people_are_owed_is_a_table_with_totals_and_doubt_counts_in_no_other(watched, capsys):
    watched.ledger = lambda: list(OWED)
    commands.ledger()
    head, first, second, total = printed(capsys)
    assert head.split() == ["annotator", "owed", "begun", "confirmed", "doubtful", "why"]
    assert first.split() == ["a1", "4.00", "0.00", "0.25", "0.00"]
    assert second.split(maxsplit=6) == ["a2", "0.50", "?", "1.00", "0.00", "1000.00", "failed checks; a bonus"]
    assert total == "2 people; owed 4.50 EUR, begun 1.00 EUR, confirmed 0.25 EUR, doubtful 1,000.00 EUR"
    with gathering_results(json=True):
        commands.ledger()
    document = json.loads(capsys.readouterr().out)
    assert document["totals"] == {"owed": 4.5, "begun": 1.0, "confirmed": 0.25, "doubtful": 1000.0}
    assert (document["currency"], document["people"][1]["decision"]) == ("EUR", True)
    watched.ledger = list
    commands.ledger()
    assert printed(capsys) == ["0 people; owed 0.00 EUR, begun 0.00 EUR, confirmed 0.00 EUR, doubtful 0.00 EUR"]


def test_owners_are_listed_or_said_to_be_none(watched, capsys):
    commands.owners(add="ada@uni.edu")
    assert watched.asked == [{"add": "ada@uni.edu", "remove": None}]
    assert printed(capsys) == ["no owner is assigned: every owner without a study sees it"]
    watched.emails = ["ada@uni.edu", "bob@uni.edu"]
    commands.owners()
    assert printed(capsys) == ["ada@uni.edu", "bob@uni.edu"]


ESTIMATE = StudyEstimate(
    items=8, ratings=1600, annotators=4, largest_batch=3, short_batches=0, screened_out=2, minutes_per_annotator=12.5,
    hours=1.4, pay=17.0, fees=5.1, hourly=19.2, hourly_floor=9.0,
)  # fmt: skip


def plan_of(estimate=ESTIMATE, *, left_out=0, **changes) -> Any:
    made = design(pay={"per_batch": 4.0, "screen_out": 0.5, "currency": "EUR"}, **changes)
    return SimpleNamespace(estimate=estimate, design=made, material=SimpleNamespace(left_out=left_out))


def test_a_plan_is_told_with_its_people_time_and_cost(capsys):
    commands.print_plan(plan_of())

    assert printed(capsys) == [
        "8 items in 2 conditions, 2 ratings each:",
        "  1,600 ratings, by 4 annotators at 3 each",
        "  2 more may not pass the quiz: 6 people in all",
        "  1 hour of people's time, 12.5 minutes each",
        "  16.00 EUR to those who rate, 1.00 EUR to those who do not pass the quiz and 5.10 EUR in fees: 22.10 EUR",
        "  19.20 EUR an hour for the median annotator (floor 9.00)",
    ]


def test_a_plan_with_short_batches_or_items_left_out_says_so(capsys):
    commands.print_plan(plan_of(replace(ESTIMATE, largest_batch=2, short_batches=3), left_out=1))

    lines = printed(capsys)
    assert len(lines) == 9
    assert lines[2:4] == [
        "  no condition has so many items as ratings.per_annotator = 3: each batch is short, at the full pay of 4.00 EUR; lower both",
        "  3 of the batches have fewer items, at the full pay of 4.00 EUR",
    ]
    assert lines[-1] == "  1 item about child-related crimes is left out ([sensitive] turns them on)"


@pytest.fixture
def simulated(monkeypatch):
    """What was asked of the simulated crowd, which finds a difference of 12.34 points."""
    asked = list[Any]()

    def people(question, **options):
        asked.append((question.people, question.items, options))
        return SimpleNamespace(numbers={"safe_rate_difference": 0.1234})

    monkeypatch.setattr("casewise.cli.study.power.people", people)
    return asked


def test_what_so_many_people_can_rate_is_told_with_the_difference_that_they_find(simulated, capsys):
    commands.print_people(500, plan_of(replace(ESTIMATE, annotators=400, items=132)))

    assert simulated == [(400, 132, {"conditions": 2, "per_item": 2, "per_annotator": 3, "alpha": 0.05})]
    assert printed(capsys) == [
        "132 items with 2 ratings each need 400 people who rate. About 2 more may not pass the quiz, so the study uses 402 of your 500 people.",
        "With queries and people as in casewise's simulated crowd, they find a difference of 12.3 points between two conditions with a probability of 80 %, at alpha 0.05.",
    ]


def test_two_people_a_condition_are_enough_for_a_difference_and_fewer_or_one_condition_are_not(simulated):
    commands.print_people(9, plan_of(replace(ESTIMATE, annotators=3)))
    commands.print_people(9, plan_of(replace(ESTIMATE, annotators=400), conditions=["no_context"]))
    assert simulated == []
    commands.print_people(9, plan_of(replace(ESTIMATE, annotators=4)))
    assert len(simulated) == 1


def rehearsed(monkeypatch, outcomes, latencies_s, seconds) -> Any:
    """Make `study rehearse` come to this result; return what it was asked."""
    result, asked = RehearsalResult(Counter(outcomes), latencies_s=latencies_s, seconds=seconds), list[Any]()

    def rehearse_study(study, options, **where):
        asked.append((study, options, where))
        return SimpleNamespace(result=result, overview=OVERVIEW)

    monkeypatch.setattr("casewise.web.load_test.rehearse_study", rehearse_study)
    monkeypatch.setattr("casewise.cli.study.read_plan", lambda _study: plan_of())
    return asked


def test_a_rehearsal_is_told_with_its_people_and_its_speed(monkeypatch, capsys):
    asked = rehearsed(monkeypatch, {"finished": 6, NO_PLACE: 2, TURNED_AWAY: 2}, [0.010] * 1000 + [0.020] * 1000, 80.0)
    few = RehearsalOptions(annotators=3)
    commands.rehearse(STUDY, url="http://here", options=few, database="x.db")
    assert asked == [(STUDY, few, {"url": "http://here", "database": "x.db"})]
    lines = printed(capsys)
    assert lines[0].split()[:2] == ["condition", "promised"]
    assert lines[-5].startswith("10 simulated people: ")
    assert sorted(lines[-5].partition(": ")[2].split(", ")) == sorted(
        [f"2 {NO_PLACE}", f"2 {TURNED_AWAY}", "6 finished"]
    )
    assert lines[-4].startswith("the design needs 4 people who rate; ")
    assert lines[-3:] == [
        "25.0 % of 8 people who began passed the quiz and then found no place",
        "2,000 full steps (answer and next page), 25.0 a second; median 15.0 ms, p99 20.0 ms",
        "the last thousand steps took 2.00 times as long as the first",
    ]
    with gathering_results(json=True):
        commands.rehearse(STUDY)
    document = json.loads(capsys.readouterr().out)
    speed = {"steps": 2000, "steps_per_s": 25.0, "p50_ms": 15.0, "p99_ms": 20.0}
    assert {name: document[name] for name in speed} == speed
    assert (document["people"], document["for_nothing"], document["exact"]) == (10, 0.25, False)
    assert document["outcomes"] == {"finished": 6, NO_PLACE: 2, TURNED_AWAY: 2}


def test_a_rehearsal_that_let_in_nobody_states_no_share_and_a_short_one_no_slowdown(monkeypatch, capsys):
    rehearsed(monkeypatch, {TURNED_AWAY: 2}, [0.0123456, 0.0123456, 0.0123456], 1.0)
    commands.rehearse(STUDY)

    lines = printed(capsys)
    assert lines[-1] == "3 full steps (answer and next page), 3.0 a second; median 12.3 ms, p99 12.3 ms"
    assert not [line for line in lines if "found no place" in line or "thousand" in line]
