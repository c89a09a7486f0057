"""What a run would take, before the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from casewise.models.http.prices import Prices
from casewise.models.protocol import Message, Usage
from casewise.runs.limits import Spend
from casewise.runs.run_kind import Asks

__all__ = ["CallEstimate", "at_most", "estimate_calls", "usually"]

CHARACTERS_PER_TOKEN = 4.0
"""Of English prose, roughly, with the tokenizers in use."""

TEMPLATE_TOKENS = 64
"""What a chat template adds to a prompt, generously."""

A = TypeVar("A")


def usually(messages: Iterable[Message], *, reply_tokens: int) -> Usage:
    """What a call takes, roughly, whose replies usually have so many tokens."""
    return Usage(round(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN), reply_tokens)


def at_most(messages: Iterable[Message], *, reply_tokens: int, prices: Prices | None) -> Spend:
    """What a call can take at most: a token for every two bytes of the prompt is more than any tokenizer needs for
    prose, and a reply is no longer than its limit. Failed tries are not billed by any provider we know."""
    sent = sum(len(message.content.encode()) for message in messages) // 2 + TEMPLATE_TOKENS
    cost = prices.of(Usage(sent, reply_tokens)) if prices else None
    return Spend(cost or 0.0, sent + reply_tokens)


@dataclass(frozen=True, kw_only=True)
class CallEstimate:
    """Calls, tokens and cost of a plan.

    Tokens in are estimated from the prompts' length, tokens out from what such replies usually take; `at_most` is the
    bound that a cost limit reckons with. Costs are None where nobody knows the price.
    """

    n_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    cost_at_most_usd: float | None


def estimate_calls(
    plan: Asks[A], *, usually: Callable[[A], Usage], at_most: Callable[[A], Spend], prices: Prices | None
) -> CallEstimate:
    """What the calls of `plan` would take. None is made.

    `usually`, `at_most`: what a call takes, roughly; and what it can take at most.
    """
    n_calls, sent, replied, most = 0, 0, 0, Spend()
    for first, *_ in plan.groups():
        usual = usually(first)
        n_calls += 1
        sent, replied = sent + (usual.input_tokens or 0), replied + (usual.output_tokens or 0)
        most += at_most(first)
    return CallEstimate(
        n_calls=n_calls,
        input_tokens=sent,
        output_tokens=replied,
        cost_usd=prices.of(Usage(sent, replied)) if prices else None,
        cost_at_most_usd=most.cost_usd if prices else None,
    )
