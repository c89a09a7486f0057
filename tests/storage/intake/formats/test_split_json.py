"""Tables that pandas writes as JSON, and MLflow's evaluation tables."""

import json

import pytest

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table


@pytest.fixture
def read(tmp_path):
    def table(content):
        (tmp_path / "table").write_text(json.dumps(content))
        return read_any_table(tmp_path / "table")

    return table


def test_the_cells_of_a_split_table_are_in_the_order_of_its_columns(read):
    table = read({"columns": ["query", 1], "index": [0, 1], "data": [["Who?", "safe"], ["When?", None]]})

    assert table.columns == {"query": ["Who?", "When?"], "1": ["safe", None]}
    assert (table.format, list(table.lines)) == ("JSON in columns and rows (pandas split, MLflow)", [1, 2])


def test_inputs_and_outputs_of_mlflow_are_queries_and_replies_where_both_are_there(read):
    both = read({"columns": ["inputs", "outputs"], "data": [["Who?", "me"]]})

    assert both.columns == {"query": ["Who?"], "reply": ["me"]}
    assert read({"columns": ["inputs", "x"], "data": [["Who?", "me"]]}).names == ("inputs", "x")


def test_a_row_with_another_number_of_cells_is_refused(read):
    with pytest.raises(DataError, match="row 2 of 'data' has 1 cell, and there are 2 columns"):
        read({"columns": ["a", "b"], "data": [[1, 2], [3]]})


def test_the_cells_of_a_table_by_column_lie_under_the_numbers_of_the_rows(read):
    table = read({"query": {"0": "Who?", "7": "When?"}, "label": {"7": "unsafe", "0": "safe"}})

    assert table.columns == {"query": ["Who?", "When?"], "label": ["safe", "unsafe"]}
    assert (table.format, list(table.lines)) == ("JSON by column (pandas)", [1, 2])


@pytest.mark.parametrize(
    "content",
    [
        {"query": {"0": "Who?"}, "label": {"1": "safe"}},
        {"query": {"a": "Who?"}},
        {"query": {"0": "Who?"}, "label": "safe"},
        {"columns": ["a"], "data": [{"a": 1}]},
        {"columns": "a", "data": [[1]]},
    ],
)
def test_an_object_of_another_shape_is_no_such_table(read, content):
    assert read(content).format == "JSON"
