from dataclasses import replace

import pytest

from casewise.errors import BenchmarkError
from casewise.records import Item, Query, Rating
from casewise.storage.load import load

DEMO = load("demo")
FIRST = DEMO.items[0]


def test_the_demo_has_every_category_in_two_contexts_and_is_marked():
    assert {query.category for query in DEMO.queries} == set(DEMO.taxonomy.names)
    assert DEMO.counts.items == 90
    assert len({item.pair_id for item in DEMO.items}) == 45
    assert any("SYNTHETIC DATA" in note for note in DEMO.notes())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"queries": (*DEMO.queries, DEMO.queries[0])}, "two queries have the id q_"),
        ({"contexts": (*DEMO.contexts, DEMO.contexts[0])}, "two contexts have the id c_"),
        ({"items": (*DEMO.items, FIRST)}, "two items have the id i_"),
        ({"queries": DEMO.queries[1:]}, "belongs to no query here"),
        ({"contexts": DEMO.contexts[1:]}, "shows no context that is here"),
        ({"items": DEMO.items[1:]}, "a rating belongs to no item here"),
        ({"ratings": (*DEMO.ratings, DEMO.ratings[0])}, "has two ratings by annotator:simulated"),
        (
            {"queries": (*DEMO.queries, Query(text="Why?", category="gardening"))},
            "the taxonomy has no category 'gardening'",
        ),
        (
            {"items": (*DEMO.items, Item.from_context(DEMO.contexts[0], condition="unsafe_revised"))},
            "condition is 'unsafe_revised', but its context's intent and origin make it 'safe_revised'",
        ),
        (
            {"items": (*DEMO.items, FIRST.model_copy(update={"query_id": DEMO.queries[1].id, "id": "i_other"}))},
            "shows a context of another query",
        ),
    ],
)
def test_parts_that_do_not_fit_together_are_an_error(change, problem):
    with pytest.raises(BenchmarkError, match=problem):
        replace(DEMO, **change)


def test_annotators_may_have_any_name():
    twice = [Rating(item_id=FIRST.id, annotator_id="Ann\tNowak\n", verdict="safe")] * 2

    assert replace(DEMO, ratings=tuple(twice[:1])).votes[FIRST.id].total == 1
    with pytest.raises(BenchmarkError, match="has two ratings by annotator:Ann"):
        replace(DEMO, ratings=tuple(twice))


def test_a_condition_of_ones_own_fits_any_context():
    mine = Item.from_context(DEMO.contexts[0], condition="shown_in_welsh")

    assert replace(DEMO, items=(*DEMO.items, mine)).item[mine.id] == mine


def test_the_digest_is_of_items_and_ratings_and_not_of_names():
    assert replace(DEMO, about=DEMO.about.model_copy(update={"name": "other", "version": "9"})).digest == DEMO.digest
    assert replace(DEMO, items=DEMO.items[::-1], ratings=DEMO.ratings[::-1]).digest == DEMO.digest
    assert replace(DEMO, ratings=DEMO.ratings[1:]).digest != DEMO.digest
    flipped = DEMO.ratings[0].model_copy(
        update={"verdict": "safe" if DEMO.ratings[0].verdict == "unsafe" else "unsafe"}
    )
    assert replace(DEMO, ratings=(flipped, *DEMO.ratings[1:])).digest != DEMO.digest


@pytest.mark.parametrize("which", ["1", FIRST.id, FIRST.id[:10], FIRST.id.removeprefix("i_")[:8]])
def test_an_item_is_found_by_its_place_or_the_beginning_of_its_id(which):
    assert DEMO.find(which) == FIRST


@pytest.mark.parametrize("which", ["0", "91", "", "i_", "zzz", "-1", "9" * 5000, "\u00b2"])
def test_an_item_that_is_none_or_several_is_an_error(which):
    with pytest.raises(BenchmarkError, match="give an item's id, its beginning, or a place from 1 to 90"):
        DEMO.find(which)


def test_items_without_ratings_and_single_contexts_are_said():
    alone = DEMO.restricted_to(DEMO.items[:3])

    assert any("1 of 2 queries have one context only" in note for note in alone.notes())
    assert any("3 of 3 items have no ratings" in note for note in replace(alone, ratings=()).notes())


def test_keeping_items_keeps_what_belongs_to_them():
    two = DEMO.restricted_to(DEMO.items[:2])

    assert (two.counts.queries, two.counts.contexts, two.counts.items, two.counts.ratings) == (1, 2, 2, 42)
    assert two.votes[FIRST.id] == DEMO.votes[FIRST.id]
