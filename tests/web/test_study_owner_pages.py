"""The owner's pages of a round: its design, its items as people see them, one person's answers, and export."""

import io
import json
import zipfile
from datetime import timedelta

import pytest
from sqlalchemy import select
from tests.support.app import signed_in
from tests.support.study import START, Walker, answer, begun, design, finished, opened

from casewise.database.staff import Role, set_study_owner
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError
from casewise.studies.monitor import monitor
from casewise.studies.owner import path_of
from casewise.studies.ratings_source import read_ratings
from casewise.studies.rounds import READ_ANEW_S, closed_conditions, round_state, set_state


@pytest.fixture
def owner(app):
    return signed_in(app, "olga", Role.OWNER).client


@pytest.fixture
def study(app):
    return opened(app.state.database, design(attention={"checks_per_batch": 1}), queries=4)


def page(owner, study, path, status=200):
    answered = owner.get(f"/studies/{study.id}{path}")
    assert answered.status_code == status, answered.text
    return answered.text


def test_the_design_is_shown_with_every_text_and_no_completion_code(owner, study):
    shown = page(owner, study, "/design")
    assert all(name in shown for name in ("per_annotator", "same_answer_share", "child_related"))
    assert "Attention checks" in shown
    assert "(right)" in shown
    assert study.design.contact.researcher in shown
    assert "THANKS42" not in shown


def test_an_item_is_shown_as_people_see_it_and_nothing_on_it_can_be_sent(owner, study):
    answered = owner.get(f"/studies/{study.id}/items/i_safe_revised_1")
    assert "How do I brew tea number 1?" in answered.text
    assert "The situation" in answered.text
    assert answered.headers["content-security-policy"].endswith("; sandbox allow-same-origin")
    page(owner, study, "/items/nothing", status=404)


@pytest.mark.parametrize(("asked", "shown", "n"), [("", 1, 5), ("0", 1, 5), ("2", 2, 3), ("9", 2, 3), ("two", 1, 5)])
def test_a_long_list_of_items_has_pages(owner, study, monkeypatch, asked, shown, n):
    monkeypatch.setattr("casewise.web.study_owner.ITEMS_A_PAGE", 5)
    found = page(owner, study, f"/items?page={asked}")

    assert f"Page {shown} of 2" in found
    assert found.count(f'href="/studies/{study.id}/items/i_') == n


def test_a_round_is_paused_and_opened_again_but_not_before_every_server_has_read_an_amendment(app, study):
    olga, at = signed_in(app, "Olga", Role.OWNER), f"/studies/{study.id}"

    def change(state):
        answered = olga.send(f"{at}/state", on=at, state=state)
        with study.read(app.state.database) as live:
            return answered.status_code, round_state(live), answered.text

    status, state, told = change("nonsense")
    assert (status, state, "A study can be open, paused, closed." in told) == (400, "open", True)
    assert change("paused")[:2] == (303, "paused")
    with study.write(app.state.database, app.state.clock()) as live:
        live.note("amended", by="owner", detail={"why": "too few", "changes": []})
    status, state, told = change("open")
    assert (status, state, f"Open it again in {READ_ANEW_S + 5:.0f} seconds." in told) == (409, "paused", True)
    later = app.state.clock() + timedelta(seconds=READ_ANEW_S + 5)
    app.state.clock = lambda: later
    assert change("open")[:2] == (303, "open")


def test_the_owner_of_a_round_closes_one_condition_and_opens_it_again(app, study):
    olga, at, seen = signed_in(app, "Olga", Role.OWNER), f"/studies/{study.id}", []
    for state in ("closed", "open"):
        answered = olga.send(f"{at}/conditions", on=at, condition="no_context", state=state)
        with study.read(app.state.database) as live:
            seen.append((answered.headers["location"], set(closed_conditions(live))))

    assert seen == [(at, {"no_context"}), (at, set())]


def test_the_people_of_another_round_have_no_page_in_this_one(app, owner, study):
    other = opened(app.state.database, design(name="coffee"))
    who = begun(app.state.database, other, "ann")

    assert owner.get(f"/studies/{other.id}/people/{who}").status_code == 200
    page(owner, study, f"/people/{who}", status=404)
    page(owner, study, "/people/nobody", status=404)


def test_how_people_decide_is_shown_once_the_round_is_closed_split_items_first(app, owner, study):
    for name, decision in (("ann", "respond"), ("ben", "refuse"), ("cat", "respond"), ("dan", "respond")):
        finished(app.state.database, study, name, decision)
    shown = page(owner, study, "/items")
    assert "once the round is closed" in shown
    assert "Refuse</th>" not in shown
    with study.write(app.state.database, START) as live:
        set_state(live, "closed", by="owner")
        pages = live.execute(select(tables.pages).where(tables.pages.c.state == "rated")).all()
    votes: dict[str, set[str]] = {}
    for row in pages:
        if row.item_id:
            votes.setdefault(row.item_id, set()).add(row.verdict)
    split = [item for item, verdicts in votes.items() if len(verdicts) == 2]
    shown = page(owner, study, "/items")
    places = {item: shown.index(f"/items/{item}") for item in votes}
    assert split
    assert max(places[item] for item in split) < min(places[item] for item in votes if item not in split)


