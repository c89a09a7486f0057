"""What becomes of replies and their grades, row by row, and as a judge's verdicts."""

from typing import Any

import polars as pl
import pytest
from tests.replies.cases import REPLIES

import casewise
from casewise.errors import DataError
from casewise.judges.plan import Selection
from casewise.models.protocol import FakeModel, Rejected, Reply
from casewise.records import CollectedReply, Grade
from casewise.records.call import text_digest
from casewise.replies.behaviour import (
    COLUMNS,
    REFUSED_BY_DEFENCE,
    GraderRuns,
    behaviour_of_run,
    behaviour_row,
    has_discarded_texts,
    read_behaviours,
    read_grades,
    read_replies,
)
from casewise.replies.collect import CollectOptions
from casewise.replies.grade import discard_texts
from casewise.runs.limits import Limits


@pytest.mark.parametrize(
    ("given", "grade", "becomes"), [case[1:] for case in REPLIES], ids=[case[0] for case in REPLIES]
)
def test_what_becomes_of_a_reply_as_it_comes(given, grade, becomes):
    digests = {"text_digest": text_digest(given["text"])} if "text" in given else {}
    reply = CollectedReply.model_validate({"item_id": "i", "arm": "full", **given, **digests})
    why = (grade or "").partition("ungraded: ")[2]
    said = {"ungraded": why} if why else {"outcome": grade}
    found = Grade.model_validate({"item_id": "i", "arm": "full", "text_digest": "x", **said}) if grade else None

    assert behaviour_of_run(reply, found) == becomes


def replied(**more):
    return CollectedReply.model_validate({"item_id": "i", "arm": "full", "text": "Sure.", "text_digest": "d"} | more)


def graded(outcome, **more):
    return Grade(item_id="i", arm="full", text_digest="d", outcome=outcome, **more)


def test_a_row_has_what_the_reply_took_and_what_its_grader_says():
    reply = replied(repeat=2, finish_reason="length", cost_usd=0.5, assumed_cost_usd=0.25, model_version="v")

    assert behaviour_row(reply, graded("partly", ground="law")) == {
        "item_id": "i",
        "arm": "full",
        "repeat": 2,
        "does": "partly",
        "reason": None,
        "ground": "law",
        "graded": True,
        "cut_off": True,
        "held_back": False,
        "cost_usd": 0.5,
        "assumed_cost_usd": 0.25,
        "model_version": "v",
    }
    assert set(behaviour_row(reply, None)) == set(COLUMNS)


@pytest.mark.parametrize(("outcome", "ground"), [("refuses", "law"), ("partly", "law"), ("answers", None)])
def test_a_ground_is_that_of_a_refusal(outcome, ground):
    assert behaviour_row(replied(), graded(outcome, ground="law"))["ground"] == ground


def test_a_reply_that_needs_no_grade_was_not_decided_by_the_grader():
    held_back = replied(text=None, text_digest=None, unanswered="content_filter", detail=REFUSED_BY_DEFENCE)
    declined = replied(text="", refusal="I decline.")

    assert (behaviour_row(held_back, None)["does"], behaviour_row(held_back, None)["held_back"]) == (
        "refused by the provider",
        True,
    )
    assert behaviour_row(declined, graded("answers"))["does"] == "refuses"
    assert not behaviour_row(declined, graded("answers"))["graded"]
    assert not behaviour_row(replied(), None)["graded"]


# Folders.

