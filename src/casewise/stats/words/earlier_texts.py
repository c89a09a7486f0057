"""Texts as sets of word runs, and which of the earlier ones is most like a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["EarlierTexts", "MostAlike", "jaccard", "word_runs"]


class MostAlike(NamedTuple):
    """The places of the earlier texts that are most like a text (none where no run is shared), and how alike they are."""

    places: list[int]
    similarity: float


@dataclass
class EarlierTexts:
    """Sets of word runs in the order they came.

    Candidates share a run, so the cost grows with the pairs that do and not with the square of the texts.
    """

    rare: int | None = None
    """A run that more texts have says nothing about two of them and finds no candidates; None: every run does."""
    _texts: list[AbstractSet[str]] = field(default_factory=list)
    _holders: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, runs: AbstractSet[str]) -> None:
        """Keep a text, so that later ones are compared with it."""
        for run in runs:
            self._holders[run].append(len(self._texts))
        self._texts.append(runs)

    def most_alike(self, runs: AbstractSet[str]) -> MostAlike:
        """The earlier texts with the largest Jaccard index with `runs`."""
        held = (self._holders[run] for run in runs if run in self._holders)
        near = {place for places in held if self.rare is None or len(places) <= self.rare for place in places}
        index = {place: jaccard(runs, self._texts[place]) for place in near}
        best = max(index.values(), default=0.0)
        return MostAlike(sorted(place for place in near if index[place] == best), best)


def word_runs(words: Sequence[str], *, length: int) -> frozenset[str]:
    """The sequences of `length` words that follow each other."""
    return frozenset(" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def jaccard(one: AbstractSet[object], other: AbstractSet[object]) -> float:
    r"""The share of what either has that both have, :math:`|A \cap B| / |A \cup B|`; not both may be empty."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
