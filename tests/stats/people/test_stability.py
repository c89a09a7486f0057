import numpy as np
import pytest
from scipy import stats

from casewise.errors import StatisticsError
from casewise.stats.ceilings import UNIFORM, BetaPrior, fit_beta, same_label


def test_by_hand_one_safe_vote_of_one():
    # With a uniform prior the next person says safe with probability 2/3 (Laplace's rule of succession).
    assert same_label([1], [1], prior=UNIFORM) == pytest.approx([2 / 3])


def test_a_tie_is_right_half_the_time():
    assert same_label([5], [10], prior=BetaPrior(3, 3)) == pytest.approx([0.5])


def test_without_votes_nothing_is_known():
    assert np.isnan(same_label([0], [0], prior=UNIFORM)).all()


def test_predictions_are_beta_binomial():
    again = np.asarray(stats.betabinom(20, 1.3 + 7, 2.1 + 13).pmf(np.arange(21)))

    expected = again[:10].sum() + again[10] / 2  # the label of 7 of 20 is unsafe
    assert same_label([7], [20], prior=BetaPrior(1.3, 2.1)) == pytest.approx([expected], rel=1e-10)


def test_the_fitted_spread_is_the_simulated_one():
    draws = np.random.default_rng(1)
    safe = draws.binomial(20, draws.beta(6.7, 20.7, size=20_000))

    prior = fit_beta(safe, np.full(20_000, 20))

    assert (prior.a, prior.b) == pytest.approx((6.7, 20.7), rel=0.06)


def test_repeating_a_study_gives_as_many_labels_again_as_predicted():
    draws = np.random.default_rng(2)
    rate = draws.beta(4, 4, size=50_000)
    first, second = draws.binomial(20, rate), draws.binomial(20, rate)
    label = [(np.sign(count - 10) + 1) / 2 for count in (first, second)]

    predicted = same_label(first, np.full(50_000, 20), prior=fit_beta(first, np.full(50_000, 20))).mean()

    again = (label[0] * label[1] + (1 - label[0]) * (1 - label[1])).mean()
    assert predicted == pytest.approx(again, abs=0.01)


def test_single_votes_say_nothing_about_the_spread():
    with pytest.raises(StatisticsError, match="two votes"):
        fit_beta([1, 0], [1, 1])
