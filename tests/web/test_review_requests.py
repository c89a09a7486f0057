"""Requests to the review room: what each button leads to, and what is refused."""

import re
from typing import Any

import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import FIELDS, wording
from tests.support.app import entered, form_token, signed_in

from casewise.contexts.queue import declined_categories
from casewise.contexts.review import Act, Phase
from casewise.contexts.store import events_of
from casewise.database.staff import Role


@pytest.fixture
def here(app):
    return room(app.state.database)


def page_of(place):
    return f"/review/contexts/{place.id}"


def press(guest, place, act, **fields):
    """Send a form as a page of this version of the context holds it; return the status and where it leads."""
    token = form_token(guest.get("/review").text)
    form = {"csrf": token, "act": act, "seen": str(place.state.version), **fields}
    answer = guest.client.post(page_of(place), data={name: text for name, text in form.items() if text is not None})
    return answer.status_code, answer.headers.get("location") or answer.text


def test_a_button_leads_to_the_next_context_or_back_to_the_same_one(app, here):
    ada, ben, root = entered(app, "ada"), entered(app, "ben"), signed_in(app, "Root", Role.ADMINISTRATOR)
    first, page = here.place(), page_of(here.place())
    onward = f"/review/drafts/letters/next?after={first.position}&did={{}}&last={first.id}"

    assert press(ada, first, "submit unchanged") == (303, onward.format("submit+unchanged"))
    assert press(ada, here.place(), "take back") == (303, f"{page}?did=take+back")
    assert press(ada, here.place(), "discard") == (303, f"{page}?did=discard")
    assert press(ada, here.place(), "submit", **FIELDS | {"recipient.type": "Cashier"}) == (
        303,
        onward.format("submit"),
    )
    assert press(ben, here.place(), "submit unchanged") == (303, onward.format("submit+unchanged"))
    assert press(ben, here.place(), "comment", reason=" Why? ") == (303, f"{page}?did=comment")
    assert press(root, here.place(), "restart", reason="Anew.") == (303, f"{page}?did=restart")
    with app.state.database.read() as connection:
        assert [event.reason for event in events_of(connection, first.id)][-2:] == ["Why?", "Anew."]


def test_a_step_that_does_not_exist_or_belongs_to_another_role_or_states_no_version_is_refused(app, here):
    ada, place = entered(app, "ada"), here.place()

    for act in ("nonsense", ""):
        status, text = press(ada, place, act)
        assert (status, f"Unknown step: {act!r}" in text.replace("&#39;", "'")) == (400, True)
    for act, role in (("approve", "expert"), ("restart", "administrator"), ("generate", "")):
        status, text = press(ada, place, act, reason="because")
        assert (status in (400, 403), "This step needs the role" in text and role in text) == (True, act != "generate")
    for seen in (None, "", "x", "-1"):
        status, text = press(ada, place, "submit unchanged", seen=seen)
        assert (status, "does not state which version it shows" in text) == (400, True)
    assert here.place().state == place.state
    for address in ("/review/drafts/other", "/review/drafts/other/progress", "/review/contexts/none"):
        assert ada.get(address).status_code == 404


def test_a_context_with_a_gap_is_shown_again_with_what_was_typed(app, here):
    typed = FIELDS | {"recipient.type": " ", "sender.platform_type": "A forum of stamps"}
    status, page = press(entered(app, "ada"), here.place(), "submit", **typed, reason="Stamps are letters.")

    assert (status, "A forum of stamps" in page, "Stamps are letters." in page) == (400, True, True)
    assert here.place().state.phase == Phase.GENERATED


def test_the_next_context_is_the_one_behind_the_last_that_waits_and_the_queue_after_all(app, here):
    ada = entered(app, "ada")
    places = here.places()

    def following(query=""):
        return ada.get(f"/review/drafts/letters/next{query}").headers["location"]

    assert following() == page_of(places[0])
    assert following(f"?after={places[0].position}") == page_of(places[1])
    assert following(f"?after={places[0].position}&did=submit&last=7a") == f"{page_of(places[1])}?did=submit&last=7a"
    assert following(f"?after={places[-1].position}&last=7") == page_of(places[0]), "from the beginning again"
    for place in places:
        here.do(place, here.ada, Act.SUBMIT, wording())
    assert following("?did=submit") == "/review/drafts/letters?done=all"


def test_only_an_id_is_linked_as_the_context_before(app, here):
    ada, place = entered(app, "ada"), here.place()

    assert '<a href="/review/contexts/7a">' in ada.get(f"{page_of(place)}?did=submit&last=7a").text
    for last in ("", "../x", "%22"):
        page = ada.get(f"{page_of(place)}?did=submit&last={last}").text
        assert not re.search(r'This is the next context; <a href="/review/contexts/', page)


def test_categories_are_passed_on_and_taken_up_again_for_the_drafts_own_taxonomy(app, here):
    ada, category = entered(app, "ada"), here.place().query.category
    warning = "/review/drafts/letters/warning"

    def passed():
        with app.state.database.read() as connection:
            return declined_categories(connection, here.ada.id)

    passed_on: Any = {"pass": [category, "no category of this draft"]}
    ada.send(warning, **passed_on)
    assert passed() == {category}
    ada.send(warning)
    assert passed() == set()


def test_typed_words_are_kept_by_their_number_and_not_where_they_can_no_longer_be_sent(app, here):
    ada, place = entered(app, "ada"), here.place()
    token = form_token(ada.get(page_of(place)).text)

    def keep(text, saved):
        body = {"fields": {"recipient.type": text, "other": "x"}, "saved": saved, "version": place.state.version}
        answer = ada.client.post(
            f"{page_of(place)}/autosave", json=body, headers={"X-CSRF-Token": token, "Accept": "application/json"}
        )
        return answer.status_code, answer.json()

    assert [keep("a", 0), keep("b", 1)] == [(200, {"saved": 1}), (200, {"saved": 2})]
    assert keep("c", 1) == (
        409,
        {"problem": "Another tab saved another text.", "newer": {"saved": 2, "fields": {"recipient.type": "b"}}},
    )
    assert [keep("a", saved)[0] for saved in (-1, 10**9 + 1)] == [422, 422]
    here.do(place, here.ada, Act.SUBMIT, wording())
    status, refused = keep("d", 2)
    assert (status, "You can no longer revise this context" in str(refused)) == (409, True)
