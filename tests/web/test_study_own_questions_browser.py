"""The owner's own questions, and the one about a reply, in a real browser: by keyboard, on a phone, in the dark."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import select
from tests.support.browser import serious_problems
from tests.support.databases import empty_database
from tests.support.server import KEY, served_app
from tests.support.study import Walker, opened
from tests.web.test_study_own_questions import asking
from tests.web.test_study_reply_pages import of_replies

from casewise import database
from casewise.database.tables import study as tables
from casewise.settings import Settings
from casewise.web import create_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREENSHOTS = os.environ.get("CASEWISE_TEST_SCREENSHOTS")


@contextmanager
def rating(browser, path, plan, *, script="", **how):
    """The rating page of somebody who passed the quiz, walked there without a screen."""
    with database.open(path) as store:
        study = opened(store, plan)
    with served_app(path) as server:
        app = create_app(Settings(database=path, secret_key=KEY, site_url=server.url))
        walker = Walker(app, study)
        walker.to_rating()
        app.state.database.close()
        cookies = walker.guest.client.cookies.items()
        context = browser.new_context(**how)
        context.add_cookies([{"name": name, "value": value, "url": server.url} for name, value in cookies])
        page = context.new_page()
        page.add_init_script(script)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.url}/study/{study.id}/rate")
        yield page
        assert errors == []


def looked_at(page, name):
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"), full_page=True)
    assert serious_problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def sent_by_keyboard(page):
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_title("Page 2 of 3 · casewise")


either = pytest.mark.parametrize(
    "how",
    [
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
        {"viewport": {"width": 1280, "height": 844}, "color_scheme": "light"},
    ],
    ids=["phone", "desktop"],
)


@either
def test_own_questions_are_answered_by_keyboard_alone(browser, tmp_path, how):
    path = empty_database(tmp_path / "study.db")
    with rating(browser, path, asking(quiz={"attempts": 2}), **how) as page:
        page.wait_for_selector("#decide[data-ready]")
        page.keyboard.press("r")
        expect(page.get_by_role("radio", name="Respond")).to_be_checked()
        page.get_by_role("radio", name="4").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        expect(page.get_by_role("checkbox", name="Harm")).to_be_checked()
        looked_at(page, f"own-{how['color_scheme']}")
        ends, points = page.locator(".scale span"), page.locator(".scale input")
        assert abs(ends.first.bounding_box()["x"] - points.first.bounding_box()["x"]) < 10
        high, last = ends.last.bounding_box(), points.last.bounding_box()
        assert abs(high["x"] + high["width"] - last["x"] - last["width"]) < 40, "each end stands above its own point"
        sent_by_keyboard(page)
    with database.open(path) as store, store.read() as connection:
        kept = connection.scalars(select(tables.pages.c.own).where(tables.pages.c.state == "rated")).one()
    assert kept == {"sure": 4, "why": [0]}


@either
def test_what_a_reply_does_is_said_by_keyboard_alone(browser, tmp_path, how):
    with rating(browser, empty_database(tmp_path / "study.db"), of_replies(quiz={"attempts": 2}), **how) as page:
        page.wait_for_selector("#decide[data-ready]")
        page.keyboard.press("f")  # a key that decides elsewhere
        looked_at(page, f"reply-{how['color_scheme']}")
        page.get_by_role("radio", name="It refuses").focus()
        page.keyboard.press("Space")
        sent_by_keyboard(page)


def test_pressing_next_too_early_leads_to_what_was_not_seen_yet(browser, tmp_path):
    path, low = empty_database(tmp_path / "study.db"), {"width": 390, "height": 500}
    to_the_end = "addEventListener('DOMContentLoaded', () => scrollTo(0, document.body.scrollHeight))"
    with rating(browser, path, asking(quiz={"attempts": 2}), script=to_the_end, viewport=low) as page:
        page.wait_for_timeout(800)
        assert page.locator("#decide[data-ready]").count() == 0
        page.evaluate("document.querySelector('#decide').noValidate = true")
        page.get_by_role("button", name="Next").dispatch_event("click")
        page.wait_for_selector("#decide[data-ready]", timeout=5000)
