import numpy as np
import pytest
from tests.support.samples import NAN, random_sample

from casewise.stats.metrics import metric_named, value_of
from casewise.stats.sample import constant_accuracy, right


def test_a_verdict_gets_the_weight_of_what_it_says_and_nothing_where_it_says_nothing():
    verdict, weight = np.array([1, 0, 1, 0, NAN]), np.array([1, 1, 0.5, 0.25, 1])

    assert right(verdict, weight).tolist() == [1, 0, 0.5, 0.75, 0]


def test_items_may_count_less_than_whole():
    assert right(np.array([True, False]), np.array([0.2, 0.2]), of=np.array([0.5, 0.5])) == pytest.approx([0.2, 0.3])


def test_the_mean_of_what_is_right_is_the_accuracy():
    sample = random_sample(np.random.default_rng(3))

    assert right(sample.safe, sample.weight).mean() == pytest.approx(value_of(metric_named("accuracy"), sample))


def test_the_better_constant_verdict_is_right_on_half_at_least():
    assert constant_accuracy(np.array([1, 0, 0, 0.5])) == pytest.approx(2.5 / 4)
    assert np.isnan(constant_accuracy(np.array([])))
