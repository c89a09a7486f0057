"""Who rates what: the decisions, pure. No clock, no database, and chance only through the generator passed in.

The store makes the same decisions within its transactions, and `ledger` within memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["BatchPage", "Open", "Placement", "choose_batch", "choose_condition", "lay_out", "most_taken", "place_late"]

Placement = Literal["valid", "surplus"]


@dataclass(frozen=True, slots=True)
class Open:
    """An item with slots that nobody holds."""

    item_id: str
    query_id: str
    slots: int
    """Open slots, at least one."""


@dataclass(frozen=True, slots=True)
class BatchPage:
    """One page of a batch: an item to be rated, or an attention check."""

    kind: Literal["item", "check"]
    id: str


def choose_condition(open_slots: Mapping[str, int], rng: np.random.Generator) -> str | None:
    """One of the conditions with most open slots, at random among equals; None when no slot is open anywhere.

    With conditions of equal size this keeps them within one batch of each other.
    """
    most = max(open_slots.values(), default=0)
    if most <= 0:
        return None
    candidates = sorted(condition for condition, slots in open_slots.items() if slots == most)
    return candidates[int(rng.integers(len(candidates)))]


def choose_batch(items: Sequence[Open], size: int, *, rng: np.random.Generator) -> tuple[str, ...]:
    """Up to `size` items, those with most open slots first, chance among equals, one item of each query at most.

    Taking the fullest first covers all items at one pace, so that what is left at the end is spread over many
    items and the last batches are not short for want of different queries.
    """
    shuffled = [items[index] for index in rng.permutation(len(items))]
    chosen: dict[str, str] = {}
    for item in sorted(shuffled, key=lambda item: -item.slots):
        if len(chosen) == size:
            break
        chosen.setdefault(item.query_id, item.item_id)
    return tuple(chosen.values())


def most_taken(open_slots: Mapping[str, Sequence[int]], *, people: int, size: int) -> int:
    """The most slots that `people` could take, a batch of up to `size` items of different queries each.

    `open_slots` are those of each query, by condition. People of one condition take at most `size` each, and of a query
    each at most one; both bounds are reached together, and each further person takes no more than the one before, so
    the largest gains are those of the best spread over conditions.
    """
    persons = np.arange(people + 1)
    gains = [
        np.diff(np.minimum(size * persons, np.minimum.outer(persons, slots).sum(axis=1)))
        for slots in open_slots.values()
    ]
    return int(np.sort(np.concatenate([*gains, np.zeros(people, int)]))[::-1][:people].sum())


def lay_out(items: Sequence[str], checks: Sequence[str], *, rng: np.random.Generator) -> tuple[BatchPage, ...]:
    """The pages of a batch: items in random order, each check at a random place but never first."""
    pages = [BatchPage("item", items[index]) for index in rng.permutation(len(items))]
    for index in rng.permutation(len(checks)):
        place = int(rng.integers(min(1, len(pages)), len(pages) + 1))
        pages.insert(place, BatchPage("check", checks[index]))
    return tuple(pages)


def place_late(*, open_slots: int) -> Placement:
    """Where a rating goes that arrives after its lease ran out: counted if the item still has an open slot."""
    return "valid" if open_slots > 0 else "surplus"
