"""JSON objects: in an array, on lines, or in a list of one object."""

import json

import pytest

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table

ROWS = [{"query": "Who?", "label": "safe"}, {"query": "When?", "label": "unsafe"}]


@pytest.fixture
def read(tmp_path):
    def table(content):
        (tmp_path / "cases").write_text(json.dumps(content))
        return read_any_table(tmp_path / "cases")

    return table


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        (ROWS, []),
        ({"cases": ROWS, "n": 2, "tags": ["a"], "empty": []}, ["The rows are the list under 'cases'."]),
        ({"meta": {"by": [{"name": "Ada"}]}, "data": ROWS}, ["The rows are the list under 'data'."]),
        ({"n": 2, "raw": {"train": ROWS}}, ["The rows are the list under 'raw.train'."]),
        ({"raw": {"of": {"train": ROWS}}}, ["The rows are the list under 'raw.of.train'."]),
    ],
)
def test_the_rows_are_those_of_the_file_or_of_its_one_list_of_objects(read, content, notes):
    table = read(content)

    assert table.columns == {"query": ["Who?", "When?"], "label": ["safe", "unsafe"]}
    assert (table.notes, table.format) == (notes, "JSON")


def test_an_object_that_is_a_case_is_a_row_though_it_holds_a_list(read):
    assert read({"User Query": "Who?", "turns": [{"text": "a"}]}).columns["User Query"] == ["Who?"]
    assert read({"label": "safe", "turns": [{"text": "a"}]}).columns["label"] == ["safe"]
    assert read([{"turns": [{"text": "a"}]}]).columns == {"turns": [[{"text": "a"}]]}


def test_several_lists_of_objects_are_named(read):
    with pytest.raises(DataError, match=r"one object with several lists \(train, test\); save the one that holds"):
        read({"train": ROWS, "test": ROWS})
    with pytest.raises(DataError, match=r"one object with several lists \(raw\.train, raw\.test\)"):
        read({"raw": {"train": ROWS, "test": ROWS}})


def test_a_single_object_without_lists_is_a_row(read):
    assert read({"a": 1, "b": [1, {}]}).columns == {"a": [1], "b": [[1, {}]]}
