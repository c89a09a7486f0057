"""What nobody may see: another's pages, the intended label, the owner's numbers."""

import asyncio
import re
from datetime import UTC, datetime, timedelta

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from sqlalchemy import select
from starlette.exceptions import HTTPException
from tests.support.app import form_token, signed_in, visitor
from tests.support.server import KEY, served_app
from tests.support.study import Walker, opened
from tests.web.test_routes import ALLOWED, refused

from casewise.database import tables
from casewise.database.staff import Role
from casewise.settings import Settings
from casewise.studies.owner import ARRIVAL_LIMIT, purge
from casewise.web import create_app
from casewise.web import security as plain_requests


@pytest.fixture
def study(app):
    return opened(app.state.database)


def test_the_owners_pages_are_closed_to_annotators_and_reviewers(app, study):
    annotator = Walker(app, study)
    annotator.to_rating()
    reviewer = signed_in(app, "Rita", Role.REVIEWER)
    for path in ("/studies", f"/studies/{study.id}", f"/studies/{study.id}/status.json", f"/studies/{study.id}/people"):
        assert annotator.guest.get(path).status_code in {303, 401}
        assert reviewer.get(path).status_code == 403


def test_an_owner_sees_progress_and_flags(app, study):
    Walker(app, study).to_end()
    owner = signed_in(app, "Olga", Role.OWNER)

    assert "tea" in owner.get("/studies").text
    assert "3" in owner.get(f"/studies/{study.id}").text
    status = owner.get(f"/studies/{study.id}/status.json").json()
    assert status["stages"] == {"completed": 1}
    assert "safe" not in status["conditions"][0]
    assert "completed" in owner.get(f"/studies/{study.id}/people").text


def test_voiding_asks_for_a_reason(app, study):
    Walker(app, study).to_end()
    owner = signed_in(app, "Olga", Role.OWNER)
    path = f"/studies/{study.id}/people"
    ticked = {re.findall(r'name="(who-[0-9a-z]+)"', owner.get(path).text)[0]: "yes"}

    assert owner.send(path, action="void", why=" ", **ticked).status_code == 400
    assert owner.send(path, action="void", why="asked us to", **ticked).status_code == 303
    assert "left out</strong>" in owner.get(path).text


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


def test_a_form_without_the_pages_own_token_is_refused(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    answer = walker.guest.client.post(f"{walker.at}/rate", data={"page": walker.token, "decision": "respond"})

    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("more", "status"),
    [({"sight": "a\0b"}, 400), ({"sight": "x" * plain_requests.LONGEST_BODY}, 413), ({"csrf": "x"}, 403)],
)
def test_an_answer_goes_through_what_every_request_goes_through(app, study, more, status):
    walker = Walker(app, study)
    walker.to_rating()
    form = {"csrf": form_token(walker.page), "page": walker.token, "decision": "respond", **more}
    answer = walker.guest.client.post(f"{walker.at}/rate", data=form)

    assert answer.status_code == status
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    with app.state.database.read() as connection:
        assert not connection.execute(select(tables.study.pages).where(tables.study.pages.c.state == "rated")).all()


def test_an_answer_may_come_as_a_form_with_parts(app, study):
    walker = Walker(app, study)
    walker.to_rating()
    form = {"csrf": form_token(walker.page), "page": walker.token, "decision": "respond"}
    walker.guest.client.post(f"{walker.at}/rate", files={name: (None, said) for name, said in form.items()})

    with app.state.database.read() as connection:
        assert connection.execute(select(tables.study.pages).where(tables.study.pages.c.state == "rated")).all()


def test_every_annotators_page_has_a_strict_policy(app, study):
    answer = visitor(app).get(f"/study/{study.id}?participant=alice")
    policy = answer.headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_request_that_stops_in_the_middle_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(plain_requests, "PATIENCE_S", 0.01)

    async def reads_all(_scope, receive, _send):
        while (await receive())["more_body"]:
            pass

    async def half():
        if arrived:
            await asyncio.Event().wait()
        arrived.append(b"x")
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def nowhere(_message):
        raise AssertionError("nothing is answered here")

    arrived: list[bytes] = []
    with pytest.raises(HTTPException) as stopped:
        asyncio.run(plain_requests.BodyLimit(reads_all)({"type": "http"}, half, nowhere))
    assert stopped.value.status_code == 408


def test_an_unknown_round_is_not_found(app):
    assert visitor(app).get("/study/nowhere").status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize(
    "junk", ["", ".", "1.0.0.", "1.0.0.abc", "9" * 400, "a.b.c.d", "\0", "1.0.99999999999999999999.x"]
)
def test_a_made_up_page_token_changes_nothing(app, study, junk):
    walker = Walker(app, study)
    walker.to_rating()
    walker.send("/rate", page=junk, decision="respond")

    assert walker.status == (400 if junk == "\0" else 200)
    assert walker.open("/rate") == "/rate"
    assert "0 of 4" in walker.page


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

    assert len(keys) == 1
    assert "testclient" not in keys[0]
    assert left == []


@pytest.mark.slow
def test_the_json_route_survives_whatever_is_sent(tmp_path):
    path = str(tmp_path / "study.db")
    app = create_app(Settings(database=path, secret_key=KEY, site_url="http://testserver"))
    study = opened(app.state.database)
    owner = signed_in(app, "Olga", Role.OWNER)
    session = {"Cookie": "; ".join(f"{name}={value}" for name, value in owner.client.cookies.items())}
    described = app.openapi()
    described["paths"] = {route: ways for route, ways in described["paths"].items() if route.endswith("status.json")}
    route = schemathesis.openapi.from_dict(described)["/studies/{study_id}/status.json"]["GET"]
    answers = []
    with served_app(path) as server:

        @given(case=route.as_strategy(), known=st.booleans(), signed=st.booleans())
        @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        def send(case, known, signed):
            if known:
                case.path_parameters = {"study_id": study.id}
            answer = case.call(
                base_url=server.url, headers={"Accept": "application/json", **(session if signed else {})}
            )
            case.validate_response(answer, checks=[not_a_server_error])
            answers.append((answer.status_code, known, signed))
            assert answer.json()

        send()
    app.state.database.close()

    assert {status for status, known, signed in answers if known and signed} == {200}
    assert not {status for status, known, signed in answers if not signed} & {200}


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
