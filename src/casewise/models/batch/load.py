"""From a client to the batch interface of whoever it calls."""

from __future__ import annotations

from casewise.errors import ConfigurationError
from casewise.models.batch.anthropic import VERSION, AnthropicBatches
from casewise.models.batch.gemini import GeminiBatches
from casewise.models.batch.interface import BatchInterface
from casewise.models.batch.openai_shape import MistralShape, OpenAIShape, OpenRouterBatches, TogetherShape
from casewise.models.batch.terms import Shape, terms_of
from casewise.models.batch.wire import BatchWire
from casewise.models.http.client import EndpointClient
from casewise.models.http.openai_compatible import OpenAICompatibleModel
from casewise.models.protocol import Model

__all__ = ["batch_interface", "client_of"]

SHAPES: dict[Shape, type[BatchInterface]] = {
    "openai": OpenAIShape,
    "together": TogetherShape,
    "mistral": MistralShape,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
    "openrouter": OpenRouterBatches,
}


def client_of(model: Model | None, name: str) -> EndpointClient:
    """The client of a model behind an endpoint.

    Raises ConfigurationError: it is none: nothing of it goes over a batch interface.
    """
    if isinstance(model, OpenAICompatibleModel):
        return model.client
    raise ConfigurationError(f"{name} is not asked over a batch interface; leave --batch out")


def batch_interface(client: EndpointClient, model: str) -> BatchInterface:
    """The batch interface of a client's endpoint. Raises ConfigurationError: none is known."""
    terms = terms_of(client.endpoint)
    base, headers = client.endpoint.base_url, client.key_header()
    if terms.shape == "anthropic":
        headers = {**client.key_header("x-api-key"), "anthropic-version": VERSION}
    if terms.shape == "gemini":
        base, headers = base.removesuffix("/openai"), client.key_header("x-goog-api-key")
    return SHAPES[terms.shape](BatchWire(client, model=model, base_url=base, headers=headers), terms)
