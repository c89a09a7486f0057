"""Outputs of programs that run judges, written by hand after their documentation: two cases, of which the first has a reply."""

import json
import zipfile
from typing import Any

import polars as pl

from casewise.storage.intake.formats.find import read_any_table

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
    lines = isinstance(content, list) and not (isinstance(content[0], dict) and "timestamp" in content[0])
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


def table_of_file(path, content):
    json_file(path, content)
    return read_any_table(path)
