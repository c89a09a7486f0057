from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.support.samples import sample_of, some

from casewise.evaluate.judge_numbers import weak_category

QUERIES = 20
"""Of each category, with two items each."""


def judged(wrong):
    """A judge that is wrong on so many of each category's items, from the first on; labels take turns."""
    rows = [(name, item < n) for name, n in wrong.items() for item in range(2 * QUERIES)]
    weight = np.arange(len(rows)) % 2.0
    safe = np.where([turned for _, turned in rows], 1 - weight, weight)
    sample = sample_of(weight, safe, cluster=np.arange(len(rows)) // 2)
    return sample, pl.Series([name for name, _ in rows])


def test_the_category_that_is_shown_to_be_below_the_others_is_named():
    found = some(weak_category(*judged({"arson": 3, "fraud": 24, "theft": 4})))

    assert found.name == "fraud"
    assert found.accuracy.estimate == pytest.approx(0.4)
    assert found.accuracy.n == 40
    assert found.n_categories == 3
    assert found.p < 0.001


def test_of_two_weak_categories_the_one_with_the_lower_accuracy_is_named():
    found = some(weak_category(*judged({"arson": 0, "fraud": 26, "theft": 30, "spam": 0, "libel": 0})))

    assert found.name == "theft"


@pytest.mark.parametrize("wrong", [{"arson": 8, "fraud": 9, "theft": 10}, {"arson": 0, "fraud": 0}, {"arson": 20}])
def test_no_category_is_named_where_none_is_shown_to_be_below(wrong):
    assert weak_category(*judged(wrong)) is None


def test_a_category_of_few_queries_is_not_tested():
    sample, category = judged({"arson": 3, "fraud": 40, "theft": 4})
    few = (category != "fraud").to_numpy() | (np.arange(len(category)) < 2 * QUERIES + 8)

    assert weak_category(sample.where(few), category.filter(few)) is None


def test_items_without_a_label_count_in_no_category_and_without_any_none_is_weak():
    sample, category = judged({"arson": 3, "fraud": 24, "theft": 4})
    unlabelled = np.where(np.arange(len(category)) % 4 < 2, sample.weight, np.nan)  # every other query has labels
    half = some(weak_category(replace(sample, weight=unlabelled), category))

    # 12 of the first 24 items of the category are wrong and labelled, of 20 that are labelled
    assert (half.name, half.accuracy.n) == ("fraud", 20)
    assert half.accuracy.estimate == pytest.approx(0.4)
    assert weak_category(replace(sample, weight=np.full(len(category), np.nan)), category) is None


def test_a_category_of_five_queries_is_tested_and_one_of_four_is_not():
    for n, tested in ((4, 2), (5, 3)):
        sample, category = judged({"arson": 3, "fraud": 30, "theft": 4})
        few = (category != "theft").to_numpy() | (np.arange(len(category)) % (2 * QUERIES) < 2 * n)
        assert some(weak_category(sample.where(few), category.filter(few))).n_categories == tested
