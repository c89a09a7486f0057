from dataclasses import astuple

import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.panel import panel_curve, panel_worth, usual_reference


def crowd(items=400, seed=1):
    rng = np.random.default_rng(seed)
    return rng.binomial(20, rng.beta(2, 2, items)), np.full(items, 20)


def majority(votes):
    share = votes.mean(-1)
    return np.where(share > 0.5, 1.0, np.where(share == 0.5, 0.5, 0.0))


@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_the_exact_curve_is_what_random_draws_of_votes_give(k):
    safe, votes = crowd(items=60)
    rng = np.random.default_rng(2)
    strings = np.arange(20) < safe[:, None]
    drawn = []
    for _ in range(400):
        shuffled = rng.permuted(strings, axis=1)
        panel, other = majority(shuffled[:, :k]), majority(shuffled[:, k : k + 10])
        drawn.append(np.mean(panel * other + (1 - panel) * (1 - other)))

    curve = panel_curve(safe, votes)
    assert curve.agreement[k - 1] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 20)


def test_the_curve_rises_and_goes_on_smoothly_into_the_model():
    curve = panel_curve(*crowd())

    odd = curve.agreement[::2]
    assert (np.diff(odd) > 0).all()
    assert curve.modelled.tolist() == [k > 10 for k in range(1, 22)]
    assert np.diff(odd)[5] < 0.02
    assert (curve.ci_low < curve.agreement).all()
    assert (curve.agreement < curve.ci_high).all()


def test_a_tie_is_worth_nothing_more_than_one_person_less():
    curve = panel_curve(*crowd())

    assert curve.agreement[1] == pytest.approx(curve.agreement[0], abs=1e-12)


def test_two_items_by_hand():
    curve = panel_curve([2, 0], [2, 2], reference_size=1, largest=1)
    mixed = panel_curve([1, 1], [2, 2], reference_size=1, largest=1)

    assert curve.agreement[0] == pytest.approx(1)
    assert mixed.agreement[0] == pytest.approx(0)


def test_a_judge_that_is_one_person_is_worth_one():
    rng = np.random.default_rng(3)
    true = rng.beta(2, 2, 4000)
    safe = rng.binomial(20, true)
    one = rng.random(4000) < true

    worth = panel_worth(one, safe, np.full(4000, 20))
    assert worth.people == pytest.approx(1, abs=0.35)


def test_a_judge_that_is_seven_people_is_worth_seven():
    rng = np.random.default_rng(4)
    true = rng.beta(2, 2, 4000)
    safe = rng.binomial(20, true)
    seven = rng.binomial(7, true) > 3

    worth = panel_worth(seven, safe, np.full(4000, 20))
    assert worth.people_low <= 7 <= worth.people_high
    assert worth.people == pytest.approx(7, rel=0.3)


def test_a_contrary_judge_is_worth_nobody():
    safe, votes = crowd()

    worth = panel_worth(safe < 10, safe, votes)
    assert worth.people == worth.people_low == 0


def test_a_judge_without_verdicts_is_a_coin():
    safe, votes = crowd()

    assert panel_worth(np.full(400, np.nan), safe, votes).agreement == pytest.approx(0.5)


def test_too_few_votes_are_an_error():
    with pytest.raises(StatisticsError, match="more votes"):
        panel_curve([3], [5])


def test_the_reference_is_ten_people_or_all_but_one_of_the_usual_number():
    assert [usual_reference([n] * 3) for n in (1, 2, 5, 11, 20)] == [1, 1, 4, 10, 10]
    assert usual_reference([20, 5, 5, 0, 0, 0]) == 4


def test_without_votes_there_is_nobody_to_be_held_against():
    with pytest.raises(StatisticsError, match="no item has a vote"):
        usual_reference([0, 0])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_panels_are_measured_only_as_far_as_the_judge_is_not_told_from_them(monkeypatch, share):
    rng = np.random.default_rng(3)
    safe = rng.binomial(11, rng.beta(1, 1, 200))
    judge = np.where(rng.random(200) < share, safe > 5, safe <= 5).astype(float)
    counts = (safe, np.full(200, 11))
    whole = panel_worth(judge, *counts, clusters=np.arange(200) // 2)
    monkeypatch.setattr("casewise.stats.panel.AT_ONCE", 400)

    found = panel_worth(judge, *counts, clusters=np.arange(200) // 2)

    assert astuple(found) == pytest.approx(astuple(whole))
