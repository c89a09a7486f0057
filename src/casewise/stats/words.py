"""The word baseline: logistic regression on the words of contexts, and near duplicates."""

from __future__ import annotations

import re
import zlib
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise
from math import inf, sqrt
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.stats.arrays import BoolArray, FloatArray, IntArray

# How often each text has each word and word pair: counted once, weighed anew for whichever texts are learnt from.


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


# How far to go along a line: the search of Moré and Thuente, as L-BFGS-B uses it.


ENOUGH, FLAT, NARROW = 1e-3, 0.9, 0.1
"""Of the promised decrease; of the slope at the beginning; of the interval that is left."""

MOST_TRIES = 50


class LineStep(NamedTuple):
    """A step, the value there, and the slope."""

    step: float
    value: float
    slope: float


def searched(
    value: Callable[[float], float], slope: Callable[[float], float], *, began: float, at_zero: tuple[float, float]
) -> float | None:
    """A step after which the value has fallen enough and the slope is flat enough; None where none is found.

    References
    ----------
    .. [1] Moré & Thuente (1994), Line search algorithms with guaranteed sufficient decrease, ACM TOMS 20, 286-307.
       MINPACK-2's `dcsrch` and `dcstep`.
    """
    start = LineStep(0.0, *at_zero)
    promised = ENOUGH * start.slope
    best = other = start
    bracketed, first_stage, step = False, True, began
    width = before = inf
    low, high = 0.0, 5 * began
    for _ in range(MOST_TRIES):
        here = LineStep(step, value(step), slope(step))
        bound = start.value + step * promised
        if here.value <= bound and abs(here.slope) <= FLAT * -start.slope:
            return step
        if bracketed and (not low < step < high or high - low <= NARROW * high):
            return best.step or None
        first_stage = first_stage and not (here.value <= bound and here.slope >= 0)
        lowered = promised if first_stage and bound < here.value <= best.value else 0.0
        flattened = [
            LineStep(one.step, one.value - one.step * lowered, one.slope - lowered) for one in (best, other, here)
        ]
        moved = next_step(*flattened, bracketed=bracketed, low=low, high=high)
        kept = {one.step: one for one in (best, other, here)}
        best, other = kept[moved.best.step], kept[moved.other.step]
        bracketed, step = moved.bracketed, moved.step
        if bracketed:
            span = abs(other.step - best.step)
            if span >= 0.66 * before:
                step = best.step + 0.5 * (other.step - best.step)
            before, width = width, span
            low, high = sorted((best.step, other.step))
        else:
            low, high = step + 1.1 * (step - best.step), step + 4 * (step - best.step)
    return None


class Moved(NamedTuple):
    """The interval after a try, and the step to try next."""

    best: LineStep
    other: LineStep
    step: float
    bracketed: bool


def next_step(best: LineStep, other: LineStep, here: LineStep, *, bracketed: bool, low: float, high: float) -> Moved:
    """A step by cubic and quadratic interpolation, safeguarded."""
    turned = here.slope * best.slope < 0
    if here.value > best.value:
        cubic = best.step + cubic_share(best, here) * (here.step - best.step)
        chord = (best.value - here.value) / (here.step - best.step) + best.slope
        quadratic = best.step + best.slope / chord / 2 * (here.step - best.step)
        near = abs(cubic - best.step) <= abs(quadratic - best.step)
        return Moved(best, here, cubic if near else cubic + (quadratic - cubic) / 2, bracketed=True)
    if turned:
        cubic = here.step + cubic_share(here, best) * (best.step - here.step)
        secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)
        far = abs(cubic - here.step) > abs(secant - here.step)
        return Moved(here, best, cubic if far else secant, bracketed=True)
    if abs(here.slope) < abs(best.slope):
        return Moved(here, other, flatter(best, other, here, bracketed=bracketed, low=low, high=high), bracketed)
    if bracketed:
        return Moved(here, other, here.step + cubic_share(here, other) * (other.step - here.step), bracketed)
    return Moved(here, other, high if here.step > best.step else low, bracketed)


