"""Guards over servers that answer in their form, and over tiny models run here."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from aiohttp import web
from tests.support.demo import DEMO
from tests.support.fault_server import FaultServer, completion, replying
from tests.support.served import served
from tests.support.tiny_classifier import make_tiny_classifier
from tests.support.tiny_llama import make_tiny_llama

import casewise
from casewise.api import RunOptions, Selection
from casewise.api.deciding import Decider, Requirements, fit_decider
from casewise.errors import ConfigurationError
from casewise.judges.guard import ANSWER, GuardJudge, RewardJudge
from casewise.judges.guard_profiles import all_profiles
from casewise.judges.judge import Ask
from casewise.judges.llm import LiveOptions
from casewise.judges.named import load_judge
from casewise.models.load import ModelOptions
from casewise.models.prices import Prices
from casewise.models.protocol import Classification, TextClassifier
from casewise.records import Scored

FORMS = {
    "gpt-oss-safeguard": ("1", 0.0),
    "granite-guardian": ("Hm.\n<score>no</score>", 1.0),
    "qwen3guard": ("Safety: Controversial\nCategories: Politics", 0.0),
    "shieldgemma": ("Yes. It does.", 0.0),
}


def first_ask(elicitation="binary", **options) -> Ask:
    item = DEMO.items[0]
    return Ask(item, DEMO.query[item.query_id], DEMO.context_of(item), elicitation=elicitation, **options)


def guard(name: str, server: FaultServer | None = None, **live) -> GuardJudge:
    judge = load_judge(name, None, live=LiveOptions(model=ModelOptions(server.url if server else None), **live))
    assert isinstance(judge, GuardJudge)
    return judge


def answered(name, server, **options):
    """The guard's answer from a server, and the bodies that it was sent."""

    async def asked():
        async with server:
            judge = guard(name, server)
            try:
                return await judge.answer(first_ask(**options))
            finally:
                await judge.close()

    return asyncio.run(asked()), server.bodies


@pytest.mark.parametrize("name", FORMS)
def test_a_server_that_answers_in_a_guards_form_is_read(name):
    reply, value = FORMS[name]
    answer, (body,) = answered(f"guard:{name}@vllm/some/model", replying(reply))

    assert answer.outcome == Scored(value=value)
    assert answer.read_as == name
    assert answer.raw_reply is not None
    sent = f"{body['messages']} {body.get('chat_template_kwargs')}"
    assert "speech" in sent  # of the context
    assert body["messages"][-1]["role"] in ("user", "assistant")


def test_what_a_guard_is_told_is_part_of_who_it_is():
    names = ["guard:dynaguard@fake/x", "guard:dynaguard#conversation@fake/x"]
    ids = [guard(name).id for name in names] + [guard(names[0], policy="Mine.").id]

    assert len(set(ids)) == 3


def test_the_report_is_told_the_licence_what_is_not_checked_and_who_has_no_policy():
    notes = " ".join(guard("guard:llama-guard-3@fake/x").notes())

    assert "has no policy input" in notes
    assert "gated" in notes
    assert "is not verified: " in notes
    for name in (name for name, profile in all_profiles().items() if profile.own_wording):
        notes = " ".join(guard(f"guard:{name}@fake/x").notes())
        assert "trained on a wording of its own" in notes
        assert all_profiles()[name].template in notes


@pytest.mark.parametrize(
    ("name", "live", "problem"),
    [
        ("guard:dynaguard", {}, "names no model"),
        ("guard:nobody@fake/x", {}, "no guard is called"),
        ("guard:llama-guard-3#policy@fake/x", {}, "has no rendering"),
        ("guard:granite-guardian#policy+loudly@fake/x", {}, "no rendering or mode 'loudly'"),
        ("guard:llama-guard-3@fake/x", {"policy": "Mine."}, "takes no policy"),
        ("guard:moderation@openai/x", {"policy": "Mine."}, "takes no policy"),
        ("guard:classifier@hf:x", {"policy": "Mine."}, "takes no policy"),
    ],
)
def test_a_guard_that_cannot_be_is_refused(name, live, problem):
    with pytest.raises(ConfigurationError, match=problem):
        guard(name, **live)


def test_shieldgemma_is_given_the_conversation_as_turns_and_the_policy_as_its_templates_guideline():
    results = [answered("guard:shieldgemma@vllm/some/model", replying("No"), reply=reply) for reply in (None, "This.")]
    bodies = [body for _, (body,) in results]

    assert [answer.outcome for answer, _ in results] == [Scored(value=1.0)] * 2
    assert "VIOLATES" in bodies[0]["chat_template_kwargs"]["guideline"]
    assert [turn["role"] for turn in bodies[0]["messages"]] == ["user"]
    assert bodies[1]["messages"][-1] == {"role": "assistant", "content": "This."}


