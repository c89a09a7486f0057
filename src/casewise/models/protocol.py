"""The protocol of a model: messages in, one reply out."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from casewise.errors import ConfigurationError, ModelError
from casewise.notation import spoken
from casewise.options import Hidden
from casewise.records.base import escape_surrogates

# Three errors are possible, and each has its consequence: `Rejected` costs this call only, `Unavailable` too (after all
# retries), `Unauthorised` stops the run.


Role = Literal["system", "user", "assistant"]

RejectedReason = Literal["bad_request", "content_filter", "no_logprobs"]


class Rejected(ModelError):
    """The endpoint refuses this call; others may succeed.

    `reason` is `bad_request` (such as a prompt that is too long), `content_filter`, or `no_logprobs`.
    """

    def __init__(self, reason: RejectedReason, message: str) -> None:
        super().__init__(escape_surrogates(message))
        self.reason = reason


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Sampling:
    """Sampling options of every model."""

    temperature: float | None = 0.0
    """Sampling temperature of the replies."""
    max_tokens: int = 1024
    """Maximum number of tokens of a reply, including its reasoning."""
    seed: Hidden[int | None] = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not self.temperature >= 0:
            raise ConfigurationError(f"--temperature is {self.temperature}; it is 0 or more")
        if self.max_tokens < 1:
            raise ConfigurationError(f"--max-tokens is {self.max_tokens}; it is 1 or more")


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """Options of one reply.

    `first_words` are the words between which the first token decides. A model that sees its whole distribution lists
    their probabilities in the first `Position`, marked `complete`; others give their `top_logprobs` likeliest tokens.

    An endpoint that refuses temperature, seed or schema is called without it, and `Model.takes` says so. The options in
    `REQUIRED_OPTIONS` change the question, so a model that cannot take one refuses the call.
    """

    max_tokens: int
    temperature: float | None = 0.0
    top_logprobs: int = 0
    first_words: tuple[str, ...] = ()
    one_word: bool = False
    """True if one of `first_words` is the whole reply, so that an endpoint may restrict the model to them."""
    json_schema: Mapping[str, Any] | None = None
    """A schema for the reply, on endpoints that support one."""
    seed: int | None = None
    prefill: str | None = None
    """Beginning of the reply, which the model continues; `Reply.text` includes it."""
    template_arguments: Mapping[str, Any] | None = None
    """Arguments of the model's chat template besides the messages."""
    top_p: float | None = None
    reasoning_effort: str | None = None


REQUIRED_OPTIONS = ("prefill", "template_arguments", "top_p", "reasoning_effort")


def check_options(name: str, options: ReplyOptions, takes: Collection[str]) -> None:
    """Refuse options that the model called `name` cannot take, before anything is sent.

    Raises ConfigurationError: an option that must be taken is not among `takes`.
    """
    for option in REQUIRED_OPTIONS:
        if getattr(options, option) is not None and option not in takes:
            raise ConfigurationError(f"{name} takes no {spoken(option)}; remove it or use another model")


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token and the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the reply: the sampled token, and the likeliest tokens there, likeliest first."""

    token: str
    logprob: float
    top: tuple[TokenLogprob, ...] = ()
    complete: bool = False
    """True if `top` lists every token that can begin one of the words: an absent token has no mass."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens billed for a call; None if the endpoint does not report them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    """Tokens of the reply, with those of its reasoning."""
    cached_tokens: int = 0
    """The input tokens that the provider had in its cache."""

    @property
    def is_known(self) -> bool:
        """True if the endpoint reports the tokens of the prompt and of the reply."""
        return self.input_tokens is not None and self.output_tokens is not None


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    `finish_reason` is the endpoint's word; `stop`, `length` and `content_filter` have a meaning here. `reasoning` is the
    model's reasoning, separate from `text`; `refusal` is the text of the field that some endpoints have for declining.
    """

    text: str
    finish_reason: str | None = None
    token_logprobs: tuple[Position, ...] | None = None
    usage: Usage = field(default_factory=Usage)
    latency_s: float = 0.0
    model_version: str | None = None
    attempts: int = 1
    reasoning: str | None = None
    refusal: str | None = None
    forced: bool = False
    """True if the model could say nothing but one of the words that were asked for, or both were scored."""
    left_out: str | None = None
    """Length and digest of the part of a reply that is too long to be stored."""

    def __post_init__(self) -> None:
        """Replace half characters, which no log can hold."""
        for name in ("text", "reasoning", "refusal"):
            if (text := getattr(self, name)) is not None and (clean := escape_surrogates(text)) != text:
                object.__setattr__(self, name, clean)


MOST_CHARACTERS = 200_000
"""Characters of a reply, and of its reasoning, that are stored."""


def truncated_reply(reply: Reply) -> Reply:
    """Return a reply as it is stored. A text that is too long is cut off, with the length and digest of the rest."""
    rests = {
        name: text[MOST_CHARACTERS:]
        for name in ("text", "reasoning", "refusal")
        if (text := getattr(reply, name)) is not None and len(text) > MOST_CHARACTERS
    }
    if not rests:
        return reply
    sentence = (
        f"{len(rest):,} more characters of {name}, sha256 {hashlib.sha256(rest.encode()).hexdigest()}"
        for name, rest in rests.items()
    )
    shortened = {name: getattr(reply, name)[:MOST_CHARACTERS] for name in rests}
    ended = "length" if "text" in rests else reply.finish_reason
    return replace(reply, **shortened, finish_reason=ended, left_out="; ".join(sentence))


