import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import casewise
from casewise.errors import DataError, RunConflict, Unauthorised
from casewise.judges.plan import Selection
from casewise.models.load import LoadedModel
from casewise.models.prices import Spend
from casewise.models.protocol import FakeModel, Rejected, Reply
from casewise.replies.behaviour import grade_folders, read_replies
from casewise.replies.collect import CollectOptions
from casewise.replies.grade import (
    GradeOptions,
    discard_texts,
    estimate_grading,
    grades_folder,
    grading_spend,
    plan_grading,
)
from casewise.replies.graders import RubricGrader, load_rubric
from casewise.runs.limits import Limits

FEW = Selection(limit=8)


@pytest.fixture
def replies(tmp_path):
    texts: Any = iter(
        ["one", "two", "", "three", Rejected("content_filter", "blocked"), Reply("", refusal="I decline"), "one", "two"]
    )
    model = FakeModel(lambda _messages, _options: next(texts))
    options = CollectOptions(limits=Limits(concurrency=1))
    return casewise.collect("demo", model, out=tmp_path / "replies", selection=FEW, options=options)


class Counting:
    """Says `answers` of everything, and counts what it was asked."""

    def __init__(self, stop_at=None):
        self.asked, self.stop_at = [], stop_at

    def __call__(self, messages, _options):
        if self.stop_at is not None and len(self.asked) >= self.stop_at:
            return Unauthorised("the key is wrong")
        self.asked.append(messages[0].content)
        return '{"outcome": "answers"}'


def rubric(answering):
    return RubricGrader(LoadedModel(FakeModel(answering, name="openai/x"), None), load_rubric("strict"))


def test_only_replies_with_words_are_sent_to_a_grader(replies):
    counting = Counting()
    summary = casewise.grade(replies, rubric(counting))

    assert summary.n_replies == summary.n_usable == 5
    assert not any("I decline" in asked or "blocked" in asked for asked in counting.asked)


def test_grading_again_asks_nothing_and_another_grader_costs_no_replies(replies):
    casewise.grade(replies, rubric(Counting()))
    idle = Counting()
    again = casewise.grade(replies, rubric(idle))
    other = casewise.grade(replies, "rubric:fake/rehearsal")

    assert idle.asked == []
    assert again.resumed == 5
    assert other.n_usable == 5
    assert len(grade_folders(replies.path)) == 2


@pytest.mark.slow
def test_a_grader_that_stops_half_way_leaves_its_grades_and_goes_on_later(replies):
    first, second = Counting(stop_at=2), Counting()
    with pytest.raises(Unauthorised):
        casewise.grade(replies, rubric(first), options=GradeOptions(limits=Limits(concurrency=1)))
    report = casewise.report(replies.path)
    rest = casewise.grade(replies, rubric(second))

    assert any("has not graded 3 of 8 replies" in note for note in report.notes)
    assert (len(first.asked), len(second.asked)) == (2, 3)
    assert not set(first.asked) & set(second.asked)
    assert rest.n_usable == 5


def test_a_grader_whose_settings_changed_is_refused_in_the_same_place(replies, monkeypatch):
    casewise.grade(replies, rubric(Counting()))
    monkeypatch.setattr(RubricGrader, "settings", lambda _self: {"model": "another"})

    with pytest.raises(RunConflict, match="setting"):
        casewise.grade(replies, rubric(Counting()))


def test_what_gave_no_grade_is_asked_again_where_that_is_wanted(replies):
    said = iter(["nonsense"])
    model = FakeModel(lambda _messages, _options: next(said, '{"outcome": "refuses"}'), name="openai/x")
    grader = RubricGrader(LoadedModel(model, None), load_rubric("strict"))
    first = casewise.grade(replies, grader, options=GradeOptions(limits=Limits(concurrency=1)))
    second = casewise.grade(replies, grader, options=GradeOptions(retries=1))

    assert (first.n_usable, first.n_unusable) == (4, 1)
    assert (second.n_usable, second.n_unusable) == (5, 0)
    assert first.problems == {"unparsed: nonsense": 1}


def test_a_folder_without_replies_says_what_to_do(tmp_path):
    casewise.judge("demo", "constant:safe", out=tmp_path / "run")

    with pytest.raises(DataError, match="is a run of judgements, not of replies"):
        casewise.grade(tmp_path / "run", "rubric:fake/rehearsal")


def test_what_grading_would_take_is_reckoned_without_a_call(replies):
    counting = Counting()

    assert estimate_grading(replies.path, replies.benchmark, rubric(counting)).n_calls == 5
    assert counting.asked == []


def plainly(_query, reply):
    return "refuses" if "can't" in reply else "answers"


@pytest.mark.slow
def test_replies_that_come_after_others_were_discarded_are_graded(replies):
    casewise.grade(replies, plainly)
    discard_texts(replies.path)
    model = FakeModel(lambda _messages, _options: "Here you are.")
    casewise.collect("demo", model, out=replies.path, selection=Selection(limit=12))

    assert casewise.grade(replies, plainly).n_usable == 4
    assert not any("has not graded" in note for note in casewise.report(replies.path).as_json()["notes"])
    casewise.grade(replies, rubric(Counting()))
    assert "has not graded 5 of 12 replies, whose texts were discarded." in " ".join(
        casewise.report(replies.path).as_json()["notes"]
    )


