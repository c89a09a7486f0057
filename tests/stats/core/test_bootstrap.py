import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.core.bootstrap import (
    cluster_sums,
    percentile_interval,
    resampled_sums,
    resampling_weights,
)


def rng(seed=1):
    return np.random.default_rng(seed)


def test_terms_are_summed_within_clusters():
    sums = cluster_sums(np.array([[1.0, 10], [2, 20], [4, 40]]), np.array([0, 1, 0]), n_clusters=2)

    assert sums.tolist() == [[5, 50], [2, 20]]


def test_every_resample_draws_as_many_clusters_as_there_are():
    weights = np.concatenate(list(resampling_weights(7, rng=rng(), n_resamples=500)))

    assert weights.shape == (500, 7)
    assert (weights.sum(axis=1) == 7).all()


def test_no_two_resamples_share_a_stream():
    weights = np.concatenate(list(resampling_weights(40, rng=rng(), n_resamples=2000)))

    assert len(np.unique(weights, axis=0)) == 2000


def test_chunks_are_of_one_stream(monkeypatch):
    monkeypatch.setattr("casewise.stats.core.bootstrap.CHUNK", 50 * 8)
    chunks = list(resampling_weights(50, rng=rng(), n_resamples=30))

    assert [len(chunk) for chunk in chunks] == [8, 8, 8, 6]
    assert len(np.unique(np.concatenate(chunks), axis=0)) == 30


def test_the_spread_of_a_mean_is_its_analytic_error():
    values = rng(3).normal(size=(400, 1))
    means = resampled_sums(values, rng=rng(), n_resamples=20_000) / 400

    assert means.std() == pytest.approx(values.std() / np.sqrt(400), rel=0.02)


def test_a_percentile_interval_leaves_out_what_is_undefined():
    values = np.r_[np.arange(1000.0), np.full(50, np.nan)]

    assert percentile_interval(values) == pytest.approx((24.975, 974.025))


def test_there_is_no_interval_where_a_tenth_is_undefined():
    assert np.isnan(percentile_interval(np.r_[np.arange(80.0), np.full(20, np.nan)])).all()


def test_nothing_cannot_be_resampled():
    with pytest.raises(StatisticsError, match="no clusters"):
        next(resampling_weights(0, rng=rng()))
