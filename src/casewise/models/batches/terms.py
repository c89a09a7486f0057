"""Limits and discounts of each provider's batch interface; `scripts/write_reference.py` makes a page of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from casewise.errors import ConfigurationError
from casewise.models.endpoints import Endpoint

Shape = Literal["openai", "together", "mistral", "anthropic", "gemini"]

MB = 1_000_000


@dataclass(frozen=True)
class Terms:
    """Limits of one batch, and the discount on the price.

    A discount that differs between models is 0 here, so that a limit on cost is kept.
    """

    source: str
    shape: Shape = "openai"
    most_requests: int = 50_000
    most_bytes: int = 200 * MB
    hours: int = 24
    """Hours until a batch that is not done expires."""
    discount: float = 0.5
    unverified: str = ""
    """Facts without documentation, in words."""


TERMS: dict[str, Terms] = {
    "openai": Terms("https://developers.openai.com/api/reference/resources/batches"),
    "azure": Terms(
        "https://learn.microsoft.com/en-us/azure/foundry/reference/rest/batches-create-batch",
        unverified="the discount",
    ),
    "groq": Terms(
        "https://console.groq.com/docs/batch",
        most_bytes=100 * MB,
        discount=0.25,
        unverified="the limits; the discount is the lowest that was documented",
    ),
    "together": Terms(
        "https://docs.together.ai/docs/inference/batch/overview",
        "together",
        most_bytes=100 * MB,
        discount=0.0,
        unverified="only some models have a discount, so costs are estimated without it",
    ),
    "mistral": Terms(
        "https://docs.mistral.ai/studio-api/batch-processing",
        "mistral",
        1_000_000,
        100 * MB,
        unverified="the limit in bytes",
    ),
    "anthropic": Terms(
        "https://platform.claude.com/docs/en/build-with-claude/batch-processing", "anthropic", 100_000, 256 * MB
    ),
    "google": Terms(
        "https://ai.google.dev/gemini-api/docs/batch-api",
        "gemini",
        most_bytes=19 * MB,
        hours=48,
        unverified="the limit in requests; requests go inline, so that a batch holds less than 20 MB",
    ),
}
"""Terms of batch interfaces by an endpoint's name."""

COMPATIBLE = Terms("", discount=0.0, unverified="everything: any server that speaks OpenAI's protocol")
"""A server of one's own, or a gateway."""


def terms_of(endpoint: Endpoint) -> Terms:
    """Return the terms of an endpoint's batch interface. Raises ConfigurationError: none is known."""
    terms = TERMS.get(endpoint.name) or (COMPATIBLE if endpoint.key_optional else None)
    if terms is None:
        raise ConfigurationError(
            f"{endpoint.name} is not known to have a batch interface; remove --batch, or use {', '.join(TERMS)} or a "
            "server of your own (--base-url)"
        )
    return terms
