"""A run, and what is made of it, never prints the benchmark."""

import pytest

import casewise
from casewise.auditing import AuditOptions

FEW = AuditOptions(resamples=200, splits=10, folds=5)


@pytest.fixture(scope="module")
def run():
    return casewise.judge("demo", "constant:safe")


def test_a_run_prints_what_it_is_in_a_line(run):
    assert repr(run) == "<Run on demo: 90 judged, 0 unscored>"


def test_what_is_made_of_a_run_prints_in_a_line(run):
    made = (
        casewise.gate(run, run, max_drop={"accuracy": 0.1}),
        casewise.leaderboard(run),
        casewise.audit("demo", options=FEW),
        casewise.paper("demo"),
    )

    assert [len(repr(one)) < 120 for one in made] == [True] * 4
    assert repr(made[0]) == "<Gated: Gate: PASS>"
