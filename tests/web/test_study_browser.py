"""The annotator's way in a real browser: on a desktop, on a phone without JavaScript, and with the keyboard alone."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import select
from tests.support.app import PASSWORD, add_person
from tests.support.browser import DESKTOP, PHONE, serious_problems
from tests.support.databases import empty_database
from tests.support.server import served_app
from tests.support.study import RIGHT, design, opened

from casewise import database
from casewise.database.staff import Role
from casewise.database.tables import study as tables

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCREENSHOTS = os.environ.get("CASEWISE_TEST_SCREENSHOTS")
"""A folder to keep pictures in, for looking at; read once, before tests isolate the environment."""


@pytest.fixture
def served(tmp_path):
    path = empty_database(tmp_path / "study.db")
    store = database.open(path)
    plan = design(ratings={"per_item": 4, "per_annotator": 3}, quiz={"attempts": 2})
    study = opened(store, plan)
    add_person(store, "Olga", Role.OWNER)
    with served_app(path) as server:
        yield SimpleNamespace(url=server.url, store=store, study=study)
    store.close()


def picture(page, name):
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"), full_page=True)


def looked_at(page, name, *, axe=True):
    picture(page, name)
    if axe:
        assert serious_problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"


def asked_for(text):
    for words, decision in (("press Refuse", "refuse"), ("says Refuse", "refuse"), ("Respond.", "respond")):
        if words in text:
            return decision
    return None


def to_rating(page, served, name, look=lambda page, name: None):
    page.goto(f"{served.url}/study/{served.study.id}?participant={name}")
    look(page, "warning")
    page.get_by_role("link", name="I understand").click()
    look(page, "consent")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="I agree").click()
    look(page, "tutorial")
    page.get_by_role("button", name="go to the questions").click()
    look(page, "quiz")
    for index, right in enumerate(RIGHT):
        page.locator(f'input[name="question-{index}"][value="{right}"]').check()
    page.get_by_role("button", name="Send my answers").click()
    page.wait_for_load_state()


def ready(page):
    """Wait until the page takes an answer: until the request and the situation were seen."""
    page.wait_for_selector("#decide[data-ready]")


def next_after(page, act):
    """Do something that leads to another page or item, and wait for it."""
    token = page.locator('#decide input[name="step"]')
    before = token.get_attribute("value")
    act()
    page.wait_for_function(
        "before => { const now = document.querySelector('#decide input[name=\"step\"]'); return !now || now.value !== before; }",
        arg=before,
    )
    page.wait_for_load_state()


@pytest.mark.parametrize(
    ("device", "scheme"), [(DESKTOP, "light"), (PHONE, "light"), (DESKTOP, "dark"), (PHONE, "dark")]
)
def test_the_whole_way_has_nothing_serious_for_axe(browser, served, device, scheme):
    where = f"{device['width']}-{scheme}"
    context = browser.new_context(viewport=device, color_scheme=scheme)
    page = context.new_page()
    to_rating(page, served, "somebody", lambda page, name: looked_at(page, f"{name}-{where}"))
    looked_at(page, f"rate-{where}")
    page.get_by_role("link", name="Pause or stop").click()
    looked_at(page, f"pause-{where}")
    page.get_by_role("link", name="Go on").click()
    while page.url.endswith("/rate"):
        asked = asked_for(page.locator("blockquote").inner_text())
        next_after(page, page.get_by_role("button", name="Refuse" if asked == "refuse" else "Respond").click)
    looked_at(page, f"questions-{where}")
    page.get_by_role("button", name="Finish").click()
    looked_at(page, f"end-{where}")
    assert "THANKS42" in page.content()
    context.close()


def test_the_whole_way_on_a_phone_without_javascript(browser, served):
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    to_rating(page, served, "somebody")
    while page.url.endswith("/rate"):
        asked = asked_for(page.locator("blockquote").inner_text())
        page.get_by_role("button", name="Refuse" if asked == "refuse" else "Respond").click()
    page.get_by_role("button", name="Finish").click()

    assert "THANKS42" in page.content()
    context.close()


def test_keys_rate_and_undo(browser, served):
    page = browser.new_context(viewport=DESKTOP).new_page()
    to_rating(page, served, "somebody")
    first = page.locator("blockquote").inner_text()
    ready(page)
    next_after(page, lambda: page.keyboard.press("f"))
    assert page.locator("blockquote").inner_text() != first
    next_after(page, lambda: page.keyboard.press("u"))

    assert page.locator("blockquote").inner_text() == first
    with served.store.read() as connection:
        assert connection.scalars(select(tables.pages.c.verdict)).all().count(None) == 4
    page.context.close()


def with_context(served):
    """A study in which every page shows a situation."""
    return SimpleNamespace(
        **vars(served) | {"study": opened(served.store, design(name="all", conditions=["safe_revised"]))}
    )


def test_nobody_answers_before_the_request_and_the_situation_were_on_the_screen(browser, served):
    page = browser.new_context(viewport={"width": 390, "height": 500}).new_page()
    to_rating(page, with_context(served), "somebody")
    page.evaluate("document.querySelector('.panel').style.marginTop = '150vh'")
    page.reload()
    page.evaluate("document.querySelector('.panel').style.marginTop = '150vh'")
    token = page.locator('#decide input[name="step"]').get_attribute("value")
    page.wait_for_timeout(900)
    assert page.locator("#early").is_hidden()
    assert page.locator("#decide[data-ready]").count() == 0
    page.keyboard.press("r")
    assert page.locator('#decide input[name="step"]').get_attribute("value") == token
    assert "is not stored yet" in page.locator("#early").inner_text()
    page.locator(".panel dd").first.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 150)")
    ready(page)
    next_after(page, lambda: page.keyboard.press("r"))

    with served.store.read() as connection:
        sight = connection.scalars(select(tables.pages.c.sight).where(tables.pages.c.verdict.is_not(None))).one()
    assert sight["request_s"] >= 0.5
    assert sight["situation_s"] > sight["request_s"]
    assert sight["scrolled_px"] > 100
    page.context.close()


def test_a_design_may_ask_that_the_end_of_the_situation_was_on_the_screen(browser, served):
    plan = design(name="end", conditions=["safe_revised"], attention={"checks_per_batch": 0, "end_in_view": True})
    study = opened(served.store, plan)
    page = browser.new_context(viewport={"width": 390, "height": 600}).new_page()
    to_rating(page, SimpleNamespace(**vars(served) | {"study": study}), "somebody")
    page.evaluate("document.querySelector('.panel .group').style.marginBottom = '150vh'")
    page.wait_for_timeout(900)
    page.keyboard.press("r")
    assert "to its end" in page.locator("#early").inner_text()
    assert page.locator("#decide[data-ready]").count() == 0
    page.locator(".panel dd").last.evaluate("line => line.scrollIntoView({ block: 'center' })")
    ready(page)
    next_after(page, lambda: page.keyboard.press("r"))

    with served.store.read() as connection:
        sight = connection.scalars(select(tables.pages.c.sight).where(tables.pages.c.verdict.is_not(None))).one()
    assert sight["end_s"] > sight["situation_s"]
    assert sight["situation_share"] > 0.5
    assert sight["situation_view_s"] > 1
    page.context.close()


LAPTOPS = [{"width": 1280, "height": 800}, {"width": 1366, "height": 657}, {"width": 1920, "height": 970}]


@pytest.mark.parametrize("viewport", [*LAPTOPS, {"width": 390, "height": 844}], ids=lambda size: f"{size['width']}")
def test_the_request_of_no_item_of_the_release_lies_below_the_first_screen(browser, served, shared, viewport):
    shapes = json.loads((shared / "data" / "casebench_shapes.json").read_text())
    page = browser.new_context(viewport=viewport).new_page()
    to_rating(page, with_context(served), "somebody")
    picture(page, f"rate-with-context-{viewport['width']}")

    unseen, tops = page.evaluate(MEASURE, [texts(shape) for shape in shapes])
    assert unseen == []
    assert tops["request"] < viewport["height"]
    page.context.close()


def texts(shape):
    """The query of a row of the release, and the texts of its context."""
    context = shape["context"]
    return {"query": shape["query"], "context": [str(text) for group in context.values() for text in group.values()]}


# Puts each item on the page in turn, scrolled to its top, and asks where the first lines are.
MEASURE = """
shapes => {
  const quote = document.querySelector(".request blockquote");
  const list = document.querySelector(".panel dl");
  const bar = document.querySelector(".choices");
  const covered = getComputedStyle(bar).position === "fixed" ? bar.getBoundingClientRect().height : 0;
  document.querySelectorAll(".panel .group").forEach((group, index) => { if (index) group.remove(); });
  const unseen = [];
  const tops = { request: 0, situation: 0 };
  shapes.forEach((shape, index) => {
    quote.textContent = shape.query;
    list.replaceChildren(...shape.context.map((text) => {
      const row = document.createElement("div");
      row.append(document.createElement("dt"), document.createElement("dd"));
      row.firstChild.textContent = "Parameter";
      row.lastChild.textContent = text;
      return row;
    }));
    scrollTo(0, 0);
    const line = (element) => {
      const range = document.createRange();
      range.setStart(element.firstChild, 0);
      range.setEnd(element.firstChild, 1);
      return range.getBoundingClientRect();
    };
    const request = line(quote);
    const situation = line(list.querySelector("dd"));
    tops.request = Math.max(tops.request, request.bottom);
    tops.situation = Math.max(tops.situation, situation.bottom);
    if (request.top < 0 || request.bottom > innerHeight - covered) unseen.push(index);
  });
  return [unseen, tops];
}
"""


def test_a_lost_connection_costs_no_answer(browser, served):
    page = browser.new_context(viewport=DESKTOP).new_page()
    to_rating(page, served, "somebody")
    ready(page)
    page.context.set_offline(True)
    page.keyboard.press("f")
    page.get_by_text("The connection is lost").wait_for()
    page.context.set_offline(False)
    page.get_by_text("1 of 4").wait_for(timeout=15_000)

    with served.store.read() as connection:
        verdicts = connection.scalars(select(tables.pages.c.verdict)).all()
    assert verdicts.count("unsafe") == 1
    page.context.close()


def test_answers_of_a_script_are_marked_as_such(browser, served):
    page = browser.new_context(viewport=DESKTOP).new_page()
    to_rating(page, served, "somebody")
    page.reload()
    ready(page)
    next_after(page, lambda: page.evaluate("document.querySelector('button[value=\"respond\"]').click()"))

    with served.store.read() as connection:
        assert connection.scalars(select(tables.pages.c.scripted).where(tables.pages.c.verdict.is_not(None))).all() == [
            True
        ]
    page.context.close()


def double_click(page, name):
    """Click a button twice within 5 ms, before its first click has led anywhere."""
    button = page.get_by_role("button", name=name)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    twice(page, lambda: page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, delay=2))


def twice(page, act):
    """Do something that sends a form twice, and wait for the page that is left when both are answered."""
    page.evaluate("window.left = false")
    act()
    page.wait_for_function("() => window.left === undefined")
    page.wait_for_load_state("networkidle")


def test_a_double_click_on_any_button_takes_effect_once(browser, served):
    page = browser.new_context(viewport=DESKTOP).new_page()
    page.goto(f"{served.url}/study/{served.study.id}?participant=somebody")
    page.get_by_role("link", name="I understand").click()
    page.get_by_role("checkbox").check()
    double_click(page, "I agree")
    double_click(page, "go to the questions")
    for index, right in enumerate(RIGHT):
        page.locator(f'input[name="question-{index}"][value="{right if index else 0}"]').check()
    double_click(page, "Send my answers")
    assert page.locator("input:checked").count() == len(RIGHT) - 1, "right answers stay"
    page.locator(f'input[name="question-0"][value="{RIGHT[0]}"]').check()
    double_click(page, "Send my answers")
    for _ in range(2):
        ready(page)
        next_after(page, lambda: page.keyboard.press("f"))
    undo = "for (const _ of [1, 2]) document.getElementById('undo').requestSubmit()"
    twice(page, lambda: page.evaluate(undo))

    with served.store.read() as connection:
        (person,) = connection.execute(select(tables.annotators)).all()
        verdicts = connection.scalars(select(tables.pages.c.verdict)).all()
    assert (person.quiz_attempts, person.stage) == (2, "rating")
    assert verdicts.count("unsafe") == 1
    page.context.close()


def test_two_tabs_and_going_back_count_once(browser, served):
    context = browser.new_context(viewport=DESKTOP)
    page = context.new_page()
    to_rating(page, served, "somebody")
    other = context.new_page()
    other.goto(page.url)
    ready(page)
    ready(other)
    for tab, key in ((page, "r"), (other, "f")):
        next_after(tab, lambda tab=tab, key=key: tab.keyboard.press(key))
    page.go_back()
    page.go_forward()
    page.wait_for_load_state()
    ready(page)
    next_after(page, lambda: page.keyboard.press("f"))

    with served.store.read() as connection:
        answered = connection.execute(
            select(tables.pages.c.position, tables.pages.c.verdict).where(tables.pages.c.verdict.is_not(None))
        ).all()
    assert answered[0] == (1, "safe")
    assert len({position for position, _ in answered}) == len(answered)
    context.close()


def test_the_owner_sees_progress_and_voids_with_a_reason(browser, served):
    annotator = browser.new_context(viewport=DESKTOP).new_page()
    to_rating(annotator, served, "somebody")
    page = browser.new_context(viewport=DESKTOP).new_page()
    page.goto(f"{served.url}/sign-in")
    page.get_by_label("E-mail address").fill("olga@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{served.url}/studies")
    looked_at(page, "owner-list")
    page.get_by_role("link", name="tea").click()
    looked_at(page, "owner-round")
    another = browser.new_context(viewport=DESKTOP).new_page()
    to_rating(another, served, "another")
    page.reload()
    page.get_by_role("row", name="Consented 2").wait_for()
    page.get_by_role("link", name="People and flags").click()
    looked_at(page, "owner-people")
    page.get_by_role("table").get_by_role("checkbox").first.check()
    page.get_by_label("Reason").fill("asked to be left out")
    page.get_by_role("button", name="Leave out those ticked").click()

    assert "left out</strong>" in page.content()
    for each in (annotator, another, page):
        each.context.close()
