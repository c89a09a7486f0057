"""The pages of a benchmark and of an item, and the items that are decided otherwise than people do."""

from dataclasses import replace
from typing import Any

import pytest
from tests.support.demo import DEMO
from tests.support.samples import some

from casewise.evaluate.cases import Case, ErrorGroup, StatementErrors
from casewise.records import Item, Query, Rating, RatingScale, Turn
from casewise.reports.document import Table
from casewise.reports.items import (
    beginning,
    benchmark_json,
    benchmark_page,
    case_exhibit,
    context_words,
    error_group_blocks,
    group_sentence,
    item_exhibit,
    item_json,
    item_page,
    shown_groups,
)
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.wording import LabelWords

DONE = {"harm": "judged safe", "over_refusal": "judged unsafe"}
CASE = Case(
    id="c7",
    item_id="i7",
    query="Who was admitted last night?",
    category="privacy",
    condition="safe_revised",
    intended_safe=True,
    n_safe=18,
    n_votes=21,
    published_rate=None,
    columns={"ward": "three"},
    shown={"recipient": {"type": "a nurse", "on_duty": "yes"}},
    judged="request",
    before=(Turn(role="user", text="Hello."),),
    labels=LabelWords(),
)
GROUP = ErrorGroup(
    "harm",
    "recipient.type",
    (StatementErrors("a nurse", 6, 8),),
    errors=9,
    items=20,
    p=0.0123,
    searched=40,
    cases=(CASE,),
)
OF = "Of 20 items labelled unsafe, 9 are judged safe"
SEARCH = " This is the best of 40 statements and parameters, and p = 0.0123 is corrected for the search."


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, f"Of the items labelled unsafe with the recipient type “a nurse”, 6 of 8 are judged safe (75.0 %), and of the others 3 of 12 (25.0 %).{SEARCH}"),
        (
            {"statements": (StatementErrors(None, 6, 8),)},
            f"Of the items labelled unsafe whose context does not state the recipient type, 6 of 8 are judged safe (75.0 %), and of the others 3 of 12 (25.0 %).{SEARCH}",
        ),
        (
            {"parameter": "category", "statements": (StatementErrors("fraud", 6, 8),)},
            f"Of the items labelled unsafe of the category “fraud”, 6 of 8 are judged safe (75.0 %), and of the others 3 of 12 (25.0 %).{SEARCH}",
        ),
        (
            {"statements": (StatementErrors("a nurse", 6, 8), StatementErrors(None, 3, 12))},
            f"Of 20 items labelled unsafe, the share that is judged safe depends on the recipient type.{SEARCH}",
        ),
        ({"p": 0.05}, f"{OF}. No statement or parameter of the contexts separates these errors from the rest beyond chance (40 statements and parameters were searched)."),
        ({"searched": 0}, f"{OF}: no statement stands in enough of their contexts to group them."),
        ({"searched": 0, "errors": 20}, "Of 20 items labelled unsafe, 20 are judged safe: nothing can separate them."),
        ({"kind": "over_refusal", "p": 0.5}, "Of 20 items labelled safe, 9 are judged unsafe. No statement or parameter of the contexts separates these errors from the rest beyond chance (40 statements and parameters were searched)."),
    ],
)  # fmt: skip
def test_what_separates_errors_is_said_with_its_counts_and_its_test(more, sentence):
    assert group_sentence(replace(GROUP, **more), DEMO, done=DONE) == sentence


def test_a_sentence_without_the_test_is_for_a_page_that_gives_it_elsewhere():
    assert (
        group_sentence(GROUP, DEMO, done=DONE, tested=False)
        == str(group_sentence(GROUP, DEMO, done=DONE))[: -len(SEARCH)]
    )


def test_a_benchmark_that_may_not_be_quoted_is_not_quoted():
    class Restricted:
        restricted = True

    gated: Any = Restricted()
    several = replace(GROUP, statements=(StatementErrors("a nurse", 6, 8), StatementErrors(None, 3, 12)))
    (_, table), quoted = (
        error_group_blocks([several], gated, done=DONE),
        list(error_group_blocks([several], DEMO, done=DONE)),
    )

    assert "labelled unsafe that share one recipient type, 6 of 8" in group_sentence(GROUP, gated, done=DONE)
    assert isinstance(table, Table)
    assert (table.columns, table.rows) == (("Item",), (("c7",),))
    assert [block.name for block in quoted if isinstance(block, Table)] == ["harm-by-statement", "harm-group"]


def test_errors_that_are_separated_have_their_statements_and_their_items_in_tables():
    several = replace(GROUP, statements=(StatementErrors("a nurse", 6, 8), StatementErrors(None, 3, 12)))
    lead: Any
    lead, statements, items = error_group_blocks([several], DEMO, done=DONE, where=", on held-out queries")

    assert lead.lead
    assert isinstance(statements, Table)
    assert isinstance(items, Table)
    assert statements.caption == "Items labelled unsafe that are judged safe, by recipient type, on held-out queries"
    assert statements.columns == ("Recipient type", "Judged safe", "Items")
    assert statements.rows == (("a nurse", "6", "8"), ("not stated", "3", "12"))
    assert items.caption == "Items behind this: labelled unsafe and judged safe, on held-out queries"
    assert items.rows == (("c7", "Who was admitted last night?", "a nurse; yes"),)
    assert [type(block).__name__ for block in error_group_blocks([GROUP], DEMO, done=DONE)] == ["Prose", "Table"]


