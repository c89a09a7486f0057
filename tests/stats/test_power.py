import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower
from tests.support.data import reference

from casewise.errors import StatisticsError
from casewise.stats import (
    anova_power,
    chi_square_test_power,
    cohen_h,
    proportions_power,
)
from casewise.stats.power import detectable_shift, power_of_queries
from casewise.stats.shares import LARGEST_NONCENTRALITY, f_critical, f_power


@pytest.mark.parametrize("case", reference("power.json", "anova"))
def test_anova_agrees_with_r(case):
    found = anova_power(case["k"], case["f"], alpha=case["alpha"], power=case["power"])

    assert (found.n_per_group, found.n_total) == (case["n_per_group"], case["N_total"])
    assert (found.df_between, found.df_within) == (case["df1"], case["df2"])
    assert found.actual_power == pytest.approx(case["actual_power"], rel=1e-9)
    assert found.critical_f == pytest.approx(case["critical_F"], rel=1e-9)
    assert found.noncentrality == pytest.approx(case["ncp"], rel=1e-12)
    one_less = anova_power(case["k"], case["f"], alpha=case["alpha"], n_per_group=case["n_per_group"] - 1)
    assert one_less.actual_power == pytest.approx(case["power_at_n_minus_1"], rel=1e-9)


@pytest.mark.parametrize("case", reference("power.json", "two_proportion"))
def test_two_proportions_agree_with_r(case):
    two = {"alpha": case["alpha"], "power": case["power"]}
    found = proportions_power(case["p1"], case["p2"], **two)

    assert found.cohen_h == pytest.approx(case["h"], rel=1e-9)
    assert found.n_per_group == case["n_per_group"]
    assert found.n_exact == pytest.approx(case["n_two_sided"], rel=1e-6)
    assert found.actual_power == pytest.approx(case["actual_power"], rel=1e-9)
    one_sided = proportions_power(case["p1"], case["p2"], **two, sides=1)
    closed_form = 2 * ((stats.norm.isf(case["alpha"]) + stats.norm.ppf(case["power"])) / case["h"]) ** 2
    assert one_sided.n_exact == pytest.approx(closed_form, rel=1e-9)
    assert one_sided.n_exact == pytest.approx(case["n_one_sided"], rel=2e-6)  # R's own root finder stops at 1.4e-6
    normal = proportions_power(case["p1"], case["p2"], **two, method="normal")
    assert normal.n_exact == pytest.approx(case["power_prop_test_n"], rel=1e-6)


@pytest.mark.parametrize("case", reference("power.json", "chisq"))
def test_chi_square_agrees_with_r(case):
    found = chi_square_test_power(case["w"], case["df"], alpha=case["alpha"], power=case["power"])

    assert found.n_total == case["N_ceil"]
    assert found.n_exact == pytest.approx(case["N"], rel=1e-6)
    assert found.actual_power == pytest.approx(case["actual_power"], rel=1e-9)


@pytest.mark.parametrize(("groups", "effect", "n"), [(2, 0.01, 50), (5, 0.4, 16), (45, 0.1, 300), (3, 3.0, 2)])
def test_anova_power_agrees_with_statsmodels(groups, effect, n):
    expected = FTestAnovaPower().power(effect, n * groups, 0.01, k_groups=groups)

    assert anova_power(groups, effect, alpha=0.01, n_per_group=n).actual_power == pytest.approx(expected, rel=1e-9)


def test_the_paper_design_needs_16_and_at_its_bonferroni_level_22():
    assert anova_power(5, 0.4).n_per_group == 16
    assert anova_power(5, 0.4, alpha=0.05 / 4).n_per_group == 22


def test_a_huge_effect_needs_two_annotators_a_group():
    assert anova_power(5, 50.0).n_per_group == 2
    assert proportions_power(0.0, 1.0).n_per_group == 2
    assert chi_square_test_power(10.0, 1).n_total == 2


