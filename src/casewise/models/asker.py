"""An asker answers the asks of a run: a judge, a grader, or a chat model with a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from traceback import extract_tb
from typing import Any, Generic, Literal, TypeVar

from casewise.errors import CasewiseError, NoBatchAnswer, Unavailable
from casewise.models.client import EndpointClient
from casewise.models.prices import FREE, Prices, Spend, note_unreported
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, Usage, truncated_reply
from casewise.records.base import escape_surrogates
from casewise.text import count_of

A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Asker(Generic[A_contra]):
    """A judge, a grader, or a model with a task. The defaults are those of one that costs nothing and sends nothing."""

    name: str
    """Its name in reports and messages."""
    sends_to: str | None = None
    """The receiver of texts; None if they do not leave this machine."""
    concurrency: int = 1
    """Minimum number of calls under way."""
    prices: Prices | None = FREE
    """Prices of its tokens; None if they are unknown, and then no limit on cost can be kept."""
    counts_tokens: bool = True
    """True if its answers state their tokens; otherwise no limit on tokens can be kept."""
    model: Model | None = None
    """The chat model that it asks, if it asks one."""
    client: EndpointClient | None = None
    """The client of the endpoint that it calls, if it has one of its own."""

    @property
    def is_priced(self) -> bool:
        """True if the prices of all its calls are known."""
        return self.prices is not None

    def settings(self) -> dict[str, Any]:
        """Return the settings that its answers depend on, as JSON values; part of a run's identity."""
        return {}

    def notes(self) -> tuple[str, ...]:
        """Return the notes that a reader of its report needs."""
        return ()

    def estimate_usage(self, _ask: A_contra, /) -> Usage:
        """Return an estimate of a call's tokens."""
        return Usage(0, 0)

    def max_spend(self, _ask: A_contra, /) -> Spend:
        """Return an upper bound of a call's cost and tokens."""
        return Spend()

    def set_notifier(self, notify: Callable[[str], None]) -> None:
        """Set the receiver of lines about waiting for a server."""
        if self.model is not None:
            self.model.set_notifier(notify)
        if self.client is not None:
            self.client.set_notifier(notify)

    async def prepare(self, _asks: Iterable[A_contra], /) -> Spend:
        """Check before the first call of a new run that the asks of its plan can be answered. Return what this took."""
        return Spend()

    async def close(self) -> None:
        """Release connections and memory."""


# What a call takes, before it is made.


CHARACTERS_PER_TOKEN = 4.0
"""Rough number of characters of English prose in a token, with the tokenizers in use."""

TEMPLATE_TOKENS = 64
"""Upper bound of the tokens that a chat template adds to a prompt."""


def estimate_usage(messages: Iterable[Message], *, reply_tokens: int) -> Usage:
    """Return an estimate of a call's tokens from the length of its prompt."""
    return Usage(round(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN), reply_tokens)


def max_spend(messages: Iterable[Message], *, reply_tokens: int, prices: Prices | None) -> Spend:
    """Return an upper bound of a call: a token for every two bytes of the prompt is more than any tokenizer needs for
    prose, and a reply is no longer than its limit. No known provider bills failed tries."""
    sent = sum(len(message.content.encode()) for message in messages) // 2 + TEMPLATE_TOKENS
    cost = prices.cost_of(Usage(sent, reply_tokens)) if prices else None
    return Spend(cost or 0.0, sent + reply_tokens)


# Chat models as askers.


NoReplyReason = Literal["bad_request", "content_filter", "no_logprobs", "unavailable", "internal"]

LONGEST_FAULT = 500


def fault_in_words(error: Exception) -> str:
    """Describe a fault in the reading of a reply: its kind, message and place."""
    frame = extract_tb(error.__traceback__)[-1]
    return escape_surrogates(
        f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"[:LONGEST_FAULT]
    )


class ChatAsker(Asker[A_contra], ABC, Generic[A_contra, R_co]):
    """A chat model with a task.

    `patience`: the run stops after so many calls in a row that failed, each after all its retries.
    """

    model: Model
    usual_tokens: int
    """Tokens of a typical reply."""

    def __init__(self, model: Model, prices: Prices | None, *, patience: int = 30) -> None:
        self.model, self.prices, self.name = model, prices, model.name
        self.sends_to, self.concurrency = model.sends_to, model.concurrency
        self.patience, self._n_failed = patience, 0

    @abstractmethod
    def messages(self, ask: A_contra, /) -> tuple[Message, ...]:
        """Return the messages to the model."""

    @abstractmethod
    def reply_options(self, ask: A_contra, /) -> ReplyOptions:
        """Return the options of the reply."""

    @abstractmethod
    def read(self, ask: A_contra, reply: Reply, call_fields: dict[str, Any], /) -> R_co:
        """Return the record of a reply; `call_fields` has the fields of a `Call` for cost, tokens and latency."""

    @abstractmethod
    def unanswered(self, ask: A_contra, reason: NoReplyReason, detail: str, /, **call_fields: Any) -> R_co:
        """Return the record of a call without a reply, or with one that could not be read: `call_fields` then has its `raw_reply`,
        and what it took."""

    def estimate_usage(self, ask: A_contra, /) -> Usage:
        """Return an estimate from the length of the prompt, and the tokens of a typical reply."""
        return estimate_usage(
            self.messages(ask), reply_tokens=min(self.usual_tokens, self.reply_options(ask).max_tokens)
        )

    def max_spend(self, ask: A_contra, /) -> Spend:
        """Return a bound from the length of the prompt, and the limit of a reply."""
        return max_spend(self.messages(ask), reply_tokens=self.reply_options(ask).max_tokens, prices=self.prices)

    async def answer(self, ask: A_contra, /) -> R_co:
        """Ask the model. Raises ModelError: no further call can succeed.

        A fault in the reading of a reply, casewise's or a plugin's, is the outcome of that ask, and ends no run.
        """
        reply = await self.request_reply(ask)
        if not isinstance(reply, Reply):
            return reply
        call_fields = self.call_fields(reply)
        try:
            return await self.read_fully(ask, reply, call_fields)
        except CasewiseError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever the reading of a text can raise
            return self.unanswered(ask, "internal", fault_in_words(error), raw_reply=reply.text, **call_fields)

    async def read_fully(self, ask: A_contra, reply: Reply, call_fields: dict[str, Any], /) -> R_co:
        """Return the record of a reply; a second model may be asked for it."""
        return self.read(ask, reply, call_fields)

    async def request_reply(self, ask: A_contra, /) -> Reply | R_co:
        """Return the model's reply, or the record of a call without one; errors are those of `answer`."""
        try:
            reply = await self.model.reply(self.messages(ask), self.reply_options(ask))
        except Rejected as error:
            return self.unanswered(ask, error.reason, str(error))
        except Unavailable as error:
            self._n_failed += not isinstance(error, NoBatchAnswer)
            if self._n_failed >= self.patience:
                raise Unavailable(
                    f"{count_of(self._n_failed, 'call')} in a row failed: {error}. Answers so far are kept; the same command resumes"
                ) from error
            return self.unanswered(ask, "unavailable", str(error))
        self._n_failed = 0
        if not reply.usage.is_known:
            note_unreported()
        return truncated_reply(reply)

    def call_fields(self, reply: Reply) -> dict[str, Any]:
        """Return latency, model version, tokens and cost of a reply, as fields of a `Call`."""
        return {
            "latency_s": round(reply.latency_s, 4),
            "model_version": reply.model_version,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost_usd": self.prices.cost_of(reply.usage) if self.prices else None,
        }

    async def close(self) -> None:
        await self.model.close()
