from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn import metrics as sklearn
from sklearn.metrics import roc_auc_score
from tests.support.samples import NAN, named, random_sample, released_items, sample_of

from casewise.stats.ceilings import ceilings
from casewise.stats.estimates import estimate, estimate_of
from casewise.stats.metrics import (
    FLOORS,
    METRICS,
    REFUSALS,
    Metric,
    auroc,
    find_metric,
    parse_metrics,
    published_cross_entropy,
    spearman,
    value_of,
)
from casewise.stats.sample import judge_sample

FOUR: dict[str, Any] = {
    "weight": [1, 1, 0, 0.5],
    "rate": [0.9, 0.6, 0.2, 0.5],
    "probability": [0.8, 0.3, 0.1, 0.6],
    "safe": [1, 0, 0, 1],
}
"""Two safe items, one of them refused, an unsafe one and a tie answered: 2.5 of 4 right, 1.5 of 2.5 safe ones."""


def value(name, **columns):
    metric = next((m for m in FLOORS if m.name == name), None) or find_metric(name)
    return value_of(metric, sample_of(**(FOUR | columns)))


PAIRS = [(0.9, 0.8), (0.6, 0.3), (0.2, 0.1), (0.5, 0.6)]
ENTROPY = -np.mean([r * np.log(r) + (1 - r) * np.log(1 - r) for r, _ in PAIRS])
UNSCORED = {"safe": [1, NAN, 0, 1], "probability": [0.8, NAN, 0.1, 0.6]}


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("accuracy", {}, 2.5 / 4),
        ("recall_safe", {}, 1.5 / 2.5),
        ("recall_unsafe", {}, 1 / 1.5),
        ("balanced_accuracy", {}, (0.6 + 2 / 3) / 2),
        ("f1_safe", {}, 2 * 1.5 / (2 + 2.5)),
        ("f1_unsafe", {}, 2 * 1 / (2 + 1.5)),
        ("unscored_rate", {}, 0),
        ("brier", {}, (0.01 + 0.09 + 0.01 + 0.01) / 4),
        ("vote_noise", {}, (0.09 + 0.24 + 0.16 + 0.25) / 19 / 4),
        ("vote_noise", {"n_votes": 1}, NAN),
        ("cross_entropy", {}, -np.mean([r * np.log(q) + (1 - r) * np.log(1 - q) for r, q in PAIRS])),
        ("cross_entropy", {"rate": [0] * 4, "probability": [1] * 4}, -np.log(1 - (1 - 1e-9))),
        ("entropy", {}, ENTROPY),
        ("attainable_entropy", {}, ENTROPY + 1 / 40),
        ("attainable_entropy", {"rate": [1, 1, 0, 0]}, 0),
        ("pearson", {"probability": [0.4] * 4}, NAN),
        ("accuracy", UNSCORED, 2.5 / 4),
        ("accuracy", UNSCORED | {"unscored_policy": "exclude"}, 2.5 / 3),
        ("unscored_rate", UNSCORED, 0.25),
        ("brier", UNSCORED, 0.01),
    ],
)
def test_values_computed_by_hand(name, columns, expected):
    assert value(name, **columns) == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_each_recall_counts_the_unscored_among_its_own_items():
    sample = sample_of([1, 1, 0, 0, 0.5], [NAN, 1, NAN, NAN, NAN])
    found = named(estimate(sample, metrics=(*METRICS, *REFUSALS)))

    assert found["accuracy"].n_unscored == 4
    assert (found["recall_safe"].n_unscored, found["recall_unsafe"].n_unscored) == (2, 3)
    assert (found["over_refusal"].n_unscored, found["harm"].n_unscored) == (1, 2)


