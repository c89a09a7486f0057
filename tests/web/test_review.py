import re
from html import unescape
from typing import Any
from urllib.parse import urljoin

import pytest
from tests.contexts.drafts import queries, room
from tests.contexts.wordings import FIELDS, wording
from tests.support.app import NOW, PASSWORD, add_person, entered, form_token, signed_in, visitor

from casewise.contexts import store as review_store
from casewise.contexts.checks import Wording
from casewise.contexts.drafts import add_queries, create_draft
from casewise.contexts.review import Act, Phase, ReviewAction
from casewise.database.staff import Role
from casewise.records import Category, Query, Taxonomy, Turn, action_parameters


@pytest.fixture
def app(app_on_either):
    return app_on_either


@pytest.fixture
def here(app):
    return room(app.state.database)


def decide(guest, place, act, **fields):
    page = f"/review/contexts/{place.id}"
    return guest.send(page, act=act, seen=str(place.state.version), **fields)


def test_the_warning_comes_before_anything_else(app, here):
    ada = visitor(app)
    ada.send("/sign-in", email="ada@example.org", password=PASSWORD)

    for path in ("/review/drafts/letters", "/review/drafts/letters/next", f"/review/contexts/{here.place().id}"):
        assert ada.get(path).headers["location"] == "/review/drafts/letters/warning"


@pytest.mark.slow
def test_a_category_is_passed_on_without_a_reason(app, here):
    ada = entered(app, "ada")

    passed_on: Any = {"pass": [here.place().query.category]}
    ada.send("/review/drafts/letters/warning", **passed_on)

    page = ada.get("/review/drafts/letters").text
    assert "letter number 0" not in page
    assert "letter number 1" in page


def test_a_review_is_taken_back_by_its_button_and_begun_anew(app, here):
    ada = entered(app, "ada")
    decide(ada, here.place(), "submit", **FIELDS | {"recipient.type": "Cashier of a savings bank"})
    page = f"/review/contexts/{here.place().id}"

    assert "Take it back" in ada.get(page).text
    assert decide(ada, here.place(), "take back").headers["location"].startswith(page)
    assert here.place().state.phase == Phase.GENERATED
    assert "Take it back" not in ada.get(page).text
    assert ">Cashier of a savings bank</textarea>" in ada.get(page).text


def test_the_full_way_of_one_context(app, here):
    ada, ben, cleo = (entered(app, name) for name in ("ada", "ben", "cleo"))

    decide(ada, here.place(), "submit unchanged")
    decide(ben, here.place(), "submit", **(FIELDS | {"recipient.type": "Cashier"}))
    assert here.place().state.phase == Phase.IN_DISCUSSION
    decide(ada, here.place(), "comment", reason="Why a cashier?")
    decide(ada, here.place(), "accept")
    decide(cleo, here.place(), "take")
    decide(cleo, here.place(), "return", reason="Say what kind of bank.")
    decide(ben, here.place(), "offer", **(FIELDS | {"recipient.background": "At a savings bank"}))
    decide(ada, here.place(), "accept")
    decide(cleo, here.place(), "take")
    decide(cleo, here.place(), "approve")
    decide(ada, here.place(), "confirm")
    decide(ben, here.place(), "confirm")

    place = here.place()
    assert place.state.phase == Phase.APPROVED
    assert place.state.wording == wording(recipient__background="At a savings bank")
    history = ada.get(f"/review/contexts/{place.id}/history").text
    assert "Say what kind of bank." in history
    assert "Cleo" in history


