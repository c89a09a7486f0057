from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.samples import some

from casewise.errors import StatisticsError
from casewise.stats.intervals import spread_limits
from casewise.stats.measured import Measured
from casewise.stats.pairs import shapley_values, subsets, weighted_mean

PLAYERS = ("recipient", "sender", "terms")


def measured(value, rng=None, *, clusters=40):
    noise = rng or np.random.default_rng(0)
    return Measured(
        "accuracy",
        value,
        n=80,
        n_unscored=0,
        influence=noise.normal(0, 0.01, clusters),
        at_risk=clusters,
    )


def game(values, **how):
    return {parts: measured(value, **how) for parts, value in zip(subsets(PLAYERS), values, strict=True)}


def by_brute_force(worth):
    """The mean of what each part adds, over all orders."""
    found = dict.fromkeys(PLAYERS, 0.0)
    for order in permutations(PLAYERS):
        shown: frozenset[str] = frozenset()
        for player in order:
            found[player] += (worth[shown | {player}] - worth[shown]) / 6
            shown |= {player}
    return found


def test_two_parts_share_what_only_both_bring():
    values = dict(zip(subsets(("a", "b")), map(measured, (0.0, 1.0, 3.0, 6.0)), strict=True))
    found = shapley_values(values)

    assert found["a"].estimate == pytest.approx(2)
    assert found["b"].estimate == pytest.approx(4)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_values_are_the_mean_over_all_orders_and_add_up(values):
    found = shapley_values(game(values))
    expected = by_brute_force(dict(zip(subsets(PLAYERS), values, strict=True)))

    for player in PLAYERS:
        assert found[player].estimate == pytest.approx(expected[player], abs=1e-9)
    assert sum(found[player].estimate or 0 for player in PLAYERS) == pytest.approx(values[-1] - values[0], abs=1e-9)


def test_a_part_that_adds_nothing_is_worth_nothing():
    worth = [0.5 + 0.2 * ("sender" in parts) + 0.1 * ("terms" in parts) for parts in subsets(PLAYERS)]
    found = shapley_values(game(worth))

    assert found["recipient"].estimate == pytest.approx(0)
    assert found["sender"].estimate == pytest.approx(0.2)


def test_the_interval_is_that_of_the_combined_influences():
    values = game([0.1 * i for i in range(8)], rng=np.random.default_rng(7))
    found = shapley_values(values)["sender"]
    influence = by_brute_force({parts: one.influence for parts, one in values.items()})["sender"]
    limits = spread_limits(some(found.estimate), influence, at_risk=40)

    assert limits is not None
    assert (found.ci_low, found.ci_high) == pytest.approx(limits)


def test_a_missing_subset_is_named():
    values = game([0.0] * 8)
    del values[frozenset({"sender", "terms"})]

    with pytest.raises(StatisticsError, match="this one is missing: sender, terms"):
        shapley_values(values)


def test_numbers_over_different_queries_have_no_mean():
    with pytest.raises(StatisticsError, match="different queries"):
        weighted_mean([(0.5, measured(1.0)), (0.5, measured(1.0, clusters=7))])
