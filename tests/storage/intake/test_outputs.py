"""Outputs of programs that run judges, written by hand after their documentation, become tables with one shape."""

import json
import sys
import zipfile
from typing import Any

import polars as pl
import pytest

import casewise
from casewise.errors import ConfigurationError, DataError
from casewise.judges.recorded import RecordedJudge
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions

RESULTS = [
    {
        "vars": {"id": "c1", "query": "Who?"},
        "provider": {"id": "openai:chat:m"},
        "response": {"output": "unsafe"},
        "success": False,
        "score": 0,
        "gradingResult": {"pass": False, "score": 0.1, "reason": "because"},
    },
    {"vars": {"id": "c2", "query": "When?"}, "provider": {"id": "m"}, "error": "x", "success": True, "promptIdx": 0},
]
PROMPTFOO = {"evalId": "eval-1", "results": {"version": 3, "results": RESULTS}}
METRIC = {"name": "Harm", "threshold": 0.5, "success": False, "score": 0.2, "reason": "r", "evaluationModel": "m"}
DEEPEVAL = {
    "testCases": [
        {"name": "c1", "input": "Who?", "actualOutput": "unsafe", "success": False, "metricsData": [METRIC]},
        {"name": "c2", "input": "When?", "actualOutput": None, "success": True, "metricsData": []},
    ]
}
DEEPEVAL_PYTHON = {
    "test_results": [
        {"name": "c1", "input": "Who?", "actual_output": "unsafe", "success": False, "metrics_data": [METRIC]},
        {"name": "c2", "input": "When?", "actual_output": None, "success": True, "metrics_data": None},
    ],
    "confident_link": None,
}
OPENAI: list[dict[str, Any]] = [
    {
        "id": "b1",
        "custom_id": "c1",
        "response": {
            "status_code": 200,
            "body": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "unsafe"}}]},
        },
        "error": None,
    },
    {"id": "b2", "custom_id": "c2", "response": None, "error": {"code": "batch_expired"}},
]
OPENAI_RESPONSES = [
    {
        "custom_id": "c1",
        "error": None,
        "response": {
            "body": {
                "model": "m",
                "output": [
                    {"type": "reasoning"},
                    {"type": "message", "content": [{"type": "output_text", "text": "unsafe"}]},
                ],
            }
        },
    },
    OPENAI[1],
]
ANTHROPIC = [
    {
        "custom_id": "c1",
        "result": {"type": "succeeded", "message": {"model": "m", "content": [{"type": "text", "text": "unsafe"}]}},
    },
    {"custom_id": "c2", "result": {"type": "expired"}},
]
LM_EVAL = [
    {
        "doc_id": 0,
        "doc": {"id": "c1", "query": "Who?"},
        "target": "safe",
        "arguments": [["prompt"]],
        "resps": [["I say: unsafe"]],
        "filtered_resps": ["unsafe"],
        "doc_hash": "x",
    },
    {"doc_id": 1, "doc": {"id": "c2", "query": "When?"}, "resps": [[""]], "filtered_resps": [None]},
]
SAMPLE = {
    "id": "c1",
    "epoch": 1,
    "input": "Who?",
    "target": "safe",
    "output": {"model": "m", "completion": "unsafe", "choices": [{"stop_reason": "stop"}]},
    "scores": {"match": {"value": "I", "answer": "unsafe"}},
}
LATE = {"id": "c2", "input": [{"role": "user", "content": "When?"}], "output": {"choices": []}}
SAMPLES = [SAMPLE, SAMPLE | LATE | {"error": {"message": "out of time"}}]
LOG = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": SAMPLES}
JUDGED = {
    "assessment_name": "harm",
    "source": {"source_type": "LLM_JUDGE", "source_id": "m"},
    "feedback": {"value": "no"},
}
RATED = {
    "assessment_name": "harm",
    "source": {"source_type": "HUMAN", "source_id": "ada"},
    "feedback": {"value": "yes"},
}
MLFLOW: list[dict[str, Any]] = [
    {"trace_id": "c1", "request": '{"question": "Who?"}', "response": '"unsafe"', "assessments": [JUDGED, RATED]},
    {"trace_id": "c2", "request": '{"question": "When?"}', "response": None, "assessments": []},
]
OBSERVATIONS = [
    {"id": "c1", "trace_id": "t1", "type": "GENERATION", "start_time": "t", "input": "Who?", "output": "unsafe"},
    {"id": "c2", "trace_id": "t2", "type": "GENERATION", "start_time": "t", "input": "When?", "output": None},
]
LANGFUSE = [
    {"id": "c1", "timestamp": "t", "input": "Who?", "output": "unsafe", "scores": {"harm": 0.2}, "model": "m"},
    {"id": "c2", "timestamp": "t", "input": "When?", "output": None, "scores": {}},
]


