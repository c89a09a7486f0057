"""Somebody who was erased stays erased: in the files of the database, and after every restore."""

import base64
import json

import pytest
from sqlalchemy import select
from tests.support.app import app_on_either
from tests.support.command import invoke
from tests.support.databases import new_database
from tests.support.study import SECRET, START, Walker, answer, begun, design, opened, opened_plan, tea

from casewise import database
from casewise.api import Study
from casewise.api.studies import erasures_of, restore_backup
from casewise.database.backup import backup
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, DataError
from casewise.settings import Settings
from casewise.studies.owner import overview
from casewise.studies.rounds import read_plan
from casewise.web import create_app

app = app_on_either


@pytest.fixture
def rated(tmp_path, monkeypatch):
    """A study whose round ann and ben began, ann has rated in it, and a backup of all that."""
    monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET)
    file = tea(tmp_path / "study.toml")
    path = tmp_path / "casewise.db"
    with new_database(path) as store:
        study = opened_plan(store, read_plan(file), "pilot")
        ann, _ben = begun(store, study, "ann"), begun(store, study, "ben")
        answer(store, study, ann)
        backup(store, tmp_path / "b1.jsonl")
    return Study(file, "pilot", str(path)), ann


def people(path):
    with database.open(str(path)) as store, store.read() as connection:
        rows = connection.execute(select(tables.annotators)).all()
        keys = set(connection.scalars(select(tables.keys.c.annotator_id)))
        return {row.id: (row.sealed is not None, row.id in keys, row.outcome) for row in rows}


def test_a_restored_backup_erases_again_whom_it_brought_back(rated, tmp_path):
    study, ann = rated
    erasure, text = study.forget(ann)
    assert (erasure.number, erasure.ratings) == (1, "withdrawn")
    assert ann in text
    assert erasure.signature in text

    done = restore_backup(tmp_path / "b1.jsonl", str(tmp_path / "new.db"))
    assert done.erased_again == 1
    assert people(tmp_path / "new.db")[ann] == (False, False, "withdrawn")
    with database.open(str(tmp_path / "new.db")) as store, store.read() as connection:
        assert set(connection.scalars(select(tables.pages.c.verdict))) == {None}
    assert sum(here for here, _, _ in people(tmp_path / "new.db").values()) == 1, "ben is as he was"


@pytest.mark.slow
def test_without_the_list_nobody_knows_who_was_erased_and_the_backup_is_refused(rated, tmp_path):
    study, ann = rated
    study.forget(ann)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "b1.jsonl").rename(elsewhere / "b1.jsonl")
    with pytest.raises(ConfigurationError, match="there is no list of erasures"):
        restore_backup(elsewhere / "b1.jsonl", str(elsewhere / "new.db"))
    said = invoke(
        *("backup", elsewhere / "b1.jsonl", "--restore", "--database", elsewhere / "other.db"),
        *("--erasures", tmp_path / "casewise-erasures.jsonl"),
    )
    assert "1 person was erased after the backup" in said.out
    assert (elsewhere / "casewise-erasures.jsonl").is_file(), "the list goes on beside the new database"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["annotator", "order", "key"])
def test_a_list_that_was_changed_is_refused(rated, tmp_path, monkeypatch, change):
    study, _ann = rated
    for who in people(tmp_path / "casewise.db"):
        study.forget(who)
    listed = tmp_path / "casewise-erasures.jsonl"
    lines = listed.read_text().splitlines()
    if change == "annotator":
        lines[0] = json.dumps(json.loads(lines[0]) | {"annotator_id": "a0"})
    if change == "order":
        del lines[0]
    if change == "key":
        monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET[::-1])
    listed.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="does not have the signature"):
        restore_backup(tmp_path / "b1.jsonl", str(tmp_path / "new.db"))


def test_where_the_list_cannot_be_written_nobody_is_said_to_be_erased(rated, tmp_path, monkeypatch):
    study, ann = rated
    monkeypatch.setenv("CASEWISE_ERASURES", str(tmp_path / "nowhere" / "list.jsonl"))
    with pytest.raises(ConfigurationError, match="cannot be written"):
        study.forget(ann)
    assert people(tmp_path / "casewise.db")[ann][0]


def test_an_erasure_that_was_begun_is_ended_when_the_server_starts_again(rated, tmp_path):
    _study, ann = rated
    settings = Settings(database=str(tmp_path / "casewise.db"), secret_key=SECRET, site_url="http://testserver")
    with database.open(settings.database) as store, store.read() as connection:
        round_id = connection.scalars(select(tables.studies.c.id)).one()
        erasures_of(settings, store).add(round_id, ann, ratings="withdrawn", at=START)
    create_app(settings).state.database.close()
    assert people(tmp_path / "casewise.db")[ann] == (False, False, "withdrawn")


def secrets_of(store, who):
    """What must not be left of somebody: their wrapped key and sealed ids, as they are and as their bytes."""
    with store.read() as connection:
        row = connection.execute(
            select(tables.annotators.c.sealed, tables.keys.c.wrapped)
            .join(tables.keys, tables.keys.c.annotator_id == tables.annotators.c.id)
            .where(tables.annotators.c.id == who)
        ).one()
    return [part for text in row for part in (text.encode()[20:60], base64.urlsafe_b64decode(text)[20:50])]


@pytest.mark.slow
def test_no_file_of_the_database_holds_the_key_afterwards_while_it_is_in_use(rated, tmp_path):
    study, ann = rated
    with database.open(str(tmp_path / "casewise.db")) as store:
        gone = secrets_of(store, ann)
        with study.round() as here:
            for name in "cdefghij":
                begun(store, here.round, name)
        found = b"".join(path.read_bytes() for path in tmp_path.glob("casewise.db*"))
        assert any(part in found for part in gone)
        study.forget(ann)
        found = b"".join(path.read_bytes() for path in tmp_path.glob("casewise*") if path.is_file())
    assert not any(part in found for part in gone)


@pytest.mark.slow
def test_somebody_asks_on_their_own_page_and_gets_a_certificate_and_the_way_back(app):
    study = opened(app.state.database, design())
    app.state.clock = lambda: START
    walker = Walker(app, study)
    walker.to_quiz()
    assert 'data">Delete my data' in walker.page
    walker.to_rating()
    walker.decide()
    for page in ("/tutorial", "/pause", "/rate"):
        walker.open(page)
        assert 'data">Delete my data' in walker.page
    walker.open("/data")
    assert walker.send("/data") == "/data"
    assert "please tick the box" in walker.page
    assert walker.send("/data", delete="yes") == "/data"

    assert "Certificate of erasure 1" in walker.page
    assert "THANKS42" in walker.page
    assert walker.open("/rate") == "/end"
    assert "What we had about you is deleted" in walker.page
    assert "Delete my data" not in walker.page
    with study.read(app.state.database) as live:
        assert overview(live).valid == 0
    assert app.state.erasures.path.stat().st_size > 0
