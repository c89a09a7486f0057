import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest
from tests.support.data import reference

from casewise.stats import newcombe, two_proportion_z


@pytest.mark.parametrize("case", reference("ztest.json"))
def test_agrees_with_r(case):
    result = two_proportion_z(case["x1"], case["n1"], case["x2"], case["n2"])

    assert result.difference == pytest.approx(case["diff"], rel=1e-9)
    assert (result.ci_low, result.ci_high) == pytest.approx(tuple(case["ci95_diff_wald"]), rel=1e-9)
    assert result.testable == (not case["degenerate"])
    if case["degenerate"]:
        assert result.p == 1
        return
    assert result.z == pytest.approx(case["z"], rel=1e-9)
    assert result.p == pytest.approx(case["p_two_sided"], rel=1e-9)
    assert result.log_p == pytest.approx(case["log_p_two_sided"], rel=1e-9)


def test_p_agrees_with_statsmodels():
    assert two_proportion_z(40, 90, 61, 100).p == pytest.approx(proportions_ztest([40, 61], [90, 100])[1])


def test_log_p_goes_on_where_p_underflows():
    result = two_proportion_z(9000, 9450, 1000, 9450)

    assert result.p == 0
    assert result.log_p == pytest.approx(np.log(2) + stats.norm.logsf(abs(result.z)), rel=1e-12)


@pytest.mark.parametrize(("x1", "n1", "x2", "n2"), [(0, 20, 0, 30), (20, 20, 30, 30), (0, 0, 4, 9), (0, 0, 0, 0)])
def test_where_nothing_can_be_tested_p_is_one_and_nothing_is_nan(x1, n1, x2, n2):
    result = two_proportion_z(x1, n1, x2, n2)

    assert not result.testable
    assert (result.z, result.p, result.log_p) == pytest.approx((0, 1, 0))
    assert all(np.isfinite(value).all() for value in vars(result).values())
    assert result.newcombe_low < 0 < result.newcombe_high


def test_equal_shares_differ_by_exactly_nothing():
    result = two_proportion_z(1, 3, 7, 21)

    assert [float(x) for x in (result.z, result.difference, result.p)] == [0, 0, 1]


@pytest.mark.parametrize(("x1", "n1", "x2", "n2"), [(56, 70, 48, 80), (0, 10, 0, 20), (10, 10, 0, 20), (5, 56, 0, 29)])
def test_newcombe_agrees_with_statsmodels(x1, n1, x2, n2):
    interval = newcombe(x1, n1, x2, n2)

    expected = confint_proportions_2indep(x1, n1, x2, n2, method="newcomb", compare="diff")
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)


def test_newcombe_gives_the_values_of_his_table():
    interval = newcombe(56, 70, 48, 80)

    assert (interval.low, interval.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_pairs_are_vectorised():
    together = two_proportion_z([12, 80], [21, 100], [7, 95], [21, 120])

    assert together.z.tolist() == pytest.approx(
        [two_proportion_z(12, 21, 7, 21).z, two_proportion_z(80, 100, 95, 120).z]
    )
