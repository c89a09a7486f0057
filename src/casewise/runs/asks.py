"""A plan as a run reads it: streamed, and as often as it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Asks"]

A = TypeVar("A")


@dataclass(frozen=True)
class Asks(Generic[A]):
    """What to ask, in bundles; nothing larger than a bundle is ever held in memory."""

    bundles: Callable[[], Iterator[tuple[A, ...]]]
    """The plan from its beginning, each time. Only asks of one bundle can share a call."""
    size: int
    """How many asks it has."""
    retries: int = 0
    """How often an ask is repeated at most because its answer was of no use."""
    shared_key: Callable[[A], str | None] = lambda _ask: None
    """Equal for asks that one call answers; None for one that shares its call with no other."""

    def __iter__(self) -> Iterator[A]:
        for bundle in self.bundles():
            yield from bundle

    def grouped(self, bundle: tuple[A, ...]) -> Iterator[tuple[A, ...]]:
        """The asks of a bundle in groups that one call answers."""
        if len(bundle) == 1:
            yield bundle
            return
        groups: dict[str | int, list[A]] = {}
        for place, ask in enumerate(bundle):
            key = self.shared_key(ask)
            groups.setdefault(place if key is None else key, []).append(ask)
        yield from (tuple(group) for group in groups.values())

    def groups(self) -> Iterator[tuple[A, ...]]:
        """The plan, a call at a time."""
        for bundle in self.bundles():
            yield from self.grouped(bundle)
