"""Models of Inspect AI: what they take, and how their outputs and errors are read."""

import asyncio
import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.errors import ConfigurationError, Unauthorised, Unavailable
from casewise.models.inspect_bridge import InspectModel, inspect_messages, to_reply, translate_error
from casewise.models.load import ModelOptions, load_model
from casewise.models.protocol import Message, Rejected, ReplyOptions, Usage, user_messages

WANTED: dict[str, Any] = {
    "prefill": '{"judgement": "',
    "template_arguments": {"enable_thinking": False},
    "top_p": 0.9,
    "reasoning_effort": "low",
}


@pytest.mark.parametrize(
    ("name", "base_url", "receiver"),
    [
        ("inspect:openai/gpt-4o", None, "openai"),
        ("inspect:hf/tiny", None, None),
        ("inspect:openai/tiny", "http://127.0.0.1:9", None),
        ("inspect:vllm/tiny", "https://far.example/v1", "far.example"),
    ],
)
def test_texts_go_to_the_provider_or_to_the_address_that_is_given(name, base_url, receiver):
    model = InspectModel(name, object(), base_url=base_url)

    assert model.sends_to == receiver
    assert model.settings() == {"model": name}


def test_a_schema_is_taken_only_by_providers_that_use_it():
    assert "json_schema" in InspectModel("inspect:openai/m", object()).takes
    assert "json_schema" not in InspectModel("inspect:hf/m", object()).takes


def test_nothing_is_sent_without_consent():
    with pytest.raises(ConfigurationError, match="nothing was sent to openai"):
        asyncio.run(InspectModel("inspect:openai/m", object()).reply(user_messages("?"), ReplyOptions(8)))


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is not None, reason="Inspect AI is installed")
def test_without_inspect_the_command_that_installs_it_is_named():
    with pytest.raises(ConfigurationError, match="inspect:mockllm/model needs Inspect AI: "):
        load_model("inspect:mockllm/model", ModelOptions(), environment={})


class Logprobs:
    """Log probabilities of Inspect's."""

    def model_dump(self) -> dict[str, Any]:
        return {"content": [{"token": "safe", "logprob": -0.5, "top_logprobs": []}]}


def output(**more: Any) -> Any:
    """An output of Inspect's with one choice."""
    usage = SimpleNamespace(
        input_tokens=5, output_tokens=2, total_tokens=12, input_tokens_cache_read=3, input_tokens_cache_write=None
    )
    choice = SimpleNamespace(logprobs=Logprobs(), message=SimpleNamespace())
    return SimpleNamespace(
        **{"completion": "safe", "choices": [choice], "stop_reason": "stop", "usage": usage, "model": "m"} | more
    )


def test_an_output_is_a_reply_with_all_its_tokens():
    reply = to_reply(output(), latency_s=0.5)

    assert (reply.text, reply.finish_reason, reply.model_version, reply.latency_s) == ("safe", "stop", "m", 0.5)
    assert reply.usage == Usage(8, 4, 3)
    assert reply.token_logprobs is not None
    assert reply.token_logprobs[0].logprob == -0.5


def test_an_output_without_a_choice_tells_nothing_but_its_text():
    reply = to_reply(output(completion="", choices=[], usage=None, model=""))

    assert (reply.text, reply.finish_reason, reply.token_logprobs, reply.model_version) == ("", None, None, None)
    assert not reply.usage.is_known


@pytest.mark.parametrize("ended", ["max_tokens", "model_length"])
def test_the_end_of_a_reply_is_told_in_our_words(ended):
    assert to_reply(output(stop_reason=ended)).finish_reason == "length"


class ProviderError(Exception):
    """An error of a provider's client."""

    def __init__(self, message: str, status_code: object = None) -> None:
        super().__init__(message)
        self.status_code = status_code


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "no", Unauthorised),
        (404, "no", Unauthorised),
        (400, "no", Rejected),
        (422, "no", Rejected),
        (500, "no", Unavailable),
        (None, "no", Unavailable),
        (500, "blocked by the content policy", Rejected),
    ],
)
def test_an_error_is_told_by_its_status_or_its_words(status, message, kind):
    error = translate_error(ProviderError(message, status), "inspect:x/m")

    assert type(error) is kind
    assert str(error).startswith(f"inspect:x/m: ProviderError: {message}")
    assert getattr(error, "reason", "bad_request") == ("content_filter" if "policy" in message else "bad_request")


def test_the_status_of_an_error_is_that_of_the_first_cause_that_has_one():
    error = RuntimeError("x" * 400)
    error.__cause__ = ProviderError("inner", 403)
    translated = translate_error(error, "m")

    assert isinstance(translated, Unauthorised)
    assert f"RuntimeError: {'x' * 300}. Check" in str(translated)


class Told:
    """Stands where Inspect's model does, and keeps the configuration that it is given."""

    async def generate(self, _messages, *, config):
        self.config = config
        raise RuntimeError("seen")


@pytest.mark.inspect
@pytest.mark.parametrize(
    ("provider", "option", "taken"),
    [
        ("openai", "top_p", True),
        ("openai", "reasoning_effort", True),
        ("hf", "prefill", False),
        ("hf", "template_arguments", False),
    ],
)
def test_inspect_is_given_what_it_would_not_leave_out_without_a_word(provider, option, taken):
    pytest.importorskip("inspect_ai", reason="needs the extra [inspect]: inspect-ai")
    inspect = Told()
    model = InspectModel(f"inspect:{provider}/tiny", inspect, base_url="http://127.0.0.1:9")
    with pytest.raises(Unavailable if taken else ConfigurationError, match="seen" if taken else "takes no"):
        asyncio.run(model.reply(user_messages("?"), ReplyOptions(8, **{option: WANTED[option]})))

    assert not taken or getattr(inspect.config, option) == WANTED[option]


@pytest.mark.inspect
def test_messages_keep_their_roles_and_words():
    pytest.importorskip("inspect_ai", reason="needs the extra [inspect]: inspect-ai")
    messages = (Message("system", "a"), Message("user", "b"), Message("assistant", "c"))

    assert [(each.role, each.content) for each in inspect_messages(messages)] == [
        (message.role, message.content) for message in messages
    ]
