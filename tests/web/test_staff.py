import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.support.app import PASSWORD, add_person, form_token, signed_in, visitor
from tests.support.server import KEY
from tests.support.study import opened

from casewise.database.staff import Role, find_by_email
from casewise.database.tables import staff
from casewise.settings import Settings
from casewise.web import create_app
from casewise.web.security import password_problem


def invitation_link(administrator, email, *roles):
    page = administrator.send("/people/invite", on="/people", email=email, role=list(roles)).text
    found = re.search(r"http://testserver(/join/[^\"]+)", page)
    assert found is not None, page
    return found[1]


def test_an_invitation_that_cannot_be_made_keeps_what_was_typed(app):
    root = signed_in(app, "root", Role.ADMINISTRATOR)
    answer = root.send("/people/invite", on="/people", email="new@example.org")

    assert answer.status_code == 400
    assert "new@example.org: give at least one role" in answer.text
    assert 'name="email" value="new@example.org"' in answer.text


def join(app, link, **fields):
    return visitor(app).send(link, **({"name": "Ada", "password": PASSWORD, "again": PASSWORD} | fields))


def id_of(app, email):
    with app.state.database.read() as connection:
        person = find_by_email(connection, email)
    assert person is not None
    return person.id


def test_an_invited_person_chooses_a_password_and_is_signed_in(app):
    administrator = signed_in(app, "Root", Role.ADMINISTRATOR)
    link = invitation_link(administrator, "ada@example.org", "reviewer")

    ada = visitor(app)
    ada.send(link, name="Ada", password=PASSWORD, again=PASSWORD)

    assert "Ada" in ada.client.get("/", follow_redirects=True).text
    with app.state.database.read() as connection:
        person = find_by_email(connection, "ADA@example.org")
    assert person is not None
    assert person.roles == {Role.REVIEWER}


def test_an_invitation_works_once(app):
    link = invitation_link(signed_in(app, "Root", Role.ADMINISTRATOR), "ada@example.org", "reviewer")
    join(app, link)

    assert visitor(app).get(link).status_code == 410


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"password": "short", "again": "short"}, "at least 12"),
        ({"password": "aaaaaaaaaaaaaaaa", "again": "aaaaaaaaaaaaaaaa"}, "different characters"),
        ({"again": "another password"}, "differ"),
        ({"name": " "}, "your name"),
    ],
)
def test_a_bad_choice_is_explained_and_leaves_the_link_open(app, fields, says):
    link = invitation_link(signed_in(app, "Root", Role.ADMINISTRATOR), "ada@example.org", "reviewer")

    answer = join(app, link, **fields)

    assert answer.status_code == 400
    assert says in answer.text
    assert visitor(app).get(link).status_code == 200


def test_a_new_password_ends_the_old_sessions(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)
    link = invitation_link(signed_in(app, "Root", Role.ADMINISTRATOR), "ada@example.org")

    join(app, link, password="another long one", again="another long one")

    assert ada.get("/").headers["location"].startswith("/sign-in")


def test_whoever_is_shut_out_is_out_at_once(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)
    root = signed_in(app, "Root", Role.ADMINISTRATOR)
    ada_id = id_of(app, "ada@example.org")

    root.send(f"/people/{ada_id}", on="/people", role=["reviewer"])

    assert ada.get("/").headers["location"].startswith("/sign-in")
    assert visitor(app).send("/sign-in", email="ada@example.org", password=PASSWORD).status_code == 400


def test_an_administrator_cannot_shut_out_themselves(app):
    root = signed_in(app, "Root", Role.ADMINISTRATOR)
    root_id = id_of(app, "root@example.org")

    assert root.send(f"/people/{root_id}", on="/people", role=["administrator"]).status_code == 400
    assert root.get("/people").status_code == 200


def test_signing_out_revokes_the_session_on_the_server(app):
    ada = signed_in(app, "Ada", Role.ADMINISTRATOR)
    stolen = dict(ada.client.cookies)
    ada.send("/sign-out", on="/people")

    thief = visitor(app)
    thief.client.cookies.update(stolen)

    assert thief.get("/people").status_code == 303


def test_a_wrong_password_and_an_unknown_address_are_told_alike(app):
    add_person(app.state.database, "Ada", Role.REVIEWER)

    wrong = visitor(app).send("/sign-in", email="ada@example.org", password="wrong wrong wrong")
    unknown = visitor(app).send("/sign-in", email="nobody@example.org", password=PASSWORD)

    assert wrong.status_code == unknown.status_code == 400
    assert "address or the password is wrong" in wrong.text
    assert "address or the password is wrong" in unknown.text


