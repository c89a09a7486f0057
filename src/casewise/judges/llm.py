"""Judges that ask a chat model: prompts, options, and how its replies are read."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.ask.chat import Chat, chat_with
from casewise.ask.elicitations import (
    AskOptions,
    Protocol,
    how_asked,
    names_asked,
    options_for,
    protocol_for,
    read_outcome,
)
from casewise.ask.layouts import ContextRole, Kind, ShownItem
from casewise.ask.prompts import PromptSet, bridge_prompts, default_prompts, published_prompts, read_prompts
from casewise.errors import ConfigurationError, LeftUnanswered, Unavailable, did_you_mean
from casewise.extras import install_command
from casewise.judges.judge import Answer, Ask
from casewise.judges.second_reader import ReadBy, SecondReader
from casewise.models.endpoints import Prices
from casewise.models.load import ModelOptions, load_model
from casewise.models.protocol import HoldsWeights, Message, Model, Rejected, Reply, ReplyOptions, Usage
from casewise.options import Flat, Hidden
from casewise.records import FULL, Arm, Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import digest
from casewise.runs.limits import Spend
from casewise.runs.run import at_most, usually
from casewise.storage.loaders.casebench import CASEBENCH, PROMPTS
from casewise.storage.loaders.fetching import fetched_file

# A judge made of a model, prompts, and options.


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
        return AS_JSON.encode([self.shown.as_json(), self.elicitation, self.repeat, self.attempt])


@dataclass
class LLMJudge:
    """Asks a model about an item as an arm shows it, and reads the reply.

    Its id names the model, the prompts, and a digest of its settings. What it is asked in which words is said for each
    elicitation by itself (`wordings`), so that another elicitation's wording changes nothing here.
    """

    model: Model
    prompts: PromptSet = field(default_factory=default_prompts)
    options: AskOptions = field(default_factory=AskOptions)
    prices: Prices | None = None
    elicitations: tuple[Elicitation, ...] = field(default_factory=names_asked)
    patience: int = 30
    """Stop the run after this many calls in a row fail, each after its retries."""
    reader: SecondReader | None = None
    """Reads what the strict reader could not."""
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
        return f"{self.model.name}#{self.prompts.name}#{digest(self.settings())[:12]}"

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
                f"{self.name} was asked by the protocol {options.protocol}: {protocol_for(options.protocol, self.name).words}."
            )
        if options.structured and "json_schema" not in self.model.takes:
            said.append(
                f"{self.name} takes no JSON schema (response_format): once it had refused one it was asked without, and its "
                "replies were read as they came."
            )
        if self.reader is not None and self.reader.model.name == self.name:
            said.append(f"{self.name} read its own replies where the strict reader could not.")
        if self.reader is not None and self.reader.n_failed:
            said.append(f"{self.reader.n_failed:,} replies got no second reading: {self.reader.model.name} failed.")
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
            "prompts": self.prompts.name,
            "context_role": self.prompts.role,
            **({"bridge": self.prompts.bridge} if self.prompts.bridge else {}),
            **self.options.settings(),
            **({"reader": self.reader.settings()} if self.reader else {}),
        }

    def wordings(self, elicitations: Sequence[Elicitation], kinds: Iterable[Kind] = ("request",)) -> dict[str, str]:
        """Version and digest of the words that each of `elicitations` is asked in; `kinds`: of what is judged."""
        return {
            name if kind == "request" else f"{kind}.{name}": self.prompts.wording_id(name, kind=kind)
            for name in elicitations
            for kind in kinds
            if self.prompts.has(name, kind)
        }

    def messages(self, ask: Ask) -> tuple[Message, ...]:
        """What the model is shown. Raises ConfigurationError: the prompts cannot ask this."""
        shown = ask.shown
        asked = self.prompts.render_item(ask.elicitation, shown)
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
        if self.reader is None:
            return self._read(ask.elicitation, reply)
        read = read_outcome(ask.elicitation, reply, self.options)
        read, by = await self.reader.read(ask.elicitation, reply, read)
        answer = self._with_usage(read.outcome, reply, read_as=read.read_as, detail=read.detail)
        return answer if by is None else with_reader(answer, by)

    def wanted(self, ask: Ask) -> ReplyOptions:
        """How the reply is wanted."""
        return options_for(ask.elicitation, self.options, repeat=ask.repeat)

    def usually(self, ask: Ask) -> Usage:
        """From the prompt's length, and what such replies usually take."""
        return usually(self.messages(ask), reply_tokens=how_asked(ask.elicitation).usual_reply_tokens)

    def at_most(self, ask: Ask) -> Spend:
        """From the prompt's length, and the limit of a reply."""
        most = options_for(ask.elicitation, self.options).max_tokens
        own = at_most(self.messages(ask), reply_tokens=most, prices=self.prices)
        return own + self.reader.at_most(ask.elicitation, reply_tokens=most) if self.reader else own

    def _failed(self, error: Unavailable) -> Answer:
        self._failed_in_a_row += not isinstance(error, LeftUnanswered)
        if self._failed_in_a_row >= self.patience:
            raise Unavailable(
                f"{self._failed_in_a_row} calls in a row failed: {error}. What was judged is kept; the same command "
                "resumes and repeats the calls that failed"
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
        """Give back the models' connections."""
        await self.model.close()
        if self.reader is not None:
            await self.reader.model.close()


def with_reader(answer: Answer, by: ReadBy) -> Answer:
    """An answer with what its second reader took added."""
    cost = [one for one in (answer.cost_usd, by.cost_usd) if one is not None]
    return replace(
        answer,
        input_tokens=(answer.input_tokens or 0) + by.input_tokens,
        output_tokens=(answer.output_tokens or 0) + by.output_tokens,
        cost_usd=sum(cost) if cost else None,
    )


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


# Judges that ask a model: which one, and in what words.


@dataclass(frozen=True)
class LiveOptions:
    """How a model is asked for a judgement, and how it is reached."""

    prompts: str = "casewise"
    """casewise, published (once fetched), bridge (a chatbot's own messages), or a TOML file."""
    context_role: ContextRole = "user"
    """The message that holds the context."""
    ask: Flat[AskOptions] = field(default_factory=AskOptions)
    model: Hidden[ModelOptions] = field(default_factory=ModelOptions)
    protocol: str | None = None
    """published: ask as the paper's judges were asked (published-api, or published-open for hf: models)."""
    policy: Hidden[str | None] = None
    """A deployer's own policy, for a guard that takes one."""
    reader: str | None = None
    """A second model that reads replies in which the strict reader finds no verdict, and one in ten of the others."""


def live_judge(name: str, options: LiveOptions, *, environment: Mapping[str, str] | None = None) -> LLMJudge:
    """The judge that asks the model called `name`. Keys are read from the environment now, and only now.

    Raises ConfigurationError: the key is not set, the address is unusable, or an extra that is needed is not installed;
    DataError: the prompts cannot be read.
    """
    words = "published" if options.protocol and options.prompts == "casewise" else options.prompts
    prompts = find_prompts(words)
    prompts = prompts if prompts.bridge else replace(prompts, role=options.context_role)
    ask = asked_by(protocol_for(options.protocol, name), prompts, options.ask) if options.protocol else options.ask
    loaded = load_model(name, options.model, environment=environment)
    takes_schema = "json_schema" in loaded.model.takes
    if ask.structured and not takes_schema:
        hint = f", or install xgrammar: {install_command('local')}" if name.startswith("hf:") else ""
        raise ConfigurationError(f"{name} cannot be held to a JSON schema; leave structured output out{hint}")
    if ask.structured is None:
        ask = replace(ask, structured=takes_schema and not options.protocol)
    reader = None
    if options.reader is not None:
        reader = SecondReader.named(options.reader, options.model, judge=name, environment=environment)
    return LLMJudge(loaded.model, prompts, ask, loaded.prices, reader=reader)


def asked_by(protocol: Protocol, prompts: PromptSet, given: AskOptions) -> AskOptions:
    """The options of a protocol, with the user's seed and way of reading."""
    if prompts.name != "published" or prompts.role != "user":
        raise ConfigurationError(
            f"the protocol {protocol.name} asks in the paper's own words, in the user's message: give --prompts published"
        )
    if given.structured or replace(given, seed=None, strict=False, structured=None) != AskOptions():
        raise ConfigurationError(
            f"the protocol {protocol.name} says how to ask ({protocol.words}): leave out temperature, tokens and "
            "structured output"
        )
    return replace(protocol.ask, seed=given.seed, strict=given.strict)


def find_prompts(which: str) -> PromptSet:
    """The prompts called `which`: `casewise`, `published`, a file's path (TOML, or a copy of the release's `template.py`), or a
    chatbot's own messages: `bridge`, `bridge:verified`, `bridge:user`, `bridge:FILE` with a system prompt of one's own."""
    if which.partition(":")[0] == "bridge":
        return bridge_prompts(bridged_chat(which.partition(":")[2]))
    if which == "casewise":
        return default_prompts()
    if which == "published":
        return published_prompts(fetched_file(CASEBENCH, PROMPTS))
    if not Path(which).is_file():
        raise ConfigurationError(
            f"no prompts are called {which!r}{did_you_mean(which, ('casewise', 'published', 'bridge'))}; there are casewise, published, "
            "bridge, and TOML files"
        )
    return published_prompts(Path(which)) if which.endswith(".py") else read_prompts(Path(which))


def bridged_chat(rest: str) -> Chat:
    """The chat that `bridge:REST` names, as `casewise replies collect` sends it with the same options."""
    words = {word for word in rest.split(",") if word}
    if words <= {"verified", "user"}:
        return chat_with(role="user" if "user" in words else "system", verified="verified" in words)
    return chat_with(system=Path(rest))
