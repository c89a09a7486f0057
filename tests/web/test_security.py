"""Signatures, cookies, forms, headers and passwords, and what no request may hold."""

import asyncio
import hashlib
import hmac
import re
from types import SimpleNamespace

import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient
from itsdangerous import URLSafeSerializer
from sqlalchemy import select
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from tests.support.app import PASSWORD, add_person, form_token, hashed_password, signed_in, visitor
from tests.support.server import KEY
from tests.support.study import opened

from casewise.database.staff import Role
from casewise.database.tables import staff
from casewise.settings import Settings
from casewise.web import create_app, security
from casewise.web.security import (
    LONGEST_BODY,
    BodyLimit,
    HeadRequests,
    SecurityHeaders,
    SentForm,
    Signing,
    add_headers,
    check_csrf,
    csrf_token,
    hash_password,
    password_fits,
    password_problem,
    read_cookie,
    refuse_nul,
    sent_form,
    set_cookie,
)

# Signatures.


def test_a_signature_holds_for_its_text_its_use_and_its_key_alone():
    signing = Signing("key")
    signed = signing.sign("ada", use="door")

    assert signing.unsign(signed, use="door") == "ada"
    assert [signing.unsign(wrong, use="door") for wrong in (None, "", "ada", f"{signed}x")] == [None] * 4
    assert signing.unsign(signed, use="window") is None
    assert Signing("another").unsign(signed, use="door") is None
    assert signing.unsign(str(URLSafeSerializer("key", salt="door").dumps(["ada"])), use="door") is None


def test_a_keyed_hash_is_the_hmac_of_its_use_and_its_text():
    expected = hmac.new(b"key", b"limit\0ada", hashlib.sha256).hexdigest()

    assert Signing("key").mac("ada", use="limit") == expected


# Cookies and forms.


def small_app(*, behind_tls=False):
    """An app of three pages, each behind the checks of every request."""
    app = FastAPI(dependencies=[Depends(refuse_nul), Depends(check_csrf)])
    app.state.signing, app.state.settings = Signing("key"), SimpleNamespace(behind_tls=behind_tls)

    @app.get("/give")
    def give(request: Request):
        response = PlainTextResponse(csrf_token(request))
        set_cookie(request, response, security.BROWSER_COOKIE, request.state.browser, lasts_s=60)
        set_cookie(request, response, "brief", "until the browser is closed")
        return response

    @app.get("/read")
    def read(request: Request):
        return [read_cookie(request, "brief"), read_cookie(request, "absent")]

    @app.get("/read/{name}")
    def read_named(name: str):
        return name

    @app.post("/send")
    async def send(request: Request, form: SentForm):
        return form | ({"again": "the same"} if await sent_form(request) is form else {})

    return app


def test_a_cookie_is_signed_for_its_name_and_lasts_as_long_as_it_was_given_for():
    client = TestClient(small_app())
    browser, brief = client.get("/give").headers.get_list("set-cookie")

    assert "Max-Age=60" in browser
    assert "Max-Age" not in brief
    assert all("HttpOnly" in one and "SameSite=lax" in one and "Secure" not in one for one in (browser, brief))
    assert client.get("/read").json() == ["until the browser is closed", None]
    client.cookies.set("absent", client.cookies["brief"])
    assert client.get("/read").json()[1] is None, "the signature is that of another cookie"
    secure = TestClient(small_app(behind_tls=True)).get("/give").headers.get_list("set-cookie")
    assert all("Secure" in one for one in secure)


def test_the_token_of_a_page_is_taken_from_the_header_or_the_form_of_the_same_browser():
    client = TestClient(small_app())
    token = client.get("/give").text
    sent = {"csrf": token, "name": "Ada"}

    assert client.post("/send", data=sent).json() == sent | {"again": "the same"}
    assert client.post("/send", headers={"X-CSRF-Token": token}).status_code == 200
    assert client.post("/send", files={name: (None, value) for name, value in sent.items()}).json()["name"] == "Ada"
    wrong = [{"data": {}}, {"data": {"csrf": "x"}}, {"json": sent}, {"data": sent, "headers": {"X-CSRF-Token": "x"}}]
    answers = [client.post("/send", **request) for request in wrong]  # type: ignore[arg-type]
    assert [(answer.status_code, answer.json()["detail"]) for answer in answers] == [
        (403, "This form is out of date, or cookies are off. Go back, reload the page and send it again.")
    ] * 4
    client.cookies.clear()
    assert client.post("/send", data=sent).status_code == 403


