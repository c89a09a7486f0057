from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import studentized_range
from tests.support.samples import sample_of, some

from casewise.stats.comparison import rank_intervals, simultaneous_differences
from casewise.stats.estimates import difference_of, measure
from casewise.stats.measured import Measured
from casewise.stats.metrics import metric_named

ACCURACY = [metric_named("accuracy")]


def accuracies(rng, shares, *, queries=200):
    weight = rng.integers(0, 2, size=2 * queries).astype(float)
    cluster = np.repeat(np.arange(queries), 2)
    found: list[Measured] = []
    for share in shares:
        right = rng.random(2 * queries) < share
        sample = sample_of(weight, np.where(right, weight, 1 - weight), cluster=cluster)
        found += measure(sample, metrics=ACCURACY)
    return found


@pytest.mark.parametrize(
    ("shares", "queries", "best", "worst"),
    [
        ((0.6, 0.95, 0.75), 200, [3, 1, 2], [3, 1, 2]),
        ((0.8, 0.8, 0.8), 30, [1, 1, 1], [3, 3, 3]),
        ((0.6,), 200, [1], [1]),
    ],
)
def test_judges_have_one_rank_each_where_they_are_told_apart_and_else_share_them(shares, queries, best, worst):
    found = rank_intervals(accuracies(np.random.default_rng(2), shares, queries=queries))

    assert (found.best.tolist(), found.worst.tolist()) == (best, worst)


def test_the_same_judge_twice_is_not_better_than_itself():
    (one,) = accuracies(np.random.default_rng(3), (0.8,))

    found = rank_intervals([one, one])

    assert not found.better.any()


def test_two_judges_get_the_interval_of_a_single_difference():
    first, second = accuracies(np.random.default_rng(4), (0.8, 0.8))

    assert simultaneous_differences([first, second]) == {(0, 1): difference_of(first, second)}


def test_intervals_of_many_judges_are_as_wide_as_tukeys():
    judges = accuracies(np.random.default_rng(6), (0.8,) * 6, queries=3000)
    alone, together = difference_of(*judges[:2]), simultaneous_differences(judges)[0, 1]

    (low, high), (inner, outer) = some(together.limits), some(alone.limits)
    ratio = studentized_range.ppf(0.95, 6, np.inf) / np.sqrt(2) / 1.96
    assert (high - low) / (outer - inner) == pytest.approx(ratio, rel=0.03)


def test_judges_are_ranked_apart_where_their_interval_holds_no_0():
    judges = accuracies(np.random.default_rng(7), (0.7, 0.75, 0.8, 0.85))
    ranks = rank_intervals(judges)

    for (first, second), difference in simultaneous_differences(judges).items():
        assert difference.beyond_chance == (ranks.better[first, second] or ranks.better[second, first])


def test_a_judge_without_the_metric_has_every_rank():
    one, other = accuracies(np.random.default_rng(1), (0.6, 0.95))
    undefined = replace(one, value=float("nan"))

    found = rank_intervals([one, other, undefined])

    assert (found.best[2], found.worst[2]) == (1, 3)
    assert (found.best[1], found.worst[1]) == (1, 2)


@pytest.mark.slow
def test_all_true_ranks_lie_within_in_at_least_95_of_100():
    rng = np.random.default_rng(5)
    shares = (0.7, 0.8, 0.8, 0.85, 0.9)
    # Judges that are equally good share the ranks 3 and 4: either order is true.
    true_low, true_high = np.array([5, 3, 3, 2, 1]), np.array([5, 4, 4, 2, 1])

    held = 0
    for _ in range(200):
        found = rank_intervals(accuracies(rng, shares, queries=150))
        held += bool((found.best <= true_low).all() and (found.worst >= true_high).all())

    assert held / 200 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
