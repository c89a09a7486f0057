"""Qualtrics: answers of people, without headers, previews and synthetic answers."""

import pytest
from tests.support.exports import QUALTRICS, read, write

from casewise.storage.intake.formats.find import read_any_table


def test_answers_of_qualtrics_that_a_model_made_up_are_left_out(tmp_path):
    table = read_any_table(write(tmp_path, "q.csv", f"{QUALTRICS}\n2026,Synthetic,R8,7,May I see the file?,safe"))
    assert table.left_out["a synthetic answer, which no person gave"] == 1


def test_previews_of_a_survey_are_left_out_where_somebody_deleted_the_further_headers(tmp_path):
    survey = "Status,RecordedDate,ResponseId,Q1\nSurvey Preview,t,R_1,safe\nIP Address,t,R_2,unsafe\n"
    table = read_any_table(write(tmp_path, "survey.csv", survey))

    assert (table.columns["Q1"], table.left_out) == (["unsafe"], {"a preview of the survey": 1})


HEADERS = """Status,ResponseId,verdict
Response Type,Response ID,Should it answer?
"{""ImportId"":""status""}","{ ""ImportId"" : ""_recordId""}","{""ImportId"":""QID1""}"
"""


def test_the_two_further_header_rows_are_no_answers(tmp_path):
    table = read(tmp_path, f"{HEADERS}IP Address,R_1,safe\n0,R_2,unsafe\n", "q.csv")

    assert (table.format, table.columns["verdict"], list(table.lines)) == ("Qualtrics CSV", ["safe", "unsafe"], [4, 5])
    assert (table.left_out, table.notes) == ({"a header row of Qualtrics": 2}, [])


@pytest.mark.parametrize("status", ["Survey Preview", "Survey Test", "Offline Survey Preview", "1", "2", "9", "17"])
def test_answers_that_the_author_of_the_survey_made_are_left_out(tmp_path, status):
    table = read(tmp_path, f"{HEADERS}{status},R_1,safe\nIP Address,R_2,unsafe\n", "q.csv")
    assert table.left_out["a preview of the survey"] == 1
    assert table.columns["verdict"] == ["unsafe"]


def test_possible_spam_is_kept_with_a_note(tmp_path):
    rows = "Spam,R_1,safe\n8,R_2,safe\nSurvey Preview Spam,R_3,safe\n256,R_4,safe\n0,R_5,safe\n"
    table = read(tmp_path, HEADERS + rows, "q.csv")

    assert table.columns["ResponseId"] == ["R_1", "R_2", "R_5"]
    assert table.notes == ["Qualtrics marks 2 answers as possible spam; casewise keeps them."]
    assert table.left_out["a synthetic answer, which no person gave"] == 1


def test_a_table_is_of_qualtrics_by_its_import_ids_or_by_its_own_columns(tmp_path):
    assert read(tmp_path, "ResponseId,RecordedDate,Status\nR,t,0\n", "q.csv").format == "Qualtrics CSV"
    assert read(tmp_path, "ResponseId,Status\nR,0\n", "q.csv").format == "CSV"
    assert read(tmp_path, 'a,b\n"{""ImportId"":1}",2\nx,y\n', "q.csv").format == "CSV"
    assert read(tmp_path, 'a,b\nx,y\n1,"{""ImportId"":1}"\n3,4\n', "q.csv").columns == {"a": ["3"], "b": ["4"]}