def flatter(best: LineStep, other: LineStep, here: LineStep, *, bracketed: bool, low: float, high: float) -> float:
    """The next step where the value falls on and ever less."""
    share = cubic_share(here, best)
    beyond = high if here.step > best.step else low
    cubic = here.step + share * (best.step - here.step) if share < 0 else beyond
    secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)
    near = abs(cubic - here.step) < abs(secant - here.step)
    if bracketed:
        reach = here.step + 0.66 * (other.step - here.step)
        chosen = cubic if near else secant
        return min(reach, chosen) if here.step > best.step else max(reach, chosen)
    return min(max(secant if near else cubic, low), high)


def cubic_share(one: LineStep, other: LineStep) -> float:
    """Where the cubic through two points with these slopes is least: the share of the way from `one` to `other`."""
    theta = 3 * (one.value - other.value) / (other.step - one.step) + one.slope + other.slope
    scale = max(abs(theta), abs(one.slope), abs(other.slope))
    root = scale * sqrt(max(0.0, (theta / scale) ** 2 - one.slope / scale * (other.slope / scale)))
    root = root if other.step > one.step else -root
    return ((root - one.slope) + theta) / (((root - one.slope) + root) + other.slope)


# Logistic regression with more columns than rows: scikit-learn's steps, taken among the rows.
#
# Every step that L-BFGS takes from zero is a combination of rows, :math:`w = X^\top a`. So what it remembers are vectors of one
# number a row and not of one a column, of which words in pairs make a hundred times as many; a step along a line needs no product
# with *X* at all; and a row that is learnt as safe with one weight and as unsafe with the rest is one row. The steps are those of
# scikit-learn's `LogisticRegression(C=c, max_iter=1000)` to rounding, and so is where they end.


REMEMBERED = 10
"""Steps that L-BFGS looks back on."""

STEEPEST = 1e-4
"""It ends where no partial derivative is larger."""

LEAST_GAIN = 64 * float(np.finfo(float).eps)
"""Or where a step gains no more, relative to the loss."""

MOST_STEPS = 1000


@dataclass(frozen=True)
class Logistic:
    """A fitted regression: a number a column, and one besides."""

    coefficients: FloatArray
    intercept: float

    def probability(self, rows: Any) -> FloatArray:
        """P(safe) of each row."""
        from scipy.special import expit

        found: FloatArray = expit(rows @ self.coefficients + self.intercept)
        return found


class Vector(NamedTuple):
    r"""A vector of coefficients :math:`X^\top a` and an intercept, with the image :math:`X X^\top a` of the former."""

    a: FloatArray
    image: FloatArray
    intercept: float

    def __matmul__(self, other: Vector) -> float:
        return float(self.a @ other.image) + self.intercept * other.intercept

    def plus(self, other: Vector, *, times: float = 1.0) -> Vector:
        return Vector(
            self.a + times * other.a, self.image + times * other.image, self.intercept + times * other.intercept
        )

    def scaled(self, by: float) -> Vector:
        return Vector(by * self.a, by * self.image, by * self.intercept)


class Slope(NamedTuple):
    """The gradient at a point, and its largest partial derivative."""

    at: Vector
    largest: float


class Remembered(NamedTuple):
    """A step, and what it changed in the gradient."""

    step: Vector
    change: Vector


