"""What an endpoint can do, found out with one call."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from casewise.models.protocol import Message, Model, Reply, ReplyOptions

__all__ = ["Probe", "probe"]

QUESTION = (Message("user", 'Reply with the JSON object {"ready": true} and nothing else.'),)

SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Probe:
    """What one call showed. `top_logprobs` is how many tokens were listed at the first position; 0 is none."""

    model: str
    model_version: str | None
    latency_s: float
    temperature: bool
    top_logprobs: int
    json_schema: bool
    seed: bool
    reply: str

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


async def probe(model: Model) -> Probe:
    """Ask for everything at once, in one call; a refused parameter is left out and the call repeated.

    Raises
    ------
    ModelError
        The endpoint does not answer at all, or not to this key or model name.
    """
    options = ReplyOptions(64, 0.0, top_logprobs=20, json_schema=SCHEMA, seed=1)
    reply = await model.reply(QUESTION, options)
    first = reply.token_logprobs[0] if reply.token_logprobs else None
    return Probe(
        model=model.name,
        model_version=reply.model_version,
        latency_s=round(reply.latency_s, 3),
        temperature="temperature" in model.takes,
        top_logprobs=len(first.top) if first is not None else 0,
        json_schema="json_schema" in model.takes and fits(reply),
        seed="seed" in model.takes,
        reply=reply.text[:200],
    )


def fits(reply: Reply) -> bool:
    try:
        return isinstance(json.loads(reply.text).get("ready"), bool)
    except (ValueError, AttributeError):
        return False
