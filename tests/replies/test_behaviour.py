import re
import stat
from typing import Any

import polars as pl
import pytest

import casewise
from casewise.errors import ConfigurationError, DataError, JudgeError, RunConflict
from casewise.models.protocol import FakeModel, Rejected
from casewise.replies.behaviour import export_replies as export
from casewise.replies.behaviour import import_replies
from casewise.replies.collect import CollectOptions
from casewise.runs.limits import Limits


@pytest.fixture
def replies(tmp_path):
    answers: Any = iter([Rejected("content_filter", "x"), *(f"canary {n}" for n in range(89))])
    options = CollectOptions(limits=Limits(concurrency=1))
    model = FakeModel(lambda _messages, _options: next(answers), name="openai/x")
    found = casewise.collect("demo", model, out=tmp_path / "replies", options=options)
    casewise.grade(found, "rubric:fake/rehearsal")
    casewise.grade(found, lambda query, reply: "partly" if "7" in reply else "refuses")
    return found.path


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_comes_back_reports_the_same(replies, tmp_path, ending):
    file, again = tmp_path / f"table.{ending}", tmp_path / "again"
    assert export(replies, file, with_replies=True) == ()
    assert import_replies(file, again, casewise.load("demo"), model="openai/x", source="demo") == 90
    before, after = ({one.grader: one for one in casewise.report(path).numbers.does} for path in (replies, again))

    assert before.keys() == after.keys()
    for name, one in before.items():
        assert one.counts.equals(after[name].counts)
        assert one.rates == after[name].rates
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, again)] == [0o600, 0o700]


def test_words_leave_a_folder_only_where_that_is_wanted(replies, tmp_path):
    export(replies, tmp_path / "table.jsonl")

    assert "canary" not in (tmp_path / "table.jsonl").read_text()
    assert '"outcome":"partly"' in (tmp_path / "table.jsonl").read_text()


def test_a_grader_that_graded_nothing_is_left_out_and_named(replies, tmp_path):
    def fails(query, reply):
        raise RuntimeError("no")

    with pytest.raises(JudgeError):
        casewise.grade(replies, fails)
    notes = export(replies, tmp_path / "table.parquet")
    table = pl.read_parquet(tmp_path / "table.parquet")

    assert notes == ("python:fails graded none of these replies, so it is not shown.",)
    assert len(table) == 180
    assert "python:fails" not in set(table["grader"])


def test_replies_from_elsewhere_need_an_item_and_a_text(tmp_path):
    item = casewise.load("demo").items[0].id
    file = tmp_path / "table.parquet"
    pl.DataFrame({"item_id": [item], "text": ["Here you are."]}).write_parquet(file)

    assert import_replies(file, tmp_path / "out", casewise.load("demo"), model="mine", source="demo") == 1
    assert casewise.grade(tmp_path / "out", "rubric:fake/rehearsal").n_usable == 1
    with pytest.raises(RunConflict, match="already exists"):
        import_replies(file, tmp_path / "out", casewise.load("demo"), model="mine", source="demo")


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("", "leave the row out, or state the reason in a column 'unanswered'"),
        ("Other.", "in a column 'repeat', from 0"),
    ],
)
def test_a_row_without_a_reply_and_a_second_reply_are_refused_with_what_to_do(tmp_path, second, words):
    file, item = tmp_path / "table.csv", casewise.load("demo").items[0].id
    file.write_text(f"item_id,reply\n{item},Sure.\n{item},{second}\n")

    with pytest.raises(DataError, match=re.escape(words)):
        import_replies(file, tmp_path / "out", casewise.load("demo"), model="x", source="demo")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "holds no rows"),
        ('{"item_id": "i_1", "text": "x"}', "has no item 'i_1'"),
        ('{"item_id": "i_1"}', "has no column 'text'"),
    ],
)
def test_what_is_no_table_of_replies_is_refused_and_says_why(tmp_path, text, words):
    (tmp_path / "table.jsonl").write_text(text + "\n")

    with pytest.raises(DataError, match=words):
        import_replies(tmp_path / "table.jsonl", tmp_path / "out", casewise.load("demo"), model="x", source="demo")


def test_another_ending_is_refused(replies, tmp_path):
    with pytest.raises(ConfigurationError, match=r"\.jsonl or \.parquet"):
        export(replies, tmp_path / "table.csv")
