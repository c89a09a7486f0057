"""The batch interface of an endpoint."""

from __future__ import annotations

from collections.abc import Mapping

from casewise.errors import ConfigurationError
from casewise.models.batches.anthropic import VERSION, AnthropicBatches
from casewise.models.batches.gemini import GeminiBatches
from casewise.models.batches.interface import BatchInterface
from casewise.models.batches.openai import MistralBatches, OpenAIBatches, TogetherBatches
from casewise.models.batches.terms import Shape, terms_of
from casewise.models.batches.wire import BatchWire
from casewise.models.client import EndpointClient, OpenAICompatibleModel
from casewise.models.protocol import Model

SHAPES: Mapping[Shape, type[BatchInterface]] = {
    "openai": OpenAIBatches,
    "together": TogetherBatches,
    "mistral": MistralBatches,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
}


def client_of(model: Model | None, name: str) -> EndpointClient:
    """Return the client of a model behind an endpoint.

    Raises ConfigurationError: the model has none, and no batch interface.
    """
    if isinstance(model, OpenAICompatibleModel):
        return model.client
    raise ConfigurationError(f"{name} cannot be used over a batch interface; remove --batch")


def batch_interface(client: EndpointClient, model: str) -> BatchInterface:
    """Return the batch interface of a client's endpoint. Raises ConfigurationError: none is known."""
    terms = terms_of(client.endpoint)
    base, headers = client.endpoint.base_url, client.key_header()
    if terms.shape == "anthropic":
        headers = {**client.key_header("x-api-key"), "anthropic-version": VERSION}
    if terms.shape == "gemini":
        base, headers = base.removesuffix("/openai"), client.key_header("x-goog-api-key")
    return SHAPES[terms.shape](BatchWire(client, model=model, base_url=base, headers=headers), terms)
