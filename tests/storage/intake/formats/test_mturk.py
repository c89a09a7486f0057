"""Mechanical Turk: answers of forms and buttons."""

import json

import pytest
from tests.support.exports import read, write

from casewise.errors import DataError
from casewise.storage.intake.formats.find import read_any_table
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases


def test_buttons_of_a_plain_form_have_a_column_each_in_a_batch(tmp_path):
    batch = """HITId,AssignmentId,WorkerId,Input.text,Answer.verdict.safe,Answer.verdict.unsafe,Answer.calm.on,Answer.rude.on
h,a,w,Who?,true,false,TRUE,FALSE
h,b,v,Who?,false,true,FALSE,TRUE
"""
    columns = read_any_table(write(tmp_path, "batch.csv", batch)).columns

    assert (columns["verdict"], columns["choice"]) == (["safe", "unsafe"], ["calm", "rude"])


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


def test_rows_of_mturk_have_no_cells_for_the_two_columns_that_the_requester_fills_in(tmp_path):
    batch = """HITId,AssignmentId,WorkerId,Input.text,Answer.verdict,Approve,Reject
h,1,ada,Who?,safe
h,2,bo,Who?,unsafe,x,
"""
    table = read_any_table(write(tmp_path, "batch.csv", batch))

    assert (table.columns["verdict"], table.columns["Approve"], table.rejected) == (["safe", "unsafe"], [None, "x"], [])
    short = read_any_table(write(tmp_path, "short.csv", batch.replace(",safe", "")))
    assert [row.line for row in short.rejected] == [2]


HEAD = "HITId,AssignmentId,WorkerId,AssignmentStatus"


def batch(folder, columns, *rows):
    return read(folder, "\n".join([f"{HEAD},{columns}", *(f"h,a,{row}" for row in rows)]), "batch.csv")


def test_inputs_and_answers_have_their_own_names_and_rejected_assignments_are_left_out(tmp_path):
    table = batch(
        tmp_path, "Input.text,Answer.verdict", "ada,Approved,Who?,safe", "bo,Rejected,Who?,x", "cy,,When?,unsafe"
    )

    assert table.format == "MTurk batch results"
    assert table.columns["annotator"] == ["ada", "cy"]
    assert (table.columns["text"], table.columns["verdict"]) == (["Who?", "When?"], ["safe", "unsafe"])
    assert table.left_out == {"the assignment was rejected": 1}


def test_a_name_that_two_columns_would_have_stays_as_it_is(tmp_path):
    table = batch(tmp_path, "Input.id,Answer.id,Input.text,text,Answer.x", "ada,,1,2,Who?,y,safe")

    assert {"Input.id", "Answer.id", "Input.text", "text", "x"} <= set(table.names)


def test_a_form_is_the_first_object_of_its_cell_or_the_cell_itself(tmp_path):
    one = '"{""verdict"": ""safe"", ""rude"": {""on"": true}}"'
    listed = '"[{""verdict"": ""unsafe"", ""rude"": {""on"": false}}]"'
    table = batch(tmp_path, "Answer.taskAnswers", f"ada,,{one}", f"bo,,{listed}", "cy,,")

    assert (table.columns["verdict"], table.columns["rude"]) == (["safe", "unsafe", None], ["on", None, None])
    assert "choice" not in table.columns
    assert "Answer.taskAnswers" not in table.columns


def test_buttons_that_stand_alone_are_one_choice_and_several_ticks_are_a_list(tmp_path):
    def form(**ticks):
        buttons = json.dumps([{name: {"on": tick} for name, tick in ticks.items()}])
        return '"' + buttons.replace('"', '""') + '"'

    forms = [form(calm=True, rude=False), form(calm=False, rude=False), form(calm=True, rude=True)]
    table = batch(tmp_path, "Answer.taskAnswers", *(f"w,,{each}" for each in forms))

    assert table.columns["choice"] == ["calm", None, ["calm", "rude"]]


def test_two_answers_to_one_question_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"batch\.csv:2: 'verdict' has several answers: safe, unsafe"):
        batch(tmp_path, "Answer.verdict.safe,Answer.verdict.unsafe", "ada,,true,TRUE")


def test_a_column_with_points_that_holds_other_words_is_no_button(tmp_path):
    table = batch(tmp_path, "Answer.a.b,Answer.verdict.safe", "ada,,maybe,true", "bo,,,false")

    assert (table.columns["a.b"], table.columns["verdict"]) == (["maybe", None], ["safe", None])
