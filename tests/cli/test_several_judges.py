"""`casewise judge` with more than one `--judge`."""

import json

import pytest
from tests.support.command import Command

from casewise.api.judging import RunOptions, judge_several, spent_in
from casewise.judges.llm import LLMJudge
from casewise.models.endpoints import Prices
from casewise.models.protocol import FakeModel
from casewise.runs.limits import Limits


@pytest.fixture
def command(monkeypatch, capsys):
    return Command(monkeypatch, capsys)


def test_several_judges_have_a_folder_each_and_are_compared(command, tmp_path):
    said = command("judge", "demo", "--judge", "linear", "--judge", "constant:safe", "--out", tmp_path / "both")

    assert said.code == 0
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["constant-safe", "linear"]
    assert "linear" in said.out
    assert "constant:safe" in said.out
    assert "95 % interval" in said.out


def test_they_go_on_where_they_stopped_and_are_one_document_in_json(command, tmp_path):
    command(
        "judge", "demo", "--judge", "linear", "--judge", "constant:safe", "--out", tmp_path / "both", "--limit", "4"
    )
    said = command(
        "judge", "demo", "--judge", "linear", "--judge", "constant:safe", "--out", tmp_path / "both", "--json"
    )

    runs = json.loads(said.out)["runs"]
    assert {name: run["n_judged"] for name, run in runs.items()} == {"linear": 90, "constant:safe": 90}


def test_what_is_for_one_judge_is_refused_for_several(command, tmp_path):
    said = command("judge", "demo", "--judge", "linear", "--judge", "constant:safe", "--test-connection")

    assert said.code == 2
    assert "one --judge at a time" in said.err


def test_the_budget_is_one_for_all_and_what_was_spent_before_counts(tmp_path):
    def asked(dollars):
        judges = {name: LLMJudge(FakeModel(name=name), prices=Prices(1000.0, 1000.0)) for name in ("a", "b")}
        options = RunOptions(limits=Limits(concurrency=1, max_cost=dollars))
        return judge_several("demo", judges, out=tmp_path, options=options)

    whole = asked(None)
    cost = {name: spent_in(tmp_path / name).cost_usd for name in whole}
    assert cost["a"] > 0
    (tmp_path / "b" / "judgements.jsonl").unlink()

    again = asked(cost["a"] + cost["b"] / 2)
    assert again["a"].summary.n_calls == 0
    assert again["b"].summary.stopped
    assert spent_in(tmp_path / "b").cost_usd <= cost["b"] / 2
