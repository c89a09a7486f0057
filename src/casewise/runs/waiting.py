"""Waiting for what is asynchronous, from code that is not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["apart", "finished"]

T = TypeVar("T")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, in a thread of its own where an event loop is running already, as in a notebook."""
    return apart(lambda: asyncio.run(work))


def apart(work: Callable[[], T]) -> T:
    """The result of `work`, which starts an event loop itself: in a thread of its own where one is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    outcome: list[T | BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
