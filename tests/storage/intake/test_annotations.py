"""Exports of annotation tools, made by hand after their documentation, become benchmarks that know who rated."""

import json
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.command import invoke
from tests.support.mutations import mutated

from casewise.errors import CasewiseError
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.formats.potato import answers_to
from casewise.storage.intake.joins import RatingTable
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.intake.table import structured
from casewise.storage.load import import_cases, load


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


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_imported_with_who_rated_and_without_what_was_not_submitted(name, tmp_path):
    file = write(tmp_path, name, EXPORTS[name])
    who = ("--annotator", "ResponseId") if name == "qualtrics.csv" else ()
    done = invoke("data", "import", file, "--out", tmp_path / "mine", "--query", "text", "--vote", "verdict", *who)

    assert done.code == 0, done.output
    assert said(load(tmp_path / "mine")) == WHOLE


def test_the_lines_of_one_person_are_theirs_by_the_folder_that_potato_writes_them_to(tmp_path):
    lines = [
        {
            "id": str(row["id"]),
            "displayed_text": row["text"],
            "label_annotations": {"verdict": {row["verdict"]: "true"}},
        }
        for row in JSON_MIN
        if row["annotator"] == 1
    ]
    (tmp_path / "1").mkdir()
    file = write(tmp_path / "1", "annotated_instances.jsonl", lines)
    columns = CaseColumns(query="text", vote="verdict")

    assert said(import_cases(file, columns=columns)) == [row for row in WHOLE if row[1] == "1"]
    with pytest.raises(CasewiseError, match="'annotator' is not there"):
        import_cases(write(tmp_path, "mine.jsonl", lines), columns=columns)


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
    "nobody answered": (
        "label-studio.json",
        [LABEL_STUDIO[0] | {"annotations": []}],
        "no case has a submitted answer yet",
    ),
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
    "a survey's page alone": (
        "potato.jsonl",
        [POTATO[0] | {"instance_id": "consent.html"}],
        "no case has a submitted answer yet",
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
@pytest.mark.parametrize("name", [name for name in EXPORTS if not name.endswith("sv")])
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


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_flat_exports_of_label_studio_have_answers_as_values_and_no_row_of_a_task_that_nobody_annotated(tmp_path, kind):
    rows: list[dict[str, Any]] = [
        {"id": 7, "text": "Who?", "verdict": "safe", "stars": [{"rating": 4}], "why": {"choices": ["a", "b"]}},
        {"id": 8, "text": "When?"},
    ]
    times = {"created_at": "t", "updated_at": "t", "lead_time": 1.5}
    spans = [{**REGION, "labels": ["A"]}]
    rows[0] |= {"spans": spans, "annotator": "1", "annotation_id": 3, **times}
    rows[1] |= {"annotator": "{}", "annotation_id": None, **dict.fromkeys(times)}
    if kind == "csv":
        cells = [
            {name: json.dumps(cell) if isinstance(cell, (list, dict)) else cell for name, cell in row.items()}
            for row in rows
        ]
        pl.DataFrame(cells).write_csv(tmp_path / "export")
    else:
        (tmp_path / "export").write_text(json.dumps(rows))
    table = read_any_table(tmp_path / "export")

    assert table.left_out == {"the task has no annotation": 1}
    assert [str(table.columns[name][0]) for name in ("verdict", "stars", "why")] == ["safe", "4", "a, b"]
    assert structured(table.columns["spans"][0]) == spans


def test_answers_of_argilla_whose_state_the_file_does_not_say_are_named(tmp_path):
    file = write(tmp_path, "argilla.json", ARGILLA)
    receipt = import_cases(file, columns=CaseColumns(query="text", vote="verdict")).about.receipt
    assert receipt is not None
    assert any("does not say which answers were submitted" in note for note in receipt.notes)


def test_answers_of_qualtrics_that_a_model_made_up_are_left_out(tmp_path):
    table = read_any_table(write(tmp_path, "q.csv", f"{QUALTRICS}\n2026,Synthetic,R8,7,May I see the file?,safe"))
    assert table.left_out["a synthetic answer, which no person gave"] == 1


# Folders, and files of programs that people keep tables in.


def documents(person):
    return [
        {"id": row["id"], "text": row["text"], "label": [row["verdict"]]}
        for row in JSON_MIN
        if row["annotator"] == person
    ]


def test_a_folder_of_doccanos_documents_is_a_file_a_person(tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    write(folder, "1.jsonl", documents(1))
    write(folder, "2.json", documents(2))
    (folder / "admin.jsonl").write_text("")  # who labelled nothing

    assert said(import_cases(folder, columns=CaseColumns(query="text", vote="label"))) == WHOLE
    write(folder, "3.jsonl", [{"something": "else"}])
    with pytest.raises(CasewiseError, match="is a folder, and no export of an annotation tool that casewise knows"):
        import_cases(folder)


def test_documents_of_doccanos_first_releases_are_a_row_a_person(tmp_path):
    file = write(tmp_path, "all.jsonl", DOCCANO_NUMBERED)
    assert said(import_cases(file, columns=CaseColumns(query="text", vote="label"))) == WHOLE


def test_documents_that_people_share_in_doccano_have_a_label_each(tmp_path):
    file = write(tmp_path, "all.jsonl", [{"id": 1, "text": "Who?", "label": ["safe"], "Comments": []}])
    assert [rating.verdict for rating in import_cases(file, columns=CaseColumns(query="text")).ratings] == ["safe"]
    write(tmp_path, "all.jsonl", [{"id": 1, "text": "Who?", "label": ["safe", "unsafe"], "Comments": []}])
    with pytest.raises(CasewiseError, match="'label' is 'safe, unsafe'"):
        import_cases(file, columns=CaseColumns(query="text"))


def test_potatos_output_folder_is_read_from_each_persons_state(tmp_path):
    pairs = {
        "7": [[{"schema": "verdict", "name": "unsafe"}, "unsafe"]],
        "8": [[{"schema": "verdict", "name": "safe"}, "safe"]],
    }
    for person, state in (("1", POTATO_STATE), ("2", {"user_id": "2", "instance_id_to_label_to_value": pairs})):
        (tmp_path / "out" / person).mkdir(parents=True)
        write(tmp_path / "out" / person, "user_state.json", state)
    texts = write(tmp_path, "texts.jsonl", TEXTS)

    found = import_cases(
        texts, columns=CaseColumns(query="text", vote="verdict"), ratings=RatingTable(ratings=tmp_path / "out")
    )
    assert said(found) == WHOLE


POTATO_2 = """instance_id,user_id,annotator_origin,verdict.safe,verdict.unsafe,verdict,sure.slider,verdict._room_id
7,1,human,safe,,,0,
7,2,human,safe,unsafe,unsafe,63,
8,gpt,llm,safe,,,50,
"""


def test_a_table_of_potato_2_is_read_without_the_answers_of_machines(tmp_path):
    table = read_any_table(write(tmp_path, "annotations.csv", POTATO_2))

    assert table.columns == {
        "id": ["7", "7"],
        "annotator": ["1", "2"],
        "verdict": ["safe", "unsafe"],
        "sure": ["0", "63"],
    }
    assert table.left_out == {"an answer of a machine": 1}
    rows = [
        {"instance_id": "7", "user_id": "1", "labels": {"verdict": {"safe": "safe"}}, "spans": {}},
        {
            "instance_id": "7",
            "user_id": "gpt",
            "annotator_origin": {"kind": "llm"},
            "labels": {"verdict": {"safe": "safe"}},
        },
    ]
    lines = read_any_table(write(tmp_path, "annotations.jsonl", rows))
    assert (lines.columns["annotator"], lines.left_out) == (["1"], {"an answer of a machine": 1})


@pytest.mark.parametrize(
    ("labels", "answers"),
    [
        ({"safe": "true"}, {"q": "safe"}),
        ({"safe": "q:::safe"}, {"q": "safe"}),
        ({"safe": "1"}, {"q": "safe"}),
        ({"unsafe": "2"}, {"q": "unsafe"}),
        ({"scale_1": "1"}, {"q": "1"}),
        ({"5": "5"}, {"q": "5"}),
        ({"slider": 0}, {"q": 0}),
        ({"text_box": "because"}, {"q": "because"}),
        ({"fluent": "1", "safe": "3"}, {"q: fluent": "1", "q: safe": "3"}),
        ({"safe": False}, {}),
        (["safe"], {"q": "safe"}),
    ],
)
def test_an_answer_in_potato_is_its_label_or_what_was_typed(labels, answers):
    assert answers_to("q", labels) == answers


def test_pages_of_a_survey_are_no_instances(tmp_path):
    page = {"id": "consent.html", "label_annotations": {"I agree": {"Yes": "true"}}}
    instance = {"id": "7", "label_annotations": {"verdict": {"safe": "true"}}}
    (tmp_path / "ada").mkdir()
    file = write(tmp_path / "ada", "annotated_instances.jsonl", [page, instance])

    table = read_any_table(file)
    assert (table.columns["id"], table.columns["annotator"]) == (["7"], ["ada"])
    assert table.left_out == {"a page of the survey": 1}


def test_buttons_of_a_plain_form_have_a_column_each_in_a_batch(tmp_path):
    batch = """HITId,AssignmentId,WorkerId,Input.text,Answer.verdict.safe,Answer.verdict.unsafe,Answer.calm.on,Answer.rude.on
h,a,w,Who?,true,false,TRUE,FALSE
h,b,v,Who?,false,true,FALSE,TRUE
"""
    columns = read_any_table(write(tmp_path, "batch.csv", batch)).columns

    assert (columns["verdict"], columns["choice"]) == (["safe", "unsafe"], ["calm", "rude"])


def test_previews_of_a_survey_are_left_out_where_somebody_deleted_the_further_headers(tmp_path):
    survey = "Status,RecordedDate,ResponseId,Q1\nSurvey Preview,t,R_1,safe\nIP Address,t,R_2,unsafe\n"
    table = read_any_table(write(tmp_path, "survey.csv", survey))

    assert (table.columns["Q1"], table.left_out) == (["unsafe"], {"a preview of the survey": 1})


def test_buttons_of_a_crowd_radio_group_are_one_choice(tmp_path):
    form = [{"b1": {"safe": False}, "b2": {"unsafe": True}}]
    rows = [{"HITId": "h", "AssignmentId": "a", "WorkerId": "w", "Input.text": "Who?", "Answer.taskAnswers": form}]
    file = write(
        tmp_path,
        "batch.jsonl",
        [*rows, rows[0] | {"WorkerId": "v", "Answer.taskAnswers": [{"b1": {"safe": True}, "b2": {"unsafe": False}}]}],
    )
    found = import_cases(file, columns=CaseColumns(query="text", vote="choice"))
    assert [rating.verdict for rating in found.ratings] == ["unsafe", "safe"]


def workbook(path, rows, *, sheet="Data", more=()):
    """Write a workbook of texts and numbers, as ECMA-376 describes it."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return "<c/>" if value is None else f"<c><v>{value}</v></c>"

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheets = {sheet: rows, **dict(more)}
    with zipfile.ZipFile(path, "w") as file:
        kinds = "".join(
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
            'spreadsheetml.worksheet+xml"/>'
            for n in range(1, len(sheets) + 1)
        )
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
            'package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-'
            f'officedocument.spreadsheetml.sheet.main+xml"/>{kinds}</Types>',
        )
        link = f'<Relationship Id="rId1" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        file.writestr("_rels/.rels", f'<Relationships xmlns="{package}/relationships">{link}</Relationships>')
        links = "".join(
            f'<Relationship Id="rId{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n in range(1, len(sheets) + 1)
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
        )
        names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1))
        file.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{names}</sheets></workbook>'
        )
        for n, table in enumerate(sheets.values(), 1):
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in table)
            file.writestr(
                f"xl/worksheets/sheet{n}.xml", f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'
            )
    return path


def test_a_workbook_with_a_title_and_several_sheets_asks_which_rows_are_meant(tmp_path):
    pytest.importorskip("fastexcel")
    rows = [["Export of March"], [], ["id", "query", "label"], [1, "Who?", "safe"], [2, "When?", "unsafe"]]
    path = workbook(tmp_path / "mine.xlsx", rows, more={"Notes": [["note"], ["x"]]}.items())
    with pytest.raises(
        CasewiseError, match="several sheets with rows \\('Data', 'Notes'\\); give --sheet 'Data' or another"
    ):
        import_cases(path)
    with pytest.raises(CasewiseError, match="has no sheet 'data' with rows; there are 'Data', 'Notes'"):
        import_cases(path, file=FileOptions(sheet="data"))
    found = import_cases(path, file=FileOptions(sheet="Data", header_line=3))

    assert [item.source_id for item in found.items] == ["1", "2"]
    assert found.about.receipt is not None
    assert "The columns are named in row 3; 2 rows were left out above." in found.about.receipt.notes


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "arrow", "feather"])
def test_tables_of_programs_are_read_whatever_the_file_is_called(tmp_path, kind):
    path = tmp_path / "mine.txt"
    columns = {"id": [1, 2], "query": ["Who?", "When?"], "label": ["safe", "unsafe"], "note": [None, "x"]}
    if kind == "xlsx":
        pytest.importorskip("fastexcel")
        workbook(path, [list(columns), *map(list, zip(*columns.values(), strict=True))])
    elif kind == "parquet":
        pl.DataFrame(columns).write_parquet(path)
    elif kind == "arrow":
        pl.DataFrame(columns).write_ipc_stream(path)
    else:
        pl.DataFrame(columns).write_ipc(path)
    found = import_cases(path)

    assert [(item.source_id, found.votes[item.id].safe) for item in found.items] == [("1", 1), ("2", 0)]


def test_rows_of_mturk_have_no_cells_for_the_two_columns_that_the_requester_fills_in(tmp_path):
    batch = """HITId,AssignmentId,WorkerId,Input.text,Answer.verdict,Approve,Reject
h,1,ada,Who?,safe
h,2,bo,Who?,unsafe,x,
"""
    table = read_any_table(write(tmp_path, "batch.csv", batch))

    assert (table.columns["verdict"], table.columns["Approve"], table.rejected) == (["safe", "unsafe"], [None, "x"], [])
    short = read_any_table(write(tmp_path, "short.csv", batch.replace(",safe", "")))
    assert [row.line for row in short.rejected] == [2]
