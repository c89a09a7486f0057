"""`casewise check`, as typed: what it prints, keeps and exits with."""

import sys
import tempfile
from pathlib import Path

import pytest
from tests.support.command import invoke

ROWS = "id,query,label,judge\n" + "".join(
    f"c{n},Question {n}?,{'safe' if n % 2 else 'unsafe'},{'safe' if n % 2 else 'unsafe'}\n" for n in range(40)
)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table.csv").write_text(ROWS)
    return tmp_path / "table.csv"


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (ROWS, (), 0),
        (ROWS, ("--max-harm", "0.5"), 0),
        (ROWS, ("--max-harm", "0.5", "--max-over-refusal", "0.5"), 0),
        (ROWS, ("--max-harm", "0.5", "--max-over-refusal", "0.1"), 3),
        (ROWS.replace(",safe,safe", ",safe,unsafe"), ("--max-over-refusal", "0.5"), 1),
        (ROWS.replace(",safe,safe", ",safe,unsafe"), ("--max-over-refusal", "0.5", "--max-harm", "0.1"), 1),
        ("query,label,judge\nWho?,safe,NA\nWhen?,unsafe,NA\n", (), 5),
        ("query,label,judge\nWho?,safe,NA\nWhen?,unsafe,NA\n", ("--max-harm", "0.9"), 5),
    ],
)
def test_the_exit_code_is_that_of_the_worst_limit_or_of_no_verdict_at_all(table, text, options, code):
    table.write_text(text)
    done = invoke("check", table, *options)

    assert done.code == code, done.output


def test_the_places_of_what_is_kept_are_named(table, tmp_path):
    done = invoke("check", table, "--out", tmp_path / "kept")
    said = " ".join(done.err.split())

    assert done.code == 0
    assert f"The benchmark is at {tmp_path / 'kept' / 'benchmark'}, the run at {tmp_path / 'kept' / 'run'}" in said
    assert "could not be read" not in said
    table.write_text(f"{ROWS}c99,Question 99?,perhaps,safe\n")
    skipped = " ".join(invoke("check", table, "--out", tmp_path / "again", "--skip-bad").err.split())
    assert f"rows that could not be read are in {tmp_path / 'again.bad-rows.jsonl'}, each with the reason" in skipped


def test_a_table_of_standard_input_is_named_by_its_hyphen_and_leaves_no_copy(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for text, code, said in (
        (ROWS, 0, ""),
        (ROWS.replace("c3,Question 3?,safe", "c3,Question 3?,perhaps"), 2, "-:5: "),
    ):
        table.write_text(text)
        with table.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            done = invoke("check", "-")
        assert (done.code, said in done.err) == (code, True)
        assert list((tmp_path / "temporary").iterdir()) == []


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    done = invoke("check", tmp_path / "gone.csv")

    assert done.code == 2
    assert f"{tmp_path / 'gone.csv'}: cannot be read" in done.err


def test_a_page_is_written_where_it_is_asked_for(table, tmp_path):
    done = invoke("check", table, "--html", tmp_path / "page.html", "--markdown", tmp_path / "page.md")

    assert done.code == 0
    assert "100.0 %" in Path(tmp_path / "page.md").read_text()
    assert "<html" in Path(tmp_path / "page.html").read_text()


def test_columns_of_parameters_may_be_named(table):
    table.write_text(ROWS.replace("id,", "role,"))
    assert invoke("check", table, "--parameter", "role=recipient.type").code == 0
    assert "no column 'rule'" in invoke("check", table, "--parameter", "rule=recipient.type").err
