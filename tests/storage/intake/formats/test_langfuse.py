"""Langfuse: scores, traces and observations."""

from typing import Any

import pytest
from tests.support.outputs import table_of_file

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table


def test_scores_of_langfuse_are_a_column_each(tmp_path):
    rows = ["id,trace_id,name,value,string_value,data_type"]
    rows += ["s1,c1,verdict,,safe,CATEGORICAL", "s2,c1,harm,0.2,,NUMERIC", "s3,c2,verdict,,unsafe,CATEGORICAL"]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    table = read_any_table(tmp_path / "scores.csv")

    assert table.columns == {"id": ["c1", "c2"], "verdict": ["safe", "unsafe"], "harm": ["0.2", None]}
    (tmp_path / "scores.csv").write_text("\n".join([*rows, "s4,c2,verdict,,safe,CATEGORICAL"]))
    with pytest.raises(DataError, match="'c2' has two scores called 'verdict'"):
        read_any_table(tmp_path / "scores.csv")


def test_scores_of_langfuse_that_are_all_texts_are_scores_of_what_they_are_about(tmp_path):
    score = {
        "id": "s",
        "traceId": "t1",
        "name": "verdict",
        "value": None,
        "stringValue": "safe",
        "dataType": "CATEGORICAL",
    }
    of_session = score | {"traceId": None, "sessionId": "x"}
    table = table_of_file(tmp_path / "s", [score, score | {"observationId": "o1", "stringValue": "unsafe"}, of_session])

    assert table.columns == {"id": ["t1", "o1"], "verdict": ["safe", "unsafe"]}
    assert table.left_out == {"a score of a session or of a run of a data set": 1}


def test_scores_of_people_and_of_an_evaluator_may_have_one_name_in_langfuse(tmp_path):
    rows = ["id,trace_id,name,string_value,data_type,source"]
    rows += ["s1,c1,harm,unsafe,CATEGORICAL,EVAL", "s2,c1,harm,safe,CATEGORICAL,ANNOTATION"]
    rows += ["s3,c1,tone,calm,CATEGORICAL,ANNOTATION"]
    (tmp_path / "scores.csv").write_text("\n".join(rows))

    columns = read_any_table(tmp_path / "scores.csv").columns
    assert columns == {"id": ["c1"], "harm": ["unsafe"], "harm (people)": ["safe"], "tone": ["calm"]}


def test_observations_that_the_interface_of_langfuse_exports_have_a_column_a_score(tmp_path):
    row: dict[str, Any] = {
        "id": "o1",
        "traceId": "t",
        "startTime": "t",
        "input": [{"role": "user", "content": "Who?"}],
        "output": "no",
    }
    row |= {"providedModelName": "m", "traceTags": ["a"], "verdict": ["safe"], "harm": [0.2], "rater": ["a", "b"]}
    table = table_of_file(tmp_path / "o", [row, row | {"id": "o2", "verdict": None}])

    assert table.format == "Langfuse traces"
    columns = {name: cells[0] for name, cells in table.columns.items()}
    assert (columns["verdict"], columns["harm"], columns["rater"], columns["traceTags"]) == (
        "safe",
        0.2,
        ["a", "b"],
        ["a"],
    )
    assert (columns["model"], columns["reply"], table.columns["verdict"][1]) == ("m", "no", None)


def scores(tmp_path, *rows, columns="id,trace_id,observation_id,name,value,string_value,data_type,source"):
    (tmp_path / "scores.csv").write_text("\n".join([columns, *rows]))
    return read_any_table(tmp_path / "scores.csv")


def test_a_score_is_of_its_observation_or_else_of_its_trace_and_its_text_goes_before_its_number(tmp_path):
    table = scores(tmp_path, "s,t1,o1,harm,0.9,unsafe,C,", "s,t1,,harm,0.2,,N,", "s,,,harm,1,,N,")

    assert table.columns == {"id": ["o1", "t1"], "harm": ["unsafe", "0.2"]}
    assert table.format == "Langfuse scores"
    assert table.left_out == {"a score of a session or of a run of a data set": 1}


@pytest.mark.parametrize(
    ("columns", "matches"),
    [
        ("traceId,name,stringValue", True),
        ("traceId,name,value,dataType", True),
        ("traceId,name,value", False),
        ("traceId,name,dataType", False),
        ("name,stringValue", False),
        ("traceId,stringValue", False),
    ],
)
def test_a_table_is_of_scores_by_what_they_are_of_and_what_they_say(tmp_path, columns, matches):
    row = ",".join("x" for _ in columns.split(","))
    assert (scores(tmp_path, row, columns=columns).format == "Langfuse scores") == matches


@pytest.mark.parametrize(
    ("columns", "matches"),
    [
        ("id,input,output,timestamp", True),
        ("id,input,output,startTime", True),
        ("id,input,output,scores", True),
        ("id,input,output", False),
        ("input,output,timestamp", False),
    ],
)
def test_a_table_is_of_traces_by_their_times_or_scores(tmp_path, columns, matches):
    row = ",".join("x" for _ in columns.split(","))
    assert (scores(tmp_path, row, columns=columns).format == "Langfuse traces") == matches


def test_scores_of_a_trace_become_columns_and_failures_are_errors(tmp_path):
    row: dict[str, Any] = {"id": "c1", "timestamp": "t", "input": "Who?", "output": "no", "statusMessage": "late"}
    rows = [row | {"scores": {"harm": 0.2, "tone": ["calm"]}}, row | {"scores": None}, row | {"scores": {"x": "y"}}]
    table = table_of_file(tmp_path / "t.jsonl", rows[:1] + [each | {"timestamp": None} for each in rows[1:]])

    assert (table.columns["harm"], table.columns["tone"]) == ([0.2, None, None], ["calm", None, None])
    assert (table.columns["x"], table.columns["error"], "scores" in table.columns) == (
        [None, None, "y"],
        ["late"] * 3,
        False,
    )


def test_a_list_of_one_object_is_no_score(tmp_path):
    row: dict[str, Any] = {"id": "o1", "startTime": "t", "input": "Who?", "output": ["me"], "a": [{"b": 1}], "c": "[3]"}
    columns = table_of_file(tmp_path / "t", [row, row]).columns

    assert (columns["reply"], columns["a"], columns["c"]) == ([["me"]] * 2, [[{"b": 1}]] * 2, [3, 3])