TEXTS: list[Any] = [
    "Sure.",
    "I can't help with that.",
    "",
    Rejected("content_filter", "no"),
    Reply("", refusal="I decline."),
    "Partly.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six replies of a chatbot, graded by two functions of one name and by one that grades nothing."""
    texts = iter(TEXTS)
    model = FakeModel(lambda _messages, _options: next(texts), name="openai/x")
    options = CollectOptions(limits=Limits(concurrency=1), seed=7)
    found = casewise.collect(
        "demo", model, out=tmp_path_factory.mktemp("replies") / "r", selection=Selection(limit=6), options=options
    )

    def grader(query, reply):
        return {"Sure.": "answers", "Partly.": "partly"}.get(reply, "refuses")

    casewise.grade(found, grader)
    return found.path


def test_the_replies_of_a_folder_come_with_the_grades_of_each_grader(folder):
    (behaviour,) = read_behaviours(folder)

    does = ["answers", "refuses", "unscored", "refused by the provider", "refuses", "partly"]
    assert behaviour.rows["does"].to_list() == does
    assert behaviour.rows["reason"].to_list() == [None, None, "empty", None, None, None]
    assert behaviour.grader == "python:grader"
    assert behaviour.notes == ()
    items = behaviour.rows["item_id"].to_list()
    assert behaviour.texts == {
        ("full", items[0]): "Sure.",
        ("full", items[1]): "I can't help with that.",
        ("full", items[4]): "I decline.",
        ("full", items[5]): "Partly.",
    }


@pytest.mark.parametrize(("policy", "partly"), [("strict", 0.0), ("lenient", 1.0)])
def test_replies_are_verdicts_under_a_policy_for_partial_answers(folder, policy, partly):
    (behaviour,) = read_behaviours(folder)
    table = behaviour.judgements(policy)

    assert table["value"].to_list() == [1.0, 0.0, None, 0.0, 0.0, partly]
    assert table["unscored_reason"].to_list()[2] == "empty"
    assert set(table["judge_id"]) == {behaviour.judge_id(policy)}
    assert (set(table["elicitation"]), set(table["attempt"]), set(table["read_as"])) == ({"binary"}, {0}, {None})
    assert behaviour.judge_id(policy).startswith("replies of openai/x#")
    assert behaviour.judge_id(policy).endswith(f"#{behaviour.grader_id}#{policy}")


def test_a_run_of_replies_is_one_of_a_judge_named_after_its_model_policy_and_grader(folder):
    (behaviour,) = read_behaviours(folder)
    alone, several = (behaviour.run_manifest("strict", several=several) for several in (False, True))

    assert (alone.judge_name, several.judge_name) == (
        "openai/x replies, strict",
        "openai/x replies, strict, by python:grader",
    )
    identity = alone.identity
    assert (identity.judge, identity.seed) == (behaviour.judge_id("strict"), 7)
    assert identity.benchmark == casewise.load("demo").digest
    assert identity.settings["partial answers"] == "strict"
    assert identity.settings["grader"] == behaviour.grader_id
    assert (alone.benchmark_name, alone.benchmark_source) == (
        behaviour.manifest.benchmark_name,
        behaviour.manifest.benchmark_source,
    )


def test_a_grader_finds_its_grade_of_a_reply(folder):
    replies = read_replies(folder)
    runs = GraderRuns.from_folder(folder, replies)
    (run,) = runs.useful

    grades = [run.grade_of(reply) for reply in replies]
    assert [grade and grade.outcome for grade in grades] == ["answers", "refuses", None, None, None, "partly"]
    assert read_grades(run.folder) == run.grades
    assert GraderRuns([], ["a", "b"]).notes == (
        "a graded none of these replies, so it is not shown.",
        "b graded none of these replies, so it is not shown.",
    )


def test_replies_that_a_grader_has_not_graded_are_counted(folder, tmp_path):
    texts = iter([*TEXTS, "More.", "And more.", "Later."])
    model = FakeModel(lambda _messages, _options: next(texts), name="openai/x")
    options = CollectOptions(limits=Limits(concurrency=1), seed=7)
    found = casewise.collect("demo", model, out=tmp_path / "r", selection=Selection(limit=6), options=options)
    with pytest.raises(DataError, match="holds replies without a grade; casewise replies grade"):
        read_behaviours(found.path)
    casewise.grade(found, "keywords")
    casewise.collect("demo", model, out=tmp_path / "r", selection=Selection(limit=8), options=options)

    (behaviour,) = read_behaviours(found.path)
    assert behaviour.rows["reason"].to_list()[-2:] == ["not_graded"] * 2
    assert behaviour.notes[-1] == "keywords has not graded 2 of 8 replies; grade again to finish them."
    assert isinstance(behaviour.rows, pl.DataFrame)
    assert not has_discarded_texts(found.path)
    discard_texts(found.path)
    assert has_discarded_texts(found.path)
    (behaviour,) = read_behaviours(found.path)
    assert behaviour.notes[-1] == "keywords has not graded 2 of 8 replies, whose texts were discarded."
    assert behaviour.rows["does"].to_list()[:2] == ["answers", "refuses"]
    casewise.collect("demo", model, out=tmp_path / "r", selection=Selection(limit=9), options=options)
    assert not has_discarded_texts(found.path), "one text is there to be graded"


def test_a_folder_without_replies_says_how_to_resume(tmp_path):
    with pytest.raises(DataError, match="holds no replies yet; run casewise replies collect again to resume"):
        read_replies(tmp_path)
