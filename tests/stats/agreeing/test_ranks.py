import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from tests.support.samples import NAN, random_sample, sample_of, some

from casewise.stats.agreeing.estimates import estimate_of
from casewise.stats.agreeing.ranks import auroc, spearman
from casewise.stats.core.bootstrap import Resampling

FEW = Resampling(n_resamples=200, seed=3)


def by_scikit_learn(sample):
    truth = np.r_[np.ones(len(sample)), np.zeros(len(sample))]
    return roc_auc_score(
        truth, np.r_[sample.value, sample.value], sample_weight=np.r_[sample.weight, 1 - sample.weight]
    )


def drawn_again(sample, weights):
    """The sample with its queries repeated as often as `weights` says."""
    times = weights[sample.cluster].astype(int)
    return np.repeat(np.arange(len(sample)), times)


def test_three_of_four_orders_are_right():
    assert auroc(sample_of([1, 1, 0, 0], [1, 0, 0, 1], probability=[0.9, 0.4, 0.2, 0.6])).value == 0.75


def test_tied_values_and_tied_people_count_half():
    assert auroc(sample_of([1, 0], [1, 1], probability=[0.7, 0.7])).value == 0.5
    assert auroc(sample_of([0.5, 0], [1, 1], probability=[0.9, 0.2])).value == pytest.approx(1.25 / 1.5)


def test_area_agrees_with_scikit_learn_on_weighted_copies():
    sample = random_sample(np.random.default_rng(1))

    assert auroc(sample, FEW).value == pytest.approx(by_scikit_learn(sample), rel=1e-12)


def test_rank_correlation_agrees_with_scipy():
    sample = random_sample(np.random.default_rng(2))

    assert spearman(sample, FEW).value == pytest.approx(spearmanr(sample.value, sample.rate).statistic, rel=1e-12)


def test_every_resample_ranks_its_own_items():
    sample = random_sample(np.random.default_rng(3), queries=25)
    areas, correlations = some(auroc(sample, FEW).resampled), some(spearman(sample, FEW).resampled)

    weights = np.concatenate(list(FEW.weights(sample.n_clusters)))
    for draw in range(0, 200, 20):
        again = drawn_again(sample, weights[draw])
        copy = sample_of(
            sample.weight[again], sample.safe[again], rate=sample.rate[again], probability=sample.value[again]
        )
        assert areas[draw] == pytest.approx(by_scikit_learn(copy), rel=1e-12)
        assert correlations[draw] == pytest.approx(spearmanr(copy.value, copy.rate).statistic, rel=1e-12)


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_the_analytic_error_is_that_of_the_bootstrap(statistic):
    measured = statistic(random_sample(np.random.default_rng(4), queries=400), Resampling(n_resamples=2000))

    assert np.sqrt(measured.variance) == pytest.approx(some(measured.resampled).std(), rel=0.06)


def test_unscored_items_are_left_out_and_counted():
    measured = auroc(sample_of([1, 1, 0], [1, NAN, 0], probability=[0.9, NAN, 0.1]), FEW)

    assert (measured.value, measured.n, measured.n_unscored) == (1, 2, 1)


def test_one_class_alone_has_no_area():
    found = estimate_of(auroc(sample_of([1, 1], [1, 0], probability=[0.9, 0.1]), FEW))

    assert found.estimate is None
    assert found.method == "undefined: a class is missing"


def test_constant_values_have_no_rank_correlation():
    found = estimate_of(spearman(sample_of([1, 0], [1, 1], probability=[0.9, 0.9]), FEW))

    assert found.estimate is None
    assert found.method == "undefined: nothing varies"


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_a_monotone_change_of_scale_changes_no_rank(statistic):
    sample = random_sample(np.random.default_rng(8))
    stretched = sample_of(sample.weight, sample.safe, rate=sample.rate, probability=sample.value**3 / 7)

    assert statistic(sample, FEW).value == pytest.approx(statistic(stretched, FEW).value, rel=1e-12)
