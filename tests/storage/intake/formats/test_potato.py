"""Potato: the answers of people in states, lines and tables."""

from typing import Any

import pytest
from tests.support.exports import JSON_MIN, POTATO_STATE, TEXTS, WHOLE, read, said, write

from casewise.errors import CasewiseError
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.formats.potato import answers_to, is_line
from casewise.storage.intake.joins import RatingTable
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases


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


def line(**more):
    return {"id": "7", "annotator": "ada", "annotations": {"verdict": "safe"}} | more


@pytest.mark.parametrize("key", ["label_annotations", "annotations", "labels"])
@pytest.mark.parametrize("person", ["annotator", "user_id", "user"])
def test_a_line_states_its_answers_and_its_person_under_any_of_their_names(tmp_path, key, person):
    row = {"instance_id": "7", person: 3, key: {"verdict": {"safe": True}}, "displayed_text": "Who?"}
    table = read(tmp_path, [row, row], "lines.jsonl")

    assert table.columns == {"id": ["7", "7"], "text": ["Who?"] * 2, "verdict": ["safe"] * 2, "annotator": ["3", "3"]}
    assert table.format == "Potato's annotations"


def test_lines_of_the_first_release_are_read_from_the_folder_of_a_person(tmp_path):
    (tmp_path / "out" / "ada").mkdir(parents=True)
    first = {"id": "7", "displayed_text": "Who?", "annotation": {"verdict": {"safe": True}}}
    write(tmp_path / "out" / "ada", "annotated_instances.jsonl", [first])

    assert read_any_table(tmp_path / "out").columns == {
        "id": ["7"],
        "text": ["Who?"],
        "verdict": ["safe"],
        "annotator": ["ada"],
    }


def test_answers_of_machines_are_left_out_whatever_states_their_origin(tmp_path):
    origins = ["human", None, {}, "", "llm", {"kind": "llm"}, {"kind": "human"}, {"model": "m"}]
    table = read(tmp_path, [line(id=str(n), annotator_origin=origin) for n, origin in enumerate(origins)], "l.jsonl")

    assert (table.columns["id"], table.left_out) == (["0", "1", "2", "3", "6"], {"an answer of a machine": 3})
    assert "annotator_origin" not in table.columns
    with pytest.raises(CasewiseError, match="no case has a submitted answer yet"):
        read(tmp_path, [line(annotator_origin="llm")], "l.jsonl")


def test_a_state_is_a_row_for_each_instance_that_was_answered(tmp_path):
    def labels(name):
        return [[{"schema": "verdict", "name": name}, True], [{"schema": "sure", "name": "slider"}, 3]]

    state = {
        "user_id": "ada",
        "instance_id_to_label_to_value": [["7", labels("safe")], ["8", []], ["9", labels("unsafe")]],
    }
    table = read(tmp_path, state, "user_state.json")

    assert table.columns == {"id": ["7", "9"], "verdict": ["safe", "unsafe"], "sure": [3, 3], "annotator": ["ada"] * 2}
    assert table.format == "Potato's user state"


@pytest.mark.parametrize("pair", [["x"], "x", [{"schema": "verdict"}, 1], [{"name": "safe"}, 1], [1, 2], [{}, 1, 2]])
def test_a_label_without_its_question_is_refused_with_the_instance(tmp_path, pair):
    state = {"user_id": "ada", "instance_id_to_label_to_value": {"7": [pair]}}
    with pytest.raises(CasewiseError, match=r"7: .* is no pair of a label and its value"):
        read(tmp_path, state, "user_state.json")


def test_a_person_with_a_state_and_lines_is_read_from_the_state(tmp_path):
    people: tuple[tuple[str, dict[str, Any]], ...] = (
        ("ada", {"user_state.json": POTATO_STATE}),
        ("bo", {}),
        ("cy", {}),
    )
    for person, files in people:
        (tmp_path / "out" / person).mkdir(parents=True)
        for name, content in files.items():
            write(tmp_path / "out" / person, name, content)
    write(tmp_path / "out" / "ada", "annotated_instances.jsonl", [line(id="1", annotations={"verdict": "unsafe"})])
    write(tmp_path / "out" / "bo", "annotated_instances.jsonl", [line(id="7", annotator=None)])
    (tmp_path / "out" / "cy" / "annotated_instances.jsonl").write_text(" ")
    table = read_any_table(tmp_path / "out")

    assert sorted(zip(table.columns["annotator"], table.columns["id"], table.columns["verdict"], strict=True)) == [
        ("1", "7", "safe"),
        ("1", "8", "unsure"),
        ("bo", "7", "safe"),
    ]
    assert (table.format, table.notes) == ("Potato's output folder", ["2 people were read."])


def test_a_folder_in_which_nobody_answered_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "annotated_instances.jsonl").write_text("")
    with pytest.raises(CasewiseError, match="no case has a submitted answer yet"):
        read_any_table(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "user\tinstance_id\tdisplayed_text\tv:::safe\tv:::no\twhy:::text_box\nada\t7\tWho?\ttrue\t\tno\nbo\t7\tWho?\t\t\t\n",
            {
                "id": ["7"] * 2,
                "annotator": ["ada", "bo"],
                "text": ["Who?"] * 2,
                "v": ["safe", None],
                "why": ["no", None],
            },
        ),
        (
            "instance_id,user_id,verdict.safe,verdict.unsafe,verdict_x,verdict._spans,q._room\n7,ada,1,,x,s,r\n",
            {"id": ["7"], "annotator": ["ada"], "verdict_x": ["x"], "verdict": ["safe"]},
        ),
    ],
)
def test_a_table_has_a_column_for_each_question(tmp_path, text, columns):
    table = read(tmp_path, text, "table.csv")

    assert (table.format, table.columns) == ("Potato's table", columns)


@pytest.mark.parametrize(
    "text",
    ["user_id,instance_id,q.safe\nada,7,1\n", "instance_id,user_id,q\n7,ada,1\n", "user,instance_id,q.safe\nada,7,1\n"],
)
def test_another_table_is_none_of_potato(tmp_path, text):
    assert read(tmp_path, text, "table.csv").format == "CSV"


@pytest.mark.parametrize(
    ("seen", "matches"),
    [
        ({"label_annotations": {}}, True),
        ({"annotations": {}, "user": "a"}, True),
        ({"annotations": {}}, False),
        ({"labels": {}, "user": "a", "instance_id": "7"}, True),
        ({"labels": {}, "user": "a"}, False),
        ({"labels": {}, "instance_id": "7"}, False),
        ({"labels": [], "user": "a", "instance_id": "7"}, False),
    ],
)
def test_a_line_is_of_potato_by_its_answers_and_its_person(seen, matches):
    assert is_line(seen) == matches
