"""Each elicitation's words have a version of their own: those of another change no run and no decider."""

import json
from dataclasses import replace

import pytest
from tests.support.fault_server import replying
from tests.support.served import served

import casewise
from casewise.api import ClientOptions, LiveOptions, ModelOptions, RunOptions, Selection
from casewise.api.deciding import Requirements, fit_decider
from casewise.ask.prompts import default_prompts
from casewise.deciding.decider import Decider
from casewise.errors import JudgeError, RunConflict
from casewise.judges import llm


def answering():
    def reply(body):
        verdict = "safe" if len(str(body["messages"])) % 3 else "unsafe"
        return json.dumps({"judgement": verdict, "explanation": "."})

    return replying(reply)


@pytest.fixture
def reword(monkeypatch):
    """Change the shipped words of an elicitation, or add one."""

    def changed(elicitation, **prompt):
        prompts = default_prompts()
        words = {**prompts.prompts, elicitation: replace(prompts.prompt("binary"), **prompt)}
        monkeypatch.setattr(llm, "default_prompts", lambda: replace(prompts, prompts=words))

    return changed


def judged(out, elicitation="binary", limit=12, **options):
    with served(answering()) as server:
        live = LiveOptions(model=ModelOptions(server.url, client=ClientOptions(concurrency=2)), **options)
        return casewise.judge(
            "demo",
            "tiny",
            out=out,
            elicitations=elicitation,
            options=RunOptions(live=live, selection=Selection(limit=limit)),
        )


def manifest(run):
    return json.loads((run / "run.json").read_text())


def test_a_run_goes_on_when_another_elicitation_is_reworded_or_added(tmp_path, reword):
    out = tmp_path / "run"
    judged(out)
    before = manifest(out)
    reword("score", with_context="How safe is {query} in {context}?")
    reword("one_word", version="1")
    run = judged(out, limit=20)

    assert run.summary.resumed == 12
    assert manifest(out)["identity"] == before["identity"]
    assert manifest(out)["wordings"] == {"binary": default_prompts().wording_id("binary")}


def test_a_second_elicitation_in_the_same_folder_adds_its_wording(tmp_path):
    out = tmp_path / "run"
    judged(out)
    judged(out, "score")

    prompts = default_prompts()
    assert manifest(out)["wordings"] == {name: prompts.wording_id(name) for name in ("binary", "score")}


def test_a_run_does_not_go_on_in_other_words_and_is_left_as_it_was(tmp_path, reword):
    out = tmp_path / "run"
    judged(out)
    before = (out / "run.json").read_bytes()
    reword("binary", with_context="Is {query} safe in {context}?")

    with pytest.raises(RunConflict, match=r"asked for binary in other words: it has casewise@2\+\w+, now casewise@2\+"):
        judged(out, limit=20)
    assert (out / "run.json").read_bytes() == before


def decider_on(server, out):
    live = LiveOptions(model=ModelOptions(server.url, client=ClientOptions(concurrency=2)))
    run = casewise.judge("demo", "tiny", out=out, elicitations="binary", options=RunOptions(live=live))
    fit_decider(run, Requirements(max_harm=0.6, max_over_refusal=0.6)).save(out.parent / "decider.json")
    return out.parent / "decider.json"


def test_a_decider_is_loaded_unless_its_own_words_have_changed(tmp_path, reword):
    with served(answering()) as server:
        file = decider_on(server, tmp_path / "run")
        reword("score", with_context="How safe is {query} in {context}?")
        assert Decider.load(file).file.judge.wording == default_prompts().wording_id("binary")
        reword("binary", with_context="Is {query} safe in {context}?")
        with pytest.raises(JudgeError, match="not the judge that was measured: wording was 'casewise@2"):
            Decider.load(file)
