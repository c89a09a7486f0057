"""A whole round as its people walk it, on either database: good, hurried, skipping, leaving and program-like annotators."""

import json
import re
from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.app import signed_in
from tests.support.study import START, Walker, design, opened

from casewise.database.staff import Role
from casewise.database.tables import study as tables
from casewise.studies.export import annotator_lines
from casewise.studies.monitor import keep_up
from casewise.studies.owner import overview

PLAN = design(
    conditions=["safe_revised"],
    ratings={"per_item": 5, "per_annotator": 12, "lease_minutes": 30},
    attention={"checks_per_batch": 1, "may_skip": 0.2},
)


@pytest.fixture
def app(app_on_either):
    return app_on_either


class Clocked(Walker):
    """A walker who takes time."""

    def __init__(self, app, study, name, clock):
        super().__init__(app, study, name)
        self.clock = clock

    def rate(self, seconds, says, *, pages=99, sight=None):
        """Rate as `says` has it for the number of the request; where it led."""
        where = "/rate"
        for count in range(pages):
            if where != "/rate":
                break
            self.clock[0] += timedelta(seconds=seconds(count))
            number = re.search(r"tea number (\d+)", self.page)
            decision = self.asked_for or says(int(number[1]) if number else 0)
            where = self.send("/rate", page=self.token, decision=decision, hand="yes", sight=json.dumps(sight or {}))
        return where


def slowly(count):
    return 7 + (count * 5) % 9


def halves(number):
    return "respond" if number < 6 else "refuse"


@pytest.fixture
def round_walked(app):
    """The round, and everybody's way through it by name."""
    clock = [START]
    app.state.clock = lambda: clock[0]
    store = app.state.database
    study = opened(store, PLAN, queries=12)
    ends = {}

    def walk(name, *how, **more):
        walker = Clocked(app, study, name, clock)
        assert walker.to_rating() == "/rate"
        ends[name] = walker.rate(*how, **more)
        if ends[name] == "/questions":
            ends[name] = walker.send("/questions")

    walk("leaving", slowly, halves, pages=3)
    walk("skipping", slowly, lambda _number: "skip")
    clock[0] += timedelta(minutes=31)
    for name in ("good-1", "good-2"):
        walk(name, slowly, halves)
    walk("hurried", lambda _count: 0.4, halves)
    program = {"request_s": 0.5, "situation_s": 0.5}
    walk("program", lambda _c: 0.9, lambda n: "respond" if n % 2 else "refuse", sight=program)
    for number in range(3):
        if overview_of(store, study).exact:
            break
        walk(f"last-{number}", slowly, halves)
    with study.write(store, clock[0]) as live:
        keep_up(live)
    return store, study, ends


def overview_of(store, study):
    with study.read(store) as live:
        return overview(live)


def test_the_round_ends_exact_whoever_came(round_walked):
    store, study, ends = round_walked
    seen = overview_of(store, study)

    assert seen.exact
    assert (seen.valid, seen.promised) == (60, 60)
    assert ends["skipping"] == "/end", "one skip too many ends it kindly"
    assert ends["leaving"] == "/rate"
    assert {ends[name] for name in ("good-1", "good-2", "hurried", "program")} == {"/end"}


def test_everybody_has_the_flags_that_they_raised_and_nobody_is_left_out_by_them(round_walked, app):
    store, study, _ = round_walked
    with study.read(store) as live:
        lines = annotator_lines(live)
        arrived = live.execute(
            select(tables.annotators.c.id).order_by(tables.annotators.c.consented_at, tables.annotators.c.id)
        ).scalars()
        order = list(arrived)
    kinds = {line["annotator_id"]: {flag["kind"] for flag in line["flags"]} for line in lines}
    _leaving, skipping, *_good, hurried, program = order[:6]

    assert "many_skips" in kinds[skipping]
    assert "too_fast" in kinds[hurried]
    assert "too_fast" in kinds[program]
    assert not any("too_fast" in kinds[who] for who in _good)
    assert not any(line["voided"] for line in lines)

    owner = signed_in(app, "Olga", Role.OWNER)
    page = owner.client.get(f"/studies/{study.id}/people", params={"flag": "many_skips"}).text
    assert skipping in page
    assert hurried not in page
