"""What Prolific tells by itself: only signed, once each, and whoever left holds no slot."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from tests.studies.test_store import pages_of
from tests.support.app import HOOK_SECRET
from tests.support.study import RIGHT, START, design, opened

from casewise.database.tables import study as tables
from casewise.studies.people import admit, answer_quiz, pass_tutorial
from casewise.studies.recruiters import RecruiterIds


@pytest.fixture
def app(app_on_either):
    return app_on_either


@pytest.fixture
def store(app):
    return app.state.database


@pytest.fixture
def told(app):
    """Send an event as Prolific does; its answer."""
    browser = TestClient(app)

    def tell(
        status="RETURNED", *, submission="sub-1", event="e1", secret=HOOK_SECRET, written=None, kind=None, at=START
    ):
        said = {
            "resource_id": submission,
            "event_type": kind or "submission.status.change",
            "participant_id": "person-1",
            "status": status,
        }
        body = written if written is not None else json.dumps(said).encode()
        stamp = str(int(at.timestamp()))
        digest = hmac.new(secret.encode(), stamp.encode() + body, hashlib.sha256).digest()
        headers = {
            "X-Prolific-Request-Timestamp": stamp,
            "X-Prolific-Request-Signature": base64.b64encode(digest).decode(),
            "X-Event-ID": event,
            "Content-Type": "application/json",
        }
        return browser.post("/prolific/hooks", content=body, headers={k: v for k, v in headers.items() if v})

    return tell


@pytest.fixture
def holder(store, app):
    """Somebody with a batch, from Prolific."""
    study = opened(store, design(quiz={"attempts": 2}))
    with store.write() as connection:
        who = admit(connection, study, RecruiterIds("person-1", "study-1", "sub-1"), vault=app.state.vault, now=START)
        assert who is not None
        pass_tutorial(connection, who.id)
        answer_quiz(connection, study, who.id, RIGHT, now=START)
    return who.id


def held(store, who):
    with store.read() as connection:
        return connection.scalars(
            select(func.count()).select_from(tables.slots).where(tables.slots.c.holder_id == who)
        ).one()


def heard(store):
    with store.read() as connection:
        events = select(tables.events.c.detail).where(tables.events.c.kind == "recruiter told")
        return list(connection.scalars(events))


def test_who_returned_the_submission_holds_no_slot_any_more(told, holder, store):
    assert held(store, holder) == 3
    assert told("ACTIVE", event="e0").status_code == 204
    assert held(store, holder) == 3
    assert told("RETURNED").status_code == 204
    assert held(store, holder) == 0
    assert {page.state for page in pages_of(store, holder) if page.item_id} == {"lapsed"}
    assert heard(store) == [{"status": "ACTIVE"}, {"status": "RETURNED"}]


def test_what_is_told_again_is_dropped_and_acknowledged(told, holder, store):
    assert [told("ACTIVE").status_code for _ in range(3)] == [204, 204, 204]
    assert heard(store) == [{"status": "ACTIVE"}]


def test_what_fails_is_done_when_it_is_told_again(told, holder, store, monkeypatch):
    from casewise.studies import monitor as module

    with monkeypatch.context() as broken:
        broken.setattr(module, "lapse_and_void", lambda *_a, **_k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            told("TIMED-OUT")
    assert heard(store) == []
    assert told("TIMED-OUT").status_code == 204
    assert held(store, holder) == 0


def test_what_is_not_signed_with_our_secret_is_refused(told, holder, store):
    assert told(secret="another").status_code == 403
    assert told(written=b"{").status_code == 403
    assert told(written=b"[" * 200_000).status_code == 403
    assert held(store, holder) == 3
    assert heard(store) == []


def test_what_was_signed_before_anybody_remembers_is_refused(told, holder, store):
    assert told(at=START - timedelta(days=31)).status_code == 403
    assert held(store, holder) == 3


def test_what_cannot_be_understood_is_said_to_be(told, store):
    assert told(event="").status_code == 400
    assert told(written=b'{"event_type": "submission.status.change"}').status_code == 400
    assert told(kind="study.status.change").status_code == 204


def test_another_submission_of_the_same_person_says_nothing_of_this_one(told, holder, store):
    assert told(submission="sub-2").status_code == 204
    assert held(store, holder) == 3


def test_without_a_secret_nobody_is_listened_to(app, told):
    app.state.settings = replace(app.state.settings, hook_secret="")
    assert told().status_code == 404
