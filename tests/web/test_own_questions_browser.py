"""The owner's own questions in a real browser: by keyboard, on a phone, in the dark."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import select
from tests.support.browser import serious_problems
from tests.support.databases import empty_database
from tests.support.server import served_app
from tests.support.study import Walker, opened
from tests.web.test_own_questions import asking

from casewise import database
from casewise.database.tables import study as tables
from casewise.settings import Settings
from casewise.web import create_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREENSHOTS = os.environ.get("CASEWISE_TEST_SCREENSHOTS")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_own_questions_are_answered_by_keyboard_alone(browser, tmp_path, width, scheme):
    path = empty_database(tmp_path / "study.db")
    with database.open(path) as store:
        study = opened(store, asking(quiz={"attempts": 2}))
    with served_app(path) as server:
        context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        context.add_cookies(cookies_of_somebody_rating(server.url, path, study))
        page = context.new_page()
        page.goto(f"{server.url}/study/{study.id}/rate")
        page.wait_for_selector("#decide[data-ready]")
        page.keyboard.press("r")
        expect(page.get_by_role("radio", name="Respond")).to_be_checked()
        page.get_by_role("radio", name="4").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        expect(page.get_by_role("checkbox", name="Harm")).to_be_checked()
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / f"own-{width}-{scheme}.png"), full_page=True)
        assert serious_problems(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ends, points = page.locator(".scale span"), page.locator(".scale input")
        assert abs(ends.first.bounding_box()["x"] - points.first.bounding_box()["x"]) < 10
        high, last = ends.last.bounding_box(), points.last.bounding_box()
        assert abs(high["x"] + high["width"] - last["x"] - last["width"]) < 40, "each end stands above its own point"
        page.get_by_role("button", name="Next").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_title("Page 2 of 3 · casewise")
    with database.open(path) as store, store.read() as connection:
        kept = connection.scalars(select(tables.pages.c.own).where(tables.pages.c.state == "rated")).one()
    assert kept == {"sure": 4, "why": [0]}


def test_pressing_next_too_early_leads_to_what_was_not_seen_yet(browser, tmp_path):
    path = empty_database(tmp_path / "study.db")
    with database.open(path) as store:
        study = opened(store, asking(quiz={"attempts": 2}))
    with served_app(path) as server:
        context = browser.new_context(viewport={"width": 390, "height": 500})
        context.add_cookies(cookies_of_somebody_rating(server.url, path, study))
        page = context.new_page()
        page.add_init_script("addEventListener('DOMContentLoaded', () => scrollTo(0, document.body.scrollHeight))")
        page.goto(f"{server.url}/study/{study.id}/rate")
        page.wait_for_timeout(800)
        assert page.locator("#decide[data-ready]").count() == 0
        page.evaluate("document.querySelector('#decide').noValidate = true")
        page.get_by_role("button", name="Next").dispatch_event("click")
        page.wait_for_selector("#decide[data-ready]", timeout=5000)


def cookies_of_somebody_rating(url, path, study):
    """The cookies of an annotator who passed the quiz, walked there without a screen."""
    from tests.support.server import KEY

    app = create_app(Settings(database=path, secret_key=KEY, site_url=url))
    walker = Walker(app, study)
    walker.to_rating()
    app.state.database.close()
    return [{"name": name, "value": value, "url": url} for name, value in walker.guest.client.cookies.items()]
