"""The review in real browsers: three people, real clicks, the real server."""

import pytest
from playwright.sync_api import expect
from tests.contexts.drafts import room
from tests.contexts.wordings import wording
from tests.support.app import PASSWORD
from tests.support.browser import DESKTOP, PHONE, serious_problems
from tests.support.databases import new_database
from tests.support.server import running_server, served_app

from casewise.contexts.checks import Wording
from casewise.contexts.review import Act, Phase

CHANGED = wording(recipient__type="Cashier of a savings bank")

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def here(tmp_path):
    store = new_database(tmp_path / "casewise.db")
    yield room(store)
    store.close()


@pytest.fixture
def server(here, request, tmp_path):
    """The app in a thread; in a process where the test is to kill it."""
    path = str(tmp_path / "casewise.db")
    with running_server(path, tmp_path / "log") if hasattr(request, "param") else served_app(path) as running:
        yield running


TO_BE_KILLED = pytest.mark.parametrize("server", ["in a process"], indirect=True)


@pytest.fixture
def opened(browser, server):
    """Sign in as somebody in a browser of their own; contexts are closed at the end."""
    contexts = []

    def open_as(name, *, viewport=DESKTOP, scheme="light", scripts=True):
        context = browser.new_context(viewport=viewport, color_scheme=scheme, java_script_enabled=scripts)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{server.url}/")
        page.get_by_label("E-mail address").fill(f"{name}@example.org")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{server.url}/review/drafts/letters/warning")
        page.get_by_role("button", name="I have read this").click()
        return page

    yield open_as
    for context in contexts:
        context.close()


def go_to(page, server, place):
    page.goto(f"{server.url}/review/contexts/{place.id}")


def test_the_full_way_of_one_context_through_three_browsers_without_scripts(here, server, opened):
    ada, ben, cleo = (opened(name, scripts=False) for name in ("ada", "ben", "cleo"))
    place = here.place()

    go_to(ada, server, place)
    ada.get_by_role("button", name="Approve unchanged").click()
    expect(ada.get_by_text("Approved unchanged.")).to_be_visible()
    go_to(ben, server, place)
    ben.get_by_label("Who the user is").fill("Cashier of a savings bank")
    ben.get_by_role("button", name="Submit my review").click()
    go_to(ada, server, place)
    expect(ada.locator("ins", has_text="Cashier").first).to_be_visible()
    ada.get_by_label("Your comment").fill("Fine with me.")
    ada.get_by_role("button", name="Comment").click()
    ada.get_by_role("button", name="Accept these words").click()
    go_to(cleo, server, place)
    cleo.get_by_role("button", name="Take it").click()
    cleo.get_by_role("button", name="Approve").click()
    for page in (ada, ben):
        go_to(page, server, place)
        page.get_by_role("button", name="Confirm").click()

    assert here.place().state.phase == Phase.APPROVED
    go_to(cleo, server, place)
    cleo.get_by_role("link", name="history").click()
    expect(cleo.get_by_text("Fine with me.")).to_be_visible()


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_axe_finds_nothing_serious_and_nothing_overflows(here, server, opened, viewport, scheme):
    ada = opened("ada", viewport=viewport, scheme=scheme)
    pages = [
        "/review",
        "/review/drafts/letters",
        "/review/drafts/letters/warning",
        "/review/drafts/letters/progress",
        f"/review/contexts/{here.place().id}",
        f"/review/contexts/{here.place().id}/history",
        "/nowhere",
    ]

    for path in pages:
        ada.goto(server.url + path)
        assert serious_problems(ada) == [], path
        assert ada.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path


STATIONS: dict[str, list[tuple[str, Act, Wording | None]]] = {
    "in discussion": [("ada", Act.SUBMIT, CHANGED), ("ben", Act.SUBMIT, wording()), ("ben", Act.COMMENT, None)],
    "agreed": [("ada", Act.SUBMIT, CHANGED), ("ben", Act.SUBMIT, CHANGED)],
    "expert review": [("ada", Act.SUBMIT, CHANGED), ("ben", Act.SUBMIT, CHANGED), ("cleo", Act.TAKE, None)],
    "final check": [
        ("ada", Act.SUBMIT, CHANGED),
        ("ben", Act.SUBMIT, CHANGED),
        ("cleo", Act.TAKE, None),
        ("cleo", Act.APPROVE, None),
    ],
}


def test_axe_finds_nothing_serious_at_any_station_of_the_way(here, server, opened):
    places = dict(zip(STATIONS, here.places(), strict=True))
    for station, steps in STATIONS.items():
        for who, act, words in steps:
            here.do(places[station], getattr(here, who), act, words, "because")

    for name in ("ada", "cleo"):
        page = opened(name)
        for station, place in places.items():
            go_to(page, server, place)
            assert serious_problems(page) == [], (name, station)


def typed_into(page, text):
    page.get_by_label("Who the user is").fill(text)


@TO_BE_KILLED
def test_what_is_typed_survives_the_death_of_the_server(here, server, opened):
    ada = opened("ada")
    go_to(ada, server, here.place())
    typed_into(ada, "Typed before the crash")
    expect(ada.locator("#save-state")).to_have_text("Saved")
    server.kill()
    typed_into(ada, "Typed during the crash")
    expect(ada.locator("#save-state")).to_contain_text("Your words stay in this browser")
    server.start()
    expect(ada.locator("#save-state")).to_have_text("Saved", timeout=30_000)

    ada.reload()
    expect(ada.get_by_label("Who the user is")).to_have_value("Typed during the crash")


@TO_BE_KILLED
def test_what_is_typed_survives_the_death_of_the_browsers_tab(here, server, opened):
    ada = opened("ada")
    go_to(ada, server, here.place())
    server.kill()
    typed_into(ada, "Typed while nobody listened")
    expect(ada.locator("#save-state")).to_contain_text("Your words stay in this browser")
    tab = ada.context.new_page()
    ada.close(run_before_unload=False)
    server.start()

    go_to(tab, server, here.place())
    expect(tab.get_by_label("Who the user is")).to_have_value("Typed while nobody listened")
    expect(tab.locator("#save-state")).to_have_text("Saved")


def test_two_tabs_warn_instead_of_overwriting(here, server, opened):
    first = opened("ada")
    second = first.context.new_page()
    for tab in (first, second):
        go_to(tab, server, here.place())
    typed_into(first, "From the first tab")
    expect(first.locator("#save-state")).to_have_text("Saved")
    typed_into(second, "From the second tab")
    expect(second.get_by_text("Nothing was overwritten")).to_be_visible()

    second.get_by_role("button", name="Use the other words").click()

    expect(second.get_by_label("Who the user is")).to_have_value("From the first tab")
    typed_into(second, "From both")
    expect(second.locator("#save-state")).to_have_text("Saved")


def test_the_keyboard_is_enough(here, server, opened):
    ada = opened("ada")
    go_to(ada, server, here.place())
    ada.get_by_label("Who the user is").focus()
    ada.keyboard.type("x")
    expect(ada.locator("#save-state")).to_have_text("Saved")
    ada.reload()  # the words come back, and beside them a button that discards them
    ada.get_by_label("Who the user is").focus()
    ada.keyboard.press("Control+Enter")

    expect(ada.get_by_text("Your review was submitted.")).to_be_visible()
    assert here.place().state.phase == Phase.UNDER_REVIEW
    before = ada.url
    ada.keyboard.press("Alt+n")
    ada.wait_for_url(lambda url: url != before)
