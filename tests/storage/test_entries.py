"""Objects of other people's files, read strictly, and cells as numbers, where they can be read in one way only."""

import math
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from casewise.errors import DataError
from casewise.storage.entries import (
    MOST_LISTED,
    Entry,
    id_key,
    json_entries,
    json_entry,
    name_text,
    number_of,
    once,
    text_lines,
    text_or_json,
)


def entry(where="", **values) -> Entry:
    return Entry(Path("f.csv"), 7, values, where)


def refused(problem):
    return pytest.raises(DataError, match=problem)


def test_what_is_no_object_is_refused_with_its_place():
    with refused(r"f\.csv:7: row 3: is \[1\], not an object with keys"):
        Entry(Path("f.csv"), 7, [1], "row 3")


def test_a_missing_or_empty_value_is_refused_with_the_keys_that_there_are():
    with refused(r"'nmae' is not there \(did you mean 'name'.*\); it has name, b$"):
        entry(name=1, b=2).value("nmae")
    with refused(r"'b' is empty; it has a, b$"):
        entry(a=1, b="").value("b")
    with refused("'a' is not there; it has nothing$"):
        entry().value("a")
    with refused("and 1 more$"):
        entry(**{f"k{n}": n for n in range(MOST_LISTED + 1)}).value("?")
    assert (entry(a=0).value("a"), entry(a=0).has("a"), entry(a="").has("a"), entry().has("a")) == (
        0,
        True,
        False,
        False,
    )


@pytest.mark.parametrize("value", [3, " ", "a\0b"])
def test_a_text_is_one_that_is_not_blank(value):
    assert entry(a=" x ").text("a") == " x "
    with refused("'a' is .*, not a text"):
        entry(a=value).text("a")


@pytest.mark.parametrize(
    ("value", "name"),
    [("x", "x"), (7.0, "7"), (7.5, "7.5"), (3, "3"), (date(2026, 1, 2), "2026-01-02"), (Decimal("1.50"), "1.50")],
)
def test_a_name_is_a_text_a_number_or_a_date(value, name):
    assert entry(a=value).name("a") == name_text(value) == name


@pytest.mark.parametrize("value", [True, " ", [1], {"x": 1}])
def test_what_is_no_name_is_refused(value):
    with refused("'a' is .*, not a name or a number"):
        entry(a=value).name("a")


def test_a_number_lies_within_its_range_both_ends_included():
    assert [entry(a=value).number("a", 1, 5) for value in (1, "5", "2,5")] == [1.0, 5.0, 2.5]
    for value in (0.9, 5.1, "x"):
        with refused("'a' is .*, not a number from 1 to 5"):
            entry(a=value).number("a", 1, 5)
    with refused("not a number$"):
        entry(a="x").number("a", 1)
    assert entry(a="4.0").whole_in("4.0", "a", 0, 9) == 4
    with refused("'a' is 4.5, not a whole number"):
        entry().whole_in(4.5, "a", 0, 9)


def test_a_word_stands_for_its_value():
    words = {"yes": 1, "no": 0}

    assert (entry(a="yes").word("a", words), entry().word_in("no", "a", words)) == (1, 0)
    for word in ("maybe", 3):
        with refused("not one of yes, no"):
            entry(a=word).word("a", words)


def test_a_list_may_be_empty_and_its_objects_are_counted_from_one():
    assert entry(a=[]).list("a") == []
    with refused("'a' is 3, not a list"):
        entry(a=3).list("a")
    with refused("'a' is not there"):
        entry().list("a")
    inner, outer = list(entry("row 2", a=[{"b": 1}, {"b": 2}]).entries("a")), entry(a={"b": 1}).entry("a")
    assert [each.where for each in (*inner, outer, entry("row 2", a={"b": 1}).entry("a"))] == [
        *("row 2, a 1", "row 2, a 2", "a", "row 2, a"),
    ]
    assert [each.value("b") for each in inner] == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a.jsonl", '{"a": 1}\n\n{"a": 2}\n', [1, 3]),
        ("a.NDJSON", '{"a": 1}\n', [1]),
        ("a.json", '[\n{"a": 1},\n{"a": 2}]', [2, 3]),
    ],
)
def test_objects_have_the_lines_that_they_begin_on(tmp_path, name, text, lines):
    (tmp_path / name).write_text(text)
    found = json_entries(tmp_path / name)

    assert [(each.line, each.value("a")) for each in found] == [(line, n) for n, line in enumerate(lines, 1)]


def test_one_object_is_taken_only_where_it_may_stand_alone(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}')

    assert json_entry(file).value("a") == 1
    with pytest.raises(DataError):
        json_entries(file)
    file.write_text("[]")
    with refused("holds no rows"):
        json_entries(file)


def test_each_line_of_a_text_file_holds_something(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\ntwo\n")
    assert [(each.line, each.value("line")) for each in text_lines(file)] == [(1, "one"), (2, "two")]
    file.write_text("one\n \ntwo")
    with refused(r"a\.txt:2: is blank"):
        text_lines(file)


def test_a_name_stands_once():
    names: set[str] = set()

    assert once(entry(a="x"), "a", names) == "x"
    with refused("'a' is 'x' a second time"):
        once(entry(a="x"), "a", names)


def test_a_name_that_a_program_wrote_with_decimals_is_the_same_name():
    assert [id_key(cell) for cell in ("7.0", 7.0, "7", "x.0", ".0", "7.00")] == ["7", "7", "7", "x.0", ".0", "7.00"]
    assert [text_or_json(cell) for cell in ("x", ["\u00e9"], None)] == ["x", '["\u00e9"]', "null"]


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (3, 3.0),
        ("3.5", 3.5),
        (" 1\u00a0000 ", 1000.0),
        ("\u22122", -2.0),
        ("0,75", 0.75),
        ("-,5", -0.5),
        ("1,2345", 1.2345),
        ("1,234", None),
        ("-123,456", None),
        ("1_000", None),
        ("7/10", None),
        ("seven", None),
        ("", None),
        (True, None),
        (None, None),
        ([1], None),
        ("inf", None),
        (math.nan, None),
        (10**400, None),
    ],
)
def test_a_cell_is_a_number_where_it_can_be_one_only(cell, number):
    assert number_of(cell) == number


def test_a_comma_before_three_digits_is_a_decimal_one_in_files_that_have_them():
    assert number_of("1,234", decimal_comma=True) == 1.234


@pytest.mark.parametrize(
    ("cell", "number"), [("7/10", 7.0), ("7 / 10", 7.0), ("7,5/10.0", 7.5), ("7/5", None), ("7", 7.0)]
)
def test_a_rating_with_the_end_of_its_scale_is_one_of_that_scale_alone(cell, number):
    assert number_of(cell, high=10) == number
