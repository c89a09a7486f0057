"""What an endpoint can do, learnt from its own complaints.

Chat-completions servers differ in which parameters they take. The first call asks for all that is wanted; a refusal
that names a parameter is remembered, and that call and all later ones go without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Capabilities"]

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