def test_of_a_form_the_last_text_of_each_name_counts_and_files_do_not():
    client = TestClient(small_app())
    token = client.get("/give").text
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    answer = client.post("/send", content=f"csrf={token}&a=1&a=%C3%A9&empty=".encode(), headers=headers)

    assert answer.json() == {"csrf": token, "a": "é", "empty": "", "again": "the same"}
    files: dict[str, tuple[str | None, bytes]] = {"csrf": (None, token.encode()), "photo": ("a.png", b"x")}
    assert client.post("/send", files=files).json() == {"csrf": token, "again": "the same"}


def test_a_form_without_its_token_changes_nothing(app):
    root = signed_in(app, "Root", Role.ADMINISTRATOR)

    answer = root.client.post("/people/invite", data={"email": "x@example.org", "role": "reviewer"})

    assert answer.status_code == 403
    with app.state.database.read() as connection:
        invited = connection.scalars(select(staff.invitations.c.email)).all()
    assert invited == ["root@example.org"]


def test_a_token_of_another_browser_does_not_pass(app):
    root, other = signed_in(app, "Root", Role.ADMINISTRATOR), signed_in(app, "Other", Role.ADMINISTRATOR)
    token = form_token(other.get("/people").text)

    assert root.client.post("/people/invite", data={"csrf": token, "email": "x@example.org"}).status_code == 403


def test_cookies_cannot_be_read_by_scripts_nor_made_up(app):
    ada = visitor(app)
    add_person(app.state.database, "Ada", Role.ADMINISTRATOR)
    answer = ada.send("/sign-in", email="ada@example.org", password=PASSWORD)

    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=lax" in answer.headers["set-cookie"]
    forged = visitor(app)
    forged.client.cookies.set("casewise_session", ada.client.cookies["casewise_session"][:-2] + "xx")
    assert forged.get("/people").status_code == 303


# Headers.


SET = {"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy"}


@pytest.mark.parametrize(
    ("path", "query", "caching"),
    [
        ("/static/casewise.css", b"v=1", "public, max-age=31536000, immutable"),
        ("/static/casewise.css", b"", "no-store"),
        ("/page", b"v=1", "no-store"),
    ],
)
def test_only_static_files_that_are_named_by_their_content_are_kept_by_browsers(path, query, caching):
    headers = MutableHeaders()
    add_headers(headers, {"path": path, "query_string": query}, behind_tls=False)

    assert headers["cache-control"] == caching
    assert "strict-transport-security" not in headers
    assert all(name in headers for name in SET)


def test_behind_tls_browsers_stay_there_for_a_year_and_what_an_answer_sets_itself_stays():
    headers = MutableHeaders({"Cache-Control": "private", "X-Frame-Options": "SAMEORIGIN"})
    add_headers(headers, {"path": "/"}, behind_tls=True)

    assert headers["strict-transport-security"] == "max-age=31536000; includeSubDomains"
    assert (headers["cache-control"], headers["x-frame-options"]) == ("private", "SAMEORIGIN")


async def nothing_comes(*_: object):
    raise AssertionError("nothing is read or sent here")


def answers_of(middleware, scope, *messages):
    """What comes through a middleware of an app that sends these messages."""
    sent, seen = [], []

    async def app(scope, _receive, send):
        seen.append(scope)
        for message in messages:
            await send(message)

    async def keep(message):
        sent.append(message)

    asyncio.run(middleware(app)(scope, nothing_comes, keep))
    return seen[0], sent


