"""What the server says of itself is true: to whoever watches it, to people when its database is away, and to owners."""

import resource
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import select
from tests.support.app import NOW, signed_in, visitor
from tests.support.command import invoke
from tests.support.study import Walker, opened

from casewise.database.engine import RateLimit, take
from casewise.database.staff import Role
from casewise.database.tables import staff
from casewise.web.app import maintain_rounds


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


def test_limits_that_nobody_used_for_a_day_are_gone(app):
    store = app.state.database
    with store.write() as connection:
        for number in range(3):
            take(connection, f"limit {number}", RateLimit(burst=2, per_s=60), now=NOW)
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
