"""Guards over servers that answer in their form, and over tiny models run here."""

from __future__ import annotations

import asyncio
import math

import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion
from tests.support.tiny_classifier import make_tiny_classifier
from tests.support.tiny_llama import make_tiny_llama

import casewise
from casewise.api.deciding import Decider, Wanted, fit_decider
from casewise.errors import ConfigurationError
from casewise.judges.guard import ANSWER, GuardJudge, RewardJudge
from casewise.judges.judge import Ask
from casewise.judges.llm import LiveOptions
from casewise.judges.named import judge_named
from casewise.models.load import ModelOptions
from casewise.models.protocol import Classified
from casewise.records import Scored

DEMO = casewise.load("demo")

FORMS = {
    "gpt-oss-safeguard": ("1", 0.0),
    "granite-guardian": ("Hm.\n<score>no</score>", 1.0),
    "dynaguard": ("PASS", 1.0),
    "llama-guard-3": ("unsafe\nS2", 0.0),
    "qwen3guard": ("Safety: Controversial\nCategories: Politics", 0.0),
    "nemotron-content-safety": ("Prompt harm: unharmful", 1.0),
    "wildguard": ("Harmful request: no", 1.0),
    "llm": ("safe", 1.0),
    "shieldgemma": ("Yes. It does.", 0.0),
}


def first_ask(elicitation="binary", **options) -> Ask:
    item = DEMO.items[0]
    return Ask(item, DEMO.query[item.query_id], DEMO.context_of(item), elicitation=elicitation, **options)


def guard(name: str, server: FaultServer | None = None, **live) -> GuardJudge:
    found = judge_named(name, None, live=LiveOptions(model=ModelOptions(server.url if server else None), **live))
    assert isinstance(found, GuardJudge)
    return found


@pytest.mark.parametrize("name", FORMS)
def test_a_server_that_answers_in_a_guards_form_is_read(name):
    reply, value = FORMS[name]

    async def asked():
        def said(_request, body):
            return web.json_response(completion(body, reply))

        async with FaultServer(refuse=said) as server:
            judge = guard(f"guard:{name}@vllm/some/model", server)
            answer = await judge.answer(first_ask())
            await judge.close()
            return answer, server.bodies[0]

    answer, body = asyncio.run(asked())
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
    assert "Not checked at the source" in notes


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
    async def asked():
        async with FaultServer(refuse=lambda _request, body: web.json_response(completion(body, "No"))) as server:
            judge = guard("guard:shieldgemma@vllm/some/model", server)
            answers = [await judge.answer(first_ask(reply=reply)) for reply in (None, "This.")]
            await judge.close()
            return answers, server.bodies

    answers, bodies = asyncio.run(asked())
    assert [one.outcome for one in answers] == [Scored(value=1.0)] * 2
    assert "VIOLATES" in bodies[0]["chat_template_kwargs"]["guideline"]
    assert [turn["role"] for turn in bodies[0]["messages"]] == ["user"]
    assert bodies[1]["messages"][-1] == {"role": "assistant", "content": "This."}


def test_a_guard_in_another_mode_is_another_guard_and_one_that_thinks_has_room_for_it():
    plain, thinking = guard("guard:llm@fake/x"), guard("guard:llm#think@fake/x")

    assert plain.id != thinking.id
    assert plain.wanted(first_ask("probability")).first_words
    assert not thinking.wanted(first_ask("probability")).first_words
    assert thinking.wanted(first_ask("probability")).max_tokens == thinking.profile.max_tokens
    assert guard("guard:llm#conversation+think@fake/x").rendering == "conversation"
    assert "in the mode think" in thinking.notes()[0]


def test_a_moderation_endpoint_is_a_guard_with_a_profile_under_either_name(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    judges = [judge_named(name, None) for name in ("guard:moderation@openai/m#hate", "moderation:openai/m#hate")]

    assert judges[0].name == "guard:moderation@openai/m#hate"
    assert judges[0].settings() == judges[1].settings()
    assert judges[0].settings()["guard"].startswith("moderation+")
    assert judges[0].settings()["category"] == "hate"
    assert "its terms" in " ".join(judges[0].notes())


def test_a_guard_that_is_read_on_the_request_reads_no_replies():
    assert not guard("guard:wildguard@fake/x").reads_replies


def test_a_reward_is_as_the_model_gave_it_however_sure():
    class Sure:
        name, labels, sends_to, concurrency = "sure", ("reward",), None, 1

        def settings(self):
            return {}

        async def classify(self, text):
            return Classified({"reward": 1.0}, logits={"reward": 25.0 if ANSWER in text else 19.0})

        async def close(self):
            pass

    assert asyncio.run(RewardJudge("reward:sure", Sure()).answer(first_ask("scalar"))).outcome == Scored(value=6.0)


def test_a_guard_whose_model_takes_no_prefill_is_refused_before_anything_is_sent():
    judge = judge_named("guard:dynaguard@ollama/some", None)

    with pytest.raises(ConfigurationError, match="takes no prefill"):
        asyncio.run(judge.answer(first_ask()))


def test_a_guards_run_becomes_a_decider_with_its_policy(tmp_path, monkeypatch):
    async def none():
        def said(_request, body):
            told = "lock" in str(body) or len(str(body)) % 3
            return web.json_response(completion(body, "PASS" if told else "FAIL"))

        async with FaultServer(refuse=said) as server:
            live = LiveOptions(policy="Be kind.", model=ModelOptions(server.url))
            judge = judge_named("guard:dynaguard@vllm/some", DEMO, live=live)
            run = await casewise.judge_async("demo", judge, elicitations="binary", out=tmp_path / "run")
            fit_decider(run, Wanted(ratio=1)).write(tmp_path / "d.toml")
            decider = Decider.load(tmp_path / "d.toml", model=ModelOptions(server.url))
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
        judge = judge_named(name, None)
        answer = await judge.answer(first_ask(elicitation))
        await judge.close()
        return answer

    share, preference = asyncio.run(asked(names[0], "probability")), asyncio.run(asked(names[1], "scalar"))
    assert share.outcome.value == pytest.approx(share.detail["probabilities"]["safe"])
    assert preference.outcome.value == pytest.approx(preference.detail["logits"][0] - preference.detail["logits"][1])
    assert math.isfinite(preference.outcome.value)
    with pytest.raises(ConfigurationError, match="has 2 labels"):
        judge_named(names[0].replace("guard:classifier@", "reward:"), None)
