"""What an elicitation is to who asks: the reply that it wants, and how that reply is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from casewise.models.protocol import Reply, ReplyOptions
from casewise.prompting.json_in_reply import Found, closest_key
from casewise.records import Scored, Unscored, UnscoredReason

__all__ = ["AskOptions", "HowAsked", "Outcome", "Read", "explanation_in", "in_words", "unscored", "words_wanted"]

Outcome = Scored | Unscored

EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale", "justification")

LONGEST_DETAIL = 120


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

    outcome: Outcome
    detail: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class HowAsked:
    """How a model is asked for an elicitation. Its words stand in the prompts, under the elicitation's name."""

    wants: Callable[[AskOptions], ReplyOptions]
    """What a reply should be like; a seed is put in by whoever asks."""
    read: Callable[[Reply], Read]
    """What a reply comes to that no filter cut off."""
    usual_reply_tokens: int
    """What a reply usually takes, roughly, for an estimate before the first call."""


def words_wanted(options: AskOptions) -> ReplyOptions:
    """A reply in words, as long as the user allows."""
    return ReplyOptions(options.max_tokens, options.temperature)


def in_words(reply: Reply, parse: Callable[..., Outcome]) -> Read:
    """What a reply comes to of which `parse` reads the words."""
    if reply.refusal and not reply.text.strip():
        return Read(Unscored(reason=UnscoredReason.REFUSED, detail=reply.refusal[:LONGEST_DETAIL]))
    return Read(parse(reply.text, cut_off=reply.finish_reason == "length"))


def unscored(reason: UnscoredReason, text: str) -> Unscored:
    """No verdict, with the beginning of the reply."""
    return Unscored(reason=reason, detail=" ".join(text.split())[:LONGEST_DETAIL] or None)


def explanation_in(entry: Found) -> str | None:
    """What an object says under a name for an explanation."""
    key = closest_key(entry, EXPLANATION_KEYS)
    return str(entry[key]).strip() or None if key is not None else None