START_OF_ANSWER = {"type": "http.response.start", "status": 200, "headers": []}
BODY = {"type": "http.response.body", "body": b"words"}


def test_headers_are_added_to_the_start_of_an_answer_and_to_nothing_but_http():
    def middleware(app):
        return SecurityHeaders(app, behind_tls=False)

    scope = {"type": "http", "path": "/", "method": "GET"}
    _, (start, body) = answers_of(middleware, scope, dict(START_OF_ANSWER, headers=[]), dict(BODY))
    assert b"x-frame-options" in {name.lower() for name, _ in start["headers"]}
    assert body == BODY
    _, sent = answers_of(middleware, {"type": "lifespan"}, dict(START_OF_ANSWER, headers=[]))
    assert sent == [START_OF_ANSWER]


def test_head_is_asked_for_as_get_and_its_answer_has_no_body():
    scope, sent = answers_of(HeadRequests, {"type": "http", "method": "HEAD"}, START_OF_ANSWER, BODY)
    assert (scope["method"], sent) == ("GET", [START_OF_ANSWER, BODY | {"body": b""}])
    for other in ({"type": "http", "method": "POST"}, {"type": "websocket", "method": "HEAD"}):
        assert answers_of(HeadRequests, other, BODY) == (other, [BODY])


def test_head_is_answered_as_get_is_without_a_body(app):
    answer = visitor(app).client.head("/sign-in")

    assert (answer.status_code, answer.content) == (200, b"")


def test_every_answer_has_the_headers(app):
    study = opened(app.state.database)
    for path in ("/sign-in", "/nowhere", "/static/casewise.css", "/people", f"/study/{study.id}?participant=alice"):
        headers = visitor(app).get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert not re.search("unsafe|http", headers["content-security-policy"])
        assert headers["x-content-type-options"] == "nosniff"


def test_behind_tls_cookies_are_secure_and_browsers_are_told_to_stay_there(tmp_path):
    app = create_app(Settings(database=str(tmp_path / "x.db"), secret_key=KEY, site_url="https://review.example.org"))
    answer = visitor(app).get("/sign-in")
    app.state.database.close()

    assert "Secure" in answer.headers["set-cookie"]
    assert "max-age=31536000" in answer.headers["strict-transport-security"]


# Passwords.


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        *((word, "easy to guess") for word in ("password1234", "P@ssw0rd2024!", "qwertyuiop12", "iloveyou2024!")),
        *((word, "easy to guess") for word in ("Welcome12345", "casewise-2026")),
        *((word, "not your e-mail address") for word in ("Ada.Lovelace@Uni.edu", "ada.lovelace ")),
        *((word, "") for word in (PASSWORD, "correct horse battery", "tr4velling-by-night", "welcome dear old friend")),
    ],
)
def test_a_password_that_is_guessed_first_cannot_be_chosen_and_a_few_unrelated_words_can(password, problem):
    said = password_problem(password, "ada.lovelace@uni.edu") or ""
    assert problem in said
    assert bool(said) == bool(problem)


EASY = "This password is easy to guess; a few unrelated words are good."


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("quiet lamp b", None),
        ("quiet lamps", "Choose a password of at least 12 characters; a few unrelated words are good."),
        ("quiet lamp b" * 83 + "abcd", None),
        ("quiet lamp b" * 83 + "abcde", "Choose a password of at most 1000 characters."),
        ("lantrolantro", None),
        ("lantrlantrla", "Choose a password with more different characters."),
        ("Ada.Lovelace@uni.edu", "Choose a password that is not your e-mail address; a few unrelated words are good."),
        ("password abc", EASY),
        ("password abcd", None),
        ("p4$$w0rd-2026", EASY),
    ],
)
def test_a_password_is_long_enough_and_more_than_a_common_word(password, problem):
    assert password_problem(password, "ada.lovelace@uni.edu") == problem


def test_only_the_stored_password_fits_and_none_where_none_is_stored(monkeypatch):
    monkeypatch.setattr(security, "placeholder_hash", hashed_password)

    assert password_fits(PASSWORD, hashed_password())
    assert not password_fits(f"{PASSWORD}s", hashed_password())
    assert not password_fits(PASSWORD, "no hash")
    assert not password_fits(PASSWORD, None)


