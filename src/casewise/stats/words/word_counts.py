"""How often each text has each word and word pair: counted once, weighed anew for whichever texts are learnt from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Weighing", "WordCounts"]

WORD = re.compile(r"\b\w\w+\b")

BLOCK = 10_000
"""Texts that are counted at once: what lies between words and counts takes memory for these alone."""

PAIR = 2**32


@dataclass(frozen=True)
class WordCounts:
    """Counts of words and of pairs of neighbouring words in texts.

    Attributes
    ----------
    counts
        (texts, phrases), sparse: the words first, in the order of their first appearance, then the pairs.
    words
        The words.
    pairs : (pairs,) integers
        Each pair as *first* · 2³² + *second*, by the places of its words.
    """

    counts: Any
    words: list[str]
    pairs: IntArray

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Count. Words are runs of two or more letters or digits, in lower case.

        The counts are those of scikit-learn's `CountVectorizer(ngram_range=(1, 2))`, in a quarter of its time: only words
        are looked up by their text, pairs are numbers.
        """
        from scipy.sparse import csr_matrix, hstack, vstack

        place: defaultdict[str, int] = defaultdict()
        place.default_factory = place.__len__
        blocks = [block_of(texts[at : at + BLOCK], place) for at in range(0, len(texts), BLOCK)]
        pairs = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(block.kinds for block in blocks)]))
        counted = [] if blocks else [csr_matrix(np.zeros((0, 0), dtype=np.int32))]
        for block in blocks:
            block.words.resize(block.words.shape[0], len(place))
            places = np.searchsorted(pairs, block.kinds).astype(np.int32)
            there = (block.pairs.data, places[block.pairs.indices], block.pairs.indptr)
            counted.append(hstack([block.words, csr_matrix(there, (block.words.shape[0], len(pairs)))], format="csr"))
        return cls(vstack(counted, format="csr"), list(place), pairs)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    @cached_property
    def phrases(self) -> list[str]:
        """The phrases in the order of the columns."""
        together = (f"{self.words[one // PAIR]} {self.words[one % PAIR]}" for one in self.pairs.tolist())
        return [*self.words, *together]

    def weighing(self, learn: BoolArray, *, least: int) -> Weighing:
        """The phrases that at least `least` of the texts of `learn` have, and how much each weighs."""
        here = self.counts[learn]
        texts_with = np.bincount(here.indices, minlength=here.shape[1])
        kept = np.flatnonzero(texts_with >= max(1, least))
        rarity = np.log((1 + here.shape[0]) / (1 + texts_with[kept])) + 1
        return Weighing(kept, rarity)

    def weighed(self, rows: BoolArray, weighing: Weighing) -> Any:
        r"""TF-IDF of the texts of `rows`, sparse, each of length 1.

        :math:`(1 + \ln tf) \cdot (\ln \tfrac{1 + n}{1 + df} + 1)`, as scikit-learn's `TfidfVectorizer` with
        `sublinear_tf=True` gives it.
        """
        from scipy.sparse import csr_matrix

        here = self.counts[rows]
        column = np.full(here.shape[1], -1, dtype=here.indices.dtype)
        column[weighing.kept] = np.arange(len(weighing.kept), dtype=column.dtype)
        columns = column[here.indices]  # scipy's own choice of columns takes three times as long
        known = columns >= 0
        columns, times = columns[known], here.data[known]
        kind = here.indptr.dtype
        ends = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(known, dtype=kind)])[here.indptr]
        del here, known
        shape = (len(ends) - 1, len(weighing.kept))
        weights, of_times = np.empty(len(times)), 1 + np.log(np.arange(1, times.max(initial=1) + 1))
        for at in range(0, shape[0], BLOCK):
            rows_here = ends[at : at + BLOCK + 1]
            here = slice(rows_here[0], rows_here[-1])
            part = of_times[times[here] - 1] * weighing.rarity[columns[here]]
            row = np.repeat(np.arange(len(rows_here) - 1), np.diff(rows_here))
            weights[here] = part / np.sqrt(np.bincount(row, part**2, minlength=len(rows_here) - 1))[row]
        return csr_matrix((weights, columns, ends), shape=shape)


@dataclass(frozen=True)
class WordBlock:
    """Counts in some of the texts: of words by their places, and of pairs by their places among `kinds`."""

    words: Any
    pairs: Any
    kinds: IntArray


def block_of(texts: Sequence[str], place: defaultdict[str, int]) -> WordBlock:
    """Count in some texts; words that are new get their places."""
    from scipy.sparse import csr_matrix

    found = [np.fromiter(map(place.__getitem__, WORD.findall(text.lower())), dtype=np.int64) for text in texts]
    token = np.concatenate(found)
    row = np.repeat(np.arange(len(texts)), [len(one) for one in found])
    together = np.flatnonzero(row[1:] == row[:-1])
    kinds, pair = np.unique(token[together] * PAIR + token[together + 1], return_inverse=True)

    def counts(rows: IntArray, columns: IntArray, width: int) -> Any:
        made = csr_matrix((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(len(texts), width))
        made.sum_duplicates()
        return made

    return WordBlock(counts(row, token, len(place)), counts(row[together], pair, len(kinds)), kinds)


@dataclass(frozen=True)
class Weighing:
    """Which phrases count, and how rare each is among the texts that are learnt from."""

    kept: np.ndarray[tuple[int], np.dtype[np.intp]]
    rarity: FloatArray
