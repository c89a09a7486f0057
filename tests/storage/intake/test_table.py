"""Tables of other people: their cells, their rows and what is left out."""

import math
from pathlib import Path

import numpy as np
import pytest

from casewise.errors import ConfigurationError, DataError
from casewise.storage.entries import Entry
from casewise.storage.intake.table import (
    EMPTY_ROW,
    RejectedRow,
    Table,
    at,
    first_of,
    frame_table,
    object_at,
    objects_at,
    row_columns,
    structured,
    table_of,
)


def table(**columns) -> Table:
    n = len(next(iter(columns.values())))
    return Table(path=Path("t.csv"), columns=columns, lines=list(range(2, n + 2)))


def of_rows(*rows, **facts) -> Table:
    return table_of(Path("t.jsonl"), [Entry(Path("t.jsonl"), line, row) for line, row in enumerate(rows, 3)], **facts)


def test_columns_are_the_keys_of_all_rows():
    found = of_rows({"a": " x "}, {"b": 1, "c": ""}, {"a": "y", "c": [], 4: {}})

    empty = [None] * 3
    assert found.columns == {"a": ["x", None, "y"], "b": [None, 1, None], "c": empty, "4": empty}
    assert (list(found.lines), len(found), found.names) == ([3, 4, 5], 3, ("a", "b", "c", "4"))


def test_a_file_without_rows_is_refused():
    with pytest.raises(DataError, match="holds no rows"):
        of_rows()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (" x ", "x"),
        (" ", None),
        (math.nan, None),
        ([], None),
        ({}, None),
        (0, 0),
        (False, False),
        (0.5, 0.5),
        ([0], [0]),
        (np.array([1, 2]), [1, 2]),
        (np.array([]), None),
    ],
)
def test_a_cell_that_says_nothing_is_none(value, cell):
    assert of_rows({"a": value, "b": 1}).columns.get("a", [None]) == [cell]


def test_spaces_around_what_a_model_wrote_are_a_part_of_it():
    assert of_rows({"reply": " x ", "text": " ", "b": 1}).columns == {"reply": [" x "], "text": [None], "b": [1]}


@pytest.mark.parametrize("name", ["reply", "a"])
@pytest.mark.parametrize(("cell", "problem"), [("x\0", "holds a NUL character"), ("#REF!", "is #REF!, an error of")])
def test_a_damaged_cell_is_refused_with_its_line_and_column(name, cell, problem):
    with pytest.raises(DataError, match=rf"t\.jsonl:4: .*'{name}' {problem}"):
        of_rows({name: "fine"}, {name: cell})


def test_a_row_names_its_place_by_its_line_and_in_a_json_array_by_its_number():
    plain, numbered = of_rows({"a": 1}, {"a": 2}), of_rows({"a": 1}, {"a": 2}, numbered=True)

    for found, where in ((plain, r"t\.jsonl:4: no"), (numbered, r"t\.jsonl:4: row 2.*no")):
        with pytest.raises(DataError, match=where):
            found.row(1).refuse("no")


def test_a_table_is_whole_where_every_row_could_be_read():
    found = table(a=[1])

    assert found.whole() is found
    found.rejected.extend([RejectedRow(7, "has too many cells", "x"), RejectedRow(9, "is empty", "")])
    with pytest.raises(DataError, match=r"t\.csv:7: has too many cells"):
        found.whole()


def test_a_column_gets_another_name_only_if_it_is_free():
    found = table(a=[1], b=[2], c=[3]).renamed({"a": "x", "b": "c", "c": "x"})

    assert found.columns == {"x": [1], "b": [2], "c": [3]}


def test_rows_are_left_out_by_reason_and_counted():
    found = table(a=[1, 2, 3, None], b=[None, 2, None, None])
    found.left_out[EMPTY_ROW] = 5
    left = found.without(lambda row: "is odd" if row.has("a") and row.value("a") % 2 else None)

    assert (left.columns, list(left.lines)) == ({"a": [2, None], "b": [2, None]}, [3, 5])
    full = left.without_empty_rows()
    assert (full.columns, list(full.lines)) == ({"a": [2], "b": [2]}, [3])
    assert full.left_out == {EMPTY_ROW: 6, "is odd": 2}
    assert full.without_empty_rows() is full


