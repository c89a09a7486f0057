"""Classifiers, reward models and moderation as judges: what they are shown, what they are worth, and what they say of themselves."""

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from tests.judges.test_guard import first_ask, guard
from tests.judges.test_guard_moderation import moderation_of

from casewise.errors import ConfigurationError, Unavailable
from casewise.judges.guard import ANSWER, REFUSAL, ClassifierGuard, RewardJudge
from casewise.judges.guard_profiles import find_profile
from casewise.models.asker import estimate_usage
from casewise.models.prices import FREE
from casewise.models.protocol import Classification, TextClassifier
from casewise.records import Arm, Scored, Unscored
from casewise.records.item import Turn

PROFILE = find_profile("classifier")


class Words(TextClassifier):
    """A classifier whose probabilities are told, or which fails."""

    name, concurrency, weights_bytes = "words", 7, 99

    def __init__(self, labels: tuple[str, ...], *found: Classification | Exception) -> None:
        self.labels, self.found, self.texts = labels, list(found), list[str]()
        self.closed = False

    def settings(self) -> dict[str, Any]:
        return {"model": "words"}

    async def classify(self, text: str) -> Classification:
        self.texts.append(text)
        found = self.found.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self) -> None:
        self.closed = True


LABELS = ("Safe", "unsafe", "label_0")
FOUND = Classification({"Safe": 0.25, "unsafe": 0.5, "label_0": 0.125}, 9, 0.123456, "v1")


def test_a_classifier_gives_the_probability_of_its_safe_labels_together():
    model = Words(LABELS, FOUND)
    judge = ClassifierGuard("guard:classifier@hf:x", model, PROFILE)
    answer = asyncio.run(judge.answer(first_ask("probability")))

    assert answer.outcome == Scored(value=0.375)
    assert (answer.latency_s, answer.model_version, answer.input_tokens) == (0.1235, "v1", 9)
    assert (answer.output_tokens, answer.cost_usd, answer.read_as) == (0, 0.0, "classifier")
    assert answer.detail == {"probabilities": dict(FOUND.probabilities)}
    assert (judge.concurrency, judge.weights_bytes, judge.sends_to) == (7, 99, None)
    assert judge.settings() == {"model": "words", "guard": PROFILE.id}
    assert judge.id.startswith(f"guard:classifier@hf:x#{PROFILE.id}#")
    assert judge.notes()[0].startswith("guard:classifier@hf:x is A text classifier with labels safe and unsafe")
    asyncio.run(judge.close())
    assert model.closed


def test_a_probability_is_never_more_than_one():
    rounded = Classification({"safe": 0.7, "label_0": 0.4, "unsafe": 0.0})
    judge = ClassifierGuard("g", Words(("safe", "label_0", "unsafe"), rounded), PROFILE)

    assert asyncio.run(judge.answer(first_ask("probability"))).outcome == Scored(value=1.0)


def test_a_classifier_without_a_safe_label_is_refused():
    with pytest.raises(
        ConfigurationError, match="g has the labels good, bad, and the profile knows safe, label_0, unsafe, label_1"
    ):
        ClassifierGuard("g", Words(("good", "bad")), PROFILE)


def test_a_classifier_is_shown_the_conversation_with_its_context_and_a_reply():
    judge = ClassifierGuard("g", Words(LABELS), PROFILE)
    ask = first_ask("probability", reply="Yes.")
    text = judge.received_input(ask)

    assert text.startswith("system: ")
    assert f"\n\nuser: {ask.query.text}\n\nassistant: Yes." in text
    assert judge.text(ask, None).endswith(ask.query.text)


def test_a_call_that_fails_is_the_outcome_of_its_item():
    answer = asyncio.run(
        ClassifierGuard("g", Words(LABELS, Unavailable("away")), PROFILE).answer(first_ask("probability"))
    )

    assert isinstance(answer.outcome, Unscored)
    assert (answer.outcome.reason.value, answer.outcome.detail) == ("unavailable", "away")
    away = asyncio.run(RewardJudge("r", Words(("r",), Unavailable("away"))).answer(first_ask("scalar")))
    assert isinstance(away.outcome, Unscored)


# Reward models.


def test_a_reward_is_the_difference_of_the_answers_and_the_refusals_logits():
    model = Words(("r",), Classification({"r": 0.8}), Classification({"r": 0.5}))
    judge = RewardJudge("reward:x", model)
    answer = asyncio.run(judge.answer(first_ask("scalar")))

    assert isinstance(answer.outcome, Scored)
    assert answer.outcome.value == pytest.approx(math.log(0.8 / 0.2))
    assert answer.detail == {"logits": pytest.approx([math.log(4), 0.0])}
    assert (answer.output_tokens, answer.cost_usd) == (0, 0.0)
    assert [text.rpartition("assistant: ")[2] for text in model.texts] == [ANSWER, REFUSAL]
    assert judge.settings() == {"model": "words", "answer": ANSWER, "refusal": REFUSAL}
    assert judge.notes()[0].startswith("'reward:x' is a reward model's preference")
    assert judge.id.startswith("reward:x#")


def test_a_reward_without_logits_is_bounded():
    judge = RewardJudge("r", Words(("r",), Classification({"r": 1.0}), Classification({"r": 0.0})))
    outcome = asyncio.run(judge.answer(first_ask("scalar"))).outcome

    assert isinstance(outcome, Scored)
    assert outcome.value == pytest.approx(2 * math.log(1e12), rel=1e-4)


