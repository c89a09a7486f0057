"""What nobody may see: another's pages, the intended label, the owner's numbers."""

from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.support.app import form_token, signed_in
from tests.support.study import Walker, opened
from tests.web.test_routes import ALLOWED, refused

from casewise.database import tables
from casewise.database.staff import Role
from casewise.studies.owner import ARRIVAL_LIMIT, purge
from casewise.web import security as plain_requests


@pytest.fixture
def study(app):
    return opened(app.state.database)


@pytest.mark.slow
def test_an_owner_sees_progress_and_flags(app, study):
    Walker(app, study).to_end()
    owner = signed_in(app, "Olga", Role.OWNER)

    assert "tea" in owner.get("/studies").text
    assert "3" in owner.get(f"/studies/{study.id}").text
    assert "completed" in owner.get(f"/studies/{study.id}/people").text


def test_a_cookie_that_was_edited_is_nobodys(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    cookie = str(walker.guest.client.cookies.get("casewise_study"))
    walker.guest.client.cookies.clear()
    walker.guest.client.cookies.set("casewise_study", cookie[:-2] + "xx")

    assert walker.open("/rate") == ""


def test_a_cookie_of_one_round_opens_no_other(app, study):
    other = opened(app.state.database, phase="pilot")
    walker = Walker(app, study)
    walker.to_rating()
    walker.at = f"/study/{other.id}"

    assert walker.open("/rate") == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "status"),
    [({"sight": "a\0b"}, 400), ({"sight": "x" * plain_requests.LONGEST_BODY}, 413), ({"csrf": "x"}, 403)],
)
def test_an_answer_goes_through_what_every_request_goes_through(app, study, more, status):
    walker = Walker(app, study)
    walker.to_rating()
    form = {"csrf": form_token(walker.page), "step": walker.token, "decision": "respond", **more}
    answer = walker.guest.client.post(f"{walker.at}/rate", data=form)

    assert answer.status_code == status
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    with app.state.database.read() as connection:
        assert not connection.execute(select(tables.study.pages).where(tables.study.pages.c.state == "rated")).all()


def test_an_answer_may_come_as_a_form_with_parts(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    form = {"csrf": form_token(walker.page), "step": walker.token, "decision": "respond"}
    walker.guest.client.post(f"{walker.at}/rate", files={name: (None, said) for name, said in form.items()})

    with app.state.database.read() as connection:
        assert connection.execute(select(tables.study.pages).where(tables.study.pages.c.state == "rated")).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "junk", ["", ".", "1.0.0.", "1.0.0.abc", "9" * 400, "a.b.c.d", "\0", "1.0.99999999999999999999.x"]
)
def test_a_made_up_page_token_changes_nothing(app, study, junk):
    walker = Walker(app, study)
    walker.to_rating()
    walker.send("/rate", step=junk, decision="respond")

    assert walker.status == (400 if junk == "\0" else 200)
    assert walker.open("/rate") == "/rate"
    assert "0 of 4" in walker.page


@pytest.mark.slow
def test_quiz_attempts_are_limited(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    for _ in range(60):
        walker.guest.client.post(f"{walker.at}/undo", data={"csrf": walker.page.split('name="csrf" value="')[1][:64]})
    answer = walker.guest.client.post(
        f"{walker.at}/undo", data={"csrf": walker.page.split('name="csrf" value="')[1][:64]}
    )

    assert answer.status_code == 429


def test_arrivals_are_counted_without_their_address_and_for_a_day(app, study):
    Walker(app, study).to_quiz()
    limits = tables.staff.rate_limits
    with study.write(app.state.database, datetime.now(UTC) + timedelta(days=2)) as live:
        keys = [key for key in live.scalars(select(limits.c.key)) if key.startswith(ARRIVAL_LIMIT)]
        purge(live)
        left = live.scalars(select(limits.c.key).where(limits.c.key.startswith(ARRIVAL_LIMIT))).all()

    assert len(keys) == 2, "one of the address, and one of the person, both hashed anew each day"
    assert not any("testclient" in key or "alice" in key for key in keys)
    assert left == []


@pytest.mark.slow
def test_an_annotator_gets_nowhere_but_to_their_own_pages(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    client = TestClient(app, follow_redirects=False, raise_server_exceptions=False, cookies=walker.guest.client.cookies)
    for (method, path), roles in sorted(ALLOWED.items(), key=str):
        address = path.replace("{study_id}", study.id).replace("{", "").replace("}", "")
        answer = client.request(method, address, data={"csrf": form_token(walker.page)})
        assert answer.status_code < 500, (method, path)
        if None not in roles:
            assert refused(answer), (method, path, answer.status_code)
