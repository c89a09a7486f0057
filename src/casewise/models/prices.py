"""Prices of tokens, and what calls take: money and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
    cached_usd: Annotated[float | None, Parameter(name="--price-cached")] = None
    """Price of a million input tokens that the provider had in its cache. Default: that of other input tokens."""

    def __post_init__(self) -> None:
        if not all(price >= 0 for price in (self.input_usd, self.output_usd, self.cached_usd or 0.0)):
            raise ConfigurationError("a price is 0 or more, in US dollars for a million tokens")

    def cost_of(self, usage: Usage) -> float | None:
        """Return the cost of the tokens that are reported; None if none are."""
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        sent, replied = usage.input_tokens or 0, usage.output_tokens or 0
        cached = min(usage.cached_tokens, sent)
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        return ((sent - cached) * self.input_usd + cached * cached_usd + replied * self.output_usd) / 1e6

    def discounted(self, discount: float) -> Prices:
        """Return these prices with a discount: 0.5 is half the price."""
        cached_usd = None if self.cached_usd is None else self.cached_usd * (1 - discount)
        return Prices(self.input_usd * (1 - discount), self.output_usd * (1 - discount), cached_usd)


FREE = Prices(0.0, 0.0)


def listed_prices(provider: str, model: str) -> Prices | None:
    """Return the prices of `model` in the public price list of genai-prices; None if it is not listed.

    Prices that rise with the length of a prompt are taken at their base.
    """
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    try:
        fresh, cached = (
            calc_price(
                ListedUsage(input_tokens=1000, cache_read_tokens=n_cached, output_tokens=1000),
                model_ref=model,
                provider_id=provider,
            )
            for n_cached in (0, 1000)
        )
    except LookupError:
        return None
    return Prices(*(1000 * float(thousand) for thousand in (fresh.input_price, fresh.output_price, cached.input_price)))


@dataclass(frozen=True, slots=True)
class Spend:
    """Money in US dollars, and tokens in and out together."""

    cost_usd: float = 0.0
    tokens: int = 0

    def __add__(self, more: Spend) -> Spend:
        return Spend(self.cost_usd + more.cost_usd, self.tokens + more.tokens)

    def __sub__(self, less: Spend) -> Spend:
        return Spend(self.cost_usd - less.cost_usd, self.tokens - less.tokens)

    def __mul__(self, times: int) -> Spend:
        return Spend(self.cost_usd * times, self.tokens * times)


def spend_of(call: Call) -> Spend:
    """Return an upper bound of the cost and tokens of a call: those reported, and those assumed where none were."""
    reported = Spend(call.cost_usd or 0.0, (call.input_tokens or 0) + (call.output_tokens or 0))
    return reported + Spend(call.assumed_cost_usd or 0.0, call.assumed_tokens or 0)


# Requests that may have been billed although no answer says for how many tokens.


@dataclass
class Meter:
    """The number of unreported requests in one call."""

    n_unreported: int = 0


METER: ContextVar[Meter | None] = ContextVar("casewise_meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """Count the requests of the block whose tokens are not reported, with those of tasks that it starts."""
    meter = Meter()
    token = METER.set(meter)
    try:
        yield meter
    finally:
        METER.reset(token)


def note_unreported() -> None:
    """Count a request that may have been billed, and whose tokens are not reported."""
    if (meter := METER.get()) is not None:
        meter.n_unreported += 1
