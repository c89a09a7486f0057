"""The pages of a run's contents, of one item in it, and of a chatbot's replies and their grades."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.chatbots import collected, replies
from tests.support.worlds import World

from casewise.errors import DataError
from casewise.records import Scored, UnscoredReason
from casewise.records.call import Unscored
from casewise.replies.behaviour import grade_folders
from casewise.reports.document import Exhibit
from casewise.reports.published import exhibit, judgements_of, outcome, run_json, run_page
from casewise.transforms.texts import MadeTexts

WORLD = World("w", ("sss", "uuu", "ssu", "uus"), {"judge": ("s", "u", "?", "s")})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return WORLD.runs(tmp_path_factory.mktemp("run"), kept=True)["judge"]


@pytest.fixture(scope="module")
def chatbot(tmp_path_factory):
    return replies(tmp_path_factory.mktemp("chatbot") / "graded", ["answers", "partly", "refuses"] * 30)


def tables(page):
    return {table.name: table.rows for table in page.tables()}


def test_a_run_has_its_judgements_by_elicitation_and_arm_and_its_settings(run):
    page = run_page(run).rendered()

    assert (page.title, page.subtitle.partition(", begun")[0]) == ("Run judge", "judge on w")
    assert [part.brief for part in page.sections] == [True]
    assert tables(page)["judgements"] == (("binary", "full", "4", "1", "0.667"),)
    assert tables(page)["settings"][0] == ("judge", "judge")
    assert run_json(run)["judgements"] == [{"elicitation": "binary", "arm": "full", "judgements": 4, "unscored": 1}]
    assert run_json(run)["run"]["judge_name"] == "judge"


@pytest.mark.parametrize(("place", "verdict"), [(0, "safe"), (1, "unsafe"), (2, "unscored: unparsed")])
def test_an_item_of_a_run_has_the_judgements_of_it_alone(run, place, verdict):
    item = WORLD.benchmark.items[place]
    page, numbers = run_page(run, item.id).rendered(), run_json(run, item.id)
    (shown,) = page.sections[0].blocks

    assert (page.title, page.sections[0].brief) == (f"Item {item.id[:12]}", True)
    assert isinstance(shown, Exhibit)
    assert shown.heading.endswith(": binary, full, repeat 1")
    assert (shown.facts[-1], shown.query) == (("judge", verdict), WORLD.benchmark.query[item.query_id].text)
    assert [name for name, _ in shown.context] == ["sender", "recipient", "transmission principle"]
    assert [judgement["item_id"] for judgement in numbers["judgements"]] == [item.id]
    assert numbers["item"]["id"] == item.id


def test_an_item_that_was_not_judged_has_its_texts_alone(tmp_path):
    half = World("w", WORLD.votes, {"judge": WORLD.judges["judge"]})
    path = half.runs(tmp_path, kept=True)["judge"]
    log = path / "judgements.jsonl"
    item = half.benchmark.items[0]
    log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if item.id not in line))
    (shown,) = run_page(path, item.id).rendered().sections[0].blocks

    assert isinstance(shown, Exhibit)
    assert not shown.heading.endswith("repeat 1")
    assert shown.query == half.benchmark.query[item.query_id].text


def test_an_attempt_after_the_first_is_numbered_and_a_value_is_no_verdict(run):
    item = WORLD.benchmark.items[0]
    (judgement,) = judgements_of(run, item)

    def heading(**changed):
        shown = exhibit(WORLD.benchmark, item, judgement.model_copy(update=changed), MadeTexts({}))
        return shown.heading.rpartition(": ")[2]

    assert heading(attempt=1, repeat=2) == "binary, full, repeat 3, attempt 2"
    assert heading(elicitation="score") == "score, full, repeat 1"
    unread = Unscored(reason=UnscoredReason.UNPARSED, detail="two verdicts")
    for elicitation, result, words in (
        ("binary", Scored(value=1.0), "safe"),
        ("binary", Scored(value=0.0), "unsafe"),
        ("probability", Scored(value=0.25), "0.250"),
        ("probability", unread, "unscored: unparsed (two verdicts)"),
        ("binary", Unscored(reason=UnscoredReason.UNPARSED), "unscored: unparsed"),
    ):
        assert outcome(judgement.model_copy(update={"elicitation": elicitation, "outcome": result})) == words


def test_replies_and_their_grades_are_counted_and_shown_by_no_text(chatbot):
    (grades,) = grade_folders(chatbot)
    of_replies, of_grades = run_page(chatbot).rendered(), run_page(grades).rendered()
    counts = {"grader": "python:<lambda>", "answers": 30, "partly": 30, "refuses": 30, "ungraded": 0}

    assert (of_replies.title, of_replies.subtitle.partition(", begun")[0]) == (
        "Run graded",
        "Replies of openai/x on demo",
    )
    assert [part.brief for part in of_replies.sections] == [True]
    assert [*tables(of_replies)] == ["replies", "grades", "settings"]
    assert tables(of_replies)["replies"] == (("full", "90", "0", ""),)
    assert tables(of_replies)["grades"] == (("python:<lambda>", "30", "30", "30", "0"),)
    assert ("temperature", "0.0") in tables(of_replies)["settings"]
    columns = {table.name: table.columns for table in of_replies.tables()}
    assert columns["grades"] == ("Grader", "Answers", "Partly", "Refuses", "Ungraded")
    assert of_grades.subtitle.startswith("python:<lambda> on replies of openai/x, begun ")
    assert "replies" not in tables(of_grades)
    assert tables(of_grades)["grades"] == tables(of_replies)["grades"]
    assert run_json(chatbot)["replies"] == [{"arm": "full", "replies": 90, "unanswered": 0, "why": ""}]
    assert run_json(chatbot)["grades"] == run_json(grades)["grades"] == [counts]
    assert [run_json(path)["run"]["kind"] for path in (chatbot, grades)] == ["replies", "grades"]


def test_texts_of_replies_are_shown_by_the_server_alone(chatbot):
    (grades,) = grade_folders(chatbot)
    for path, contents in ((chatbot, "a chatbot's replies"), (grades, "grades")):
        for shown in (run_page, run_json):
            call: Any = shown
            with pytest.raises(DataError, match=f"holds {contents}; casewise serve REPLIES shows them item by item"):
                call(path, "i_1")


def test_replies_without_grades_have_no_table_of_them(tmp_path):
    path = collected(tmp_path / "bare", ["answers"] * 90)

    assert [*tables(run_page(path).rendered())] == ["replies", "settings"]
    assert run_json(path)["grades"] == []
