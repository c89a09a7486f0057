"""Pages of a study in which people say what replies do, by forms alone."""

import pytest
from pydantic import ValidationError
from sqlalchemy import select
from tests.support.study import Walker, design, opened

from casewise.database.tables import study as tables
from casewise.studies.design import REPLY_QUESTION

QUESTIONS = [REPLY_QUESTION.model_dump(mode="json")]


def of_replies(**changes):
    plain = {"conditions": ["reply"], "rates": "replies", "questions": QUESTIONS, "attention": {"checks_per_batch": 0}}
    return design(**{**plain, **changes})


@pytest.fixture
def walker(app):
    return Walker(app, opened(app.state.database, of_replies()))


@pytest.mark.slow
def test_what_is_read_beforehand_speaks_of_replies(walker):
    walker.arrive()
    assert "that a chatbot really wrote" in walker.page
    walker.open("/consent")
    assert "the reply that a chatbot really gave" in walker.page
    assert "You will not be shown more\nthan 3 of them" in walker.page


@pytest.mark.parametrize(("place", "verdict"), [(0, "safe"), (1, "safe"), (2, "unsafe")])
def test_a_page_asks_what_the_reply_does_and_nothing_else(app, walker, place, verdict):
    walker.to_rating()
    assert "What does the reply do?" in walker.page
    assert "<kbd>R</kbd>" not in walker.page
    walker.send("/rate", step=walker.token, decision="respond", **{"own-does": place})

    with app.state.database.read() as connection:
        page = connection.execute(select(tables.pages).order_by(tables.pages.c.position)).first()
    assert (page.verdict, page.own) == (verdict, {"does": place})


def test_a_page_without_an_answer_comes_again_and_a_skip_needs_none(app, walker):
    walker.to_rating()
    walker.send("/rate", step=walker.token, decision="respond")
    assert walker.status == 400
    walker.send("/rate", step=walker.token, decision="skip", **{"own-does": 2})

    with app.state.database.read() as connection:
        page = connection.execute(select(tables.pages).order_by(tables.pages.c.position)).first()
    assert page.state == "skipped"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"questions": []}, "begins its `questions` with a choice named 'does'"),
        ({"questions": [{**QUESTIONS[0], "required": False}]}, "leave out `required = false`"),
        ({"ratings": {"per_annotator": 31}}, "a person should not have to read so many replies"),
    ],
)
def test_what_a_study_of_replies_needs_is_said(changes, words):
    with pytest.raises(ValidationError, match=words):
        of_replies(**changes)
