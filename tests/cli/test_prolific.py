"""`casewise prolific`, as an owner types it: what it prints, what it asks, and what it does after a yes."""

import json

import pytest
from sqlalchemy import update
from tests.support.command import invoke
from tests.support.databases import empty_database
from tests.support.prolific import comes
from tests.support.study import tea

from casewise import database
from casewise.cli import prolific as commands
from casewise.cli.prolific import KINDS, agrees_to, print_kinds
from casewise.database.tables import study as tables
from casewise.studies.prolific import ReconciliationLine


@pytest.fixture
def place(tmp_path):
    """A study of the preset for Prolific, and an empty database."""
    return {"file": tea(tmp_path / "study.toml", "prolific"), "database": empty_database(tmp_path / "casewise.db")}


def said(place, command, *words):
    return invoke("prolific", command, place["file"], "--database", place["database"], *words)


def people(place, recruited, prolific, **here):
    """Somebody for each name, where they stand here; their submissions await a review, or are RETURNED where `back`."""
    with database.open(place["database"]) as store, store.write() as connection:
        for name, stands in here.items():
            comes(connection, recruited, name, stands)
            status = "RETURNED" if name == "back" else "AWAITING REVIEW"
            prolific.submissions[f"s-{name}"] = {"participant_id": f"p-{name}", "status": status, "study_code": "GOOD"}


# Creating, publishing, places.


@pytest.mark.parametrize(
    ("count", "words", "few"),
    [(1234.0, "1,234 people", False), (1.0, "1 person", False), (0.0, "fewer than 25 people", True)],
)
def test_a_dry_run_says_how_many_people_there_are_and_creates_nothing(place, prolific, monkeypatch, count, words, few):
    monkeypatch.setattr(type(prolific), "answer_of_studies", lambda *_: (200, {"count": count}))
    assert said(place, "create", "--dry-run").out == f"{words}\n"
    assert json.loads(said(place, "create", "--dry-run", "--json").out) == {"people": count, "fewer_than_25": few}


def test_a_study_that_was_created_is_told_with_what_is_left_to_choose(place, prolific, recruited):
    words = ("--again", "--places", "5", "--site-url", "https://study.uni.edu")
    assert said(place, "create", *words).out == (
        "created, unpublished: study-1\nBefore you publish it, choose on Prolific's page: languages English\n"
    )
    assert prolific.created[0]["total_available_places"] == 5
    place["file"].write_text(place["file"].read_text().replace('languages = ["English"]', "languages = []"))
    assert said(place, "create", *words).out == "created, unpublished: study-2\n"


def test_people_of_the_pilot_are_kept_out_by_a_group_of_a_workspace(place, prolific):
    answer = said(place, "create", "--keep-out", "pilot")
    assert answer.code == 2
    assert "--keep-out pilot makes a participant group, which needs its --workspace" in answer.err


def test_publishing_says_what_was_published(place, prolific, recruited):
    assert said(place, "publish").out == "study-1 is published\n"
    assert said(place, "publish", "--prolific-study", "mine").out == "mine is published\n"
    assert prolific.paused == ["study-1 PUBLISH", "mine PUBLISH"]


def test_places_are_told_with_what_prolific_did_not_let_be_done(place, prolific, recruited):
    needed = json.loads(said(place, "places", "--json").out)["needed"]
    now = 4 + needed
    assert said(place, "places").out == (
        f"4 of {now} places taken, {needed} more people needed; it has {now} places now\n"
    )
    prolific.places["total_available_places"], prolific.lets_shrink = 1000, False
    answer = said(place, "places")
    assert "it has 1,000 places now" in answer.out
    assert answer.err.startswith(
        "Prolific cannot remove places, so you pay people who find no item: Prolific answered 400"
    )
    with database.open(place["database"]) as store, store.write() as connection:
        connection.execute(update(tables.studies).values(state="closed"))
    assert "Prolific cannot remove places, so casewise paused the study: " in said(place, "places").err
    with database.open(place["database"]) as store, store.write() as connection:
        connection.execute(update(tables.studies).values(state="open"))
    assert said(place, "places").out.endswith("casewise started the paused study at Prolific again\n")


# Reconciling.


LINE = ReconciliationLine(None, None, "", "approve", 4.0, ratings=1000)


@pytest.mark.parametrize(
    ("kind", "yes", "doubtful", "agrees"),
    [
        ("approve", True, None, True),
        ("approve", False, True, False),
        ("decide", True, None, False),
        ("decide", False, None, False),
        ("decide", None, True, True),
        ("decide", True, False, False),
        ("decide", False, True, True),
    ],
)
def test_a_yes_is_for_every_kind_but_for_what_a_person_has_to_decide(monkeypatch, kind, yes, doubtful, agrees):
    monkeypatch.setattr(commands, "confirm", lambda _question: pytest.fail("nothing is asked"))
    assert agrees_to(kind, [LINE], "USD", yes=yes, doubtful=doubtful) == agrees


@pytest.mark.parametrize(
    ("kind", "lines", "question"),
    [
        (
            "approve",
            [LINE, LINE],
            "Approve the submission of people who completed or stopped: 2, for 8.00 USD without the fee?",
        ),
        (
            "decide",
            [LINE],
            "Approve people who skipped more than allowed, or rated nothing: 1, for 4.00 USD without the fee?",
        ),
        ("ask return", [ReconciliationLine(None, None, "")], "Ask people to return a submission, once: 1?"),
    ],
)
def test_without_a_yes_each_kind_is_asked_about_with_its_cost(monkeypatch, kind, lines, question):
    for answer in (True, False):
        asked: list[str] = []
        monkeypatch.setattr(commands, "confirm", lambda words, say=answer, to=asked: (to.append(words), say)[1])
        assert agrees_to(kind, lines, "USD", yes=None, doubtful=None) == answer
        assert asked == [question]


