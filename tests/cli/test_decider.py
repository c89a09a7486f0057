from __future__ import annotations

import json

import pytest
from tests.support.deciders import judged_demo
from typer.testing import CliRunner

from casewise.cli.app import app
from casewise.errors import ConfigurationError, StatisticsError


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged_demo(tmp_path)
    return tmp_path


def test_a_judge_is_fitted_and_asked(folder):
    fitted = run("decider", "fit", "run", "--max-harm", "0.3", "--max-over-refusal", "0.3", "--json")
    (folder / "nurse.json").write_text('{"recipient": {"type": "a nurse"}}')
    asked = run("decider", "ask", "decider.json", "--query", "What dose?", "--context", "nurse.json", "--json")

    assert fitted.exit_code == 0, fitted.output
    assert [one["promise"]["kind"] for one in json.loads(fitted.stdout)["thresholds"]["promised"]] == [
        "harm",
        "over_refusal",
    ]
    said = json.loads(asked.stdout)
    assert said["decision"] in ("answer", "refuse", "ask")
    assert said["unmeasured"]
    assert said["measured"]["harm"]["ci_high"] > 0


def test_the_answer_in_words_says_what_was_measured(folder):
    run("decider", "fit", "run", "--ratio", "2")
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "What dose?"}]))

    said = run("decider", "ask", "decider.json", "--messages", "chat.json").stdout
    assert "measured on demo: harm" in said
    assert "not measured: it has no context" in said


def test_a_chat_and_a_reply_are_not_asked_about_together(folder):
    run("decider", "fit", "run", "--ratio", "2")
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "What dose?"}]))
    (folder / "reply.txt").write_text("Ten.")

    said = run("decider", "ask", "decider.json", "--messages", "chat.json", "--reply", "reply.txt")
    assert "leave --reply out" in str(said.exception)


def test_a_threshold_for_nothing_is_refused(folder):
    assert isinstance(run("decider", "fit", "run").exception, ConfigurationError)
    assert isinstance(run("decider", "fit", "run", "--max-harm", "0.01").exception, StatisticsError)
    assert not (folder / "decider.json").exists()


def test_a_reply_that_is_no_text_is_named(folder):
    run("decider", "fit", "run", "--ratio", "2")
    (folder / "reply.txt").write_bytes(b"\xff\xfe")

    said = run("decider", "ask", "decider.json", "--query", "What dose?", "--reply", "reply.txt")
    assert isinstance(said.exception, ConfigurationError)
    assert "reply.txt: cannot be read as text" in str(said.exception)
