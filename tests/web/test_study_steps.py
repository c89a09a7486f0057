"""Each step of an annotator takes effect once, however often and in whatever order its form is sent."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.support.app import app_on_either, form_token
from tests.support.study import RIGHT, START, Walker, design, opened

from casewise.database.tables import study as tables
from casewise.studies.monitor import monitor
from casewise.web.study import answering_time

app = app_on_either

QUIZ = {f"question-{index}": right for index, right in enumerate(RIGHT)}
WRONG = QUIZ | {"question-0": 0}


def rows(app, table):
    with app.state.database.read() as connection:
        return connection.execute(select(table)).all()


def kinds(app):
    return [event.kind for event in sorted(rows(app, tables.events), key=lambda event: event.id)]


def twice_at_once(walker, path, **fields):
    """Send the open page's form twice at the same moment, as a double click does."""
    form = {"csrf": form_token(walker.page), "step": walker.token, **fields}
    cookies = dict(walker.guest.client.cookies)

    def send(_number):
        client = TestClient(walker.guest.client.app, follow_redirects=True, cookies=cookies)
        return client.post(walker.at + path, data=form).status_code

    with ThreadPoolExecutor(2) as both:
        assert list(both.map(send, range(2))) == [200, 200]


@pytest.mark.slow
def test_a_quiz_sent_twice_at_once_is_one_attempt(app):
    study = opened(app.state.database, design(quiz={"attempts": 2}))
    walker = Walker(app, study)
    walker.to_quiz()
    twice_at_once(walker, "/quiz", **WRONG)

    (person,) = rows(app, tables.annotators)
    assert (person.quiz_attempts, person.stage) == (1, "quiz")


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/tutorial", "/undo", "/stop", "/questions"])
def test_a_form_sent_twice_at_once_takes_effect_once(app, path):
    study = opened(app.state.database)
    walker = Walker(app, study)
    if path == "/tutorial":
        walker.arrive()
        walker.open("/consent")
        walker.send("/consent", agree="yes", adult="yes")
    else:
        walker.to_rating()
        walker.decide()
        walker.decide()
    if path == "/stop":
        walker.open("/pause")
    if path == "/questions":
        walker.rate_all()
    before = rows(app, tables.annotators)[0].step
    twice_at_once(walker, path)

    assert rows(app, tables.annotators)[0].step == before + 1
    answered = sum(page.verdict is not None for page in rows(app, tables.pages))
    assert answered == {"/tutorial": 0, "/undo": 1, "/stop": 2, "/questions": 4}[path]
    assert kinds(app).count("undone") == (path == "/undo")


def test_a_form_without_a_token_or_with_somebody_elses_changes_nothing(app):
    study = opened(app.state.database)
    alice, bob = Walker(app, study, "alice"), Walker(app, study, "bob")
    alice.to_quiz()
    bob.to_quiz()

    for token in (bob.token, "", "1.0.5.abc", "x"):
        assert alice.send("/quiz", step=token, **QUIZ) == "/quiz"
    assert {person.quiz_attempts for person in rows(app, tables.annotators)} == {0}


def test_an_incomplete_quiz_is_no_attempt_and_keeps_what_was_chosen(app):
    study = opened(app.state.database)
    walker = Walker(app, study)
    walker.to_quiz()
    given = {name: value for name, value in QUIZ.items() if name not in {"question-1", "question-4"}}

    for form in ({}, given, QUIZ | {"question-2": 99}):
        assert walker.send("/quiz", **form) == "/quiz"
        assert walker.status == 400
    walker.send("/quiz", **given)
    assert "Questions without an answer: 2, 5." in walker.page
    assert walker.page.count("required checked") == len(given)
    assert rows(app, tables.annotators)[0].quiz_attempts == 0
    assert walker.send("/quiz", **QUIZ) == "/rate"


@pytest.mark.parametrize("keeps", [True, False])
def test_after_an_attempt_right_answers_stay_where_the_design_keeps_them(app, keeps):
    study = opened(app.state.database, design(quiz={"attempts": 2, "keep_right": keeps}))
    walker = Walker(app, study)
    walker.to_quiz()
    walker.send("/quiz", **WRONG)

    kept = re.findall(r'name="(question-\d)" value="(\d)" required checked', walker.page)
    right = {(name, str(option)) for name, option in QUIZ.items() if name != "question-0"}
    assert set(kept) == (right if keeps else set())
    assert ("Questions to answer again: 1. " in walker.page) == keeps
    assert "This is your last attempt." in walker.page


def test_an_arrival_is_counted_once_a_day_and_person(app):
    study = opened(app.state.database)
    for name in ("alice", "alice", "bob"):
        Walker(app, study, name).arrive()

    with study.read(app.state.database) as live:
        assert monitor(live).funnel.arrived == 2


def test_the_closing_questions_come_after_the_last_item_and_never_before(app):
    walker = Walker(app, opened(app.state.database))
    walker.to_rating()
    assert walker.open("/questions") == "/rate"
    walker.open("/rate")
    assert walker.rate_all() == "/questions"


def test_undo_takes_back_the_last_answer_although_the_clock_was_set_back(app):
    study = opened(app.state.database, design(attention={"checks_per_batch": 0}))
    walker = Walker(app, study)
    walker.to_rating()
    app.state.clock = lambda: START + timedelta(hours=2)
    walker.decide()
    app.state.clock = lambda: START
    walker.decide()
    last = max((page for page in rows(app, tables.pages) if page.verdict), key=lambda page: page.position)
    walker.send("/undo")

    assert [page.position for page in rows(app, tables.pages) if page.verdict] == [last.position - 1]


@pytest.mark.parametrize(
    ("by_server", "by_page", "seconds"),
    [
        (5.0, 4.9, 4.9),
        (7207.0, 7.0, 7.0),
        (-7193.0, 7.0, None),
        (5.0, None, 5.0),
        (-3.0, None, None),
        (1.0, 30.0, None),
    ],
    ids=["agree", "set forward", "set back", "no script", "no script, set back", "claims more than passed"],
)
def test_an_answer_takes_what_was_observed_or_is_not_timed(by_server, by_page, seconds):
    assert answering_time(by_server, by_page=by_page) == seconds
