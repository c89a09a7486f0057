"""Where pages of the view lead, who may ask for them, and how a verdict and a difference are shown: without a run."""

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.datastructures import Headers

from casewise.ask.layouts import ShownItem
from casewise.evaluate.viewing import ItemFilter
from casewise.stats.words import Piece
from casewise.web.viewing import (
    CONTEXT_SHOWN,
    ComparedText,
    Links,
    LoopbackOnly,
    ViewState,
    common_lists,
    in_words,
    several_judges,
    short_context,
    verdict_shown,
    with_marks,
)

QUERY = ItemFilter(outcome="wrong", page=3)


def test_links_on_the_server_carry_the_query_and_begin_at_its_first_page():
    links = Links()

    assert links.live
    assert links.items(QUERY) == "/?outcome=wrong"
    assert links.items(QUERY, page=2) == "/?outcome=wrong&page=2"
    assert links.items(ItemFilter()) == "/"
    assert links.item(0, QUERY) == "/item/1?outcome=wrong"
    assert links.item(41, ItemFilter(page=2)) == "/item/42"
    assert links.note(0, QUERY) == "/item/1/note?outcome=wrong"
    assert links.static("a.css") == "/static/a.css"


def test_links_in_a_folder_lead_to_its_lists_and_written_items_alone():
    links = Links({ItemFilter(outcome="wrong"): "wrong"}, frozenset({0, 4}))

    assert not links.live
    assert links.items(QUERY) == "wrong.html"
    assert links.items(QUERY, page=2) == "wrong-2.html"
    assert links.items(ItemFilter()) is None
    assert (links.item(4, QUERY), links.item(1, QUERY)) == ("item-000005.html", None)
    assert links.static("a.css") == "static/a.css"


@pytest.mark.parametrize(
    ("port", "headers", "method", "answered"),
    [
        (8109, {"host": "127.0.0.1:8109"}, "GET", True),
        (8109, {"host": "LOCALHOST:8109"}, "HEAD", True),
        (8109, {"host": "127.0.0.1"}, "GET", False),
        (80, {"host": "127.0.0.1"}, "GET", True),
        (80, {"host": "[::1]:80"}, "GET", True),
        (8109, {}, "GET", False),
        (8109, {"host": "127.0.0.1:8109"}, "POST", False),
        (8109, {"host": "127.0.0.1:8109", "origin": "http://127.0.0.1:8109"}, "POST", True),
        (8109, {"host": "localhost:8109", "origin": "http://127.0.0.1:8109"}, "POST", False),
        (8109, {"host": "127.0.0.1:8109", "origin": "https://127.0.0.1:8109"}, "GET", False),
    ],
)
def test_a_request_names_this_machine_and_comes_from_its_own_page(port, headers, method, answered):
    unused: Any = None
    refusal = LoopbackOnly(unused, port=port).refusal(Headers(headers), method)

    assert (refusal is None) == answered


def test_two_hosts_are_none():
    unused: Any = None
    raw = [(b"host", b"127.0.0.1:8109"), (b"host", b"127.0.0.1:8109")]

    assert LoopbackOnly(unused, port=8109).refusal(Headers(raw=raw), "GET") == (
        "This page answers on this machine only, under its own address."
    )


@pytest.mark.parametrize(
    ("verdict", "value", "words"),
    [(1, 1.0, "safe"), (0, 0.0, "unsafe"), (1, 0.8, "safe 0.80"), (0, 0.5, "unsafe 0.50"), (None, 1.0, "1.00")],
)
def test_a_verdict_is_told_with_its_value_where_that_says_more(verdict, value, words):
    assert in_words(verdict, value) == words


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("right", {"words": "safe 0.90", "mark": "✓", "outcome": "right"}),
        ("wrong", {"words": "safe 0.90", "mark": "✗", "outcome": "wrong"}),
        ("unscored", {"words": "unscored: no reason given", "mark": "", "outcome": "unscored"}),
        ("not asked", {"words": "not asked", "mark": "", "outcome": "not asked"}),
    ],
)
def test_a_series_shows_its_verdict_and_whether_that_is_right(outcome, expected):
    row = {"outcome_2": outcome, "value_2": 0.9, "verdict_2": 1, "reason_2": None}

    assert verdict_shown(row, 2) == expected
    assert verdict_shown({**row, "outcome_2": "unscored", "reason_2": "refused"}, 2)["words"] == "unscored: refused"


