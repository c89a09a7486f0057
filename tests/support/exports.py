"""Exports of annotation tools, made by hand after their documentation: two cases that two people rated."""

import json
from pathlib import Path
from typing import Any

from casewise.storage.intake.formats.find import read_any_table


def choice(question, *labels):
    return {"id": "r", "from_name": question, "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}


def annotation(person, *results, **more):
    return {"id": 1, "completed_by": person, "result": list(results), "was_cancelled": False, "lead_time": 3.1} | more


REGION = {"start": 0, "end": 3, "text": "May"}


SPAN = {"from_name": "spans", "to_name": "text", "type": "labels", "value": {**REGION, "labels": ["A"]}}


OF_SPAN = {"from_name": "verdict", "to_name": "text", "type": "choices", "value": {**REGION, "choices": ["unsure"]}}


LABEL_STUDIO: list[dict[str, Any]] = [
    {
        "id": 7,
        "data": {"text": "May I see the file?", "role": "a nurse"},
        "annotations": [
            annotation(1, choice("verdict", "safe"), SPAN, OF_SPAN),
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


QUALTRICS = "\n".join(
    [
        "StartDate,Status,ResponseId,case,text,verdict",
        "Start Date,Response Type,Response ID,Case,Request,Should it answer?",
        *['"{""ImportId"":""startDate""}",' + ",".join(f'"{{""ImportId"":""QID{n}""}}"' for n in range(5))],
        *(f"2026,IP Address,{row['annotator']},{row['id']},{row['text']},{row['verdict']}" for row in JSON_MIN[:3]),
        f"2026,Spam,2,8,{JSON_MIN[3]['text']},safe",
        "2026,Survey Preview,R9,7,May I see the file?,safe",
    ]
)


MTURK = "\n".join(
    [
        "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.id,Input.text,Answer.verdict",
        *(f"h,a,{row['annotator']},Approved,{row['id']},{row['text']},{row['verdict']}" for row in JSON_MIN),
        "h,a,9,Rejected,7,May I see the file?,safe",
    ]
)


MTURK_FORM = "\n".join(
    [
        "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.id,Input.text,Answer.taskAnswers",
        *(
            f"h,a,{row['annotator']},Submitted,{row['id']},{row['text']},"
            '"[{""verdict"":{'
            + ",".join(f'""{word}"":{str(word == row["verdict"]).lower()}' for word in ("safe", "unsafe", "unsure"))
            + '}}]"'
            for row in JSON_MIN
        ),
    ]
)


TEXTS = [{"id": str(row["id"]), "text": row["text"]} for row in JSON_MIN[::2]]


POTATO_TABLE = "\n".join(
    [
        "user\tinstance_id\tdisplayed_text\tverdict:::safe\tverdict:::unsafe\tverdict:::unsure\twhy:::text_box",
        *(
            "\t".join(
                [str(row["annotator"]), str(row["id"]), row["text"]]
                + ["true" * (row["verdict"] == word) for word in ("safe", "unsafe", "unsure")]
                + [""]
            )
            for row in JSON_MIN
        ),
    ]
)


DOCCANO_NUMBERED = [
    {
        "id": texts["id"],
        "text": texts["text"],
        "annotations": [
            {"label": row["verdict"], "user": row["annotator"]} for row in JSON_MIN if row["text"] == texts["text"]
        ],
        "meta": {},
        "annotation_approver": None,
    }
    for texts in TEXTS
]


EXPORTS: dict[str, Any] = {
    "label-studio.json": LABEL_STUDIO,
    "label-studio-min.json": JSON_MIN,
    "argilla.json": ARGILLA,
    "argilla-server.json": ARGILLA_SERVER,
    "argilla-hub.jsonl": ARGILLA_HUB,
    "potato.jsonl": POTATO,
    "potato.tsv": POTATO_TABLE,
    "prolific.csv": PROLIFIC,
    "qualtrics.csv": QUALTRICS,
    "mturk.csv": MTURK,
    "mturk-form.csv": MTURK_FORM,
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


def read(folder, content, name="export.json"):
    """Return the table that an export of this content is read as."""
    return read_any_table(write(folder, name, content))
