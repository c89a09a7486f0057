"""What a run's log holds already, so that nothing is asked twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from casewise.judging.judge import Ask
from casewise.records import Judgement, Unscored

__all__ = ["Held", "Last"]


class Last(NamedTuple):
    """The last attempt at an ask: where it stands in the log, its number, and whether it gave a verdict."""

    place: int
    attempt: int
    scored: bool


@dataclass
class Held:
    """The last attempt at every ask in the log, in about 200 bytes each, and what all of them took."""

    last: dict[bytes, Last] = field(default_factory=dict)
    cost_usd: float = 0.0
    tokens: int = 0

    @classmethod
    def of(cls, log: Iterable[tuple[int, Judgement]]) -> Held:
        """Index a log of judgements with their places."""
        held = cls()
        for place, judgement in log:
            held.note(place, judgement)
            held.cost_usd += judgement.cost_usd or 0.0
            held.tokens += (judgement.input_tokens or 0) + (judgement.output_tokens or 0)
        return held

    def note(self, place: int, judgement: Judgement) -> None:
        key = key_of(judgement.item_id, judgement.elicitation, judgement.arm, judgement.repeat)
        there = self.last.get(key)
        if there is None or judgement.attempt >= there.attempt:
            self.last[key] = Last(place, judgement.attempt, not isinstance(judgement.outcome, Unscored))

    def of_ask(self, ask: Ask) -> Last | None:
        """The last attempt at `ask`, whatever its own number."""
        return self.last.get(key_of(ask.item.id, ask.elicitation, ask.arm.name, ask.repeat))

    def settles(self, ask: Ask, *, retry_unscored: int) -> bool:
        """Whether nothing is left to ask: there is a verdict, or there were enough attempts."""
        last = self.of_ask(ask)
        return last is not None and (last.scored or last.attempt >= retry_unscored)


def key_of(item_id: str, elicitation: str, arm: str, repeat: int) -> bytes:
    return hashlib.blake2b(f"{item_id}\n{elicitation}\n{arm}\n{repeat}".encode(), digest_size=16).digest()
