"""What a run may take, and what it has taken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, Self

from casewise.errors import ConfigurationError

__all__ = ["GIVE_PRICES", "Budget", "Counted", "Limits", "Spend", "check_limits", "spent_of"]

GIVE_PRICES = "give --price-in and --price-out (US dollars for a million tokens)"


@dataclass(frozen=True, slots=True)
class Spend:
    """Money in US dollars, and tokens in and out together."""

    cost_usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(self.cost_usd + other.cost_usd, self.tokens + other.tokens)

    def __sub__(self, other: Spend) -> Spend:
        return Spend(self.cost_usd - other.cost_usd, self.tokens - other.tokens)


class Counted(Protocol):
    """A record of a call, as far as it says what that took."""

    @property
    def cost_usd(self) -> float | None: ...

    @property
    def input_tokens(self) -> int | None: ...

    @property
    def output_tokens(self) -> int | None: ...


def spent_of(records: Iterable[Counted]) -> Spend:
    """What calls took together."""
    each = (Spend(one.cost_usd or 0.0, (one.input_tokens or 0) + (one.output_tokens or 0)) for one in records)
    return sum(each, Spend())


@dataclass(frozen=True)
class Limits:
    """What a run may take; None is no limit. Money and tokens count over all sessions of a run."""

    concurrency: int = 16
    max_cost_usd: float | None = None
    max_tokens_total: int | None = None

    @property
    def bounded(self) -> bool:
        """Whether money or tokens are limited."""
        return self.max_cost_usd is not None or self.max_tokens_total is not None

    def less(self, spent: Spend) -> Limits:
        """What is left of them, where others share them."""
        cost, tokens = self.max_cost_usd, self.max_tokens_total
        return replace(
            self,
            max_cost_usd=None if cost is None else max(0.0, cost - spent.cost_usd),
            max_tokens_total=None if tokens is None else max(0, tokens - spent.tokens),
        )


def check_limits(limits: Limits, name: str, *, priced: bool, counts_tokens: bool, to_price: str = "") -> None:
    """Refuse a limit that cannot be kept, before the first call.

    `name`: who is asked.
    `priced`: whether it is known what it costs.
    `counts_tokens`: whether it says how many tokens it took.
    `to_price`: what a user can do to say what it costs, in words.

    Raises ConfigurationError: there is a limit on cost or tokens, and nobody knows what is to be counted.
    """
    if limits.max_cost_usd is not None and not priced:
        give = f"{to_price}, or " if to_price else ""
        raise ConfigurationError(
            f"nobody knows what {name} costs, so a cost limit cannot be kept; {give}leave --max-cost out"
        )
    if limits.max_tokens_total is not None and not counts_tokens:
        raise ConfigurationError(
            f"{name} does not say how many tokens it takes, so a limit on them cannot be kept; "
            "leave --max-tokens-total out"
        )


class Budget:
    """Lets a call through only if what it may cost at most still fits, next to what is under way.

    A call that does not fit waits for those under way, which mostly cost less than was set aside for them; when none
    is under way and it still does not fit, the budget is used up. So a limit is never passed as long as the estimates
    are upper bounds.
    """

    def __init__(self, limits: Limits, *, spent: Spend | None = None) -> None:
        self.limits = limits
        self.spent = spent or Spend()
        self.reserved = Spend()
        self._under_way = 0
        self._changed: asyncio.Event | None = None

    def lacks(self, call: Spend) -> str | None:
        """The limit that `call` would pass, in words, or None."""
        after = self.spent + self.reserved + call
        limits = self.limits
        if limits.max_cost_usd is not None and after.cost_usd > limits.max_cost_usd:
            return f"the cost limit of ${limits.max_cost_usd:g}"
        if limits.max_tokens_total is not None and after.tokens > limits.max_tokens_total:
            return f"the limit of {limits.max_tokens_total} tokens"
        return None

    async def reserve(self, call: Spend) -> str | None:
        """Set aside what `call` may cost; the limit that is used up, in words, where it cannot fit any more."""
        while (lack := self.lacks(call)) is not None:
            if not self._under_way:
                return lack
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        self.set_aside(call)
        return None

    def set_aside(self, call: Spend) -> None:
        """Set aside what a call may cost that is under way already, such as one that was handed over before."""
        self._under_way += 1
        self.reserved += call

    def settle(self, call: Spend, actual: Spend) -> Self:
        """Replace what was set aside for a call by what it took."""
        self._under_way -= 1
        self.reserved -= call
        self.spent += actual
        if self._changed is not None:
            self._changed.set()
            self._changed = None
        return self