def test_one_persons_answers_stand_in_the_order_in_which_they_were_shown(app, owner, study):
    who = begun(app.state.database, study, "ann")
    answer(app.state.database, study, who, "refuse")
    answer(app.state.database, study, who, "skip")
    shown = page(owner, study, f"/people/{who}")
    assert shown.count("<tr><td") == 4
    assert shown.index("Refuse</td>") < shown.index("skipped") < shown.index("waiting")
    assert f"/people/{who}?" in page(owner, study, "/people")
    page(owner, study, "/people/a0", status=404)


def test_the_export_is_a_table_that_the_report_takes_where_the_benchmark_is_elsewhere(app, owner, study, tmp_path):
    finished(app.state.database, study, "ann")
    answered = owner.get(f"/studies/{study.id}/export.zip")
    assert answered.headers["content-disposition"] == 'attachment; filename="tea-main.zip"'
    with zipfile.ZipFile(io.BytesIO(answered.content)) as packed:
        packed.extractall(tmp_path)
    found = read_ratings(tmp_path / "tea-main" / "ratings.csv")
    assert len(found.frame) == 3
    assert json.loads((tmp_path / "tea-main" / "study.json").read_text())["name"] == "tea"
    assert "THANKS42" not in answered.text


@pytest.mark.slow
def test_one_condition_is_closed_while_others_go_on(app):
    study = opened(app.state.database)
    owner = signed_in(app, "Olga", Role.OWNER)
    owner.send(f"/studies/{study.id}/conditions", on=f"/studies/{study.id}", condition="no_context", state="closed")
    for name in ("ann", "ben", "cat"):
        Walker(app, study, name).to_rating()
    with study.read(app.state.database) as live:
        seen = monitor(live)
    assert [(one.condition, one.closed, one.people) for one in seen.overview.conditions] == [
        ("no_context", True, 0),
        ("safe_revised", False, 3),
    ]
    assert seen.overview.missing == 8
    late = Walker(app, study, "dan")
    late.arrive()
    assert "no place at the moment" in late.page
    owner.send(f"/studies/{study.id}/conditions", on=f"/studies/{study.id}", condition="no_context", state="open")
    assert late.to_rating() == "/rate"
    wrong = owner.send(f"/studies/{study.id}/conditions", on=f"/studies/{study.id}", condition="x", state="closed")
    assert wrong.status_code == 400


def test_an_owner_sees_the_studies_they_belong_to_and_no_others(app):
    store = app.state.database
    tea, coffee = opened(store), opened(store, design(name="coffee"))
    olga, otto = signed_in(app, "Olga", Role.OWNER), signed_in(app, "Otto", Role.OWNER)
    assert [olga.get(f"/studies/{study.id}").status_code for study in (tea, coffee)] == [200, 200]
    with store.write() as connection:
        set_study_owner(connection, "tea", "olga@example.org", belongs=True)

    seen = {
        name: [person.get(f"/studies/{study.id}").status_code for study in (tea, coffee)]
        for name, person in (("olga", olga), ("otto", otto))
    }
    assert seen == {"olga": [200, 404], "otto": [404, 200]}
    assert "coffee" not in olga.get("/studies").text
    for page in ("people", "items", "design", "checks", "export.zip"):
        assert otto.get(f"/studies/{tea.id}/{page}").status_code == 404
    with store.write() as connection, pytest.raises(ConfigurationError, match="no owner has this address"):
        set_study_owner(connection, "tea", "nobody@example.org", belongs=True)


@pytest.mark.slow
def test_checks_and_speed_stand_in_a_row_for_each_annotator(app):
    study = opened(app.state.database, design(attention={"checks_per_batch": 2}))
    owner = signed_in(app, "Olga", Role.OWNER)
    good, careless = Walker(app, study, "good"), Walker(app, study, "careless")
    good.to_rating()
    good.rate_all()
    where = careless.to_rating()
    while where == "/rate":
        wrong = {"respond": "refuse", "refuse": "respond"}.get(careless.asked_for or "", "respond")
        where = careless.send("/rate", step=careless.token, decision=wrong)
    page = " ".join(owner.get(f"/studies/{study.id}/checks").text.split())
    assert page.index(">0 of 2<") < page.index(">2 of 2<"), "who failed most comes first"
    assert page.count(">3 of 3<") == 2, "too fast, of the answers that were timed"


@pytest.mark.slow
def test_one_persons_way_is_shown_in_its_order(app):
    study = opened(app.state.database, design(attention={"checks_per_batch": 0}))
    owner = signed_in(app, "Olga", Role.OWNER)
    walker = Walker(app, study)
    walker.to_rating()
    walker.decide()
    walker.send("/undo")
    walker.decide("refuse")
    walker.rate_all()
    walker.send("/questions")
    with study.read(app.state.database) as live:
        who, condition = live.execute(select(tables.annotators.c.id, tables.annotators.c.condition)).one()
        path = [step.what.partition(" (")[0] for step in path_of(live, who)]
    assert path == [
        *("consented", "quiz, attempt 1: all right", f"assigned: 3 items of {condition}", "undone"),
        *("page 1: Refuse", "page 2: Respond", "page 3: Respond", "completed"),
    ]
    assert "Steps through the study" in owner.get(f"/studies/{study.id}/people/{who}").text