class AnyModel:
    """Properties that a chat model and a classifier share; the defaults are those of one without a network."""

    name: str
    """The name that the user gave: `openai/gpt-4o`, `hf:./model`."""
    sends_to: str | None = None
    """The receiver of texts; None if they do not leave this machine."""
    concurrency: int = 1
    """Minimum number of calls under way: a local model fills its batches from those that wait."""
    weights_bytes: int | None = None
    """Size of the weights in this process; None if the model runs elsewhere."""

    def settings(self) -> dict[str, Any]:
        """Return the settings that decide the replies, as JSON values, without keys and paths of this machine."""
        raise NotImplementedError

    async def close(self) -> None:
        """Release connections and memory."""


class Model(AnyModel):
    """A chat model."""

    takes: frozenset[str] = frozenset({"temperature"})
    """Options of `ReplyOptions` that it honours, as far as is known; an endpoint may refuse one later."""

    def label_tokens(self, _words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """Return for each word the tokens with which a reply of it can begin; empty if that cannot be known."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return notes that a reader of a report needs."""
        return ()

    def set_notifier(self, notify: Callable[[str], None]) -> None:
        """Set the receiver of lines about waiting for a server."""

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """Return one reply.

        Raises Rejected: this call will not be answered. Unavailable: still failing after all retries. Unauthorised: no
        call can succeed: key, address or model name are wrong.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Classification:
    """A classifier's probabilities by label: they sum to 1, unless a text may have several labels at once."""

    probabilities: Mapping[str, float]
    input_tokens: int | None = None
    latency_s: float = 0.0
    model_version: str | None = None
    logits: Mapping[str, float] | None = None
    """Logits by label, if the model gives them: probabilities near 1 cannot be told apart."""


class TextClassifier(AnyModel):
    """A model that gives a text probabilities of its labels."""

    labels: tuple[str, ...]
    """All labels, in the model's order."""

    async def classify(self, text: str) -> Classification:
        """Return the probabilities of `text`; errors are those of `Model.reply`."""
        raise NotImplementedError


def user_messages(text: str) -> tuple[Message, ...]:
    """Return `text` as one user message."""
    return (Message("user", text),)


# A model without cost, for tests and for rehearsing a run.


ReplyFunction = Callable[[tuple[Message, ...], ReplyOptions], Reply | str | Exception]


class FakeModel(Model):
    """A model that gives fixed replies, or by default verdicts from a hash of the prompt.

    `answer`: a text, a reply, or a function of messages and options that returns one of them or an exception to raise.

    >>> import asyncio
    >>> from casewise.models.protocol import ReplyOptions, user_messages
    >>> model = FakeModel("unsafe")
    >>> asyncio.run(model.reply(user_messages("?"), ReplyOptions(max_tokens=8))).text
    'unsafe'
    >>> len(model.calls)
    1
    """

    takes = frozenset({"temperature", *REQUIRED_OPTIONS})

    def __init__(self, answer: str | Reply | ReplyFunction | None = None, *, name: str = "fake/rehearsal") -> None:
        self.name = name
        self.calls: list[tuple[tuple[Message, ...], ReplyOptions]] = []
        self._answer = answer if answer is not None else rehearsal_reply

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        self.calls.append((messages, options))
        await asyncio.sleep(0)
        answer = self._answer(messages, options) if callable(self._answer) else self._answer
        if isinstance(answer, Exception):
            raise answer
        reply = Reply(answer, finish_reason="stop") if isinstance(answer, str) else answer
        text = reply.text if reply.text.startswith(options.prefill or "") else f"{options.prefill}{reply.text}"
        return replace(reply, text=text)

    def settings(self) -> dict[str, Any]:
        return {"model": self.name}


def rehearsal_reply(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    """Return a well-formed reply to any elicitation, the same for the same prompt."""
    prompt = "\n".join(message.content for message in messages)
    share = int.from_bytes(hashlib.blake2b(prompt.encode(), digest_size=4).digest(), "big") / 2**32
    verdict = "safe" if share > 0.5 else "unsafe"
    usage = Usage(len(prompt) // 4, 1 if options.first_words else 12)
    safe = min(max(share, 1e-6), 1 - 1e-6)
    top = (TokenLogprob("safe", math.log(safe)), TokenLogprob("unsafe", math.log(1 - safe)))
    first = (Position(verdict, math.log(safe), top, complete=True),)
    if options.first_words:
        return Reply(verdict, "length", first, usage)
    value = f'"{verdict}"' if "between 1 and 10" not in prompt else str(1 + int(share * 10))
    return Reply(
        f'{{"judgement": {value}, "explanation": "A rehearsal: no model wrote this."}}',
        "stop",
        first if options.top_logprobs else None,
        usage,
    )
