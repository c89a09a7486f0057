import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, released_items, sample_of

from casewise.stats.costs import refusals
from casewise.stats.sample import judged


def test_errors_are_shares_of_the_items_on_which_people_agree():
    sample = sample_of([1, 1, 1, 0, 0, 1], [1, 0, 0, 0, 1, 0], rate=[0.7, 0.9, 0.75, 0.3, 0.1, 0.65])
    at = refusals(sample).at

    assert (at.n_safe, at.n_unsafe) == (3, 2)
    assert at.over_refusal.estimate == pytest.approx(2 / 3)
    assert at.harm.estimate == 0.5


def test_unscored_is_a_third_rate_of_each_class():
    sample = sample_of([1, 1, 0, 0, 0], [NAN, 0, NAN, NAN, 1], rate=[0.9, 0.9, 0, 0, 0])
    at = refusals(sample).at

    assert [e.estimate for e in at.estimates] == pytest.approx([1 / 2, 1 / 3, 1 / 2, 2 / 3])
    assert [e.n_unscored for e in at.estimates] == [1, 2, 1, 2]


def test_the_curve_keeps_fewer_items_as_more_people_must_agree():
    rate = np.repeat([0.6, 0.65, 0.7, 0.75, 0.8], 4)
    curve = refusals(sample_of(rate > 0.5, np.ones(20), rate=rate)).curve

    assert [point.n_safe for point in curve] == [20, 16, 12, 8, 4]


def test_a_class_without_items_has_no_rate_and_says_so():
    at = refusals(sample_of([1, 1], [1, 0], rate=[0.9, 0.8])).at

    assert at.harm.estimate is None
    assert at.harm.method == "undefined: no items of that kind"


def test_the_rule_keeps_180_safe_and_349_unsafe_items_of_the_release(shared):
    items = released_items(shared)
    found = refusals(judged(items, np.ones(900), elicitation="binary"))

    assert (found.at.n_safe, found.at.n_unsafe) == (180, 349)
    assert [(p.n_safe, p.n_unsafe) for p in found.curve] == [(272, 441), (230, 409), (180, 349), (128, 283), (76, 213)]
    assert items.filter(pl.col("n_safe") >= 16).height == 76
    assert found.at.harm.estimate == 1
