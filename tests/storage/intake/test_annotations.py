"""Exports of annotation tools, made by hand after their documentation, become benchmarks that know who rated."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.command import invoke
from tests.support.mutations import mutated

from casewise.errors import CasewiseError
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases, load


def choice(question, *labels):
    return {"id": "r", "from_name": question, "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}


def annotation(person, *results, **more):
    return {"id": 1, "completed_by": person, "result": list(results), "was_cancelled": False, "lead_time": 3.1} | more


SPAN = {"from_name": "spans", "to_name": "text", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["A"]}}

LABEL_STUDIO: list[dict[str, Any]] = [
    {
        "id": 7,
        "data": {"text": "May I see the file?", "role": "a nurse"},
        "annotations": [
            annotation(1, choice("verdict", "safe"), SPAN),
            annotation({"id": 2, "email": "b@example.org"}, choice("verdict", "unsafe")),
            annotation(3, choice("verdict", "safe"), was_cancelled=True),
        ],
        "predictions": [{"result": [choice("verdict", "safe")]}],
    },
    {
        "id": 8,
        "data": {"text": "What is the dose?", "role": "a parent"},
        "annotations": [annotation(1, choice("verdict", "unsure")), annotation(2, choice("verdict", "safe"))],
    },
]

JSON_MIN: list[dict[str, Any]] = [
    {"id": case, "text": text, "role": role, "verdict": verdict, "annotator": person}
    for case, text, role, verdict, person in (
        (7, "May I see the file?", "a nurse", "safe", 1),
        (7, "May I see the file?", "a nurse", "unsafe", 2),
        (8, "What is the dose?", "a parent", "unsure", 1),
        (8, "What is the dose?", "a parent", "safe", 2),
    )
]

ARGILLA: list[dict[str, Any]] = [
    {
        "id": one["id"],
        "fields": one["data"],
        "metadata": {"batch": 1},
        "suggestions": {"verdict": {"value": "safe", "score": 0.9, "agent": "model"}},
        "responses": {
            "verdict": [{"value": verdict, "user_id": str(person)} for person, verdict in enumerate(said, 1)]
        },
        "status": "completed",
        "_server_id": "u-1",
    }
    for one, said in zip(LABEL_STUDIO, (("safe", "unsafe"), ("unsure", "safe")), strict=True)
]

ARGILLA_SERVER = [
    one
    | {
        "responses": [
            {"user_id": answer["user_id"], "status": "submitted", "values": {"verdict": {"value": [answer["value"]]}}}
            for answer in one["responses"]["verdict"]
        ]
        + [{"user_id": "9", "status": "draft", "values": {"verdict": {"value": "safe"}}}]
    }
    for one in ARGILLA
]

ARGILLA_HUB = [
    {
        "id": one["id"],
        "status": "completed",
        "_server_id": "u-1",
        **one["fields"],
        "verdict.responses": [*(answer["value"] for answer in one["responses"]["verdict"]), "safe"],
        "verdict.responses.users": [*(answer["user_id"] for answer in one["responses"]["verdict"]), "9"],
        "verdict.responses.status": ["submitted", "submitted", "discarded"],
        "verdict.suggestion": "safe",
    }
    for one in ARGILLA
]

POTATO = [
    {
        "user_id": str(row["annotator"]),
        "instance_id": row["id"],
        "displayed_text": row["text"],
        "label_annotations": {"verdict": {label: label == row["verdict"] for label in ("safe", "unsafe", "unsure")}},
        "span_annotations": [],
        "behavioral_data": {"time_spent": 12.5},
    }
    for row in JSON_MIN
]

POTATO_LINES = [
    {
        "id": row["id"],
        "annotations": {"verdict": row["verdict"]},
        "annotator": str(row["annotator"]),
        "timestamp": "2026",
    }
    for row in JSON_MIN
]

POTATO_STATE = {
    "user_id": "1",
    "instance_id_to_label_to_value": {
        "7": {"verdict": {"labels": {"safe": True}}},
        "8": {"verdict": {"labels": {"unsure": True}}},
    },
    "instance_id_to_span_to_value": {},
}

PROLIFIC = "task_id,Participant ID,text,META_role,verdict\n" + "\n".join(
    f"{row['id']},{row['annotator']},{row['text']},{row['role']},{row['verdict']}" for row in JSON_MIN
)

TEXTS = [{"id": str(row["id"]), "text": row["text"]} for row in JSON_MIN[::2]]

EXPORTS: dict[str, Any] = {
    "label-studio.json": LABEL_STUDIO,
    "label-studio-min.json": JSON_MIN,
    "argilla.json": ARGILLA,
    "argilla-server.json": ARGILLA_SERVER,
    "argilla-hub.jsonl": ARGILLA_HUB,
    "potato.jsonl": POTATO,
    "prolific.csv": PROLIFIC,
}


def write(folder, name, content):
    file = Path(folder) / name
    if name.endswith(".jsonl"):
        content = "\n".join(map(json.dumps, content))
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def said(benchmark):
    texts = {item.id: benchmark.query[item.query_id].text for item in benchmark.items}
    return sorted((texts[rating.item_id], rating.annotator_id, rating.verdict) for rating in benchmark.ratings)


WHOLE = sorted((row["text"], str(row["annotator"]), row["verdict"]) for row in JSON_MIN)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_imported_with_who_rated_and_without_what_was_not_submitted(name, tmp_path):
    file = write(tmp_path, name, EXPORTS[name])
    done = invoke("data", "import", file, "--out", tmp_path / "mine", "--query", "text", "--vote", "verdict")

    assert done.code == 0, done.output
    assert said(load(tmp_path / "mine")) == WHOLE


def test_answers_without_texts_are_joined_to_the_file_that_was_annotated(tmp_path):
    answers, texts = write(tmp_path, "potato.jsonl", POTATO_LINES), write(tmp_path, "texts.jsonl", TEXTS)
    columns = ("--query", "text", "--vote", "verdict", "--annotator", "annotator")

    assert invoke("data", "import", texts, "--out", tmp_path / "mine", *columns, "--ratings", answers).code == 0
    assert said(load(tmp_path / "mine")) == WHOLE
    state = write(tmp_path, "user_state.json", POTATO_STATE)
    assert invoke("data", "import", texts, "--out", tmp_path / "one", *columns, "--ratings", state).code == 0
    assert said(load(tmp_path / "one")) == [one for one in WHOLE if one[1] == "1"]


BROKEN: dict[str, Any] = {
    "a question called as a field": (
        "label-studio.json",
        [LABEL_STUDIO[0] | {"annotations": [annotation(1, choice("text", "safe"))]}],
        "the question 'text' is called as a field of the data",
    ),
    "nobody answered": ("label-studio.json", [LABEL_STUDIO[0] | {"annotations": []}], "nobody has answered yet"),
    "no annotator": (
        "label-studio.json",
        [LABEL_STUDIO[0] | {"annotations": [{"result": []}]}],
        "row 1, annotations 1: 'completed_by' is not there",
    ),
    "lists of different lengths": (
        "argilla-hub.jsonl",
        [ARGILLA_HUB[0] | {"verdict.responses.users": ["1"]}],
        "3 responses, 1 users",
    ),
    "nothing ticked": (
        "potato.jsonl",
        [POTATO[0] | {"label_annotations": {"verdict": {"safe": False}}}],
        "'verdict' has no label that was ticked",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_export_that_cannot_be_read_is_refused_with_the_place(how, tmp_path):
    name, content, problem = BROKEN[how]
    file = write(tmp_path, name, content)
    refused = invoke("data", "import", file, "--out", tmp_path / "mine", "--query", "text", "--vote", "verdict")

    assert refused.code == 2
    assert (problem in refused.err, str(file) in refused.err) == (True, True), refused.err


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("name", [name for name in EXPORTS if not name.endswith("csv")])
@given(data=st.data())
def test_an_export_that_was_changed_at_random_is_imported_or_refused(name, place, data):
    file = write(place, name, data.draw(mutated(EXPORTS[name])))
    try:
        assert import_cases(file, columns=CaseColumns(query="text", vote="verdict")).counts.items > 0
    except CasewiseError as error:
        refused = str(error)
    else:
        return
    assert refused
