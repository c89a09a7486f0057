import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests
from tests.support.data import reference

from casewise.stats import adjust
from casewise.stats.arrays import cluster_variance
from casewise.stats.intervals import (
    ROUNDING_ERROR,
    Correction,
    Interval,
    clopper_pearson_interval,
    degrees_of_freedom,
    floored_interval,
    hall_corrected_quantile,
    hall_corrected_statistic,
    largest_unseen_share,
    shows_spread,
    skewness,
    student_quantile,
    t_interval_from_influences,
    unseen_floor_p,
)

NAMES: dict[Correction, str] = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "benjamini_hochberg": "fdr_bh",
    "benjamini_yekutieli": "fdr_by",
}


@pytest.mark.slow
@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_agrees_with_statsmodels(method, n):
    p = np.random.default_rng(n).random(n).round(1) ** 3  # rounded: ties occur
    expected = multipletests(p, method=NAMES[method])[1]

    assert adjust(p, method) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("case", reference("multiplicity.json"))
def test_agrees_with_r(case):
    counted = np.array([p is not None for p in case["p"]])
    p = [1.0 if value is None else value for value in case["p"]]

    for method in NAMES:
        expected = [1.0 if value is None else value for value in case["adjusted"][method]]
        assert adjust(p, method, where=counted) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_known_values_by_hand():
    assert adjust([0.01, 0.04, 0.03], "holm") == pytest.approx([0.03, 0.06, 0.06])
    assert adjust([0.01, 0.04, 0.03], "benjamini_hochberg") == pytest.approx([0.03, 0.04, 0.04])
    assert adjust([0.01, 0.04], "benjamini_yekutieli") == pytest.approx([0.03, 0.06])


def test_tests_that_do_not_count_get_one_and_do_not_enlarge_the_family():
    p, where = [0.01, 0.5, 0.04], np.array([True, False, True])

    for method in NAMES:
        assert adjust(p, method, where=where) == pytest.approx(np.insert(adjust([0.01, 0.04], method), 1, 1.0))


def test_families_lie_on_leading_axes():
    p = np.random.default_rng(1).random((4, 6))

    assert adjust(p, "benjamini_hochberg")[2] == pytest.approx(adjust(p[2], "benjamini_hochberg"))


@pytest.mark.parametrize("method", NAMES)
def test_no_tests_at_all_stay_none(method):
    assert adjust([], method).size == 0


SYMMETRIC = np.array([0.1, -0.1, 0.1, -0.1, 0.1, -0.1])
ERROR = np.sqrt(6 / 5 * 0.06)
T = scipy.stats.t.ppf(0.975, 5)
LEANING = np.array([0.9] + [-0.1] * 9) / 10
"""One query in ten: its variance is known from few queries, and its mean leans to large values."""


def test_few_clusters_that_carry_the_variance_leave_few_degrees_of_freedom():
    assert degrees_of_freedom(SYMMETRIC) == 5
    assert degrees_of_freedom(np.array([9.0] + [-1.0] * 9)) == pytest.approx(2 * 10 / (10 * 6570 / 90**2 - 1))
    assert degrees_of_freedom(np.array([9.0, -9.0] + [0.0] * 98)) == pytest.approx(2 * 100 / (100 / 2 - 1))
    assert degrees_of_freedom(np.zeros(4)) == 3


def test_the_interval_of_a_number_without_bounds_is_students():
    assert t_interval_from_influences(3.0, SYMMETRIC, at_risk=6) == pytest.approx((3 - T * ERROR, 3 + T * ERROR))


def test_the_interval_of_a_number_between_two_bounds_is_students_on_logits():
    low, high = t_interval_from_influences(0.5, SYMMETRIC, domain=(-1, 1), at_risk=6) or (0, 0)

    at, slope = np.arctanh(0.5), 1 / (1 - 0.5**2)  # half a logit between -1 and 1 is Fisher's z
    assert (low, high) == pytest.approx(tuple(np.tanh([at - T * slope * ERROR, at + T * slope * ERROR])))


