"""Prices of tokens, and what calls take: money and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from casewise.errors import ConfigurationError
from casewise.models.protocol import Usage
from casewise.options import Parameter
from casewise.records.call import Call


@dataclass(frozen=True)
class Prices:
    """US dollars for a million tokens."""

    input_usd: Annotated[float, Parameter(name="--price-in")]
    """Price of a million input tokens in US dollars."""
    output_usd: Annotated[float, Parameter(name="--price-out")]
    """Price of a million output tokens in US dollars."""

    def __post_init__(self) -> None:
        if not (self.input_usd >= 0 and self.output_usd >= 0):
            raise ConfigurationError("a price is 0 or more, in US dollars for a million tokens")

    def of(self, usage: Usage) -> float | None:
        """Return the cost of `usage`; None if the endpoint does not report the tokens."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1e6

    def less(self, discount: float) -> Prices:
        """Return these prices with a discount: 0.5 is half the price."""
        return Prices(self.input_usd * (1 - discount), self.output_usd * (1 - discount))


FREE = Prices(0.0, 0.0)


def listed_prices(provider: str, model: str) -> Prices | None:
    """Return the prices of `model` in the public price list of genai-prices; None if it is not listed.

    Prices that rise with the length of a prompt are taken at their base.
    """
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    try:
        listed = calc_price(ListedUsage(input_tokens=1000, output_tokens=1000), model_ref=model, provider_id=provider)
    except LookupError:
        return None
    return Prices(*(float(of_thousand * 1000) for of_thousand in (listed.input_price, listed.output_price)))


@dataclass(frozen=True, slots=True)
class Spend:
    """Money in US dollars, and tokens in and out together."""

    cost_usd: float = 0.0
    tokens: int = 0

    def __add__(self, more: Spend) -> Spend:
        return Spend(self.cost_usd + more.cost_usd, self.tokens + more.tokens)

    def __sub__(self, less: Spend) -> Spend:
        return Spend(self.cost_usd - less.cost_usd, self.tokens - less.tokens)


def spend_of(call: Call) -> Spend:
    """Return cost and tokens of a call; unknown ones count as zero."""
    return Spend(call.cost_usd or 0.0, (call.input_tokens or 0) + (call.output_tokens or 0))


def spent_of(calls: Iterable[Call]) -> Spend:
    """Return cost and tokens of calls together."""
    return sum(map(spend_of, calls), Spend())
