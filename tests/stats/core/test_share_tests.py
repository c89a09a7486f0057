import pytest
from scipy import stats

from casewise.stats.core.share_tests import binomial_below, sign_test


@pytest.mark.parametrize(("x", "n", "p"), [(0, 10, 0.3), (4, 20, 0.5), (19, 20, 0.9)])
def test_agrees_with_scipy(x, n, p):
    assert binomial_below(x, n, p) == pytest.approx(stats.binom.cdf(x, n, p), rel=1e-12)


def test_all_is_no_less_than_anything():
    assert binomial_below(5, 5, 0.9) == 1


@pytest.mark.parametrize(("one", "other"), [(28, 1), (3, 9), (5, 5)])
def test_the_sign_test_agrees_with_scipy(one, other):
    assert sign_test(one, other) == pytest.approx(stats.binomtest(one, one + other).pvalue, rel=1e-9)


def test_no_signs_show_nothing():
    assert sign_test(0, 0) == 1
