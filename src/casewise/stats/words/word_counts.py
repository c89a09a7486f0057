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
        Each pair as *first · words + second*, by the places of its words.
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
        from scipy.sparse import csr_matrix

        place: defaultdict[str, int] = defaultdict()
        place.default_factory = place.__len__
        found = [np.fromiter(map(place.__getitem__, WORD.findall(text.lower())), dtype=np.int64) for text in texts]
        words = list(place)
        token = np.concatenate([np.zeros(0, dtype=np.int64), *found])
        row = np.repeat(np.arange(len(texts), dtype=np.int32), [len(one) for one in found])
        together = np.flatnonzero(row[1:] == row[:-1])
        pairs, pair = np.unique(token[together] * len(words) + token[together + 1], return_inverse=True)
        rows = np.concatenate([row, row[together]])
        columns = np.concatenate([token, len(words) + pair])
        shape = (len(texts), len(words) + len(pairs))
        counts = csr_matrix((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=shape)
        counts.sum_duplicates()
        return cls(counts, words, pairs)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    @cached_property
    def phrases(self) -> list[str]:
        """The phrases in the order of the columns."""
        n = len(self.words)
        return [*self.words, *(f"{self.words[one // n]} {self.words[one % n]}" for one in self.pairs.tolist())]

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
        from sklearn.preprocessing import normalize

        here = self.counts[rows]
        column = np.full(here.shape[1], -1, dtype=here.indices.dtype)
        column[weighing.kept] = np.arange(len(weighing.kept), dtype=column.dtype)
        columns = column[here.indices]  # scipy's own choice of columns takes three times as long
        known = columns >= 0
        columns, times = columns[known], here.data[known]
        ends = np.concatenate([[0], np.cumsum(known)])[here.indptr]
        weights = (1 + np.log(times)) * weighing.rarity[columns]
        return normalize(csr_matrix((weights, columns, ends), shape=(here.shape[0], len(weighing.kept))), copy=False)


@dataclass(frozen=True)
class Weighing:
    """Which phrases count, and how rare each is among the texts that are learnt from."""

    kept: np.ndarray[tuple[int], np.dtype[np.intp]]
    rarity: FloatArray