@pytest.mark.parametrize("name", ["wildguard", "nemotron-content-safety"])
def test_a_guard_that_labels_request_and_reply_apart_is_read_for_what_is_judged(name):
    reply = "Harmful request: yes\nHarmful response: no\nPrompt harm: harmful\nResponse harm: unharmful"
    values = [answered(f"guard:{name}@vllm/m", replying(reply), reply=of)[0].outcome for of in (None, "This.")]

    assert values == [Scored(value=0.0), Scored(value=1.0)]


def test_a_guard_in_another_mode_is_another_guard_and_one_that_thinks_has_room_for_it():
    plain, thinking = guard("guard:llm@fake/x"), guard("guard:llm#think@fake/x")

    assert plain.id != thinking.id
    assert plain.reply_options(first_ask("probability")).first_words
    assert not thinking.reply_options(first_ask("probability")).first_words
    assert thinking.reply_options(first_ask("probability")).max_tokens == thinking.profile.max_tokens
    assert guard("guard:llm#conversation+think@fake/x").prompt.rendering == "conversation"
    assert "in the mode think" in thinking.notes()[0]
    assert guard("guard:gpt-oss-safeguard@fake/x").prompt.mode_name == "medium"


def test_a_moderation_endpoint_is_a_guard_with_a_profile_under_either_name(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    judges = [load_judge(name, None) for name in ("guard:moderation@openai/m#hate", "moderation:openai/m#hate")]

    assert judges[0].name == "guard:moderation@openai/m#hate"
    assert judges[0].settings() == judges[1].settings()
    assert judges[0].settings()["guard"].startswith("moderation+")
    assert judges[0].settings()["category"] == "hate"
    assert "its terms" in " ".join(judges[0].notes())
    assert judges[1].elicitations == ("scalar",)
    assert "no threshold of its own" in judges[1].notes()[0]


def test_a_reward_is_as_the_model_gave_it_however_sure():
    class Sure(TextClassifier):
        name, labels = "sure", ("reward",)

        def settings(self):
            return {}

        async def classify(self, text):
            return Classification({"reward": 1.0}, logits={"reward": 25.0 if ANSWER in text else 19.0})

    assert asyncio.run(RewardJudge("reward:sure", Sure()).answer(first_ask("scalar"))).outcome == Scored(value=6.0)


def judged(server, name, out, limit=None, **options):
    with served(server):
        live = LiveOptions(model=ModelOptions(server.url))
        how = RunOptions(live=live, selection=Selection(limit=limit))
        return casewise.judge("demo", f"guard:{name}@vllm/some", out=out, options=how, **options)


def test_a_guard_whose_model_takes_no_prefill_is_asked_without_it_and_says_so():
    judge = guard("guard:dynaguard@ollama/some")

    assert judge.reply_options(first_ask("probability")).prefill is None
    assert judge.reply_options(first_ask("probability")).max_tokens == 512
    assert "takes no prefill: DynaGuard 8B was asked without its <answer>" in " ".join(judge.notes())


def test_a_fault_in_reading_a_guards_reply_is_the_outcome_of_that_item(tmp_path, monkeypatch):
    def faulty(*_read, **_options):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("casewise.judges.guard.read_guard", faulty)
    run = judged(replying("Safety: Safe"), "qwen3guard", tmp_path / "run", limit=2)

    assert (run.summary.n_judged, run.summary.n_unscored) == (0, 2)
    for judgement in map(json.loads, (tmp_path / "run" / "judgements.jsonl").read_text().splitlines()):
        assert judgement["outcome"]["reason"] == "internal"
        assert "ZeroDivisionError at test_guard.py" in judgement["outcome"]["detail"]
        assert judgement["raw_reply"] == "Safety: Safe"
        assert judgement["output_tokens"] == 10


@pytest.mark.slow
def test_a_server_without_token_probabilities_gives_the_class_that_the_reply_names(tmp_path):
    run = judged(replying("unsafe\nS2"), "llama-guard-3", tmp_path / "run", elicitations="probability")

    assert set(run.judgements["read_as"]) == {"llama-guard-3, by class"}
    assert set(run.judgements["value"]) == {0.0}
    assert (
        "gave no probabilities of tokens: the class that a reply names stands in their place"
        in run.report().to_markdown()
    )


def dropping_system():
    """A server whose chat template knows no system message, nor an argument for it."""

    def reply(_request, body):
        bare = {**body, "messages": [turn for turn in body["messages"] if turn["role"] != "system"]}
        return web.json_response(completion({**bare, "chat_template_kwargs": {}}, "0"))

    return FaultServer(refuse=reply)


@pytest.mark.parametrize("name", ["gpt-oss-safeguard", "shieldgemma"])
def test_a_guard_whose_server_drops_the_context_is_not_run(tmp_path, name):
    server = dropping_system()
    with pytest.raises(
        ConfigurationError, match=r"the context does not reach guard:.*tokens with a context and without"
    ):
        judged(server, name, tmp_path / "run")

    assert len(server.bodies) == 2
    assert (tmp_path / "run" / "judgements.jsonl").read_text() == ""


@pytest.mark.slow
def test_a_server_that_counts_no_tokens_leaves_a_note(tmp_path):
    def reply(_request, body):
        return web.json_response({**completion(body, "0"), "usage": None})

    run = judged(FaultServer(refuse=reply), "gpt-oss-safeguard", tmp_path / "run")

    assert "counts no tokens, so casewise could not check that the context reaches" in run.report().to_markdown()


def test_the_check_that_the_context_arrives_costs_what_its_calls_cost():
    async def checked(server):
        async with server:
            judge = guard("guard:shieldgemma@vllm/tiny", server)
            judge.prices = Prices(1e6, 1e6)
            try:
                return await judge.prepare([first_ask()])
            finally:
                await judge.close()

    server = FaultServer(refuse=lambda _request, body: web.json_response(completion(body, "0")))
    spend = asyncio.run(checked(server))

    assert len(server.bodies) == 2
    assert spend.tokens == sum(completion(body, "0")["usage"]["total_tokens"] for body in server.bodies)
    assert spend.cost_usd == pytest.approx(spend.tokens)


def test_the_context_is_checked_once_a_run(tmp_path):
    server = replying("0")
    for limit in (3, 6):
        judged(server, "gpt-oss-safeguard", tmp_path / "run", limit)

    assert [body["max_tokens"] for body in server.bodies].count(1) == 2


def test_a_guards_run_becomes_a_decider_with_its_policy(tmp_path, monkeypatch):
    async def none():
        verdicts = ("PASS", "FAIL")
        async with replying(lambda body: verdicts["lock" not in str(body) and len(str(body)) % 3 == 0]) as server:
            live = LiveOptions(policy="Be kind.", model=ModelOptions(server.url))
            judge = load_judge("guard:dynaguard@vllm/some", DEMO, live=live)
            run = await casewise.plan_run("demo", judge, elicitations="binary", out=tmp_path / "run").perform()
            fit_decider(run, Requirements(ratio=1)).save(tmp_path / "d.toml")
            decider = Decider.load(tmp_path / "d.toml", base_url=server.url)
            decided = await decider.decide_async("What now?", {"recipient": {"type": "a nurse"}}, reply="This.")
            await decider.judge.close()
            return decided, server.bodies[-1]

    decided, body = asyncio.run(none())
    assert decided.decision in ("answer", "refuse")
    assert any("a reply" in one for one in decided.unmeasured)
    assert "Be kind." in str(body)
    assert "This." in str(body)


@pytest.mark.slow
@pytest.mark.local_model
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_tiny_model_with_a_template_of_our_own_gives_p_safe_by_its_label_tokens(tmp_path):
    pytest.importorskip("torch", reason="needs the extra [local]")
    judge = guard(f"guard:llama-guard-3@hf:{make_tiny_llama(tmp_path)}")

    async def asked():
        answer = await judge.answer(first_ask("probability"))
        await judge.close()
        return answer

    answer = asyncio.run(asked())
    assert isinstance(answer.outcome, Scored)
    assert answer.detail is not None
    safe, unsafe = answer.detail["mass_safe"], answer.detail["mass_unsafe"]
    assert answer.outcome.value == pytest.approx(safe / (safe + unsafe))


@pytest.mark.slow
@pytest.mark.local_model
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_classifier_and_a_reward_model_are_judges(tmp_path):
    pytest.importorskip("torch", reason="needs the extra [local]")
    labels, reward = tmp_path / "labels", tmp_path / "reward"
    names = [
        f"guard:classifier@hf:{make_tiny_classifier(labels, ('safe', 'unsafe'))}",
        f"reward:hf:{make_tiny_classifier(reward, ('reward',))}",
    ]

    async def asked(name, elicitation):
        judge = load_judge(name, None)
        answer = await judge.answer(first_ask(elicitation))
        await judge.close()
        return answer

    share, preference = asyncio.run(asked(names[0], "probability")), asyncio.run(asked(names[1], "scalar"))
    assert share.outcome.value == pytest.approx(share.detail["probabilities"]["safe"])
    assert preference.outcome.value == pytest.approx(preference.detail["logits"][0] - preference.detail["logits"][1])
    assert math.isfinite(preference.outcome.value)
    with pytest.raises(ConfigurationError, match="has 2 labels"):
        load_judge(names[0].replace("guard:classifier@", "reward:"), None)