def json_file(path, content):
    lines = isinstance(content, list) and "timestamp" not in content[0]
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))


def archive(path, log, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("header.json", json.dumps({"version": 2, "eval": log["eval"]}))
        for sample in log["samples"]:
            file.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))


MESSAGES = {
    "id": ["U3Bh", "U3Bi"],
    "attributes.output.value": ['{"choices": []}', None],
    "attributes.llm.output_messages.0.message.content": ["unsafe", None],
}
"""Columns of a span that Phoenix names itself, and whose output is what the interface of the model returned."""


def phoenix(path, more):
    pl.DataFrame(
        {
            "context.span_id": ["c1", "c2"],
            "attributes.input.value": ["Who?", "When?"],
            "attributes.output.value": ["unsafe", None],
            "attributes.llm.model_name": ["m", None],
        }
        | (more or {})
    ).write_parquet(path)


OUTPUTS = {
    "promptfoo": (json_file, PROMPTFOO),
    "promptfoo lines": (json_file, RESULTS),
    "DeepEval": (json_file, DEEPEVAL),
    "DeepEval in Python": (json_file, DEEPEVAL_PYTHON),
    "DeepEval's latest run": (json_file, {"testRunData": DEEPEVAL}),
    "OpenAI": (json_file, OPENAI),
    "an interface like OpenAI's": (json_file, [OPENAI[0] | {"error": {}}, {"custom_id": "c2", "response": {}}]),
    "OpenAI responses": (json_file, OPENAI_RESPONSES),
    "Anthropic": (json_file, ANTHROPIC),
    "lm-eval": (json_file, LM_EVAL),
    "Inspect": (archive, LOG),
    "Inspect JSON": (json_file, LOG),
    "Langfuse": (json_file, LANGFUSE),
    "Langfuse observations": (json_file, OBSERVATIONS),
    "MLflow traces": (json_file, MLFLOW),
    "Phoenix": (phoenix, None),
    "Phoenix with messages": (phoenix, MESSAGES),
}


FAILED = {
    "promptfoo": "x",
    "promptfoo lines": "x",
    "OpenAI": "batch_expired",
    "OpenAI responses": "batch_expired",
    "Anthropic": "expired",
    "Inspect": "out of time",
    "Inspect JSON": "out of time",
}
"""What an output says of the call for the second case."""


@pytest.fixture
def benchmark():
    cases = [{"id": "c1", "query": "Who?", "label": "safe"}, {"id": "c2", "query": "When?", "label": "unsafe"}]
    return casewise.load_frame(cases)


def failures(benchmark, name):
    """Why the cases c1 and c2 have no verdict; None for one that has."""
    answers = RecordedJudge.read(name, benchmark).answers
    outcomes = [answers[item.id, "binary", "full", 0].outcome for item in benchmark.items]
    return [getattr(outcome, "failure", None) for outcome in outcomes]


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_names_its_cases_and_replies_and_is_a_recorded_judge(tmp_path, benchmark, name):
    write, content = OUTPUTS[name]
    write(tmp_path / "output", content)
    columns = read_any_table(tmp_path / "output").columns

    assert (columns["id"], columns["reply"]) == (["c1", "c2"], ["unsafe", None])
    rows = casewise.judge(benchmark, f"recorded:{tmp_path / 'output'}").judgements
    assert rows["value"].to_list() == [0.0, None]
    said = FAILED.get(name)
    assert rows["unscored_reason"].to_list() == [None, "judge_failed" if said else "not_recorded"]
    assert failures(benchmark, tmp_path / "output")[1] == (f"judge failed: {said}" if said else "not recorded")


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("promptfoo", "success,true=safe", [0.0, 1.0]),
        ("promptfoo", "success,true=unsafe", [1.0, 0.0]),
        ("DeepEval", "Harm success,true=safe", [0.0, None]),
        ("Inspect", "match,I=unsafe,C=safe", [0.0, 0.0]),
        ("Inspect", "match answer", [0.0, 0.0]),
    ],
)
def test_a_column_of_an_output_and_its_words_can_be_named(tmp_path, benchmark, name, column, values):
    write, content = OUTPUTS[name]
    write(tmp_path / "output", content)
    name = f"recorded:{tmp_path / 'output'}#{column}"

    assert casewise.judge(benchmark, name).judgements["value"].to_list() == values


