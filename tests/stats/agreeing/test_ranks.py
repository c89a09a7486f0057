from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score
from tests.support.samples import NAN, random_sample, sample_of

from casewise.stats.estimates import estimate_of
from casewise.stats.metrics import auroc, spearman


def by_scikit_learn(sample):
    truth = np.r_[np.ones(len(sample)), np.zeros(len(sample))]
    return roc_auc_score(
        truth, np.r_[sample.value, sample.value], sample_weight=np.r_[sample.weight, 1 - sample.weight]
    )


def test_three_of_four_orders_are_right():
    assert auroc(sample_of([1, 1, 0, 0], [1, 0, 0, 1], probability=[0.9, 0.4, 0.2, 0.6])).value == 0.75


def test_tied_values_and_tied_people_count_half():
    assert auroc(sample_of([1, 0], [1, 1], probability=[0.7, 0.7])).value == 0.5
    assert auroc(sample_of([0.5, 0], [1, 1], probability=[0.9, 0.2])).value == pytest.approx(1.25 / 1.5)


def test_area_agrees_with_scikit_learn_on_weighted_copies():
    sample = random_sample(np.random.default_rng(1))

    assert auroc(sample).value == pytest.approx(by_scikit_learn(sample), rel=1e-12)


def test_rank_correlation_agrees_with_scipy():
    sample = random_sample(np.random.default_rng(2))

    assert spearman(sample).value == pytest.approx(spearmanr(sample.value, sample.rate).statistic, rel=1e-12)


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_the_error_is_that_of_leaving_each_query_out(statistic):
    sample = random_sample(np.random.default_rng(4), queries=150)
    measured = statistic(sample)
    without = np.array([statistic(sample.where(sample.cluster != query)).value for query in range(150)])

    jackknife = np.sqrt(149 / 150 * ((without - without.mean()) ** 2).sum())
    assert np.sqrt(measured.variance) == pytest.approx(jackknife, rel=0.02)


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_the_loss_of_a_query_is_what_it_costs_to_judge_it_wrongly(statistic):
    sample = random_sample(np.random.default_rng(5), queries=2_000)
    measured, wrong = statistic(sample), sample.cluster == 0
    changed = replace(sample, value=np.where(wrong, sample.lost.value, sample.value))

    assert measured.loss[0] == pytest.approx(statistic(changed).value - measured.value, rel=0.02)


def test_unscored_items_are_left_out_and_counted():
    measured = auroc(sample_of([1, 1, 0], [1, NAN, 0], probability=[0.9, NAN, 0.1]))

    assert (measured.value, measured.n, measured.n_unscored) == (1, 2, 1)


@pytest.mark.parametrize(
    ("statistic", "weight", "values", "why"),
    [(auroc, [1, 1], [0.9, 0.1], "a class is missing"), (spearman, [1, 0], [0.9, 0.9], "nothing varies")],
)
def test_where_there_is_nothing_to_order_there_is_no_number(statistic, weight, values, why):
    found = estimate_of(statistic(sample_of(weight, [1, 1], probability=values)))

    assert (found.estimate, found.method) == (None, f"undefined: {why}")


@pytest.mark.parametrize("statistic", [auroc, spearman])
def test_a_monotone_change_of_scale_changes_no_rank(statistic):
    sample = random_sample(np.random.default_rng(8))
    stretched = sample_of(sample.weight, sample.safe, rate=sample.rate, probability=sample.value**3 / 7)

    assert statistic(sample).value == pytest.approx(statistic(stretched).value, rel=1e-12)
