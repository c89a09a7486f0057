import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from casewise.errors import StatisticsError
from casewise.stats.core.share_intervals import clopper_pearson, korn_graubard, wilson


@pytest.mark.parametrize(("x", "n"), [(0, 10), (3, 10), (10, 10), (499, 9450)])
def test_clopper_pearson_agrees_with_statsmodels(x, n):
    interval = clopper_pearson(x, n)

    expected = proportion_confint(x, n, method="beta")
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("x", "n"), [(0, 10), (3, 10), (10, 10), (499, 9450)])
def test_wilson_agrees_with_statsmodels(x, n):
    interval = wilson(x, n)

    assert (interval.low, interval.high) == pytest.approx(proportion_confint(x, n, method="wilson"), abs=1e-12)


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


def test_one_cluster_has_no_interval():
    with pytest.raises(StatisticsError, match="two clusters"):
        korn_graubard(0.5, 0.01, n=10, clusters=1)
