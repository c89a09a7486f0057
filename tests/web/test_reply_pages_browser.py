"""The page that asks what a reply does, in a real browser: by keyboard, on a phone, in the dark."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.support.browser import serious_problems
from tests.support.databases import empty_database
from tests.support.server import served_app
from tests.support.study import opened
from tests.web.test_own_questions_browser import cookies_of_somebody_rating
from tests.web.test_reply_pages import of_replies

from casewise import database

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREENSHOTS = os.environ.get("CASEWISE_TEST_SCREENSHOTS")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_what_a_reply_does_is_said_by_keyboard_alone(browser, tmp_path, width, scheme):
    path = empty_database(tmp_path / "study.db")
    with database.open(path) as store:
        study = opened(store, of_replies(quiz={"attempts": 2}))
    with served_app(path) as server:
        context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        context.add_cookies(cookies_of_somebody_rating(server.url, path, study))
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.url}/study/{study.id}/rate")
        page.wait_for_selector("#decide[data-ready]")
        page.keyboard.press("f")  # a key that decides elsewhere
        if SCREENSHOTS:
            page.screenshot(path=str(Path(SCREENSHOTS) / f"reply-{width}-{scheme}.png"), full_page=True)
        assert serious_problems(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("radio", name="It refuses").focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Next").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_title("Page 2 of 3 · casewise")
        assert errors == []