@pytest.mark.parametrize("kind", ["polars", "pandas", "dictionaries"])
def test_frames_and_dictionaries_are_tables_whose_rows_are_counted_from_one(kind):
    columns = {"a": ["x", None], "b": [1, 2]}
    rows = [{"a": "x", "b": 1}, {"b": 2}]
    found = frame_table(rows if kind == "dictionaries" else pytest.importorskip(kind).DataFrame(columns), "frame")

    assert found.columns == columns
    assert (list(found.lines), found.format, found.path) == ([1, 2], "frame", Path("frame"))


@pytest.mark.parametrize("frame", [3, "text", b"bytes", {"a": 1}, [1, 2]])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(ConfigurationError, match="is no frame; give a polars or pandas frame, or dictionaries"):
        frame_table(frame, "frame")


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ('["a", 1]', ["a", 1]),
        ('{"a": null}', {"a": None}),
        ("['a', True]", ["a", True]),
        ("{'a': None}", {"a": None}),
        ("{1, }", {1}),
        ("[a]", "[a]"),
        ("['nan bread', nan, 1.5]", ["nan bread", None, 1.5]),
        ("[1", "[1"),
        ("1]", "1]"),
        ("", ""),
        (3, 3),
        (None, None),
    ],
)
def test_a_text_that_states_a_list_or_an_object_is_one(cell, value):
    assert structured(cell) == value


def test_the_rows_with_a_value_are_chosen_and_the_others_counted():
    models = table(model=["A b", "c", "A b"], step=[1.0, 1.0, 2.0])
    chosen, both = models.where(["model=a b"]), models.where(["model=a b", "step=2"])

    assert (chosen.columns["step"], list(chosen.lines)) == ([1.0, 2.0], [2, 4])
    assert both.columns == {"model": ["A b"], "step": [2.0]}
    assert both.left_out == {"not among those of --where model=a b": 1, "not among those of --where step=2": 1}
    assert chosen.where([]) is chosen
    assert table(model=["c"]).where(["model=c"]).left_out == {}


def test_a_value_that_is_written_as_in_the_file_is_no_other_one():
    models = table(model=["gpt-4", "gpt_4", "gpt-4"])

    assert list(models.where(["model=gpt-4"]).lines) == [2, 4]
    with pytest.raises(DataError, match="several values are written like 'GPT 4' in 'model'; it has gpt-4, gpt_4"):
        models.where(["model=GPT 4"])


@pytest.mark.parametrize(
    ("condition", "error", "problem"),
    [
        ("model", ConfigurationError, "--where is 'model'; write COLUMN=VALUE"),
        ("modle=c", ConfigurationError, r"no column 'modle' \(did you mean 'model'\?\); the columns are: model"),
        ("model=d", DataError, "no row has 'd' in 'model'; it has c, e"),
    ],
)
def test_rows_that_cannot_be_chosen_so_are_asked_about(condition, error, problem):
    with pytest.raises(error, match=problem):
        table(model=["c", "e", "c"]).where([condition])


# Values in JSON.


VALUE = {"a": [{"b": 1}, 2], "c": {"d": None}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), VALUE),
        (("a", 0, "b"), 1),
        (("a", 1), 2),
        (("a", 2), None),
        (("a", "b"), None),
        (("c", 0), None),
        (("c", "d", "e"), None),
        (("x",), None),
    ],
)
def test_a_path_of_keys_and_places_leads_to_a_value_or_nowhere(path, found):
    assert at(VALUE, *path) == found


def test_objects_at_a_path_are_those_and_no_other_values():
    assert (object_at(VALUE, "a", 0), object_at(VALUE, "a"), object_at(None, "x")) == ({"b": 1}, {}, {})
    assert (objects_at(VALUE, "a"), objects_at(VALUE, "c"), objects_at(VALUE["a"])) == ([{"b": 1}], [], [{"b": 1}])


def test_the_first_value_that_says_something_counts():
    values = {"a": None, "b": "", "c": 0, "d": 1}

    assert first_of(values, ("x", "a", "b", "c", "d")) == 0
    assert first_of(values, ("a", "b")) is None


def test_the_keys_of_all_rows_are_columns():
    assert row_columns([{"a": 1}, {"b": 2}]) == {"a": [1, None], "b": [None, 2]}
    assert row_columns([]) == {}
