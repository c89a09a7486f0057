"""What the app does by itself: leases, dates and counts."""

from datetime import timedelta

from sqlalchemy import select
from tests.support.study import LATER, START, Walker, answer, begun, design, finished, opened

from casewise.database.tables import study as tables
from casewise.studies.monitor import alerts, monitor
from casewise.studies.rounds import set_state
from casewise.web.app import maintain_rounds


def test_a_stalled_round_is_said_until_it_goes_on(store):
    study = opened(store)
    ben = begun(store, study, "ben")
    with study.read(store, START + timedelta(minutes=62)) as live:
        seen = monitor(live)
    for hours, length in ((1.05, "63 minutes"), (2, "2 hours"), (72, "3 days")):
        found = alerts(seen, study, now=START + timedelta(hours=hours))
        assert found == {"stalled": f"no valid rating for {length}, and 16 are missing"}
    for _ in range(2):  # one of them may be a check
        answer(store, study, ben, now=START + timedelta(minutes=62))
    with study.read(store, START + timedelta(minutes=63)) as live:
        seen = monitor(live)
    assert alerts(seen, study, now=START + timedelta(minutes=63)) == {}


def test_the_budget_and_failures_are_said(store):
    plan = design(
        pay={"budget": 10.0, "per_batch": 3.0},
        ratings={"per_item": 6, "per_annotator": 3},
        attention={"checks_per_batch": 1, "void": True},
        alerts={"failing_share": 0.2},
        recruiter={"failed_checks_code": "FAILED42"},
    )
    study = opened(store, plan)
    for number in range(12):
        finished(store, study, f"p{number}")
    with study.read(store, START) as live:
        seen = monitor(live)
    said = alerts(seen, study, now=START)
    assert "are spent or promised" in said["budget"]
    assert set(said) == {"budget", "failing"}


def test_upkeep_is_done_by_one_worker_a_minute(store):
    opened(store)
    done = [maintain_rounds(store, now=START + timedelta(seconds=s)) for s in (0, 1, 20, 61, 62)]
    assert done == [True, False, False, True, False]


def test_upkeep_ends_leases(store):
    study = opened(store)
    left = begun(store, study, "left")
    maintain_rounds(store, now=START + LATER)
    with store.read() as connection:
        people = {row.id: row for row in connection.execute(select(tables.annotators))}
    assert people[left].lapsed


def test_arrivals_are_counted_and_nothing_else_of_them_is_kept(app):
    store = app.state.database
    study = opened(store, design(ratings={"per_item": 1, "per_annotator": 4}, conditions=["no_context"]))
    for name in ("ann", "ben"):
        Walker(app, study, name).arrive()
    Walker(app, study, "cat").to_rating()
    Walker(app, study, "dan").arrive()
    with study.read(store, START + LATER) as live:
        found = monitor(live).funnel
        assert live.execute(select(tables.tallies)).all() == [
            (study.id, "arrived", 3),
            (study.id, "turned away", 1),
        ]
    assert (found.arrived, found.turned_away, found.consented, found.quiz) == (3, 1, 1, 1)
    assert found.batch == {"no_context": 1}


def test_a_closed_round_has_no_money_to_come(store):
    study = opened(store)
    with study.read(store, START) as live:
        assert monitor(live).money.to_come > 0
    with study.write(store, START) as live:
        set_state(live, "closed", by="owner")
    with study.read(store, START) as live:
        assert monitor(live).money.to_come == 0
