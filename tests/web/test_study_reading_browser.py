"""The situation can be read at any zoom, by keyboard alone, and a page that waits says what was not read yet."""

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.browser import serious_problems
from tests.support.databases import empty_database
from tests.support.server import served_app
from tests.support.study import START, design, material
from tests.web.test_study_browser import to_rating

from casewise import database
from casewise.studies.rounds import open_round
from casewise.studies.wording import read_wording

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SCREENSHOTS = os.environ.get("CASEWISE_TEST_SCREENSHOTS")
SIZES = [(1280, 800), (640, 400), (390, 600), (390, 844), (320, 256)]
SENTENCE = "The person has worked in this kitchen for years, and asks for the guests of tomorrow. "

LINES = """
() => {
  const lines = [];
  for (const dd of document.querySelectorAll(".panel dd")) {
    const range = document.createRange();
    range.selectNodeContents(dd);
    for (const box of range.getClientRects()) lines.push({ x: box.left + 2, top: box.top, bottom: box.bottom });
  }
  return lines.map(({ x, top, bottom }) => {
    const covered = (y) => { const at = document.elementFromPoint(x, y); return !at || !at.closest(".panel dd"); };
    return top >= 0 && bottom <= innerHeight && !covered(top + 2) && !covered(bottom - 2);
  });
}
"""


@pytest.fixture
def served(tmp_path):
    """A study whose situations have 4,000 characters, and whose pages ask that their end was seen."""
    path = empty_database(tmp_path / "study.db")
    plan = design(
        conditions=["safe_revised"], attention={"checks_per_batch": 0, "end_in_view": True}, ratings={"per_item": 40}
    )
    made = material(plan)
    long = {"background": SENTENCE * 24, "type": SENTENCE * 22}
    items = tuple(
        replace(item, shown=item.shown | {"context": item.shown["context"] | {"recipient": long}})
        for item in made.items
    )
    assert sum(map(len, long.values())) > 3900
    with database.open(path) as store:
        with store.write() as connection:
            texts = read_wording(plan, Path())
            study = open_round(
                connection, plan, phase="main", wording=texts, material=replace(made, items=items), now=START
            )
        with served_app(path) as server:
            yield SimpleNamespace(url=server.url, study=study)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_every_line_is_uncovered_by_page_down_alone(browser, served, size):
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    to_rating(page, served, f"reader-{size[0]}-{size[1]}")
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"long-{size[0]}x{size[1]}.png"))
    seen = page.evaluate(LINES)
    for _ in range(200):
        before = page.evaluate("scrollY")
        page.keyboard.press("PageDown")
        page.wait_for_timeout(60)
        seen = [first or second for first, second in zip(seen, page.evaluate(LINES), strict=True)]
        if page.evaluate("scrollY") == before:
            break
    assert [number for number, uncovered in enumerate(seen) if not uncovered] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious_problems(page) == []
    page.context.close()


@pytest.mark.parametrize("size", SIZES[:3], ids=lambda size: f"{size[0]}x{size[1]}")
def test_each_press_of_r_leads_to_the_first_unread_line_until_the_answer_is_taken(browser, served, size):
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    to_rating(page, served, f"answers-{size[0]}-{size[1]}")
    token = page.locator('#decide input[name="step"]')
    first, seen = token.get_attribute("value"), page.evaluate(LINES)
    page.wait_for_timeout(700)
    for _ in range(60):
        page.keyboard.press("r")
        page.wait_for_timeout(700)
        if token.get_attribute("value") != first:
            break
        assert page.get_by_text("The first line that you have not seen yet").is_visible()
        seen = [before or now for before, now in zip(seen, page.evaluate(LINES), strict=True)]
        if all(seen):
            page.wait_for_timeout(300)
    assert all(seen)
    assert token.get_attribute("value") != first
    page.context.close()
