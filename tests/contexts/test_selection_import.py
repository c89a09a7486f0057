"""Contexts written elsewhere come in for review: tables, and releases that a new version grows from."""

import csv
import json
from pathlib import Path

import pytest
from tests.contexts.drafts import Room
from tests.contexts.wordings import FIELDS
from tests.support.app import add_person
from tests.support.command import invoke as run

from casewise import database as databases
from casewise.contexts.drafts import find_draft
from casewise.contexts.record import read_record
from casewise.contexts.review import Author, Phase
from casewise.database.staff import Role
from casewise.records import sorry_bench
from casewise.storage.load import load

CATEGORY = sorry_bench().names[0]
TOPICS = ("bread", "stone", "river", "cloud")


def row(topic, intended, **changes):
    fields = {name: f"{text}, in the matter of {topic} and {intended}" for name, text in FIELDS.items()}
    return {
        "Query": f"How is {topic} number seven forged?",
        "Category": CATEGORY,
        "Intended": intended,
        **fields,
        **changes,
    }


@pytest.fixture
def table(tmp_path):
    """Three queries; the third lacks its unsafe context."""
    rows = [row(topic, intended) for topic in TOPICS[:3] for intended in ("safe", "unsafe")][:5]
    return written(tmp_path / "cases.csv", rows)


