"""The owner's pages of a round: its design, its items as people see them, one person's answers, and export."""

import io
import json
import zipfile

import pytest
from sqlalchemy import select
from tests.studies.test_store import answer, begun, finished
from tests.support.app import signed_in
from tests.support.study import START, design, opened

from casewise.database.staff import Role
from casewise.database.tables import study as tables
from casewise.studies.ratings_source import read_ratings
from casewise.studies.rounds import set_state


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
    assert "per_annotator" in shown
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