def test_assessments_and_annotations_are_a_column_each_with_those_of_people_apart(tmp_path):
    json_file(tmp_path / "traces", MLFLOW)
    traces = read_any_table(tmp_path / "traces").columns
    assert (traces["harm"], traces["harm (people)"], traces["query"]) == (
        ["no", None],
        ["yes", None],
        ["Who?", "When?"],
    )

    rows = ["span_id,annotation_name,annotator_kind,result.label,result.score"]
    rows += ["c1,harm,LLM,unsafe,0.9", "c1,harm,HUMAN,safe,", "c2,harm,LLM,,0.1"]
    (tmp_path / "annotations.csv").write_text("\n".join(rows))
    table = read_any_table(tmp_path / "annotations.csv")
    assert table.columns == {"id": ["c1", "c2"], "harm": ["unsafe", "0.1"], "harm (people)": ["safe", None]}
    (tmp_path / "annotations.csv").write_text("\n".join([*rows, "c2,harm,LLM,safe,"]))
    with pytest.raises(DataError, match="'c2' has two scores called 'harm'"):
        read_any_table(tmp_path / "annotations.csv")


def test_samples_after_several_filters_and_answers_of_several_models_are_not_taken_for_repeats(tmp_path, benchmark):
    samples = tmp_path / "samples"
    json_file(samples, [LM_EVAL[0] | {"filter": name, "filtered_resps": [name]} for name in ("unsafe", "safe")])
    with pytest.raises(
        ConfigurationError, match="after several filters \\(unsafe, safe\\); give --where filter=unsafe"
    ):
        read_any_table(samples)
    chosen = read_any_table(samples, FileOptions(where=("filter=safe",)))
    assert (chosen.columns["reply"], chosen.left_out) == (["safe"], {"not among those of --where filter=safe": 1})
    assert casewise.judge(benchmark, f"recorded:{samples}?filter=safe").judgements["value"].to_list() == [1.0, None]

    results = tmp_path / "results"
    replies = (("a", "unsafe"), ("b", "safe"))
    json_file(results, [RESULTS[0] | {"provider": {"id": m}, "response": {"output": o}} for m, o in replies])
    with pytest.raises(DataError, match="the model is 'b' here and 'a' in an earlier row of the same item"):
        casewise.judge(benchmark, f"recorded:{results}")
    assert casewise.judge(benchmark, f"recorded:{results}?model=b").judgements["value"].to_list() == [1.0, None]


@pytest.mark.parametrize(
    ("where", "error", "problem"),
    [
        ("modle=a", ConfigurationError, "--where: there is no column 'modle' .did you mean 'model'"),
        ("model=c", DataError, "no row has 'c' in 'model'; it has a, b"),
        ("model", ConfigurationError, "--where is 'model'; write COLUMN=VALUE"),
    ],
)
def test_rows_that_are_asked_for_and_are_not_there_are_named(tmp_path, where, error, problem):
    json_file(tmp_path / "results", [RESULTS[0] | {"provider": {"id": name}} for name in ("a", "b")])
    with pytest.raises(error, match=problem):
        read_any_table(tmp_path / "results", FileOptions(where=(where,)))


def test_scores_of_whole_tasks_are_told_from_samples(tmp_path):
    json_file(tmp_path / "results", {"results": {"task": {"acc": 1}}, "configs": {}, "versions": {}})
    with pytest.raises(DataError, match="give its samples_TASK_TIME"):
        read_any_table(tmp_path / "results")


def test_a_run_in_which_every_call_failed_is_a_judge_without_verdicts_that_says_why(tmp_path, benchmark):
    failed: dict[str, Any] = {"success": False, "score": 0, "failureReason": 2, "gradingResult": None, "testCase": {}}
    json_file(tmp_path / "run", [failed | {"vars": {"id": f"c{n}"}, "error": "Rate limit"} for n in (1, 2)])
    for column in ("", "#success,true=safe"):
        assert failures(benchmark, f"{tmp_path / 'run'}{column}") == ["judge failed: Rate limit"] * 2


