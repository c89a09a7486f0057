"""How often each text has each word and word pair: counted once, weighed anew for whichever texts are learnt from."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Weighing", "WordCounts"]

WORD = re.compile(r"\b\w\w+\b")

BLOCK = 10_000
"""Texts that are read or weighed at once: what lies between them and counts takes memory for these alone."""

SLICE = 2_000_000
"""Words or pairs that are counted at once, and those of one word more."""

PIECE = 2**22
"""Phrases of texts that are multiplied at once."""


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

        found = [Kept.of(np.zeros(0, dtype=np.int64), self.tokens[:0], least=least)]
        for grouped in (self._words, self._pairs):
            found += kept(grouped(), len(self.words), least=least)
        codes, texts_with, rows, times = (np.concatenate(parts) for parts in zip(*found, strict=True))
        del found
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(texts_with)])
        return CountedPhrases(csc_matrix((times, rows, ends), shape=(len(self), len(codes))).tocsr(), codes, texts_with)

    def _words(self) -> Grouped:
        columns = by_column(self.tokens, np.ones(len(self.tokens), dtype=np.int8), self._ends, len(self.words))
        return Grouped(columns.indptr, None, columns.indices)

    def _pairs(self) -> Grouped:
        """Sorted by the second word, then by the first, which keeps the order of the second."""
        none = len(self.words)
        before = np.roll(self.tokens, 1)
        before[self._ends[:-1][self.lengths > 0]] = none
        seconds = by_column(self.tokens, before, self._ends, none)
        del before
        firsts = by_column(seconds.data, seconds.indices, seconds.indptr, none + 1)
        return Grouped(firsts.indptr[:-1], firsts.indices, firsts.data)

    @property
    def _ends(self) -> IntArray:
        """(texts + 1,) where each text's words begin among all tokens, and where the last ends."""
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.lengths)])

    def weighing(self, learn: BoolArray, *, least: int, order: IntArray | None = None) -> Weighing:
        """How much each phrase weighs that at least `least` of the texts of `learn` have.

        `order`: of the texts; those that are weighed together take the least time and memory where they lie together.
        """
        phrases = self.in_several if least > 1 else self.in_any
        if order is not None:
            phrases.arrange(order)
        most = learn.sum() > len(learn) / 2
        texts_with = phrases.texts_with - phrases.seen(~learn) if most else phrases.seen(learn)
        rarity = np.log((1 + learn.sum()) / (1 + texts_with)) + 1
        return Weighing(phrases, np.where(texts_with >= max(1, least), rarity, 0.0))

    @cached_property
    def in_several(self) -> Phrases:
        return Phrases.of(self.counted(least=2))

    @cached_property
    def in_any(self) -> Phrases:
        return Phrases.of(self.counted(least=1))


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


class Grouped(NamedTuple):
    """Words, or pairs by their first word: one word's after another's, by the second word within, by the text within.

    Attributes
    ----------
    ends : (words + 1,) integers
        Where each word's begin, and where the last's end.
    seconds : (tokens,) integers
        The second word of each pair; None of words.
    texts : (tokens,) integers
        The text of each.
    """

    ends: IntArray
    seconds: NDArray[np.int32] | None
    texts: NDArray[np.int32]


def by_column(columns: NDArray[np.int32], values: NDArray[Any], ends: IntArray, n_columns: int) -> Any:
    """Rows of columns with values, column by column: sorted by counting, in a fifth of the time of sorting by comparing."""
    from scipy.sparse import csr_matrix

    return csr_matrix((values, columns, ends), shape=(len(ends) - 1, n_columns)).tocsc()


class Kept(NamedTuple):
    """Some phrases: the code of each, how many texts have it; phrase by phrase, which those are and how often each does."""

    codes: IntArray
    texts_with: IntArray
    rows: NDArray[np.int32]
    times: NDArray[Any]

    @classmethod
    def of(cls, codes: IntArray, texts: NDArray[np.int32], *, least: int) -> Self:
        """From a code and a text of each token, sorted by both, that hold all of each of their phrases."""
        another = np.diff(codes, prepend=-1) != 0
        at = np.flatnonzero(another | (np.diff(texts, prepend=-1) != 0))
        first = np.flatnonzero(another[at])
        texts_with = np.diff(first, append=len(at))
        enough = texts_with >= least
        of_enough = np.repeat(enough, texts_with)
        times = np.diff(at, append=len(codes))[of_enough]
        narrow = np.min_scalar_type(times.max(initial=0))
        return cls(codes[at[first[enough]]], texts_with[enough], texts[at[of_enough]], times.astype(narrow))


def kept(grouped: Grouped, n_words: int, *, least: int) -> Iterator[Kept]:
    """The phrases that enough texts have, slice by slice of whole words."""
    ends, seconds, texts = grouped
    cuts = np.unique(np.append(np.searchsorted(ends, np.arange(0, ends[-1], SLICE)), len(ends) - 1))
    for low, high in pairwise(cuts.tolist()):
        here = slice(ends[low], ends[high])
        codes = np.repeat(np.arange(low, high), np.diff(ends[low : high + 1]))
        if seconds is not None:
            codes = n_words + n_words * codes + seconds[here]
        yield Kept.of(codes, texts[here], least=least)


class CountedPhrases(NamedTuple):
    """How often texts have phrases."""

    table: Any
    """(texts, phrases), sparse by rows."""
    codes: IntArray
    """(phrases,) integers: the place of a word among the words, *n* of them; *n* + *first* · *n* + *second* of a
    pair."""
    texts_with: IntArray
    """(phrases,) integers: how many texts have each."""