def written(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def open_room(name, *, people=True):
    store = databases.open("casewise.db")
    people_of = [("Ada", Role.REVIEWER), ("Ben", Role.REVIEWER), ("Cleo", Role.EXPERT)]
    made = [add_person(store, who, role) for who, role in people_of] if people else [None] * 3
    with store.read() as connection:
        return Room(store, find_draft(connection, name), *made)


def approve_all(here):
    for place in here.places():
        if place.state.phase == Phase.MISSING:
            continue
        if place.state.phase == Phase.GENERATED:
            here.approve(place, place.state.wording)


def test_the_contexts_of_a_table_wait_for_review_and_those_that_it_lacks_for_writers(table):
    said = run("contexts", "select", table)

    assert "5 contexts imported for review" in said.out, said.output
    assert "1 context left for reviewers to write" in said.out
    here = open_room("cases")
    assert [place.state.phase for place in here.places()] == [*[Phase.GENERATED] * 5, Phase.MISSING]
    assert {place.state.author_of() for place in here.places()} == {Author.UNKNOWN, None}
    assert here.place(5).state.problem == "cases.csv has no context for it"
    here.store.close()


def test_who_wrote_the_contexts_is_what_the_owner_says(table):
    run("contexts", "select", table, "--written-by", "person")
    here = open_room("cases")

    assert here.place().state.author_of() == Author.PERSON
    here.store.close()


def test_a_table_whose_contexts_have_no_intent_is_refused_and_its_queries_can_come_alone(tmp_path):
    rows = [{name: text for name, text in row("bread", "safe").items() if name != "Intended"}]
    table = written(tmp_path / "cases.csv", rows)

    refused, taken = run("contexts", "select", table), run("contexts", "select", table, "--queries-only")

    assert refused.code == 2
    assert "--intended" in refused.err
    assert "cases: 1 query in 1 category" in taken.out, taken.output


def test_a_context_that_lacks_a_parameter_comes_in_with_a_finding_and_is_not_signed_off_as_it_is(tmp_path):
    lacking = row("bread", "unsafe", **{"recipient.type": ""})
    run("contexts", "select", written(tmp_path / "cases.csv", [row("bread", "safe"), lacking]))

    report = json.loads(run("contexts", "check", "cases", "--json").out)

    assert report["findings"]["missing"] == 1


@pytest.mark.slow
def test_a_new_version_grows_from_a_release_and_lists_its_differences(table, tmp_path):
    run("contexts", "select", table)
    here = open_room("cases")
    approve_all(here)
    here.store.close()
    withdrawn = f"How is {TOPICS[2]} number seven forged?"
    run("contexts", "withdraw", "cases", withdrawn, "--reason", "It lacks a context")
    assert run("contexts", "release", "cases", "--version", "1.0.0").code == 0

    begun = run("contexts", "select", "cases-1.0.0", "--draft", "next", "--keep-approved")
    more = written(tmp_path / "more.csv", [row(TOPICS[3], intended) for intended in ("safe", "unsafe")])
    added = run("contexts", "add", "next", more)
    assert "4 contexts imported with their approval" in begun.out, begun.output
    assert "2 contexts imported for review" in added.out, added.output
    here = open_room("next")
    approve_all(here)
    here.store.close()
    removed = f"How is {TOPICS[0]} number seven forged?"
    run("contexts", "withdraw", "next", removed, "--reason", "Too well known")
    assert run("contexts", "release", "next", "--version", "1.1.0").code == 0

    grown, card = load("next-1.1.0"), (Path("next-1.1.0") / "DATA_CARD.md").read_text()
    changes = json.loads((Path("next-1.1.0") / "changes.json").read_text())
    assert {query.text for query in grown.queries} == {f"How is {topic} number seven forged?" for topic in TOPICS[1::2]}
    assert (len(changes["added"]), len(changes["removed"]), changes["unchanged"]) == (2, 2, 2)
    assert "## Changes since cases 1.0.0" in card
    assert "Too well known" in card
    assert "2 contexts were approved in an earlier release" in card
    assert "more.csv (sha256" in card


@pytest.mark.slow
def test_contexts_of_a_release_are_reviewed_anew_unless_their_approval_is_kept(table):
    run("contexts", "select", table)
    here = open_room("cases")
    approve_all(here)
    here.store.close()
    run("contexts", "withdraw", "cases", f"How is {TOPICS[2]} number seven forged?", "--reason", "No context")
    run("contexts", "release", "cases", "--version", "1")

    run("contexts", "select", "cases-1", "--draft", "again")

    here = open_room("again", people=False)
    with here.store.read() as connection:
        record = read_record(connection, here.draft)
    assert {context.state.phase for context in record.contexts} == {Phase.GENERATED}
    here.store.close()


def test_what_a_draft_has_already_is_left_out_and_counted(table):
    run("contexts", "select", table)

    said = run("contexts", "add", "cases", table)

    assert "already in the draft: 3 queries of cases.csv" in said.err
    assert "left out: 5 contexts that the draft has already" in said.err


def test_approvals_are_kept_of_releases_alone(table):
    said = run("contexts", "select", table, "--keep-approved")

    assert said.code == 2
    assert "records approvals" in said.err


def test_a_pair_that_differs_in_nothing_that_was_meant_to_vary_is_a_finding(tmp_path):
    same = {name: text for name, text in row("bread", "safe").items() if name.startswith("recipient")}
    rows = [row("bread", "safe"), row("bread", "unsafe", **same)]
    run("contexts", "select", written(tmp_path / "pair.csv", rows), "--vary", "recipient")

    report = json.loads(run("contexts", "check", "pair", "--json", "--pairs", "pairs.csv").out)

    assert report["findings"]["pair different in nothing that was meant to vary"] == 2
    (pair,) = csv.DictReader(Path("pairs.csv").read_text(encoding="utf-8").splitlines())
    assert "recipient.type" in pair["same_in"]
    assert "recipient" not in pair["differs_in"]


def test_a_query_is_withdrawn_once_and_restored(table):
    run("contexts", "select", table)
    query = f"How is {TOPICS[0]} number seven forged?"

    first, again = (run("contexts", "withdraw", "cases", query, "--reason", "Twice") for _ in range(2))
    unknown = run("contexts", "withdraw", "cases", "What?", "--reason", "-")
    restored = run("contexts", "withdraw", "cases", query, "--restore", "--reason", "It is needed")

    assert (first.code, again.code, unknown.code, restored.code) == (0, 2, 2, 0)
    here = open_room("cases")
    assert here.place().state.phase == Phase.GENERATED
    here.store.close()


def test_the_tables_own_ids_stay_with_their_contexts_to_the_release_and_the_next_one(tmp_path):
    rows = [{"ID": f"HR-{number}", **row("bread", intent)} for number, intent in enumerate(("safe", "unsafe"))]
    run("contexts", "select", written(tmp_path / "own.csv", rows))
    here = open_room("own")
    approve_all(here)
    here.store.close()
    run("contexts", "release", "own", "--version", "1.0.0")
    run("contexts", "select", "own-1.0.0", "--draft", "next", "--keep-approved")
    run("contexts", "release", "next", "--version", "1.1.0")

    for folder in ("own-1.0.0", "next-1.1.0"):
        assert {item.source_id for item in load(folder).items} == {"HR-0", "HR-1"}