@dataclass
class Loss:
    """The mean logistic loss of rows with weights of "safe", and half the squared coefficients times `penalty`."""

    rows: Any
    safe: FloatArray
    penalty: float

    def value(self, at: Vector) -> float:
        score = at.image + at.intercept
        return float(np.mean(np.logaddexp(0, score) - self.safe * score)) + 0.5 * self.penalty * float(at.a @ at.image)

    def residual(self, at: Vector) -> FloatArray:
        """Of each row, the derivative by its score."""
        from scipy.special import expit

        left: FloatArray = (expit(at.image + at.intercept) - self.safe) / len(self.safe)
        return left

    def along(self, at: Vector, direction: Vector) -> float:
        """The derivative in a direction, for which no product with the rows is needed."""
        left = self.residual(at)
        return float((left + self.penalty * at.a) @ direction.image) + float(left.sum()) * direction.intercept

    def slope(self, at: Vector) -> Slope:
        left = self.residual(at)
        a, intercept = left + self.penalty * at.a, float(left.sum())
        by_column = self.rows.T @ a
        largest = max(float(np.abs(by_column).max(initial=0.0)), abs(intercept))
        return Slope(Vector(a, self.rows @ by_column, intercept), largest)


def fit_logistic(rows: Any, safe: FloatArray, *, c: float) -> Logistic:
    r"""Minimise :math:`\frac1n \sum_i \ln(1 + e^{z_i}) - s_i z_i + \frac{\lVert w \rVert^2}{2 c n}` with :math:`z = Xw + b`.

    `rows`: (n, columns), sparse by rows.
    `safe`: (n,) weight of "safe" of each row, *s*; the rest of 1 is that of "unsafe".
    """
    n = len(safe)
    loss = Loss(rows, safe, 1 / (c * n))
    at = Vector(np.zeros(n), np.zeros(n), 0.0)
    value, slope = loss.value(at), loss.slope(at)
    pairs: deque[Remembered] = deque(maxlen=REMEMBERED)
    for _ in range(MOST_STEPS):
        if slope.largest <= STEEPEST:
            break
        direction = downhill(slope.at, pairs)
        began = 1.0 if pairs else float((direction @ direction) ** -0.5)
        length = searched(
            lambda t, at=at, to=direction: loss.value(at.plus(to, times=t)),  # type: ignore[misc]  # defaults bind the loop's
            lambda t, at=at, to=direction: loss.along(at.plus(to, times=t), to),  # type: ignore[misc]
            began=began,
            at_zero=(value, slope.at @ direction),
        )
        if length is None:
            break
        step = direction.scaled(length)
        at, before, old = at.plus(step), value, slope
        value, slope = loss.value(at), loss.slope(at)
        pairs.append(Remembered(step, slope.at.plus(old.at, times=-1)))
        if before - value <= LEAST_GAIN * max(abs(before), abs(value), 1.0):
            break
    return Logistic(rows.T @ at.a, at.intercept)


def downhill(gradient: Vector, pairs: deque[Remembered]) -> Vector:
    """Where L-BFGS goes from a point, by its last steps (Nocedal 1980)."""
    there = gradient.scaled(-1.0)
    shares = []
    for pair in reversed(pairs):
        share = (pair.step @ there) / (pair.step @ pair.change)
        shares.append(share)
        there = there.plus(pair.change, times=-share)
    if pairs:
        last = pairs[-1]
        there = there.scaled((last.step @ last.change) / (last.change @ last.change))
    for pair, share in zip(pairs, reversed(shares), strict=True):
        back = (pair.change @ there) / (pair.step @ pair.change)
        there = there.plus(pair.step, times=share - back)
    return there


# A linear classifier on words: how far vocabulary alone goes.


@dataclass(frozen=True)
class LinearBaseline:
    """Settings of the classifier: TF-IDF of words and word pairs (sublinear), L2 logistic regression."""

    c: float = 3.0
    n_folds: int = 10
    seed: int = 0


class Folds(NamedTuple):
    """Which fold each row is held out in; rows of one group are held out together."""

    of_row: NDArray[np.intp]
    n: int

    @classmethod
    def of(cls, groups: NDArray[np.intp], *, n: int, seed: int = 0) -> Self:
        """Deal the groups into `n` folds at random, as evenly as can be."""
        names, inverse = np.unique(groups, return_inverse=True)
        order = np.random.default_rng(seed).permutation(len(names))
        fold_of_group = np.empty(len(names), dtype=np.intp)
        fold_of_group[order] = np.arange(len(names)) % n
        return cls(fold_of_group[inverse], n)


