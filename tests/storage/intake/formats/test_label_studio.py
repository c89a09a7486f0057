"""Label Studio: answers as values, and tasks that no person annotated."""

import json
from typing import Any

import polars as pl
import pytest
from tests.support.exports import REGION, annotation, choice, read

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.table import structured


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_flat_exports_of_label_studio_have_answers_as_values_and_no_row_of_a_task_that_nobody_annotated(tmp_path, kind):
    rows: list[dict[str, Any]] = [
        {"id": 7, "text": "Who?", "verdict": "safe", "stars": [{"rating": 4}], "why": {"choices": ["a", "b"]}},
        {"id": 8, "text": "When?"},
    ]
    times = {"created_at": "t", "updated_at": "t", "lead_time": 1.5}
    spans = [{**REGION, "labels": ["A"]}]
    rows[0] |= {"spans": spans, "annotator": "1", "annotation_id": 3, **times}
    rows[1] |= {"annotator": "{}", "annotation_id": None, **dict.fromkeys(times)}
    if kind == "csv":
        cells = [
            {name: json.dumps(cell) if isinstance(cell, (list, dict)) else cell for name, cell in row.items()}
            for row in rows
        ]
        pl.DataFrame(cells).write_csv(tmp_path / "export")
    else:
        (tmp_path / "export").write_text(json.dumps(rows))
    table = read_any_table(tmp_path / "export")

    assert table.left_out == {"the task has no annotation": 1}
    assert [str(table.columns[name][0]) for name in ("verdict", "stars", "why")] == ["safe", "4", "a, b"]
    assert structured(table.columns["spans"][0]) == spans


def task(*annotations, **more):
    return {"id": 7, "data": {"text": "Who?"}, "annotations": list(annotations)} | more


def test_each_annotation_that_was_not_cancelled_is_a_row_of_its_person(tmp_path):
    table = read(
        tmp_path,
        [
            task(
                annotation(1, choice("verdict", "safe"), choice("why", "a", "b")),
                annotation({"id": 2, "email": "b@example.org"}, choice("verdict", "unsafe")),
                annotation(3, choice("verdict", "safe"), was_cancelled=True),
            ),
            task(annotation(4, skipped=True), annotation(5, choice("verdict", "unsure")), id=None),
        ],
    )

    assert table.columns == {
        "id": ["7", "7", None],
        "text": ["Who?"] * 3,
        "verdict": ["safe", "unsafe", "unsure"],
        "why": ["a, b", None, None],
        "annotator": ["1", "2", "5"],
    }
    assert (table.format, table.left_out) == ("Label Studio JSON", {"the annotation was cancelled": 2})


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"choices": ["safe"]}, "safe"),
        ({"rating": 4}, 4),
        ({"number": 0}, 0),
        ({"text": ["because"]}, "because"),
        ({"taxonomy": [["a", "b"]]}, ["a", "b"]),
        (
            {"choices": ["safe"], "type": "x", "id": "r", "parentID": "p", "original_width": 1, "original_height": 1},
            "safe",
        ),
        ({"choices": ["safe"], "start": 0, "end": 3}, None),
        ({"choices": ["safe"], "rating": 3}, None),
        ({"labels": ["A"]}, None),
    ],
)
def test_an_answer_about_the_whole_case_is_taken_and_one_about_a_region_is_not(tmp_path, value, answer):
    result = {"from_name": "q", "value": value}
    table = read(tmp_path, [task(annotation(1, choice("verdict", "safe"), result))])

    assert table.columns.get("q", [None]) == [answer]


def test_a_file_without_cancelled_annotations_leaves_nothing_out(tmp_path):
    assert read(tmp_path, [task(annotation(1, choice("verdict", "safe")))]).left_out == {}
    with pytest.raises(DataError, match="no case has a submitted answer yet"):
        read(tmp_path, [task()])


def test_a_person_of_a_flat_export_is_named_by_the_id(tmp_path):
    row = {
        "id": 7,
        "annotation_id": 1,
        "lead_time": 2,
        "annotator": {"id": 3, "email": "a@example.org"},
        "tags": ["a", "b"],
    }
    table = read(tmp_path, [row, row | {"annotator": "ada", "annotation_id": 2, "verdict": {"choices": ["safe"]}}])

    assert (table.format, table.columns["annotator"], table.columns["verdict"]) == (
        "Label Studio JSON-MIN or CSV",
        ["3", "ada"],
        [None, "safe"],
    )
    assert table.columns["tags"] == [["a", "b"]] * 2
