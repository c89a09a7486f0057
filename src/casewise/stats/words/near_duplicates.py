"""Texts that are nearly the same, found without comparing every text with every other: among all, or one after another."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from casewise.stats.core.arrays import IntArray

__all__ = ["EarlierTexts", "MostAlike", "jaccard", "near_duplicates", "word_runs"]

WORD = re.compile(r"\w+")

PRIME = (1 << 31) - 1
"""Of the hash functions; products stay within 64 bits."""

BANDS, ROWS = 16, 4
"""Texts with a Jaccard index of 0.8 meet in some band with probability 0.9998, those of 0.3 with 0.12."""


def near_duplicates(texts: Sequence[str], *, least: float = 0.8, seed: int = 0) -> IntArray:
    r"""Number the groups of texts that are nearly the same: equal numbers are one group.

    Two texts are nearly the same where their sets *A*, *B* of three-word sequences have a Jaccard index
    :math:`|A \cap B| / |A \cup B|` of at least `least`; groups are chains of such texts. Candidates are found by
    min-hashing, so that twenty thousand texts take seconds; each is then compared exactly.

    References
    ----------
    .. [1] Broder (1997), On the resemblance and containment of documents.
    """
    shingled = [shingles(text) for text in texts]
    parent = list(range(len(texts)))
    for bucket in buckets(signatures(shingled, seed=seed)):
        first = bucket[0]
        for other in bucket[1:]:
            if root(parent, first) != root(parent, other) and alike(shingled[first], shingled[other]) >= least:
                parent[root(parent, other)] = root(parent, first)
    _, group = np.unique([root(parent, index) for index in range(len(texts))], return_inverse=True)
    return group.astype(np.int64)


def alike(one: IntArray, other: IntArray) -> float:
    """`jaccard` of two sorted arrays: sets of all texts would take ten times their memory."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def shingles(text: str) -> IntArray:
    """Hashes of the text's three-word sequences; of all its words together where it has fewer."""
    words = WORD.findall(text.lower())
    runs = [" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))]
    return np.unique(np.array([zlib.crc32(run.encode()) % PRIME for run in runs], dtype=np.int64))


def signatures(shingled: Sequence[IntArray], *, seed: int) -> IntArray:
    """(texts, BANDS · ROWS): the least value of each of so many random hash functions over each set."""
    rng = np.random.default_rng(seed)
    factor, shift = (rng.integers(1, PRIME, size=(BANDS * ROWS, 1)) for _ in range(2))
    if not shingled:
        return np.empty((0, BANDS * ROWS), dtype=np.int64)
    return np.array([((factor * values + shift) % PRIME).min(axis=1) for values in shingled])


def buckets(signature: IntArray) -> list[list[int]]:
    found: list[list[int]] = []
    for band in range(BANDS):
        together: dict[bytes, list[int]] = defaultdict(list)
        part: NDArray[np.int64] = np.ascontiguousarray(signature[:, band * ROWS : (band + 1) * ROWS])
        for index, row in enumerate(part):
            together[row.tobytes()].append(index)
        found += [bucket for bucket in together.values() if len(bucket) > 1]
    return found


def root(parent: list[int], index: int) -> int:
    while parent[index] != index:
        parent[index] = parent[parent[index]]
        index = parent[index]
    return index


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
