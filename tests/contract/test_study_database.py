"""The study database that the first release promises to open."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import select
from tests.contract.study_database import VAULT, pinned_database

from casewise import database
from casewise.database.backup import backup, restore
from casewise.database.tables import metadata
from casewise.database.tables import study as tables
from casewise.studies.owner import overview, people_states
from casewise.studies.people import person_of
from casewise.studies.rounds import all_rounds, load_round


@pytest.fixture
def pinned(tmp_path):
    pinned_database(tmp_path / "study.db")
    with database.open(str(tmp_path / "study.db")) as store:
        yield store


def test_the_pinned_database_is_opened_with_the_tables_of_today(pinned):
    with pinned.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_what_people_rated_in_the_pinned_database_counts(pinned):
    with pinned.read() as connection:
        (listed,) = all_rounds(connection)
        study = load_round(connection, listed.id)
        assert study is not None
        live = study.at(connection)
        assert {(person.rated, person.status) for person in people_states(live)} == {(3, "completed"), (1, "rating")}
        assert overview(live).valid == 4
        known = [person_of(live, who, vault=VAULT) for who in live.scalars(select(tables.annotators.c.id))]
        assert {person.person for person in known if person} == {"ann", "ben"}


def test_the_pinned_database_goes_through_a_backup_without_loss(pinned, tmp_path):
    count = backup(pinned, tmp_path / "a.jsonl")
    with database.Database(str(tmp_path / "other.db")) as other:
        assert restore(other, tmp_path / "a.jsonl") == count
