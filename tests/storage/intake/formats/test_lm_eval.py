"""lm-evaluation-harness: samples, their replies and likelihoods."""

import pytest
from tests.support.outputs import LM_EVAL, json_file, table_of_file

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table


def test_scores_of_whole_tasks_are_told_from_samples(tmp_path):
    json_file(tmp_path / "results", {"results": {"task": {"acc": 1}}, "configs": {}, "versions": {}})
    with pytest.raises(DataError, match="give its samples_TASK_TIME"):
        read_any_table(tmp_path / "results")


@pytest.mark.parametrize(
    ("answers", "more", "choice"),
    [
        ([["-3.0", "False"], ["-1.0", "True"]], {}, 1),
        ([[-3.0, False], [-1.0, True]], {}, 1),
        ([["-3.0", "False"], ["-4.0", "False"], ["-9.0", "False"], ["-1.0", "False"]], {"acc_mutual_info": 1.0}, 0),
        ([["-3.0", "False"]], {}, None),
    ],
)
def test_a_sample_of_lm_eval_with_likelihoods_states_the_likeliest_choice_and_no_reply(tmp_path, answers, more, choice):
    sample = LM_EVAL[0] | {"resps": [[answer] for answer in answers], "filtered_resps": answers, **more}
    columns = table_of_file(tmp_path / "samples", [sample, sample]).columns

    assert (columns.get("choice"), "reply" in columns) == (None if choice is None else [choice, choice], False)


def test_a_sample_of_lm_eval_with_several_replies_is_refused(tmp_path):
    sample = LM_EVAL[0] | {"resps": [["a", "b"]], "filtered_resps": [["a", "b"]]}
    with pytest.raises(DataError, match="has 2 replies after its filter"):
        table_of_file(tmp_path / "samples", [sample, sample])


def test_a_sample_has_the_fields_of_its_document_and_of_the_harness_with_the_documents_first(tmp_path):
    sample = {**LM_EVAL[0], "target": "harness", "acc": 1.0, "metrics": ["acc"], "prompt_hash": "p", "target_hash": "t"}
    sample["doc"] = {"query": "Who?", "target": "document"}
    table = table_of_file(tmp_path / "samples", [sample, sample | {"doc_id": 4, "doc": "When?"}])

    assert table.format == "lm-eval samples"
    assert table.columns == {
        "query": ["Who?", "When?"],
        "target": ["document", "harness"],
        "doc_id": [0, 4],
        "acc": [1.0, 1.0],
        "id": ["0", "4"],
        "reply": ["unsafe", "unsafe"],
    }


@pytest.mark.parametrize(
    ("filtered", "reply"),
    [(["a"], "a"), ([["a"]], "a"), ([], None), ([[]], []), (["a", "b"], "a"), ([["a", "b", "c"]], None)],
)
def test_the_reply_is_the_first_after_the_filter(tmp_path, filtered, reply):
    sample = LM_EVAL[0] | {"filtered_resps": filtered}
    if filtered and len(filtered[0]) > 1:
        with pytest.raises(DataError, match=r"samples:1: the sample has 3 replies after its filter; choose a filter"):
            table_of_file(tmp_path / "samples", [sample, sample])
        return
    assert table_of_file(tmp_path / "samples", [sample, sample]).columns["reply"][0] == (reply or None)


def test_samples_of_one_filter_are_read_without_a_choice(tmp_path):
    sample = LM_EVAL[0] | {"filter": "none"}
    assert table_of_file(tmp_path / "samples", [sample, sample]).columns["filter"] == ["none", "none"]


def test_of_two_equal_likelihoods_the_first_is_the_choice(tmp_path):
    sample = LM_EVAL[0] | {"filtered_resps": [["-1.0", "False"], ["-1.0", "True"], ["-2.0", "False"]]}
    assert table_of_file(tmp_path / "samples", [sample, sample]).columns["choice"] == [0, 0]


@pytest.mark.parametrize("missing", ["results", "configs", "versions"])
def test_an_object_without_all_parts_of_results_is_none_of_the_harness(tmp_path, missing):
    content = {"results": {"task": {"acc": 1}}, "configs": {"a": 1}, "versions": {"a": 1}}
    del content[missing]
    assert table_of_file(tmp_path / "results", content).format == "JSON"


@pytest.mark.parametrize("stated", [None, "x", "", [], "nan"])
def test_what_is_no_likelihood_chooses_nothing(tmp_path, stated):
    answers = [["-inf", "False"], [stated, "False"]]
    sample = LM_EVAL[0] | {"resps": [answers], "filtered_resps": answers}
    with pytest.raises(DataError, match="which is no log-likelihood"):
        table_of_file(tmp_path / "samples", [sample, sample])
