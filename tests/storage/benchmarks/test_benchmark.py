from dataclasses import replace

import pytest
from tests.audits.builders import Row, benchmark_of
from tests.support.benchmarks import rich_benchmark
from tests.support.demo import DEMO

from casewise.errors import BenchmarkError
from casewise.records import Item, ParameterSet, Query, Rating, RatingScale
from casewise.storage.benchmark import Published

FIRST = DEMO.items[0]
PUBLISHED = Published(file="x.json", rates_count_intent=True, votes_hold_intent=False)


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


RICH = rich_benchmark()


def votes_of(*rows, **about):
    """A benchmark of these rows: a query, the author's intent, and votes that are 1 for safe."""
    made = benchmark_of([Row(*row) for row in rows])
    return replace(made, about=made.about.model_copy(update=about))


def test_a_row_of_the_table_of_items_states_parents_votes_and_values():
    rows = RICH.item_columns.to_dicts()

    assert rows[0]["item_id"] == RICH.items[0].id
    assert [(row["n_safe"], row["n_votes"], row["n_unsure"], row["n_ask"], row["n_values"]) for row in rows] == [
        *((1, 2, 0, 0, 0), (0, 2, 1, 0, 0), (0, 0, 0, 0, 0), (1, 2, 0, 0, 2)),
    ]
    assert [row["cluster"] for row in rows] == [*[RICH.queries[0].id] * 3, "a conversation"]
    assert [row["category"] for row in rows] == [*["terrorism"] * 3, "animal-related crimes"]
    assert [row["intended_safe"] for row in rows] == [True, False, None, None]
    assert {row["domain"] for row in rows} == {
        resolved.domain for name in ("terrorism", "animal-related crimes") if (resolved := RICH.taxonomy.resolve(name))
    }


def test_the_mean_of_ratings_goes_before_the_mean_of_a_file_and_is_a_share_of_the_scale():
    row = RICH.item_columns.row(3, named=True)

    assert (row["mean"], row["mean_is_safe"]) == ((-3.25 - 100) / 2, True)
    assert row["mean_share"] == pytest.approx((100 + 51.625) / 200)
    without = replace(RICH, ratings=()).item_columns.row(3, named=True)
    assert (without["mean"], without["mean_is_safe"]) == (12.5, False)
    assert votes_of(("a", True, (1,))).item_columns["mean_share"].to_list() == [None]


def test_votes_have_a_rate_where_there_are_any():
    votes = [RICH.votes[item.id] for item in RICH.items]

    assert [each.rate for each in votes] == [0.5, 0.0, None, 0.5]
    assert (votes[1].unsure, votes[1].ask) == (1, 0)


def test_labels_are_of_people_where_an_item_has_several_ratings_or_as_stated():
    one, several = votes_of(("a", True, (1,))), votes_of(("a", True, (1, 0)), ("b", False, (1,)))

    assert (one.labels_by, several.labels_by, RICH.labels_by) == (None, "people", "experts")
    assert (one.most_ratings, several.most_ratings, RICH.most_ratings, replace(RICH, ratings=()).most_ratings) == (
        1,
        2,
        3,
        0,
    )


def test_shares_without_votes_are_counted():
    assert RICH.n_shares == 0
    assert replace(RICH, ratings=()).n_shares == 1


def test_what_is_judged_is_known_with_whether_a_conversation_precedes_it():
    assert RICH.judged == {("request", False), ("reply", True)}
    assert DEMO.judged == {("request", False)}


@pytest.mark.parametrize(
    ("about", "restricted"), [({}, False), ({"gated": True}, True), ({"published": PUBLISHED}, True)]
)
def test_texts_of_a_gated_benchmark_and_of_the_release_may_not_be_given_away(about, restricted):
    assert replace(DEMO, about=DEMO.about.model_copy(update=about)).restricted is restricted


def test_a_title_states_a_version_where_there_is_one():
    unversioned = replace(DEMO, about=DEMO.about.model_copy(update={"version": "0"}))

    assert (DEMO.title, unversioned.title) == ("demo 1.0.0", "demo")
    assert repr(unversioned).startswith("<Benchmark demo: 45 queries, 90 contexts, 90 items, 1,890 ratings>")
    assert DEMO.stated == {"name": "demo", "digest": DEMO.digest, "synthetic": DEMO.about.synthetic}


def test_a_digest_is_of_the_clusters_and_means_of_items_too():
    def changed(**part):
        items = [item.model_copy(update=part) if item is FIRST else item for item in DEMO.items]
        return replace(
            DEMO, items=items, about=DEMO.about.model_copy(update={"scale": RatingScale(low=0, high=9)})
        ).digest

    assert len({DEMO.digest, changed(cluster="c"), changed(mean=1.0), changed(mean=2.0)}) == 4
    assert changed(source_id="mine", published_rate=0.5) == DEMO.digest


def test_the_twin_of_an_item_is_the_other_context_of_its_pair():
    for item in DEMO.items[:6]:
        twin = DEMO.twin_of(item)
        assert twin is not None
        assert (twin.query_id, twin.intended_safe) == (item.query_id, not DEMO.intent_of(item))
    assert RICH.twin_of(RICH.items[2]) is None
    assert RICH.twin_of(RICH.items[3]) is None


