"""Texts that are nearly the same, found without comparing every text with every other: among all, or one after another."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.stats.core.arrays import IntArray
from casewise.stats.words.word_counts import WordCounts

__all__ = ["EarlierTexts", "MostAlike", "Shingled", "jaccard", "near_duplicates", "word_runs"]

WORD = re.compile(r"\w+")

Hashes = NDArray[np.uint32]

PLACES = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)
"""What the words of a sequence are multiplied with, by their places in it."""

BLOCK = 10_000
"""Texts that are hashed at once."""

BANDS, ROWS = 16, 4
"""Texts with a Jaccard index of 0.8 meet in some band with probability 0.9998, those of 0.3 with 0.12."""


def near_duplicates(texts: Iterable[str], *, least: float = 0.8, seed: int = 0) -> IntArray:
    r"""Number the groups of texts that are nearly the same: equal numbers are one group.

    Two texts are nearly the same where their sets *A*, *B* of three-word sequences have a Jaccard index
    :math:`|A \cap B| / |A \cup B|` of at least `least`; groups are chains of such texts. Candidates are found by
    min-hashing, so that a hundred thousand texts take seconds; each is then compared exactly.

    References
    ----------
    .. [1] Broder (1997), On the resemblance and containment of documents.
    """
    shingled = Shingled.of(texts)
    parent = list(range(len(shingled)))
    for bucket in buckets(shingled.signatures(seed=seed)):
        first = bucket[0]
        for other in bucket[1:]:
            if root(parent, first) != root(parent, other) and alike(shingled[first], shingled[other]) >= least:
                parent[root(parent, other)] = root(parent, first)
    _, group = np.unique([root(parent, index) for index in range(len(parent))], return_inverse=True)
    return group.astype(np.int64)


def alike(one: Hashes, other: Hashes) -> float:
    """`jaccard` of two sorted arrays: sets of all texts would take ten times their memory."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


@dataclass(frozen=True)
class Shingled:
    """Hashes of each text's three-word sequences, each once and in ascending order, one text after another."""

    hashes: Hashes
    ends: IntArray

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        words = WordCounts.of(texts, word=WORD)
        code = np.array([*(zlib.crc32(word.encode()) for word in words.words), 0], dtype=np.uint32)
        upto = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(words.lengths)])
        found = [shingles(code[:0], words.lengths[:0])]
        for at in range(0, len(words), BLOCK):
            lengths = words.lengths[at : at + BLOCK]
            tokens = words.tokens[upto[at] : upto[at + len(lengths)]]
            found.append(shingles(*filled_up(code[tokens], lengths)))
        hashes, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return cls(hashes, np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(times)]))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, text: int) -> Hashes:
        return self.hashes[self.ends[text] : self.ends[text + 1]]

    def signatures(self, *, seed: int) -> Hashes:
        """(texts, BANDS · ROWS): the least value of each of so many random hash functions over each set."""
        rng = np.random.default_rng(seed)
        factor, shift = (rng.integers(0, 2**32, size=BANDS * ROWS, dtype=np.uint32) for _ in range(2))
        found = np.empty((len(self), BANDS * ROWS), dtype=np.uint32)
        for at in range(0, len(self), BLOCK):
            ends = self.ends[at : at + BLOCK + 1]
            hashes = self.hashes[ends[0] : ends[-1]]
            for column, (times, plus) in enumerate(zip(factor | np.uint32(1), shift, strict=True)):
                found[at : at + BLOCK, column] = np.minimum.reduceat(hashes * times + plus, ends[:-1] - ends[0])
        return found


def filled_up(codes: Hashes, lengths: IntArray) -> tuple[Hashes, IntArray]:
    """Words of texts, with zeros behind those that have fewer than three."""
    room = np.maximum(lengths, len(PLACES))
    found = np.zeros(room.sum(), dtype=np.uint32)
    found[np.arange(len(codes)) + np.repeat(np.cumsum(room - lengths) - (room - lengths), lengths)] = codes
    return found, room


def shingles(codes: Hashes, lengths: IntArray) -> tuple[Hashes, IntArray]:
    """The three-word sequences of texts, three words long at least: each text's once, and how many it has."""
    n = len(PLACES)
    text = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    whole = text[n - 1 :] == text[: len(text) - n + 1]
    runs: Hashes = sum(codes[at : len(codes) - n + 1 + at] * times for at, times in enumerate(PLACES))
    keys = np.sort(text[: len(whole)][whole] << np.uint64(32) | runs[whole])
    keys = keys[np.diff(keys, prepend=~keys[:1]) != 0]
    return keys.astype(np.uint32), np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=len(lengths))


def buckets(signature: Hashes) -> list[list[int]]:
    """The texts that agree in a whole band of their signatures, by their places in ascending order."""
    weights = np.random.default_rng(0).integers(0, 2**64, size=ROWS, dtype=np.uint64)
    found: list[list[int]] = []
    for band in range(BANDS):
        key = (signature[:, band * ROWS : (band + 1) * ROWS] * weights).sum(axis=1, dtype=np.uint64)
        order = np.argsort(key, kind="stable")
        again = key[order][1:] == key[order][:-1]
        several = np.append(again, False) | np.append(False, again)  # those of a bucket with others
        ends = np.flatnonzero(np.diff(key[order[several]])) + 1
        found += [bucket.tolist() for bucket in np.split(order[several], ends) if len(bucket)]
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