def test_guessing_is_limited_even_with_the_right_password_in_the_end(app):
    add_person(app.state.database, "Ada", Role.REVIEWER)
    guesser = visitor(app)

    answers = [guesser.send("/sign-in", email="ada@example.org", password=f"guess {n} of many") for n in range(9)]

    assert [answer.status_code for answer in answers] == [400] * 8 + [429]
    assert guesser.send("/sign-in", email="ada@example.org", password=PASSWORD).status_code == 429


def test_nobody_is_locked_out_by_the_guesses_of_others(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)
    ada.send("/sign-out", on="/review")
    for _ in range(9):
        visitor(app).send("/sign-in", email="ada@example.org", password="a guess of somebody")

    assert visitor(app).send("/sign-in", email="ada@example.org", password=PASSWORD).status_code == 429
    assert ada.send("/sign-in", email="ada@example.org", password=PASSWORD).status_code == 303


def test_a_known_browser_may_not_guess_without_end_either(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)
    ada.send("/sign-out", on="/review")
    answers = [ada.send("/sign-in", email="ada@example.org", password=f"guess {n} of many") for n in range(9)]

    assert [answer.status_code for answer in answers] == [400] * 8 + [429]


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


def test_the_server_says_whether_its_database_answers(app, monkeypatch):
    assert visitor(app).get("/health").json() == {"database": "answers"}
    monkeypatch.setattr(app.state.database, "problem", lambda *, now: "the disk is full")
    assert visitor(app).get("/health").status_code == 503


def test_head_is_answered_as_get_is_without_a_body(app):
    answer = visitor(app).client.head("/sign-in")

    assert (answer.status_code, answer.content) == (200, b"")


def test_a_nul_is_refused_in_an_address_and_in_a_form(app):
    ada = signed_in(app, "Ada", Role.REVIEWER)
    answers = [ada.get(path) for path in ("/review?category=%00", "/join/%00", "/study/x%00y")]
    answers.append(visitor(app).send("/sign-in", email="a\0@example.org", password=PASSWORD))
    assert {answer.status_code for answer in answers} == {400}


def test_no_redirect_leads_to_the_host_that_a_request_names(app):
    answer = visitor(app).client.get("/review/", headers={"Host": "evil.example"})

    assert answer.status_code == 404
    assert "evil.example" not in str(answer.headers)


@pytest.mark.slow
def test_the_limits_keep_no_address(app):
    visitor(app).send("/sign-in", email="ada@example.org", password="wrong wrong wrong")

    with app.state.database.read() as connection:
        keys = connection.scalars(select(staff.rate_limits.c.key)).all()
    assert keys
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_leads_to_no_other_host(app, wanted):
    person = add_person(app.state.database, "Ada", Role.REVIEWER)

    answer = visitor(app).send("/sign-in", email=person.email, password=PASSWORD, next=wanted)

    assert answer.headers["location"] == "/"


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


def test_names_are_escaped(app):
    root = signed_in(app, "Root", Role.ADMINISTRATOR)
    add_person(app.state.database, "<script>alert(1)</script>", Role.REVIEWER)

    page = root.get("/people").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_every_answer_has_the_headers(app):
    study = opened(app.state.database)
    for path in ("/sign-in", "/nowhere", "/static/casewise.css", "/people", f"/study/{study.id}?participant=alice"):
        headers = visitor(app).get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert not re.search("unsafe|http", headers["content-security-policy"])
        assert headers["x-content-type-options"] == "nosniff"


def test_cookies_cannot_be_read_by_scripts_nor_made_up(app):
    ada = visitor(app)
    add_person(app.state.database, "Ada", Role.ADMINISTRATOR)
    answer = ada.send("/sign-in", email="ada@example.org", password=PASSWORD)

    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=lax" in answer.headers["set-cookie"]
    forged = visitor(app)
    forged.client.cookies.set("casewise_session", ada.client.cookies["casewise_session"][:-2] + "xx")
    assert forged.get("/people").status_code == 303


def test_an_error_of_ours_is_a_page_with_all_headers_and_without_details(app):
    @app.get("/broken")
    def broken():
        raise RuntimeError("a secret detail")

    guest = TestClient(app, raise_server_exceptions=False)
    answer = guest.get("/broken")

    assert answer.status_code == 500
    assert "a secret detail" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_behind_tls_cookies_are_secure_and_browsers_are_told_to_stay_there(tmp_path):
    app = create_app(Settings(database=str(tmp_path / "x.db"), secret_key=KEY, site_url="https://review.example.org"))
    answer = visitor(app).get("/sign-in")
    app.state.database.close()

    assert "Secure" in answer.headers["set-cookie"]
    assert "max-age=31536000" in answer.headers["strict-transport-security"]


def test_a_request_that_is_too_long_is_refused(app):
    answer = visitor(app).client.post("/sign-in", data={"email": "a" * 1_000_001})

    assert answer.status_code == 413
    assert "request is too large" in answer.text
