from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.errors import DataError
from casewise.storage.files import parse, rows

FILE = Path("file.json")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "file.json: the file is empty"),
        (" \n ", "file.json: the file is empty"),
        ('{"a": 1, "a": 2}', "file.json: .*'a' stands twice"),
        ('{"a": {"b": 1, "b": 1}}', "'b' stands twice"),
        ("[NaN]", "NaN is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        ("[1e999]", "the number 1e999 is too large"),
        ("9" * 400, r"the number 999999999999\.\.\. \(400 digits\) is too large"),
        ("9" * 5000, r"\(5000 digits\) is too large"),
        (r'"\ud800"', r"\\ud800 is half a character"),
        (r'{"\udc00": 1}', r"\\udc00 is half a character"),
        ("[" * 100_000, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
        ("[" * 202 + "]" * 202, "file.json: not JSON that can be read: nested too deep"),
        ('{"a":' * 201 + "1" + "}" * 201, "nested too deep"),
        ('{\n"a": 1,\n"b": oops}', r"file.json:3: not JSON: .*column 6"),
        ("[1] [2]", "file.json:1: not JSON: Extra data"),
    ],
)
def test_what_is_no_strict_json_is_an_error_that_says_what_and_where(text, problem):
    with pytest.raises(DataError, match=problem):
        parse(text, path=FILE)


def test_a_whole_character_written_as_two_escapes_is_text():
    assert parse(r'"\ud83d\ude00"', path=FILE) == "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "file.json: the file is empty"),
        ("{}", "file.json: not a JSON array of rows"),
        ("oops", "file.json:1: not JSON"),
        ('[\n{"a": 1},\n{"a": 1, "a": 2}\n]', "file.json:3: row 2: the key 'a' stands twice"),
        ('[\n1,\n"\\ud800"]', r"file.json:3: row 2: \\ud800 is half a character"),
        ("[\n1,\n1e400]", "file.json:3: row 2: the number 1e400 is too large"),
        ("[\n1,\n2", "file.json:3: not JSON"),
        ("[\n1,\n{", "file.json:3: not JSON"),
        ("[\n1,", "file.json:2: not JSON"),
        ("[", "file.json:1: not JSON"),
        ("[1 2]", "file.json:1: not JSON: Expecting ',' delimiter"),
        ("[1,]", "file.json:1: not JSON"),
        ("[,1]", "file.json:1: not JSON"),
        ("[1]\n[2]", "file.json:2: not JSON: Extra data"),
        ("[" * 100_000, "file.json: not JSON that can be read: nested too deep"),
        ("[1,\n" + "[" * 202 + "]" * 203, "file.json:2: row 2: nested too deep"),
    ],
)
def test_rows_that_cannot_be_read_are_named_by_line(text, problem):
    with pytest.raises(DataError, match=problem):
        list(rows(text, path=FILE))


def test_as_much_nesting_as_anybody_writes_can_be_read():
    assert parse("[" * 200 + "1" + "]" * 200, path=FILE)
    assert parse("[" + "[1]," * 1000 + "1]", path=FILE) == [[1]] * 1000 + [1]


def test_a_row_knows_the_line_it_begins_on():
    found = list(rows('\n[\n {"a":\n 1}\n,\n\n 2, 3]', path=FILE))

    assert found == [(3, {"a": 1}), (7, 2), (7, 3)]


@given(st.text(alphabet='[]{}",:\\ud80e1-.truefalsnN \n', max_size=40))
def test_any_text_is_an_array_of_rows_or_an_error(text):
    try:
        found = list(rows(text, path=FILE))
    except DataError:
        return
    assert [value for _, value in found] == parse(text, path=FILE)
