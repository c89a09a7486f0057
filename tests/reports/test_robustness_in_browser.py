"""The page of a run under attack, in a real browser."""

import pytest
from tests.support.browser import DESKTOP, PHONE, serious_problems
from tests.support.lied_to import Gullible

import casewise
from casewise import api

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "robustness.html"
    run = api.attack(
        casewise.load("demo"), Gullible(), attacks="claim:authority,claim:agreed,twin", defences="none,datamark"
    )
    page.write_text(api.robustness(run).to_html(), encoding="utf-8")
    return page.as_uri()


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")], ids=["phone", "desktop"])
def test_the_page_has_no_serious_barrier_and_never_scrolls_sideways(browser, address, size, scheme):
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, bypass_csp=True)
    page = context.new_page()
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert serious_problems(page) == []
    assert page.locator("script").count() == 0
    assert page.locator("ins").first.is_visible()
    context.close()
