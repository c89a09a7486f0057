import json

import pytest
from tests.support.command import invoke as command

from casewise.models.consent import allow_sending
from casewise.transforms.catalogue import TRANSFORMS

FEW = ("--attacks", "claim:authority/user,twin:recipient", "--defences", "none,datamark", "--noise", "order:reversed")


def test_every_attack_and_defence_is_listed():
    listed = json.loads(command("show", "attacks", "--json").out)["offered"]
    assert {one["role"] for one in listed} == {"attack", "perturbation", "defence"}
    assert all(one["title"] for one in listed)
    assert "claim:authority/user/safe" in command("show", "attacks").out
    defences = {one["name"].partition(":")[0] for one in listed if one["role"] == "defence"}
    assert defences == {"none", *(name for name, kind in TRANSFORMS.items() if kind.role == "defence")}
    assert {name for name in TRANSFORMS if name != "without"} <= {one["name"].partition(":")[0] for one in listed}


@pytest.mark.slow
def test_a_judge_is_attacked_and_the_report_written(tmp_path):
    run = tmp_path / "run"
    done = command("attack", "demo", "--judge", "fake/rehearsal", *FEW, "--out", run)
    found = command("robustness", run, "--json")

    assert done.code == found.code == 0
    assert f"next: casewise robustness {run}" in done.err
    assert {one["defence"] for one in json.loads(found.out)["attacks"]} == {"none", "datamark"}
    assert "under attack" in (run / "robustness.html").read_text()


@pytest.mark.slow
def test_a_dry_run_says_what_all_arms_together_take_and_asks_nobody(tmp_path):
    run = tmp_path / "run"
    said = command("attack", "demo", "--judge", "fake/rehearsal", *FEW, "--dry-run", "--json", "--out", run)
    assert json.loads(said.out)["n_asks"] == 90 * 2 * (1 + 3 + 1)
    assert not run.exists()


@pytest.mark.slow
def test_an_attacker_of_another_provider_is_named_and_needs_a_consent_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-no-account")
    allow_sending("api.openai.com")
    judge = ("--judge", "vllm/judge", "--base-url", "http://127.0.0.1:9/v1", "--attacker", "openai/attacker")
    planned = command("attack", "demo", *judge, "--dry-run", "--out", tmp_path / "run")
    said = command("attack", "demo", *judge, "--yes", "--out", tmp_path / "run")

    assert planned.code == 0
    assert "calls to the other provider's model go to api.openai.com" in planned.err
    assert said.code == 2
    assert "to api.openai.com. If its terms and yours allow that, set CASEWISE_MAY_SEND_TO=api.openai.com." in said.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("demo", "--judge", "linear", "--attacks", "claim:authorty"), "no attack is called 'claim:authorty'"),
        (("demo", "--judge", "linear", "--defences", "prayer"), "no defence is called 'prayer'"),
        (("demo",), "give --judge"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(arguments, problem):
    said = command("attack", *arguments)
    assert said.code == 2
    assert problem in said.err


@pytest.mark.slow
def test_the_replies_of_a_chatbot_are_attacked_graded_and_reported(tmp_path):
    folder = tmp_path / "replies"
    chatbot = (
        "attack",
        "demo",
        "--model",
        "fake/rehearsal",
        "--grader",
        "rubric:fake/rehearsal",
        *FEW,
        "--out",
        folder,
    )
    planned = json.loads(command(*chatbot, "--dry-run", "--json").out)
    assert planned["n_calls"] > 500
    assert not folder.exists()
    assert command(*chatbot).code == 0
    found = json.loads(command("robustness", folder, "--json").out)
    assert found["judge"] == "fake/rehearsal replies, strict"
    assert {one["defence"] for one in found["attacks"]} == {"none", "datamark"}


@pytest.mark.slow
def test_what_a_detector_holds_back_is_refused_as_a_verdict_and_as_a_reply(tmp_path):
    attacked = ("--attacks", "claim:authority/user/safe", "--defences", "none,detect:fake/rehearsal", "--noise", "none")
    asked = {
        "judge": ("--judge", "fake/rehearsal"),
        "replies": ("--model", "fake/rehearsal", "--grader", "rubric:fake/rehearsal"),
    }
    for name, whom in asked.items():
        command("attack", "demo", *whom, *attacked, "--out", tmp_path / name)
        found = json.loads(command("robustness", tmp_path / name, "--json").out)["against_people"]
        under = next(one for one in found if one["attacks"] and one["defence"].startswith("detect"))
        assert (under["harm"]["estimate"], under["over_refusal"]["estimate"]) == (0.0, 1.0)


@pytest.mark.slow
def test_the_gate_can_ask_for_robustness(tmp_path, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steady.py").write_text(
        "from zlib import crc32\n\ndef judge(query, context):\n"
        "    return ('safe', 'unsafe')[crc32(query.split(chr(10))[0].encode()) % 2]\n"
    )
    command("attack", "demo", "--judge", "python:steady:judge", *FEW, "--out", run)
    assert command("gate", run, "--max-turned", "safe=0.9,unsafe=0.9").code == 0
    assert command("gate", run, "--max-turned", "safe=0.01").code == 3
    said = command("gate", run, "--max-turned", "safe=0.5", "--baseline", run)
    assert said.code == 2
    assert "give either --baseline with --max-drop, or --max-turned" in said.err
