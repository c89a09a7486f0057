"""The owner's page of people: who is found, who is left out and taken in again, and what is put on record."""

import re
from html import unescape

import pytest
from sqlalchemy import select
from tests.studies.test_owner_store import seen
from tests.support.app import signed_in
from tests.support.study import SECRET, START, answer, begun, design, finished, opened

from casewise.database.staff import Role
from casewise.database.tables import study as tables
from casewise.studies.answers import restore, void
from casewise.studies.monitor import PeopleQuery, find_by_submission, find_people
from casewise.studies.owner import forget
from casewise.studies.people import Vault, admit
from casewise.studies.recruiters import RecruiterIds, make_recruiter, new_invitation

VAULT = Vault(SECRET)


def big_enough():
    """Ten items a batch, so that a share of answers says something."""
    return design(ratings={"per_item": 3, "per_annotator": 10}, attention={"checks_per_batch": 0})


@pytest.fixture
def study(store):
    return opened(store, big_enough(), queries=10)


def found(store, study, **wanted):
    with study.read(store) as live:
        return find_people(live, PeopleQuery(**wanted), limit=50)


def ids(page):
    return [person.id for person in page.people]


def behind(store, study, typed):
    with study.read(store) as live:
        return find_by_submission(live, typed, vault=VAULT)


def test_people_are_found_by_number_condition_status_and_flag(store, study):
    same, away = finished(store, study, "ann"), begun(store, study, "ben")
    person = found(store, study, search=same[:12]).people[0]
    assert (person.id, person.rated, person.median_s, person.status) == (same, 10, 5.0, "completed")
    assert {flag.kind for flag in person.flags} == {"same_answer", "even_timing"}
    assert ids(found(store, study, search="ben")) == [], "an address holds nobody's id"
    assert behind(store, study, "ben") == away
    assert ids(found(store, study, search="%")) == []
    assert ids(found(store, study, status="rating")) == [away]
    assert ids(found(store, study, flag="same_answer")) == [same]
    assert ids(found(store, study, flag="too_fast")) == []
    assert ids(found(store, study, condition=person.condition or "")) == [same]
    assert ids(found(store, study, sort="flags")) == [same, away]
    assert found(store, study).total == 2


def test_a_page_of_people_is_cut_from_all_and_says_of_how_many(store, study):
    for name in ("ann", "ben", "cat"):
        begun(store, study, name)
    with study.read(store) as live:
        page = find_people(live, PeopleQuery(sort="arrival", page=2), limit=2)
    assert (len(page.people), page.total) == (1, 3)


def test_who_differs_from_the_majority_is_shown(store, study):
    for name, decision in (("a", "respond"), ("b", "refuse"), ("c", "respond"), ("d", "respond"), ("e", "refuse")):
        finished(store, study, name, decision)
    assert any(person.disagreement.differs for person in found(store, study).people)


def test_who_is_taken_in_again_counts_where_there_is_room_and_never_more(store):
    study = opened(store, design(ratings={"per_item": 1, "per_annotator": 3}, conditions=["no_context"]), queries=3)
    ann = finished(store, study, "ann")
    with study.write(store, START) as live:
        void(live, ann, reason="a mistake", by="owner")
    ben = begun(store, study, "ben")
    for _ in range(2):
        answer(store, study, ben)
    with study.write(store, START) as live:
        void(live, ben, reason="asked us to", by="owner")
        assert restore(live, ann, reason="it was one", by="owner") == 3
        assert restore(live, ann, reason="twice", by="owner") == 0
        assert restore(live, ben, reason="but too late", by="owner") == 0
    assert seen(store, study).exact
    with store.read() as connection:
        states = connection.scalars(select(tables.pages.c.state).where(tables.pages.c.annotator_id == ben)).all()
        events = connection.execute(
            select(tables.events.c.detail).where(tables.events.c.kind == "restored").order_by(tables.events.c.id)
        ).all()
    assert "surplus" in states

    assert events[0].detail == {"why": "it was one", "counted": 3, "surplus": 0}


def test_who_withdraws_leaves_no_flag_and_no_count(store, study):
    ann = finished(store, study, "ann")
    assert found(store, study, flag="any").total == 1
    with study.write(store, START) as live:
        forget(live, ann, vault=VAULT, by="owner")
    (person,) = found(store, study).people
    assert (person.flags, person.rated, person.skipped, person.median_s) == ((), 0, 0, None)


@pytest.mark.parametrize(
    ("kind", "arrived", "typed"),
    [
        ("code", {"participant": "Ann.B"}, " Ann.B "),
        ("code", {"participant": "Ann.B"}, "Ann. B"),
        ("prolific", {"PROLIFIC_PID": "5F3a", "STUDY_ID": "s", "SESSION_ID": "1"}, "5F3A"),
        ("invitation", None, None),
    ],
)
def test_an_id_finds_its_person_as_it_was_given_to_them(store, kind, arrived, typed):
    study = opened(store, design(recruiter={"kind": kind, "failed_checks_code": "FAIL"}, quiz={"attempts": 2}))
    key = b"of the round"
    if kind == "invitation":
        typed = f" {new_invitation(key).upper()}"  # all 48 digits of the link
        arrived = {"participant": typed.strip()}
    person = make_recruiter(study.design.recruiter, invitation_key=key).arrive(arrived)
    with study.write(store, START) as live:
        who = admit(live, person, vault=VAULT)
    assert who is not None
    assert behind(store, study, typed) == who.id
    with study.write(store, START) as live:
        forget(live, typed, vault=VAULT, by="owner")
    assert behind(store, study, typed) is None


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
