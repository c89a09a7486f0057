"""Stopping in good order: what is in flight is finished, nothing more is begun; and how long silence is borne with."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from casewise.errors import LeftUnanswered, Unavailable
from casewise.models.local.batching import drop_all_waiting

__all__ = ["Patience", "Stop", "stopping_on_signals"]


class Stop:
    """Asks a run to stop, with the reason; the first reason stays."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def ask(self, reason: str) -> None:
        """Begin no more calls."""
        self.reason = self.reason or reason

    def __bool__(self) -> bool:
        return self.reason is not None


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(stop: Stop, *, say: Callable[[str], None]) -> Iterator[None]:
    """Within this, Ctrl-C (or a SIGTERM) asks for a stop; a second one is what it always was.

    What a local model was asked and has not begun is dropped: it is asked again by the same command.

    Does nothing outside the main thread, where no handler can be set. Call it inside a running event loop.
    """
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        release()
        stop.ask("interrupted")
        drop_all_waiting()
        say("finishing what is in flight; press Ctrl-C again to drop it")

    def release() -> None:
        for number in SIGNALS:
            loop.remove_signal_handler(number)

    try:
        for number in SIGNALS:
            loop.add_signal_handler(number, on_signal)
    except (RuntimeError, ValueError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        release()


class Patience:
    """Counts calls in a row that failed after all their retries, and gives up at `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit, self._failed = limit, 0

    def answered(self) -> None:
        """A call came through."""
        self._failed = 0

    def failed(self, error: Unavailable) -> None:
        """Another call failed. Raises Unavailable: these were too many in a row."""
        self._failed += not isinstance(error, LeftUnanswered)
        if self._failed >= self.limit:
            raise Unavailable(
                f"{self._failed} calls in a row failed: {error}. What was answered is kept; the same command goes on"
            ) from error