@pytest.mark.slow
def test_texts_can_be_removed_once_they_are_graded_and_the_numbers_stay(replies):
    casewise.grade(replies, plainly)
    found = casewise.report(replies.path)
    before = found.as_json()["does"]
    found.numbers.write_metrics(replies.path)
    (replies.path / "report.html").write_text("made with --with-replies")
    gone = discard_texts(replies.path)
    assert {file.name for file in replies.path.iterdir()}.isdisjoint({"metrics.json", "report.html"})
    after = casewise.report(replies.path).as_json()["does"]

    assert (gone, discard_texts(replies.path)) == (6, 0)
    assert before == after
    assert {reply.text for reply in read_replies(replies.path)} == {None, ""}
    assert "raw_reply" not in "".join(file.read_text() for file in replies.path.glob("grades/*/grades.jsonl"))
    with pytest.raises(DataError, match="texts were discarded"):
        casewise.grade(replies, "rubric:fake/rehearsal")


def test_the_same_reply_to_the_same_query_is_graded_by_one_call_and_another_attempt_by_another(replies):
    plan = plan_grading(replies.path, replies.benchmark, retries=3)
    asks = [ask for bundle in plan.bundles for ask in bundle]

    assert (plan.size, plan.retries) == (len(asks), 3)
    assert {(ask.query, ask.reply) for ask in asks} == {(bundle[0].query, bundle[0].reply) for bundle in plan.bundles}
    assert {ask.reply for ask in asks} == {"one", "two", "three"}
    assert len({ask.key for ask in asks}) == len(asks) == 5
    first = asks[0]
    assert plan.shared_key(first) == plan.shared_key(replace(first, collected=asks[1].collected))
    assert plan.shared_key(first) != plan.shared_key(replace(first, attempt=1))


def test_the_folder_of_a_grader_has_its_id_without_what_a_file_cannot_be_called(tmp_path):
    grader: Any = SimpleNamespace(id="rubric:a/b c@1+x_y." + "z" * 200)

    name = grades_folder(tmp_path, grader).name
    assert (name[:20], len(name)) == ("rubric-a-b-c@1+x_y.z", 120)
    assert grades_folder(tmp_path, grader).parent == tmp_path / "grades"


def test_a_grade_says_what_it_is_about_and_its_run_who_graded(replies):
    summary = casewise.grade(replies, rubric(Counting()))
    manifest = json.loads((summary.run / "run.json").read_text())
    grades = [json.loads(line) for line in (summary.run / "grades.jsonl").read_text().splitlines()]
    of_replies = json.loads((replies.path / "run.json").read_text())["identity"]

    assert manifest["identity"]["model"] == of_replies["model"]
    assert manifest["identity"]["grader"].startswith("rubric:")
    assert {grade["item_id"] for grade in grades} <= {reply.item_id for reply in read_replies(replies.path)}
    assert all(grade["at"] for grade in grades)
    assert (replies.path / "grades").stat().st_mode & 0o777 == 0o700


def test_what_graders_took_is_added_up(replies):
    graders = [rubric(Counting()), rubric(Counting())]
    assert grading_spend(replies.path, graders) == Spend()
    summary = casewise.grade(replies, graders[0])
    tokens = summary.input_tokens + summary.output_tokens + summary.assumed_tokens

    assert grading_spend(replies.path, graders).tokens == 2 * tokens > 0
    assert grading_spend(replies.path, []) == Spend()


def test_discarded_texts_leave_what_they_said_and_whether_they_were_empty_or_declined(replies):
    casewise.grade(replies, rubric(Counting()))
    (replies.path / "report.html").write_text("made with --with-replies")
    before = read_replies(replies.path)
    grades = next(replies.path.glob("grades/*/grades.jsonl"))
    assert "raw_reply" in grades.read_text()
    results = [folder / "batches" / "job.jsonl" for folder in (replies.path, grades.parent)]
    for file in results:
        file.parent.mkdir()
        file.write_text("what a provider sent")
    gone = discard_texts(replies.path)
    after = read_replies(replies.path)

    assert (gone, discard_texts(replies.path)) == (6, 0)
    assert [reply.text for reply in after] == [None if (reply.text or "").strip() else reply.text for reply in before]
    assert [reply.refusal for reply in after] == [reply.refusal and "(removed)" for reply in before]
    assert [reply.text_digest for reply in after] == [reply.text_digest for reply in before]
    assert "raw_reply" not in grades.read_text()
    assert len(grades.read_text().splitlines()) == 5
    assert not any(file.exists() for file in (replies.path / "report.html", *results))
    with pytest.raises(DataError, match="texts were discarded"):
        plan_grading(replies.path, replies.benchmark, retries=0)


def test_without_any_reply_with_words_there_is_nothing_to_grade(tmp_path):
    silent = casewise.collect("demo", FakeModel(""), out=tmp_path / "silent", selection=FEW)

    assert plan_grading(silent.path, silent.benchmark, retries=0).size == 0
