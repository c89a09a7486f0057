import re

import pytest
from sqlalchemy import select
from tests.support.app import PASSWORD, add_person, signed_in, visitor

from casewise.database.staff import Role, find_by_email
from casewise.database.tables import staff


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


@pytest.mark.slow
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


def test_the_server_says_whether_its_database_answers(app, monkeypatch):
    assert visitor(app).get("/health").json() == {"database": "answers"}
    monkeypatch.setattr(app.state.database, "problem", lambda *, now: "the disk is full")
    assert visitor(app).get("/health").status_code == 503


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