def context_of(own, twin):
    """What a list shows of a context, beside its twin."""
    unused: Any = None
    texts = None if twin is None else SimpleNamespace(texts=lambda: twin)
    benchmark: Any = SimpleNamespace(
        written_of=lambda _: None if own is None else SimpleNamespace(texts=own), twin_of=lambda _: texts
    )
    return short_context(benchmark, unused)


def test_a_list_shows_what_differs_from_the_twin_the_recipient_first():
    own = {"sender.role": "a desk", "recipient.type": "a nurse", "recipient.place": "here"}

    assert context_of(None, None) == "no context"
    assert context_of(own, None) == "a nurse · here · a desk"
    assert (
        context_of(own, {"sender.role": "a shop", "recipient.type": "a clerk", "recipient.place": "here"})
        == "a nurse · a desk"
    )
    assert context_of(own, own) == "a nurse · here · a desk"


def test_a_long_context_is_cut_at_its_length():
    assert context_of({"a": "x" * CONTEXT_SHOWN}, None) == "x" * CONTEXT_SHOWN
    assert context_of({"a": "x" * (CONTEXT_SHOWN + 1)}, None) == "x" * (CONTEXT_SHOWN - 1) + "…"


def shown(**texts: str) -> ShownItem:
    return ShownItem(query="?", context={"recipient": dict(texts)})


def marked(now: str, before: str) -> ComparedText:
    ((_, (text,)),) = with_marks(shown(type=now), shown(type=before))
    return text


def test_what_a_text_changes_is_marked_where_half_of_it_is_the_same():
    assert with_marks(shown(type="a nurse"), None) == [
        ("recipient", [ComparedText("type", [Piece("same", "a nurse")])])
    ]
    assert marked("a nurse of the night", "a nurse of the day") == ComparedText(
        "type", [Piece("same", "a nurse of the "), Piece("gone", "day"), Piece("new", "night")]
    )
    for now, before in (("one two!", "one six"), ("one two", "one six!")):
        assert marked(now, before).other is None
    for now, before in (("one two!!", "one six"), ("one two", "one six!!")):
        assert marked(now, before) == ComparedText("type", [Piece("same", now)], before)


def test_a_statement_that_the_original_lacks_is_new():
    ((_, (_, added)),) = with_marks(shown(type="a nurse", place="here"), shown(type="a nurse"))

    assert added == ComparedText("place", [Piece("new", "here")])


def test_common_lists_are_those_that_can_differ():
    def lists(*judges: str, rated: bool) -> list[str]:
        table: Any = SimpleNamespace(series=[SimpleNamespace(judge=judge) for judge in judges])
        state: Any = SimpleNamespace(table=table, links=Links(), labels=SimpleNamespace(rated=rated))
        return [words for words, _ in common_lists(state, ItemFilter(series=1))]

    assert lists("a", "a", rated=False) == ["a judge is wrong", "unscored", "most judges wrong first"]
    assert lists("a", "b", rated=True) == [
        "a judge is wrong",
        "wrong where people are sure",
        "unscored",
        "judges differ",
        "most judges wrong first",
    ]
    one: Any = SimpleNamespace(series=[SimpleNamespace(judge="a")] * 2)
    assert not several_judges(one)


def test_a_withheld_text_is_said_to_be():
    nothing: Any = None

    assert ViewState(nothing, {}, Links()).text("words") == "words"
    assert ViewState(nothing, {}, Links(), withheld=True).text("words") == "withheld"