def test_a_reward_model_has_one_number():
    with pytest.raises(ConfigurationError, match="r has 2 labels; a reward model has one number"):
        RewardJudge("r", Words(("a", "b")))


# Moderation.


def test_moderation_is_shown_the_circumstances_the_conversation_and_what_is_judged():
    judge, ask = moderation_of("moderation:openai/omni"), first_ask("scalar")
    assert judge.text(ask).startswith("Circumstances:\n")
    assert judge.text(ask).endswith(f"\n\nRequest to a chatbot:\n{ask.query.text}")
    assert judge.received_input(ask) == judge.text(ask)

    reply = ask.query.model_copy(update={"judged": "reply", "before": (Turn(role="user", text="Hi"),)})
    text = judge.text(replace(ask, query=reply, context=None))
    assert text == f"Conversation before:\n1. user: Hi\n\nReply of a chatbot:\n{ask.query.text}"


def test_moderation_says_what_its_values_are_and_has_no_threshold():
    highest, one = moderation_of("moderation:openai/omni"), moderation_of("moderation:openai/omni#hate")

    assert (
        highest.notes()[0]
        == "'moderation:openai/omni' gives minus the score that is highest; it has no threshold of its own."
    )
    assert (
        one.notes()[0]
        == "'moderation:openai/omni#hate' gives minus the score of 'hate'; it has no threshold of its own."
    )
    assert (highest.settings()["category"], one.settings()["category"]) == (None, "hate")
    assert one.settings()["model"] == "omni"
    assert (highest.settings()["base_url"], moderation_of("moderation:vllm/m").settings()["base_url"]) == (
        "https://api.openai.com/v1",
        "this machine",
    )
    assert highest.sends_to == "api.openai.com"


def test_moderation_is_free_of_a_provider_that_bills_nothing_and_on_this_machine_and_its_price_is_unknown_elsewhere():
    prices = {name: moderation_of(f"moderation:{name}/mod").prices for name in ("openai", "vllm", "mistral")}

    assert prices == {"openai": FREE, "vllm": FREE, "mistral": None}


def test_each_repeat_and_attempt_is_a_call_of_its_own():
    judge, ask = moderation_of("moderation:openai/omni"), first_ask("scalar")
    others = (replace(ask, repeat=1), replace(ask, attempt=1), replace(ask, arm=Arm.parse("none")))

    assert judge.shared_key(ask) == judge.shared_key(replace(ask, elicitation="binary"))
    assert len({judge.shared_key(each) for each in (ask, *others)}) == 4


# Chat models with a profile.


@pytest.mark.parametrize(
    ("name", "elicitations"),
    [
        ("guard:llama-guard-3@fake/x", ("probability", "binary")),
        ("guard:qwen3guard@fake/x", ("probability", "scalar", "binary")),
        ("guard:gpt-oss-safeguard@fake/x", ("binary",)),
    ],
)
def test_a_guard_gives_what_its_profile_can_tell(name, elicitations):
    assert guard(name).elicitations == elicitations


def test_a_probability_is_asked_for_at_the_first_token_where_the_label_stands_there():
    judge = guard("guard:llama-guard-3@fake/x")
    probability, binary = (judge.reply_options(first_ask(how)) for how in ("probability", "binary"))

    assert (probability.max_tokens, probability.top_logprobs, probability.first_words) == (8, 20, ("safe", "unsafe"))
    assert (binary.max_tokens, binary.top_logprobs, binary.first_words) == (128, 0, ())
    assert (probability.temperature, binary.temperature) == (0.0, 0.0)


def test_a_guards_reply_is_estimated_at_forty_tokens_after_the_words_of_its_prompt():
    judge, ask = guard("guard:llama-guard-3@fake/x"), first_ask()
    usage = judge.estimate_usage(ask)

    assert usage.output_tokens == 40
    assert usage.input_tokens == estimate_usage(judge.messages(ask), reply_tokens=1).input_tokens


def test_the_settings_of_a_guard_name_its_rendering_mode_and_policy():
    own = guard("guard:dynaguard#conversation@fake/x", policy="Mine.").settings()
    bare = guard("guard:llama-guard-3@fake/x").settings()

    assert (own["rendering"], own["policy_text"]) == ("conversation", "Mine.")
    assert own["policy"].startswith("own+")
    assert (bare["policy"], bare["policy_text"], bare["max_tokens"], bare["mode"]) == (None, None, 128, None)


def test_the_notes_of_a_guard_say_where_its_context_stands():
    conversation, policy = guard("guard:llama-guard-3@fake/x"), guard("guard:granite-guardian#policy+think@fake/x")

    assert "told of the context as the chatbot's own instructions." in conversation.notes()[0]
    assert "told of the context as its policy, in the mode think." in policy.notes()[0]


def test_a_policy_on_replies_has_a_wording_of_its_own():
    judge = guard("guard:dynaguard@fake/x")
    words = judge.wordings(("binary",), ("request", "reply", "action"))

    assert set(words) == {"reply.binary", "action.binary"}
    assert len(set(words.values())) == 2
    assert guard("guard:dynaguard@fake/x", policy="Mine.").wordings(("binary",), ("reply",)) == {}
    assert guard("guard:llama-guard-3@fake/x").wordings(("binary",), ("reply",)) == {}
