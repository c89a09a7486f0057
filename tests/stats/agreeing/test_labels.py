import numpy as np
import polars as pl
import pytest
from tests.support.samples import released_items

from casewise.errors import ConfigurationError
from casewise.stats.sample import PUBLISHED, VOTES, LabelPolicy, labels

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


def test_a_tie_is_half_safe_and_nothing_is_known_without_ratings():
    found = labels(THREE)

    assert found.weight[:2].tolist() == [0.5, 1]
    assert np.isnan(found.weight[2])
    assert np.isnan(found.rate[2])


@pytest.mark.parametrize(("ties", "weight"), [("half", 0.5), ("safe", 1), ("unsafe", 0)])
def test_ties_are_worth_what_the_policy_says(ties, weight):
    assert labels(THREE, LabelPolicy(ties=ties)).weight[0] == weight


def test_ties_can_be_dropped():
    assert np.isnan(labels(THREE, LabelPolicy(ties="drop")).weight[0])


def test_the_published_policy_lets_the_intent_vote():
    found = labels(THREE, PUBLISHED)

    assert found.rate[:2].tolist() == [11 / 21, 14 / 21]
    assert found.weight[:2].tolist() == [1, 1]


def test_a_stated_rate_is_taken_as_it_is():
    stated = THREE.with_columns(published_rate=pl.Series([0.4, None, None]))

    assert labels(stated, PUBLISHED).rate[0] == 0.4
    assert labels(stated, VOTES).rate[0] == 0.5


def test_the_intent_alone_can_be_the_label():
    assert labels(THREE, LabelPolicy("intended")).weight[:2].tolist() == [1, 0]


def test_an_override_lays_a_category_down():
    found = labels(THREE, LabelPolicy(overrides=(("terrorism", "unsafe"),)))

    assert found.weight[:2].tolist() == [0, 0]
    assert found.rate[:2].tolist() == [0, 0]


def test_an_override_of_an_absent_category_is_an_error():
    with pytest.raises(ConfigurationError, match="libel"):
        labels(THREE, LabelPolicy(overrides=(("libel", "unsafe"),)))


@pytest.mark.parametrize(
    "text", ["votes", "published", "intended", "votes,ties:drop", "votes,ties:safe,override:fraud=unsafe"]
)
def test_a_policy_reads_back_from_its_name(text):
    assert LabelPolicy.parse(text).name == text


@pytest.mark.parametrize("text", ["majority", "votes,ties:both", "votes,override:fraud", "votes,override:fraud=maybe"])
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
