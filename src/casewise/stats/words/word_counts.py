"""How often each text has each word and word pair: counted once, weighed anew for whichever texts are learnt from."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Weighing", "WordCounts"]

WORD = re.compile(r"\b\w\w+\b")

BLOCK = 10_000
"""Texts that are read or weighed at once: what lies between them and counts takes memory for these alone."""

SLICE = 2_000_000
"""Words or pairs that are counted at once, and one phrase more."""

LARGEST = 2**63
"""A pair and a text are sorted as one number below this."""


@dataclass(frozen=True)
class WordCounts:
    """The words of texts, as numbers."""

    words: list[str]
    """The words, in the order of their first appearance."""
    tokens: NDArray[np.int32]
    """(tokens,) integers: all texts' words by their places in `words`, one text after another."""
    lengths: IntArray
    """(texts,) integers: how many words each text has."""

    @classmethod
    def of(cls, texts: Iterable[str], *, word: re.Pattern[str] = WORD) -> Self:
        """Read texts, in lower case. Words are runs of two or more letters or digits, or what `word` finds between blanks."""
        chunks, rest = Chunks(word), iter(texts)
        blocks = [chunks.of([])]
        while block := list(islice(rest, BLOCK)):
            blocks.append(chunks.of(block))
        return cls(list(chunks.place), *(np.concatenate(parts) for parts in zip(*blocks, strict=True)))

    def __len__(self) -> int:
        return len(self.lengths)

    def phrase(self, code: int) -> str:
        """The word or the pair of words with a code, as `CountedPhrases` has it."""
        if code < len(self.words):
            return self.words[code]
        first, second = divmod(code - len(self.words), len(self.words))
        return f"{self.words[first]} {self.words[second]}"

    def counted(self, *, least: int) -> CountedPhrases:
        """How often each text has each phrase that at least so many texts have.

        The counts are those of scikit-learn's `CountVectorizer(ngram_range=(1, 2), min_df=least)`: only words are
        looked up by their text, pairs are numbers, and of those that are left out nothing is kept.
        """
        from scipy.sparse import csc_matrix

        found = [Kept.of(np.zeros(0, dtype=np.int64), 1, least=least)]
        for phrases in (self._words, self._pairs):
            found += phrases(least)
        codes, texts_with, rows, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
        del found
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(texts_with)])
        return CountedPhrases(csc_matrix((times, rows, ends), shape=(len(self), len(codes))).tocsr(), codes, texts_with)

    def _words(self, least: int) -> Iterator[Kept]:
        return kept(self.tokens.astype(np.int64) * len(self) + self._texts, len(self), least=least)

    def _pairs(self, least: int) -> Iterator[Kept]:
        texts, n_words = self._texts, len(self.words)
        together = texts[1:] == texts[:-1]
        pairs, kinds = self.tokens[:-1][together].astype(np.int64), None
        pairs *= n_words
        pairs += self.tokens[1:][together]
        if n_words**2 * len(self) >= LARGEST:
            kinds, pairs = np.unique(pairs, return_inverse=True)
        pairs *= len(self)
        pairs += texts[1:][together]
        for found in kept(pairs, len(self), least=least):
            yield found._replace(codes=n_words + (found.codes if kinds is None else kinds[found.codes]))

    @property
    def _texts(self) -> NDArray[np.int32]:
        """(tokens,) the text of each."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.lengths)

    def weighing(self, learn: BoolArray, *, least: int) -> Weighing:
        """How much each phrase weighs that at least `least` of the texts of `learn` have."""
        logs = self.in_several if least > 1 else self.in_any
        most = learn.sum() > len(learn) / 2
        texts_with = logs.seen(~learn if most else learn)
        if most:
            texts_with = logs.texts_with - texts_with
        rarity = np.log((1 + learn.sum()) / (1 + texts_with)) + 1
        return Weighing(logs, np.where(texts_with >= max(1, least), rarity, 0.0))

    @cached_property
    def in_several(self) -> Logs:
        return Logs.of(self.counted(least=2))

    @cached_property
    def in_any(self) -> Logs:
        return Logs.of(self.counted(least=1))


class Chunks(dict[str, int]):
    """What lies between blanks, by its text: each is taken apart once, and most are one word."""

    def __init__(self, word: re.Pattern[str]) -> None:
        self._word = word
        self.place: dict[str, int] = {}
        """Of each word."""
        self._words, self._ends = array("i"), array("q", [0])

    def __missing__(self, chunk: str) -> int:
        self._words.extend(self.place.setdefault(word, len(self.place)) for word in self._word.findall(chunk))
        self._ends.append(len(self._words))
        self[chunk] = place = len(self)
        return place

    def of(self, texts: list[str]) -> Tokens:
        """The words of some texts; words that are new get their places."""
        split = [np.fromiter(map(self.__getitem__, text.lower().split()), dtype=np.int64) for text in texts]
        chunks = np.concatenate([np.zeros(0, dtype=np.int64), *split])
        ends, words = np.array(self._ends), np.array(self._words)
        n_words = np.diff(ends)[chunks]
        upto = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(n_words)])
        tokens = words[np.arange(upto[-1]) + np.repeat(ends[chunks] - upto[:-1], n_words)]
        return Tokens(tokens, np.diff(upto[np.cumsum([0, *map(len, split)])]))


class Tokens(NamedTuple):
    """Words of some texts, as `WordCounts` has those of all."""

    tokens: NDArray[np.int32]
    lengths: IntArray


class Kept(NamedTuple):
    """Some phrases: the code of each, how many texts have it; phrase by phrase, which those are and how often each does."""

    codes: IntArray
    texts_with: IntArray
    rows: NDArray[np.int32]
    times: NDArray[Any]

    @classmethod
    def of(cls, keys: IntArray, n_texts: int, *, least: int) -> Self:
        """From sorted keys, code · *texts* + text, that hold all of each of their phrases."""
        at = np.flatnonzero(np.diff(keys, prepend=-1))
        code, row = np.divmod(keys[at], n_texts)
        first = np.flatnonzero(np.diff(code, prepend=-1))
        texts_with = np.diff(first, append=len(code))
        enough = texts_with >= least
        of_enough = np.repeat(enough, texts_with)
        times = np.diff(at, append=len(keys))[of_enough]
        narrow = np.min_scalar_type(times.max(initial=0))
        return cls(code[first][enough], texts_with[enough], row[of_enough].astype(np.int32), times.astype(narrow))


def kept(keys: IntArray, n_texts: int, *, least: int) -> Iterator[Kept]:
    """The phrases that enough texts have, from the keys of all tokens, slice by slice."""
    keys.sort()
    at = 0
    while at < len(keys):
        last = keys[min(at + SLICE, len(keys)) - 1]
        end = int(np.searchsorted(keys, (last // n_texts + 1) * n_texts))
        yield Kept.of(keys[at:end], n_texts, least=least)
        at = end


class CountedPhrases(NamedTuple):
    """How often texts have phrases."""

    table: Any
    """(texts, phrases), sparse by rows."""
    codes: IntArray
    """(phrases,) integers: the place of a word among the words, *n* of them; *n* + *first* · *n* + *second* of a
    pair."""
    texts_with: IntArray
    """(phrases,) integers: how many texts have each."""


@dataclass(frozen=True)
class Logs:
    r""":math:`1 + \ln tf` of the phrases that enough texts have, the most frequent phrases first.

    Products with them take less time in this order than in that of the words, for most of what they look up lies close together.
    """

    table: Any
    codes: IntArray
    texts_with: IntArray

    @classmethod
    def of(cls, counted: CountedPhrases) -> Self:
        from scipy.sparse import csr_matrix

        table = counted.table
        order = np.argsort(-counted.texts_with, kind="stable")
        column = np.empty(len(order), dtype=table.indices.dtype)
        column[order] = np.arange(len(order), dtype=column.dtype)
        of_times = np.concatenate([np.zeros(1), 1 + np.log(np.arange(1, int(table.data.max(initial=1)) + 1))])
        logs = csr_matrix(
            (looked_up(of_times, table.data), looked_up(column, table.indices), table.indptr), table.shape
        )
        return cls(logs, counted.codes[order], counted.texts_with[order])

    def seen(self, texts: BoolArray) -> IntArray:
        """How many of some texts have each phrase."""
        of_texts = np.repeat(texts, np.diff(self.table.indptr))
        return np.bincount(self.table.indices[of_texts], minlength=len(self.codes))


def looked_up(values: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """`values[places]`; numpy makes eight bytes a place of all places at once."""
    found = np.empty(len(places), dtype=values.dtype)
    for at in range(0, len(places), SLICE):
        found[at : at + SLICE] = values[places[at : at + SLICE]]
    return found


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
        from scipy.sparse import csr_matrix
        from scipy.sparse.linalg import LinearOperator

        table = self.logs.table if rows.all() else self.logs.table[rows]
        squared: list[FloatArray] = [np.zeros(0)]
        for at in range(0, table.shape[0], BLOCK):
            some = table[at : at + BLOCK]
            squared.append(csr_matrix((some.data**2, some.indices, some.indptr), some.shape) @ self.rarity**2)
        length = np.sqrt(np.concatenate(squared))
        scale = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
        turned = table.T
        return LinearOperator(
            table.shape,
            matvec=lambda by_phrase: scale * (table @ (self.rarity * by_phrase)),
            rmatvec=lambda by_text: self.rarity * (turned @ (scale * by_text)),
            dtype=np.dtype(float),
        )
