from __future__ import annotations

import json

import pytest
from tests.support.command import invoke as run
from tests.support.deciders import MODULE, judged_demo
from tests.support.fault_server import FaultServer
from tests.support.served import served

import casewise
from casewise.cli.decider import context_in
from casewise.errors import ConfigurationError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged_demo(tmp_path)
    return tmp_path


def test_a_judge_is_fitted_and_asked(folder):
    fitted = run("decider", "fit", "run", "--max-harm", "0.3", "--max-over-refusal", "0.3", "--json")
    (folder / "nurse.json").write_text('{"recipient": {"type": "a nurse"}}')
    asked = run("decider", "ask", "decider.json", "--query", "What dose?", "--context", "nurse.json", "--json")

    assert fitted.code == 0, fitted.output
    assert [one["promise"]["kind"] for one in json.loads(fitted.out)["thresholds"]["promised"]] == [
        "harm",
        "over_refusal",
    ]
    said = json.loads(asked.out)
    assert said["decision"] in ("answer", "refuse", "ask")
    assert said["unmeasured"]
    assert said["measured"]["harm"]["ci_high"] > 0


def test_the_answer_in_words_says_what_was_measured(folder):
    run("decider", "fit", "run", "--ratio", "2")
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "What dose?"}]))

    said = run("decider", "ask", "decider.json", "--messages", "chat.json").out
    assert "measured on demo (labels: votes): harm" in said
    assert "not measured: it has no context" in said
    assert "on its scale from 0 to 1" in said
    assert "P(" not in said


@pytest.mark.slow
def test_a_decider_is_replaced_only_where_that_is_said(folder):
    first = run("decider", "fit", "run", "--ratio", "2")
    served = (folder / "decider.json").read_bytes()
    again = run("decider", "fit", "run", "--ratio", "3")

    assert (first.code, again.code) == (0, 2)
    assert "decider.json exists, and may be in use" in again.err
    assert (folder / "decider.json").read_bytes() == served
    assert run("decider", "fit", "run", "--ratio", "3", "--overwrite").code == 0
    assert (folder / "decider.json").read_bytes() != served


def test_labels_of_one_person_an_item_are_called_the_same_by_fit_and_ask(folder):
    rows = "".join(f"Question {n}?,A guest.,{'safe' if n % 2 else 'unsafe'}\n" for n in range(12))
    (folder / "own.csv").write_text(f"query,context,label\n{rows}")
    casewise.import_cases(folder / "own.csv", folder / "own")
    casewise.judge(str(folder / "own"), "constant:safe", out=folder / "constant")

    assert "labels: as stated" in run("decider", "fit", "constant", "--ratio", "1").out
    assert "(labels: as stated): harm" in run("decider", "ask", "decider.json", "--query", "What now?").out


def test_a_threshold_for_nothing_is_refused(folder):
    assert run("decider", "fit", "run").code == 2
    assert run("decider", "fit", "run", "--max-harm", "0.01").code == 2
    assert not (folder / "decider.json").exists()


@pytest.mark.slow
def test_a_context_is_given_as_text_as_parameters_or_as_json(folder):
    run("decider", "fit", "run", "--ratio", "2")
    (folder / "nurse.json").write_text('{"recipient": {"type": "a nurse"}}')
    (folder / "reply.txt").write_bytes(b"\xff\xfe")
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "What dose?"}]))
    ask = ("decider", "ask", "decider.json", "--query", "What dose?", "--json")
    same = [
        ("--context", "nurse.json"),
        ("--context", '{"recipient": {"type": "a nurse"}}'),
        ("--context", '{"recipient.type": "a nurse"}'),
        ("--parameter", "recipient.type=a nurse"),
    ]
    said = [json.loads(run(*ask, *words).out) for words in same]
    text = json.loads(run(*ask, "--context", "A nurse asks, on a ward.").out)

    assert len({(one["value"], *one["unmeasured"]) for one in said}) == 1
    assert "free text" in str(text["unmeasured"])
    assert "by name, such as --parameter recipient." in str(text["unmeasured"])
    for words, problem in [
        (("--context", "none.json"), "cannot be read: No such file"),
        (("--context", "{nurse"), "--context:1: not JSON"),
        (("--context", "a nurse", "--parameter", "a.b=c"), "not both"),
        (("--parameter", "a nurse"), "write NAME=STATEMENT"),
        (("--reply", "reply.txt"), "reply.txt:1: byte 0xff is not UTF-8"),
        (("--messages", "chat.json"), "give either --query or --messages"),
    ]:
        said_no = run(*ask, *words)
        assert said_no.code == 2
        assert problem in said_no.err


@pytest.mark.slow
def test_a_decider_keeps_its_judges_address_and_says_where_nothing_answers(folder):
    """Judged at an address of this machine, fitted without one, asked without one; then the server is gone."""
    with served(FaultServer()) as server:
        judged = run("judge", "demo", "--judge", "m", "--base-url", server.url, "--elicit", "binary", "--out", "live")
        fitted = run("decider", "fit", "live", "--ratio", "2")
        asked = run("decider", "ask", "decider.json", "--query", "What dose?")
    gone = run("decider", "ask", "decider.json", "--query", "What dose?")

    assert [one.code for one in (judged, fitted, asked)] == [0, 0, 0], judged.output + fitted.output + asked.output
    assert asked.out.split()[0] in ("answer", "refuse")
    assert gone.code == 2
    assert server.url in gone.err
    assert "refuse" not in gone.out


def test_a_judge_that_raises_is_said_with_its_place_and_no_decision(folder, monkeypatch):
    """A person asks: a refusal would look like one."""
    run("decider", "fit", "run", "--ratio", "2")

    def broken(query, context):
        raise KeyError("recipient")

    monkeypatch.setattr(f"{MODULE}.mostly_right", broken)
    said = run("decider", "ask", "decider.json", "--query", "What dose?")

    assert said.code == 2
    assert "failed on its first item" in said.err
    assert "KeyError" in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("written", "parameters", "context"),
    [
        (None, (), None),
        ("A nurse asks.", (), "A nurse asks."),
        (' {"recipient": {"type": "a nurse"}}', (), {"recipient": {"type": "a nurse"}}),
        ("groups.json", (), {"sender": {"role": "a clinic"}}),
        ("groups.json", ("caller.role = x=y",), {"sender": {"role": "a clinic"}, "caller.role": " x=y"}),
        (None, ("a.b=c", "a.d=e"), {"a.b": "c", "a.d": "e"}),
    ],
)
def test_a_context_is_a_text_json_a_file_or_parameters(tmp_path, monkeypatch, written, parameters, context):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups.json").write_text('{"sender": {"role": "a clinic"}}')

    assert context_in(written, parameters) == context


@pytest.mark.parametrize("written", ["A nurse asks.", "list.json"])
def test_parameters_add_to_groups_alone(tmp_path, monkeypatch, written):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[1]")

    with pytest.raises(ConfigurationError, match="give a context as a text or by --parameter, not both"):
        context_in(written, ("a.b=c",))