@pytest.mark.slow
def test_each_password_is_hashed_with_a_salt_of_its_own():
    assert hash_password(PASSWORD).startswith("$argon2id$")
    assert hash_password(PASSWORD) != hash_password(PASSWORD)
    assert not password_fits(PASSWORD, None)


# What no request may hold.


@pytest.mark.parametrize(
    ("method", "address", "body", "status"),
    [
        ("GET", "/read", b"", 200),
        ("GET", "/read/a%00", b"", 400),
        ("GET", "/read?x=%00", b"", 400),
        ("GET", "/read", b"\0", 200),
        ("POST", "/send", b"x", 200),
        *(("POST", "/send", body, 400) for body in (b"a\0b", b"a=%00", b'"\\u0000"')),
    ],
)
def test_a_null_character_is_refused_wherever_it_stands(method, address, body, status):
    client = TestClient(small_app())
    token = client.get("/give").text
    answer = client.request(method, address, content=body, headers={"X-CSRF-Token": token})

    assert answer.status_code == status
    if status == 400:
        assert answer.json()["detail"] == "This request contains a character that is not allowed."


def test_a_nul_is_refused_in_an_address_and_in_a_form(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)
    answers = [ada.get(path) for path in ("/review?category=%00", "/join/%00", "/study/x%00y")]
    answers.append(visitor(app).send("/sign-in", email="a\0@example.org", password=PASSWORD))
    assert {answer.status_code for answer in answers} == {400}


def test_a_request_that_is_too_long_is_refused(app):
    answer = visitor(app).client.post("/sign-in", data={"email": "a" * 1_000_001})

    assert answer.status_code == 413
    assert "request is too large" in answer.text


def read_through_limit(*messages, kind="http"):
    """All that an app reads behind the limit; what comes after `messages` never comes."""
    left = list(messages)

    async def receive():
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    read = []

    async def reads_all(_scope, receive, _send):
        more = True
        while more:
            message = await receive()
            more = message.get("more_body", False)
            read.append(message)

    asyncio.run(BodyLimit(reads_all)({"type": kind}, receive, nothing_comes))
    return read


def piece(size, *, more=True):
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


@pytest.mark.parametrize(("last", "fits"), [(LONGEST_BODY - 9, True), (LONGEST_BODY - 8, False)])
def test_a_body_is_counted_over_all_its_pieces(last, fits):
    pieces = [piece(9), piece(last, more=False)]
    if fits:
        assert read_through_limit(*pieces) == pieces
        return
    with pytest.raises(HTTPException) as refused:
        read_through_limit(*pieces)
    assert (refused.value.status_code, refused.value.detail) == (413, "This request is too large.")
    assert read_through_limit(*pieces, kind="websocket") == pieces


@pytest.mark.parametrize("begun", [(), (piece(1),)])
def test_a_request_that_stops_in_the_middle_is_not_waited_for(monkeypatch, begun):
    monkeypatch.setattr(security, "PATIENCE_S", 0.01)

    with pytest.raises(HTTPException) as stopped:
        read_through_limit(*begun)
    assert (stopped.value.status_code, stopped.value.detail) == (408, "This request is incomplete.")


def test_a_whole_request_is_not_hurried(monkeypatch):
    """An app that waits for the end of the connection, as a long answer does, waits as long as that takes."""
    monkeypatch.setattr(security, "PATIENCE_S", 0.01)

    async def receive():
        if whole:
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}
        whole.append(True)
        return piece(1, more=False)

    async def reads_and_waits(_scope, receive, _send):
        seen.extend([await receive(), await receive()])

    whole: list[bool] = []
    seen: list[dict[str, str]] = []
    asyncio.run(BodyLimit(reads_and_waits)({"type": "http"}, receive, nothing_comes))
    assert [message["type"] for message in seen] == ["http.request", "http.disconnect"]
