"""What the server says of itself is true: to whoever watches it, to people when its database is away, and to owners."""

import resource
import socket
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.app import NOW, signed_in, visitor
from tests.support.command import invoke
from tests.support.databases import empty_database
from tests.support.server import KEY
from tests.support.study import Walker, opened

from casewise.database import Database
from casewise.database.engine import Limit, take
from casewise.database.staff import Role
from casewise.database.tables import staff
from casewise.settings import Settings
from casewise.studies.monitor import Machine
from casewise.web import connections
from casewise.web.app import free_port, maintain_rounds, serving


@contextmanager
def full_disk():
    """No file of this process can grow, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_health_writes_and_reads(app):
    guest = visitor(app)
    assert (guest.get("/health").status_code, guest.get("/health").json()) == (200, {"database": "answers"})
    with full_disk():
        answer = guest.get("/health")
    assert answer.status_code == 503
    assert "cannot be written" in answer.json()["database"]
    assert guest.get("/health").status_code == 200


def test_on_a_full_disk_an_answer_is_told_to_be_sent_again_and_is_taken_then(app):
    study = opened(app.state.database)
    walker = Walker(app, study)
    walker.to_rating()
    page = walker.page
    with full_disk():
        walker.decide()
        assert walker.status == 503
        assert "What you just sent is not saved yet" in walker.page
    walker.page = page
    assert walker.decide() == "/rate"
    assert walker.status == 200


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


def test_limits_that_nobody_used_for_a_day_are_gone(app):
    store = app.state.database
    with store.write() as connection:
        for number in range(3):
            take(connection, f"limit {number}", Limit(burst=2, per_s=60), now=NOW)
    maintain_rounds(store, now=NOW + timedelta(hours=23))
    maintain_rounds(store, now=NOW + timedelta(hours=25))
    with store.read() as connection:
        assert connection.scalars(select(staff.rate_limits.c.key)).all() == ["upkeep"]


def test_the_dashboard_shows_disk_database_and_backup_age(app, tmp_path):
    study = opened(app.state.database)
    owner = signed_in(app, "Olga", Role.OWNER)
    page = owner.get(f"/studies/{study.id}").text
    assert "No backup was written yet" in page
    assert "free on the disk" in page
    assert invoke("backup", tmp_path / "b.jsonl", "--database", tmp_path / "casewise.db").code == 0
    page = owner.get(f"/studies/{study.id}").text
    assert "No backup was written yet" not in page
    assert "0.0 hours old" in page


def test_little_space_and_an_old_backup_are_said():
    well = Machine(50_000_000_000, 100_000_000_000, 1_000, timedelta(hours=20))
    assert well.problems == ()
    ill = Machine(900_000_000, 100_000_000_000, 1_000, timedelta(hours=30))
    assert [problem.split(":")[0] for problem in ill.problems] == [
        "Little space is left on the disk",
        "The last backup is 30 hours old",
    ]


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Half", b"whole"])
def test_a_connection_that_stops_in_its_headers_is_closed(tmp_path, monkeypatch, sent):
    monkeypatch.setattr(connections, "PATIENCE_S", 0.3)
    whole = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    port = free_port()
    settings = Settings(database=empty_database(tmp_path / "casewise.db"), secret_key=KEY, site_url="http://testserver")
    with serving(settings, port=port), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        if sent == b"whole":  # one request is answered, and the next one stops
            client.sendall(whole)
            assert b"200 OK" in client.recv(4096)
            sent = whole[:20]
        client.sendall(sent)
        while client.recv(4096):
            pass
