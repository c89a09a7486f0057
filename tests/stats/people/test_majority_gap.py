import math

import numpy as np
import pytest
from scipy import stats
from tests.support.rate_mixtures import ACTS, HONEST, counts_of

from casewise.errors import StatisticsError
from casewise.stats.crowd import FINE, _binomials, _cells, _guess, _log_stake, _nearest, majority_gap

RELEASE = np.repeat(np.arange(11), [9, 29, 37, 65, 67, 67, 59, 51, 24, 16, 26])
"""Safe votes of the release's unsafe-intended items."""


def gap_of(counts, votes=20, seed=0):
    return majority_gap(counts, votes=votes, rng=np.random.default_rng(seed))


def rejects(counts, votes=20, seed=0):
    gap = gap_of(counts, votes, seed)
    return gap is not None and gap.p < 0.0005


@pytest.mark.parametrize("seed", range(3))
def test_counts_that_stop_at_the_line_are_a_gap(seed):
    gap = gap_of(RELEASE, seed=seed)

    assert gap is not None
    assert (gap.cut, gap.below, gap.above) == (10, 26, 0)
    assert gap.p < 0.0005
    assert gap.log_ratio < -2


def test_the_p_value_is_the_inverse_of_the_stake():
    gap = gap_of(RELEASE)

    assert gap is not None
    assert gap.p == pytest.approx(1 / math.exp(gap.log_stake))


@pytest.mark.parametrize("votes", [7, 20, 41])
def test_no_crowd_wins_the_bet_on_average(votes):
    """The mean of one item's stake, over the votes of an item of any rate, is at most the one that was laid down."""
    rng = np.random.default_rng(votes)
    chances = stats.binom.pmf(np.arange(votes + 1)[:, None], votes, np.linspace(0, 1, 3001))
    made_of, fine = (_binomials(votes, np.linspace(0, 1, points)) for points in (102, FINE + 1))
    for _ in range(20):
        guess = _guess(np.bincount(rng.integers(0, votes + 1, size=60), minlength=votes + 1), votes)
        odds = guess / _nearest(guess, made_of[:, 1:-1])
        odds = odds / max(1.0, float(np.max(odds @ fine)))

        assert float(np.max(odds @ chances)) <= 1 + 1e-4


def test_binomials_are_those_of_scipy():
    assert _binomials(9, np.array([0.0, 0.3, 1.0])) == pytest.approx(
        stats.binom.pmf(np.arange(10)[:, None], 9, [0.0, 0.3, 1.0]), abs=1e-14
    )


def test_the_nearest_mixture_is_the_likeliest_one():
    """Laird's condition: no single rate would have made the counts likelier than the mixture does."""
    shares = np.bincount(np.random.default_rng(1).binomial(12, 0.4, size=300), minlength=13) / 300
    rates = _binomials(12, (np.arange(101) + 0.5) / 101)

    fitted = _nearest(shares, rates)

    assert np.max((shares / fitted) @ rates) <= 1.02


@pytest.mark.parametrize(
    ("votes", "counts"), [(20, [8, 9, 10, 11, 12]), (21, [9, 10, 11, 12]), (40, [16, 17, 18, 19, 20, 21, 22, 23, 24])]
)
def test_the_cells_are_two_on_each_side_of_the_line(votes, counts):
    covered = np.concatenate([np.arange(votes + 1)[cell] for cell in _cells(votes)])

    assert sorted(covered.tolist()) == counts


def test_the_stake_is_the_product_of_what_each_item_makes_of_it():
    counts = np.random.default_rng(5).binomial(20, 0.5, size=100)

    assert _log_stake(counts, 20) < 0
    assert _log_stake(np.where(counts == 10, 11, counts), 20) > _log_stake(counts, 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_a_crowd_whose_rates_are_spread_in_any_way_has_no_gap(name):
    rng = np.random.default_rng(11)
    drawn = [counts_of(HONEST[name], items=450, votes=20, rng=rng) for _ in range(2)]

    assert not any(rejects(counts) for counts in drawn)


@pytest.mark.parametrize("items", [450, 5000])
@pytest.mark.parametrize(
    "name", ["beta(5, 5)", "(0.5,)", "many above, some at the line", "a hill at the line on a plain"]
)
def test_neither_few_votes_nor_many_items_make_an_honest_crowd_suspect(name, items):
    counts = counts_of(HONEST[name], items=items, votes=7, rng=np.random.default_rng(2))

    assert not rejects(counts, votes=7)


@pytest.mark.parametrize("act", ["one vote in ten moved", "as many votes moved as are lacking"])
@pytest.mark.parametrize("name", ["beta(1, 1)", "beta(2, 2)", "beta(5, 5)", "beta(10, 6)", "logits N(0, 1)"])
def test_votes_moved_over_the_line_are_found(act, name):
    rng = np.random.default_rng(3)
    counts = counts_of(HONEST[name], items=450, votes=20, rng=rng)

    assert rejects(ACTS[act](counts, votes=20, share=1.0, rng=rng))


def test_too_few_items_near_the_line_tell_nothing():
    assert gap_of([0] * 500 + [10] * 20) is None


@pytest.mark.parametrize("votes", [5, 201])
def test_five_votes_have_no_line_to_stop_at_and_hundreds_no_steps(votes):
    with pytest.raises(StatisticsError, match="6 to 200"):
        gap_of([1, 2], votes)
