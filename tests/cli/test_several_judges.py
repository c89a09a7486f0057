"""`casewise judge` with more than one `--judge`."""

import json

import pytest
from tests.support.command import invoke as command


@pytest.mark.slow
def test_several_judges_have_a_folder_each_go_on_where_they_stopped_and_are_compared(tmp_path):
    words = ("judge", "demo", "--judge", "linear", "--judge", "constant:safe", "--out", tmp_path / "both")
    command(*words, "--limit", "4")
    said = command(*words)
    runs = json.loads(command(*words, "--json").out)["runs"]

    assert said.code == 0
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["constant-safe", "linear"]
    assert all(text in said.out for text in ("linear", "constant:safe", "95 % interval"))
    assert {name: run["n_judged"] for name, run in runs.items()} == {"linear": 90, "constant:safe": 90}


@pytest.mark.slow
def test_several_benchmarks_have_one_command_one_budget_and_one_table(tmp_path):
    other = tmp_path / "other.csv"
    rows = [
        f"May I {n}?,{who},{label}" for n in range(20) for who, label in (("a nurse", "safe"), ("a thief", "unsafe"))
    ]
    other.write_text("query,context,label\n" + "\n".join(rows) + "\n")
    assert command("data", "import", other, "--out", tmp_path / "ward").code == 0
    both = ("demo", tmp_path / "ward", "--judge", "linear", "--judge", "constant:safe", "--out", tmp_path / "runs")

    planned = command("judge", *both, "--dry-run")
    assert "linear on demo: 90 judgements" in planned.out
    assert not (tmp_path / "runs").exists()

    said = command("judge", *both)
    folders = sorted(path.parent.relative_to(tmp_path / "runs").as_posix() for path in tmp_path.rglob("run.json"))
    assert said.code == 0
    assert folders == ["demo/constant-safe", "demo/linear", "ward/constant-safe", "ward/linear"]
    assert "Accuracy by benchmark" in said.out

    again = json.loads(command("judge", *both, "--json").out)["runs"]
    assert {name: run["linear"]["n_calls"] for name, run in again.items()} == {"demo": 0, "ward": 0}
