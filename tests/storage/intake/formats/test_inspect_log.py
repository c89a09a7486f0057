"""Inspect: archives and JSON logs of any task."""

import json
import sys
import zipfile

import pytest
from tests.support.outputs import LOG, SAMPLE, archive, json_file

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table


def test_a_log_of_inspect_in_its_newer_compression_is_read(tmp_path):
    if sys.version_info < (3, 14):
        pytest.importorskip("zipfile_zstd")
    archive(tmp_path / "log.eval", LOG, vars(zipfile)["ZIP_ZSTANDARD"])

    assert read_any_table(tmp_path / "log.eval").columns["reply"] == ["unsafe", None]


def test_a_log_of_inspect_in_chunks_says_what_to_do(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr("header.json", json.dumps(LOG))
        file.writestr("samples/c1_epoch_1/sample.json", json.dumps(SAMPLE))
        file.writestr("samples/c1_epoch_1/messages/0.json", "[]")

    with pytest.raises(DataError, match="inspect log dump"):
        read_any_table(tmp_path / "log.eval")


def test_a_log_of_inspect_that_was_not_finished_states_its_task_and_scores_that_are_no_number(tmp_path):
    message = {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "no"}],
    }
    sample = SAMPLE | {"output": {"choices": [{"message": message, "stop_reason": "stop"}]}}
    sample |= {"scores": {"match": {"value": float("nan")}}}
    with zipfile.ZipFile(tmp_path / "log", "w") as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}))
        file.writestr("_journal/summaries/1.json", "[]")
        file.writestr("samples/c1_epoch_1.json", json.dumps(sample))
    columns = read_any_table(tmp_path / "log").columns

    assert (columns["reply"], columns["model"], columns["match"]) == (["no"], ["m"], [None])


def columns(tmp_path, sample, **evaluation):
    json_file(tmp_path / "log", LOG | {"eval": {"task": "t", "model": "m"} | evaluation, "samples": [sample]})
    table = read_any_table(tmp_path / "log")
    assert table.format == "Inspect log (JSON)"
    return {name: cells[0] for name, cells in table.columns.items()}


def test_a_sample_has_its_input_its_reply_and_the_value_and_answer_of_each_scorer(tmp_path):
    sample = SAMPLE | {
        "metadata": {"ward": 3, "arm": "full"},
        "scores": {"match": {"value": "I", "answer": "unsafe"}, "x": 3},
    }
    sample["output"] = {"completion": "unsafe", "choices": [{"stop_reason": "stop"}], "usage": {"input_tokens": 5}}

    assert columns(tmp_path, sample) == {
        "ward": 3,
        "arm": "full",
        "id": "c1",
        "epoch": 1,
        "query": "Who?",
        "target": "safe",
        "reply": "unsafe",
        "model": "m",
        "error": None,
        "stop_reason": "stop",
        "elicitation": None,
        "input_tokens": 5,
        "output_tokens": None,
        "match": "I",
        "match answer": "unsafe",
        "x": None,
        "x answer": None,
    }


@pytest.mark.parametrize(
    ("error", "said"), [(None, None), ("late", "late"), ({"message": "late", "traceback": "t"}, "late")]
)
def test_a_sample_that_failed_says_why(tmp_path, error, said):
    assert columns(tmp_path, SAMPLE | {"error": error})["error"] == said


@pytest.mark.parametrize(
    "output", [None, {}, {"choices": []}, {"choices": [3]}, {"choices": [{"message": {"role": "assistant"}}]}]
)
def test_a_sample_without_a_reply_has_none_and_the_model_of_the_task(tmp_path, output):
    found = columns(tmp_path, SAMPLE | {"output": output})

    assert (found["reply"], found["stop_reason"], found["model"]) == (None, None, "m")
    assert "input_tokens" not in found


def test_the_arguments_of_the_task_state_the_elicitation_and_the_arm_before_the_samples_own(tmp_path):
    sample = SAMPLE | {"metadata": {"elicitation": "binary", "arm": "none"}}
    stated = columns(tmp_path, sample, task_args={"elicitation": "score", "arm": "full"})

    assert (stated["elicitation"], stated["arm"]) == ("score", "full")
    own = columns(tmp_path, sample, task_args=None)
    assert (own["elicitation"], own["arm"]) == ("binary", "none")


@pytest.mark.parametrize(
    ("elicitation", "answer", "value", "verdict"),
    [
        ("binary", "safe", 1.0, "safe"),
        ("probability", "unsafe", 0.2, 0.2),
        ("score", "unsafe", None, "unsafe"),
        ("score", "unscored", 3, None),
        ("binary", "unscored", None, None),
    ],
)
def test_a_log_of_casewises_own_task_gives_the_value_or_the_verdict_that_was_read(
    tmp_path, elicitation, answer, value, verdict
):
    score = {"value": 1.0, "answer": answer, "metadata": {"value": value}}
    sample = SAMPLE | {"metadata": {"elicitation": elicitation}, "scores": {"verdict": score}}
    found = columns(tmp_path, sample, task="casewise/judge")

    assert (found["verdict"], "verdict answer" in found) == (verdict, False)


def test_samples_of_an_archive_are_in_the_order_of_their_names_and_counted(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        for name in ("b_epoch_1", "a_epoch_2", "a_epoch_1"):
            file.writestr(f"samples/{name}.json", json.dumps(SAMPLE | {"id": name}))
        file.writestr("summaries.json", "[]")
    table = read_any_table(tmp_path / "log.eval")

    assert (table.columns["id"], list(table.lines)) == (["a_epoch_1", "a_epoch_2", "b_epoch_1"], [1, 2, 3])
    assert table.format == "Inspect log"


@pytest.mark.parametrize("name", ["header.json", "_journal/start.json", "start.json"])
def test_the_task_stands_in_the_header_or_in_the_journal(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr(name, json.dumps({"eval": {"model": "of the task"}}))
        file.writestr("samples/c_epoch_1.json", json.dumps(SAMPLE | {"output": {}}))
    assert read_any_table(tmp_path / "log.eval").columns["model"] == ["of the task"]


def test_an_archive_with_a_damaged_sample_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as file:
        file.writestr("header.json", "{")
        file.writestr("samples/c_epoch_1.json", json.dumps(SAMPLE))
    with pytest.raises(DataError, match=r"log\.eval: is no log of Inspect: "):
        read_any_table(tmp_path / "log.eval")


@pytest.mark.parametrize("missing", ["eval", "samples", "status"])
def test_an_object_without_all_parts_is_no_log(tmp_path, missing):
    json_file(tmp_path / "log", {name: part for name, part in LOG.items() if name != missing})
    assert "Inspect" not in read_any_table(tmp_path / "log").format
