"""How often each text has each word and word pair: counted once, weighed anew for whichever texts are learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from casewise.stats.core.arrays import BoolArray, FloatArray

__all__ = ["Weighing", "WordCounts"]


@dataclass(frozen=True)
class WordCounts:
    """Counts of words and word pairs in texts.

    Attributes
    ----------
    counts
        (texts, phrases), sparse.
    vocabulary
        Phrase to column, in any order.
    """

    counts: Any
    vocabulary: dict[str, int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Count. Words are runs of two or more letters or digits, in lower case.

        scikit-learn is imported when this is called (1.2 s).
        """
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(ngram_range=(1, 2))
        try:
            counts = vectorizer.fit_transform(texts)
        except ValueError:  # no text has a word
            from scipy.sparse import csr_matrix

            return cls(csr_matrix((len(texts), 0)), {})
        return cls(counts.tocsr(), vectorizer.vocabulary_)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    @cached_property
    def phrases(self) -> list[str]:
        """The phrases in the order of the columns."""
        return sorted(self.vocabulary, key=self.vocabulary.__getitem__)

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
        from sklearn.preprocessing import normalize

        found = self.counts[rows][:, weighing.kept].astype(np.float64)
        found.data = (1 + np.log(found.data)) * weighing.rarity[found.indices]
        return normalize(found, copy=False)


@dataclass(frozen=True)
class Weighing:
    """Which phrases count, and how rare each is among the texts that are learnt from."""

    kept: np.ndarray[tuple[int], np.dtype[np.intp]]
    rarity: FloatArray
