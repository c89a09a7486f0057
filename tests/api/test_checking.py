"""A check in Python, and the benchmark and the run that it leaves."""

import io
import shutil
from pathlib import Path

import pytest

import casewise
from casewise.api.checking import check, copy_stream
from casewise.errors import ConfigurationError
from casewise.storage.intake.cells import Policies
from casewise.storage.run_folder import JUDGEMENT_LOG, JUDGEMENTS, last_records

ROWS = "id,query,label,judge\n" + "".join(f"c{n},Question {n}?,safe,{'safe' if n else 'unsafe'}\n" for n in range(4))


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table.csv").write_text(ROWS)
    return tmp_path / "table.csv"


def judgements(run):
    return last_records(run / JUDGEMENTS, JUDGEMENT_LOG)


def test_a_check_counts_the_cases_and_writes_nothing_unasked(table, tmp_path):
    numbers = check(table).numbers

    assert (numbers.n_cases, numbers.accuracy.estimate) == (4, 0.75)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_the_benchmark_and_the_run_that_are_kept_say_the_same(table, tmp_path):
    check(table, out=tmp_path / "kept")
    benchmark, rows = casewise.load(tmp_path / "kept" / "benchmark"), judgements(tmp_path / "kept" / "run")

    assert (benchmark.name, [item.source_id for item in benchmark.items]) == ("table", ["c0", "c1", "c2", "c3"])
    values = {row.item_id: row.outcome.value for row in rows}
    assert [values[item.id] for item in benchmark.items] == [0.0, 1.0, 1.0, 1.0]
    assert [row.raw_reply for row in rows] == ["unsafe", "safe", "safe", "safe"]
    assert [path.name for path in tmp_path.iterdir() if "bad" in path.name] == []


def test_what_the_judge_said_is_kept_and_a_case_without_an_answer_stays_without_one(table, tmp_path):
    table.write_text(f"{ROWS}c9,Question 9?,safe,\n")
    check(table, out=tmp_path / "kept")
    *_, last = judgements(tmp_path / "kept" / "run")

    assert (last.failure, last.raw_reply) == ("not recorded", None)


def test_rows_that_are_skipped_are_written_beside_the_folder(table, tmp_path):
    table.write_text(f"{ROWS}c9,Question 9?,perhaps,safe\n")
    check(table, out=tmp_path / "kept", policies=Policies(skip_bad=True))

    assert "Question 9?" in (tmp_path / "kept.bad-rows.jsonl").read_text()


def test_a_folder_that_is_there_is_not_overwritten(table, tmp_path):
    (tmp_path / "kept").mkdir()
    with pytest.raises(ConfigurationError, match="kept exists and nothing is overwritten; choose another place"):
        check(table, out=tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_stream_is_copied_to_a_file_in_a_folder_of_its_own():
    path = copy_stream(io.BytesIO(b"query\xff"))

    assert (path.read_bytes(), path.name, list(path.parent.iterdir())) == (b"query\xff", "stdin", [path])
    shutil.rmtree(path.parent)
    assert not Path(path).exists()
