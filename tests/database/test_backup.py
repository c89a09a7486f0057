import gzip
import shutil
import threading

import pytest
from sqlalchemy import insert, select, text
from tests.contexts.drafts import room
from tests.contexts.wordings import wording
from tests.support.app import NOW

from casewise import database
from casewise.contexts.review import Act
from casewise.contexts.store import events_of
from casewise.database import Database
from casewise.database import engine as opening
from casewise.database.backup import backup, restore
from casewise.database.tables import staff
from casewise.errors import ConfigurationError, DataError


@pytest.fixture
def here(store):
    made = room(store)
    made.do(made.place(), made.ada, Act.SUBMIT, wording())
    return made


@pytest.fixture
def other(tmp_path):
    made = Database(str(tmp_path / "other.db"))
    yield made
    made.close()


def test_the_whole_state_is_equal_after_a_round_trip(here, other, tmp_path):
    count = backup(here.store, tmp_path / "a.jsonl")

    assert restore(other, tmp_path / "a.jsonl") == count

    backup(other, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.postgres
def test_a_backup_of_sqlite_goes_to_postgresql_and_counting_goes_on(tmp_path, postgres_url):
    first = database.open(str(tmp_path / "x.db"))
    room(first)
    backup(first, tmp_path / "a.jsonl.gz")
    first.close()
    second = Database(postgres_url)

    restore(second, tmp_path / "a.jsonl.gz")

    with second.write() as connection:
        connection.execute(insert(staff.events).values(at=NOW, kind="afterwards"))
        ids = connection.scalars(select(staff.events.c.id)).all()
    second.close()
    assert len(ids) == len(set(ids)) > 1


@pytest.mark.slow
def test_people_go_on_working_while_a_backup_is_taken_and_it_shows_one_moment(here, other, tmp_path):
    stop = threading.Event()
    comments = []

    def work():
        here.do(here.place(), here.ben, Act.SUBMIT, wording(recipient__type="Cashier"))
        while not stop.is_set():
            here.do(here.place(), here.ben, Act.COMMENT, None, "still here")
            comments.append(1)

    worker = threading.Thread(target=work)
    worker.start()
    while len(comments) < 3:
        pass
    backup(here.store, tmp_path / "a.jsonl")
    stop.set()
    worker.join(timeout=60)

    restore(other, tmp_path / "a.jsonl")
    with other.read() as connection:
        seqs = [event.seq for event in events_of(connection, here.place().id)]
    assert seqs == list(range(1, len(seqs) + 1))
    assert len(seqs) >= 5


def test_a_backup_is_for_its_owner_alone_and_overwrites_nothing(here, tmp_path):
    path, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    backup(here.store, path)
    backup(here.store, packed)

    assert path.stat().st_mode & 0o777 == 0o600
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    with pytest.raises(ConfigurationError, match="exists"):
        backup(here.store, path)
    with pytest.raises(ConfigurationError, match="holds data already"):
        restore(here.store, path)


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["last line", "half a file", "compressed"])
def test_a_backup_that_was_cut_off_is_noticed_and_leaves_nothing(here, other, tmp_path, cut):
    path = tmp_path / ("a.jsonl.gz" if cut == "compressed" else "a.jsonl")
    backup(here.store, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rstrip().rindex(b"\n") + 1] if cut == "last line" else whole[: len(whole) // 2])

    with pytest.raises(DataError, match=r"cut off|cannot be read as a backup"):
        restore(other, path)

    backup(here.store, tmp_path / "again.jsonl")
    assert restore(other, tmp_path / "again.jsonl") > 0


@pytest.mark.parametrize(
    "words",
    [
        "",
        "hello\n",
        '{"format":"casewise-backup-99","revision":"0001"}\n',
        '{"format":"casewise-backup-1","revision":"0007"}\n',
    ],
)
def test_what_is_no_backup_is_refused(other, tmp_path, words):
    (tmp_path / "a.jsonl").write_text(words)

    with pytest.raises(DataError, match="backup"):
        restore(other, tmp_path / "a.jsonl")


NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "0002", "0001"
def upgrade():
    op.add_column("staff_events", sa.Column("tried", sa.Integer))
"""


def test_migrations_run_forward_on_a_database_with_data(tmp_path, monkeypatch):
    with database.open(str(tmp_path / "old.db")) as old, old.write() as connection:
        connection.execute(insert(staff.events).values(at=NOW, kind="before the migration"))
    shutil.copytree(opening.MIGRATIONS, tmp_path / "migrations", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "migrations" / "versions" / "0002_next.py").write_text(NEXT)
    monkeypatch.setattr(opening, "MIGRATIONS", tmp_path / "migrations")

    new = database.open(str(tmp_path / "old.db"))

    with new.read() as connection:
        found = connection.execute(text("SELECT kind, tried FROM staff_events")).all()
    assert found == [("before the migration", None)]
    room(new)
    new.close()
