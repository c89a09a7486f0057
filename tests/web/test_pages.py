"""Pages: who may see them, how they are made, and what goes wrong as a page or as JSON."""

import hashlib

import pytest
from fastapi import HTTPException
from fastapi.testclient import TestClient
from tests.support.app import add_person, signed_in, visitor
from tests.support.study import design, opened

from casewise.database import Database
from casewise.database.staff import Role
from casewise.errors import ConfigurationError
from casewise.web.pages import STATIC, Redirection, static_link

JSON = {"Accept": "application/json"}


def test_who_is_not_signed_in_is_led_to_the_sign_in_and_back_to_the_page_they_wanted(app):
    guest = visitor(app).client

    answer = guest.get("/review/drafts/a b")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/review/drafts/a%20b")
    token = guest.get("/sign-in").text.partition('name="csrf" value="')[2][:64]
    answer = guest.post("/people/x", data={"csrf": token})
    assert answer.headers["location"] == "/sign-in?next=/", "no address leads back to what only a form can do"
    answer = guest.get("/people", headers=JSON)
    assert (answer.status_code, answer.json()) == (401, {"problem": "You are not signed in."})


def test_a_page_is_for_its_roles_and_says_which(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)

    assert ada.get("/review").status_code == 200
    assert ada.client.get("/people", headers=JSON).json() == {
        "problem": "This page is for people with the role administrator."
    }
    refused = ada.client.get("/studies")
    assert (refused.status_code, "<h1>No access</h1>" in refused.text) == (403, True)


@pytest.mark.parametrize(
    ("roles", "addresses"),
    [
        ((Role.REVIEWER,), {"/review"}),
        ((Role.EXPERT, Role.OWNER), {"/review", "/studies"}),
        ((Role.ADMINISTRATOR,), {"/review", "/people"}),
        ((Role.OWNER,), {"/studies"}),
    ],
)
def test_the_navigation_has_what_a_persons_roles_see(app, roles, addresses):
    page = signed_in(app, "Ada", *roles).client.get("/", follow_redirects=True).text

    assert {address for address in ("/review", "/people", "/studies") if f'href="{address}"' in page} == addresses


def test_a_browser_is_given_its_cookie_once(app):
    guest = visitor(app)

    assert "casewise_browser=" in guest.get("/sign-in").headers["set-cookie"]
    assert "set-cookie" not in guest.get("/sign-in").headers


def test_a_link_to_a_static_file_names_its_content():
    content = (STATIC / "casewise.css").read_bytes()

    assert static_link("casewise.css") == f"/static/casewise.css?v={hashlib.sha256(content).hexdigest()[:12]}"


@pytest.mark.parametrize(
    ("error", "status", "title", "message"),
    [
        (ConfigurationError("set this"), 400, "That did not work", "set this"),
        (HTTPException(409, "Open it again."), 409, "Changed by another person", "Open it again."),
        (HTTPException(413, "Too large."), 413, "Request too large", "Too large."),
        (HTTPException(422, "No such box."), 422, "That did not work", "No such box."),
        (HTTPException(429, "Wait a minute."), 429, "Too many attempts", "Wait a minute."),
        (Redirection("/elsewhere", 401), 401, "", "You are not signed in."),
        (RuntimeError("a secret"), 500, "Our mistake", "The server made an error. Nothing was changed"),
    ],
)
def test_an_error_is_told_as_a_page_or_as_json(app, error, status, title, message):
    @app.get("/broken")
    def broken():
        raise error

    client = TestClient(app, raise_server_exceptions=False, follow_redirects=False)
    told = client.get("/broken", headers=JSON)
    assert (told.status_code, told.json()["problem"][: len(message)]) == (status, message)
    page = client.get("/broken")
    if isinstance(error, Redirection):
        assert (page.status_code, page.headers["location"]) == (303, "/elsewhere")
    else:
        assert page.status_code == status
        assert f"<h1>{title}</h1>" in page.text
        assert message in page.text
        assert "a secret" not in page.text


def test_an_address_with_a_value_of_another_kind_is_no_page_and_a_script_is_told_why(app):
    def numbers(number: int) -> int:
        return number

    app.add_api_route("/numbers/{number}", numbers)
    guest = visitor(app).client
    page, told = guest.get("/numbers/two"), guest.get("/numbers/two", headers=JSON)
    assert (page.status_code, "The address is wrong, or the page was removed." in page.text) == (422, True)
    assert told.json()["problem"].startswith("path.number: Input should be a valid integer")
    missing = guest.get("/nowhere")
    assert (missing.status_code, "<h1>Page not found</h1>" in missing.text) == (404, True)
    method = guest.put("/sign-in", headers=JSON)
    assert (method.status_code, method.json()) == (
        405,
        {"problem": "This address does not accept this kind of request."},
    )


def test_an_error_page_of_a_study_is_in_its_language_and_speaks_of_no_roles(app):
    study = opened(app.state.database, design(language="es"))
    guest = visitor(app).client
    guest.get(f"/study/{study.id}")
    form = guest.post(f"/study/{study.id}/consent", data={})

    assert form.status_code == 403
    assert '<html lang="es"' in form.text
    assert "No access" not in form.text
    assert "<h1>No ha funcionado</h1>" in form.text
    assert '<html lang="en"' in guest.get("/study/another").text


def test_names_are_escaped(app):
    root = signed_in(app, "Root", Role.ADMINISTRATOR)
    add_person(app.state.database, "<script>alert(1)</script>", Role.REVIEWER)

    page = root.get("/people").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_an_error_of_ours_is_a_page_with_all_headers_and_without_details(app):
    @app.get("/broken")
    def broken():
        raise RuntimeError("a secret detail")

    guest = TestClient(app, raise_server_exceptions=False)
    answer = guest.get("/broken")

    assert answer.status_code == 500
    assert "a secret detail" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/study/x", "/sign-in", "/study/{study}"])
def test_while_the_database_is_away_people_get_a_page_and_when_to_try_again(app, path):
    study, reachable = opened(app.state.database), app.state.database
    guest = visitor(app)
    guest.get(f"/study/{study.id}")
    app.state.database = Database("postgresql://nobody@127.0.0.1:1/none")
    app.state.rounds.clear()
    guest.client.cookies.set("casewise_session", app.state.signing.sign("token", use="cookie:casewise_session"))
    answer = guest.get(path.format(study=study.id))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "20")
    assert "<h1>Please try again in a moment</h1>" in answer.text
    assert guest.get("/health").status_code == 503
    app.state.database.close()
    app.state.database = reachable
    assert guest.get("/health").status_code == 200
