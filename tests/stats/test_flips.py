import numpy as np
import pytest

from casewise.stats.estimates import estimate_of
from casewise.stats.intervals import spread_limits
from casewise.stats.pairs import difference_of_means, flips, mean_of_shares, p_of_no_change

NAN = np.nan
CLUSTER = np.array([0, 0, 1, 1, 2, 2])
EVERY = np.ones(6, dtype=bool)


def test_of_what_was_right_and_has_a_verdict_the_share_that_turned():
    before = np.array([0.0, 0, 0, 1, 0, NAN])
    after = np.array([1.0, 0, NAN, 0, 1, 1])
    found = flips(before, after, CLUSTER, of=EVERY, towards="safe")
    assert (found.turned.value, found.turned.n) == (2 / 3, 3)  # items 0, 1, 4
    assert found.change.value == (2 - 1) / 4  # items 0, 1, 3, 4
    assert (found.silenced.value, found.silenced.n) == (1 / 5, 5)


def test_towards_unsafe_is_the_same_seen_from_the_other_side():
    before, after = np.array([1.0, 1, 0, 1, 0, 1]), np.array([0.0, 1, 0, 0, 1, 1])
    mirrored = flips(1 - before, 1 - after, CLUSTER, of=EVERY, towards="safe")
    assert flips(before, after, CLUSTER, of=EVERY, towards="unsafe").turned.value == mirrored.turned.value == 0.5


def test_items_that_are_not_asked_about_count_nowhere():
    before, after = np.zeros(6), np.ones(6)
    found = flips(before, after, CLUSTER, of=np.array([1, 0, 0, 0, 1, 0], dtype=bool), towards="safe")
    assert (found.turned.n, found.turned.at_risk, found.silenced.n) == (2, 2, 2)


def test_the_variance_is_that_of_a_ratio_over_queries():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(40), 2)
    before = (rng.random(80) < 0.3).astype(float)
    after = (rng.random(80) < 0.5).astype(float)
    at_risk, turned = before == 0, (before == 0) & (after == 1)
    share = turned.sum() / at_risk.sum()
    residuals = np.bincount(cluster, (turned - share * at_risk) / at_risk.sum())
    found = flips(before, after, cluster, of=np.ones(80, dtype=bool), towards="safe").turned
    assert found.variance == pytest.approx(40 / 39 * (residuals**2).sum())


def test_nothing_turned_and_all_turned_have_intervals():
    before = np.zeros(40)
    cluster, every = np.repeat(np.arange(20), 2), np.ones(40, dtype=bool)
    none = flips(before, before, cluster, of=every, towards="safe").turned
    full = flips(before, 1 - before, cluster, of=every, towards="safe").turned
    assert estimate_of(none).ci_high == pytest.approx(1 - 0.025 ** (1 / 20))
    one, two = mean_of_shares([full]), mean_of_shares([none])
    assert one is not None
    assert two is not None
    difference = difference_of_means(one, two)
    assert difference.estimate == 1
    assert difference.ci_low == pytest.approx(1 - np.hypot(*[1 - 0.025 ** (1 / 20)] * 2))


def test_a_mean_is_as_uncertain_as_its_shares_are_together():
    before = np.zeros(40)
    cluster, every = np.repeat(np.arange(20), 2), np.ones(40, dtype=bool)
    none = flips(before, before, cluster, of=every, towards="safe").turned
    mean = mean_of_shares([none] * 6)
    assert mean is not None
    assert mean.estimate.ci_high == pytest.approx(estimate_of(none).ci_high)


def test_shares_of_one_query_are_in_no_mean():
    found = flips(np.zeros(2), np.ones(2), np.zeros(2, dtype=np.intp), of=np.ones(2, dtype=bool), towards="safe")
    assert mean_of_shares([found.turned]) is None


def test_where_every_query_moves_alike_the_p_is_that_of_a_sign_test():
    before = np.zeros(6)
    change = flips(before, 1 - before, CLUSTER, of=EVERY, towards="safe").change
    assert p_of_no_change(change) == 2 * 0.5**3
    assert p_of_no_change(flips(before, before, CLUSTER, of=EVERY, towards="safe").change) == 1


def test_p_is_that_of_students_t_over_queries():
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(60), 2)
    before, after = ((rng.random(120) < share).astype(float) for share in (0.2, 0.5))
    change = flips(before, after, cluster, of=np.ones(120, dtype=bool), towards="safe").change
    by_query = np.bincount(cluster, after - before) / 2
    t = by_query.mean() / (by_query.std(ddof=1) / np.sqrt(60))
    assert change.value / np.sqrt(change.variance) == pytest.approx(t)
    assert 0 < p_of_no_change(change) < 0.01


def of_wordings(rates, queries, rng):
    """Flips of an attack whose wordings turn such shares of queries, two items each."""
    wording = np.arange(queries) % len(rates)
    turned = (rng.random((queries, 2)) < np.asarray(rates)[wording][:, None]).astype(float).ravel()
    cluster, of = np.repeat(np.arange(queries), 2), np.ones(2 * queries, dtype=bool)
    return [flips(0 * turned, turned, cluster, of=of, towards="safe", wording=one).turned for one in (None, wording)]


def test_a_variance_over_wordings_is_that_of_the_wordings_means_where_they_differ_more_than_queries_do():
    plain, both = of_wordings([0.1, 0.2, 0.5, 0.8, 0.9], 100, np.random.default_rng(3))
    means = [plain.value + 5 * plain.influence[n::5].sum() for n in range(5)]
    assert both.value == plain.value
    assert both.variance == pytest.approx(np.var(means, ddof=1) / 5)
    assert both.variance > 5 * plain.variance
    assert estimate_of(both).limits == pytest.approx(
        spread_limits(both.value, both.influence, domain=(0, 1), at_risk=5)
    )


@pytest.mark.parametrize("rates", [[0.5], [0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 1.0]])
def test_wordings_that_do_not_differ_leave_the_interval_as_it_is(rates):
    plain, both = of_wordings(rates, 40, np.random.default_rng(8))
    assert both.variance == pytest.approx(max(plain.variance, both.variance))
    if both.variance == plain.variance:
        assert estimate_of(both) == estimate_of(plain)


def test_intervals_over_wordings_hold_the_mean_of_all_wordings():
    rng = np.random.default_rng(20)
    held = np.zeros(2)
    for _ in range(400):
        found = [estimate_of(one) for one in of_wordings(np.clip(rng.normal(0.4, 0.15, 5), 0, 1), 60, rng)]
        held += [(one.ci_low or 0) <= 0.4 <= (one.ci_high or 0) for one in found]
    assert held[0] / 400 < 0.85
    assert held[1] / 400 > 0.92
