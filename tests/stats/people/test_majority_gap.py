import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.people.majority_gap import majority_gap


def test_counts_that_stop_at_the_line_are_a_gap():
    counts = np.repeat(np.arange(11), [9, 29, 37, 65, 67, 67, 59, 51, 24, 16, 26])

    gap = majority_gap(counts, votes=20)

    assert gap is not None
    assert (gap.cut, gap.below, gap.above) == (10, 26, 0)
    assert gap.p < 1e-5


def test_the_step_is_the_likelihood_ratio_of_two_poisson_regressions():
    import statsmodels.api as sm

    counts = np.random.default_rng(0).binomial(21, 0.45, size=500)
    gap = majority_gap(counts, votes=21)
    assert gap is not None

    histogram = np.bincount(counts, minlength=22)[6:16].astype(float)
    k = np.arange(6, 16)
    smooth = np.column_stack([np.ones(10), k, k**2])
    without = sm.GLM(histogram, smooth, family=sm.families.Poisson()).fit()
    with_step = sm.GLM(histogram, np.column_stack([smooth, k > 10]), family=sm.families.Poisson()).fit()
    assert gap.statistic == pytest.approx(2 * (with_step.llf - without.llf), rel=1e-4)
    assert gap.log_ratio == pytest.approx(with_step.params[-1], abs=1e-3)


def test_too_few_items_near_the_line_tell_nothing():
    assert majority_gap([0] * 500 + [10] * 20, votes=20) is None


def test_five_votes_have_no_line_to_stop_at():
    with pytest.raises(StatisticsError, match="at least 6"):
        majority_gap([1, 2], votes=5)


@pytest.mark.slow
@pytest.mark.parametrize(("votes", "a", "b"), [(20, 6.7, 20.7), (21, 10, 6), (20, 1, 1), (7, 3, 3)])
def test_smooth_crowds_have_gaps_no_more_often_than_stated(votes, a, b):
    draws = np.random.default_rng(votes)
    found = [majority_gap(draws.binomial(votes, draws.beta(a, b, size=450)), votes=votes) for _ in range(1000)]
    p = np.array([1 if gap is None else gap.p for gap in found])

    assert (p < 0.001).mean() <= 0.005
    assert (p < 0.05).mean() <= 0.08
