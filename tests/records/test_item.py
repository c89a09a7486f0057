"""Queries, items, ratings and the taxonomy: what each has to state, and what it is the same as."""

import numpy as np
import pytest
from pydantic import ValidationError

from casewise.errors import DataError
from casewise.records import Category, Context, Item, Query, Rating, RatingScale, Taxonomy, Turn, sorry_bench
from casewise.records.item import condition_of, condition_problem
from casewise.storage.load import load

CONTEXT = load("demo").contexts[0]


def context(**changes):
    return Context.model_validate(CONTEXT.model_dump(exclude={"id", "lineage_id"}) | changes)


def test_the_taxonomy_has_45_categories_in_four_domains():
    taxonomy = sorry_bench()

    assert len(taxonomy.categories) == len(taxonomy.names) == 45
    assert len(taxonomy.domains) == 4
    for category in taxonomy.categories:
        assert all(taxonomy.resolve(name) == category for name in (category.name, *category.aliases))
    assert taxonomy.resolve("gardening") is None


def test_a_name_of_a_category_stands_for_one_category():
    categories = (Category(name="a", domain="x", aliases=("b",)), Category(name="b", domain="x"))

    with pytest.raises(ValidationError, match="two categories are called 'b'"):
        Taxonomy(name="own", categories=categories)


def test_a_file_that_is_no_taxonomy_is_refused(tmp_path):
    (tmp_path / "own.toml").write_text('name = "own"')

    with pytest.raises(DataError, match=r"own\.toml: categories is missing"):
        Taxonomy.read(tmp_path / "own.toml")


def test_two_queries_with_the_same_words_are_the_same():
    assert Query(text="caf\u00e9?", category="a").id == Query(text="cafe\u0301?", category="b", source="x").id


def test_a_reply_and_what_follows_a_conversation_are_other_queries():
    before = (Turn(role="user", text="Hello."),)
    made = [
        Query(text="Who?", category="a"),
        Query(text="Who?", category="a", judged="reply"),
        Query(text="Who?", category="a", before=before),
    ]

    assert len({query.id for query in made}) == 3
    assert ["judged" in query.as_json() for query in made] == [False, True, False]


@pytest.mark.parametrize(("context_id", "condition"), [(None, "safe_revised"), ("c_1", "no_context")])
def test_an_item_has_no_context_exactly_in_that_condition(context_id, condition):
    with pytest.raises(ValidationError, match="an item has no context exactly when its condition is 'no_context'"):
        Item(query_id="q_1", context_id=context_id, condition=condition)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_a_published_rate_is_a_share(rate):
    with pytest.raises(ValidationError):
        Item.from_context(CONTEXT, published_rate=rate)


def test_an_item_shows_its_context_under_the_condition_of_the_context_or_another():
    item = Item.from_context(CONTEXT, published_rate=0.5, source_id="7")

    assert (item.query_id, item.context_id, item.pair_id) == (CONTEXT.query_id, CONTEXT.id, CONTEXT.pair_id)
    assert (item.condition, item.published_rate, item.own_id) == ("safe_revised", 0.5, "7")
    assert Item.from_context(CONTEXT, condition="in_welsh").condition == "in_welsh"


def test_an_item_goes_by_its_owners_id_or_the_beginning_of_its_own():
    item = Item.from_context(CONTEXT)

    assert item.own_id == item.id[:12]


@pytest.mark.parametrize(
    ("intended_safe", "origin", "condition"),
    [
        (True, "generated", "safe_generated"),
        (False, "generated", "unsafe_generated"),
        (True, "revised", "safe_revised"),
        (False, "imported", "unsafe_revised"),
        (None, "generated", "imported"),
    ],
)
def test_a_condition_follows_from_the_intent_and_the_origin(intended_safe, origin, condition):
    made = context(intended_safe=intended_safe, origin=origin)

    assert condition_of(made) == condition
    assert condition_problem(condition, made) is None


def test_a_condition_that_does_not_fit_its_context_is_a_problem():
    revised = context(origin="revised", lineage_id="c_first")

    assert condition_problem("safe_generated", revised) == (
        "condition is 'safe_generated', but its context's intent and origin make it 'safe_revised'"
    )
    assert condition_problem("of_my_own", revised) is None
    assert condition_problem("safe_revised", context(intended_safe=None)) is not None


def test_a_revised_context_that_begins_its_line_stands_for_the_generated_one_as_well():
    approved = context(origin="revised")

    assert condition_problem("safe_generated", approved) is None
    assert condition_problem("unsafe_generated", approved) is not None
    assert condition_problem("unsafe_generated", context(origin="revised", intended_safe=False)) is None
    assert condition_problem("unsafe_generated", context(origin="revised", intended_safe=None)) is not None
    assert condition_problem("safe_generated", context(origin="imported")) is not None


def test_a_value_beyond_the_cut_is_safe_and_one_at_it_is_not():
    below, above = (RatingScale(low=0, high=10, cut=4, safe=side) for side in ("below", "above"))

    assert [below.is_safe(value) for value in (3, 4, 5)] == [True, False, False]
    assert [above.is_safe(value) for value in (3, 4, 5)] == [False, False, True]
    assert above.is_safe(np.array([3, 5])).tolist() == [False, True]


def test_a_share_of_a_scale_is_one_at_its_safe_end():
    below, above = (RatingScale(low=-100, high=100, safe=side) for side in ("below", "above"))

    assert [below.share(value) for value in (-100, -50, 100)] == [1, 0.75, 0]
    assert [above.share(value) for value in (-100, -50, 100)] == [0, 0.25, 1]


@pytest.mark.parametrize(
    ("scale", "problem"),
    [
        ({"low": 1, "high": 1}, "a scale from 1 to 1 has no length: low must be less than high"),
        ({"low": 1, "high": 5, "cut": 0.5}, "the cut 0.5 does not lie between 1 and 5"),
        ({"low": 1, "high": 5, "cut": 5.5}, "the cut 5.5 does not lie between 1 and 5"),
    ],
)
def test_what_is_no_scale_is_refused(scale, problem):
    with pytest.raises(ValidationError, match=problem):
        RatingScale.model_validate(scale)
    assert RatingScale(low=1, high=5, cut=5).cut == RatingScale(low=5, high=6, cut=5).cut


def test_a_rating_states_a_vote_or_a_value():
    assert Rating(item_id="i", value=0.0).verdict is None
    with pytest.raises(ValidationError, match="a rating has a verdict"):
        Rating(item_id="i", annotator_id="p")


def test_an_annotator_rates_an_item_once_and_an_anonymous_vote_has_a_place():
    assert Rating(item_id="i", annotator_id="p", position=2, verdict="safe").key == ("i", "annotator:p")
    assert Rating(item_id="i", annotator_id="", position=2, verdict="safe").key == ("i", "position:2")
