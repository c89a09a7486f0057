"""With --json, stdout is one JSON document and nothing else, and it holds no NaN."""

import json

import pytest
from scripts.write_commands import leaves
from tests.support.command import invoke as casewise
from tests.support.command import program
from tests.support.data import SHARED
from tests.support.published import output_rows, write

from casewise.cli.app import app

ODD = """
from casewise import read_reply

def scalar(query, context):
    return -3.5 if len(query) % 2 else 12
scalar.elicitation = "scalar"

def silent(query, context):
    return read_reply("No idea.")
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    (folder / "odd_rules.py").write_text(ODD)
    write(folder / "output_score.json", output_rows([1, "", 7]))
    write(folder / "output_binary.json", output_rows(["safe"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("constant:safe", "linear", "python:odd_rules:scalar", "python:odd_rules:silent"):
            nothing_scored = 5 if name.endswith("silent") else 0
            assert casewise("judge", "demo", "--judge", name, "--out", name.split(":")[-1]).code == nothing_scored
    return folder


@pytest.fixture
def here(judged, monkeypatch):
    monkeypatch.chdir(judged)
    return judged


def no_constants(name):
    raise AssertionError(f"{name} is no JSON")


def document(said, code=0):
    assert said.code == code, said.err
    return json.loads(said.out, parse_constant=no_constants)


COMMANDS = [
    ("demo",),
    ("judge", "demo", "--judge", "constant:unsafe", "--out", "new"),
    ("judge", "demo", "--judge", "linear", "--out", "linear"),
    ("report", "safe"),
    ("report", "linear"),
    ("report", "scalar"),
    ("report", "silent"),
    ("report", "safe", "linear", "silent"),
    ("report", "linear", "--labels", "intended", "--unscored", "exclude"),
    ("report", "silent", "--unscored", "exclude"),
    ("report", "silent", "--unscored", "published"),
    ("report", "linear", "--ties", "drop"),
    ("paper", "output_score.json"),
    ("paper", "output_binary.json"),
    ("show", "demo"),
    ("show", "demo", "1"),
]


@pytest.mark.slow
def test_every_command_that_prints_a_table_prints_one_document(here):
    for command in COMMANDS:
        nothing_scored = 5 if command[:2] == ("report", "silent") else 0
        assert isinstance(document(casewise(*command, "--json"), nothing_scored), dict), command
    for run in ("safe", "linear", "scalar", "silent"):
        metrics = here / run / "metrics.json"
        json.loads(metrics.read_text(), parse_constant=no_constants)


@pytest.mark.slow
def test_the_program_keeps_notes_off_stdout(tmp_path):
    said = program("demo", "--out", "run", "--json", cwd=tmp_path)

    found = document(said)
    assert found["benchmark"]["synthetic"]
    assert "report.html" in said.err


@pytest.mark.slow
def test_what_cannot_be_computed_says_why(here):
    found = document(casewise("report", "silent", "--json"), 5)
    rows = {row["metric"]: row for row in found["metrics"]}

    assert rows["accuracy"]["estimate"] == 0
    assert rows["unscored_rate"]["estimate"] == 1
    for row in found["metrics"]:
        assert row["estimate"] is not None or row["method"].startswith("undefined: ")
    assert any("gave no verdict on any item" in note for note in found["notes"])


@pytest.mark.slow
def test_a_judge_that_answers_everything_has_an_unscored_rate_of_zero(here):
    assert "│ Unscored          │        0.0 % [0.0, 7.9] │" in casewise("report", "safe", "--full").out


def test_replay_says_what_the_issue_promises():
    file = SHARED / "data" / "published_outputs" / "safety_mixtral8x7B" / "output_logits.json"
    if not file.exists():
        pytest.skip("needs the developers' shared data")
    found = document(casewise("paper", file, "--json"))

    assert found.keys() == {"judge", "elicitation", "omitted", "n", "n_unscored", "published", "votes", "notes"}
    assert (found["judge"], found["elicitation"], found["omitted"], found["n"]) == (
        "mixtral8x7B",
        "probability",
        [],
        900,
    )
    names = {"accuracy", "recall_safe", "recall_unsafe", "pearson", "cross_entropy", "brier"}
    assert found["published"].keys() == found["votes"].keys() == names
    for value in found["votes"].values():
        assert value.keys() == {"estimate", "ci_low", "ci_high", "n", "n_unscored"}
        assert value["ci_low"] < value["estimate"] < value["ci_high"]


def test_an_item_is_shown_to_be_read():
    said = casewise("show", "demo", "1")
    item = document(casewise("show", "demo", "1", "--json"))

    flat = " ".join(said.out.replace("│", " ").split())
    assert " ".join(item["query"].split()) in flat
    assert item["context"]["recipient"]["type"] in flat
    assert "SYNTHETIC" in flat


@pytest.mark.slow
def test_every_command_takes_json():
    for names in leaves(app):
        assert "--json" in casewise(*names, "--help").out


def test_what_a_command_did_is_one_document(tmp_path):
    database = ("--database", tmp_path / "x.db")
    invited = document(casewise("invite", "a@example.org", "--role", "owner", *database, "--json"))
    kept = document(casewise("backup", tmp_path / "x.jsonl", *database, "--json"))
    chosen = document(casewise("contexts", "select", "demo", "--queries-only", "--draft", "one", *database, "--json"))
    begun = document(casewise("study", "init", "demo", "--to", tmp_path / "s.toml", "--json"))
    joined = document(casewise("export", "demo", "--to", "csv", "--out", tmp_path / "x.csv", "--json"))

    assert invited["email"] == "a@example.org"
    assert invited["link"].startswith("http")
    assert kept["file"] == str(tmp_path / "x.jsonl")
    assert kept["rows"] >= 1
    counts = {"draft": "one", "queries": 45, "categories": 45, "left_out": 0, "imported": 0, "adopted": 0, "missing": 0}
    assert chosen == counts | {
        "short": {},
        "duplicates": [],
        "notes": ["left out by --queries-only: 90 contexts of demo"],
    }
    assert begun["conditions"]
    assert joined["path"] == str(tmp_path / "x.csv")


DESIGN = """
[simulation]
queries = 5
ratings_per_item = 4
items_per_annotator = 5
categories = 1
[simulation.safe_rates]
no_context = 0.4
safe_revised = 0.7
"""

FORMATTED = [
    ("paper", "output_score.json"),
    ("paper", "--benchmark", "demo"),
    ("power", "study", "--effect-size", "0.4"),
    ("power", "study", "--p1", "0.4", "--p2", "0.6"),
    ("power", "study", "--design", "design.toml", "--repeat", "2"),
]


@pytest.mark.parametrize("command", FORMATTED, ids=lambda command: " ".join(command[:2]))
def test_what_prints_numbers_prints_them_in_every_format(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "output_score.json", output_rows([1, "", 7]))
    (tmp_path / "design.toml").write_text(DESIGN, encoding="utf-8")

    assert document(casewise(*command, "--format", "json")) == document(casewise(*command, "--json"))
    assert "|---" in casewise(*command, "--format", "markdown").out