@dataclass
class Phrases:
    """How often each text has the phrases that enough texts have, the most frequent phrases first.

    Products take less time in this order than in that of the words, for most of what they look up lies close together.
    """

    table: Any
    codes: IntArray
    texts_with: IntArray
    texts: IntArray
    """Which text each row of the table is."""

    @classmethod
    def of(cls, counted: CountedPhrases) -> Self:
        table = counted.table
        order = np.argsort(-counted.texts_with, kind="stable")
        column = np.empty(len(order), dtype=table.indices.dtype)
        column[order] = np.arange(len(order), dtype=column.dtype)
        for at in range(0, table.nnz, SLICE):
            table.indices[at : at + SLICE] = column[table.indices[at : at + SLICE]]
        return cls(table, counted.codes[order], counted.texts_with[order], np.arange(table.shape[0]))

    def arrange(self, order: IntArray) -> None:
        """Let the texts stand in this order."""
        if not np.array_equal(order, self.texts):
            self.table, self.texts = self.table[np.argsort(self.texts)[order]], order

    def spans(self, texts: BoolArray) -> list[slice]:
        """The rows of some texts, as far as they lie together and have no more than `PIECE` phrases."""
        ends = self.table.indptr
        edges = np.flatnonzero(np.diff(texts[self.texts].astype(np.int8), prepend=0, append=0)).tolist()
        found = []
        for low, high in zip(edges[::2], edges[1::2], strict=True):
            cuts = np.searchsorted(ends, np.arange(ends[low], ends[high], PIECE))
            found += [slice(*cut) for cut in pairwise(np.unique([low, *cuts, high]).tolist())]
        return found

    def seen(self, texts: BoolArray) -> IntArray:
        """How many of some texts have each phrase."""
        found = np.zeros(len(self.codes), dtype=np.int64)
        for rows in self.spans(texts):
            ends = self.table.indptr[rows.start], self.table.indptr[rows.stop]
            found += np.bincount(self.table.indices[slice(*ends)], minlength=len(found))
        return found


@dataclass(frozen=True)
class Weighing:
    """How rare each phrase is among the texts that are learnt from; 0 where it does not count."""

    phrases: Phrases
    rarity: FloatArray

    @property
    def counts(self) -> bool:
        """Whether any phrase does."""
        return bool(self.rarity.any())

    def of(self, texts: BoolArray) -> Weighed:
        r"""TF-IDF of some texts, each of length 1, as something to multiply with.

        :math:`(1 + \ln tf) \cdot (\ln \tfrac{1 + n}{1 + df} + 1)`, as scikit-learn's `TfidfVectorizer` with
        `sublinear_tf=True` gives it. The products are taken factor by factor, so that no fold has a table of its own, and
        summand by summand: the 1 of every phrase is the same ones for all pieces, and few phrases have a logarithm above 0.
        """
        from scipy.sparse import csr_matrix
        from scipy.sparse.linalg import LinearOperator

        table, spans = self.phrases.table, self.phrases.spans(texts)
        width = table.shape[1]
        ends = [table.indptr[rows.start : rows.stop + 1] for rows in spans]
        same = np.ones(max((end[-1] - end[0] for end in ends), default=0))
        ones = [
            csr_matrix((same[: end[-1] - end[0]], table.indices[end[0] : end[-1]], end - end[0]), (len(end) - 1, width))
            for end in ends
        ]
        more = repeats(table, ends)
        upto = np.cumsum([0, *(one.shape[0] for one in ones)]).tolist()
        pieces = [slice(*piece) for piece in pairwise(upto)]

        def times(by_phrase: FloatArray) -> FloatArray:
            found: FloatArray = more @ by_phrase
            for rows, one in zip(pieces, ones, strict=True):
                found[rows] += one @ by_phrase
            return found

        def turned_times(by_text: FloatArray) -> FloatArray:
            found: FloatArray = more.T @ by_text
            for rows, one in zip(pieces, ones, strict=True):
                found += one.T @ by_text[rows]
            return found

        logs = more.data.copy()
        more.data *= 2 + logs
        length = np.sqrt(times(self.rarity**2))
        more.data = logs
        scale = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
        weighed = LinearOperator(
            more.shape,
            matvec=lambda by_phrase: scale * times(self.rarity * by_phrase),
            rmatvec=lambda by_text: self.rarity * turned_times(scale * by_text),
            dtype=np.dtype(float),
        )
        return Weighed(weighed, np.concatenate([self.phrases.texts[:0], *(self.phrases.texts[rows] for rows in spans)]))


class Weighed(NamedTuple):
    """What phrases weigh in some texts, (texts, phrases), and which texts those are, in this order."""

    rows: Any
    texts: IntArray


def repeats(table: Any, ends: list[IntArray]) -> Any:
    r""":math:`\ln tf` where it is not 0, of rows that lie between these ends of a table of counts."""
    from scipy.sparse import csr_matrix

    logs, columns, n_rows = [np.zeros(0)], [table.indices[:0]], [np.zeros(1, dtype=np.int64)]
    for end in ends:
        here = slice(end[0], end[-1])
        often = np.flatnonzero(table.data[here] > 1)
        logs.append(np.log(table.data[here][often], dtype=float))
        columns.append(table.indices[here][often])
        n_rows.append(np.diff(np.searchsorted(often, end - end[0])))
    upto = np.cumsum(np.concatenate(n_rows))
    return csr_matrix((np.concatenate(logs), np.concatenate(columns), upto), (len(upto) - 1, table.shape[1]))