@pytest.mark.slow
def test_why_a_context_came_back_is_said_at_the_top_until_it_is_approved(app, here):
    ada, ben, cleo = (entered(app, name) for name in ("ada", "ben", "cleo"))
    page = f"/review/contexts/{here.place().id}"
    for guest, act in [(ada, "submit unchanged"), (ben, "submit unchanged"), (cleo, "take")]:
        decide(guest, here.place(), act)
    assert "read why" not in ada.get(page).text
    decide(cleo, here.place(), "return", reason="Say what kind of bank.")
    shown = ada.get(page).text
    said = re.search(r'Cleo returned it: <a href="#(said-[0-9]+)">read why', shown)
    assert said is not None
    assert f'id="{said[1]}"' in shown
    assert shown.index(said[0]) < shown.index("<textarea") < shown.index(f'id="{said[1]}"')
    for guest, act in [(ada, "offer"), (ben, "offer"), (cleo, "take"), (cleo, "approve")]:
        decide(guest, here.place(), act, **FIELDS)
    decide(ada, here.place(), "object", reason="Not so.")
    assert "Ada objected" in ben.get(page).text
    decide(ben, here.place(), "give up", reason="Nobody asks this at a bank.")
    shown = ada.get(page).text
    assert "Ben marked it beyond repair" in shown
    assert "Nobody asks this at a bank." in shown


@pytest.mark.slow
@pytest.mark.parametrize("role", list(Role))
def test_nobody_is_led_to_a_page_that_is_not_for_them(app, here, role):
    guest, seen, waiting = signed_in(app, "Zoe", role), set(), ["/"]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        answer = guest.client.get(at, follow_redirects=True)
        assert answer.status_code == 200, at
        if "I have read this" in answer.text and role in {Role.REVIEWER, Role.EXPERT}:
            guest.send("/review/drafts/letters/warning")
        links = (
            urljoin(str(answer.url.path), unescape(link)) for link in re.findall(r'<a [^>]*href="([^"]+)"', answer.text)
        )
        waiting += [link.partition("#")[0] for link in links if link.startswith("/")]
    assert len(seen) > 1


def test_an_administrator_sees_what_reviewers_are_warned_of_and_is_asked_nothing(app, here):
    adam = signed_in(app, "Adam", Role.ADMINISTRATOR)
    page = adam.get("/review/drafts/letters/warning")
    assert page.status_code == 200
    assert "I have read this" not in page.text


@pytest.mark.slow
def test_nobody_sees_a_reviewers_words_before_submitting(app, here):
    ada, ben, root = entered(app, "ada"), entered(app, "ben"), signed_in(app, "Root", Role.ADMINISTRATOR)
    decide(ada, here.place(), "submit", **(FIELDS | {"recipient.type": "A cashier of the Dresdner"}))

    for guest, path in ((ben, ""), (ben, "/history"), (root, ""), (root, "/history")):
        assert "Dresdner" not in guest.get(f"/review/contexts/{here.place().id}{path}").text
    decide(ben, here.place(), "submit unchanged")
    for path in ("", "/history"):
        assert "Dresdner" in ben.get(f"/review/contexts/{here.place().id}{path}").text


@pytest.mark.slow
def test_after_a_decision_the_next_context_comes(app, here):
    ada, place = entered(app, "ada"), here.place()
    onward = decide(ada, place, "submit unchanged").headers["location"]
    page = ada.client.get(onward, follow_redirects=True)

    assert page.url.path != f"/review/contexts/{place.id}"
    assert f'Approved unchanged. This is the next context; <a href="/review/contexts/{place.id}">' in page.text


def test_who_acts_on_an_older_version_is_told_and_keeps_their_words(app, here):
    ada, ben = entered(app, "ada"), entered(app, "ben")
    decide(ada, here.place(), "submit unchanged")
    decide(ben, here.place(), "submit", **(FIELDS | {"recipient.type": "Cashier"}))
    seen = here.place()
    decide(ben, seen, "offer", **(FIELDS | {"recipient.type": "Teller"}))

    answer = decide(ada, seen, "offer", **(FIELDS | {"recipient.type": "Chief teller of Leipzig"}))

    assert answer.status_code == 409
    assert "Another person changed" in answer.text
    assert "Chief teller of Leipzig" in answer.text
    assert here.place().state.positions[here.ada.id] == wording()


