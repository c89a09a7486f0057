"""The owner's own questions on the page, by forms alone."""

import pytest
from sqlalchemy import select
from tests.support.study import Walker, design, opened

from casewise.database.tables import study as tables

QUESTIONS = [
    {"name": "sure", "kind": "scale", "ask": "How sure are you?", "points": 5, "low": "not at all", "high": "entirely"},
    {"name": "why", "kind": "choice", "many": True, "ask": "Why <b>not</b>?", "options": ["Harm", "Law", "Nothing"]},
    {"name": "where", "kind": "choice", "ask": "Where?", "options": ["Here", "There"], "required": False},
]
ANSWERED = {"own-sure": 4, "own-why-0": "yes", "own-why-2": "yes", "own-where": 1}


def asking(**changes):
    return design(conditions=["safe_revised"], questions=QUESTIONS, attention={"checks_per_batch": 0}, **changes)


@pytest.fixture
def walker(app):
    walker = Walker(app, opened(app.state.database, asking()))
    walker.to_rating()
    return walker


def pages(app):
    with app.state.database.read() as connection:
        return connection.execute(select(tables.pages).order_by(tables.pages.c.position)).all()


def answer(walker, **changes):
    return walker.send("/rate", step=walker.token, decision="respond", **ANSWERED | changes)


def test_answers_to_the_owners_questions_are_kept_with_the_decision(app, walker):
    assert "How sure are you?" in walker.page
    assert "Why &lt;b&gt;not&lt;/b&gt;?" in walker.page
    answer(walker)

    page = pages(app)[0]
    assert page.verdict == "safe"
    assert page.own == {"sure": 4, "why": [0, 2], "where": 1}


def test_a_page_that_lacks_an_answer_comes_again_as_it_was_sent(app, walker):
    token = walker.token
    answer(walker, **{"own-sure": ""})

    assert walker.status == 400
    assert "Please answer the marked questions" in walker.page
    assert walker.token == token  # the time runs on
    assert 'value="respond" required checked' in walker.page
    assert pages(app)[0].state == "waiting"
    answer(walker)
    assert pages(app)[0].state == "rated"


def test_what_was_not_offered_is_no_answer(app, walker):
    answer(walker, **{"own-sure": 6})
    assert walker.status == 400
    assert pages(app)[0].state == "waiting"
    answer(walker, **{"own-where": 99})
    assert pages(app)[0].own == {"sure": 4, "why": [0, 2]}


def test_a_skip_needs_no_answer_and_an_undo_takes_answers_back(app, walker):
    walker.send("/rate", step=walker.token, decision="skip")
    assert pages(app)[0].state == "skipped"
    answer(walker)
    walker.send("/undo")
    assert (pages(app)[1].state, pages(app)[1].own) == ("waiting", None)


@pytest.mark.slow
def test_the_consent_page_names_the_questions_and_asks_about_people_only_where_the_owner_does(app):
    plan = asking(demographics=[])
    walker = Walker(app, opened(app.state.database, plan))
    walker.arrive()
    walker.open("/consent")
    assert "How sure are you?" in walker.page
    assert "What you tell us about yourself" not in walker.page
    walker.to_rating()
    while walker.open("/rate") == "/rate":
        answer(walker)
    assert "a little about yourself" not in walker.page


def test_demographics_are_as_the_owner_defines_them(app):
    work = {"name": "work", "ask": "Do you work in health care?", "options": ["Yes", "No"]}
    plan = design(demographics=[work], ratings={"per_annotator": 1}, attention={"checks_per_batch": 0})
    walker = Walker(app, opened(app.state.database, plan))
    walker.to_rating()
    walker.decide()
    assert "Do you work in health care?" in walker.page
    walker.send("/questions", **{"about-work": 0, "about-age": 1})
    with app.state.database.read() as connection:
        assert connection.scalars(select(tables.annotators.c.demographics)).one() == {"work": "Yes"}
