"""The protocol of a model: messages in, one reply out."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from casewise.errors import ConfigurationError, ModelError
from casewise.options import Hidden
from casewise.records.base import writable

# What a model is to casewise: messages in, one reply out.
#
# A reply says what came back and no more; what it comes to is the business of whoever asked. Three things can go wrong,
# and they are told apart because they are handled apart: `Rejected` costs this call only, `Unavailable` too (after all
# retries), `Unauthorised` stops the run.


Role = Literal["system", "user", "assistant"]

RejectedReason = Literal["bad_request", "content_filter", "no_logprobs"]


class Rejected(ModelError):
    """The endpoint will not answer this one call; others may succeed.

    `reason` is `bad_request` (say, a prompt too long), `content_filter`, or `no_logprobs` (asked for, not to be had).
    """

    def __init__(self, reason: RejectedReason, message: str) -> None:
        super().__init__(writable(message))
        self.reason = reason


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Sampling:
    """What of a model's options the user may set, whatever the model is asked."""

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
    """How a reply is wanted.

    `first_words` are the words between which the first token decides. A model that sees its whole distribution lists
    their probabilities in the first `Position`, marked `complete`; others give their `top_logprobs` likeliest tokens.

    Temperature, seed and schema are wishes: an endpoint that does not take one goes without, and `Model.takes` says so.
    What `MUST_BE_TAKEN` names changes what is asked, so a model that cannot take it refuses the call.
    """

    max_tokens: int
    temperature: float | None = 0.0
    top_logprobs: int = 0
    first_words: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    """A schema that the reply must fit, on endpoints that can be held to one."""
    seed: int | None = None
    prefill: str | None = None
    """How the reply begins; the model goes on from there, and `Reply.text` holds it too."""
    template_arguments: Mapping[str, Any] | None = None
    """What the model's chat template is given besides the messages."""
    top_k: int | None = None
    top_p: float | None = None


MUST_BE_TAKEN = ("prefill", "template_arguments", "top_k", "top_p")


def check_taken(name: str, options: ReplyOptions, takes: Collection[str]) -> None:
    """Refuse what the model called `name` cannot do, before anything is sent.

    Raises ConfigurationError: an option that must be taken is not among `takes`.
    """
    for option in MUST_BE_TAKEN:
        if getattr(options, option) is not None and option not in takes:
            raise ConfigurationError(f"{name} takes no {option.replace('_', ' ')}; remove it or use another model")


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token and the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the reply: the token that was drawn, and the likeliest ones there, likeliest first."""

    token: str
    logprob: float
    top: tuple[TokenLogprob, ...] = ()
    complete: bool = False
    """True where `top` lists every token that can begin one of the words asked for: an absent one has no mass."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a call was billed for; None where the endpoint does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    `finish_reason` is the endpoint's word: `stop`, `length` and `content_filter` are those that mean something here.
    `reasoning` is what the model thought aloud, kept apart from `text`; `refusal` is what it said in the field that
    some endpoints have for declining.
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

    def __post_init__(self) -> None:
        """Half a character in what a model said would end the run that records it."""
        for name in ("text", "reasoning", "refusal"):
            if (text := getattr(self, name)) is not None and (clean := writable(text)) != text:
                object.__setattr__(self, name, clean)


