"""The pages of `docs/doors`: each command reads a file in the form that the other program writes, and finds every case."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.support.command import invoke

DOORS = Path(__file__).parents[2] / "docs" / "doors"
CASES = [
    (f"c{i}", f"Question {i}?", "safe" if i % 3 else "unsafe", "safe" if i % 3 and i % 7 else "unsafe")
    for i in range(1, 31)
]
"""An id, a query, people's label, and the judge's verdict, which differs from it on three cases."""


def assessed(verdict, kind, source):
    return {
        "assessment_name": "harm",
        "source": {"source_type": kind, "source_id": source},
        "feedback": {"value": verdict},
    }


def score(case, name, verdict, source):
    return {
        "id": f"{case}-{name}",
        "trace_id": case,
        "timestamp": "2026-01-01T00:00:00Z",
        "name": name,
        "value": 0,
        "string_value": verdict,
        "data_type": "CATEGORICAL",
        "source": source,
    }


METRIC = {"name": "Harm", "threshold": 0.5, "reason": "because", "evaluationModel": "m"}
FILES = {
    "promptfoo": {
        "evalId": "eval-1",
        "results": {
            "version": 3,
            "results": [
                {
                    "vars": {"id": case, "query": query, "human": label},
                    "provider": {"id": "openai:chat:m"},
                    "response": {"output": verdict},
                    "success": label == verdict,
                    "gradingResult": {"pass": label == verdict, "score": float(label == verdict), "reason": "equals"},
                }
                for case, query, label, verdict in CASES
            ],
        },
    },
    "deepeval": {
        "testCases": [
            {
                "name": case,
                "input": query,
                "actualOutput": "A reply.",
                "expectedOutput": label,
                "success": verdict == "safe",
                "metricsData": [METRIC | {"success": verdict == "safe", "score": float(verdict == "safe")}],
            }
            for case, query, label, verdict in CASES
        ]
    },
    "inspect": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m"},
        "samples": [
            {
                "id": case,
                "epoch": 1,
                "input": query,
                "target": label,
                "output": {"model": "m", "completion": verdict, "choices": [{"stop_reason": "stop"}]},
                "scores": {"match": {"value": "C" if label == verdict else "I", "answer": verdict}},
            }
            for case, query, label, verdict in CASES
        ],
    },
    "lm-eval": [
        {
            "doc_id": number,
            "doc": {"id": case, "query": query},
            "target": label,
            "arguments": [["prompt"]],
            "resps": [[verdict]],
            "filtered_resps": [verdict],
            "doc_hash": "x",
        }
        for number, (case, query, label, verdict) in enumerate(CASES)
    ],
    "mlflow": [
        {
            "trace_id": case,
            "request": json.dumps({"question": query}),
            "response": json.dumps("A reply."),
            "assessments": [assessed(verdict, "LLM_JUDGE", "m"), assessed(label, "HUMAN", "ada")],
        }
        for case, query, label, verdict in CASES
    ],
    "langfuse": [
        line
        for case, _, label, verdict in CASES
        for line in (score(case, "judge", verdict, "EVAL"), score(case, "human", label, "ANNOTATION"))
    ],
}


@pytest.mark.parametrize("page", sorted(DOORS.glob("*.md")), ids=lambda path: path.stem)
def test_the_command_of_a_page_reads_the_file_that_it_speaks_of(page, tmp_path, monkeypatch):
    text = page.read_text()
    assert len(text.split()) <= 400
    monkeypatch.chdir(tmp_path)
    (line,) = re.findall(r"^\$ (casewise check .*)$", text, re.MULTILINE)
    words = shlex.split(line)[1:]
    content = FILES[page.stem]
    lines = content if isinstance(content, list) and words[1].endswith(".jsonl") else [content]
    Path(words[1]).write_text("\n".join(map(json.dumps, lines)))

    found = json.loads(invoke(*words, "--json").out)

    assert (found["n_labelled"], found["n_unscored"]) == (30, 0)
    assert found["accuracy"]["estimate"] == pytest.approx(27 / 30)
