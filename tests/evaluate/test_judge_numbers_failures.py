"""`report --failures`: what a judge got wrong as a spreadsheet, under its owner's ids and with its owner's columns."""

import csv
import io

import pytest
from tests.support.command import invoke

from casewise import api
from casewise.evaluate.judge_numbers import unused_name

LINES = """id,query,context,n_safe,n_votes,=desk,judge
T-1,Question one?,A nurse asks.,5,5,ward,noted
T-2,=2+2,A visitor asks.,1,5,@hall,noted
T-3,Question three?,A visitor asks.,0,5,ward,noted
T-4,Question four?,A nurse asks.,5,5,ward,noted
"""


@pytest.fixture
def runs(tmp_path):
    (tmp_path / "cases.csv").write_text(LINES)
    api.import_cases(tmp_path / "cases.csv", tmp_path / "ward")

    def judge(query, context):
        return "none" if "four" in query else "safe"

    silent = api.judge(tmp_path / "ward", judge, elicitations="binary", out=tmp_path / "own")
    return tmp_path, silent


def read(path):
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_each_wrong_or_missing_verdict_is_a_row_with_the_owners_id_and_columns(runs):
    folder, run = runs
    told = invoke("report", run.path, "--failures", folder / "wrong.csv")
    rows = read(folder / "wrong.csv")

    assert told.code == 0, told.output
    assert "written: " in told.err
    assert [row["id"] for row in rows] == ["T-2", "T-3", "T-4"]
    assert [row["verdict"] for row in rows] == ["safe", "safe", ""]
    assert [row["people_say"] for row in rows] == ["unsafe", "unsafe", "safe"]
    assert [row["n_safe"] for row in rows] == ["1", "0", "5"]
    assert {row["situation.description"] for row in rows} == {"A nurse asks.", "A visitor asks."}


def test_no_cell_is_run_as_a_formula_and_a_column_that_is_called_as_ours_keeps_apart(runs):
    folder, run = runs
    invoke("report", run.path, "--failures", folder / "wrong.csv")
    first, *_ = read(folder / "wrong.csv")

    assert first["query"] == "'=2+2"
    assert first["'=desk"] == "'@hall"
    assert first["judge_"] == "noted"


def test_a_judge_that_errs_nowhere_leaves_a_table_with_heads_alone(tmp_path):
    (tmp_path / "cases.csv").write_text("id,query,context,label\nT-1,Question one?,A nurse asks.,safe\n")
    api.import_cases(tmp_path / "cases.csv", tmp_path / "ward")
    report = api.report(api.judge(tmp_path / "ward", "constant:safe", out=tmp_path / "own"))

    assert report.failures.is_empty()
    assert report.failures.columns[:3] == ["judge", "id", "query"]


def test_a_name_is_lengthened_until_it_is_free():
    assert unused_name("a", {"a", "a_"}) == "a__"
    assert unused_name("b", {"a"}) == "b"
