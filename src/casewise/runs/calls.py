"""Calls of a chat model by a run that is not a judge's: what came back, or why nothing did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from casewise.errors import Unavailable
from casewise.models.http.prices import Prices
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions
from casewise.runs.estimate import at_most
from casewise.runs.limits import Spend
from casewise.runs.stopping import Patience

__all__ = ["ChatCalls", "NoReply"]

NoReplyReason = Literal["bad_request", "content_filter", "unavailable"]


@dataclass(frozen=True)
class NoReply:
    """A call that came to nothing."""

    reason: NoReplyReason
    detail: str

    @property
    def problem(self) -> str:
        """The same in words."""
        return f"{self.reason.replace('_', ' ')}: {self.detail}"


class ChatCalls:
    """A model, what its tokens cost, and how long its failures are borne."""

    def __init__(self, model: Model, prices: Prices | None, *, patience: int = 30) -> None:
        self.model, self.prices = model, prices
        self._patience = Patience(patience)

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply | NoReply:
        """What the model replies. What no further call can survive is raised."""
        try:
            reply = await self.model.reply(messages, options)
        except Rejected as error:
            return NoReply("content_filter" if error.reason == "content_filter" else "bad_request", str(error))
        except Unavailable as error:
            self._patience.failed(error)
            return NoReply("unavailable", str(error))
        self._patience.answered()
        return reply

    def at_most(self, messages: tuple[Message, ...], options: ReplyOptions) -> Spend:
        """What a call can take at most."""
        return at_most(messages, reply_tokens=options.max_tokens, prices=self.prices)

    def took(self, reply: Reply) -> dict[str, Any]:
        """Model version, tokens and cost of a reply, under the names that records have for them."""
        return {
            "model_version": reply.model_version,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
            "cost_usd": self.prices.of(reply.usage) if self.prices else None,
        }
