"""How many calls may be under way at once: few at first, more while it goes well, fewer when the server says so."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import TracebackType
from typing import Self

__all__ = ["AdaptiveGate"]


class AdaptiveGate:
    """Lets calls through, at most `limit` at a time; the limit adapts, as TCP's congestion window does.

    Each success adds one to the limit (so it doubles with every round of calls) until the first `overloaded`; from
    then on a whole round of successes adds one. `overloaded` multiplies it by `shrink`, at most once in `cooldown_s`:
    the many refusals of one overload are one piece of news.
    """

    def __init__(self, *, most: int, start: int, shrink: float = 0.5, cooldown_s: float = 1.0) -> None:
        self.most = most
        self.limit = float(min(start, most))
        self.in_flight = 0
        self._shrink = shrink
        self._cooldown_s = cooldown_s
        self._shrunk_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Self:
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return self
        ticket = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        try:
            await ticket
        except asyncio.CancelledError:
            if ticket.done() and not ticket.cancelled():
                self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            ticket = self._waiting.popleft()
            if not ticket.done():
                self.in_flight += 1
                ticket.set_result(None)

    def succeeded(self) -> None:
        """A call came back well."""
        if self.limit < self.most:
            ever_shrunk = self._shrunk_at > float("-inf")
            self.limit = min(float(self.most), self.limit + (1 / self.limit if ever_shrunk else 1.0))
            self._admit()

    def overloaded(self) -> None:
        """The server said that there are too many calls."""
        now = time.monotonic()
        if now - self._shrunk_at >= self._cooldown_s:
            self._shrunk_at = now
            self.limit = max(1.0, self.limit * self._shrink)
