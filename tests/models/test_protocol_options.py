"""What goes beyond messages and a limit is honoured by a model, or refused before anything is sent."""

import asyncio
from dataclasses import fields
from typing import Any

import pytest
from tests.support.fault_server import FaultServer

from casewise.errors import ConfigurationError
from casewise.models.endpoints import ENDPOINTS
from casewise.models.load import ModelOptions, load_model
from casewise.models.protocol import REQUIRED_OPTIONS, FakeModel, ReplyOptions, user_messages

WANTED: dict[str, Any] = {
    "prefill": '{"judgement": "',
    "template_arguments": {"enable_thinking": False},
    "top_p": 0.9,
    "reasoning_effort": "low",
}


def asked_of(name, **options):
    """The reply of a server that is called `name`, and the body that it was sent."""

    async def go():
        async with FaultServer() as server:
            model = load_model(name, ModelOptions(server.url), environment={"OPENAI_API_KEY": "sk-x"}).model
            try:
                return await model.reply(user_messages("?"), ReplyOptions(8, **options)), server.bodies
            finally:
                await model.close()

    return asyncio.run(go())


def test_every_option_that_must_be_taken_is_one():
    assert set(REQUIRED_OPTIONS) == set(WANTED)
    assert set(REQUIRED_OPTIONS) <= {option.name for option in fields(ReplyOptions)}
    assert all(endpoint.takes <= set(REQUIRED_OPTIONS) for endpoint in ENDPOINTS.values())


def test_a_server_of_open_models_is_sent_all_of_them():
    reply, (body,) = asked_of("vllm/tiny", **WANTED)

    assert body["messages"][-1] == {"role": "assistant", "content": '{"judgement": "'}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["top_p"], body["reasoning_effort"]) == (0.9, "low")
    assert reply.text.startswith('{"judgement": "')


def test_without_them_nothing_is_sent_that_was_not_before():
    _, (body,) = asked_of("vllm/tiny")

    assert set(body) == {"model", "messages", "max_tokens", "temperature"}


@pytest.mark.parametrize("option", ["prefill", "template_arguments"])
def test_a_provider_that_does_not_take_one_is_not_asked(option):
    with pytest.raises(ConfigurationError, match=f"openai/tiny takes no {option.replace('_', ' ')}"):
        asked_of("openai/tiny", **{option: WANTED[option]})


def test_a_reply_of_a_fake_begins_as_it_is_told_to():
    model = FakeModel("unsafe")

    assert asyncio.run(model.reply(user_messages("?"), ReplyOptions(8, prefill="un"))).text == "unsafe"
    assert asyncio.run(model.reply(user_messages("?"), ReplyOptions(8, prefill="It is "))).text == "It is unsafe"
