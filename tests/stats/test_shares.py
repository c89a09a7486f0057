import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from casewise.errors import StatisticsError
from casewise.stats.shares import (
    LARGEST_NONCENTRALITY,
    binomial_below,
    chance_of_majority,
    clopper_pearson,
    f_critical,
    f_power,
    hypergeometric,
    korn_graubard,
    log_choose,
    majority_weight,
    score_limits,
    sign_test,
    two_sided_log_p,
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


@pytest.mark.parametrize("df2", [1, 2, 9])
@pytest.mark.parametrize("alpha", [0.05, 1e-5, 1e-30, 1e-90])
def test_power_goes_on_smoothly_beyond_what_the_series_can_compute(df2, alpha):
    critical = f_critical(alpha, 1, df2)
    series, limit, far, surest = (
        f_power(critical, 1, df2, at) for at in (LARGEST_NONCENTRALITY, 1.0000001 * LARGEST_NONCENTRALITY, 1e12, np.inf)
    )

    assert limit == pytest.approx(series, rel=1e-6)
    assert series <= limit <= far <= surest == 1


@pytest.mark.parametrize(("df1", "df2"), [(1, 8), (4, 60), (7, 3)])
def test_critical_values_and_power_agree_with_scipy(df1, df2):
    critical = f_critical(0.03, df1, df2)

    assert critical == pytest.approx(stats.f.isf(0.03, df1, df2))
    assert f_power(critical, df1, df2, 5.5) == pytest.approx(stats.ncf.sf(critical, df1, df2, 5.5))
    assert f_power(critical, df1, df2, 0.0) == pytest.approx(0.03)


def test_an_alpha_without_a_critical_value_is_an_error():
    with pytest.raises(StatisticsError, match="too small for a critical value"):
        f_critical(1e-200, 1, 1)


def test_p_values_are_logarithms_also_where_they_underflow():
    found = two_sided_log_p(np.array([0.0, 1.96, -1.96, 60.0]))

    assert found[:3] == pytest.approx(np.log(2 * stats.norm.sf([0, 1.96, 1.96])))
    assert found[0] == 0
    assert found[3] == pytest.approx(np.log(2) + stats.norm.logsf(60))


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_intervals_have_the_level_that_is_asked_for(level):
    clopper, score = clopper_pearson(3, 12, level=level), wilson(3, 12, level=level)
    one = korn_graubard(0.25, 0.25 * 0.75 / 12, n=12, clusters=12, level=level)

    assert (clopper.low, clopper.high) == pytest.approx(proportion_confint(3, 12, 1 - level, method="beta"))
    assert (one.low, one.high) == pytest.approx((float(clopper.low), float(clopper.high)))
    assert (score.low, score.high) == pytest.approx(proportion_confint(3, 12, 1 - level, method="wilson"))


def test_students_quantile_takes_the_place_of_the_normals_in_score_limits():
    limits, t = score_limits(0.3, 12.5, level=0.9, df=7), stats.t.ppf(0.95, 7)

    for limit in (float(limits.low), float(limits.high)):
        assert (0.3 - limit) ** 2 == pytest.approx(t**2 * limit * (1 - limit) / 12.5)
    none, every = score_limits(0.0, 12.5), score_limits(1.0, 12.5)
    z = stats.norm.ppf(0.975)
    assert [float(none.low), float(none.high)] == pytest.approx([0, z**2 / (12.5 + z**2)])
    assert [float(every.low), float(every.high)] == pytest.approx([1 - z**2 / (12.5 + z**2), 1])


def test_exact_limits_of_no_units_are_nought_and_one():
    limits = clopper_pearson([0, 5], [0, 5])

    assert (limits.low.tolist(), limits.high.tolist()) == ([0, pytest.approx(0.025 ** (1 / 5))], [1, 1])


def test_a_sample_that_is_all_alike_loses_degrees_of_freedom_with_its_clusters():
    loss = (stats.t.ppf(0.025, 39) / stats.t.ppf(0.025, 9)) ** 2

    assert korn_graubard(1.0, 0.0, n=40, clusters=10).low == pytest.approx(0.025 ** (1 / (40 * loss)))
    assert korn_graubard(0.5, 0.0, n=40, clusters=10).low == pytest.approx(
        stats.beta.ppf(0.025, 20 * loss, 20 * loss + 1)
    )


def test_draws_without_replacement_agree_with_scipy():
    j, safe = np.indices((6, 8))

    assert hypergeometric(j, safe, 7, 5) == pytest.approx(stats.hypergeom.pmf(j, 7, safe, 5))
    assert hypergeometric([0, 0, 1], [-1, 3, 2], [2, 2, 2], 1).tolist() == pytest.approx([0, 0, 1])


def test_ways_to_choose_are_counted():
    assert np.exp(log_choose([5, 8, 4], [2, 8, 0])) == pytest.approx([10, 1, 1])
