"""JSON as language models write it: what is mended, what is not, and that no text raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.ask.json_objects import (
    DEEPEST,
    LONGEST_REPAIRED,
    LONGEST_SCAN,
    closest_key,
    find_objects,
    read_value,
    top_objects,
    values_in,
)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "b"}',
        "{'a': 'b'}",
        '{"a": "b",}',
        '{"a": "b" // a comment\n}',
        '{a: "b"}',
        "{“a”: “b”}",
        'Here: {"a": "b"}, as asked.',
        '```json\n{"a": "b"}\n```',
    ],
)
def test_usual_slips_are_mended(text):
    assert find_objects(text) == [{"a": "b"}]


def test_nested_objects_follow_the_one_that_holds_them():
    assert find_objects('{"a": {"b": [{"c": 1}]}}') == [{"a": {"b": [{"c": 1}]}}, {"b": [{"c": 1}]}, {"c": 1}]


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "{'a': 1, 'a': 2}", '{"a": ', "{}}{", "{"])
def test_an_object_whose_meaning_is_open_is_none(text):
    assert [entry for entry in find_objects(text) if entry] == []


def test_a_number_that_is_none_or_too_large_is_null():
    assert find_objects('{"a": NaN, "b": -Infinity, "c": 1e999, "d": ' + "9" * 400 + ', "e": 7}') == [
        {"a": None, "b": None, "c": None, "d": None, "e": 7}
    ]


def test_brackets_in_a_string_close_nothing():
    found = read_value('{"a": "} ]"} more', 0)

    assert (found.value, found.end, found.as_written) == ({"a": "} ]"}, 12, True)


def test_a_text_with_more_braces_than_any_that_is_asked_for_is_not_searched():
    assert list(values_in("{ " * (LONGEST_SCAN - 1) + '{"a": 1}')) != []
    assert list(values_in("{ " * LONGEST_SCAN + '{"a": 1}')) == []
    assert list(top_objects("{} " * (LONGEST_SCAN - 1) + '{"a": 1}'))[-1] == {"a": 1}
    assert list(top_objects("{} " * LONGEST_SCAN + '{"a": 1}'))[-1] == {}


def test_only_a_text_as_short_as_an_answer_is_mended():
    slip = "{'a': '" + "x" * (LONGEST_REPAIRED - 9) + "'}"

    assert read_value(slip, 0).value is not None
    assert read_value(" " * 50 + slip, 50).value is not None
    assert read_value(slip.replace("x", "xx", 1), 0).value is None


def test_mended_json_and_json_that_never_ends_are_not_as_written():
    assert read_value("{'a': 1}", 0).as_written is False
    assert (read_value('{"a": 1', 0).value, read_value('{"a": 1', 0).as_written) == (None, False)


def test_a_line_break_in_a_string_is_mended():
    assert find_objects('{"a": "two\nlines"}') == [{"a": "two\nlines"}]


def test_a_key_that_stands_twice_with_one_value_is_that_value():
    assert find_objects('{"a": 1, "a": 1}') == [{"a": 1}]


def test_an_object_right_behind_a_brace_that_opens_nothing_is_read():
    assert list(top_objects('{{"a": 1}}')) == [{"a": 1}]


def test_json_nested_deeper_than_any_that_is_asked_for_is_not_read():
    deep = "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)

    assert read_value(deep, 0).value is None
    assert read_value(deep[1:-1], 0).value is not None


def test_top_objects_are_json_as_written_and_outermost():
    assert list(top_objects('{"a": {"b": 1}} and {"c": 2}')) == [{"a": {"b": 1}}, {"c": 2}]
    assert list(top_objects("{'a': 1} {\"c\": 2}")) == [{"c": 2}]
    assert list(top_objects('{"rows": [{"c": 2}, {"d"')) == []


def test_a_key_is_found_though_it_is_misspelt():
    assert closest_key({"judgemnt": 1}, ("judgement",)) == "judgemnt"
    assert closest_key({"Judgement": 1, "judgement": 2}, ("judgement",)) == "judgement"
    assert closest_key({"verdict": 1}, ("judgement",)) is None
    assert closest_key({"judgement" * 2: 1}, ("judgement",)) is None


@given(st.text(alphabet=st.sampled_from(list("{}[]\"':,a1 \\\n/")), max_size=60))
def test_no_text_raises(text):
    find_objects(text)
    list(top_objects(text))
