"""What goes in and out: the service's own form, and that of a moderation endpoint."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints

from casewise.deciding.decider import Decided, Decider
from casewise.deciding.requests import DecisionRequest, from_messages
from casewise.errors import ConfigurationError
from casewise.records.statement import Statement

__all__ = ["DecideIn", "DecideOut", "ModerationIn", "ModerationOut", "Problem", "decide_out", "moderation_out"]

Said = Annotated[str, StringConstraints(min_length=1, max_length=200_000, pattern=r"\S")]
ContextIn = dict[str, dict[str, Statement | None] | Statement | None]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Turn(Form):
    """One message of a chat."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, StringConstraints(max_length=200_000)]


class DecideIn(Form):
    """A query or a chat, and the circumstances as far as they are known."""

    query: Said | None = None
    messages: list[Turn] | None = Field(default=None, max_length=1000)
    context: ContextIn | None = None
    reply: Said | None = None

    def request(self) -> DecisionRequest:
        """What is to be decided."""
        if (self.query is None) == (self.messages is None):
            raise ConfigurationError("give either query or messages")
        if self.query is not None:
            return DecisionRequest(self.query, self.context, reply=self.reply)
        if self.reply is not None:
            raise ConfigurationError("with messages the reply is the last of them")
        return from_messages([turn.model_dump() for turn in self.messages or ()], self.context)


class DecideOut(BaseModel):
    """What to do with it."""

    decision: Literal["answer", "refuse", "ask"]
    p_safe: float | None
    value: float | None
    why: str
    unmeasured: list[str]
    failed: str | None
    categories: list[str] | None
    shadow: bool
    decided: Literal["answer", "refuse", "ask"]
    decider: str
    measured: dict[str, Any]


class TextPart(BaseModel):
    """A part of an input; only texts are decided on."""

    type: Literal["text"]
    text: Said


class ModerationIn(BaseModel):
    """As OpenAI's clients send it, and the context beside it."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    input: (
        Said
        | Annotated[list[Said], Field(min_length=1, max_length=32)]
        | Annotated[list[TextPart], Field(min_length=1, max_length=32)]
    )
    model: str | None = None
    context: ContextIn | None = None

    def requests(self) -> list[DecisionRequest]:
        """What is to be decided: one for each text; parts of one input are one text."""
        if isinstance(self.input, str):
            texts = [self.input]
        elif isinstance(self.input[0], TextPart):
            texts = ["\n\n".join(part.text for part in self.input if isinstance(part, TextPart))]
        else:
            texts = [one for one in self.input if isinstance(one, str)]
        return [DecisionRequest(text, self.context) for text in texts]


class ModerationResult(BaseModel):
    """What is said of one text."""

    flagged: StrictBool
    categories: dict[str, bool]
    category_scores: dict[str, float]
    category_applied_input_types: dict[str, list[str]]
    casewise: DecideOut


class ModerationOut(BaseModel):
    """As OpenAI's clients read it."""

    id: str
    model: str
    results: list[ModerationResult]


class ProblemDetail(BaseModel):
    """What was wrong with a request; never a part of it."""

    message: str
    type: str
    code: int


class Problem(BaseModel):
    """An error, in the form that OpenAI's clients read."""

    error: ProblemDetail


def decide_out(decider: Decider, found: Decided, *, shadow: bool) -> dict[str, Any]:
    """A decision as it goes out."""
    return {
        "decision": "answer" if shadow else found.decision,
        "p_safe": found.p_safe,
        "value": found.value,
        "why": found.why,
        "unmeasured": list(found.unmeasured),
        "failed": found.failed,
        "categories": None if found.categories is None else list(found.categories),
        "shadow": shadow,
        "decided": found.decision,
        "decider": decider.hash,
        "measured": decider.measured,
    }


def moderation_out(decider: Decider, found: list[Decided], *, shadow: bool, ask_flags: bool) -> dict[str, Any]:
    """Decisions in the form of a moderation endpoint."""
    return {
        "id": f"modr-{secrets.token_hex(12)}",
        "model": f"casewise-decider-{decider.hash[:12]}",
        "results": [moderation_result(decider, one, shadow=shadow, ask_flags=ask_flags) for one in found],
    }


def moderation_result(decider: Decider, found: Decided, *, shadow: bool, ask_flags: bool) -> dict[str, Any]:
    flagged = not shadow and (found.decision == "refuse" or (found.decision == "ask" and ask_flags))
    names = ("inappropriate_in_context", *(found.categories or ()))
    unsafe = 1 - found.p_safe if found.p_safe is not None else float(found.decision != "answer")
    return {
        "flagged": flagged,
        "categories": dict.fromkeys(names, flagged),
        "category_scores": dict.fromkeys(names, unsafe),
        "category_applied_input_types": {name: ["text"] for name in names},
        "casewise": decide_out(decider, found, shadow=shadow),
    }
