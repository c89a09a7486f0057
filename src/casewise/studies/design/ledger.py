"""The study in memory: the state machine that the database store is held to.

`study check` plays a design through it to say how many people are needed; the tests run the same sequences of
events over it and over the store on SQLite and PostgreSQL, and compare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from casewise.errors import StudyError
from casewise.studies.design.assignment import Open, choose_batch, choose_condition, place_late

__all__ = ["Ledger", "LedgerItem"]

State = Literal["reserved", "lapsed", "valid", "surplus", "void", "skipped"]


@dataclass(frozen=True, slots=True)
class LedgerItem:
    """An item as the ledger sees it."""

    item_id: str
    query_id: str
    condition: str


@dataclass(slots=True)
class HeldBatch:
    """What became of each item of one annotator's batch."""

    condition: str
    states: dict[str, State]
    active: bool = True
    """False once the lease ran out."""


@dataclass(slots=True)
class Ledger:
    """Slots, batches and ratings of one study.

    `items`: what is rated.
    `per_item`, `batch_size`: valid ratings promised to each item; items offered to each annotator.
    `rng`: all chance.
    """

    items: Iterable[LedgerItem]
    per_item: int
    batch_size: int
    rng: np.random.Generator
    held: dict[str, HeldBatch] = field(default_factory=dict, init=False)
    by_id: dict[str, LedgerItem] = field(init=False)
    free: dict[str, int] = field(init=False)
    """Open slots of each item."""

    def __post_init__(self) -> None:
        self.by_id = {item.item_id: item for item in self.items}
        self.free = dict.fromkeys(self.by_id, self.per_item)

    def open_slots(self) -> dict[str, int]:
        """Open slots of each condition."""
        totals = Counter[str]()
        for item in self.by_id.values():
            totals[item.condition] += self.free[item.item_id]
        return dict(totals)

    def arrive(self, annotator: str) -> tuple[str, ...]:
        """Give a new annotator a condition and a batch; the same batch again to one who has it already.

        Raises StudyError: no slot is open.
        """
        if annotator in self.held:
            return tuple(self.held[annotator].states)
        condition = choose_condition(self.open_slots(), self.rng)
        if condition is None:
            raise StudyError("no slot is open: every item has its ratings or is being rated")
        batch = choose_batch(self._open_items(condition), self.batch_size, rng=self.rng)
        for item_id in batch:
            self.free[item_id] -= 1
        self.held[annotator] = HeldBatch(condition, dict.fromkeys(batch, "reserved"))
        return batch

    def rate(self, annotator: str, item_id: str) -> State:
        """Take a rating. Rating an item twice changes nothing."""
        held = self.held[annotator]
        if held.states[item_id] == "reserved":
            held.states[item_id] = "valid"
        elif held.states[item_id] == "lapsed":
            held.states[item_id] = place_late(open_slots=self.free[item_id])
            self.free[item_id] -= held.states[item_id] == "valid"
        return held.states[item_id]

    def skip(self, annotator: str, item_id: str) -> None:
        """Give back the slot of an item that the annotator would rather not rate."""
        held = self.held[annotator]
        if held.states[item_id] in {"reserved", "lapsed"}:
            self.free[item_id] += held.states[item_id] == "reserved"
            held.states[item_id] = "skipped"

    def undo(self, annotator: str, item_id: str) -> None:
        """Take back a rating; its slot stays the annotator's."""
        held = self.held[annotator]
        if held.active and held.states[item_id] == "valid":
            held.states[item_id] = "reserved"

    def lapse(self, annotator: str) -> None:
        """The lease ran out: what is not rated yet re-opens."""
        held = self.held[annotator]
        held.active = False
        for item_id, state in held.states.items():
            if state == "reserved":
                held.states[item_id] = "lapsed"
                self.free[item_id] += 1

    def resume(self, annotator: str) -> None:
        """The annotator is back: what of the batch is still open is reserved again."""
        held = self.held[annotator]
        if held.active:
            return
        held.active = True
        for item_id, state in held.states.items():
            if state == "lapsed" and self.free[item_id] > 0:
                held.states[item_id] = "reserved"
                self.free[item_id] -= 1

    def void(self, annotator: str) -> None:
        """Leave out all that the annotator rated; every slot re-opens."""
        held = self.held[annotator]
        held.active = False
        for item_id, state in held.states.items():
            if state in {"reserved", "valid"}:
                self.free[item_id] += 1
            if state != "skipped":
                held.states[item_id] = "void"

    def count(self, state: State) -> Counter[str]:
        """How often each item stands in `state`."""
        return Counter(item for held in self.held.values() for item, at in held.states.items() if at == state)

    def _open_items(self, condition: str) -> list[Open]:
        return [
            Open(item.item_id, item.query_id, self.free[item.item_id])
            for item in self.by_id.values()
            if item.condition == condition and self.free[item.item_id] > 0
        ]