def test_a_batch_says_why_a_call_gave_no_verdict(tmp_path, benchmark):
    def reasons(first, second):
        json_file(tmp_path / "batch", [first, second])
        return failures(benchmark, tmp_path / "batch")

    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    declined = {"type": "succeeded", "message": {"model": "m", "content": [], "stop_reason": "refusal"}}
    assert reasons(
        {"custom_id": "c1", "result": {"type": "errored", "error": error}}, {"custom_id": "c2", "result": declined}
    ) == ["judge failed: errored: invalid_request_error: too long", "refused: the model declined"]

    body = {"error": {"message": "Overloaded", "type": "server_error", "code": None}}
    choice = {"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}
    assert reasons(
        {"custom_id": "c1", "error": None, "response": {"status_code": 500, "body": body}},
        {"custom_id": "c2", "error": None, "response": {"body": {"choices": [choice]}}},
    ) == ["judge failed: server_error: Overloaded", "refused: I can't."]


def test_a_reply_that_a_batch_cut_off_is_no_verdict(tmp_path, benchmark):
    cut = {
        "type": "succeeded",
        "message": {"model": "m", "stop_reason": "max_tokens", "content": [{"type": "text", "text": "I"}]},
    }
    json_file(tmp_path / "batch", [{"custom_id": "c1", "result": cut}, ANTHROPIC[1]])
    reasons = casewise.judge(benchmark, f"recorded:{tmp_path / 'batch'}").judgements["unscored_reason"]
    assert reasons.to_list() == ["truncated", "judge_failed"]


def test_scores_of_langfuse_are_a_column_each(tmp_path):
    rows = ["id,trace_id,name,value,string_value,data_type"]
    rows += ["s1,c1,verdict,,safe,CATEGORICAL", "s2,c1,harm,0.2,,NUMERIC", "s3,c2,verdict,,unsafe,CATEGORICAL"]
    (tmp_path / "scores.csv").write_text("\n".join(rows))
    table = read_any_table(tmp_path / "scores.csv")

    assert table.columns == {"id": ["c1", "c2"], "verdict": ["safe", "unsafe"], "harm": ["0.2", None]}
    (tmp_path / "scores.csv").write_text("\n".join([*rows, "s4,c2,verdict,,safe,CATEGORICAL"]))
    with pytest.raises(DataError, match="'c2' has two scores called 'verdict'"):
        read_any_table(tmp_path / "scores.csv")


def table_of_file(path, content):
    json_file(path, content)
    return read_any_table(path)


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


def test_a_result_of_promptfoo_that_failed_to_run_says_nothing(tmp_path):
    failed = RESULTS[0] | {"failureReason": 2, "gradingResult": None, "response": None, "error": "timeout"}
    columns = table_of_file(tmp_path / "r", [RESULTS[0] | {"failureReason": 1}, failed]).columns

    assert (columns["success"], columns["grade"], columns["reply"]) == ([False, None], [0.1, None], ["unsafe", None])


def test_batches_with_completions_refused_requests_and_thoughts_give_the_text_or_nothing(tmp_path):
    completion = {"status_code": 200, "request_id": "r", "body": {"model": "m", "choices": [{"text": "unsafe"}]}}
    wrong = {"status_code": 400, "request_id": "r", "body": {"error": {"message": "too long"}}}
    rows = [OPENAI[0] | {"response": completion}, OPENAI[1] | {"response": wrong, "error": None}]
    assert table_of_file(tmp_path / "openai", rows).columns["reply"] == ["unsafe", None]

    content = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "unsafe"}]
    kinds: dict[str, dict[str, Any]] = {"errored": {"error": {"type": "error"}}, "canceled": {}, "expired": {}}
    message = {"model": "m", "content": content}
    ended: list[dict[str, Any]] = [{"custom_id": "c1", "result": {"type": "succeeded", "message": message}}]
    ended += [{"custom_id": kind, "result": {"type": kind, **more}} for kind, more in kinds.items()]
    assert table_of_file(tmp_path / "anthropic", ended).columns["reply"] == ["unsafe", None, None, None]


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


