"""A server that nobody can connect to: said within seconds at the start of a session, waited for later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from casewise.errors import Unreachable, WentAway

__all__ = ["CONNECT_WITHIN_S", "LONGEST_OUTAGE_S", "Outage", "connects"]

CONNECT_WITHIN_S = 4.0
"""At the start: with no connection after so long, nothing is there. Later a try to connect may take as long."""

LONGEST_OUTAGE_S = 900.0
"""A server that has answered before is waited for as long as this."""

PORTS = {"http": 80, "https": 443}


@dataclass
class Outage:
    """Whether a server can be connected to, for all calls to it together."""

    address: str
    """Of the server, or of the proxy before it."""
    said_of: str
    """What messages call it."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    longest_s: float = LONGEST_OUTAGE_S
    tell: Callable[[str], None] = lambda _line: None
    """Where a line goes when a run pauses and when it goes on."""
    answered: bool = False
    """Whether the server has answered anything in this session."""
    _began: float | None = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def ask(self) -> None:
        """Note that a call is about to be made: the first of them begins the session."""
        if self._began is None:
            self._began = time.monotonic()

    async def refused(self, problem: str, *, next_wait_s: float) -> bool:
        """Take note of a call that could not connect. Gives True once the server can be connected to again.

        Raises Unreachable: it never answered in this session, and the next try would come too late. WentAway: it did
        not come back.
        """
        if self.answered:
            await self._back(problem)
            return True
        if time.monotonic() - (self._began or 0.0) + next_wait_s > CONNECT_WITHIN_S:
            raise Unreachable(
                f"nothing answers: {problem}. Check that the server runs and listens on that port, that the "
                "address is right (it usually ends in /v1), and that no proxy or firewall stands in between"
            )
        return False

    async def _back(self, problem: str) -> None:
        """Wait until the server can be connected to; one call tries, the others wait for it."""
        async with self._one:
            since, wait, said = time.monotonic(), self.first_wait_s, False
            while not await connects(self.address):
                if not said:
                    self.tell(f"no answer any more from {problem}: the run waits for it")
                    said = True
                if time.monotonic() - since + wait > self.longest_s:
                    raise WentAway(
                        f"a server that answered did not come back within {self.longest_s:g} s: {problem}. "
                        "What was judged is kept; the same command goes on with the rest"
                    )
                await asyncio.sleep(wait)
                wait = min(wait * 2, self.longest_wait_s)
            if said:
                self.tell(f"{self.said_of} answers again")


async def connects(address: str, *, within_s: float = CONNECT_WITHIN_S) -> bool:
    """Whether a server accepts a connection; nothing is sent over it."""
    parts = urlsplit(address)
    try:
        async with asyncio.timeout(within_s):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS[parts.scheme])
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