def test_the_interval_of_a_number_above_a_bound_is_students_on_logarithms():
    found = t_interval_from_influences(2.0, SYMMETRIC, domain=(0.5, np.inf), at_risk=6) or (0, 0)
    mirrored = t_interval_from_influences(-2.0, -SYMMETRIC, domain=(-np.inf, -0.5), at_risk=6) or (0, 0)
    assert mirrored == (-found[1], -found[0])

    factor = np.exp(T * ERROR / 1.5)
    assert found == pytest.approx((0.5 + 1.5 / factor, 0.5 + 1.5 * factor))


def test_above_a_number_with_one_bound_the_interval_reaches_as_far_as_its_skewness_asks():
    influence = LEANING * 2
    found = t_interval_from_influences(8.0, influence, domain=(0.0, np.inf), at_risk=10)
    error = np.sqrt(10 / 9 * (influence**2).sum())
    t = student_quantile(0.975, degrees_of_freedom(influence))

    assert found is not None
    assert found.high == pytest.approx(8 + error * hall_corrected_quantile(t, influence))
    assert found.high > 8 * np.exp(t * error / 8)


def test_an_enormous_error_leaves_finite_limits():
    for domain in ((0.0, 1.0), (0.0, np.inf)):
        low, high = t_interval_from_influences(1e-6, 1e3 * SYMMETRIC, domain=domain, at_risk=6) or (np.nan, np.nan)
        assert 0 <= low < 1e-6 < high < np.inf


@pytest.mark.parametrize(
    ("value", "influence", "at_risk"),
    [
        (0.0, SYMMETRIC, 6),
        (1.0, SYMMETRIC, 6),
        (0.5, SYMMETRIC, 1),
        (0.5, np.zeros(6), 6),
        (0.5, np.full(6, ROUNDING_ERROR / 10), 6),
    ],
)
def test_there_is_no_interval_from_spread_at_a_bound_or_without_spread_or_from_one_cluster(value, influence, at_risk):
    assert t_interval_from_influences(value, influence, domain=(0, 1), at_risk=at_risk) is None


def test_two_clusters_at_risk_have_an_interval_with_one_degree_of_freedom():
    low, high = t_interval_from_influences(0.0, SYMMETRIC, at_risk=2) or (0, 0)

    assert high == pytest.approx(scipy.stats.t.ppf(0.975, 1) * ERROR)
    assert low == -high


def test_the_spread_that_rounding_leaves_is_none():
    assert shows_spread(SYMMETRIC)
    assert shows_spread(np.array([1, -1]) * 1e-7)
    assert not shows_spread(np.array([1, -1]) * 1e-12)


def test_the_skewness_of_a_mean_is_that_of_its_clusters_over_the_root_of_their_number():
    x = np.random.default_rng(2).exponential(size=50)

    assert skewness((x - x.mean()) / 50) == pytest.approx(scipy.stats.skew(x) / np.sqrt(50))
    assert skewness(np.zeros(3)) == 0


def test_halls_correction_is_the_published_cubic_where_it_is_small():
    x = np.random.default_rng(3).exponential(size=400)
    influence = x - x.mean()
    g = skewness(influence)

    assert hall_corrected_quantile(2.0, influence) == pytest.approx(-3 / g * (np.cbrt(1 - g * (2 + g / 6)) - 1))
    assert hall_corrected_quantile(2.0, -influence) == 2.0
    assert hall_corrected_quantile(2.0, SYMMETRIC) == 2.0


def test_halls_correction_of_a_mean_that_leans_far_goes_on_along_its_tangent():
    g, t = skewness(LEANING), 2.5
    x = g * (t + g / 6)
    assert x > 1  # where the cubic itself gives 10 standard errors and more

    tangent = (3 * (1 - np.cbrt(0.5)) + (x - 0.5) * 0.5 ** (-2 / 3)) / g
    assert hall_corrected_quantile(t, LEANING) == pytest.approx(tangent)
    assert t < tangent < 2 * t


def test_halls_correction_has_no_step_and_only_ever_widens():
    t = np.linspace(0.05, 6, 500)
    corrected = np.array([hall_corrected_quantile(float(each), LEANING) for each in t])

    assert (corrected > t).all()
    assert (np.diff(corrected) > 0).all()
    assert np.diff(corrected).max() < 2 * np.diff(t).max()


