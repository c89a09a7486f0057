from __future__ import annotations

import numpy as np
import pytest

from casewise.errors import ConfigurationError
from casewise.stats.thresholds import Evidence, Fitted, Platt, Wanted, fit_thresholds, held_out, measured


def evidence(seed: int, queries: int = 300, *, signal: float = 1.0) -> Evidence:
    rng = np.random.default_rng(seed)
    weight = np.tile([1.0, 0.0], queries)
    return Evidence(
        signal * 2 * (weight - 0.5) + rng.normal(size=2 * queries), weight, np.repeat(np.arange(queries), 2)
    )


def test_decisions_follow_from_thresholds_and_a_missing_value_from_what_was_said():
    fitted = Fitted(answer_above=0.7, refuse_up_to=0.3)

    assert fitted.decide(np.array([0.3, 0.31, 0.7, 0.71, np.nan]), fail="ask").tolist() == [0, 1, 1, 2, 1]


def test_what_decisions_come_to_is_counted_by_hand():
    some = Evidence(np.array([0.9, 0.1, 0.9, 0.5, np.nan]), np.array([1.0, 1.0, 0.0, 0.5, 0.0]), np.arange(5))
    found = measured(some, np.array([2, 0, 2, 1, 0]), wanted=Wanted(ratio=4, ask_cost=0.5))

    assert found.harm.estimate == pytest.approx(1 / 2.5)
    assert found.over_refusal.estimate == pytest.approx(1 / 2.5)
    assert (found.asked.estimate, found.answered_wrongly.estimate, found.unscored.estimate) == (0.2, 0.5, 0.2)
    assert found.cost == pytest.approx((1 + 4 + 0.5) / 5)


def test_two_promises_ask_between_and_share_the_chance_of_failing():
    some = evidence(1)
    fitted = fit_thresholds(some, Wanted(max_harm=0.05, max_over_refusal=0.05))

    assert fitted.refuse_up_to < fitted.answer_above
    assert [one.promise.level for one in fitted.promised] == [pytest.approx(0.975)] * 2
    assert all(one.loss < 0.05 for one in fitted.promised)


def test_nobody_is_asked_where_one_threshold_keeps_both_promises():
    fitted = fit_thresholds(evidence(2, signal=3), Wanted(max_harm=0.05, max_over_refusal=0.05))

    assert fitted.refuse_up_to == fitted.answer_above


def test_the_cheapest_threshold_within_a_promise_never_breaks_it():
    some = evidence(3)
    promised = fit_thresholds(some, Wanted(max_harm=0.05)).answer_above
    cheap, dear = (fit_thresholds(some, Wanted(ratio=ratio, max_harm=0.05)).answer_above for ratio in (0.1, 200))

    assert cheap == promised < dear


def test_asking_is_for_those_of_whom_both_errors_cost_more():
    values = np.linspace(-4, 4, 81)
    some = Evidence(np.r_[values, values], np.r_[np.ones(81), np.zeros(81)], np.arange(162))
    fitted = fit_thresholds(some, Wanted(ratio=4, ask_cost=0.4), calibrator=Platt(1.0, 0.0))
    p = 1 / (1 + np.exp(-values))
    asked = (values > fitted.refuse_up_to) & (values <= fitted.answer_above)

    assert asked.tolist() == (np.minimum(4 * (1 - p), p) > 0.4).tolist()


def test_a_judge_that_knows_nothing_does_not_look_useful_on_held_out_queries():
    some = evidence(4, queries=60, signal=0)
    wanted = Wanted(ratio=1)
    own = measured(some, fit_thresholds(some, wanted).decide(some.value, fail="refuse"), wanted=wanted)
    fresh = measured(some, held_out(some, wanted, method="platt"), wanted=wanted)

    assert own.cost is not None
    assert fresh.cost is not None
    assert own.cost < 0.5 <= fresh.cost + 0.02


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({}, "--ratio"),
        ({"ask_cost": 0.1}, "--ratio"),
        ({"ask_cost": 0.1, "ratio": 2, "max_harm": 0.1}, "no promise"),
        ({"ratio": -1}, "above 0"),
        ({"max_harm": 0.1, "chosen_from": 0}, "--chosen-from"),
        ({"max_harm": 0.1, "chosen_from": 3, "level": None}, "best of several"),
        ({"ratio": 1, "fail": "perhaps"}, "--fail"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish, problem):
    with pytest.raises(ConfigurationError, match=problem):
        Wanted(**wish)


def test_judges_that_are_compared_share_the_chance_of_breaking_a_promise():
    (one,), (of_ten,) = (Wanted(max_harm=0.1, chosen_from=n).promises for n in (1, 10))
    both = Wanted(max_harm=0.1, max_over_refusal=0.1, chosen_from=5).promises

    assert one.level == 0.95
    assert of_ten.level == pytest.approx(0.995)
    assert [promise.level for promise in both] == pytest.approx([0.995, 0.995])
