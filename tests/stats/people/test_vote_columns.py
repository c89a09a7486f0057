import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.ratings import column_dependence


def test_by_hand_on_two_items_and_two_columns():
    found = column_dependence(np.array([[1, 0], [1, 0]]), block=2)

    # Residuals are ±½; column sums ±1: T = 2, against E T = 1.
    assert found.ratio == 2
    assert found.correlation == pytest.approx(1)


def test_moments_are_those_of_permuted_votes():
    draws = np.random.default_rng(3)
    votes = draws.random((40, 8)) < draws.beta(2, 2, size=(40, 1))
    permuted = [column_dependence(draws.permuted(votes, axis=1), block=10) for _ in range(2000)]

    z = np.array([found.z for found in permuted])
    assert z.mean() == pytest.approx(0, abs=0.07)
    assert z.std() == pytest.approx(1, abs=0.05)
    assert np.mean([found.ratio for found in permuted]) == pytest.approx(1, abs=0.02)


def test_trends_of_rates_along_the_file_are_no_dependence():
    draws = np.random.default_rng(4)
    rates = np.linspace(0.05, 0.95, 400)[:, None]

    assert abs(column_dependence(draws.random((400, 20)) < rates).z) < 4


def test_groups_with_people_of_their_own_share_no_block():
    draws = np.random.default_rng(5)
    lean = draws.normal(0, 2, size=(2, 10))
    group = np.arange(200) % 2
    votes = draws.random((200, 10)) < 1 / (1 + np.exp(-lean[group]))

    apart, mixed = column_dependence(votes, group=group), column_dependence(votes)

    assert apart.ratio > mixed.ratio > 1
    assert apart.n_blocks == 8


def test_constant_votes_have_nothing_to_test():
    with pytest.raises(StatisticsError, match="nothing to test"):
        column_dependence(np.ones((10, 5)))


def test_one_column_is_refused():
    with pytest.raises(StatisticsError, match="two columns"):
        column_dependence(np.ones((10, 1)))