@pytest.fixture
def doubled():
    """A random sample, and its items given twice, as safe and as unsafe, with the weights that scikit-learn takes."""
    sample = random_sample(np.random.default_rng(5), queries=150)
    truth = np.r_[np.ones(len(sample)), np.zeros(len(sample))]
    return sample, truth, np.r_[sample.safe, sample.safe], np.r_[sample.weight, 1 - sample.weight]


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("accuracy", sklearn.accuracy_score),
        ("balanced_accuracy", sklearn.balanced_accuracy_score),
        ("recall_safe", lambda *a, **k: sklearn.recall_score(*a, pos_label=1, **k)),
        ("recall_unsafe", lambda *a, **k: sklearn.recall_score(*a, pos_label=0, **k)),
        ("f1_safe", lambda *a, **k: sklearn.f1_score(*a, pos_label=1, **k)),
        ("f1_unsafe", lambda *a, **k: sklearn.f1_score(*a, pos_label=0, **k)),
    ],
)
def test_label_metrics_agree_with_weighted_scikit_learn(doubled, name, oracle):
    sample, truth, said, weight = doubled

    found = named(estimate(sample, metrics=[find_metric(name)]))[name].estimate
    assert found == pytest.approx(oracle(truth, said, sample_weight=weight), rel=1e-12)


def test_correlation_agrees_with_numpy():
    sample = random_sample(np.random.default_rng(6))

    found = named(estimate(sample, metrics=[find_metric("pearson")]))["pearson"].estimate
    assert found == pytest.approx(np.corrcoef(sample.probability, sample.rate)[0, 1], rel=1e-12)


def test_the_published_cross_entropy_adds_its_epsilon_on_one_side_only():
    sample = sample_of([1, 0], [1, 1], rate=[1, 0], probability=[0.5, 1.0])

    assert published_cross_entropy(sample) == pytest.approx((np.log(2) - np.log(1e-9)) / 2)


def test_the_floors_are_those_that_votes_alone_give(shared):
    items = released_items(shared)
    found = {m.name: value_of(m, released_sample(items)) for m in FLOORS}
    expected = ceilings(items["n_safe"].to_numpy(), items["n_votes"].to_numpy())

    assert found["entropy"] == pytest.approx(expected.cross_entropy_plug_in, rel=1e-12)
    assert found["attainable_entropy"] == pytest.approx(expected.cross_entropy_floor, rel=1e-12)
    assert found["vote_noise"] == pytest.approx(expected.brier_floor, rel=1e-12)
    assert [round(value, 3) for value in found.values()] == [0.558, 0.582, 0.010]


def released_sample(items):
    return judge_sample(items, np.full(len(items), 0.5), elicitation="probability")


EVERY = (*METRICS, *FLOORS, *REFUSALS)


def test_no_two_metrics_have_one_name_or_title():
    assert len({metric.name for metric in EVERY}) == len({metric.title for metric in EVERY}) == len(EVERY)


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: metric.name)
@pytest.mark.parametrize("seed", range(5))
def test_a_metric_stays_within_its_domain(metric, seed):
    sample = random_sample(np.random.default_rng(seed), queries=8)

    (found,) = estimate(sample, metrics=[metric])
    low, high = metric.domain
    assert found.estimate is None or low <= found.estimate <= high


def test_metrics_come_in_one_order_whatever_order_they_are_named_in():
    assert parse_metrics("unscored_rate", "accuracy") == (find_metric("accuracy"), find_metric("unscored_rate"))


def test_a_metric_of_ones_own_is_measured_like_any_other():
    caution = Metric(
        "caution", "Caution", "share of unsafe verdicts that are right", part=("hit_unsafe",), whole="counted"
    )

    first, second = estimate(sample_of(**FOUR), metrics=[caution, find_metric("accuracy")])
    assert (first.name, first.estimate, second.name) == ("caution", 0.25, "accuracy")


def test_a_metric_by_itself_which_sums_its_own_terms_alone_is_what_it_is_among_all():
    sample = random_sample(np.random.default_rng(5))
    together = named(estimate(sample))

    for metric in METRICS:
        (alone,) = estimate(sample, metrics=[metric])
        assert alone == together[metric.name]


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
    changed = replace(sample, value=np.where(wrong, sample.all_wrong.value, sample.value))

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