def test_a_tiny_effect_needs_the_smallest_number_that_reaches_the_power():
    found = anova_power(5, 0.001)

    assert found.n_per_group > 400_000
    assert found.actual_power >= 0.8
    assert anova_power(5, 0.001, n_per_group=found.n_per_group - 1).actual_power < 0.8
    limit = stats.ncx2.sf(stats.chi2.isf(0.05, 4), 4, found.noncentrality)
    assert found.actual_power == pytest.approx(limit, rel=1e-5)


def test_the_detectable_effect_is_the_inverse_of_the_sample_size():
    assert anova_power(5, anova_power(5, n_per_group=16).effect_size, n_per_group=16).actual_power == pytest.approx(0.8)
    assert chi_square_test_power(
        chi_square_test_power(None, 4, n_total=100).effect_size, 4, n_total=100
    ).actual_power == pytest.approx(0.8)
    assert cohen_h(1, 0) == pytest.approx(math.pi)
    for p1 in (0.1, 0.5, 0.95):
        p2 = proportions_power(p1, n_per_group=21).p2
        assert proportions_power(p1, p2, n_per_group=21).actual_power == pytest.approx(0.8)


@pytest.mark.parametrize(
    "question",
    [
        lambda: anova_power(5, 0.0),
        lambda: anova_power(5, -0.4),
        lambda: anova_power(5, 0.4, power=1.0),
        lambda: anova_power(5, 0.4, alpha=0.05, power=0.05),
        lambda: anova_power(1, 0.4),
        lambda: anova_power(5, 0.4, n_per_group=1),
        lambda: anova_power(5, 0.4, n_per_group=10, alpha=0),
        lambda: anova_power(5, 1e-9),
        lambda: anova_power(5, math.nan),
        lambda: proportions_power(0.5, 0.5),
        lambda: proportions_power(0.5, 1.2),
        lambda: proportions_power(0.5, 0.6, sides=3),
        lambda: proportions_power(0.5, 0.6, method="exact"),
        lambda: proportions_power(0.5, n_per_group=2),
        lambda: chi_square_test_power(0.1, 0),
        lambda: chi_square_test_power(0.0, 4),
        lambda: chi_square_test_power(0.3, 4, power=1),
        lambda: detectable_shift(0.5),
        lambda: anova_power(2, n_per_group=2, alpha=1e-12),
        lambda: proportions_power(1.2, n_per_group=30),
    ],
)
def test_a_question_without_an_answer_is_an_error(question):
    with pytest.raises(StatisticsError):
        question()


@pytest.mark.parametrize("df2", [1, 2, 9])
@pytest.mark.parametrize("alpha", [0.05, 1e-5, 1e-30, 1e-90])
def test_power_goes_on_smoothly_beyond_what_the_series_can_compute(df2, alpha):
    critical = f_critical(alpha, 1, df2)
    series, limit, far, surest = (
        f_power(critical, 1, df2, at) for at in (LARGEST_NONCENTRALITY, 1.0000001 * LARGEST_NONCENTRALITY, 1e12, np.inf)
    )

    assert limit == pytest.approx(series, rel=1e-6)
    assert series <= limit <= far <= surest == 1


def test_a_power_at_an_alpha_of_next_to_nothing_is_a_number_and_no_warning():
    assert 0 <= power_of_queries(3, 0.5, 2.7e-197, alpha=7e-277) <= 1


@pytest.mark.parametrize(
    ("df", "alpha", "power"), [(2, 0.05, 0.8), (24, 0.05, 0.8), (25.5, 0.01, 0.95), (900, 0.05, 0.5)]
)
def test_the_smallest_difference_found_is_where_the_noncentral_t_reaches_the_power(df, alpha, power):
    shift = detectable_shift(df, alpha=alpha, power=power)

    critical = stats.t.isf(alpha / 2, df)
    assert stats.nct.sf(critical, df, shift) + stats.nct.cdf(-critical, df, shift) == pytest.approx(power, rel=1e-6)
