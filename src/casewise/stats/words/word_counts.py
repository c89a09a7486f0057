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
        pairs = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *(block.kinds for block in blocks)]))
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # numpy's own `unique` takes 30 times as long
        counted = [] if blocks else [csr_matrix(np.zeros((0, 0), dtype=np.int32))]
        for block in blocks:
            block.words.resize(block.words.shape[0], len(place))
            places = np.searchsorted(pairs, block.kinds).astype(np.int32)
            there = (block.pairs.data, places[block.pairs.indices], block.pairs.indptr)
            counted.append(hstack([block.words, csr_matrix(there, (block.words.shape[0], len(pairs)))], format="csr"))
        return cls(vstack(counted, format="csr"), list(place), pairs)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def phrase(self, column: int) -> str:
        """The word or the pair of words of a column."""
        if column < len(self.words):
            return self.words[column]
        pair = int(self.pairs[column - len(self.words)])
        return f"{self.words[pair // PAIR]} {self.words[pair % PAIR]}"

    def weighing(self, learn: BoolArray, *, least: int) -> Weighing:
        """How much each phrase weighs that at least `least` of the texts of `learn` have."""
        logs = self.in_several if least > 1 else self.in_any
        seen = logs.table[learn].indices if learn.sum() <= len(learn) / 2 else logs.table[~learn].indices
        texts_with = np.bincount(seen, minlength=len(logs.phrases))
        if learn.sum() > len(learn) / 2:
            texts_with = logs.texts_with - texts_with
        rarity = np.log((1 + learn.sum()) / (1 + texts_with)) + 1
        return Weighing(logs, np.where(texts_with >= max(1, least), rarity, 0.0))

    @cached_property
    def in_several(self) -> Logs:
        return Logs.of(self.counts, least=2)

    @cached_property
    def in_any(self) -> Logs:
        return Logs.of(self.counts, least=1)


@dataclass(frozen=True)
class Logs:
    r""":math:`1 + \ln tf` of the phrases that enough texts have, the most frequent phrases first.

    Products with them take less time in this order than in that of the words, for most of what they look up lies close together.
    """

    table: Any
    phrases: IntArray
    texts_with: IntArray

    @classmethod
    def of(cls, counts: Any, *, least: int) -> Self:
        from scipy.sparse import csr_matrix

        texts_with = np.bincount(counts.indices, minlength=counts.shape[1])
        phrases = np.argsort(-texts_with, kind="stable")[: int((texts_with >= least).sum())]
        column = np.full(counts.shape[1], -1, dtype=counts.indices.dtype)
        column[phrases] = np.arange(len(phrases), dtype=column.dtype)
        columns = column[counts.indices]
        known = columns >= 0
        kind = counts.indptr.dtype
        ends = np.concatenate([np.zeros(1, dtype=kind), np.cumsum(known, dtype=kind)])[counts.indptr]
        of_times = 1 + np.log(np.arange(1, counts.data.max(initial=1) + 1))
        logs = of_times[counts.data[known] - 1]
        table = csr_matrix((logs, columns[known], ends), shape=(counts.shape[0], len(phrases)))
        return cls(table, phrases, texts_with[phrases])


@dataclass(frozen=True)
class Weighing:
    """How rare each phrase is among the texts that are learnt from; 0 where it does not count."""

    logs: Logs
    rarity: FloatArray

    @property
    def counts(self) -> bool:
        """Whether any phrase does."""
        return bool(self.rarity.any())

    def of(self, rows: BoolArray) -> Any:
        r"""TF-IDF of the texts of `rows`, each of length 1, as something to multiply with.

        :math:`(1 + \ln tf) \cdot (\ln \tfrac{1 + n}{1 + df} + 1)`, as scikit-learn's `TfidfVectorizer` with
        `sublinear_tf=True` gives it. The products are taken factor by factor, so that no fold has a table of its own.
        """
        from scipy.sparse.linalg import LinearOperator

        table = self.logs.table if rows.all() else self.logs.table[rows]
        squared = [table[at : at + BLOCK].power(2) @ self.rarity**2 for at in range(0, table.shape[0], BLOCK)]
        length = np.sqrt(np.concatenate([np.zeros(0), *squared]))
        scale = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
        turned = table.T
        return LinearOperator(
            table.shape,
            matvec=lambda by_phrase: scale * (table @ (self.rarity * by_phrase)),
            rmatvec=lambda by_text: self.rarity * (turned @ (scale * by_text)),
            dtype=np.dtype(float),
        )


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
