"""A study frozen: its needs and cost, what people are shown, and every departure from the plan."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.study import design, material

from casewise.errors import StudyError
from casewise.records.base import digest
from casewise.studies.freeze import (
    Frozen,
    Material,
    StudyItem,
    as_panel,
    departures,
    estimate,
    policy_of,
)
from casewise.studies.wording import read_wording

PAPER = ("no_context", "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised")


@pytest.mark.slow
def test_the_papers_design_needs_1890_annotators():
    plan = design(
        conditions=list(PAPER), ratings={"per_item": 21, "per_annotator": 25}, attention={"checks_per_batch": 2}
    )
    items = tuple(
        StudyItem(f"{condition}{query}", f"q{query}", condition, {}) for condition in PAPER for query in range(450)
    )
    found = estimate(plan, Material(items, ()))

    assert found.ratings == 47_250
    assert found.annotators == 1890
    assert found.short_batches == 0
    assert found.screened_out == 810
    assert found.minutes_per_annotator == pytest.approx(6 + 27 * 20 / 60)
    assert found.pay == pytest.approx(1890 * 3.5 + 810 * 0.5)
    assert found.hourly == pytest.approx(14)


def test_a_short_last_batch_is_paid_in_full():
    plan = design(
        ratings={"per_item": 1, "per_annotator": 3}, conditions=["no_context"], quiz={"expected_pass_rate": 1.0}
    )
    found = estimate(plan, material(plan, queries=4))

    assert (found.annotators, found.short_batches) == (2, 1)
    assert found.pay == 7.0


def test_pay_below_the_floor_is_a_problem_that_says_what_to_pay():
    plan = design(pay={"per_batch": 1.0})
    found = estimate(plan, material(plan))

    assert found.problem is not None
    assert "below pay.hourly_floor = 12.00" in found.problem
    assert "pay at least 1.47 a batch" in found.problem


def policy(plan=design(), *, wording=None, items=None):
    return policy_of(plan, wording or read_wording(plan, Path()), items or material(plan).items)


def freeze(policy):
    return Frozen(policy, digest(policy), datetime(2026, 11, 20, tzinfo=UTC))


def test_departures_from_what_was_frozen_are_named(tmp_path):
    frozen = freeze(policy())
    changed = design(ratings={"per_item": 3}, analysis={"alpha": 0.01})

    assert departures(policy(), frozen) == ()
    assert {"seed", "quiz.may_miss", "quality.too_fast_share", "items", "texts.checks"} <= set(frozen.policy)
    assert [str(departure) for departure in departures(policy(changed), frozen)] == [
        "ratings.per_item: frozen as 2, now 3",
        "analysis.alpha: frozen as 0.05, now 0.01",
    ]


def test_what_people_read_and_rate_is_frozen_too():
    frozen = freeze(policy())
    plan = design()
    wording = read_wording(plan, Path())
    easier = replace(wording, quiz=wording.quiz[1:])
    fewer = material(plan).items[1:]

    assert [one.setting for one in departures(policy(wording=easier), frozen)] == ["texts.quiz"]
    assert [one.setting for one in departures(policy(items=fewer), frozen)] == ["items"]
    assert departures(policy(items=tuple(reversed(material(plan).items))), frozen) == ()
    for changes in ({"quiz": {"may_miss": 3}}, {"seed": 7}, {"quality": {"too_fast_share": 0.9}}):
        assert len(departures(policy(design(**changes)), frozen)) == 1


def test_a_frozen_policy_cannot_be_edited():
    frozen = freeze(policy())
    edited = frozen.as_json() | {"policy": frozen.policy | {"analysis.alpha": 0.2}}
    with pytest.raises(StudyError, match="was changed"):
        Frozen.from_json(edited, source="study.frozen.json")


def test_parameters_of_a_benchmarks_own_are_shown_by_their_titles_or_in_words():
    shown = {"caller": {"home_town": "Leeds", "role": "a nurse"}, "recipient": {"type": "x"}, "subject": "a neighbour"}
    assert as_panel(shown, {"caller": "Who calls", "caller.role": "Their role"}) == {
        "Who calls": {"Home town": "Leeds", "Their role": "a nurse"},
        "recipient": {"type": "x"},
        "subject": "a neighbour",
    }
