import json

import pytest
from tests.support.command import invoke as run

from casewise.audits.words import subset
from casewise.storage.load import load


@pytest.mark.slow
def test_a_subset_is_judged_and_reported(tmp_path):
    n = len(subset(load("demo"), "clear"))
    judged = run("judge", "demo", "--judge", "constant:safe", "--items", "clear", "--out", tmp_path / "run", "--json")
    found = run("report", tmp_path / "run", "--items", "clear", "--json")

    assert json.loads(judged.out)["n_items"] == n
    value = json.loads(found.out)
    assert value["items"] == "clear"
    assert {row["n"] for row in value["metrics"] if row["metric"] == "accuracy"} == {n}
    assert len(value["baselines"]) == 1


@pytest.mark.parametrize("command", ["judge", "report"])
def test_a_subset_that_does_not_exist_is_refused(command, tmp_path):
    run("judge", "demo", "--judge", "constant:safe", "--out", tmp_path / "run")
    words = ("report", tmp_path / "run") if command == "report" else ("judge", "demo", "--judge", "constant:safe")

    result = run(*words, "--items", "difficult")

    assert result.code == 2
