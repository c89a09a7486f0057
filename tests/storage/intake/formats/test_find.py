"""The format of a file, found by its content."""

import json
import zipfile
from contextlib import suppress
from typing import Any

import pytest
from tests.support.exports import EXPORTS, POTATO_STATE
from tests.support.mutations import places
from tests.support.outputs import LM_EVAL, OUTPUTS, json_file

from casewise.errors import CasewiseError, DataError
from casewise.plugins import builtin_parts
from casewise.storage.intake.formats.find import formats, own_formats, read_any_table
from casewise.storage.intake.formats.format import FileOptions


def test_formats_have_names_of_their_own_and_say_after_what_they_were_written():
    own = own_formats()

    assert [form.name for form in formats()][-len(own) :] == list(own)
    assert dict(builtin_parts("formats")) == own
    assert all(form.source and form.name == name for name, form in own.items())
    assert list(own)[-2:] == ["CSV", "JSON"], "every text is one of the two, so that others are asked first"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"%PDF-1.4", "is a PDF, not a table; give the table itself"),
        (b"\x1f\x8b\x08", "is compressed; unpack it and give the file in it"),
        (b"BZh9", "is compressed"),
        (b"SQLite format 3\0", "is a database; export the table as CSV"),
        (b"  <!DOCTYPE html>", "is a web page \\(HTML\\) or XML, not a table; download the file itself"),
        (b"<?xml version", "is a web page"),
    ],
)
def test_a_file_that_is_no_table_is_named(tmp_path, content, problem):
    (tmp_path / "cases.csv").write_bytes(content)
    with pytest.raises(DataError, match=rf"cases\.csv: {problem}"):
        read_any_table(tmp_path / "cases.csv")


def test_a_folder_and_an_archive_of_no_known_tool_are_refused_with_what_to_give(tmp_path):
    with pytest.raises(DataError, match="is a folder, and no export of an annotation tool that casewise knows; give a"):
        read_any_table(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("cases.csv", "query,label")
    with pytest.raises(DataError, match="is a ZIP archive that casewise does not know; unpack it and give the folder"):
        read_any_table(tmp_path / "a.zip")
    with pytest.raises(DataError, match="gone: cannot be read"):
        read_any_table(tmp_path / "gone")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a,b\n1,2\n", "CSV"),
        ("a\tb\n1\t2\n", "TSV"),
        ('{"a": 1}\n{"a": 2}\n', "JSON"),
        ("HITId,AssignmentId,WorkerId\nh,a,w\n", "MTurk batch results"),
        (json.dumps([{"span_id": "c", "annotation_name": "harm", "label": "x"}]), "Phoenix annotations"),
    ],
)
def test_a_table_is_called_as_its_format_and_a_sheet_is_recognised_in_json_too(tmp_path, text, name):
    (tmp_path / "table").write_text(text)
    assert read_any_table(tmp_path / "table").format == name


def test_rows_are_chosen_before_a_sheet_is_read_and_empty_ones_are_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("span_id,annotation_name,evaluator,label\nc1,harm,x,safe\nc1,harm,y,unsafe\n,,,\n")
    table = read_any_table(tmp_path / "a.csv", FileOptions(where=("evaluator=y",)))

    assert table.columns == {"id": ["c1"], "harm": ["unsafe"]}
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n{}\n{"a": ""}\n')
    rows = read_any_table(tmp_path / "b.jsonl")
    assert (rows.columns, rows.left_out) == ({"a": [1]}, {"the row is empty": 2})


LIKELIHOODS = [LM_EVAL[0] | {"filtered_resps": [[-3.0, False], ["-1.0", "True"]]}, LM_EVAL[1]]

JSON_FILES = {
    **{name: content for name, content in EXPORTS.items() if not name.endswith("sv")},
    **{name: content for name, (write, content) in OUTPUTS.items() if write is json_file},
    "Potato's state": POTATO_STATE,
    "likelihoods of lm-eval": LIKELIHOODS,
    "a span": {
        "resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "k", "value": {"intValue": "5"}}]}]}]}]
    },
}


ODD: tuple[Any, ...] = (5, None, "x", [], {}, [[]], {"a": 5})


def with_value(value, path, odd):
    """A copy of a JSON value with another value at a path."""
    if not path:
        return odd
    changed = value.copy()
    changed[path[0]] = with_value(value[path[0]], path[1:], odd)
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("name", JSON_FILES)
def test_a_value_of_another_kind_is_read_or_refused_wherever_it_stands(tmp_path, name):
    for path in places(JSON_FILES[name]):
        for odd in ODD:
            json_file(tmp_path / "file", with_value(JSON_FILES[name], path, odd))
            with suppress(CasewiseError):
                assert read_any_table(tmp_path / "file").names