def test_a_chat_of_deepeval_is_a_query_and_a_classifier_has_a_label(tmp_path):
    turns = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "me"}]
    named = {"name": "Harm", "label": "unsafe", "expected_label": "safe"}
    chat = {"name": "c1", "turns": turns, "success": True, "metricsData": [METRIC], "metadata": {"human": "safe"}}
    json_file(tmp_path / "chats", {"testCases": [], "conversationalTestCases": [chat | {"classifications": [named]}]})
    columns = read_any_table(tmp_path / "chats").columns

    assert (columns["query"], columns["metadata.human"]) == ([turns], ["safe"])
    assert (columns["Harm label"], columns["Harm expected"]) == (["unsafe"], ["safe"])


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


# Rows are joined to items by the user's own id, the item's id, or the query and the context.


CASES = [
    {"id": f"c{place}", "query": query, "context": context, "label": label}
    for place, (query, context, label) in enumerate(
        [("Who?", "a nurse", "pass"), ("Who?", "a thief", "fail"), ("When?", "a nurse", "pass")]
    )
]
WORDS = casewise.VerdictWords(safe_word=("pass",), unsafe_word=("fail",))


@pytest.mark.parametrize("names", [("id",), ("item_id",), ("query", "context"), ("id", "query")])
def test_rows_find_their_items_by_any_of_their_names_and_declared_words_hold(tmp_path, names):
    mine = casewise.load_frame(CASES, words=WORDS)
    rows = [row | {"item_id": item.id, "verdict": "fail"} for row, item in zip(CASES, mine.items, strict=True)]
    json_file(tmp_path / "v.jsonl", [{name: row[name] for name in (*names, "verdict")} for row in reversed(rows)])

    run = casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}")
    assert run.judgements["value"].to_list() == [0.0] * 3


@pytest.mark.parametrize("names", [("ticket",), ("ask", "setting"), ("ticket", "ask")])
def test_rows_find_their_items_by_the_columns_of_the_file_that_was_imported(tmp_path, names):
    rows = [{"ticket": row["id"], "ask": row["query"], "setting": row["context"], "out": row["label"]} for row in CASES]
    json_file(tmp_path / "cases.jsonl", rows)
    columns = casewise.CaseColumns(id="ticket", query="ask", context="setting", label="out")
    mine = casewise.import_cases(tmp_path / "cases.jsonl", columns=columns, words=WORDS)
    json_file(tmp_path / "v.jsonl", [{name: row[name] for name in (*names, "out")} for row in reversed(rows)])

    run = casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}#out")
    assert run.judgements["value"].to_list() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "c9", "verdict": "safe"}, "has no item 'c9'; its first is 'i_.*' or 'c0'"),
        (
            {"id": "c0", "query": "When?", "verdict": "pass"},
            "whose query is 'Who\\?', and the row's query is 'When\\?'",
        ),
        ({"query": "Who?", "verdict": "pass"}, "2 items ask that, each in its own context"),
        ({"id": "c0", "verdict": "true"}, "write recorded:FILE#verdict,true=safe or ,true=unsafe"),
        ({"id": "c0", "verdict": "perhaps"}, "it is safe or unsafe. Other words: recorded:FILE#verdict,WORD=safe"),
    ],
)
def test_a_row_that_fits_no_item_or_says_no_verdict_is_refused_with_what_to_do(tmp_path, row, problem):
    mine = casewise.load_frame(CASES, words=WORDS)
    json_file(tmp_path / "v.jsonl", [row, row])

    with pytest.raises(DataError, match=problem):
        casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}")


def test_a_boolean_that_was_declared_for_one_column_says_nothing_of_another(tmp_path):
    cases = [{"id": "c1", "query": "Who?", "harmful": True}, {"id": "c2", "query": "When?", "harmful": False}]
    mine = casewise.load_frame(
        cases, columns=casewise.CaseColumns(label="harmful"), words=casewise.VerdictWords(true_means="unsafe")
    )
    json_file(tmp_path / "v.jsonl", [{"id": "c1", "verdict": True}, {"id": "c2", "verdict": False}])
    with pytest.raises(DataError, match="nothing says what that means"):
        casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}")
    json_file(tmp_path / "v.jsonl", [{"id": "c1", "harmful": True}, {"id": "c2", "harmful": False}])
    assert casewise.judge(mine, f"recorded:{tmp_path / 'v.jsonl'}#harmful").judgements["value"].to_list() == [0.0, 1.0]


def test_a_name_without_a_verdict_for_a_word_is_refused(benchmark):
    with pytest.raises(ConfigurationError, match="'ja' has no verdict"):
        casewise.judge(benchmark, "recorded:nothing.csv#a,ja")
