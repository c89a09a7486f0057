"""How a verdict is asked for, and how the reply to it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casewise.judging.asking.parsing import parse_binary, parse_score
from casewise.judging.asking.probability import LABELS, probability_outcome
from casewise.models.protocol import Reply, ReplyOptions
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason

__all__ = ["AskOptions", "Read", "options_for", "read_outcome"]

TOP_LOGPROBS = 20
"""The most that the chat-completions protocol gives."""


@dataclass(frozen=True)
class AskOptions:
    """What of the model's options the user may set; all of it goes into the run's identity."""

    temperature: float | None = 0.0
    max_tokens: int = 1024
    seed: int | None = None

    def settings(self) -> dict[str, Any]:
        """As JSON values."""
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class Read:
    """What a reply comes to, and what else was learnt from it."""

    outcome: Scored | Unscored
    detail: Mapping[str, Any] | None = None


def options_for(elicitation: Elicitation, options: AskOptions, *, repeat: int = 0) -> ReplyOptions:
    """The options of a call. A seed is raised by the repeat, so that repeats differ and a rerun does not."""
    seed = None if options.seed is None else options.seed + repeat
    if elicitation == "probability":
        return ReplyOptions(1, options.temperature, TOP_LOGPROBS, first_words=LABELS, seed=seed)
    return ReplyOptions(options.max_tokens, options.temperature, seed=seed)


def read_outcome(elicitation: Elicitation, reply: Reply) -> Read:
    """What `reply` comes to under `elicitation`."""
    if reply.finish_reason == "content_filter":
        return Read(Unscored(reason=UnscoredReason.CONTENT_FILTER, detail="the endpoint's filter cut the reply off"))
    if elicitation == "probability":
        outcome, mass = probability_outcome(reply)
        return Read(outcome, mass.as_detail() if mass else None)
    if reply.refusal and not reply.text.strip():
        return Read(Unscored(reason=UnscoredReason.REFUSED, detail=reply.refusal[:120]))
    parse = parse_binary if elicitation == "binary" else parse_score
    return Read(parse(reply.text, cut_off=reply.finish_reason == "length"))
