"""What the app does by itself: leases, dates and counts."""

from datetime import timedelta

from sqlalchemy import select
from tests.support.study import LATER, START, Walker, begun, design, opened

from casewise.database.tables import study as tables
from casewise.studies.monitor import monitor
from casewise.web.app import maintain_rounds


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