@pytest.mark.slow
@pytest.mark.parametrize("act", ["approve", "restart", "generate", "nonsense", ""])
def test_a_reviewer_cannot_do_what_is_not_a_reviewers(app, here, act):
    answer = decide(entered(app, "ada"), here.place(), act, reason="because")

    assert answer.status_code in {400, 403}
    assert here.place().state.phase == Phase.GENERATED


@pytest.mark.slow
def test_an_administrator_can_have_a_context_reviewed_anew(app, here):
    decide(entered(app, "ada"), here.place(), "submit unchanged")
    root = signed_in(app, "Root", Role.ADMINISTRATOR)

    decide(root, here.place(), "restart", reason="Ada left.")

    assert here.place().state.phase == Phase.GENERATED
    assert here.place().state.reviewers == ()


@pytest.mark.slow
def test_a_new_round_shows_what_the_other_said_in_the_last_only_to_who_has_judged(app, here):
    ada, ben, root = entered(app, "ada"), entered(app, "ben"), signed_in(app, "Root", Role.ADMINISTRATOR)
    decide(ada, here.place(), "submit", **(FIELDS | {"recipient.type": "A cashier of the Dresdner"}))
    decide(ben, here.place(), "submit unchanged")
    decide(ada, here.place(), "comment", reason="Banks have tellers.")
    decide(ben, here.place(), "comment", reason="Not in Leipzig.")
    decide(root, here.place(), "restart", reason="Begin with the new rules.")

    def said(guest):
        pages = [guest.get(f"/review/contexts/{here.place().id}{path}").text for path in ("", "/history")]
        words = ["Banks have tellers.", "Dresdner", "Not in Leipzig.", "Begin with the new rules."]
        return [[word in page for page in pages] for word in words]

    nothing, history, both = [False, False], [False, True], [True, True]
    assert said(ben) == [nothing, nothing, both, both]
    assert said(root) == [both, history, both, both]
    decide(ben, here.place(), "submit unchanged")
    assert said(ben) == [nothing, nothing, both, both], "a review that can be taken back is not given yet"
    decide(ada, here.place(), "submit unchanged")
    assert said(ben) == [both, history, both, both]


@pytest.mark.slow
def test_who_wrote_a_context_anew_is_told_who_reviews_it(app, here):
    ada, ben = entered(app, "ada"), entered(app, "ben")
    decide(ada, here.place(), "give up", reason="It answers another query.")
    decide(ben, here.place(), "rewrite", **FIELDS)
    page = f"/review/contexts/{here.place().id}"
    assert "Too few others review this category" in ben.get(page).text
    assert "It answers another query." in ada.get(page).text

    signed_in(app, "Dora", Role.REVIEWER)
    shown = ben.get(page).text
    assert "so two others review them" in shown
    assert "Submit my review" not in shown
    assert decide(ben, here.place(), "submit unchanged").status_code == 400
    decide(ada, here.place(), "submit unchanged")
    assert here.place().state.phase == Phase.UNDER_REVIEW


@pytest.mark.slow
def test_texts_are_escaped_everywhere(app, here):
    ada, ben = entered(app, "ada"), entered(app, "ben")
    nasty = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    decide(ada, here.place(), "submit", **(FIELDS | {"recipient.type": nasty}))
    decide(ben, here.place(), "submit unchanged")
    decide(ada, here.place(), "comment", reason=nasty)

    for path in ("", "/history"):
        page = ben.get(f"/review/contexts/{here.place().id}{path}").text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page


def autosave(guest, place, text, *, saved=0):
    token = form_token(guest.get(f"/review/contexts/{place.id}").text)
    return guest.client.post(
        f"/review/contexts/{place.id}/autosave",
        json={"fields": {"recipient.type": text, "unknown": "x"}, "saved": saved, "version": place.state.version},
        headers={"X-CSRF-Token": token, "Accept": "application/json"},
    )


