"""Judges that ask a chat model: prompts, options, and how its replies are read."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.ask.elicitations import (
    AskOptions,
    Protocol,
    SecondReading,
    asking_method,
    find_elicitation,
    names_asked,
    options_for,
    protocol_for,
    read_outcome,
)
from casewise.ask.layouts import ContextRole, Kind, ShownItem, filled
from casewise.ask.prompts import (
    STAND_IN,
    PromptSet,
    bridge_prompts,
    chat_with,
    default_prompts,
    published_prompts,
    read_prompts,
    stand_in_prompts,
)
from casewise.ask.reader import ReadOutcome
from casewise.errors import ConfigurationError, Unavailable, did_you_mean
from casewise.judges.judge import Answer, Ask, Judge, unscored_answer
from casewise.models.asker import ChatAsker, NoReplyReason, estimate_usage, max_spend
from casewise.models.load import ModelOptions, load_model, second_model_options
from casewise.models.prices import Prices, Spend, note_unreported
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, Usage, user_messages
from casewise.models.wire import load_json
from casewise.options import Flat, Hidden
from casewise.plugins import install_command
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import digest
from casewise.storage.loaders.public import CASEBENCH, PROMPTS
from casewise.storage.loaders.registry import fetched_file
from casewise.text import RefusalNote, count_of

AS_JSON = json.JSONEncoder(default=vars)


@dataclass(frozen=True, slots=True, eq=False)
class CallKey:
    """The key of a call's words. Its text is created only if needed, because that takes ten times as long."""

    shown: ShownItem
    elicitation: Elicitation
    repeat: int
    attempt: int

    @property
    def _brief(self) -> tuple[str, Elicitation, int, int]:
        return (self.shown.query, self.elicitation, self.repeat, self.attempt)

    def __hash__(self) -> int:
        return hash(self._brief)

    def __eq__(self, other: object) -> bool:
        """Compare the texts too: dictionaries are equal whatever the order of their keys."""
        is_equal = isinstance(other, CallKey) and self._brief == other._brief and self.shown == other.shown
        return is_equal and str(self) == str(other)

    def __str__(self) -> str:
        return AS_JSON.encode([self.shown.as_json(), self.elicitation, self.repeat, self.attempt])


class ModelJudge(ChatAsker[Ask, Answer], Judge):
    """A judge that asks a chat model."""

    def __init__(self, model: Model, prices: Prices | None = None, *, patience: int = 30) -> None:
        super().__init__(model, prices, patience=patience)
        self.weights_bytes = model.weights_bytes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def received_input(self, ask: Ask) -> object:
        """Return the messages, and the arguments of the chat template."""
        return self.messages(ask), self.reply_options(ask).template_arguments

    def unanswered(self, _ask: Ask, reason: NoReplyReason, detail: str, /, **call_fields: Any) -> Answer:
        return replace(unscored_answer(reason, detail), **call_fields)


# A second model that reads replies without a verdict for the strict reader: `--reader MODEL`.

READER_VERSION = "1"
"""Version of the questions to a second reader (`SecondReading`); part of a run's identity."""

SAMPLED_ONE_IN = 10
"""The second reader reads one in so many replies that the strict reader could read, to measure their agreement."""

LONGEST_READ = 20_000
"""Maximum number of characters of a reply that is read."""

READER_MAX_TOKENS = 1024


