"""What an endpoint can do, learnt from its own complaints.

Chat-completions servers differ in which parameters they take. The first call asks for all that is wanted; a refusal
that names a parameter is remembered, and that call and all later ones go without it. `probe` finds out with one call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from casewise.models.protocol import Message, Model, Reply, ReplyOptions

__all__ = ["Capabilities", "Probe", "probe"]

COMPLAINT = re.compile(
    r"unsupported|not (?:currently )?(?:be )?(?:support|permit|allow|available|enabled)|does(?:n't| not) support"
    r"|unrecogni[sz]ed|unknown|unexpected|extra (?:inputs?|fields?)|only the default|deprecated"
    r"|must be|at most|less than|greater than|too (?:large|many|high)|maximum|out of range|invalid",
    re.IGNORECASE,
)


@dataclass
class Capabilities:
    """What may be sent. Changes only from more to less, apart from the name of the token limit."""

    token_limit: str = "max_tokens"
    temperature: bool = True
    logprobs: bool = True
    most_top_logprobs: int = 20
    json_schema: bool = True
    seed: bool = True

    def learn(self, body: Mapping[str, Any], complaint: str) -> bool:
        """Note what `complaint`, the answer to `body`, says cannot be done. True if the call is worth repeating.

        It is also when an earlier call has taught the same while this one was under way.
        """
        if not COMPLAINT.search(complaint):
            return False
        return any(lesson(self, body, complaint) for lesson in LESSONS)

    @property
    def takes(self) -> frozenset[str]:
        """The options of a reply that may be sent."""
        return frozenset(name for name in ("temperature", "json_schema", "seed") if getattr(self, name))

    def settings(self) -> dict[str, Any]:
        """What was learnt, for the notes of a run's session."""
        return dict(vars(self))


Lesson = Callable[[Capabilities, Mapping[str, Any], str], bool]


def about_token_limit(known: Capabilities, body: Mapping[str, Any], complaint: str) -> bool:
    names = ("max_tokens", "max_completion_tokens")
    sent = next((name for name in names if name in body), None)
    if sent is None or not re.search(rf"\b{sent}\b", complaint):
        return False
    wrong_name = re.search(
        r"unsupported|not support|unrecogni|unknown|extra|not permitted|unexpected", complaint, re.IGNORECASE
    )
    if not wrong_name:
        return False
    known.token_limit = names[1 - names.index(sent)]
    return True


def about_top_logprobs(known: Capabilities, body: Mapping[str, Any], complaint: str) -> bool:
    sent = body.get("top_logprobs")
    if not sent or "logprobs" not in complaint:
        return False
    bounds = [int(digits) for digits in re.findall(r"\b\d{1,2}\b", complaint) if 0 < int(digits) < sent]
    if not bounds:
        return False
    known.most_top_logprobs = min(known.most_top_logprobs, max(bounds))
    return True


def about(field: str, attribute: str, pattern: str) -> Lesson:
    """A lesson that drops `field` from all later calls when a complaint matches `pattern`."""

    def lesson(known: Capabilities, body: Mapping[str, Any], complaint: str) -> bool:
        if field not in body or not re.search(pattern, complaint, re.IGNORECASE):
            return False
        setattr(known, attribute, False)
        return True

    return lesson


LESSONS: tuple[Lesson, ...] = (
    about_token_limit,
    about_top_logprobs,
    about("logprobs", "logprobs", r"log[ _]?probs?|logprob"),
    about("temperature", "temperature", r"\btemperature\b"),
    about("response_format", "json_schema", r"response_format|json_schema|structured output|json mode"),
    about("seed", "seed", r"\bseed\b"),
)


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

    Raises ModelError: the endpoint does not answer at all, or not to this key or model name.
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