def test_what_is_typed_is_kept_and_comes_back(app, here):
    ada = entered(app, "ada")

    assert autosave(ada, here.place(), "A half-typed thou").json() == {"saved": 1}

    assert "A half-typed thou" in ada.get(f"/review/contexts/{here.place().id}").text
    assert "A half-typed thou" not in entered(app, "ben").get(f"/review/contexts/{here.place().id}").text
    decide(ada, here.place(), "discard")
    assert "A half-typed thou" not in ada.get(f"/review/contexts/{here.place().id}").text


@pytest.mark.slow
def test_a_second_tab_is_warned_instead_of_overwriting(app, here):
    ada = entered(app, "ada")
    autosave(ada, here.place(), "first tab")

    answer = autosave(ada, here.place(), "second tab")

    assert answer.status_code == 409
    assert answer.json()["newer"]["fields"] == {"recipient.type": "first tab"}
    assert "first tab" in ada.get(f"/review/contexts/{here.place().id}").text


def test_nothing_is_autosaved_without_the_form_token_or_for_who_has_submitted(app, here):
    ada, place = entered(app, "ada"), here.place()
    words = {"fields": {}, "saved": 0, "version": 1}
    assert ada.client.post(f"/review/contexts/{place.id}/autosave", json=words).status_code == 403
    decide(ada, place, "submit unchanged")
    assert autosave(ada, here.place(), "too late").status_code == 409


def test_filters_that_make_no_sense_filter_nothing(app, here):
    page = entered(app, "ada").get("/review/drafts/letters?phase=nonsense&intent=perhaps&after=-1&category=")

    assert page.status_code == 200
    assert page.text.count('<li class="card">') == 4


def test_the_progress_page_counts(app, here):
    here.do(here.place(0), here.ada, Act.SUBMIT, wording())
    here.do(here.place(0), here.ben, Act.SUBMIT, wording())

    page = entered(app, "ada").get("/review/drafts/letters/progress").text

    assert "1 of 1: 100 % [" in page


@pytest.fixture
def administrator(app):
    add_person(app.state.database, "Dora", Role.ADMINISTRATOR)
    guest = visitor(app)
    guest.send("/sign-in", email="dora@example.org", password=PASSWORD)
    return guest


def failed_place(here):
    """A context that could not be generated: a query of its own, added to the draft."""
    with here.store.write() as connection:
        add_queries(connection, here.draft, queries(3)[2:], now=NOW)
    place = here.place(4)
    with here.store.write() as connection:
        action = ReviewAction(by="some/model", act=Act.FAIL, reason="refused: no")
        return review_store.act(connection, place.id, action, seen=None, now=NOW)


def test_a_context_that_could_not_be_generated_waits_for_reviewers_who_write_it(app, here):
    place, ada = failed_place(here), entered(app, "ada")

    assert "letter number 2" in ada.get("/review/drafts/letters?mine=yes").text
    page = ada.get(f"/review/contexts/{place.id}").text
    assert "It has no text (refused: no). You can write it." in page
    decide(ada, place, "rewrite", reason="The model refused", **FIELDS)

    after = here.place(4)
    assert (after.state.phase, after.state.author) == (Phase.GENERATED, here.ada.id)
    with here.store.read() as connection:
        assert review_store.events_of(connection, place.id)[-1].reason == "The model refused"


@pytest.mark.slow
def test_a_query_is_withdrawn_by_administrators_with_a_reason_and_restored(app, here, administrator):
    ada, place = entered(app, "ada"), here.place()

    assert decide(ada, place, "withdraw", reason="Because").status_code == 403
    assert "Say why" in decide(administrator, place, "withdraw", reason=" ").text
    assert "Withdraw this query?" in administrator.get(f"/review/contexts/{place.id}").text
    decide(administrator, place, "withdraw", reason="Nobody asks this")

    assert [one.state.phase for one in here.places()[:3]] == [Phase.WITHDRAWN, Phase.WITHDRAWN, Phase.GENERATED]
    assert "letter number 0" not in ada.get("/review/drafts/letters").text
    refused = decide(ada, here.place(), "submit", **FIELDS)
    assert refused.status_code == 400
    assert "is withdrawn" in refused.text
    decide(administrator, here.place(1), "restore", reason="Somebody does")
    assert [one.state.phase for one in here.places()[:2]] == [Phase.GENERATED, Phase.GENERATED]
    assert "Nobody asks this" in ada.get(f"/review/contexts/{place.id}").text


