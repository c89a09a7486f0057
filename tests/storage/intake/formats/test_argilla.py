"""Argilla: answers that were submitted."""

import json
from typing import Any

import polars as pl
import pytest
from tests.support.exports import ARGILLA, read, write

from casewise.errors import DataError
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases


def test_answers_of_argilla_whose_state_the_file_does_not_say_are_named(tmp_path):
    file = write(tmp_path, "argilla.json", ARGILLA)
    receipt = import_cases(file, columns=CaseColumns(query="text", vote="verdict")).about.receipt
    assert receipt is not None
    assert any("does not say which answers were submitted" in note for note in receipt.notes)


RECORD: dict[str, Any] = {"id": 7, "fields": {"text": "Who?"}, "metadata": {"batch": 1}, "status": "completed"}


def answered(value, person, **more):
    return {"value": value, "user_id": person} | more


def test_each_persons_submitted_answers_are_a_row(tmp_path):
    responses = {
        "verdict": [answered("safe", "ada"), answered(["unsafe"], "bo"), answered("safe", "cy", status="draft")],
        "why": [answered("because", "bo", status="submitted")],
    }
    table = read(
        tmp_path, [RECORD | {"responses": responses}, RECORD | {"id": None, "metadata": None, "responses": {}}]
    )

    assert table.columns == {
        "id": ["7", "7"],
        "text": ["Who?", "Who?"],
        "metadata.batch": [1, 1],
        "verdict": ["safe", "unsafe"],
        "annotator": ["ada", "bo"],
        "why": [None, "because"],
    }
    assert table.notes == [
        "Argilla's JSON does not say which answers were submitted; drafts and discarded ones count, too."
    ]


def test_responses_of_the_server_say_whether_they_were_submitted(tmp_path):
    responses = [
        {"user_id": "ada", "status": "submitted", "values": {"verdict": {"value": ["safe"]}, "stars": 3}},
        {"user_id": "bo", "status": "discarded", "values": {"verdict": {"value": "safe"}}},
        {"user_id": "ada", "values": {"why": {"value": ["a", "b"]}}},
    ]
    table = read(tmp_path, [RECORD | {"responses": responses}])

    assert {name: table.columns[name] for name in ("annotator", "verdict", "stars", "why")} == {
        "annotator": ["ada"],
        "verdict": ["safe"],
        "stars": [3],
        "why": ["a, b"],
    }
    assert (table.notes, table.format) == ([], "Argilla JSON")


HUB: dict[str, Any] = {
    "id": "7",
    "text": "Who?",
    "verdict.responses": ["safe", "unsafe", "safe"],
    "verdict.responses.users": ["ada", 2, "cy"],
    "verdict.responses.status": ["submitted", "submitted", "discarded"],
    "verdict.suggestion": "safe",
    "why.responses": None,
    "vectors.v": [0.1],
    "_server_id": "u",
}


@pytest.mark.parametrize("name", ["hub.jsonl", "hub.csv"])
def test_records_of_the_hub_have_a_row_for_each_person_whose_answer_was_submitted(tmp_path, name):
    flat = {key: json.dumps(cell) if isinstance(cell, list) else cell for key, cell in HUB.items()}
    content = [HUB] if name == "hub.jsonl" else pl.DataFrame([flat]).write_csv()
    table = read(tmp_path, content, name)

    assert table.columns == {
        "id": ["7", "7"],
        "text": ["Who?", "Who?"],
        "verdict": ["safe", "unsafe"],
        "annotator": ["ada", "2"],
    }
    assert table.format == ("Argilla on the Hub" if name == "hub.jsonl" else "Argilla on the Hub, as CSV")
    assert list(table.lines) == ([1, 1] if name == "hub.jsonl" else [2, 2])


def test_answers_of_the_hub_without_a_status_count_and_lists_have_one_length(tmp_path):
    without = {key: cell for key, cell in HUB.items() if key != "verdict.responses.status"}
    assert read(tmp_path, [without], "hub.jsonl").columns["annotator"] == ["ada", "2", "cy"]
    with pytest.raises(DataError, match="'verdict' has 3 responses, 3 users and 1 states"):
        read(tmp_path, [HUB | {"verdict.responses.status": ["submitted"]}], "hub.jsonl")
    with pytest.raises(DataError, match="no case has a submitted answer yet"):
        read(tmp_path, [HUB | {"verdict.responses.status": ["draft"] * 3}], "hub.jsonl")
