"""The feature that separates errors, and how often it is found where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from casewise.stats.separation import Family, Memberships, separation, standardised


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


@pytest.mark.parametrize(("n_with", "searched"), [(2, 2), (3, 4), (37, 4), (38, 2)])
def test_a_statement_of_few_items_or_of_nearly_all_is_not_searched(n_with, searched):
    """Of a second parameter one statement stands on half of the items."""
    error = np.arange(40) < 5
    has = Memberships(np.r_[np.arange(n_with), np.arange(20)], np.r_[[0] * n_with, [1] * 20], np.array([0, 1]))
    found = separation(error, has, np.arange(40), rng=np.random.default_rng(6))

    assert found is not None
    assert found.searched == searched, "statements and parameters"


def test_where_no_statement_stands_on_enough_items_there_is_nothing_to_search():
    has = Memberships(np.arange(2), np.zeros(2, dtype=np.intp), np.zeros(1, dtype=np.intp))

    assert separation(np.arange(40) < 5, has, np.arange(40), rng=np.random.default_rng(6)) is None


@pytest.mark.parametrize(("queries", "permutations"), [(400, 999), (401, 199)])
def test_the_least_p_is_that_of_so_many_permutations_for_both_families(queries, permutations):
    """Each query has five items, and errs on the one with the first statement."""
    has = Memberships(np.arange(5 * queries), np.arange(5 * queries) % 5, np.zeros(5, dtype=np.intp))
    cluster = np.arange(5 * queries) // 5
    found = separation(np.arange(5 * queries) % 5 == 0, has, cluster, rng=np.random.default_rng(7))

    assert found is not None
    assert found.feature == 0
    assert found.p == pytest.approx(2 / (permutations + 1))


def test_of_two_families_with_the_same_p_the_larger_statistic_is_named():
    """In forty queries the first statement's item errs, in ten with the second statement every item does.

    Within queries the first is 40 * .8 / sqrt(40 * .16) = 12.6 spreads away, between them the second 7.
    """
    items, first = np.arange(250), np.arange(0, 200, 5)
    has = Memberships(np.r_[first, np.arange(200, 250)], np.repeat([0, 1], [40, 50]), np.array([0, 1]))
    error = (items >= 200) | np.isin(items, first)
    found = separation(error, has, items // 5, rng=np.random.default_rng(8))

    assert found is not None
    assert (found.feature, found.parameter) == (0, 0)


def test_between_queries_a_statement_counts_by_its_share_of_each_query():
    """It stands on one item in twenty of ten large queries, which never err, and on ten queries of one item, which do."""
    sizes = np.repeat([20, 1], 20)
    cluster = np.repeat(np.arange(40), sizes)
    start = np.cumsum(sizes) - sizes
    stands = start[[*range(10), *range(20, 30)]]
    has = Memberships(stands, np.zeros(20, dtype=np.intp), np.zeros(1, dtype=np.intp))
    found = separation(np.isin(np.arange(420), start[20:30]), has, cluster, rng=np.random.default_rng(9))

    assert found is not None
    assert found.p < 0.01


def test_a_parameter_whose_statements_go_with_whole_queries_is_found_as_well():
    rng = np.random.default_rng(10)
    stated = np.repeat(rng.integers(0, 10, 200), 4)
    has = Memberships(np.arange(800), stated, np.zeros(10, dtype=np.intp))
    found = separation(rng.random(800) < np.where(stated % 2, 0.5, 0.1), has, np.arange(800) // 4, rng=rng)

    assert found is not None
    assert (found.feature, found.parameter) == (None, 0)
    assert found.p < 0.01


def test_a_p_value_is_at_most_1():
    """The statement stands on one of two items of each query, and errs as often as the other."""
    has = Memberships(np.arange(0, 40, 2), np.zeros(20, dtype=np.intp), np.zeros(1, dtype=np.intp))
    error = np.isin(np.arange(40), np.r_[np.arange(0, 20, 2), np.arange(21, 40, 2)])
    found = separation(error, has, np.arange(40) // 2, rng=np.random.default_rng(11))

    assert found is not None
    assert found.p == 1.0


def test_a_family_counts_permutations_that_reach_its_largest_statistic_and_sums_parameters_of_two_statements():
    single = Family.from_totals(np.array([[3.0, 2.9, *[0.0] * 18]]), np.array([1]), np.array([0]))
    alternating = np.array([[2.0, *[2.1, 0.0] * 10], [2.0, *[0.0, 2.1] * 10]])
    both = Family.from_totals(alternating, np.array([1, 1]), np.array([0, 0]))

    assert (single.place, single.p) == (0, 1 / 20)
    assert (both.place, both.p) == (2, 1 / 21)


def test_a_statistic_is_standardised_over_its_permutations_and_0_where_none_changes_it():
    row = np.array([3.0, 2.9, *[0.0] * 18])

    assert standardised(np.array([row, np.full(20, 7.0)])) == pytest.approx(
        np.array([(row - row.mean()) / row.std(), np.zeros(20)])
    )
    assert Family.from_totals(row[None], np.array([1]), np.array([0])).largest == pytest.approx(
        (3 - row.mean()) / row.std()
    )
