"""The batch interface of an endpoint, by its name."""

import pytest
from tests.models.batches.test_interface import interface

from casewise.errors import ConfigurationError
from casewise.models.batches.anthropic import AnthropicBatches
from casewise.models.batches.gemini import GeminiBatches
from casewise.models.batches.named import SHAPES, client_of
from casewise.models.batches.openai import MistralBatches, OpenAIBatches, TogetherBatches
from casewise.models.batches.terms import TERMS
from casewise.models.load import ModelOptions, load_model
from casewise.models.protocol import FakeModel


def test_the_key_goes_into_the_header_that_an_interface_wants():
    headers = {name: interface(name).wire._headers for name in ("openai", "azure", "anthropic", "google")}

    assert headers["openai"] == {"Authorization": "Bearer sk-1234"}
    assert headers["azure"] == {"api-key": "sk-1234"}
    assert headers["anthropic"] == {"x-api-key": "sk-1234", "anthropic-version": "2023-06-01"}
    assert headers["google"] == {"x-goog-api-key": "sk-1234"}


def test_geminis_batches_have_another_address_than_its_chat_completions():
    assert interface("google").wire.base_url == "https://generativelanguage.googleapis.com/v1beta"
    assert interface("openai").wire.base_url == "https://api.openai.com/v1"


def test_each_provider_is_asked_by_its_own_interface_under_its_own_terms():
    kinds = {"openai": OpenAIBatches, "groq": OpenAIBatches, "together": TogetherBatches, "mistral": MistralBatches}
    for name, kind in (kinds | {"anthropic": AnthropicBatches, "google": GeminiBatches}).items():
        assert type(interface(name)) is kind
        assert interface(name).terms is TERMS[name]
    assert {terms.shape for terms in TERMS.values()} == set(SHAPES)


def test_only_a_model_behind_an_endpoint_has_a_batch_interface():
    model = load_model("openai/x", ModelOptions(needs_key=False), environment={}).model

    assert client_of(model, "x").endpoint.name == "openai"
    for other in (FakeModel(), None):
        with pytest.raises(ConfigurationError, match="linear cannot be used over a batch interface; remove --batch"):
            client_of(other, "linear")
