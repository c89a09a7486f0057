"""MLflow: traces with assessments of people and judges."""

import json

import pytest
from tests.support.outputs import JUDGED, MLFLOW, RATED, table_of_file

from casewise.errors import DataError


def test_an_expectation_of_mlflow_is_read_and_an_overridden_assessment_is_not(tmp_path):
    of_2 = {"name": "old", "source": {"source_type": "HUMAN"}, "feedback": None, "expectation": {"value": "safe"}}
    listed = {"serialization_format": "JSON_FORMAT", "value": '["a"]'}
    of_3 = {"assessment_name": "facts", "source": {"source_type": "HUMAN"}, "expectation": {"serialized_value": listed}}
    failed = {"assessment_name": "tone", "source": {"source_type": "CODE"}, "feedback": {"error": {"error_code": "E"}}}
    assessments = [
        of_2,
        of_3,
        failed,
        JUDGED | {"valid": False},
        JUDGED | {"feedback": {"value": "yes"}, "valid": True},
    ]
    columns = table_of_file(tmp_path / "t", [MLFLOW[0] | {"assessments": assessments}, MLFLOW[1]]).columns

    assert (columns["old (people)"][0], columns["facts (people)"][0], columns["harm"][0]) == ("safe", ["a"], "yes")
    assert columns["tone"] == [None, None]


def test_a_trace_has_its_request_its_response_and_a_column_for_each_assessment(tmp_path):
    rows = [
        MLFLOW[0] | {"trace": "{}", "spans": [], "tags": {"a": 1}, "assessments": json.dumps([JUDGED, RATED])},
        MLFLOW[1],
    ]
    table = table_of_file(tmp_path / "t", rows)

    assert table.format == "MLflow traces"
    assert table.columns == {
        "id": ["c1", "c2"],
        "query": ["Who?", "When?"],
        "reply": ["unsafe", None],
        "tags": [{"a": 1}, None],
        "harm": ["no", None],
        "harm (people)": ["yes", None],
    }


def test_two_assessments_of_one_name_are_refused(tmp_path):
    with pytest.raises(DataError, match="t:1: the trace has two assessments called 'harm'; keep one"):
        table_of_file(tmp_path / "t", [MLFLOW[0] | {"assessments": [JUDGED, JUDGED, 3]}, MLFLOW[1]])


@pytest.mark.parametrize(
    ("stated", "value"),
    [
        ({"feedback": {"value": True}}, True),
        ({"expectation": {"value": "safe"}}, "safe"),
        ({"expectation": {"serialized_value": {"value": '{"a": 1}'}}}, {"a": 1}),
        ({"value": 3}, 3),
        ({}, None),
    ],
)
def test_an_assessment_says_what_its_feedback_or_expectation_states(tmp_path, stated, value):
    rows = [MLFLOW[0] | {"assessments": [stated]}, MLFLOW[1]]
    assert table_of_file(tmp_path / "t", rows).columns["assessment"] == [value, None]


@pytest.mark.parametrize(
    ("request_", "query"),
    [
        ('"Who?"', "Who?"),
        ('{"question": "Who?"}', "Who?"),
        ({"question": "Who?"}, "Who?"),
        ('"Who', '"Who'),
        ("Who?", "Who?"),
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}),
        ({"messages": []}, {"messages": []}),
    ],
)
def test_a_request_is_the_one_text_that_it_states_and_else_as_it_is(tmp_path, request_, query):
    table = table_of_file(tmp_path / "t", [MLFLOW[0] | {"request": request_}, MLFLOW[1]])
    assert table.columns["query"][0] == query
