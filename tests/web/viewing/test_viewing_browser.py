"""The room in a real browser: keys, phones, the dark, and what axe says of it."""

import threading
import time

import pytest
import uvicorn
from playwright.sync_api import expect
from tests.support.browser import DESKTOP, PHONE, serious_problems

from casewise import api
from casewise.web.app import free_port
from casewise.web.viewing import create_view, write_view

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def viewed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    judged = [api.judge("demo", name, out=folder / str(n)) for n, name in enumerate(("linear", "constant:safe"))]
    return api.view(*judged)


@pytest.fixture(scope="module")
def address(viewed):
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(create_view(viewed, port=port), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
@pytest.mark.parametrize("path", ["/", "/?first=0&second=1&cell=differ&q=a", "/item/3", "/?label=wrong"])
def test_no_page_has_a_serious_problem_or_is_wider_than_the_screen(browser, address, viewport, scheme, path):
    page = browser.new_context(viewport=viewport, color_scheme=scheme).new_page()
    page.goto(f"{address}{path}")
    for folded in page.locator("details:not(.keys) > summary").all():
        folded.click()

    assert serious_problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()


def test_keys_go_through_the_list_and_the_items_of_it(browser, address):
    page = browser.new_context(viewport=DESKTOP).new_page()
    page.goto(f"{address}/?series=1&outcome=wrong")
    listed = page.locator(".row-link")
    page.keyboard.press("j")
    expect(listed.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".crumbs")).to_contain_text("2 of")
    page.wait_for_load_state()  # keys work when the script is there
    page.keyboard.press("k")
    expect(page.locator(".crumbs")).to_contain_text("1 of")
    page.wait_for_load_state()
    page.keyboard.press("u")
    expect(listed.nth(0)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("?")
    expect(page.locator(".keylist")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("jjk")
    expect(page.locator("#search")).to_have_value("jjk")
    page.context.close()


def test_a_copy_opens_from_disk(browser, viewed, tmp_path):
    written = write_view(viewed, tmp_path / "copy", withheld=False)
    page = browser.new_context(viewport=DESKTOP).new_page()
    failed = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.goto(written.path.as_uri())
    page.locator(".row-link").first.click()
    expect(page.get_by_role("heading", name="Item 1")).to_be_visible()
    assert failed == []
    assert serious_problems(page) == []  # last, for axe asks for style sheets in a way that files refuse
    page.context.close()
