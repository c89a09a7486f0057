"""What the app does by itself: leases, dates, flags, counts, and letters by a real SMTP server on loopback."""

from dataclasses import replace
from datetime import timedelta
from email import message_from_bytes
from time import sleep
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from sqlalchemy import select
from tests.studies.test_store import answer, begun, finished
from tests.support.postgres import free_port
from tests.support.study import LATER, START, Walker, design, opened

from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError
from casewise.settings import MailSettings, Settings, from_environment
from casewise.studies.monitor import alerts, arrivals, monitor
from casewise.studies.rounds import set_state
from casewise.web.upkeep import Tallies, each_minute, keep_all_up

KEY = "a key for tests only, long enough to be one"


@pytest.fixture
def letters():
    """A mail server that keeps what it is given."""
    controllers = pytest.importorskip("aiosmtpd.controller")
    kept = []

    class Box:
        async def handle_DATA(self, _server, _session, envelope):  # noqa: N802 - aiosmtpd's name
            kept.append(SimpleNamespace(to=envelope.rcpt_tos, message=message_from_bytes(envelope.content)))
            return "250 OK"

    controller = controllers.Controller(Box(), hostname="127.0.0.1", port=free_port())
    controller.start()
    yield SimpleNamespace(
        kept=kept, mail=MailSettings(host="127.0.0.1", port=controller.port, security="none", sender="us@lab.edu")
    )
    controller.stop()


def settings(mail=None):
    return Settings(database="unused", secret_key=KEY, site_url="https://study.lab.edu", mail=mail)


def events(store, kind):
    with store.read() as connection:
        return connection.scalars(select(tables.events.c.detail).where(tables.events.c.kind == kind)).all()


def test_a_stalled_round_is_told_once_and_again_only_after_it_went_on(store, letters):
    study = opened(store)
    begun(store, study, "ann")
    for minutes in (10, 62, 64, 66):
        keep_all_up(store, settings(letters.mail), now=START + timedelta(minutes=minutes))
    assert [letter.to for letter in letters.kept] == [["study@institute.edu"]]
    message = letters.kept[0].message
    assert message["Subject"] == "tea 1: stalled"
    assert f"https://study.lab.edu/studies/{study.id}" in message.get_payload()

    ben = begun(store, study, "ben", now=START + timedelta(minutes=66))
    for _ in range(2):  # one of them may be a check
        answer(store, study, ben, now=START + timedelta(minutes=67))
    keep_all_up(store, settings(letters.mail), now=START + timedelta(minutes=68))
    assert events(store, "alert over") == [{"alert": "stalled"}]
    keep_all_up(store, settings(letters.mail), now=START + timedelta(minutes=130))
    assert len(letters.kept) == 2


def test_a_letter_that_the_server_does_not_take_is_tried_again(store, letters):
    opened(store)
    gone = replace(letters.mail, port=1)
    keep_all_up(store, settings(gone), now=START + timedelta(minutes=61))
    assert events(store, "alert") == []
    keep_all_up(store, settings(letters.mail), now=START + timedelta(minutes=63))
    assert len(letters.kept) == 1


def test_the_budget_and_failures_are_told(store, letters):
    plan = design(
        pay={"budget": 10.0, "per_batch": 3.0},
        ratings={"per_item": 6, "per_annotator": 3},
        attention={"checks_per_batch": 1, "void": True},
        alerts={"email": "owner@lab.edu", "failing_share": 0.2},
        recruiter={"failed_checks_code": "FAILED42"},
    )
    study = opened(store, plan)
    for number in range(12):
        finished(store, study, f"p{number}")
    keep_all_up(store, settings(letters.mail), now=START + timedelta(minutes=5))
    text = " ".join(letter.message.get_payload() for letter in letters.kept)
    assert letters.kept[0].to == ["owner@lab.edu"]
    assert "are spent or promised" in text


def test_a_condition_that_is_behind_by_more_than_chance_is_told(store):
    study = opened(store, design(ratings={"per_item": 6, "per_annotator": 2}, attention={"checks_per_batch": 0}))
    with store.read() as connection:
        seen = monitor(connection, study, now=START)
    slow, fast = (
        replace(condition, valid=valid) for condition, valid in zip(seen.overview.conditions, (6, 14), strict=True)
    )
    behind = replace(seen, overview=replace(seen.overview, conditions=(slow, fast)))
    assert [alert.said for alert in alerts(behind, study, now=START)] == [
        "no_context has 25% of its ratings given or held, the others 58%"
    ]
    assert alerts(seen, study, now=START) == ()


