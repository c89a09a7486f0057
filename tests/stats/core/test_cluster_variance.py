import numpy as np
import pytest
import statsmodels.api as sm

from casewise.stats.arrays import cluster_sums, cluster_variance, coded_labels
from casewise.stats.ceilings import KindsOfItems


def test_the_variance_of_a_mean_from_influences_is_the_regressions():
    rng = np.random.default_rng(8)
    y, who = rng.normal(size=60), rng.integers(0, 11, size=60)
    groups = {"groups": who, "use_correction": False}
    fit = sm.OLS(y, np.ones(60)).fit(cov_type="cluster", cov_kwds=groups)

    found = cluster_variance((y - y.mean()) / len(y), who)

    assert found == pytest.approx(11 / 10 * fit.cov_params()[0, 0], rel=1e-12)


def test_each_observation_is_its_own_cluster_where_none_are_named():
    y = np.random.default_rng(8).normal(size=30)

    assert cluster_variance((y - y.mean()) / 30) == pytest.approx(y.var(ddof=1) / 30, rel=1e-12)


def test_one_cluster_shows_no_variance():
    assert np.isnan(cluster_variance([0.1, -0.1], ["a", "a"]))


def test_terms_are_summed_within_clusters():
    sums = cluster_sums(np.array([[1.0, 2, 4], [10, 20, 40]]), np.array([0, 1, 0]), n_clusters=2)

    assert sums.tolist() == [[5, 50], [2, 20]]


@pytest.mark.parametrize("codes", [[], [3], [7, 2, 7, 0], [10**9, 5, 10**9], [-1, 4, -1]])
def test_integers_are_numbered_anew_in_their_order(codes):
    expected = np.unique(np.array(codes, dtype=int), return_inverse=True)[1]

    assert coded_labels(np.array(codes, dtype=int)).tolist() == expected.tolist()


@pytest.mark.parametrize("times", [1, 40])
def test_kinds_of_items_are_the_same_whether_counted_or_sorted(times):
    safe, votes = np.tile([2, 0, 5, 2], times), np.tile([3, 3, 5, 5], times)

    found = KindsOfItems.of(safe, votes)

    assert list(zip(found.safe, found.votes, found.times, strict=True)) == [
        (0, 3, times),
        (2, 3, times),
        (2, 5, times),
        (5, 5, times),
    ]
    assert found.safe[found.which].tolist() == safe.tolist()
    assert found.votes[found.which].tolist() == votes.tolist()
