"""What annotators' pages carry and what comes back in a form: tokens, cookies, answers; without the pages."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import HTTPException
from tests.support.databases import new_database
from tests.support.study import START, design, opened

from casewise.studies.design import REPLY_QUESTION
from casewise.studies.recruiters import Finish, RecruiterIds
from casewise.web.security import Signing
from casewise.web.study import (
    ANNOTATOR_COOKIE,
    ARRIVAL_COOKIE,
    ATTEMPTS,
    StepToken,
    check_limit,
    markdown,
    panel,
    read_arrival,
    study_path,
    submitted_answer,
    visitor_id,
    way_to_recruiter,
)

SIGNING = Signing("key")


def request(**cookies: str) -> Any:
    """A request of a browser with these cookies, as the app signed them."""
    signed = {name: SIGNING.sign(value, use=f"cookie:{name}") for name, value in cookies.items()}
    app = SimpleNamespace(state=SimpleNamespace(signing=SIGNING))
    return SimpleNamespace(app=app, scope={}, cookies=signed, client=SimpleNamespace(host="10.0.0.1"))


def read(form: dict[str, str], annotator_id: str = "a1") -> StepToken | None:
    return StepToken.read(request(), annotator_id, form)


# Tokens.


def test_a_token_brings_back_the_step_the_page_and_when_it_was_shown_to_the_millisecond():
    shown_at = datetime(2026, 11, 20, 12, 0, 1, 234_567, tzinfo=UTC)
    token = StepToken(7, shown_at, 3)

    assert read({"step": token.signed(request(), "a1")}) == StepToken(7, shown_at.replace(microsecond=234_000), 3)
    assert token.signed(request(), "a1").startswith("7.3.1795176001234.")
    assert StepToken(7, shown_at).position == 0


@pytest.mark.parametrize("form", [{}, {"step": ""}, {"step": "1.0.5.abc"}, {"step": "ü"}, {"step": "1.0.5."}])
def test_what_was_not_signed_is_no_token(form):
    assert read(form) is None


def test_a_token_is_its_annotators_alone_and_cannot_be_edited():
    signed = StepToken(7, START, 3).signed(request(), "a1")

    assert read({"step": signed}, "a2") is None
    assert read({"step": signed.replace("7.3", "8.3", 1)}) is None
    assert len(signed.rpartition(".")[2]) == 32


# Cookies.


STUDY: Any = SimpleNamespace(id="round-1", design=design(), phase="main")


def test_an_annotator_is_known_by_the_cookie_of_the_same_round():
    assert visitor_id(request(**{ANNOTATOR_COOKIE: "round-1:a1"}), STUDY) == "a1"
    assert visitor_id(request(**{ANNOTATOR_COOKIE: "round-2:a1"}), STUDY) is None
    assert visitor_id(request(), STUDY) is None


def test_ids_of_an_arrival_are_those_of_the_same_round():
    cookie = '{"round": "round-1", "person": "p", "study": "s", "session": "x"}'

    assert read_arrival(request(**{ARRIVAL_COOKIE: cookie}), STUDY) == RecruiterIds("p", "s", "x")
    assert read_arrival(request(**{ARRIVAL_COOKIE: cookie.replace("round-1", "round-2")}), STUDY) is None
    assert read_arrival(request(), STUDY) is None


def test_pages_of_a_study_lie_below_its_id():
    assert (study_path(STUDY), study_path(STUDY, "rate")) == ("/study/round-1", "/study/round-1/rate")


# Limits.


@pytest.fixture
def live(tmp_path):
    with new_database(tmp_path / "casewise.db") as database, opened(database).write(database, START) as bound:
        yield bound


def test_attempts_are_limited_for_each_annotator_and_not_in_a_rehearsal(live):
    for _ in range(ATTEMPTS.burst):
        check_limit(request(), live, annotator_id="a1")
    with pytest.raises(HTTPException) as refused:
        check_limit(request(), live, annotator_id="a1")
    assert (refused.value.status_code, refused.value.detail) == (
        429,
        "There were too many attempts from here. Please wait a few minutes and try again.",
    )
    check_limit(request(), live, annotator_id="a2")
    for phase in ("rehearsal", "preview"):
        check_limit(request(), replace(live, round=replace(live.round, phase=phase)), annotator_id="a1")


def test_arrivals_are_limited_by_address(live):
    for _ in range(120):
        check_limit(request(), live, annotator_id=None)
    with pytest.raises(HTTPException):
        check_limit(request(), live, annotator_id=None)
    elsewhere = request()
    elsewhere.client = SimpleNamespace(host="10.0.0.2")
    check_limit(elsewhere, live, annotator_id=None)


# Answers.


def submitted(form: dict[str, str], *, after_s: float = 5.0, **changes: Any):
    study: Any = SimpleNamespace(design=design(**changes))
    signed = {"step": StepToken(7, START, 3).signed(request(), "a1")}
    return submitted_answer(request(), study, "a1", signed | form, now=START + timedelta(seconds=after_s))


def test_an_answer_is_of_the_page_that_its_token_names():
    answer = submitted({"decision": "refuse", "sight": '{"shown_s": 4.5, "away": 1}'})

    assert answer is not None
    assert (answer.position, answer.step, answer.decision, answer.seconds) == (3, 7, "refuse", 4.5)
    assert (answer.scripted, answer.sight, answer.own) == (False, {"shown_s": 4.5, "away": 1.0}, {})


def test_an_answer_without_a_script_is_timed_by_the_server():
    answer = submitted({"decision": "respond", "hand": "no"})

    assert answer is not None
    assert (answer.seconds, answer.scripted, answer.sight) == (5.0, True, None)


@pytest.mark.parametrize(
    "form", [{}, {"decision": "perhaps"}, {"decision": "ask"}, {"decision": "respond", "step": "x"}]
)
def test_what_is_no_answer_is_none(form):
    assert submitted(form) is None


def test_to_be_asked_first_is_an_answer_where_it_is_offered():
    answer = submitted({"decision": "ask"}, rates="actions_or_ask")

    assert answer is not None
    assert answer.decision == "ask"


def test_in_a_study_of_replies_the_answer_to_its_question_decides():
    replies: dict[str, Any] = {"rates": "replies", "questions": [REPLY_QUESTION.model_dump()]}
    decisions = [submitted({"decision": "respond", f"own-{REPLY_QUESTION.name}": str(n)}, **replies) for n in range(3)]

    assert [answer and answer.decision for answer in decisions] == ["respond", "respond", "refuse"]


# What is shown.


def test_texts_are_markdown_whose_headings_begin_at_the_second_level_and_whose_html_is_text():
    page = markdown("## Two\n### Three\n<b>bold</b>\n\n|a|\n|-|\n|b|\n")

    assert "<h2>Two</h2>\n<h2>Three</h2>" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<td>b</td>" in page


def test_a_situation_is_shown_under_the_labels_that_annotators_know():
    groups = panel(
        {"recipient": {"type": "A nurse"}, "Who calls": {"Their role": "a doctor"}, "subject": "a neighbour"}
    )

    names = [name for name, _ in groups]
    assert "recipient" not in names
    assert ("Who calls", [("Their role", "a doctor")]) in groups
    assert [text for _, texts in groups for _, text in texts] == ["A nurse", "a doctor", "a neighbour"]


@pytest.mark.parametrize("outcome", ["withdrawn", "returned"])
def test_who_withdrew_or_returned_has_no_way_back_to_be_shown(outcome):
    nothing: Any = None
    annotator: Any = SimpleNamespace(outcome=outcome)

    assert way_to_recruiter(nothing, nothing, annotator) == Finish()
