"""Writing to, paying more and asking back one annotator at Prolific, on record and never twice by accident."""

import pytest
from sqlalchemy import select
from tests.support.databases import empty_database
from tests.support.prolific import stand_in
from tests.support.study import SECRET, START, design

from casewise import api, database
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.running.admission import admit
from casewise.studies.running.owner import delete_personal
from casewise.studies.running.plan import init_study, open_plan, read_plan
from casewise.studies.running.privacy import Vault
from casewise.studies.running.rounds import load_round


@pytest.fixture
def prolific(monkeypatch):
    with stand_in("secret") as server:
        monkeypatch.setenv("CASEWISE_PROLIFIC_API", server.url)
        monkeypatch.setenv("CASEWISE_PROLIFIC_TOKEN", "secret")
        monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET)
        yield server


@pytest.fixture
def there(tmp_path):
    """An annotator of a round at Prolific, and where it is."""
    path = tmp_path / "study.toml"
    init_study("demo", preset="prolific", name="tea", path=path, today=START.date(), contact=design().contact)
    place = {"study": path, "phase": "pilot", "database": empty_database(tmp_path / "casewise.db")}
    with database.open(str(place["database"])) as store, store.write() as connection:
        study = load_round(connection, open_plan(connection, read_plan(path), phase="pilot", now=START))
        assert study is not None
        who = admit(connection, study, RecruiterIds("person-1", "study-1", "sub-1"), vault=Vault(SECRET), now=START)
    assert who is not None
    return who.id, place


def events(place):
    with database.open(str(place["database"])) as store, store.read() as connection:
        rows = connection.execute(select(tables.events).where(tables.events.c.by == "owner")).all()
    return [(row.kind, row.detail) for row in rows]


def test_an_annotator_is_written_to_and_the_words_are_not_kept(prolific, there):
    who, place = there
    api.prolific.message(who, "Thank you. Your code was wrong.", **place)
    assert prolific.messages == [
        {"recipient_id": "person-1", "study_id": "study-1", "body": "Thank you. Your code was wrong."}
    ]
    assert events(place) == [("messaged", {})]


def test_a_bonus_is_paid_once_whatever_becomes_of_the_answer(prolific, there):
    who, place = there
    prolific.breaks_after_paying = True
    with pytest.raises(StudyError, match="502"):
        api.prolific.bonus(who, 1.5, **place)
    with pytest.raises(StudyError, match="begun"):
        api.prolific.bonus(who, 1.5, **place)
    assert prolific.bonuses == {"bonus-0": "sub-1,1.50"}
    assert prolific.paid == ["bonus-0"]

    prolific.breaks_after_paying = False
    api.prolific.bonus(who, 2, again=True, **place)
    assert prolific.paid == ["bonus-0", "bonus-1"]
    assert [kind for kind, _ in events(place)] == ["bonus begun", "bonus begun", "bonus paid"]


def test_a_return_is_asked_for_and_a_second_request_is_told(prolific, there):
    who, place = there
    api.prolific.ask_return(who, "The code did not fit", **place)
    assert prolific.returns == {"sub-1": ["The code did not fit"]}
    with pytest.raises(StudyError, match="requested already"):
        api.prolific.ask_return(who, "again", **place)


def test_who_is_forgotten_or_unknown_cannot_be_written_to(prolific, there, monkeypatch):
    who, place = there
    with pytest.raises(StudyError, match="nobody"):
        api.prolific.message("a0", "hello", **place)
    monkeypatch.setenv("CASEWISE_PROLIFIC_TOKEN", "another")
    with pytest.raises(ConfigurationError, match="did not accept"):
        api.prolific.message(who, "hello", **place)
    with database.open(str(place["database"])) as store, store.write() as connection:
        delete_personal(connection, who)
    with pytest.raises(StudyError, match="deleted"):
        api.prolific.message(who, "hello", **place)
    assert prolific.messages == []