@dataclass
class SecondReader:
    """A model that finds the verdict in another model's reply.

    Equal replies are read once. Its readings of replies that the strict reader could read change nothing: they are kept as
    `detail["second_reader"]`.
    """

    model: Model
    prices: Prices | None
    n_failed: int = field(default=0, init=False)
    _readings: dict[tuple[str, str], asyncio.Future[Reply | None]] = field(default_factory=dict, init=False, repr=False)
    """Readings by elicitation and reply. The first ask has the cost."""

    def settings(self) -> dict[str, Any]:
        """Return the settings that are part of a run's identity."""
        return {**self.model.settings(), "prompt": READER_VERSION}

    def max_spend(self, elicitation: Elicitation, *, reply_tokens: int) -> Spend:
        """Return an upper bound of reading one reply of at most so many tokens."""
        if (question := find_elicitation(elicitation).second) is None:
            return Spend()
        words = user_messages(question.prompt + "x" * min(LONGEST_READ, 8 * reply_tokens))
        return max_spend(words, reply_tokens=READER_MAX_TOKENS, prices=self.prices)

    async def read(
        self, elicitation: Elicitation, reply: Reply, strict: ReadOutcome
    ) -> tuple[ReadOutcome, Usage | None]:
        """Return the outcome of a reply, given that of the strict reader, and the tokens of a reading that was made for it.

        The second reader is asked if the strict one found no verdict, and about one in `SAMPLED_ONE_IN` of the other replies. A
        reader that fails changes nothing.
        """
        unread = isinstance(strict.outcome, Unscored)
        text = reply.text.strip()[:LONGEST_READ]
        # Sampled by a hash of the reply, so that a resumed run takes the same.
        sampled = hashlib.blake2b(text.encode(), digest_size=4).digest()[0] < 256 / SAMPLED_ONE_IN
        question = find_elicitation(elicitation).second
        if question is None or not text or not (unread or sampled):
            return strict, None
        pending = self._readings.get((elicitation, text))
        is_first = pending is None
        if pending is None:
            pending = self._readings[elicitation, text] = asyncio.ensure_future(self._ask(question, text))
        second = await pending
        if second is None:
            self._readings.pop((elicitation, text), None)
            return strict, None
        usage, answer = second.usage if is_first else None, parse_verdict(second.text)
        value = None if answer is None else question.answers.get(answer)
        detail = dict(strict.detail or {}) | {"second_reader": "none" if value is None else str(answer)}
        if not isinstance(strict.outcome, Unscored) or value is None:
            return replace(strict, detail=detail), usage
        detail["strict_reader"] = strict.outcome.reason.value
        return ReadOutcome(Scored(value=value), detail, "model"), usage

    async def _ask(self, question: SecondReading, text: str) -> Reply | None:
        messages = user_messages(filled(question.prompt, {"reply": text}))
        schema = {
            "type": "object",
            "properties": {"verdict": {"enum": [*question.answers, "none"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        }
        try:
            reply = await self.model.reply(messages, ReplyOptions(READER_MAX_TOKENS, 0.0, json_schema=schema))
        except (Rejected, Unavailable):
            self.n_failed += 1
            return None
        if not reply.usage.is_known:
            note_unreported()
        return reply


def parse_verdict(text: str) -> str | int | None:
    """Return the verdict in a reader's reply, which is the JSON that was asked for or the bare word; None for anything else."""
    unfenced = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        answer = load_json(unfenced)
    except ValueError:
        answer = unfenced
    if isinstance(answer, dict):
        answer = answer.get("verdict") if len(answer) == 1 else None
    if isinstance(answer, str):
        return answer.strip("\"'.* \n").lower()
    return answer if isinstance(answer, int) and not isinstance(answer, bool) else None


# A chat model as a judge.

NO_PROBABILITY = frozenset({UnscoredReason.NO_LOGPROBS, UnscoredReason.NO_LABEL_FIRST})
"""Reasons for which another elicitation may do."""


class LLMJudge(ModelJudge):
    """A judge that asks a model about an item, as an arm shows it, and reads the reply.

    Its id names the model, the prompts, and a digest of its settings. The words of each elicitation are identified by its
    `wordings`, so that another elicitation's wording changes nothing.

    `patience`: the run stops after so many calls in a row that failed, each after its retries.
    `reader`: a second model that reads replies without a verdict for the strict reader.
    """

    def __init__(
        self,
        model: Model,
        prompts: PromptSet | None = None,
        options: AskOptions = AskOptions(),
        prices: Prices | None = None,
        *,
        patience: int = 30,
        reader: SecondReader | None = None,
    ) -> None:
        super().__init__(model, prices, patience=patience)
        self.prompts, self.options, self.reader = prompts or default_prompts(), options, reader
        self.elicitations = names_asked()
        self.id = f"{model.name}#{self.prompts.name}#{digest(self.settings())[:12]}"

    @property
    def is_priced(self) -> bool:
        """True if the prices of the model and of the second reader are known."""
        return self.prices is not None and (self.reader is None or self.reader.prices is not None)

    def notes(self) -> tuple[str, ...]:
        """Return notes on unusual options, and on options that the endpoint has refused."""
        notes, options, reader = list(self.model.notes()), self.options, self.reader
        if options.protocol is not None:
            words = protocol_for(options.protocol, self.name).words
            notes.append(f"{self.name} was asked by the protocol {options.protocol}: {words}.")
        if options.structured and "json_schema" not in self.model.takes:
            schema = "takes no JSON schema (response_format): after its refusal casewise asked without one and read free replies."
            notes.append(RefusalNote(f"{self.name} {schema}", option="json_schema"))
        if options.temperature is not None and "temperature" not in self.model.takes:
            drawn = "takes no temperature: it used its own instead of the requested one."
            notes.append(RefusalNote(f"{self.name} {drawn}", option="temperature"))
        if reader is not None and reader.model.name == self.name:
            notes.append(f"{self.name} read its own replies where the strict reader could not.")
        if reader is not None and reader.n_failed:
            notes.append(f"{count_of(reader.n_failed, 'reply')} got no second reading: {reader.model.name} failed.")
        if options.strict:
            notes.append(f"Only the requested JSON of {self.name} was read.")
        return tuple(notes)

    def settings(self) -> dict[str, Any]:
        return {
            **self.model.settings(),
            "prompts": self.prompts.name,
            "context_role": self.prompts.role,
            **({"bridge": self.prompts.bridge} if self.prompts.bridge else {}),
            **self.options.settings(),
            **({"reader": self.reader.settings()} if self.reader else {}),
        }

    def wordings(self, elicitations: Sequence[Elicitation], kinds: Iterable[Kind] = ("request",)) -> dict[str, str]:
        return {
            name if kind == "request" else f"{kind}.{name}": self.prompts.wording_id(name, kind=kind)
            for name in elicitations
            for kind in kinds
            if self.prompts.has(name, kind)
        }

    def messages(self, ask: Ask) -> tuple[Message, ...]:
        """Return the messages to the model. Raises ConfigurationError: the prompts cannot ask this."""
        rendered = self.prompts.render_item(ask.elicitation, ask.shown)
        return rendered if self.options.system is None else (Message("system", self.options.system), *rendered)

    def shared_key(self, ask: Ask) -> Hashable:
        """Return a key that is equal for asks of the same words, which need not be written to be compared."""
        return CallKey(ask.shown, ask.elicitation, ask.repeat, ask.attempt)

    def reply_options(self, ask: Ask) -> ReplyOptions:
        return options_for(ask.elicitation, self.options, repeat=ask.repeat)

    def estimate_usage(self, ask: Ask) -> Usage:
        return estimate_usage(self.messages(ask), reply_tokens=asking_method(ask.elicitation).usual_reply_tokens)

    def max_spend(self, ask: Ask) -> Spend:
        """Return a bound from the prompt's length, and the limit of a reply; with that of a second reader."""
        most = super().max_spend(ask)
        reply_tokens = self.reply_options(ask).max_tokens
        return most + self.reader.max_spend(ask.elicitation, reply_tokens=reply_tokens) if self.reader else most

    async def read_fully(self, ask: Ask, reply: Reply, call_fields: dict[str, Any]) -> Answer:
        """Return the answer in a reply; a second reader is asked if it needs one. Raises ModelError: the run ends."""
        if self.reader is None:
            return self.read(ask, reply, call_fields)
        strict, prices = read_outcome(ask.elicitation, reply, self.options), self.reader.prices
        read, usage = await self.reader.read(ask.elicitation, reply, strict)
        if usage is not None:
            both = (call_fields["cost_usd"], prices.cost_of(usage) if prices else None)
            costs = [cost for cost in both if cost is not None]
            call_fields["cost_usd"] = sum(costs) if costs else None
            for name in ("input_tokens", "output_tokens"):
                call_fields[name] = (call_fields[name] or 0) + (getattr(usage, name) or 0)
        return self.answer_with(read, reply, call_fields)

    def read(self, ask: Ask, reply: Reply, call_fields: dict[str, Any]) -> Answer:
        return self.answer_with(read_outcome(ask.elicitation, reply, self.options), reply, call_fields)

    def answer_with(self, read: ReadOutcome, reply: Reply, call_fields: dict[str, Any]) -> Answer:
        """Return a reply's outcome with its cost and details."""
        detail, outcome = reply_details(reply, read.detail), read.outcome
        if isinstance(outcome, Unscored) and outcome.reason is UnscoredReason.TRUNCATED:
            hint = f"cut off at --max-tokens {self.options.max_tokens}, which may be raised"
            outcome = outcome.model_copy(update={"detail": f"{hint}: {outcome.detail}" if outcome.detail else hint})
        if isinstance(outcome, Unscored) and outcome.reason in NO_PROBABILITY:
            hint = "ask for --elicit score or binary instead, which need no log probabilities"
            outcome = outcome.model_copy(update={"detail": f"{outcome.detail}; {hint}"})
        return Answer(outcome, read_as=read.read_as, raw_reply=reply.text, detail=detail, **call_fields)

    def set_notifier(self, notify: Callable[[str], None]) -> None:
        super().set_notifier(notify)
        if self.reader is not None:
            self.reader.model.set_notifier(notify)

    async def close(self) -> None:
        await self.model.close()
        if self.reader is not None:
            await self.reader.model.close()


def reply_details(reply: Reply, detail: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the details of an outcome, and those of its reply that are unusual."""
    unusual = {
        "tries": reply.attempts if reply.attempts > 1 else None,
        "reasoning": reply.reasoning,
        "refusal": reply.refusal,
        "finish_reason": None if reply.finish_reason == "stop" else reply.finish_reason,
        "left_out": reply.left_out,
        "forced_choice": reply.forced,
    }
    return {**(detail or {}), **{name: value for name, value in unusual.items() if value}} or None


# A judge by the name of its model.


@dataclass(frozen=True)
class LiveOptions:
    """Options of asking a model for a judgement."""

    prompts: Hidden[str] = "casewise"
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
    """Return the judge that asks the model called `name`. Keys are read from the environment now, and only now.

    Raises ConfigurationError: the key is not set, the address is unusable, or an extra that is needed is not installed;
    DataError: the prompts cannot be read.
    """
    prompts = find_prompts("published" if options.protocol and options.prompts == "casewise" else options.prompts)
    prompts = prompts if prompts.bridge else replace(prompts, role=options.context_role)
    ask = (
        protocol_options(protocol_for(options.protocol, name), prompts, options.ask)
        if options.protocol
        else options.ask
    )
    loaded = load_model(name, options.model, environment=environment)
    takes_schema = "json_schema" in loaded.model.takes
    if ask.structured and not takes_schema:
        hint = f", or install xgrammar: {install_command('local')}" if name.startswith("hf:") else ""
        raise ConfigurationError(f"{name} cannot be held to a JSON schema; leave structured output out{hint}")
    if ask.structured is None:
        ask = replace(ask, structured=takes_schema and not options.protocol)
    reader = None
    if options.reader is not None:
        reader_options = second_model_options(options.reader, name, options.model)
        reading = load_model(options.reader, reader_options, environment=environment)
        reader = SecondReader(reading.model, reading.prices)
    return LLMJudge(loaded.model, prompts, ask, loaded.prices, reader=reader)


def protocol_options(protocol: Protocol, prompts: PromptSet, options: AskOptions) -> AskOptions:
    """Return the options of a protocol, with the user's seed and reader."""
    if prompts.name not in ("published", STAND_IN) or prompts.role != "user":
        raise ConfigurationError(
            f"the protocol {protocol.name} asks in the paper's own words, in the user's message: give --prompts published, or "
            f"--prompts {STAND_IN} for a rehearsal without them"
        )
    if options.structured or replace(options, seed=None, strict=False, structured=None) != AskOptions():
        raise ConfigurationError(
            f"the protocol {protocol.name} says how to ask ({protocol.words}): leave out temperature, tokens and "
            "structured output"
        )
    return replace(protocol.ask, seed=options.seed, strict=options.strict)


def find_prompts(name: str) -> PromptSet:
    """Return the prompts called `casewise`, `published` or `stand-in`, those in a file (TOML, or a copy of the release's
    `template.py`), or a chatbot's own messages: `bridge`, `bridge:verified`, `bridge:user`, `bridge:FILE` with a system prompt of one's own."""
    kind, _, rest = name.partition(":")
    if kind == "bridge":  # the chat of `casewise replies collect` with the same options
        words = {word for word in rest.split(",") if word}
        role: ContextRole = "user" if "user" in words else "system"
        is_named = words <= {"verified", "user"}
        return bridge_prompts(
            chat_with(role=role, verified="verified" in words) if is_named else chat_with(system=Path(rest))
        )
    if name == "casewise":
        return default_prompts()
    if name == "published":
        return published_prompts(fetched_file(CASEBENCH, PROMPTS))
    if name == STAND_IN:
        return stand_in_prompts()
    if not Path(name).is_file():
        raise ConfigurationError(
            f"no prompts are called {name!r}{did_you_mean(name, ('casewise', 'published', STAND_IN, 'bridge'))}; there are casewise, "
            f"published, {STAND_IN}, bridge, and TOML files"
        )
    return published_prompts(Path(name)) if name.endswith(".py") else read_prompts(Path(name))
