"""A judge made of a model, prompts, and options."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from casewise.errors import LeftUnanswered, Unavailable
from casewise.judging.asking.elicitation import AskOptions
from casewise.judging.asking.elicitations import HOW_ASKED, options_for, read_outcome
from casewise.judging.asking.prompts import PromptSet, default_prompts
from casewise.judging.asking.protocols import PROTOCOLS
from casewise.judging.judge import Answer, Ask
from casewise.models.http.prices import Prices
from casewise.models.protocol import HoldsWeights, Message, Model, Rejected, Reply, ReplyOptions, Usage
from casewise.records import FULL, Arm, Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import digest
from casewise.runs.estimate import at_most, usually
from casewise.runs.limits import Spend
from casewise.showing import ShownItem

__all__ = ["LLMJudge"]

AS_JSON = json.JSONEncoder(default=vars)


@dataclass(frozen=True, slots=True, eq=False)
class WhatIsAsked:
    """What decides the words of a call. It is written as text only where it has to be, which takes ten times as long."""

    shown: ShownItem
    elicitation: Elicitation
    repeat: int
    attempt: int

    @property
    def _in_brief(self) -> tuple[str, Elicitation, int, int]:
        return (self.shown.query, self.elicitation, self.repeat, self.attempt)

    def __hash__(self) -> int:
        return hash(self._in_brief)

    def __eq__(self, other: object) -> bool:
        """Their text settles it: dictionaries are equal whatever the order of what they say."""
        alike = isinstance(other, WhatIsAsked) and self._in_brief == other._in_brief and self.shown == other.shown
        return alike and str(self) == str(other)

    def __str__(self) -> str:
        return AS_JSON.encode([self.shown, self.elicitation, self.repeat, self.attempt])


@dataclass
class LLMJudge:
    """Asks a model about an item as an arm shows it, and reads the reply.

    Its id names the model, the prompts with their version, and a digest of all that decides the replies.
    """

    model: Model
    prompts: PromptSet = field(default_factory=default_prompts)
    options: AskOptions = field(default_factory=AskOptions)
    prices: Prices | None = None
    elicitations: tuple[Elicitation, ...] = tuple(HOW_ASKED)
    patience: int = 30
    """Calls in a row that the endpoint may fail, after all their retries, before the run stops."""
    counts_tokens: bool = field(default=True, init=False, repr=False)
    reads_replies: bool = field(default=False, init=False, repr=False)
    sees_layouts: bool = field(default=True, init=False, repr=False)
    _failed_in_a_row: int = field(default=0, init=False, repr=False)

    def __repr__(self) -> str:
        return f"<LLMJudge {self.name}>"

    @property
    def name(self) -> str:
        """The model's name, as the user gave it."""
        return self.model.name

    @property
    def id(self) -> str:
        """Model, prompts and a digest of the settings."""
        return f"{self.model.name}#{self.prompts.name}@{self.prompts.version}#{digest(self.settings())[:12]}"

    @property
    def sends_to(self) -> str | None:
        """Whom texts are sent to; None where they do not leave this machine."""
        return self.model.sends_to

    @property
    def concurrency(self) -> int:
        """How many calls it wants under way at least: a local model fills its batches from those that wait."""
        return self.model.concurrency

    @property
    def weights_bytes(self) -> int | None:
        """What the weights of a model that runs here take."""
        return self.model.weights_bytes if isinstance(self.model, HoldsWeights) else None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Everything shown, unless the user says otherwise."""
        return (FULL,)

    def notes(self) -> tuple[str, ...]:
        """How it was asked where that is not the usual way, and what the endpoint would not do, as far as it has said so."""
        said = []
        options = self.options
        if options.protocol is not None:
            said.append(
                f"{self.name} was asked by the protocol {options.protocol}: {PROTOCOLS[options.protocol].words}."
            )
        if options.structured and "json_schema" in self.model.takes:
            said.append(f"{self.name} was held to a JSON schema: its replies are not those that it gives freely.")
        elif options.structured:
            said.append(
                f"{self.name} takes no JSON schema (response_format): once it had refused one it was asked without, and its "
                "replies were read as they came."
            )
        if options.strict:
            said.append(f"Of {self.name} only JSON as it was asked for was read.")
        if options.temperature is not None and "temperature" not in self.model.takes:
            said.append(
                f"{self.name} takes no temperature: its replies were drawn at its own, not at the one asked for."
            )
        return tuple(said)

    def settings(self) -> dict[str, Any]:
        """What a run's identity holds of this judge."""
        return {
            **self.model.settings(),
            "prompts": self.prompts.id,
            "context_role": self.prompts.role,
            **({"bridge": self.prompts.bridge} if self.prompts.bridge else {}),
            **self.options.settings(),
        }

    def messages(self, ask: Ask) -> tuple[Message, ...]:
        """What the model is shown. Raises ConfigurationError: the prompts cannot ask this."""
        shown = ask.shown
        asked = self.prompts.render(ask.elicitation, shown.query, shown.context, placement=shown.placement)
        return asked if self.options.system is None else (Message("system", self.options.system), *asked)

    def shared_key(self, ask: Ask) -> Hashable:
        """Equal for asks that one call answers: the same is shown, and asked for in the same way.

        The words follow from these, so they need not be written out to be compared.
        """
        return WhatIsAsked(ask.shown, ask.elicitation, ask.repeat, ask.attempt)

    async def answer(self, ask: Ask) -> Answer:
        """Ask the model. A call that it will not answer is unscored; what stops the run is raised."""
        try:
            reply = await self.model.reply(self.messages(ask), self.wanted(ask))
        except Rejected as error:
            return Answer(Unscored(reason=UnscoredReason(error.reason), detail=str(error)))
        except Unavailable as error:
            return self._failed(error)
        self._failed_in_a_row = 0
        return self._read(ask.elicitation, reply)

    def wanted(self, ask: Ask) -> ReplyOptions:
        """How the reply is wanted."""
        return options_for(ask.elicitation, self.options, repeat=ask.repeat)

    def usually(self, ask: Ask) -> Usage:
        """From the prompt's length, and what such replies usually take."""
        return usually(self.messages(ask), reply_tokens=HOW_ASKED[ask.elicitation].usual_reply_tokens)

    def at_most(self, ask: Ask) -> Spend:
        """From the prompt's length, and the limit of a reply."""
        most = options_for(ask.elicitation, self.options).max_tokens
        return at_most(self.messages(ask), reply_tokens=most, prices=self.prices)

    def _failed(self, error: Unavailable) -> Answer:
        self._failed_in_a_row += not isinstance(error, LeftUnanswered)
        if self._failed_in_a_row >= self.patience:
            raise Unavailable(
                f"{self._failed_in_a_row} calls in a row failed: {error}. What was judged is kept; the same command "
                "goes on with the rest, and asks again for those that failed"
            ) from error
        return Answer(Unscored(reason=UnscoredReason.UNAVAILABLE, detail=str(error)))

    def _read(self, elicitation: Elicitation, reply: Reply) -> Answer:
        read = read_outcome(elicitation, reply, self.options)
        return self._with_usage(read.outcome, reply, read_as=read.read_as, detail=read.detail)

    def _with_usage(
        self, outcome: Scored | Unscored, reply: Reply, *, read_as: str | None = None, detail: Mapping[str, Any] | None
    ) -> Answer:
        return Answer(
            outcome,
            read_as=read_as,
            raw_reply=reply.text,
            latency_s=round(reply.latency_s, 4),
            model_version=reply.model_version,
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
            cost_usd=self.prices.of(reply.usage) if self.prices else None,
            detail=detail_of(reply, detail),
        )

    async def close(self) -> None:
        """Give back the model's connections."""
        await self.model.close()


def detail_of(reply: Reply, learnt: Mapping[str, Any] | None) -> dict[str, Any] | None:
    detail = dict(learnt or {})
    if reply.attempts > 1:
        detail["tries"] = reply.attempts
    if reply.reasoning:
        detail["reasoning"] = reply.reasoning
    if reply.refusal:
        detail["refusal"] = reply.refusal
    if reply.finish_reason not in (None, "stop"):
        detail["finish_reason"] = reply.finish_reason
    return detail or None
