"""Groups below the others."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import pearson3

from casewise.stats.contrasts import low_group_p
from casewise.stats.intervals import adjust


def test_p_is_that_of_all_ways_to_draw_a_group():
    rng = np.random.default_rng(5)
    values = rng.gamma(2.0, size=16)
    values[:6] *= 0.7
    group = np.array([0] * 6 + [1] * 10)
    sums = [values[list(rows)].sum() for rows in combinations(range(16), 6)]

    exact = np.mean(np.array(sums) <= values[:6].sum() + 1e-12)

    assert low_group_p(values, group)[0] == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_p_is_the_lower_tail_of_scipys_pearson_iii(rate):
    rng = np.random.default_rng(7)
    group = np.arange(9).repeat(rng.integers(5, 40, 9))
    values = (rng.random(len(group)) < rate).astype(float)
    total, n = len(values), np.bincount(group)
    z = (np.bincount(group, values) - n * values.mean()) / np.sqrt(n * (total - n) / (total - 1) * values.var())
    skewness = np.mean((values - values.mean()) ** 3) / values.std() ** 3
    skewness = skewness * (total - 2 * n) / (total - 2) * np.sqrt((total - 1) / (n * (total - n)))

    assert low_group_p(values, group) == pytest.approx(pearson3.cdf(z, skewness), rel=1e-6)


def test_without_skewness_p_is_normal_and_sums_to_one_over_two_halves():
    p = low_group_p([0, 0, 1, 0, 1, 1, 1, 0], list("aaaabbbb"))

    assert p.sum() == pytest.approx(1)
    assert p[0] == pytest.approx(0.0929, abs=1e-4)  # z = -1 / sqrt(4 * 4 / 7 * 1 / 4)


def test_where_nothing_differs_nothing_is_low():
    assert low_group_p([1.0] * 6, list("aabbcc")).tolist() == [1, 1, 1]
    assert low_group_p([1.0, 0.0, 1.0], list("aaa")).tolist() == [1]


@pytest.mark.parametrize(("groups", "each"), [(45, 10), (45, 5), (5, 30)])
@pytest.mark.parametrize("rate", [0.6, 0.85, 0.95])
def test_of_groups_that_are_alike_one_is_called_low_in_hardly_one_of_twenty(groups, each, rate):
    rng = np.random.default_rng(11)
    group = np.arange(groups).repeat(each)

    def false_alarm():
        right = rng.binomial(2, np.clip(rng.normal(rate, 0.03, len(group)), 0, 1)) / 2
        return (adjust(low_group_p(right, group), "holm") < 0.05).any()

    assert np.mean([false_alarm() for _ in range(300)]) <= 0.08