def test_kinds_are_printed_with_their_number_cost_and_ratings(capsys):
    print_kinds({"approve": [LINE, LINE], "ask return": [ReconciliationLine(None, None, "")]}, "USD")
    head, approve, ask = capsys.readouterr().out.splitlines()

    assert head.split("  ")[0] == "action"
    assert [cell.strip() for cell in approve.split("  ") if cell] == [KINDS["approve"], "2", "8.00 USD", "2,000"]
    assert [cell.strip() for cell in ask.split("  ") if cell] == [KINDS["ask return"], "1"]
    print_kinds({}, "USD")
    assert capsys.readouterr().out == ""


def test_where_nothing_differs_nothing_is_listed(place, prolific, recruited):
    answer = said(place, "reconcile", "--yes")
    assert (answer.code, answer.out, answer.err) == (0, "0 settled, 0 not\nnothing was done\n", "")


def test_all_that_reconcile_will_do_is_printed_by_kind_and_amount_before_any_of_it(place, prolific, recruited):
    people(place, recruited, prolific, left="rating away", good="completed", back="completed", new="tutorial")
    prolific.submissions["s-new"]["status"] = "ACTIVE"
    listed = said(place, "reconcile", "--no")
    shown = " ".join(listed.out.split())
    for words in (
        "s-good awaiting review",
        "pay a whole batch for any rating",
        "4.00 USD",
        "ratings that stop counting",
    ):
        assert words in shown
    assert "s-new" not in shown
    assert "1 settled, 3 not" in shown
    assert (listed.code, prolific.approved, shown.endswith("nothing was done")) == (0, [], True)
    done = said(place, "reconcile", "--yes")
    assert done.code == 0
    assert "approve: 1 (4.00 USD); end: 1 (4.00 USD); leave out: 1" in done.out
    assert sorted(prolific.approved) == ["s-good", "s-left"]


def test_the_json_of_reconcile_has_every_line_and_what_came_of_it(place, prolific, recruited):
    people(place, recruited, prolific, good="completed", lost="screened_out")
    prolific.breaks = "POST /bulk"
    answer = said(place, "reconcile", "--yes", "--json")
    out = json.loads(answer.out)

    assert answer.code == 1
    assert (out["done"], out["amounts"], out["currency"]) == ({"approve": 1}, {"approve": 4.0}, "USD")
    assert (out["settled"], out["refused"]) == (0, [])
    assert [lost["submission"] for lost in out["not_confirmed"]] == ["s-lost"]
    assert [(doubt["payment"], doubt["amount"]) for doubt in out["in_doubt"]] == [("bonus-0", 0.5)]
    assert [
        (line["submission"], line["there"], line["here"], line["action"], line["amount"]) for line in out["lines"]
    ] == [
        ("s-good", "awaiting review", "completed", "approve", 4.0),
        ("s-lost", "awaiting review", "screened_out", "pay", 0.5),
    ]
    assert "s-lost: pay was not confirmed: " in answer.err
    assert "1 payment is in doubt (0.50 USD). No total counts them." in answer.err


def test_what_prolific_refuses_is_told_apart_from_what_it_did_not_confirm(place, prolific, recruited):
    people(place, recruited, prolific, lost="screened_out")
    prolific.has_no_money = True
    answer = said(place, "reconcile", "--yes", "--json")
    out = json.loads(answer.out)

    assert (answer.code, out["done"], out["not_confirmed"], out["in_doubt"]) == (1, {}, [], [])
    assert [lost["submission"] for lost in out["refused"]] == ["s-lost"]
    assert "s-lost: pay was refused: " in answer.err
    assert said(place, "reconcile", "--yes").out.endswith("\nnothing was done; refused: 1\n")


# From a plan to a study at Prolific.


def test_a_study_of_another_recruiter_is_refused_and_a_token_is_needed(place, prolific, monkeypatch):
    place["file"].unlink()
    tea(place["file"])
    refused = said(place, "create")
    assert (refused.code, "[recruiter] kind is 'invitation', not 'prolific'" in refused.err) == (2, True)
    monkeypatch.delenv("CASEWISE_PROLIFIC_TOKEN")
    assert "variable CASEWISE_PROLIFIC_TOKEN" in said(place, "create", "--dry-run").err


@pytest.mark.parametrize("address", ["http://study.uni.edu", "https://127.0.0.1", "https://localhost:8000"])
def test_strangers_are_sent_to_no_address_that_is_our_own_or_not_encrypted(place, prolific, recruited, address):
    refused = said(place, "create", "--again", "--site-url", address)
    assert (refused.code, f"cannot safely reach {address}" in " ".join(refused.err.split())) == (2, True)


@pytest.mark.slow
def test_people_of_the_pilot_cannot_take_part_in_the_main_round(place, prolific, recruited):
    invoke("study", "open", place["file"], "--pilot", "--queries", "2", "--database", place["database"])
    words = ("--again", "--keep-out", "pilot", "--site-url", "https://study.uni.edu")
    prolific.projects = {"w": {"p": "ours"}}
    answer = said(place, "create", *words, "--workspace", "w")
    assert "0 people in the group group-0 cannot take part" in answer.out
    assert "participant_group_blocklist" in str(prolific.created[0]["filters"])
