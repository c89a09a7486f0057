"""`casewise study`, as an owner types it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from tests.support.command import invoke
from tests.support.study import begun, finished

from casewise import database
from casewise.api.studies import Study
from casewise.errors import StudyError
from casewise.studies.rounds import find_round

CONTACT = "--researcher Ada --institution Here --email ada@uni.edu"
"""Given with every `study init` that names nobody, since nobody can be asked to take part without it."""


@pytest.fixture
def casewise():
    """Run a command line; what it printed, on stdout or, where it `fails`, on stderr."""

    def run(line, *, fails=False):
        contact = "" if "--researcher" in line else CONTACT
        said = invoke(*line.replace("study init", f"study init {contact}").split())
        assert (said.code != 0) == fails, said
        return said.err if fails else said.out

    return run


@pytest.fixture
def opened_study(casewise):
    casewise("study init demo --preset lab")
    casewise("study check --freeze")
    casewise("study open")
    store = database.open("casewise.db")
    with store.read() as connection:
        study = find_round(connection, "demo", phase="main")
    yield store, study
    store.close()


@pytest.mark.slow
def test_an_owner_plans_freezes_opens_and_watches(casewise):
    written = casewise("study init demo --preset lab")
    assert "no_context, safe_revised, unsafe_revised" in written
    assert "\nnext: casewise study check study.toml" in written
    assert "2,772 ratings, by 111 annotators" in casewise("study check")
    assert "is not frozen" in casewise("study open", fails=True)
    assert "study.frozen.json" in casewise("study check --freeze")
    assert "already frozen" in casewise("study check --freeze", fails=True)
    assert re.search(r"http://127.0.0.1:8000/study/\w{20}", casewise("study open"))
    links = casewise("invite study.toml --people 3").split()
    assert len(set(links)) == 3
    assert re.search(r"all +2772 +0 ", casewise("study status"))
    casewise("study set paused")
    assert "paused" in casewise("study status")
    casewise("study set open")
    assert json.loads(casewise("study status --json"))["state"] == "open"


def test_init_overwrites_nothing(casewise):
    casewise("study init demo")

    assert "study.toml exists" in casewise("study init demo", fails=True)


@pytest.mark.slow
def test_so_many_people_rate_each_item_as_often_as_they_can(casewise):
    written = casewise("study init demo --people 40")
    assert "132 items with 5 ratings each need 27 people who rate" in written
    assert "39 of your 40 people" in written
    assert tomllib.loads(Path("study.toml").read_text())["ratings"]["per_item"] == 5
    assert "12 more may not pass the quiz: 39 people in all" in casewise("study check")
    assert "159 of your 400 people" in casewise("study init demo --people 400 --to more.toml")
    assert "about 2 of 4 people pass the quiz" in casewise("study init demo --people 4 --to few.toml", fails=True)


def test_an_address_that_only_this_machine_opens_is_called_so(casewise):
    casewise("study init demo")
    assert "on this machine only" in casewise("study open --pilot --queries 2")


def test_an_unknown_preset_or_phase_names_those_there_are(casewise):
    assert "paper, paper-rest, prolific, lab" in casewise("study init demo --preset mturk", fails=True)
    casewise("study init demo")
    assert '"pilot", "main", "rehearsal", "preview"' in casewise("study status --phase first", fails=True)
    assert "casewise study open --pilot" in casewise("study status --phase pilot", fails=True)


def test_a_pilot_is_opened_without_freezing(casewise):
    casewise("study init demo")

    said = casewise("study open --pilot --queries 2")
    assert "The pilot round of demo 1 is open" in said
    assert said.endswith("casewise invite study.toml --phase pilot\n")
    assert "pilot round, open" in casewise("study status --phase pilot")


@pytest.mark.slow
def test_voiding_forgetting_and_exporting(casewise, opened_study):
    store, study = opened_study
    alice, bob = finished(store, study, "alice"), begun(store, study, "bob")

    assert "25 slots are open again" in casewise(f"study person {bob} --leave-out left")
    assert "nobody" in casewise("study person nobody --leave-out left", fails=True)
    assert "is included again" in casewise(f"study person {bob} --take-in mistaken")
    assert "is excluded" in casewise(f"study person {bob} --leave-out left")
    out = casewise("export study.toml --out rated")
    assert "rated: 25 ratings, and 0 excluded" in out
    assert "the ratings are withdrawn" in casewise(f"study person {alice} --forget")
    assert "0 ratings" in casewise("export study.toml --out again")
    assert json.loads(casewise("show rated --json"))["counts"]["ratings"]


@pytest.mark.slow
def test_a_report_says_once_what_nobody_rated_and_takes_no_other_report_s_place(casewise, opened_study):
    store, study = opened_study
    for name in ("alice", "bob", "carol"):
        finished(store, study, name)
    casewise("export study.toml --out rated")

    assert casewise("study report rated").count("items have no ratings") == 1
    first = Path("study-report/report.json").read_text()
    casewise("study report rated")
    assert "study-report exists" in casewise("study report demo", fails=True)
    assert Path("study-report/report.json").read_text() == first
    casewise("study report demo --out another")


@pytest.mark.slow
def test_nothing_is_to_come_once_a_round_is_closed(casewise, opened_study):
    store, study = opened_study
    finished(store, study, "alice")
    assert json.loads(casewise("study status --json"))["money"]["to_come"] > 400
    casewise("study set closed")

    found = json.loads(casewise("study status --json"))["money"]
    assert found["to_come"] == 0
    assert found["total"] == found["spent"] == 4.0
    assert "4.00 EUR spent, 0.00 in doubt, 0.00 promised, 0.00 to come: 4.00 EUR" in casewise("study status")


@pytest.mark.slow
def test_an_amendment_is_made_as_it_was_shown(casewise, opened_study):
    file, study = Path("study.toml"), Study("study.toml")
    planned = file.read_text()
    casewise("study set paused")
    file.write_text(planned.replace("per_item = 21 ", "per_item = 22 "))
    shown = study.amendment()

    file.write_text(planned.replace("per_item = 21 ", "per_item = 23 "))
    with pytest.raises(StudyError, match=r"changed in the meantime \(ratings.per_item was 21 and is 23\)"):
        study.amend(shown, reason="wide intervals")
    file.write_text(planned.replace("per_item = 21 ", "per_item = 22 "))
    study.amend(shown, reason="wide intervals")
    conditions = json.loads(casewise("study status --json"))["conditions"]
    assert [condition["promised"] for condition in conditions] == [22 * 44] * 3


def test_check_fails_below_the_hourly_floor(casewise, tmp_path):
    casewise(f"study init demo --to {tmp_path / 's.toml'}")
    text = (tmp_path / "s.toml").read_text()
    (tmp_path / "s.toml").write_text(text.replace("per_batch = 4.0", "per_batch = 1.0"))

    assert "pay at least 3.00 a batch" in casewise(f"study check {tmp_path / 's.toml'}", fails=True)


def test_nobody_can_be_asked_to_take_part_while_placeholders_stand(casewise):
    casewise("study init demo --email you@example.org --researcher Grace --institution Here")

    for command in ("check", "check --freeze", "open --pilot"):
        assert "[contact] still has 'you@example.org'" in casewise(f"study {command}", fails=True)


@pytest.mark.slow
def test_a_rehearsal_ends_exact_and_leaves_nothing_behind(casewise):
    casewise("study init demo --preset lab")
    seen = json.loads(casewise("study rehearse --annotators 30 --lease 600 --json"))  # no machine is so slow

    assert seen["exact"]
    assert [one["valid"] for one in seen["conditions"]] == [924, 924, 924]
    assert seen["people"] > 111
    assert sum(seen["outcomes"].values()) == seen["people"]
    assert seen["for_nothing"] == 0
    assert "no rehearsal round" in casewise("study status --phase rehearsal", fails=True)


def test_a_rehearsals_round_that_is_not_there_is_had_by_what_is_typed(casewise):
    casewise("study init demo --preset lab")
    said = " ".join(casewise("export study.toml --out labels --phase rehearsal", fails=True).split())
    elsewhere = " ".join(
        casewise("export study.toml --out labels --phase rehearsal --database my.db", fails=True).split()
    )

    assert "casewise study rehearse study.toml --database rehearsal.db, and then" in said
    assert "--phase rehearsal --database rehearsal.db" in said
    assert "casewise study rehearse study.toml --database my.db, and then" in elsewhere


@pytest.mark.slow
def test_what_was_never_released_has_a_preset_which_needs_generated_contexts(casewise, monkeypatch):
    assert "release --unreviewed" in casewise("study init demo --preset paper-rest", fails=True)
    monkeypatch.setenv("CASEWISE_DATABASE", "sqlite:///drafts.db")
    casewise("contexts select demo --queries-only --draft rest --per-category 1")
    casewise("contexts generate rest --model fake/contexts --yes")
    casewise("contexts release rest --unreviewed --version 1.0.0 --out rest")
    said = casewise("study init rest --preset paper-rest")
    assert "3 conditions: no_context, safe_generated, unsafe_generated" in said
    written = Path("study.toml").read_text()
    assert 'kind = "prolific"' in written
    assert "approval_rate = 98" in written
    assert "over 10,000 approved HITs" in written
    assert "floor 9.00" in casewise("study check")


@pytest.mark.slow
def test_a_closed_condition_is_marked_while_the_others_go_on(casewise, opened_study):
    assert "safe_revised is closed" in casewise("study set closed --condition safe_revised")
    assert re.findall(r"^\w+ \(closed\)", casewise("study status"), re.MULTILINE) == ["safe_revised (closed)"]
    casewise("study set open --condition safe_revised")
    assert "(closed)" not in casewise("study status")