@pytest.mark.parametrize("influence", [LEANING, -LEANING, SYMMETRIC])
@pytest.mark.parametrize("t", [-2.0, 0.3, 1.0, 2.5, 6.0])
def test_the_statistic_that_halls_correction_makes_is_the_one_it_was_made_of(t, influence):
    assert hall_corrected_statistic(hall_corrected_quantile(t, influence), influence) == pytest.approx(t)


def test_a_share_that_no_cluster_shows_otherwise_has_the_exact_interval_of_so_many_clusters():
    exact = scipy.stats.binomtest(5, 20).proportion_ci(0.9)

    assert clopper_pearson_interval(0.25, 20, level=0.9) == pytest.approx((exact.low, exact.high))
    assert clopper_pearson_interval(1 + 1e-12, 10) == pytest.approx((0.025**0.1, 1))
    assert clopper_pearson_interval(-1e-12, 10) == pytest.approx((0, 1 - 0.025**0.1))


def test_of_what_was_never_seen_so_large_a_share_can_be_there():
    assert largest_unseen_share(20) == pytest.approx(scipy.stats.binomtest(0, 20).proportion_ci(0.95).high)
    assert largest_unseen_share(59, level=0.9) <= 0.05 < largest_unseen_share(58, level=0.9)  # the rule of three
    assert largest_unseen_share(0) == 1


def test_a_number_without_spread_is_as_uncertain_as_errors_that_nobody_saw():
    unseen = largest_unseen_share(10)

    assert floored_interval(1.0, None, below=[1], above=[0], clusters=10) == pytest.approx((1 - unseen, 1))
    assert floored_interval(0.2, None, below=[0.3, 0.4], clusters=10, domain=(0, 1)) == (max(0, 0.2 - unseen / 2), 0.2)
    assert floored_interval(0.9, None, above=[1], clusters=10, domain=(0, 1)).high == 1


def test_limits_that_are_wider_than_the_floor_stay_as_they_are():
    assert floored_interval(0.5, Interval(0.1, 0.9), below=[0.5], above=[0.5], clusters=20) == (0.1, 0.9)
    assert floored_interval(0.5, Interval(0.49, 0.51), clusters=2) == (0.49, 0.51)


def test_the_p_value_of_the_floor_is_the_level_at_which_its_limit_stands_there():
    p = unseen_floor_p(0.15, [0.3, 0.4], clusters=9)

    assert p == pytest.approx(0.7**9)
    assert floored_interval(0.0, None, below=[0.3, 0.4], clusters=9, level=1 - 2 * p).low == pytest.approx(-0.15)
    assert unseen_floor_p(-0.1, [1], clusters=9) == unseen_floor_p(0.0, [], clusters=9) == 1
    assert unseen_floor_p(2.0, [1], clusters=9) == unseen_floor_p(0.1, [], clusters=9) == 0


def test_tests_are_not_corrected_where_that_is_not_wanted():
    assert adjust([0.01, 0.5], "none", where=np.array([True, False])) == pytest.approx([0.01, 1])


def test_bonferroni_multiplies_by_the_tests_that_count_and_stays_a_probability():
    assert adjust([0.01, 0.5, 0.04], "bonferroni") == pytest.approx([0.03, 1, 0.12])


@pytest.mark.parametrize(("leaning", "highest"), [(0.8, -0.04), (1.2, 0.02), (1.5, 0.05)])
def test_a_difference_of_five_errors_whose_clusters_lean_has_an_upper_limit_near_zero_at_most(leaning, highest):
    """A difference of -.274 with an error of .05, whose bootstrap interval is about [-.35, -.16]."""
    influence = np.exp(leaning * np.random.default_rng(3).standard_normal(60))
    influence -= influence.mean()
    influence *= 0.05 / np.sqrt(cluster_variance(influence))
    found = t_interval_from_influences(-0.274, influence, at_risk=60)

    mirrored = t_interval_from_influences(0.274, -influence, at_risk=60)

    assert found is not None
    assert -0.16 < found.high < highest
    assert mirrored is not None
    assert (-mirrored.high, -mirrored.low) == pytest.approx(found)