def test_in_a_larger_pair_the_twin_is_the_first_of_the_other_intent():
    rows = [
        Row("a", intent, (1,), words=words)
        for intent, words in ((True, "one"), (True, "two"), (False, "three"), (False, "four"))
    ]
    made = benchmark_of(rows)
    first, second, third, fourth = made.items

    assert {len(items) for items in made.pairs.values()} == {4}
    assert made.twin_of(first) == made.twin_of(second) == made.context_of(third)
    assert made.twin_of(third) == made.twin_of(fourth) == made.context_of(first)


def test_queries_whose_contexts_move_no_majority_are_known_with_their_verdict():
    made = votes_of(
        *(("safe", True, (1, 1, 0)), ("safe", False, (1,))),
        *(("unsafe", True, (0,)), ("unsafe", False, (0, 0, 1))),
        *(("moved", True, (1,)), ("moved", False, (0,))),
        *(("tied", True, (1, 0)), ("tied", False, (1, 0))),
        ("alone", True, (1,)),
    )
    texts = {made.query[query_id].text: verdict for query_id, verdict in made.unmoved_queries.items()}

    assert texts == {"safe": "safe", "unsafe": "unsafe"}


def test_an_item_is_found_by_its_owners_id_first():
    item = RICH.items[3].model_copy(update={"source_id": "1"})
    made = replace(RICH, items=(*RICH.items[:3], item))

    assert made.find("1") == item
    assert made.find("2") == RICH.items[1]


def test_an_id_that_begins_several_names_some_of_them():
    with pytest.raises(
        BenchmarkError,
        match=r"90 items of the benchmark 'demo' have ids that begin with 'i_' \(i_\w+, i_\w+, i_\w+, …\); give",
    ):
        DEMO.find("i_")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"annotators": (*RICH.annotators, RICH.annotators[0])}, "two annotators have the id a1: each must stand once"),
        ({"about": RICH.about.model_copy(update={"scale": None})}, "the benchmark states no scale that they lie on"),
        ({"about": RICH.about.model_copy(update={"scale": RatingScale(low=-50, high=100)})}, r"item i_\w+: -100 does not lie on the scale from -50 to 100"),
        ({"about": RICH.about.model_copy(update={"scale": RatingScale(low=-100, high=0)}), "ratings": ()}, "12.5 does not lie on the scale from -100 to 0"),
        ({"items": (*RICH.items, Item(query_id="q_none", condition="no_context"))}, r"item i_\w+ belongs to no query here \('q_none'\)"),
        ({"parameters": ParameterSet.model_validate({"name": "own", "groups": [{"name": "a", "parameters": [{"name": "b"}]}]})}, "context c_.* states nothing for 'a.b'"),
    ],
)  # fmt: skip
def test_values_parents_and_parameters_that_do_not_fit_are_an_error(change, problem):
    with pytest.raises(BenchmarkError, match=problem):
        replace(RICH, **change)


NOTES = [
    (votes_of(("a", True, (1,)), ("a", False, (0,))), []),
    (votes_of(("a", True, (1,)), ("b", True, (1,))), ["2 of 2 queries have one context only; they form no pair."]),
    (votes_of(("a", True, (1,)), ("a", False, ())), ["1 of 2 items have no ratings; they count in no metric."]),
    (votes_of(("a", True, (1,)), ("a", False, (0,)), synthetic="all of it"), ["SYNTHETIC DATA: all of it"]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "notes"), NOTES)
def test_notes_say_what_to_know_before_relying_on_numbers(made, notes):
    assert list(made.notes()) == notes


def test_notes_of_shares_means_clusters_and_unsure_votes():
    shares = replace(RICH, ratings=RICH.ratings[2:5]).notes()
    unrated = replace(RICH, ratings=()).notes()

    assert any(note.startswith("1 of 3 votes (33.3 %) are unsure; they count in no majority") for note in shares)
    assert "2 queries are in 2 clusters: intervals and folds keep a cluster together." in unrated
    assert any(note.startswith("1 of 4 items have a share of safe votes without their number.") for note in unrated)
    assert any(note.startswith("2 of 4 items have no ratings;") for note in unrated)
    (mean,) = (note for note in unrated if "published mean" in note)
    assert mean.startswith(
        "1 of 4 items have a published mean and no single ratings. Metrics on the scale use the mean."
    )
    assert "With --labels mean, the side of the scale's cut" in mean
    uncut = RICH.about.model_copy(update={"scale": RatingScale(low=-100, high=100)})
    assert not any("With --labels mean" in note for note in replace(RICH, ratings=(), about=uncut).notes())


def test_a_restriction_keeps_the_annotators_who_rated():
    some = RICH.restricted_to(RICH.items[3:])

    assert [annotator.id for annotator in some.annotators] == ["a1"]
    assert RICH.restricted_to(RICH.items[1:2]).annotators == ()
    assert [query.id for query in some.queries] == [RICH.queries[1].id]
    assert some.contexts == ()
