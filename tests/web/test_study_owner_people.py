"""The owner's page of people: who is found, who is left out and taken in again, and what is put on record."""

import re
from html import unescape

import pytest
from sqlalchemy import select
from tests.studies.test_owner_store import seen
from tests.support.app import signed_in
from tests.support.study import SECRET, START, begun, big_enough, design, finished, opened

from casewise.database.staff import Role
from casewise.database.tables import study as tables
from casewise.studies.people import Vault, admit
from casewise.studies.recruiters import RecruiterIds

VAULT = Vault(SECRET)


@pytest.fixture
def study(store):
    return opened(store, big_enough(), queries=10)


@pytest.mark.parametrize(("page", "shown"), [("9" * 40, 2), ("2", 2), ("0", 1), ("-1", 1), ("two", 1), ("²", 1)])
def test_a_page_that_there_is_not_is_the_last_or_the_first(app, owner, monkeypatch, page, shown):
    monkeypatch.setattr("casewise.web.study_owner.PEOPLE_A_PAGE", 2)
    study = opened(app.state.database, design())
    for name in ("ann", "ben", "cat"):
        begun(app.state.database, study, name)
    answer = owner.get(f"/studies/{study.id}/people?page={page}")
    assert answer.status_code == 200
    assert f"Page {shown} of 2" in answer.text


def test_what_is_done_with_people_comes_back_to_the_same_list(app, owner):
    store = app.state.database
    study = opened(store, design())
    who = begun(store, study, "ann")
    path = f"/studies/{study.id}/people"
    asked = "status=rating&sort=skipped"
    page = owner.get(f"{path}?{asked}").text
    action = re.search(r'action="([^"]+)" id="act"', page)
    assert action is not None
    back = owner.send(unescape(action[1]), on=path, action="void", why="asked us to", **{f"who-{who}": "yes"})
    assert asked in back.headers["location"]
    assert "Left out." in owner.get(back.headers["location"]).text
    look = re.search(r'formaction="([^"]+)"', page)
    assert look is not None
    assert asked in unescape(owner.send(unescape(look[1]), on=path).text)


@pytest.fixture
def owner(app):
    return signed_in(app, "Olga", Role.OWNER)


def test_many_are_left_out_and_taken_in_at_once_with_a_reason_for_each(app, owner):
    store = app.state.database
    study = opened(store, big_enough(), queries=10)
    both = [finished(store, study, name) for name in ("ann", "ben")]
    path = f"/studies/{study.id}/people"
    ticked = {f"who-{who}": "yes" for who in both}

    lacks_why = owner.send(path, action="void", why=" ", **ticked)
    assert (lacks_why.status_code, lacks_why.text.count(" checked")) == (400, 2)
    assert "Give a reason: it is kept, and every report shows results with and without these people." in lacks_why.text
    lacks_people = owner.send(path, action="void", why="agents")
    assert lacks_people.status_code == 400
    assert 'name="why" value="agents"' in lacks_people.text
    assert "Tick at least one person" in lacks_people.text
    assert owner.send(path, action="void", why="agents", **{"who-anobody": "yes"}).status_code == 404
    assert owner.send(path, action="void", why="agents", **ticked).status_code == 303
    assert seen(store, study).valid == 0
    assert owner.get(f"{path}?status=left+out").text.count("<strong>left out</strong>") == 2
    back = owner.send(path, action="restore", why="they were not", **ticked).headers["location"]
    assert "Restored. Ratings that count again: 20." in owner.get(back).text
    assert seen(store, study).valid == 20
    with store.read() as connection:
        kinds = connection.execute(
            select(tables.events.c.kind, tables.events.c.by).where(tables.events.c.kind.in_(("voided", "restored")))
        ).all()
    assert sorted(kind for kind, _ in kinds) == ["restored", "restored", "voided", "voided"]
    assert {by for _, by in kinds} != {"owner"}  # the staff member's own id


def test_from_an_annotator_to_the_submission_and_back_and_the_look_is_on_record(app, owner):
    store = app.state.database
    settings = {
        "kind": "prolific",
        "completion_code": "DONE",
        "screened_out_code": "OUTS",
        "failed_checks_code": "FAIL",
    }
    study = opened(store, design(recruiter=settings, quiz={"attempts": 2}))
    with study.write(store, START) as live:
        person = RecruiterIds("person-1", "study-1", "submission-1")
        who = admit(live, person, vault=app.state.vault)
    path = f"/studies/{study.id}/people"
    assert who is not None

    page = owner.send(f"{path}/{who.id}/recruiter", on=path)
    assert "submission-1" in page.text
    assert "https://app.prolific.com/submissions/submission-1" in page.text
    assert owner.send(f"{path}/find", on=path, submission="submission-1").headers["location"].endswith(who.id)
    assert owner.send(f"{path}/find", on=path, submission=" PERSON-1 ").headers["location"].endswith(who.id)
    unknown = owner.send(f"{path}/find?status=quiz&sort=rated", on=path, submission="submission-2")
    assert unknown.status_code == 404
    for kept in ("No person in this round has that", 'value="submission-2"', '<option value="quiz"'):
        assert kept in unknown.text
    assert f'<form method="get" action="{path}"' in unknown.text
    assert owner.send(f"{path}/find", on=path, submission=" ").status_code == 404
    with store.read() as connection:
        looks = connection.scalars(select(tables.events.c.kind).where(tables.events.c.annotator_id == who.id)).all()
    assert looks == ["consented", "looked up"]


def test_a_recruiter_other_than_prolific_has_no_page_of_submissions_there(app, owner):
    study = opened(app.state.database, design())
    with study.write(app.state.database, START) as live:
        who = admit(live, RecruiterIds("person-1", "study-1", "submission-1"), vault=app.state.vault)
    assert who is not None
    page = owner.send(f"/studies/{study.id}/people/{who.id}/recruiter", on=f"/studies/{study.id}/people")

    assert ("submission-1" in page.text, "app.prolific.com" in page.text) == (True, False)


def test_the_rounds_page_says_what_was_amended(app, owner):
    study = opened(app.state.database, design())
    with study.write(app.state.database, START) as live:
        detail = {"why": "<wide>", "changes": ["ratings.per_item was 2 and is 3"]}
        live.note("amended", by="owner", detail=detail)
    page = owner.get(f"/studies/{study.id}").text
    assert "Amended 2026-11-20: ratings.per_item was 2 and is 3 (&lt;wide&gt;)." in page


def test_what_people_write_and_what_is_searched_for_is_escaped(app, owner):
    study = opened(app.state.database, big_enough())
    page = owner.get(f"/studies/{study.id}/people?search=%3Cscript%3Ealert(1)%3C/script%3E&flag=%22%3E%3Cb%3E").text
    assert "<script>alert" not in page
    assert not re.search(r'"><b>', page)
