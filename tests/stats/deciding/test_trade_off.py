from __future__ import annotations

import itertools

import numpy as np
import pytest

from casewise.stats import thresholds as module
from casewise.stats.thresholds import Evidence, people_points, promise_curve, query_weights, risk_coverage, trade_off


def evidence(seed: int, queries: int = 40, *, signal: float = 2.0) -> Evidence:
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.5, 1.0], size=3 * queries, p=[0.45, 0.1, 0.45])
    return Evidence(signal * weight + rng.normal(size=3 * queries), weight, np.repeat(np.arange(queries), 3))


def test_the_curve_is_the_least_harm_of_all_thresholds_within_each_limit():
    some = evidence(1, queries=15)
    curve = trade_off(some, query_weights(15, n_resamples=50))
    w, u = some.weight, 1 - some.weight
    for limit, harm in zip(curve.over_refusal, curve.harm, strict=True):
        tried = [some.value > t for t in (-np.inf, *some.value)]
        fine = [(u * said).sum() / u.sum() for said in tried if (w * ~said).sum() / w.sum() <= limit + 1e-6]
        assert harm == pytest.approx(min(fine), abs=1e-5)


def test_bands_are_those_of_curves_worked_out_again_for_each_resample():
    some, weights = evidence(2, queries=12), query_weights(12, n_resamples=40)
    curve = trade_off(some, weights)
    for drawn, times in zip(curve.draws[:5], np.vstack([*weights]), strict=False):
        rows = np.repeat(np.arange(36), times[some.cluster].astype(int))
        again = Evidence(some.value[rows], some.weight[rows], np.zeros(len(rows), int))
        own = trade_off(again, [np.ones((1, 1), np.float32)]).harm
        assert drawn == pytest.approx(own, abs=2e-3)


def test_weights_that_are_too_many_to_be_held_are_drawn_again_the_same(monkeypatch):
    held = query_weights(30, n_resamples=40)
    monkeypatch.setattr(module, "BLOCK", 7 * 30)
    monkeypatch.setattr(module, "MOST_HELD", 100)
    drawn = query_weights(30, n_resamples=40)

    assert [len(block) for block in drawn] == [7, 7, 7, 7, 7, 5]
    assert (np.vstack([*drawn]) == np.vstack([*held])).all()
    assert (trade_off(evidence(5, 30), drawn).draws == trade_off(evidence(5, 30), held).draws).all()


def test_queries_that_add_the_same_are_resampled_together_to_the_same_curve(monkeypatch):
    some, weights = evidence(6, 60), query_weights(60, n_resamples=50)
    some = Evidence(np.round(some.value), some.weight, some.cluster)
    each = trade_off(some, weights)
    monkeypatch.setattr(module, "MANY", 1)

    assert (trade_off(some, weights).draws == each.draws).all()


def test_a_better_judge_dominates_and_an_equal_one_does_not():
    weights = query_weights(200, n_resamples=300)
    good, poor = (trade_off(evidence(3, 200, signal=signal), weights) for signal in (4.0, 0.5))

    nowhere_higher, surely = good.below(poor)
    assert nowhere_higher
    assert surely > 0.3
    assert good.below(good) == (True, 0.0)
    assert not poor.below(good)[0]


def test_items_without_a_value_are_refused():
    some = evidence(4)
    silent = Evidence(np.full(len(some.value), np.nan), some.weight, some.cluster)
    curve = trade_off(silent, query_weights(40, n_resamples=20))

    assert curve.harm[-1] == 0


def test_the_surest_are_decided_first_and_the_silent_last():
    some = Evidence(np.zeros(4), np.array([1.0, 0.0, 1.0, 0.0]), np.arange(4))
    found = risk_coverage(np.array([0.99, 0.6, 0.3, np.nan]), some)

    assert found.errors.value[[10, 20, 30, 40]] == pytest.approx([0, 1 / 2, 2 / 3, 3 / 4])
    assert found.area_low <= found.area <= found.area_high


def test_majorities_are_counted_as_if_every_group_of_people_were_drawn():
    votes = [[1, 1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1, 0, 1]]
    for size in (1, 3):
        refused = harmed = safe = unsafe = 0.0
        for item in votes:
            drawn = list(itertools.combinations(range(len(item)), size))
            for group in drawn:
                others = [vote for place, vote in enumerate(item) if place not in group]
                label = (np.sign(2 * sum(others) - len(others)) + 1) / 2
                answers = 2 * sum(item[place] for place in group) > size
                refused += label * (not answers) / len(drawn)
                harmed += (1 - label) * answers / len(drawn)
                safe, unsafe = safe + label / len(drawn), unsafe + (1 - label) / len(drawn)
        found = people_points(np.array([sum(one) for one in votes]), np.array([len(one) for one in votes]))
        assert found[size][0] == pytest.approx(refused / safe)
        assert found[size][1] == pytest.approx(harmed / unsafe)
    assert 7 not in people_points(np.array([2]), np.array([3]), sizes=(7,))


def test_no_error_seen_on_few_queries_is_no_proof_that_there_are_none():
    some = Evidence(np.repeat([2.0, -2.0], 10), np.repeat([1.0, 0.0], 10), np.arange(20))
    found = risk_coverage(np.repeat([0.99, 0.01], 10), some)
    harm = trade_off(some, query_weights(20, n_resamples=50))

    assert found.errors.value[-1] == 0
    assert found.errors.high[-1] == pytest.approx(1 - 0.025 ** (1 / 20))  # Clopper and Pearson's of 0 of 20
    assert harm.harm[8] == 0
    assert harm.high[8] == pytest.approx(1 - 0.025 ** (1 / 10))  # ten queries have an item that people would refuse
    assert np.isnan(found.area_low), "nothing varies, so nothing says how far the mean of all shares may be off"


def test_queries_that_can_carry_no_promise_have_none():
    curve = promise_curve(Evidence(np.array([1.0, -1.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.arange(3)))

    assert curve.at_most == ()
    assert not len(curve.over_refusal.value)
