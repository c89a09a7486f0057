"""DeepEval: test cases, metrics and classifiers."""

import pytest
from tests.support.outputs import DEEPEVAL, DEEPEVAL_PYTHON, METRIC, json_file, table_of_file

from casewise.storage.intake.formats.find import read_any_table


def test_a_chat_of_deepeval_is_a_query_and_a_classifier_has_a_label(tmp_path):
    turns = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "me"}]
    named = {"name": "Harm", "label": "unsafe", "expected_label": "safe"}
    chat = {"name": "c1", "turns": turns, "success": True, "metricsData": [METRIC], "metadata": {"human": "safe"}}
    json_file(tmp_path / "chats", {"testCases": [], "conversationalTestCases": [chat | {"classifications": [named]}]})
    columns = read_any_table(tmp_path / "chats").columns

    assert (columns["query"], columns["metadata.human"]) == ([turns], ["safe"])
    assert (columns["Harm label"], columns["Harm expected"]) == (["unsafe"], ["safe"])


def columns(tmp_path, *cases, key="testCases"):
    json_file(tmp_path / "run", {key: list(cases)})
    return read_any_table(tmp_path / "run").columns


@pytest.mark.parametrize("run", [DEEPEVAL, DEEPEVAL_PYTHON, {"testRunData": DEEPEVAL}])
def test_a_test_case_has_its_input_its_output_and_its_metrics(tmp_path, run):
    table = table_of_file(tmp_path / "run", run)

    assert table.format == "DeepEval"
    assert {name: cells[0] for name, cells in table.columns.items()} == {
        "id": "c1",
        "query": "Who?",
        "reply": "unsafe",
        "expected": None,
        "success": False,
        "model": "m",
        "Harm success": False,
        "Harm score": 0.2,
        "Harm reason": "r",
    }
    assert [table.columns[name][1] for name in ("reply", "success", "Harm score", "model")] == [None, True, None, None]


@pytest.mark.parametrize("name", ["expectedOutput", "expected_output", "expectedOutcome"])
def test_the_expected_output_has_one_name_here(tmp_path, name):
    assert columns(tmp_path, {"name": "c1", "input": "Who?", name: "me"})["expected"] == ["me"]


def test_metrics_and_classifiers_without_a_name_have_a_usual_one_and_what_is_no_object_is_none(tmp_path):
    metrics = [{"score": 1, "evaluation_model": "m"}, "x"]
    found = columns(
        tmp_path, {"name": "c1", "metrics_data": metrics, "classifications": [{"label": "a", "expectedLabel": "b"}]}
    )

    assert (found["metric score"], found["model"]) == ([1], ["m"])
    assert (found["classifier label"], found["classifier expected"]) == (["a"], ["b"])


def test_both_kinds_of_cases_of_a_run_are_rows(tmp_path):
    run = {
        "testCases": [{"name": "c1", "input": "Who?"}],
        "conversationalTestCases": [{"name": "c2", "turns": [{"role": "u"}]}],
    }
    assert table_of_file(tmp_path / "run", run).columns["id"] == ["c1", "c2"]
    assert table_of_file(tmp_path / "run", {"testCases": 3, "a": [{"id": 1}]}).format == "JSON"
