import asyncio
import json
import math
import sys
from types import SimpleNamespace

import pytest
from tests.support.tiny_llama import make_tiny_llama

from casewise import api
from casewise.ask.elicitations import AskOptions
from casewise.errors import ConfigurationError
from casewise.judges.llm import LiveOptions, live_judge
from casewise.judges.plan import Plan, Selection
from casewise.models.load import ModelOptions, load_model
from casewise.models.local import LocalOptions, TransformersModel
from casewise.models.protocol import Message, ReplyOptions, user_messages
from casewise.records import Scored
from casewise.storage.load import load

torch = pytest.importorskip("torch", reason="needs the extra [local]: torch and transformers")
pytest.importorskip("transformers", reason="needs the extra [local]: torch and transformers")
pytestmark = [
    pytest.mark.local_model,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

FIRST = ReplyOptions(1, first_words=("safe", "unsafe"))
BEGINNING = "A user has sent a chatbot the request below. Decide whether it is safe. "
PROMPTS = [BEGINNING + "x " * n for n in (1, 40, 7, 90, 3, 22)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny_llama(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def model(folder):
    return TransformersModel.load(f"hf:{folder}", LocalOptions(device="cpu"))


def replies(model, prompts, options=FIRST):
    async def go():
        replies = await asyncio.gather(*(model.reply(user_messages(prompt), options) for prompt in prompts))
        await model.close()
        return replies

    return asyncio.run(go())


def one_at_a_time(model, prompt):
    """log p of the whole vocabulary at the first token, without padding, batches or a cache."""
    ids = torch.tensor([model.tokens(user_messages(prompt))])
    with torch.inference_mode():
        return torch.log_softmax(model._model(ids).logits[0, -1].float(), dim=-1)


@pytest.mark.slow
@pytest.mark.parametrize("batch_tokens", [60, 400, 100_000])
def test_batched_and_prefix_shared_probabilities_equal_those_of_one_at_a_time(model, batch_tokens):
    model.options = LocalOptions(batch_tokens=batch_tokens)
    for prompt, reply in zip(PROMPTS, replies(model, PROMPTS), strict=True):
        (position,) = reply.token_logprobs
        alone = one_at_a_time(model, prompt)

        assert position.complete
        for listed in position.top:
            id_ = model._tokenizer.convert_tokens_to_ids(listed.token)
            assert math.exp(listed.logprob) == pytest.approx(math.exp(alone[id_]), abs=1e-4)
            assert listed.logprob == pytest.approx(float(alone[id_]), abs=1e-3)


def test_what_all_prompts_begin_with_is_computed_once(model):
    async def go():
        await asyncio.gather(*(model.reply(user_messages(prompt), FIRST) for prompt in PROMPTS))
        first, length = model._prefix_cache, len(model._prefix)
        await asyncio.gather(*(model.reply(user_messages(prompt), FIRST) for prompt in reversed(PROMPTS)))
        return first, length, model._prefix_cache

    first, length, second = asyncio.run(go())

    assert length > 20
    assert second is first


def test_a_single_prompt_shares_nothing(model):
    (reply,) = replies(model, PROMPTS[:1])
    (position,) = reply.token_logprobs

    assert position.logprob == pytest.approx(float(one_at_a_time(model, PROMPTS[0]).max()), abs=1e-3)


def test_label_tokens_are_found_and_decide(model):
    tokens = model.label_tokens(("safe", "unsafe"))

    assert "safe" in tokens["safe"]
    assert tokens["unsafe"]
    assert not set(tokens["safe"]) & set(tokens["unsafe"])


def test_generated_replies_end_at_their_limit_or_at_the_end(model):
    together = replies(model, PROMPTS[:3], ReplyOptions(5))
    alone = [replies(model, [prompt], ReplyOptions(5))[0] for prompt in PROMPTS[:3]]

    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert all(reply.usage.output_tokens == 5 or reply.finish_reason == "stop" for reply in together)


def test_drawn_replies_depend_on_the_seed(model):
    def drawn(seed):
        return replies(model, PROMPTS[:1], ReplyOptions(12, 1.0, seed=seed))[0].text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) > 1


def test_a_prefill_is_what_the_reply_begins_with(model):
    (plain,) = replies(model, PROMPTS[:1], ReplyOptions(4))
    (reply,) = replies(model, PROMPTS[:1], ReplyOptions(4, prefill="It is"))
    prompt = model.tokens(user_messages(PROMPTS[0]))
    begun = model.tokens(user_messages(PROMPTS[0]), ReplyOptions(4, prefill="It is"))

    assert reply.text.startswith("It is")
    assert not plain.text.startswith("It is")
    assert model._tokenizer.decode(begun) == model._tokenizer.decode(prompt) + "It is"


def test_a_text_reaches_a_chat_template_that_takes_contents_as_parts(model):
    template = model._tokenizer.chat_template
    parts = "{% for message in messages %}{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}"
    model._tokenizer.chat_template = parts + "{{ part['text'] }};{% endfor %}{% endfor %}"
    try:
        tokens = model.tokens((Message("user", " Who? "), Message("assistant", "I.")))
    finally:
        model._tokenizer.chat_template = template

    assert model._tokenizer.decode(tokens) == " Who? ;I.;"


def test_arguments_reach_the_chat_template(model):
    model._tokenizer.chat_template = "{{ messages[0]['content'] }}{% if thinking %} Think.{% endif %}"

    def read(arguments):
        return model._tokenizer.decode(model.tokens(user_messages("x"), ReplyOptions(4, template_arguments=arguments)))

    assert read({"thinking": True}) == read({"thinking": False}) + " Think."
    model._tokenizer.chat_template = None
    assert model.tokens(user_messages("x\n")) == model.tokens(user_messages("x"))
    with pytest.raises(ConfigurationError, match="has no chat template"):
        read({"thinking": True})


def test_of_one_token_to_draw_from_it_is_drawn(model):
    greedy = replies(model, PROMPTS[:1], ReplyOptions(8))[0].text

    assert replies(model, PROMPTS[:1], ReplyOptions(8, 1.0, seed=1, top_p=1e-6))[0].text == greedy
    assert replies(model, PROMPTS[:1], ReplyOptions(8, 1.0, seed=1))[0].text != greedy


def judged(folder, out, elicitation, limit, options=LiveOptions()):
    benchmark = load("demo")
    judge = live_judge(f"hf:{folder}", options)
    plan = Plan.for_benchmark(benchmark, judge, elicitations=(elicitation,), selection=Selection(limit=limit))
    return judge, asyncio.run(api.PlannedRun(out, benchmark, judge, plan).perform()).summary


@pytest.mark.slow
def test_a_run_with_a_local_model_gives_probabilities(folder, tmp_path):
    _, summary = judged(folder, tmp_path / "run", "probability", 10)

    assert summary.n_judged + summary.n_unscored == 10
    assert summary.cost_usd == 0


def test_a_judge_without_a_mass_on_either_label_still_has_a_verdict(model):
    """The whole distribution is known, so however little mass the labels have, their ratio is exact."""
    from casewise.ask.elicitations import probability_outcome

    outcome, mass = probability_outcome(replies(model, PROMPTS[:2])[0])

    assert isinstance(outcome, Scored)
    assert outcome.low == outcome.high
    assert mass is not None
    assert 0 < mass.covered < 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [(LocalOptions(dtype="float3"), "--dtype"), (LocalOptions(device="abacus"), "--device")],
)
def test_a_wrong_setting_is_named(folder, options, problem):
    with pytest.raises(ConfigurationError, match=problem):
        TransformersModel.load(f"hf:{folder}", options)


def test_a_model_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot load the model"):
        TransformersModel.load(f"hf:{tmp_path / 'nothing'}", LocalOptions())


@pytest.mark.slow
@pytest.mark.parametrize("elicitation", ["binary", "score"])
def test_a_local_model_held_to_the_schema_says_nothing_else(folder, tmp_path, elicitation):
    pytest.importorskip("xgrammar", reason="needs the extra [local]: xgrammar")
    options = LiveOptions(ask=AskOptions(structured=True, max_tokens=60))
    judge, _ = judged(folder, tmp_path / "run", elicitation, 6, options)
    rows = [json.loads(line) for line in (tmp_path / "run" / "judgements.jsonl").read_text().splitlines()]

    assert len(rows) == 6
    judged_rows = [
        row for row in rows if row["outcome"]["kind"] == "scored"
    ]  # noise may read as a remark on the verdict
    stated = [json.loads(row["raw_reply"])["judgement"] for row in judged_rows]
    assert len(stated) >= 3
    assert [row["outcome"]["value"] for row in judged_rows] == [
        {"safe": 1, "unsafe": 0}.get(word, word) for word in stated
    ]
    assert all(json.loads(row["raw_reply"]).keys() == {"judgement", "explanation"} for row in rows)
    assert judge.settings()["structured"] is True


@pytest.mark.parametrize("temperature", [pytest.param(0.0, marks=pytest.mark.slow), 1.5])
def test_replies_end_as_whole_json_of_their_schema_before_the_limit(model, temperature):
    pytest.importorskip("xgrammar", reason="needs the extra [local]: xgrammar")
    schema = {
        "type": "object",
        "properties": {
            "sender": {
                "type": "object",
                "properties": {"role": {"type": "string", "enum": ["é", "nurse"]}},
                "required": ["role"],
                "additionalProperties": False,
            },
            "intended": {"type": "integer", "enum": [1, 10]},
            "why": {"type": "string"},
        },
        "required": ["sender", "intended", "why"],
        "additionalProperties": False,
    }
    options = ReplyOptions(120, temperature, seed=1, json_schema=schema)
    for reply in replies(model, PROMPTS[:3], options):
        context = json.loads(reply.text)
        assert list(context) == ["sender", "intended", "why"]
        assert context["intended"] in {1, 10}
        assert reply.finish_reason == "stop"


def test_a_local_model_takes_no_schema_where_xgrammar_is_absent(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgrammar", None)
    model = TransformersModel.load(f"hf:{folder}", LocalOptions())
    assert "json_schema" not in model.takes
    assert replies(model, PROMPTS[:1], ReplyOptions(4, json_schema={"type": "string"}))[0].text
    with pytest.raises(ConfigurationError, match=r"cannot be held to a JSON schema.*\[local\]"):
        live_judge(f"hf:{folder}", LiveOptions(ask=AskOptions(structured=True)))


def test_an_adapter_makes_another_model_and_is_asked_for_where_peft_is_absent(folder, tmp_path, monkeypatch):
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned" / "adapter_config.json").write_text("{}")
    options = ModelOptions(local=LocalOptions(device="cpu", adapter=str(tmp_path / "tuned")))
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ConfigurationError, match="needs peft"):
        load_model(f"hf:{folder}", options)
    with pytest.raises(ConfigurationError, match="only with hf: models"):
        load_model("fake/rehearsal", options)

    class PeftModel:
        @staticmethod
        def from_pretrained(model, adapter):
            assert adapter == options.local.adapter
            return model

    monkeypatch.setitem(sys.modules, "peft", SimpleNamespace(PeftModel=PeftModel))
    model = load_model(f"hf:{folder}", options).model
    assert model.name == f"hf:{folder} with tuned"
    before = model.settings()["adapter"]
    (tmp_path / "tuned" / "adapter_config.json").write_text('{"r": 8}')
    assert model.settings()["adapter"] != before


@pytest.mark.slow
def test_a_real_adapter_of_random_weights_moves_what_a_judge_says_and_the_two_runs_are_compared(folder, tmp_path):
    peft = pytest.importorskip("peft", reason="needs the extra [adapter]: peft")
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    lora = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, task_type="CAUSAL_LM")
    peft.get_peft_model(AutoModelForCausalLM.from_pretrained(folder), lora).save_pretrained(tmp_path / "tuned")
    ways = {"before": LocalOptions(device="cpu"), "after": LocalOptions(device="cpu", adapter=str(tmp_path / "tuned"))}
    for name, local in ways.items():
        options = api.RunOptions(selection=Selection(limit=6), live=LiveOptions(model=ModelOptions(local=local)))
        api.judge("demo", f"hf:{folder}", elicitations="probability", out=tmp_path / name, options=options)
    found = api.compare(tmp_path / "before", tmp_path / "after")

    assert [one.judge for one in found.numbers.runs.series] == [f"hf:{folder}", f"hf:{folder} with tuned"]
    before, after = (one.values[one.asked] for one in found.numbers.runs.series)
    assert len(before) == 6
    assert (before != after).all()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "adapter_config.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="cannot put the adapter"):
        load_model(f"hf:{folder}", ModelOptions(local=LocalOptions(device="cpu", adapter=str(tmp_path / "bad"))))
