"""The report's page in a real browser."""

import pytest
from tests.support.browser import DESKTOP, PHONE, serious_problems
from tests.support.lied_to import Gullible
from tests.support.published import completed_at_random

import casewise
from casewise import api
from casewise.evaluate.replay import replay
from casewise.reports.formats import html
from casewise.reports.published import replay_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "report.html"
    page.write_text(casewise.judge("demo", "linear").report().to_html(), encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def opened(browser, address):
    pages = []

    def at(size, scheme="light"):
        context = browser.new_context(viewport=size, color_scheme=scheme, offline=True, bypass_csp=True)
        page = context.new_page()
        page.goto(address)
        pages.append(context)
        return page

    yield at
    for context in pages:
        context.close()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """The address of the page of a judge under attack."""
    page = tmp_path_factory.mktemp("page") / "robustness.html"
    run = api.attack("demo", Gullible(), attacks="claim:authority,claim:agreed,twin", defences="none,datamark")
    page.write_text(api.robustness(run).to_html(), encoding="utf-8")
    return page.as_uri()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), (DESKTOP, "light")], ids=["phone", "desktop"])
def test_a_page_has_no_serious_barrier_and_never_scrolls_sideways(opened, attacked, size, scheme):
    page = opened(size, scheme)
    for marked in (False, True):
        if marked:
            page.goto(attacked)
            page.get_by_text("Items whose verdict turned").click()
            assert page.locator("ins").first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert page.locator("script").count() == 0
        assert serious_problems(page) == []


@pytest.mark.slow
def test_every_number_of_a_gate_and_of_a_replay_is_on_the_screen_of_a_phone(browser, tmp_path):
    runs = [casewise.judge("demo", f"constant:{name}") for name in ("intended", "safe")]
    (tmp_path / "gate.html").write_text(casewise.gate(*runs, max_drop="accuracy=0.1,over_refusal=0.1").to_html())
    scored = replay(completed_at_random(tmp_path))
    (tmp_path / "replay.html").write_text(html(replay_page(scored)))
    for name in ("gate", "replay"):
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((tmp_path / f"{name}.html").as_uri())
        ends = page.eval_on_selector_all("tbody td", "all => all.map(one => one.getBoundingClientRect().right)")
        heads = page.eval_on_selector_all("tbody td", "all => all.map(one => one.dataset.head)")
        page.close()

        assert max(ends) <= 390
        assert {"gate": {"Drop, with bounds", "Allowed"}, "replay": {"95 % interval"}}[name] <= set(heads)


@pytest.mark.slow
def test_charts_are_as_wide_as_a_phone_and_their_words_can_be_read(opened):
    page = opened(PHONE)
    widths = page.eval_on_selector_all(".chart svg", "all => all.map(one => one.getBoundingClientRect().width)")
    scaled = (
        "one => parseFloat(getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b)"
    )
    sizes = page.eval_on_selector_all(".chart svg text", f"all => all.map({scaled})")

    assert widths
    assert all(PHONE["width"] - 50 < width <= PHONE["width"] for width in widths if width)
    assert min(size for size in sizes if size) >= 9
    assert page.eval_on_selector_all(".chart", "all => all.every(one => one.scrollWidth <= one.clientWidth)")


@pytest.mark.slow
def test_the_page_works_offline_without_a_script_and_says_that_the_data_are_made_up(opened):
    page = opened(DESKTOP)

    assert page.get_by_text("SYNTHETIC DATA").first.is_visible()
    page.locator("#categories > summary").click()
    assert page.locator("#categories table").first.is_visible()


@pytest.mark.slow
def test_the_answer_its_chart_and_both_errors_stand_on_the_first_screen_of_a_desk_and_of_a_phone(opened):
    """The demo has two notices: one above the answer, and one below."""
    for page in (opened(DESKTOP), opened({"width": 390, "height": 844})):
        assert page.locator("header .notice").count() == page.locator("main > .notice").count() == 1
        box = page.locator("#table-answer-errors").bounding_box()
        assert box["y"] + box["height"] <= page.viewport_size["height"]