def test_upkeep_is_done_by_one_worker_a_minute(store):
    opened(store)
    done = [keep_all_up(store, settings(), now=START + timedelta(seconds=s)) for s in (0, 1, 20, 61, 62)]
    assert done == [True, False, False, True, False]


def test_upkeep_ends_leases_and_keeps_flags(store):
    plan = design(ratings={"per_item": 12, "per_annotator": 10, "lease_minutes": 30}, attention={"checks_per_batch": 0})
    study = opened(store, plan, queries=12)
    who = finished(store, study, "always the same")
    left = begun(store, study, "left")
    keep_all_up(store, settings(), now=START + LATER)
    with store.read() as connection:
        flags = connection.execute(select(tables.flags.c.annotator_id, tables.flags.c.kind)).all()
        people = {row.id: row for row in connection.execute(select(tables.annotators))}
    assert {(flag.annotator_id, flag.kind) for flag in flags} == {(who, "same_answer"), (who, "even_timing")}
    assert (people[who].rated, people[who].median_s) == (10, 5.0)
    assert people[left].lapsed


def test_arrivals_are_counted_and_nothing_else_of_them_is_kept(app):
    store = app.state.database
    study = opened(store, design(ratings={"per_item": 1, "per_annotator": 4}, conditions=["no_context"]))
    for name in ("ann", "ben"):
        Walker(app, study, name).arrive()
    Walker(app, study, "cat").to_rating()
    Walker(app, study, "dan").arrive()
    with each_minute(store, app.state.settings, app.state.tallies, app.state.rounds):
        pass
    with store.read() as connection:
        found = monitor(connection, study, now=START + LATER).funnel
        assert connection.execute(select(tables.tallies)).all() == [
            (study.id, "arrived", 3),
            (study.id, "turned away", 1),
        ]
    assert (found.arrived, found.turned_away, found.consented, found.quiz) == (3, 1, 1, 1)
    assert found.batch == {"no_context": 1}


def test_arrivals_are_written_while_the_server_runs_so_that_a_kill_loses_seconds(app, monkeypatch):
    monkeypatch.setattr("casewise.web.upkeep.TALLIES_EVERY_S", 0.01)
    store = app.state.database
    study = opened(store)
    with each_minute(store, app.state.settings, app.state.tallies, app.state.rounds):
        Walker(app, study, "ann").arrive()
        for _ in range(500):
            with store.read() as connection:
                if arrivals(connection, study.id) == {"arrived": 1}:
                    break
            sleep(0.01)
        else:
            raise AssertionError("the count waits for the end")


def test_a_count_that_could_not_be_written_is_written_the_next_time(store, monkeypatch):
    study, tallies = opened(store), Tallies()
    tallies.count(study.id, "arrived")
    with monkeypatch.context() as patched:
        patched.setattr(store, "write", Mock(side_effect=OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            tallies.write(store)
    tallies.write(store)
    with store.read() as connection:
        assert arrivals(connection, study.id) == {"arrived": 1}


def test_a_closed_round_has_no_money_to_come(store):
    study = opened(store)
    with store.read() as connection:
        assert monitor(connection, study, now=START).money.to_come > 0
    with store.write() as connection:
        set_state(connection, study.id, "closed", by="owner", now=START)
    with store.read() as connection:
        assert monitor(connection, study, now=START).money.to_come == 0


def test_counts_of_a_round_that_is_gone_are_dropped(store):
    tallies = Tallies()
    tallies.count("no such round", "arrived")
    tallies.write(store)
    with store.read() as connection:
        assert connection.execute(select(tables.tallies)).all() == []


def test_mail_settings_come_from_the_environment_and_keep_their_password():
    named = {
        "CASEWISE_SECRET_KEY": KEY,
        "CASEWISE_SMTP_HOST": "mail.lab.edu",
        "CASEWISE_SMTP_FROM": "us@lab.edu",
        "CASEWISE_SMTP_USER": "us",
        "CASEWISE_SMTP_PASSWORD": "sesame",
    }
    mail = from_environment(named).mail
    assert mail == MailSettings(
        host="mail.lab.edu", port=587, security="starttls", sender="us@lab.edu", user="us", password="sesame"
    )
    assert "sesame" not in repr(mail)
    assert from_environment({"CASEWISE_SECRET_KEY": KEY}).mail is None
    for name, value in (("SECURITY", "ssh"), ("PORT", "x"), ("FROM", "us")):
        with pytest.raises(ConfigurationError, match=f"CASEWISE_SMTP_{name}"):
            from_environment(named | {f"CASEWISE_SMTP_{name}": value})
