"""The store under concurrency, its constraints, and what the owner can do: on SQLite and on PostgreSQL."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.study import START, VAULT, begun, design, finished, opened, pages_of

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.studies.answers import SubmittedAnswer, take_answer
from casewise.studies.owner import forget, overview, purge
from casewise.studies.people import admit, annotator, person_of
from casewise.studies.recruiters import RecruiterIds


def seen(store, study):
    with study.read(store) as live:
        return overview(live)


@pytest.mark.slow
def test_many_at_once_end_exact_and_within_a_batch(store):
    study = opened(store, design(ratings={"per_item": 6, "per_annotator": 5}), queries=10)
    with ThreadPoolExecutor(12) as crowd:
        people = list(crowd.map(lambda n: finished(store, study, f"p{n}"), range(26)))

    with study.read(store) as live:
        rated = Counter(live.scalars(select(tables.pages.c.item_id).where(tables.pages.c.state == "rated")).all())
        conditions = Counter(getattr(annotator(live, who), "condition", "nobody") for who in people)
    del rated[None]
    assert set(rated.values()) == {6}
    assert conditions["no_context"] == conditions["safe_revised"] == 12
    assert conditions[None] == 2
    assert seen(store, study).exact


def test_one_person_in_many_tabs_is_one_annotator_with_one_batch(store):
    study = opened(store)
    with ThreadPoolExecutor(8) as tabs:
        ids = set(tabs.map(lambda _: begun(store, study, "alice"), range(16)))

    assert len(ids) == 1
    assert len(pages_of(store, ids.pop())) == 4


def test_one_page_answered_in_many_tabs_counts_once(store):
    study = opened(store)
    who = begun(store, study, "alice")

    def press(decision):
        with study.write(store, START) as live:
            return take_answer(live, who, SubmittedAnswer(1, 0, decision))

    with ThreadPoolExecutor(8) as tabs:
        taken = Counter(tabs.map(press, ["respond", "refuse"] * 8))

    assert taken == {"rated": 1, "again": 15}


def test_forgetting_before_the_date_withdraws_everything(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with study.write(store, START) as live:
        live.set_annotator(who, demographics={"age": "25 to 34"}, feedback="hello")
        assert forget(live, "alice", vault=VAULT, by="owner").ratings == "withdrawn"

    with study.read(store) as live:
        row = live.execute(select(tables.annotators)).one()
        assert person_of(live, who, vault=VAULT) is None
        assert live.execute(select(tables.fingerprints)).all() == []
    assert (row.sealed, row.fingerprint, row.demographics, row.feedback) == (None, None, None, None)
    assert all(page.verdict is None for page in pages_of(store, who) if page.kind == "item")
    assert sum(condition.open for condition in seen(store, study).conditions) == 16


@pytest.mark.slow
def test_forgetting_after_the_date_keeps_anonymous_ratings_and_the_hash(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with study.write(store, START + timedelta(days=60)) as live:
        assert forget(live, who, vault=VAULT, by="owner").ratings == "kept"
    with pytest.raises(StudyError, match="'zoe'"), study.write(store, START) as live:
        forget(live, "zoe", vault=VAULT, by="owner")
    with pytest.raises(StudyError, match="already exists"):
        opened(store)

    assert seen(store, study).valid == 3
    with study.read(store) as live:
        assert person_of(live, who, vault=VAULT) is None
        assert len(live.execute(select(tables.fingerprints)).all()) == 1


def test_ids_are_deleted_when_the_consent_page_said_so(store):
    study = opened(store)
    who = finished(store, study, "alice")
    with store.write() as connection:
        assert purge(study.at(connection, START)) == 0
        assert person_of(study.at(connection, START), who, vault=VAULT) == RecruiterIds("alice")
        assert purge(study.at(connection, START + timedelta(days=100))) == 1

    with study.write(store, START + timedelta(days=100)) as live:
        assert person_of(live, who, vault=VAULT) is None
        assert admit(live, RecruiterIds("alice"), vault=VAULT) is None


def test_no_event_holds_what_a_person_said_or_is_called(store):
    study = opened(store)
    who = finished(store, study, "alice-the-person")
    with study.write(store) as live:
        live.set_annotator(who, demographics={"age": "25 to 34"}, feedback="hello")
        events = str(live.execute(select(tables.events)).all())

    assert "alice" not in events
    assert "25 to 34" not in events
    assert "hello" not in events
    assert VAULT.fingerprint("tea", "alice-the-person") not in events