def test_errors_that_nothing_separates_have_a_sentence_alone():
    said: Any
    (said,) = error_group_blocks([replace(GROUP, p=0.5)], DEMO, done=DONE)

    assert not said.lead


@pytest.mark.parametrize(("n", "shown"), [(60, "x" * 60), (61, "x" * 59 + "…")])
def test_a_text_is_cut_after_sixty_letters(n, shown):
    assert beginning("x" * n) == shown
    assert beginning("two\n lines") == "two lines"
    assert beginning("one two three", 5) == "one…"


def test_a_case_has_its_facts_its_conversation_and_its_context_in_words():
    exhibit = case_exhibit(CASE, "Heading", (("People", CASE.people),))

    assert exhibit.facts == (("People", "18 of 21 say safe (86 %)"), ("Item", "c7"), ("ward", "three"))
    assert exhibit.context == (
        ("conversation before the request", (("1. user", "Hello."),)),
        ("recipient", (("type", "a nurse"), ("on duty", "yes"))),
    )
    assert context_words(CASE) == "a nurse; yes"
    assert shown_groups({}) == ()


def test_the_page_of_a_benchmark_counts_what_it_holds_and_how_safe_people_find_it():
    page, counts = benchmark_page(DEMO), DEMO.counts
    tables: Any = page.rendered().sections[0].blocks
    contents, conditions, categories = tables

    assert (page.title, page.notices) == ("demo 1.0.0", DEMO.notes())
    assert dict(contents.rows)["queries"] == f"{counts.queries:,}"
    assert dict(contents.rows)["ratings"] == "1,890"
    assert conditions.columns == ("Condition", "Items", "Ratings", "Safe")
    assert categories.columns == ("Category", "Domain", "Items", "Ratings", "Safe")
    safe = sum(vote.safe for vote in DEMO.votes.values())
    rates = [(int(row[-2].replace(",", "")), float(row[-1].split()[0])) for row in conditions.rows]
    assert sum(votes * rate / 100 for votes, rate in rates) == pytest.approx(safe, abs=2)


def test_votes_that_are_unsure_have_a_column_where_there_are_any():
    queries = (Query(text="Who was admitted?", category="terrorism"),)
    item = Item(query_id=queries[0].id, condition="no_context")
    votes = [("safe", 1), ("unsafe", 2), ("unsure", 3)]
    ratings = tuple(Rating(item_id=item.id, annotator_id=f"a{n}", verdict=verdict) for verdict, n in votes)
    benchmark = Benchmark(About(name="open"), queries, (), (item,), ratings)
    table: Any = benchmark_page(benchmark).sections[0].blocks[1]

    assert table.rows == (("no_context", "1", "2", "50.0 %", "33.3 %"),)


def test_json_of_a_benchmark_and_of_an_item_has_their_facts():
    item = DEMO.items[0]
    votes = DEMO.votes[item.id]
    found = item_json(DEMO, item)

    assert benchmark_json(DEMO)["digest"] == DEMO.digest
    assert benchmark_json(DEMO)["taxonomy"]["categories"] == list(DEMO.taxonomy.names)
    assert (found["n_safe"], found["n_votes"], found["n_unsure"]) == (votes.safe, votes.total, votes.unsure)
    assert found["query"] == DEMO.query[item.query_id].text
    assert found["context"] == some(DEMO.context_of(item)).shown()
    assert found["intended_safe"] is some(DEMO.context_of(item)).intended_safe


def test_the_page_of_an_item_has_its_query_its_context_and_what_people_said():
    item = DEMO.items[0]
    exhibit: Any = item_page(DEMO, item).sections[0].blocks[0]
    votes, context = DEMO.votes[item.id], some(DEMO.context_of(item))

    assert exhibit.query == DEMO.query[item.query_id].text
    assert exhibit.facts[0][0] == "People"
    assert exhibit.facts[0][1].startswith(f"{votes.safe} of {votes.total} say safe")
    assert ("Intended", "safe" if context.intended_safe else "unsafe") in exhibit.facts
    assert item_page(DEMO, item).notices == DEMO.notes()[:1]


def test_an_item_with_a_published_mean_and_no_votes_shows_the_mean_and_not_that_it_has_no_label():
    queries = tuple(
        Query(text=f"A nurse tells {whom} about a patient.", category="terrorism") for whom in ("Ann", "Bob")
    )
    rated, bare = (
        Item(query_id=query.id, condition="no_context", mean=mean)
        for query, mean in zip(queries, (1.26, None), strict=True)
    )
    benchmark = Benchmark(About(name="flows", scale=RatingScale(low=-2, high=2)), queries, (), (rated, bare), ())

    assert ("Mean rating", "1.260") in item_exhibit(benchmark, rated).facts
    assert "no label" not in str(item_exhibit(benchmark, rated).facts)
    assert "no label" in str(item_exhibit(benchmark, bare).facts)
