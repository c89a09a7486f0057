"""Categories and parameters of one's own, the whole way: draft, model, review, release, study, judge, report."""

import json
import re
from pathlib import Path

import pytest
from tests.contexts.drafts import Room
from tests.studies.running.test_export import CODES
from tests.support.app import PASSWORD, add_person, visitor
from tests.support.command import invoke
from tests.support.study import START, Walker, design, exported, finished, opened_plan

from casewise.contexts.drafts import find_draft
from casewise.contexts.generation import context_schema, read_context, shipped_prompt
from casewise.contexts.review import Phase
from casewise.database.staff import Role
from casewise.models.protocol import Reply
from casewise.records import ParameterSet, Query
from casewise.storage.load import load
from casewise.studies.rounds import freeze_plan, init_study, read_plan

PARAMETERS = """
name = "service desk"
[[groups]]
name = "caller"
title = "Who calls"
parameters = [
  { name = "role", title = "Their role", meaning = "what the caller does in the company" },
  { name = "home_town", may_be_missing = true },
]
[[groups]]
name = "line"
parameters = [{ name = "recorded" }]
"""
TAXONOMY = 'name = "desk"\ncategories = [{ name = "accounts", domain = "it" }, { name = "people", domain = "hr" }]'
QUERIES = "text,category\nWho has the key to room 12?,accounts\nWhen does the night porter sleep?,people\n"


def run(*arguments):
    result = invoke(*arguments)
    assert result.code == 0, result.output
    return result.out


@pytest.fixture
def own(tmp_path):
    (tmp_path / "desk.toml").write_text(PARAMETERS)
    return ParameterSet.read(tmp_path / "desk.toml")


@pytest.fixture
def draft(app, own, tmp_path):
    """A draft with contexts by a model that misbehaves, and three people, in the app's database."""
    (tmp_path / "taxonomy.toml").write_text(TAXONOMY)
    (tmp_path / "desk.csv").write_text(QUERIES)
    database = ("--database", app.state.database.url)
    chosen = ("--taxonomy", tmp_path / "taxonomy.toml", "--parameters", tmp_path / "desk.toml")
    run("contexts", "select", tmp_path / "desk.csv", *chosen, *database)
    run("contexts", "generate", "desk", "--model", "fake/misbehaving", "--attempts", 12, *database)
    people = [
        add_person(app.state.database, name, role)
        for name, role in [("Ada", Role.REVIEWER), ("Ben", Role.REVIEWER), ("Cleo", Role.EXPERT)]
    ]
    with app.state.database.read() as connection:
        return Room(app.state.database, find_draft(connection, "desk"), *people)


def test_the_prompt_and_the_schema_ask_for_the_set_and_a_reply_that_lacks_a_part_fails(own):
    asked = shipped_prompt().messages(Query(text="?", category="x"), None, intended_safe=True, parameters=own)
    assert "- caller.role: what the caller does in the company\n" in asked[0].content
    assert "- line.recorded: recorded\n" in asked[0].content
    assert "recipient" not in asked[0].content
    assert list(context_schema(own)["properties"]) == ["caller", "line"]

    failed = read_context(Reply('{"caller": {"role": "porter", "home_town": "-"}}', "stop"), own)
    assert failed.failure == "parameters missing: line.recorded"


def test_reviewers_read_the_titles_and_what_they_write_is_checked_against_the_set(app, draft):
    ada = visitor(app)
    ada.send("/sign-in", email="ada@example.org", password=PASSWORD)
    ada.send("/review/drafts/desk/warning")
    place = draft.place()
    here = f"/review/contexts/{place.id}"
    page = ada.get(here).text
    for words in ("<legend>Who calls</legend>", ">Their role<", 'name="caller.home_town"', ">Recorded<"):
        assert words in page
    assert 'name="recipient.type"' not in page

    seen = {"act": "submit", "seen": str(place.state.version)}
    refused = ada.send(here, **seen, **{"caller.home_town": "Ulm"})
    assert "Fill in: Their role, Recorded." in refused.text
    ada.send(here, **seen, **{"caller.role": "porter", "line.recorded": "always"})
    after = draft.place().state
    assert after.phase == Phase.UNDER_REVIEW
    assert after.positions[draft.ada.id].fields() == {"caller.role": "porter", "line.recorded": "always"}
    assert "Their role" in ada.get(f"{here}/history").text


@pytest.mark.slow
def test_the_whole_way(app, draft, own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in draft.places():
        draft.approve(place, place.state.wording)
    database = ("--database", draft.store.url)
    run("contexts", "release", "desk", "--version", "1", *database)
    released = load("desk-1")
    assert released.parameters == own
    assert released.taxonomy.name == "desk"
    assert "caller.role, caller.home_town, line.recorded" in Path("desk-1/DATA_CARD.md").read_text()
    run("contexts", "select", "desk-1", "--draft", "again", *database)
    with draft.store.read() as connection:
        assert find_draft(connection, "again").parameters == own

    init_study(
        "desk-1", preset="lab", name="desk", path=tmp_path / "study.toml", today=START.date(), contact=design().contact
    )
    toml = (tmp_path / "study.toml").read_text()
    toml = re.sub(r"(?s)\[recruiter\].*?(?=\n\[)", CODES, toml)
    # Whatever condition chance gives the walker has a situation.
    toml = re.sub(r"(?m)^conditions = .*", 'conditions = ["safe_revised", "unsafe_revised"]', toml)
    (tmp_path / "study.toml").write_text(re.sub(r"(?m)^contrasts = .*", "contrasts = []", toml))
    freeze_plan(read_plan(tmp_path / "study.toml"), at=START)
    plan = read_plan(tmp_path / "study.toml")
    study = opened_plan(draft.store, plan)
    walker = Walker(app, study)
    for decision in ("respond", "refuse"):
        finished(draft.store, study, decision, decision)
    walker.to_rating()
    assert "Their role" in walker.page
    assert "Who calls" in walker.page
    exported(draft.store, study, plan, tmp_path / "rated")

    run("judge", "rated", "--judge", "fake/rehearsal", "--ablate", "groups", "--out", "judged")
    parts = {row["part"] for row in json.loads(run("report", "judged", "--json"))["arms"]}
    assert {"caller", "line"} <= parts
