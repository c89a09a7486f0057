import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from casewise.stats.shares import (
    binomial_below,
    chance_of_majority,
    clopper_pearson,
    korn_graubard,
    majority_weight,
    score_limits,
    sign_test,
    wilson,
)


@pytest.mark.parametrize(("interval_of", "method"), [(clopper_pearson, "beta"), (wilson, "wilson")])
@pytest.mark.parametrize(("x", "n"), [(0, 10), (3, 10), (10, 10), (499, 9450)])
def test_intervals_agree_with_statsmodels(interval_of, method, x, n):
    interval = interval_of(x, n)

    assert (interval.low, interval.high) == pytest.approx(proportion_confint(x, n, method=method), abs=1e-12)


def test_nothing_is_known_of_no_units():
    assert wilson(0, 0).low == 0
    assert wilson(0, 0).high == 1


def test_clustering_shrinks_the_sample_to_its_effective_size():
    interval = korn_graubard(0.4, 0.4 * 0.6 / 50, n=100, clusters=20)

    effective = 50 * (stats.t.ppf(0.025, 99) / stats.t.ppf(0.025, 19)) ** 2
    low = stats.beta.ppf(0.025, 0.4 * effective, 0.6 * effective + 1)
    high = stats.beta.ppf(0.975, 0.4 * effective + 1, 0.6 * effective)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-12)


def test_the_effective_sample_is_never_more_than_the_sample():
    lucky = korn_graubard(0.4, 1e-9, n=100, clusters=50)

    assert lucky.high - lucky.low >= clopper_pearson(40, 100).high - clopper_pearson(40, 100).low - 1e-12


def test_a_share_of_one_has_an_interval_below_it():
    interval = korn_graubard(np.array([1.0, 0.0]), 0, n=100, clusters=20)

    assert interval.high[0] == 1
    assert 0.9 < interval.low[0] < 1
    assert interval.low[1] == 0
    assert interval.high[1] == pytest.approx(1 - interval.low[0])


def test_score_limits_solve_the_score_equation_at_a_fractional_size():
    limits = score_limits(0.3, 12.5)

    for limit in (float(limits.low), float(limits.high)):
        assert (0.3 - limit) ** 2 == pytest.approx(stats.norm.ppf(0.975) ** 2 * limit * (1 - limit) / 12.5, rel=1e-12)


@pytest.mark.parametrize(("x", "n", "p"), [(0, 10, 0.3), (4, 20, 0.5), (19, 20, 0.9)])
def test_the_binomial_tail_agrees_with_scipy(x, n, p):
    assert binomial_below(x, n, p) == pytest.approx(stats.binom.cdf(x, n, p), rel=1e-12)


def test_all_is_no_less_than_anything():
    assert binomial_below(5, 5, 0.9) == 1


@pytest.mark.parametrize(("one", "other"), [(28, 1), (3, 9), (5, 5)])
def test_the_sign_test_agrees_with_scipy(one, other):
    assert sign_test(one, other) == pytest.approx(stats.binomtest(one, one + other).pvalue, rel=1e-9)


def test_no_signs_show_nothing():
    assert sign_test(0, 0) == 1


def test_limits_hold_for_any_size():
    found = score_limits(0.5, [1e-310, 1e300])

    assert found.low.tolist() == pytest.approx([0.0, 0.5], abs=1e-12)
    assert found.high.tolist() == pytest.approx([1.0, 0.5], abs=1e-12)


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
