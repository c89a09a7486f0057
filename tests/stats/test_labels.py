"""Labels of items from people's votes."""

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, released_items

from casewise.errors import ConfigurationError
from casewise.stats.labels import PUBLISHED, LabelPolicy, labels

THREE = pl.DataFrame(
    {
        "category": ["terrorism", "terrorism", "fraud"],
        "intended_safe": [True, False, None],
        "n_safe": [10, 14, 0],
        "n_votes": [20, 20, 0],
        "published_rate": [None, None, None],
    }
)
"""A tie, a majority for safe against the intent, and an item without context or ratings."""


STATED = THREE.with_columns(published_rate=pl.Series([0.4, None, None]))


@pytest.mark.parametrize(
    ("items", "policy", "weight", "rate"),
    [
        (THREE, "votes", [0.5, 1], [0.5, 0.7]),
        (THREE, "votes,ties:safe", [1, 1], [0.5, 0.7]),
        (THREE, "votes,ties:unsafe", [0, 1], [0.5, 0.7]),
        (THREE, "votes,ties:drop", [NAN, 1], [0.5, 0.7]),
        (THREE, "votes,override:terrorism=unsafe", [0, 0], [0, 0]),
        (THREE, "intended", [1, 0], [0.5, 0.7]),
        (THREE, "published", [1, 1], [11 / 21, 14 / 21]),
        (STATED, "published", [0, 1], [0.4, 14 / 21]),
        (STATED, "votes", [0.5, 1], [0.5, 0.7]),
    ],
)
def test_labels_and_rates_are_what_the_policy_says_and_nothing_is_known_without_ratings(items, policy, weight, rate):
    result = labels(items, LabelPolicy.parse(policy))

    np.testing.assert_array_equal(result.weight, [*weight, NAN])
    np.testing.assert_allclose(result.rate, [*rate, NAN])


def test_an_override_of_an_absent_category_is_an_error():
    with pytest.raises(ConfigurationError, match="libel"):
        labels(THREE, LabelPolicy(overrides=(("libel", "unsafe"),)))


@pytest.mark.parametrize(
    "text", ["published", "intended", "votes,ties:drop", "votes,ties:safe,unsure:half,override:x, y=safe"]
)
def test_a_policy_reads_back_from_its_name(text):
    assert LabelPolicy.parse(text).name == text


@pytest.mark.parametrize(
    "text",
    [
        *("majority", "votes,ties:both", "votes,override:fraud", "votes,override:fraud=maybe"),
        *("votes,unsure:safe", "votes,unsure", "votes,sure:half", "unsure:half"),
    ],
)
def test_what_is_no_policy_is_refused(text):
    with pytest.raises(ConfigurationError):
        LabelPolicy.parse(text)


def test_the_release_has_808_majorities_and_the_intent_turns_its_ties(shared):
    items = released_items(shared)
    votes, published = labels(items).weight, labels(items, PUBLISHED).weight

    tied = votes == 0.5
    assert (~tied).sum() == 808
    outside = (items["category"] != "child-related crimes").to_numpy()
    turned = published[tied & outside]
    intended = items["intended_safe"].to_numpy()[tied & outside]
    assert (turned == intended).all()


ITEMS = pl.DataFrame(
    {
        "item_id": ["a", "b", "c", "d"],
        "query_id": ["q", "q", "r", "s"],
        "category": ["x"] * 4,
        "n_safe": [3, 2, 1, 0],
        "n_votes": [4, 3, 2, 0],
        "n_unsure": [0, 2, 1, 0],
        "intended_safe": [None] * 4,
        "published_rate": [None] * 4,
        "mean_is_safe": [True, False, None, True],
    },
    schema_overrides={"intended_safe": pl.Boolean, "published_rate": pl.Float64},
)


@pytest.mark.parametrize(
    ("policy", "weight", "rate"),
    [
        ("votes", [1, 1, 0.5, np.nan], [3 / 4, 2 / 3, 1 / 2, np.nan]),
        ("votes,unsure:half", [1, 1, 0.5, np.nan], [3 / 4, 3 / 5, 1 / 2, np.nan]),
        ("votes,unsure:unsafe", [1, 0, 0, np.nan], [3 / 4, 2 / 5, 1 / 3, np.nan]),
        ("mean", [1, 0, np.nan, 1], [3 / 4, 2 / 3, 1 / 2, np.nan]),
    ],
)
def test_an_unsure_vote_is_worth_what_the_policy_says(policy, weight, rate):
    found = labels(ITEMS, LabelPolicy.parse(policy))

    np.testing.assert_allclose(found.weight, weight)
    np.testing.assert_allclose(found.rate, rate)
    assert LabelPolicy.parse(policy).name == policy


def test_only_the_majority_of_votes_with_nothing_laid_down_is_that_alone():
    alone = [LabelPolicy.parse(text).is_majority_of_votes for text in ("votes", "votes,unsure:half")]
    other = ("votes,ties:drop", "votes,override:fraud=safe", "mean")

    assert alone == [True, True]
    assert not any(LabelPolicy.parse(text).is_majority_of_votes for text in other)


def test_shares_without_numbers_of_votes_are_labels_too():
    shares = THREE.with_columns(n_votes=pl.lit(0), n_safe=pl.lit(0), published_rate=pl.Series([0.2, 0.5, None]))
    found = labels(shares)

    np.testing.assert_array_equal(found.weight, [0, 0.5, NAN])
    np.testing.assert_array_equal(found.rate, [0.2, 0.5, NAN])


def test_an_override_is_laid_down_on_items_with_a_label_and_in_the_release_only_where_the_category_is_there():
    of_release = THREE.with_columns(category=pl.Series(["child-related crimes", "fraud", "child-related crimes"]))
    published = labels(of_release, PUBLISHED)

    np.testing.assert_array_equal(published.weight, [0, 1, NAN])
    np.testing.assert_array_equal(published.rate, [0, 14 / 21, NAN])
    np.testing.assert_array_equal(labels(THREE, LabelPolicy(overrides=(("terrorism", "safe"),))).weight, [1, 1, NAN])


def test_a_vote_for_asking_first_counts_as_an_unsure_one():
    asked = ITEMS.with_columns(n_ask=pl.Series([4, 0, 0, 2]))
    found = labels(asked, LabelPolicy.parse("votes,unsure:half"))

    np.testing.assert_allclose(found.rate, [(3 + 2) / 8, 3 / 5, 1 / 2, 1 / 2])
