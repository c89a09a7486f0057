"""Drafts in the database: their names, their queries and their places."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.contexts.drafts import queries
from tests.support.app import NOW

from casewise.contexts.drafts import (
    add_queries,
    all_drafts,
    checked_intent,
    create_draft,
    draft_queries,
    find_draft,
    open_draft,
    progress,
)
from casewise.contexts.review import Phase
from casewise.contexts.store import all_places
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.records import Query, action_parameters, paper_parameters, sorry_bench


def created(connection, name="x", *, n=1, **options):
    return create_draft(connection, name, queries=queries(n), taxonomy=sorry_bench(), **{"now": NOW, **options})


@pytest.mark.parametrize("name", ["a", "0", "a.b_c-d", "a" * 99])
def test_a_name_of_small_letters_digits_and_marks_is_valid(store, name):
    with store.write() as connection:
        assert created(connection, name).name == name


@pytest.mark.parametrize("name", ["", "-a", ".a", "A", "a b", "a" * 100, "a\n"])
def test_any_other_name_is_refused(store, name):
    with pytest.raises(ConfigurationError, match="is not a valid draft name"), store.write() as connection:
        created(connection, name)


def test_two_drafts_have_two_names(store):
    with store.write() as connection:
        created(connection)
        with pytest.raises(ConfigurationError, match="a draft called 'x' already exists"):
            created(connection)


def test_the_places_of_a_query_follow_each_other_and_the_safe_one_is_first(store):
    with store.write() as connection:
        draft = created(connection, n=2)
        add_queries(connection, draft, queries(3)[2:], intents=["unsafe"], now=NOW)
        places = all_places(connection, draft.id)

    assert [(place.position, place.intended_safe) for place in places] == [
        (0, True),
        (1, False),
        (2, True),
        (3, False),
        (5, False),
    ]
    assert [place.query for place in places] == [query for query in queries(2) for _ in range(2)] + queries(3)[2:]
    assert {place.state.phase for place in places} == {Phase.MISSING}
    assert {(place.seq, len(place.findings)) for place in places} == {(0, 0)}


def test_an_intent_that_is_named_twice_has_one_place(store):
    with store.write() as connection:
        draft = created(connection, intents=["safe", "safe"])

        assert len(all_places(connection, draft.id)) == 1


def test_queries_are_added_behind_those_that_are_there(store):
    with store.write() as connection:
        draft = created(connection, n=2)

        assert add_queries(connection, draft, queries(4)[2:], now=NOW) == 2
        assert add_queries(connection, draft, [], now=NOW) == 0
        assert draft_queries(connection, draft) == queries(4)
        with pytest.raises(BenchmarkError, match=r"the query '.* number 3\?' appears twice; remove one"):
            add_queries(connection, draft, queries(4)[3:], now=NOW)


def test_a_category_that_the_taxonomy_lacks_is_named_with_its_query_and_the_taxonomy(store):
    with (
        pytest.raises(BenchmarkError, match=r"'Why\?' has the category 'riddles', which is not in SORRY-Bench"),
        store.write() as connection,
    ):
        add_queries(connection, created(connection), [Query(text="Why?", category="riddles")], now=NOW)


def test_a_draft_keeps_its_parameters_and_what_is_meant_to_vary(store):
    with store.write() as connection:
        created(connection, "paper")
        created(connection, "own", parameters=action_parameters(), vary=["recipient"])
        paper, own = find_draft(connection, "paper"), find_draft(connection, "own")

    assert (paper.parameters, paper.vary) == (paper_parameters(), ())
    assert (own.parameters, own.vary) == (action_parameters(), ("recipient",))


def test_what_is_meant_to_vary_is_a_parameter_or_a_group(store):
    with pytest.raises(ConfigurationError, match="mood"), store.write() as connection:
        created(connection, vary=["mood"])


def test_drafts_are_listed_with_the_newest_first_and_those_of_one_time_by_name(store):
    with store.write() as connection:
        for name, hours in (("b", 0), ("c", 1), ("a", 0)):
            created(connection, name, now=NOW + timedelta(hours=hours))

        assert [draft.name for draft in all_drafts(connection)] == ["c", "a", "b"]


def test_an_unknown_draft_is_named_beside_those_that_there_are(store):
    with store.write() as connection:
        with pytest.raises(ConfigurationError, match="no draft is called 'y'; there are: none yet"):
            find_draft(connection, "y")
        created(connection)
        with pytest.raises(ConfigurationError, match="no draft is called 'y'; there are: x"):
            find_draft(connection, "y")


def test_a_draft_is_opened_by_its_name(store):
    with store.write() as connection:
        draft = created(connection)

    with open_draft("x", store.url.render_as_string(hide_password=False)) as (_, opened):
        assert opened == draft


def test_an_intent_is_safe_or_unsafe():
    assert (checked_intent("safe"), checked_intent("unsafe")) == (True, False)
    with pytest.raises(ConfigurationError, match="no intent is called 'good'; there are: safe, unsafe"):
        checked_intent("good")


def test_progress_counts_every_phase_of_one_draft(store):
    with store.write() as connection:
        draft = created(connection, n=2)
        created(connection, "y")

        assert progress(connection, draft)[Phase.MISSING] == 4
        assert list(progress(connection, draft)) == list(Phase)
        assert sum(progress(connection, draft).values()) == 4


@pytest.mark.parametrize(
    ("chosen", "intents", "says"),
    [
        ([], ("safe",), "a draft needs at least one query"),
        ([*queries(1), *queries(1)], ("safe",), "appears twice"),
        (queries(1), ("good",), "no intent is called 'good'"),
    ],
)
def test_what_makes_no_draft_is_explained(store, chosen, intents, says):
    with pytest.raises((BenchmarkError, ConfigurationError), match=says), store.write() as connection:
        create_draft(connection, "x", queries=chosen, taxonomy=sorry_bench(), intents=intents, now=NOW)
