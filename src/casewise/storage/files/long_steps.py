"""Steps that may take long, such as what is worked out once for a benchmark: told to whoever waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter

__all__ = ["long_step", "telling_long_steps"]

LONG_S = 2.0
"""A step that took less is not worth a line."""

TELL: ContextVar[Callable[[str], None] | None] = ContextVar("TELL", default=None)


@contextmanager
def telling_long_steps(tell: Callable[[str], None]) -> Iterator[None]:
    """Have `tell` told of each step that took long, while this lasts."""
    before = TELL.set(tell)
    try:
        yield
    finally:
        TELL.reset(before)


@contextmanager
def long_step(name: str) -> Iterator[None]:
    """One step, timed where somebody wants to know."""
    began = perf_counter()
    yield
    took, tell = perf_counter() - began, TELL.get()
    if tell is not None and took >= LONG_S:
        tell(f"{took:.1f} s: {name}")
