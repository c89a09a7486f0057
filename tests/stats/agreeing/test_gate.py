from dataclasses import replace

import numpy as np
import pytest
from tests.support.samples import random_sample, sample_of

from casewise.errors import StatisticsError
from casewise.stats.comparison import gate


def judges(rng, *, queries, before, after, agree=0.0):
    """Two judges right so often, on the same labels; the second copies the first on a share of queries."""
    weight = rng.integers(0, 2, size=2 * queries).astype(float)
    right = [rng.random(2 * queries) < share for share in (before, after)]
    copied = np.repeat(rng.random(queries) < agree, 2)
    right[1] = np.where(copied, right[0], right[1])
    cluster = np.repeat(np.arange(queries), 2)
    return [sample_of(weight, np.where(r, weight, 1 - weight), cluster=cluster) for r in right]


def test_by_hand_the_drop_is_the_difference_whichever_way_is_good():
    weight = np.array([1.0, 0, 1, 0] * 20)
    before, after = sample_of(weight, weight), sample_of(weight, np.array([0.0, 0, 1, 0] * 20))

    found = gate(before, after, margins={"accuracy": 0.1, "over_refusal": 0.1})

    assert [metric.drop for metric in found.metrics] == pytest.approx([0.25, 0.5])
    assert found.decision == "fail"


@pytest.mark.parametrize("way", [1, -1])
def test_no_bound_of_a_drop_is_larger_than_a_share_can_fall(way):
    weight = np.array([1.0, 0] * 4)
    before, after = (sample_of(weight, verdict) for verdict in (weight, 1 - weight)[::way])

    (metric,) = gate(before, after, margins={"accuracy": 0.1}).metrics

    assert metric.drop == way
    assert -1 <= metric.low <= metric.drop <= metric.high <= 1


def test_much_worse_fails_much_data_alike_passes_and_little_data_is_inconclusive():
    rng = np.random.default_rng(1)
    worse = judges(rng, queries=450, before=0.9, after=0.7)
    alike = judges(rng, queries=450, before=0.9, after=0.9, agree=1)
    few = judges(rng, queries=20, before=0.9, after=0.9)

    decisions = [gate(*pair, margins={"accuracy": 0.02}).decision for pair in (worse, alike, few)]

    assert decisions == ["fail", "pass", "inconclusive"]


def test_one_failing_metric_fails_all_and_one_open_metric_leaves_all_open():
    rng = np.random.default_rng(2)
    before, after = judges(rng, queries=450, before=0.95, after=0.8)
    open_ = judges(rng, queries=30, before=0.9, after=0.9)

    assert gate(before, after, margins={"accuracy": 0.02, "recall_safe": 1}).decision == "fail"
    assert gate(*open_, margins={"accuracy": 0.01, "recall_safe": 1}).decision == "inconclusive"


def test_identical_judges_on_few_items_cannot_show_a_small_margin():
    (one, _) = judges(np.random.default_rng(3), queries=30, before=0.9, after=0.9)

    found = gate(one, one, margins={"accuracy": 0.01}).metrics[0]

    assert found.drop == 0
    assert found.decision == "inconclusive"
    assert 0.01 < found.high < 0.15


def test_a_verdict_that_is_missing_in_one_of_them_is_a_loss():
    weight = np.array([1.0, 0] * 100)
    silent = np.where(np.arange(200) < 60, np.nan, weight)

    found = gate(sample_of(weight, weight), sample_of(weight, silent), margins={"unscored_rate": 0.1})

    assert found.metrics[0].drop == pytest.approx(0.3)
    assert found.decision == "fail"


def test_metrics_of_values_are_gated_too():
    rng = np.random.default_rng(4)
    sample = random_sample(rng, queries=200)
    noise = np.clip(np.nan_to_num(sample.probability) + rng.normal(0, 0.8, len(sample)), 0, 1)

    found = gate(
        sample, replace(sample, probability=noise, value=noise), margins={"pearson": 0.05, "cross_entropy": 0.05}
    )

    assert found.decision == "fail"
    assert all(metric.low < metric.drop < metric.high for metric in found.metrics)


@pytest.mark.parametrize(
    ("margins", "match"),
    [
        ({}, "needs a metric"),
        ({"acuracy": 0.1}, "acuracy"),
        ({"accuracy": -1}, "at least 0"),
        ({"pearson": 0.1}, "gives no values"),
    ],
)
def test_what_cannot_be_gated_is_refused(margins, match):
    pair = judges(np.random.default_rng(1), queries=30, before=0.9, after=0.9)

    with pytest.raises(StatisticsError, match=match):
        gate(*pair, margins=margins)


def test_runs_over_other_labels_are_refused():
    before, after = judges(np.random.default_rng(1), queries=30, before=0.9, after=0.9)

    with pytest.raises(StatisticsError, match="same items"):
        gate(before, replace(after, weight=1 - after.weight), margins={"accuracy": 0.1})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queries", "before", "after", "agree"),
    [(200, 0.9, 0.87, 0.0), (200, 0.97, 0.94, 0.5), (60, 0.99, 0.96, 0.0), (40, 1.0, 0.97, 0.0)],
)
def test_a_drop_at_the_margin_passes_and_fails_in_at_most_one_of_twenty(queries, before, after, agree):
    rng = np.random.default_rng(queries)
    margin = (before - after) * (1 - agree)
    decisions = [
        gate(
            *judges(rng, queries=queries, before=before, after=after, agree=agree), margins={"accuracy": margin}
        ).decision
        for _ in range(300)
    ]

    # Of 300, 5 % with three standard errors: 0.05 + 3 * 0.0126.
    assert decisions.count("pass") / 300 <= 0.088
    assert decisions.count("fail") / 300 <= 0.088
