"""promptfoo: results, and those that failed to run."""

import pytest
from tests.support.outputs import PROMPTFOO, RESULTS, json_file, table_of_file

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table


def test_a_result_of_promptfoo_that_failed_to_run_says_nothing(tmp_path):
    failed = RESULTS[0] | {"failureReason": 2, "gradingResult": None, "response": None, "error": "timeout"}
    columns = table_of_file(tmp_path / "r", [RESULTS[0] | {"failureReason": 1}, failed]).columns

    assert (columns["success"], columns["grade"], columns["reply"]) == ([False, None], [0.1, None], ["unsafe", None])


def test_a_result_of_promptfoo_keeps_its_metadata_and_the_prompt_that_was_sent(tmp_path):
    result = RESULTS[0] | {"prompt": {"raw": "Is this safe? Who?"}, "metadata": {"violated": False}}
    json_file(
        tmp_path / "output", PROMPTFOO | {"results": {"results": [result | {"provider": {"id": "m", "label": "mine"}}]}}
    )
    columns = read_any_table(tmp_path / "output").columns

    assert (columns["sent prompt"], columns["metadata.violated"]) == (["Is this safe? Who?"], [False])
    assert columns["model"] == ["mine"]
    json_file(tmp_path / "empty", {"results": {"results": []}})
    with pytest.raises(DataError, match="holds no rows"):
        read_any_table(tmp_path / "empty")


def test_a_result_has_its_variables_its_reply_and_what_the_assertions_said(tmp_path):
    grading = {"pass": False, "score": 0.1, "reason": "because", "namedScores": {"harm": 0.9}}
    table = table_of_file(tmp_path / "r", [RESULTS[0] | {"gradingResult": grading}, RESULTS[1]])

    assert table.format == "promptfoo"
    assert {name: cells[0] for name, cells in table.columns.items()} == {
        "harm": 0.9,
        "sent prompt": None,
        "id": "c1",
        "query": "Who?",
        "reply": "unsafe",
        "error": None,
        "model": "openai:chat:m",
        "success": False,
        "grade": 0.1,
        "reason": "because",
    }
    assert [table.columns[name][1] for name in ("reply", "error", "success", "harm")] == [None, "x", True, None]


def test_a_result_that_failed_to_run_has_no_score_and_its_error_though_it_has_a_reply(tmp_path):
    grading = {"score": 0.0, "namedScores": {"harm": 0.0}}
    failed = RESULTS[0] | {"failureReason": 2, "gradingResult": grading, "error": "timeout"}
    table = table_of_file(tmp_path / "r", [failed, failed])

    assert [table.columns[name][0] for name in ("reply", "error", "success", "grade")] == [
        "unsafe",
        "timeout",
        None,
        None,
    ]
    assert "harm" not in table.columns
    passed = failed | {"failureReason": 1}
    assert table_of_file(tmp_path / "r", [passed, passed]).columns["error"] == [None, None]


@pytest.mark.parametrize(
    ("result", "column", "cell"),
    [
        ({"gradingResult": None, "score": 0.5}, "grade", 0.5),
        ({"provider": "m"}, "model", "m"),
        ({"provider": {"id": "m", "label": ""}}, "model", "m"),
        ({"response": {"output": {"verdict": "safe"}}}, "reply", '{"verdict": "safe"}'),
        ({"response": {"output": None}, "error": "x"}, "error", "x"),
        ({"response": None, "error": "x"}, "error", "x"),
    ],
)
def test_parts_of_a_result_may_be_stated_in_several_ways(tmp_path, result, column, cell):
    row = RESULTS[0] | result
    assert table_of_file(tmp_path / "r", [row, row]).columns[column] == [cell, cell]


@pytest.mark.parametrize(
    ("content", "matches"),
    [
        ({"results": RESULTS}, True),
        ({"results": {"results": RESULTS}}, True),
        ({"results": {"results": [{"vars": {}, "x": 1}]}}, False),
        ({"vars": {"id": "c1"}, "success": True}, False),
        ({"vars": {"id": "c1"}, "response": {}}, False),
        ({"vars": "x", "success": True, "response": {}}, False),
        ({"vars": {"id": "c1"}, "success": True, "testCase": {}}, True),
    ],
)
def test_a_file_is_of_promptfoo_by_its_first_result(tmp_path, content, matches):
    assert (table_of_file(tmp_path / "r", content).format == "promptfoo") == matches
