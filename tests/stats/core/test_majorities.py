import numpy as np
import pytest
from scipy import stats

from casewise.stats.shares import chance_of_majority, majority_weight


@pytest.mark.parametrize("people", [1, 2, 3, 20, 21])
def test_the_chance_is_the_sum_over_all_counts(people):
    rate = np.linspace(0, 1, 11)
    counts = np.arange(people + 1)

    expected = np.asarray(stats.binom.pmf(counts[:, None], people, rate)).T @ majority_weight(counts, people)
    assert chance_of_majority(rate, people) == pytest.approx(expected, abs=1e-12)


def test_an_even_panel_is_worth_the_odd_one_below_it():
    assert chance_of_majority(0.7, 8) == chance_of_majority(0.7, 7)


def test_nobody_has_no_majority():
    assert chance_of_majority(0.7, 0) == 0.5


def test_a_tie_weighs_half():
    assert majority_weight([0, 5, 10], 10).tolist() == [0, 0.5, 1]
