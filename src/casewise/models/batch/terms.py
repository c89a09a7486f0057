"""What each provider's batch interface takes and what it costs. `docs/batches.md` is this table in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from casewise.errors import ConfigurationError
from casewise.models.http.endpoints import Endpoint

__all__ = ["TERMS", "Shape", "Terms", "terms_of"]

Shape = Literal["openai", "together", "mistral", "anthropic", "gemini", "openrouter"]

MB = 1_000_000


@dataclass(frozen=True)
class Terms:
    """Limits of one batch, and what is taken off the price.

    A discount that is not the same for every model is 0 here, so that no limit on cost is passed.
    """

    shape: Shape
    most_requests: int
    most_bytes: int
    hours: int
    """After so long a batch that is not done expires."""
    discount: float
    source: str
    unverified: str = ""
    """What no documentation was found for, in words."""


TERMS: dict[str, Terms] = {
    "openai": Terms(
        "openai", 50_000, 200 * MB, 24, 0.5, "https://developers.openai.com/api/reference/resources/batches"
    ),
    "azure": Terms(
        "openai",
        50_000,
        200 * MB,
        24,
        0.5,
        "https://learn.microsoft.com/en-us/azure/foundry/reference/rest/batches-create-batch",
        "the discount",
    ),
    "groq": Terms(
        "openai",
        50_000,
        100 * MB,
        24,
        0.25,
        "https://console.groq.com/docs/batch",
        "the limits; the discount is the lowest that was documented",
    ),
    "together": Terms(
        "together",
        50_000,
        100 * MB,
        24,
        0.0,
        "https://docs.together.ai/docs/inference/batch/overview",
        "a discount is given on some models only, so none is reckoned with",
    ),
    "mistral": Terms(
        "mistral",
        1_000_000,
        100 * MB,
        24,
        0.5,
        "https://docs.mistral.ai/studio-api/batch-processing",
        "the limit in bytes",
    ),
    "anthropic": Terms(
        "anthropic",
        100_000,
        256 * MB,
        24,
        0.5,
        "https://platform.claude.com/docs/en/build-with-claude/batch-processing",
    ),
    "google": Terms(
        "gemini",
        50_000,
        19 * MB,
        48,
        0.5,
        "https://ai.google.dev/gemini-api/docs/batch-api",
        "the limit in requests; requests go inline, so that a batch holds less than 20 MB",
    ),
    "openrouter": Terms(
        "openrouter",
        10_000,
        50 * MB,
        24,
        0.0,
        "https://openrouter.ai/docs/batch-quickstart",
        "limits in requests and bytes; the discount is the provider's, so none is reckoned with",
    ),
}
"""By an endpoint's name."""

COMPATIBLE = Terms("openai", 50_000, 200 * MB, 24, 0.0, "", "everything: whatever speaks OpenAI's shape")
"""A server of one's own, or a gateway."""


def terms_of(endpoint: Endpoint) -> Terms:
    """The terms of an endpoint's batch interface. Raises ConfigurationError: it is not known to have one."""
    found = TERMS.get(endpoint.name) or (COMPATIBLE if endpoint.key_optional else None)
    if found is None:
        raise ConfigurationError(
            f"{endpoint.name} is not known to have a batch interface; leave --batch out, or use {', '.join(TERMS)} or a "
            "server of your own (--base-url)"
        )
    return found
