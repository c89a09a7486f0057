"""The feature that separates errors, and how often it is found where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from casewise.stats.separation import LEAST_ITEMS, Family, Memberships, separation


def world(rng, *, n_queries, per_query, effect, nested=False):
    """Errors that differ by query, and three parameters of six statements, of which one statement of the first brings errors."""
    query = np.repeat(np.arange(n_queries), per_query)
    n = len(query)
    stated = [rng.integers(0, 6, n_queries)[query] if nested else rng.integers(0, 6, n) for _ in range(3)]
    has = Memberships(
        np.tile(np.arange(n), 3),
        np.concatenate([6 * place + values for place, values in enumerate(stated)]),
        np.repeat(np.arange(3), 6),
    )
    log_odds = -2 + rng.normal(size=n_queries)[query] + effect * (stated[0] == 2)
    return rng.random(n) < 1 / (1 + np.exp(-log_odds)), has, query


def test_a_statement_that_brings_errors_is_found():
    rng = np.random.default_rng(1)
    found = separation(*world(rng, n_queries=40, per_query=5, effect=4), rng=rng)

    assert found is not None
    assert (found.feature, found.parameter) == (2, 0)
    assert found.p < 0.01
    assert found.searched == 18 + 3


@pytest.mark.slow
@pytest.mark.parametrize("nested", [True, False])
def test_where_no_statement_brings_errors_one_in_twenty_searches_finds_one_at_most(nested):
    rng = np.random.default_rng(2)
    found = [separation(*world(rng, n_queries=30, per_query=4, effect=0, nested=nested), rng=rng) for _ in range(100)]

    assert sum(one is not None and one.p < 0.05 for one in found) <= 10


def test_a_parameter_is_found_whose_statements_bring_errors_together():
    """Half of the statements bring errors: no single one separates as well as all of them."""
    rng = np.random.default_rng(3)
    stated, other = rng.integers(0, 20, 800), rng.integers(0, 20, 800)
    has = Memberships(np.tile(np.arange(800), 2), np.concatenate([stated, 20 + other]), np.repeat([0, 1], 20))
    found = separation(rng.random(800) < np.where(stated % 2, 0.4, 0.1), has, np.arange(800) // 4, rng=rng)

    assert found is not None
    assert (found.feature, found.parameter) == (None, 0)
    assert found.p < 0.05


def test_errors_of_one_query_are_separated_within_it():
    """All errors are in one query of thirty, on the items of one statement."""
    query, statement = np.repeat(np.arange(30), 20), np.tile(np.arange(20) % 4, 30)
    has = Memberships(np.arange(600), statement, np.zeros(4, dtype=np.intp))
    found = separation((query == 7) & (statement == 1), has, query, rng=np.random.default_rng(4))

    assert found is not None
    assert found.feature == 1
    assert found.p < 0.05


@pytest.mark.parametrize("error", [np.zeros(40, dtype=bool), np.ones(40, dtype=bool)])
def test_without_both_errors_and_others_nothing_is_searched(error):
    has = Memberships(np.arange(40), np.arange(40) % 2, np.zeros(2, dtype=np.intp))

    assert separation(error, has, np.arange(40), rng=np.random.default_rng(5)) is None


@pytest.mark.parametrize("n_with", [LEAST_ITEMS - 1, LEAST_ITEMS, 40 - LEAST_ITEMS, 41 - LEAST_ITEMS])
def test_a_statement_of_few_items_or_of_nearly_all_is_not_searched(n_with):
    error = np.arange(40) < 5
    has = Memberships(np.arange(n_with), np.zeros(n_with, dtype=np.intp), np.zeros(1, dtype=np.intp))
    found = separation(error, has, np.arange(40), rng=np.random.default_rng(6))

    assert (found is not None) == (LEAST_ITEMS <= n_with <= 40 - LEAST_ITEMS)


def test_a_family_counts_permutations_that_reach_its_largest_statistic_and_sums_parameters_of_two_statements():
    single = Family.from_totals(np.array([[3.0, 2.9, *[0.0] * 18]]), np.array([1]), np.array([0]))
    alternating = np.array([[2.0, *[2.1, 0.0] * 10], [2.0, *[0.0, 2.1] * 10]])
    both = Family.from_totals(alternating, np.array([1, 1]), np.array([0, 0]))

    assert (single.place, single.p) == (0, 1 / 20)
    assert (both.place, both.p) == (2, 1 / 21)