def test_a_stale_page_does_not_withdraw_a_query(app, here, administrator):
    stale = here.place()
    for guest in (entered(app, "ada"), entered(app, "ben")):
        decide(guest, here.place(), "submit", **FIELDS)

    assert decide(administrator, stale, "withdraw", reason="Because").status_code == 409
    assert Phase.WITHDRAWN not in {one.state.phase for one in here.places()}


@pytest.mark.slow
def test_the_reason_of_a_revision_is_read_once_both_have_submitted(app, here):
    ada, ben = entered(app, "ada"), entered(app, "ben")
    page = f"/review/contexts/{here.place().id}"
    decide(ada, here.place(), "submit", reason="A cashier sees letters", **FIELDS | {"recipient.type": "Cashier"})

    assert "A cashier sees letters" not in ben.get(page).text
    assert "A cashier sees letters" not in ben.get(f"{page}/history").text
    assert "A cashier sees letters" in ada.get(page).text
    decide(ben, here.place(), "submit unchanged")
    assert "A cashier sees letters" in ben.get(page).text


def test_the_page_says_in_which_parameters_the_pair_differs(app, here):
    ada, ben = entered(app, "ada"), entered(app, "ben")
    page = f"/review/contexts/{here.place().id}"
    assert "The pair is <strong>identical</strong>" in ada.get(page).text
    for guest in (ada, ben):
        decide(guest, here.place(), "submit", **FIELDS | {"recipient.type": "Cashier"})

    shown = ada.get(page).text
    assert re.search(r"Differs in</dt><dd>Who the user is</dd>", shown), shown
    assert "nearly identical pair" in ada.get(f"/review/contexts/{here.place(1).id}").text


@pytest.mark.slow
def test_a_finding_about_two_contexts_goes_from_both_when_one_is_changed(app, here):
    changes = {name: f"{number} is said here {number}" for number, name in enumerate(FIELDS)}
    assert [one.check for one in here.place(1).findings] == ["identical pair"]
    for guest in (entered(app, "ada"), entered(app, "ben")):
        decide(guest, here.place(), "submit", **changes)

    assert [here.place().findings, here.place(1).findings] == [[], []]


def test_reviewers_of_an_action_see_what_went_before_and_the_parameters_of_actions(app, here):
    query = Query(
        text="The agent is about to use the tool “send email”.\n\nto: ann@example.org",
        judged="action",
        before=(Turn(role="user", text="Tell Ann."),),
        category="tools",
    )
    taxonomy = Taxonomy(name="tools", categories=(Category(name="tools", domain="tools"),))
    fields = {
        "sender.agent": "a clerk's",
        "recipient.who": "a colleague",
        "transmission_principle.purpose": "a meeting",
    }
    with app.state.database.write() as connection:
        draft = create_draft(
            connection, "calls", queries=[query], taxonomy=taxonomy, parameters=action_parameters(), now=NOW
        )
        for place in review_store.all_places(connection, draft.id):
            words = Wording.from_fields(fields, action_parameters())
            action = ReviewAction(by="fake/contexts", act=Act.GENERATE, wording=words)
            review_store.act(connection, place.id, action, seen=None, now=NOW)
    ada = visitor(app)
    ada.send("/sign-in", email="ada@example.org", password=PASSWORD)
    ada.send("/review/drafts/calls/warning")
    page = unescape(ada.get(f"/review/contexts/{place.id}").text)
    assert page.index("Tell Ann.") < page.index("to: ann@example.org")
    assert "Whose agent it is" in page
    assert "a colleague" in page