def out_of_fold(
    texts: Iterable[str] | WordCounts, weight: FloatArray, *, folds: Folds, model: LinearBaseline = LinearBaseline()
) -> FloatArray:
    """P(safe) of every text, from a classifier that saw no row of its fold.

    `texts`: n texts, or their words counted before.
    `weight`: (n,) of "safe"; a row with weight *w* is learnt as safe with weight *w* and as unsafe with 1 − *w*. Rows
        without a label (nan) are predicted, not learnt.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    words = texts if isinstance(texts, WordCounts) else WordCounts.of(texts)
    found = np.empty(len(words))
    order = np.lexsort((folds.of_row, np.isnan(weight)))  # what each fold learns from lies in two pieces
    # The optimiser's vectors are too short for several threads: on two cores they make it three times slower.
    with threadpool_limits(limits=1):
        for fold in range(folds.n):
            held_out = folds.of_row == fold
            if held_out.any():
                fitted = fit(words, weight, ~held_out & ~np.isnan(weight), model, order=order)
                found[held_out] = fitted(held_out)
    return found


def fit(
    words: WordCounts, weight: FloatArray, learn: BoolArray, model: LinearBaseline, *, order: IntArray
) -> Classifier:
    w = weight[learn]
    if not len(w) or w.min() == w.max():
        return Classifier(None, None, constant=float(w.mean()) if len(w) else 0.5)
    weighing = words.weighing(learn, least=2 if learn.sum() > 100 else 1, order=order)
    if not weighing.counts:
        return Classifier(None, None, constant=float(w.mean()))
    weighed = weighing.of(learn)
    return Classifier(weighing, fit_logistic(weighed.rows, weight[weighed.texts], c=model.c))


@dataclass(frozen=True)
class Classifier:
    """A fitted classifier: call it with rows to get P(safe) of those."""

    weighing: Weighing | None
    regression: Logistic | None
    constant: float | None = None

    def __call__(self, rows: BoolArray) -> FloatArray:
        if self.regression is None or self.weighing is None:
            return np.full(int(rows.sum()), self.constant)
        weighed = self.weighing.of(rows)
        found = np.empty(len(rows))
        found[weighed.texts] = self.regression.probability(weighed.rows)
        return found[rows]


class Phrase(NamedTuple):
    """A word or word pair and its coefficient: above zero it speaks for safe."""

    text: str
    coefficient: float


def weighty_phrases(
    texts: Iterable[str] | WordCounts, weight: FloatArray, *, n: int = 10, model: LinearBaseline = LinearBaseline()
) -> tuple[list[Phrase], list[Phrase]]:
    """The `n` phrases that speak most for safe, and the `n` that speak most for unsafe, in a fit on all rows."""
    words = texts if isinstance(texts, WordCounts) else WordCounts.of(texts)
    unknown = np.isnan(weight)
    fitted = fit(words, weight, ~unknown, model, order=np.argsort(unknown, kind="stable"))
    if fitted.weighing is None or fitted.regression is None:
        return [], []
    coefficients = fitted.regression.coefficients
    order = np.argsort(coefficients)
    codes = fitted.weighing.phrases.codes
    for_unsafe, for_safe = (
        [Phrase(words.phrase(int(codes[i])), float(coefficients[i])) for i in places]
        for places in (order[:n], order[::-1][:n])
    )
    return for_safe, for_unsafe


# Texts that are nearly the same, found without comparing every text with every other: among all, or one after
# another.


ANY_WORD = re.compile(r"\w+")

Hashes = NDArray[np.uint32]

PLACES = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)
"""What the words of a sequence are multiplied with, by their places in it."""
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
        words = WordCounts.of(texts, word=ANY_WORD)
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
