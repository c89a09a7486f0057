import numpy as np
import pytest
from scipy.special import expit

from casewise.errors import StatisticsError
from casewise.stats.response_model import fit_responses, items_that_place, left_out_errors, place


def judged(seed, *, judges=40, items=600, wrong_labels=0.03, steep=0.4):
    rng = np.random.default_rng(seed)
    ability, b = rng.normal(1, 0.7, judges), rng.normal(0, 1.2, items)
    a, sign = np.exp(rng.normal(0, steep, items)), np.where(rng.random(items) < wrong_labels, -1, 1)
    right = rng.random((judges, items)) < expit(sign * a * (ability[:, None] - b))
    return ability, b, sign, right.astype(float)


@pytest.mark.slow
def test_judges_and_items_come_out_where_they_were_put():
    ability, b, sign, right = judged(0)
    found = fit_responses(right)
    straight = sign > 0

    assert np.corrcoef(ability, found.ability)[0, 1] > 0.97
    assert np.mean(found.ability - ability) == pytest.approx(0, abs=0.2)
    assert np.corrcoef(b[straight], found.difficulty[straight])[0, 1] > 0.8
    held = np.abs(b - found.difficulty) < 1.96 * found.difficulty_error
    assert held[straight].mean() > 0.9


def test_intervals_of_differences_of_abilities_hold():
    held = []
    for seed in range(20):
        ability, _, _, right = judged(seed, judges=12, items=300)
        found = fit_responses(right, clusters=np.arange(300) // 2, rasch=True)
        off = found.ability - ability - np.mean(found.ability - ability)
        held.append(np.abs(off) < 1.96 * found.ability_error)

    assert np.mean(held) > 0.9


@pytest.mark.slow
def test_labels_that_were_exchanged_are_found_and_few_others():
    _, _, sign, right = judged(3, judges=50, items=900)
    suspect = fit_responses(right).reversed_label > 0.5

    assert (suspect & (sign < 0)).sum() >= 0.6 * (sign < 0).sum()
    assert (suspect & (sign > 0)).sum() <= 0.01 * 900


def test_rasch_has_one_discrimination_and_missing_answers_are_left_out():
    *_, right = judged(4, judges=10, items=200)
    holes = np.where(np.random.default_rng(0).random(right.shape) < 0.3, np.nan, right)
    found = fit_responses(holes, rasch=True)

    assert set(found.discrimination.round(12)) == {1.0}
    assert np.corrcoef(found.ability, fit_responses(right, rasch=True).ability)[0, 1] > 0.9


@pytest.mark.slow
def test_a_hundred_chosen_items_place_judges_that_were_left_out_better_than_as_many_at_random():
    _, _, _, right = judged(5, judges=40, items=900)
    rng = np.random.default_rng(0)
    tried = left_out_errors(right, 100, folds=4)
    at_random = [one[rng.permutation(900)[:100]].mean() - one.mean() for one in right]

    assert tried.typical < 0.035
    assert tried.typical < 0.75 * np.sqrt(np.mean(np.square(at_random)))
    assert tried.within > 0.6


def test_a_judge_asked_everything_is_placed_where_it_is():
    *_, right = judged(6, judges=10, items=100)
    found = fit_responses(right)
    everything = items_that_place(found, 100)

    assert sorted(everything) == list(range(100))
    assert place(found, everything, right[3, everything]).accuracy == pytest.approx(right[3].mean())


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: fit_responses([[1, 0, 1]]), "two judges"),
        (lambda: fit_responses([[1, 2], [0, 1]]), "right"),
        (lambda: fit_responses(np.array([[1, 0], [np.nan, np.nan], [1, 1]])), "answered no item"),
        (lambda: items_that_place(fit_responses([[1, 0, 1], [0, 1, 1]]), 4), "there are 3 items"),
        (lambda: left_out_errors([[1, 0], [0, 1]], 1), "three judges"),
    ],
)
def test_what_cannot_be_scaled_is_refused(ask, why):
    with pytest.raises(StatisticsError, match=why):
        ask()
