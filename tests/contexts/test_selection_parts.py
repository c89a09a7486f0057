"""What a file gives a draft, and what a draft takes of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.contexts.drafts import CATEGORIES, queries
from tests.contexts.wordings import FIELDS
from tests.support.app import NOW
from tests.support.demo import DEMO

import casewise
from casewise.contexts.drafts import BenchmarkDraft, create_draft
from casewise.contexts.record import DraftAct, draft_events, place_key
from casewise.contexts.review import Author, Phase
from casewise.contexts.selection import (
    ImportedContext,
    SelectedQueries,
    SelectionOptions,
    Source,
    choose,
    find_category,
    import_contexts,
    read_source,
    select_queries,
    source_from_benchmark,
    without_duplicates,
)
from casewise.contexts.store import all_places, events_of
from casewise.errors import ConfigurationError, DataError
from casewise.records import Query, action_parameters, paper_parameters, sorry_bench

TAXONOMY = sorry_bench()
OPTIONS = SelectionOptions()


@pytest.mark.parametrize(
    ("named", "place"),
    [
        (1, 0),
        ("45", 44),
        (" Impersonation ", TAXONOMY.names.index("impersonation")),
        (0, None),
        (46, None),
        ("46", None),
    ],
)
def test_a_category_is_given_by_its_name_or_its_number_from_one(named, place):
    assert find_category(named, TAXONOMY) == (None if place is None else TAXONOMY.names[place])


@pytest.mark.parametrize("named", [None, 1.0, ["1"], "riddles", "-1", ""])
def test_anything_else_is_no_category(named):
    assert find_category(named, TAXONOMY) is None


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"text": " ", "category": "1"}, "q.jsonl:1: no text in any of text, query, prompt, question, turns"),
        ({"text": 3, "category": "1"}, "q.jsonl:1: no text in any of"),
        ({"text": "Why?"}, "q.jsonl:1: category None is not in SORRY-Bench"),
    ],
)
def test_a_row_without_a_text_or_a_category_says_where(tmp_path, row, problem):
    (tmp_path / "q.jsonl").write_text(json.dumps(row))

    with pytest.raises(DataError, match=problem):
        read_source(tmp_path / "q.jsonl", taxonomy=TAXONOMY)


def test_a_query_keeps_its_source_and_the_category_as_published(tmp_path):
    rows = [{"text": " Why? ", "category": "1", "source": "a paper"}, {"text": "How?", "category": CATEGORIES[0]}]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first, second = read_source(tmp_path / "q.jsonl", taxonomy=TAXONOMY).queries

    assert (first.text, first.source, first.category_as_published) == ("Why?", "a paper", "1")
    assert (second.source, second.category_as_published) == ("q.jsonl", None)


def test_a_table_of_queries_alone_has_no_contexts_and_a_checksum(tmp_path):
    (tmp_path / "q.csv").write_text("text,category\nWhy?,1\n")
    source = read_source(tmp_path / "q.csv")

    assert (source.title, source.contexts, source.unmoved, source.notes) == ("q.csv", {}, None, ())
    assert (source.taxonomy, source.parameters) == (TAXONOMY, paper_parameters())
    assert len(source.facts["sha256"]) == 64


def several(*counts):
    """So many queries of the first, the second, … category."""
    words = np.random.default_rng(3).permutation(10_000)
    return [
        Query(text=f"{words[n]} {words[n + 100]} {words[n + 200]}", category=CATEGORIES[place])
        for place, count in enumerate(counts)
        for n in range(40 * place, 40 * place + count)
    ]


def test_queries_come_in_the_order_of_the_taxonomy_and_of_the_file():
    first, second = several(3, 3)[:3], several(3, 3)[3:]
    mixed = [query for pair in zip(second, first, strict=True) for query in pair]

    chosen = select_queries(mixed, TAXONOMY, per_category=None, rng=np.random.default_rng(1))
    assert chosen == SelectedQueries([*first, *second], [], {})
    drawn = select_queries(mixed, TAXONOMY, per_category=2, rng=np.random.default_rng(1)).queries
    assert [query.category for query in drawn] == [CATEGORIES[0]] * 2 + [CATEGORIES[1]] * 2
    assert drawn == [query for query in chosen.queries if query in drawn]


def test_a_category_with_as_many_queries_as_wanted_is_not_short():
    chosen = select_queries(several(2, 1), TAXONOMY, per_category=2, rng=np.random.default_rng(1))

    assert (chosen.short[CATEGORIES[1]], chosen.short[CATEGORIES[2]]) == (1, 0)
    assert CATEGORIES[0] not in chosen.short


def test_a_query_that_the_draft_has_already_is_a_duplicate_and_those_are_not_listed_again():
    before = several(2)
    kept, duplicates = without_duplicates([before[0], *several(0, 1)], before=before)

    assert kept == several(0, 1)
    assert [(pair.kept, pair.dropped, pair.similarity) for pair in duplicates] == [(before[0], before[0], 1.0)]
    assert without_duplicates([], before=[*before, before[0]]) == ([], [])


def source_of_demo(tmp_path, **options):
    return source_from_benchmark(DEMO, tmp_path / "demo", SelectionOptions(**options))


def test_a_benchmark_gives_a_context_for_each_query_and_intent(tmp_path):
    source = source_of_demo(tmp_path)
    context = DEMO.contexts[0]

    assert (len(source.contexts), len(source.queries), source.title) == (90, 45, "demo")
    given = source.contexts[place_key(context.query_id, intended_safe=bool(context.intended_safe))]
    assert (given.fields, given.approved) == (context.texts(), False)
    assert source.unmoved == frozenset(DEMO.unmoved_queries)
    assert source.facts == {"benchmark": DEMO.title, "digest": DEMO.digest}
    assert source.notes == ()


@pytest.mark.parametrize(("written_by", "author"), [(None, None), ("model", Author.MODEL), ("person", Author.PERSON)])
def test_the_author_of_contexts_is_stated_by_a_release_or_by_the_owner(tmp_path, written_by, author):
    source = source_of_demo(tmp_path, written_by=written_by)

    assert {given.author for given in source.contexts.values()} == {author}


def test_contexts_that_are_left_out_are_counted(tmp_path):
    source = source_of_demo(tmp_path, queries_only=True)

    assert (source.contexts, source.notes) == ({}, ("left out by --queries-only: 90 contexts of demo",))


def test_contexts_of_other_parameters_are_refused(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"the contexts of demo state the parameters of .*; take the queries alone"
    ):
        source_from_benchmark(DEMO, tmp_path / "demo", OPTIONS, parameters=action_parameters())
    alone = replace(OPTIONS, queries_only=True)
    assert source_from_benchmark(DEMO, tmp_path / "demo", alone, parameters=action_parameters()).contexts == {}


def test_contexts_without_an_intent_are_refused_unless_the_queries_come_alone(tmp_path):
    benchmark = casewise.load_frame([{"query": "Why?", "context": "A nurse asks.", "label": "safe"}])

    with pytest.raises(ConfigurationError, match=r"1 context of x without an intent, .* --intended, .* --queries-only"):
        source_from_benchmark(benchmark, tmp_path / "x", OPTIONS)
    alone = source_from_benchmark(benchmark, tmp_path / "x", replace(OPTIONS, queries_only=True))
    assert alone.notes == ("left out by --queries-only: 1 context of x",)


def source(*keys, listed=None, **options):
    """Two queries in a file, with contexts for these of their places: `0 safe` is that of the first with the safe intent."""
    listed = queries(2) if listed is None else listed
    contexts = {
        place_key(listed[int(number)].id, intended_safe=intent == "safe"): ImportedContext(FIELDS, None, **options)
        for number, intent in (key.split() for key in keys)
    }
    return Source("q.csv", listed, TAXONOMY, paper_parameters(), contexts, facts={"sha256": "0"})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"movable": True}, "--movable needs a benchmark with ratings, and q.csv has none"),
        (
            {"keep_approved": True},
            "--keep-approved needs a release that records approvals in events.jsonl, and q.csv is none",
        ),
    ],
)
def test_a_choice_that_the_file_does_not_allow_is_refused(options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        choose(source("0 safe"), TAXONOMY, SelectionOptions(**options))


def test_queries_that_no_context_moves_or_that_the_draft_has_are_left_out():
    first, second = several(2)
    moved = replace(source(listed=[first, second]), unmoved=frozenset({first.id}))

    assert choose(moved, TAXONOMY, replace(OPTIONS, movable=True)).queries == [second]
    assert choose(moved, TAXONOMY, OPTIONS).queries == [first, second]
    assert choose(moved, TAXONOMY, OPTIONS, before=[first]).queries == [second]
    assert choose(moved, TAXONOMY, OPTIONS, before=[first]).duplicates == []


@pytest.fixture
def connection(store):
    with store.write() as opened:
        yield opened


def new_draft(connection, n=2) -> BenchmarkDraft:
    return create_draft(connection, "x", queries=queries(n), taxonomy=TAXONOMY, now=NOW)


def imported(connection, draft, given, options=OPTIONS, *, chosen=None):
    listed = SelectedQueries(queries(2) if chosen is None else chosen, [], {})
    return import_contexts(
        connection, draft, given, listed, options, act_=DraftAct.SELECT, facts={"intents": ["safe"]}, now=NOW
    )


def phases(connection, draft):
    return [place.state.phase for place in all_places(connection, draft.id)]


def test_contexts_come_in_for_review_and_missing_ones_wait_for_writers_where_any_came(connection):
    draft = new_draft(connection)
    found = imported(connection, draft, source("0 safe", "1 unsafe"))

    assert (found.imported, found.adopted, found.missing, found.notes) == (2, 0, 2, ())
    assert phases(connection, draft) == [Phase.GENERATED, Phase.MISSING, Phase.MISSING, Phase.GENERATED]
    places = all_places(connection, draft.id)
    assert {place.state.problem for place in places[1:3]} == {"q.csv has no context for it"}
    (event,) = events_of(connection, places[0].id)
    assert (event.by, event.detail) == ("casewise", {"source": "q.csv", "author": "unknown"})


@pytest.mark.parametrize(("to_writers", "missing"), [(False, 0), (True, 4)])
def test_queries_without_any_context_wait_for_a_model_unless_people_write(connection, to_writers, missing):
    draft = new_draft(connection)

    assert imported(connection, draft, source(), replace(OPTIONS, to_writers=to_writers)).missing == missing
    reasons = {place.state.problem for place in all_places(connection, draft.id)}
    assert reasons == ({"people write the contexts of this draft"} if to_writers else {None})


def test_a_place_of_a_query_that_was_not_chosen_now_is_not_handed_to_writers(connection):
    draft = new_draft(connection)

    assert imported(connection, draft, source("0 safe"), chosen=queries(1)).missing == 1


@pytest.mark.parametrize(("keep", "phase"), [(True, Phase.APPROVED), (False, Phase.GENERATED)])
def test_an_approval_is_kept_where_that_is_wanted(connection, keep, phase):
    draft = new_draft(connection)
    found = imported(connection, draft, source("0 safe", approved=True), replace(OPTIONS, keep_approved=keep))

    assert (found.adopted, found.imported) == ((1, 0) if keep else (0, 1))
    assert phases(connection, draft)[0] == phase
    (event,) = draft_events(connection, draft.id)
    assert (event.detail["imported"], event.detail["selected"], event.detail["read"]) == (1, 2, 2)


def test_an_id_of_the_file_stays_with_its_context(connection):
    draft = new_draft(connection)
    imported(connection, draft, source("0 safe", source_id="HR-1"))

    assert events_of(connection, all_places(connection, draft.id)[0].id)[0].source_id == "HR-1"


def test_what_is_not_imported_is_counted(connection):
    draft = new_draft(connection, n=1)
    imported(connection, draft, source("0 safe"), chosen=queries(1))
    again = imported(connection, draft, source("0 safe", "0 unsafe", "1 safe"), chosen=[])

    assert again.imported == 1
    assert again.notes == (
        "already in the draft: 1 query of q.csv",
        "left out: 1 context that the draft has already",
        "left out: 1 context of q.csv whose queries were not selected",
    )


def test_a_context_with_a_parameter_that_the_draft_lacks_is_refused(connection):
    strange = Source(
        "q.csv", queries(2), TAXONOMY, paper_parameters(),
        {place_key(queries(1)[0].id, intended_safe=True): ImportedContext({"caller.role": "porter"}, None)},
    )  # fmt: skip

    with pytest.raises(
        ConfigurationError, match=r"q.csv: the context of .* states caller.role, and the draft's contexts do"
    ):
        imported(connection, new_draft(connection), strange)


def test_the_record_says_what_was_read_and_chosen_and_how(connection):
    draft = new_draft(connection)
    options = SelectionOptions(per_category=1, seed=3)
    imported(connection, draft, source("0 safe"), options)
    (event,) = draft_events(connection, draft.id)

    assert event.act == DraftAct.SELECT
    assert event.detail == {
        "source": "q.csv",
        "sha256": "0",
        "intents": ["safe"],
        "read": 2,
        "selected": 2,
        "per_category": 1,
        "seed": 3,
        "movable": False,
        "left_out": 0,
        "duplicates": [],
        "short": {},
        "imported": 1,
        "notes": [],
    }


def test_each_intent_is_named_once_in_a_list():
    assert SelectionOptions(intents="safe, unsafe").every_intent == ("safe", "unsafe")