@runtime_checkable
class Model(Protocol):
    """What answers a prompt."""

    name: str
    """As the user named it: `openai/gpt-4o`, `hf:./model`."""

    @property
    def sends_to(self) -> str | None:
        """Whom texts are sent to; None where they do not leave this machine."""

    @property
    def concurrency(self) -> int:
        """How many calls it wants under way at least: a local model fills its batches from those that wait."""

    @property
    def takes(self) -> frozenset[str]:
        """Those of the `ReplyOptions` that it honours, as far as is known; an endpoint may yet complain of one."""

    def label_tokens(self, words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """For each word, the tokens with which a reply of it can begin; empty where that cannot be known."""

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply.

        Raises Rejected: this call will not be answered. Unavailable: still failing after all retries. Unauthorised: no
        call can succeed: key, address or model name are wrong.
        """
        ...

    def settings(self) -> dict[str, Any]:
        """What decides the replies, as JSON values, for a run's identity. Never a key, nothing of the machine."""
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...


@runtime_checkable
class WaitsForServer(Protocol):
    """A model that may wait for its server, and says so."""

    def tell_with(self, tell: Callable[[str], None]) -> None:
        """Where a line goes that a person should read while a run waits."""


@runtime_checkable
class HoldsWeights(Protocol):
    """A model or classifier that runs in this process."""

    @property
    def weights_bytes(self) -> int:
        """What its weights take."""


@dataclass(frozen=True, slots=True)
class Classified:
    """A classifier's probabilities by label: they sum to 1, unless a text may have several labels at once."""

    probabilities: Mapping[str, float]
    input_tokens: int | None = None
    latency_s: float = 0.0
    model_version: str | None = None
    logits: Mapping[str, float] | None = None
    """The numbers that they come from, where the model gives them: a probability near 1 no longer tells these apart."""


@runtime_checkable
class TextClassifier(Protocol):
    """What gives a text probabilities of its labels, and says nothing."""

    name: str
    """As the user named it: `hf:./guard`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All its labels, in its own order."""
        ...

    @property
    def sends_to(self) -> str | None:
        """Whom texts are sent to; None where they do not leave this machine."""

    @property
    def concurrency(self) -> int:
        """How many texts it wants to wait at once."""

    async def classify(self, text: str) -> Classified:
        """The probabilities of `text`; errors are those of `Model.reply`."""
        ...

    def settings(self) -> dict[str, Any]:
        """What decides the probabilities, as JSON values, for a run's identity."""
        ...

    async def close(self) -> None:
        """Give back connections and memory."""
        ...


class ModelDefaults:
    """What a model is taken for that says nothing else: it stays on this machine and honours a temperature."""

    sends_to: str | None = None
    concurrency: int = 1
    takes: frozenset[str] = frozenset({"temperature"})

    def label_tokens(self, _words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        return {}

    async def close(self) -> None:
        return


def as_messages(text: str) -> tuple[Message, ...]:
    """`text` as one user message."""
    return (Message("user", text),)


# A model that costs nothing and is nobody's: for tests and for rehearsing a run.


Answering = Callable[[tuple[Message, ...], ReplyOptions], Reply | str | Exception]


class FakeModel(ModelDefaults):
    """Replies what it is told to, or, told nothing, verdicts that hang on a hash of the prompt.

    `answer`: a text, a reply, or a function of messages and options that returns one of them or an exception to raise.
    `latency_s`: how long each reply takes.

    >>> import asyncio
    >>> from casewise.models.protocol import ReplyOptions, as_messages
    >>> model = FakeModel("unsafe")
    >>> asyncio.run(model.reply(as_messages("?"), ReplyOptions(max_tokens=8))).text
    'unsafe'
    >>> len(model.calls)
    1
    """

    takes = frozenset({"temperature", *MUST_BE_TAKEN})

    def __init__(
        self, answer: str | Reply | Answering | None = None, *, latency_s: float = 0.0, name: str = "fake/rehearsal"
    ) -> None:
        self.name = name
        self.latency_s = latency_s
        self.calls: list[tuple[tuple[Message, ...], ReplyOptions]] = []
        self._answer = answer if answer is not None else rehearsed

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """The reply that was set, or the exception."""
        self.calls.append((messages, options))
        await asyncio.sleep(self.latency_s)
        answer = self._answer(messages, options) if callable(self._answer) else self._answer
        if isinstance(answer, Exception):
            raise answer
        reply = Reply(answer, finish_reason="stop") if isinstance(answer, str) else answer
        text = reply.text if reply.text.startswith(options.prefill or "") else f"{options.prefill}{reply.text}"
        return replace(reply, text=text, latency_s=reply.latency_s or self.latency_s)

    def settings(self) -> dict[str, Any]:
        """Its name; a rehearsal has nothing else to tell."""
        return {"model": self.name}


def rehearsed(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
    """A well-formed reply to any elicitation, the same for the same prompt."""
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
        f'{{"judgement": {value}, "explanation": "A rehearsal, not a judgement."}}',
        "stop",
        first if options.top_logprobs else None,
        usage,
    )
