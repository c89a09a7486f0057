"""The word baseline: TF-IDF and logistic regression (scikit-learn) on the words of texts; and near duplicates."""

from __future__ import annotations

import re
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.stats.arrays import BoolArray, FloatArray, IntArray
from casewise.text import Text, count_of, text

N_FOLDS = 10
"""Number of parts of the queries, of which each is held out once."""


@dataclass(frozen=True)
class LinearBaseline:
    """Settings of the classifier: TF-IDF of words and word pairs (sublinear), L2 logistic regression."""

    c: float = 3.0
    n_folds: int = N_FOLDS
    seed: int = 0


class Folds(NamedTuple):
    """The fold in which each row is held out; rows of one group are held out together."""

    of_row: NDArray[np.intp]
    n: int

    @classmethod
    def from_groups(cls, groups: NDArray[np.intp], *, n: int, seed: int = 0) -> Self:
        """Deal the groups into `n` folds at random, as evenly as can be."""
        names, inverse = np.unique(groups, return_inverse=True)
        order = np.random.default_rng(seed).permutation(len(names))
        fold_of_group = np.empty(len(names), dtype=np.intp)
        fold_of_group[order] = np.arange(len(names)) % n
        return cls(fold_of_group[inverse], n)


MOST_CROSSED = 5
"""Folds of queries and of contexts where both are held out: 25 fits, each from 64 % of the items."""

LEAST_CROSSED = 20
"""Labelled items from which a classifier learns where queries and contexts are crossed."""


@dataclass(frozen=True)
class Design:
    """Groups of items, so that a classifier is tested on words that it has not learnt from."""

    query: NDArray[np.intp]
    """(items,) the query of each item, or its cluster where queries are joined."""
    context: NDArray[np.intp]
    """(items,) a number for each different text of a context; an item without a context has a number of its query."""

    @classmethod
    def from_contexts(cls, query: NDArray[np.intp], contexts: NDArray[np.float64]) -> Self:
        """Return the design of items; `contexts`: (items,) the number of each different text, from 0; nan without a context."""
        stated = ~np.isnan(contexts)
        number = np.where(stated, contexts, query + np.nanmax(contexts, initial=-1) + 1)
        return cls(query, number.astype(np.intp))

    @cached_property
    def recurring(self) -> bool:
        """True where a context stands under more than one query."""
        return joins_several(self.context, self.query)

    @cached_property
    def component(self) -> NDArray[np.intp]:
        """(items,) equal for items that a chain of shared queries and contexts joins."""
        return chained(self.query, self.context)

    def held_out(self, learnt: BoolArray, *, folds: int) -> HeldOut | Text:
        """Return the folds of held-out items, or the reason why a classifier cannot be tested.

        Where no context recurs, whole queries. Where contexts recur, whole groups of queries that share contexts if there
        are enough such groups; otherwise a test item's query and its context, both.
        """
        queries, contexts, components = (
            len(np.unique(groups[learnt])) for groups in (self.query, self.context, self.component)
        )
        if queries == 1 and contexts > 1:
            if contexts < folds:
                return text("there is one {query}, and only {n} of its contexts have labels", n=contexts)
            return HeldOut((Folds.from_groups(self.context, n=folds),), text("contexts"))
        if not self.recurring or contexts == 1 or components >= folds:
            if components < folds and queries < folds:
                return text("it holds out {queries} in {n} folds, and only {few} have labels", n=folds, few=queries)
            whole = self.component if components >= folds else self.query
            one_kind = queries == components or contexts == 1
            held_out_groups = "{queries}" if one_kind else "groups of {queries} that share contexts"
            return HeldOut((Folds.from_groups(whole, n=folds),), text(held_out_groups))
        if learnt.sum() < LEAST_CROSSED:
            few = int(learnt.sum())
            return text("it learns from {n} items or more, and only {few} have labels", n=LEAST_CROSSED, few=few)
        most = min(folds, MOST_CROSSED)
        return HeldOut(
            tuple(
                Folds.from_groups(groups, n=min(most, n))
                for groups, n in ((self.query, queries), (self.context, contexts))
            ),
            text("{queries} and contexts"),
        )


class HeldOut(NamedTuple):
    """Held-out folds of rows: each row is predicted without any row that shares one of its folds."""

    folds: tuple[Folds, ...]
    groups: Text
    """The groups that are held out whole, in the plural."""


def joins_several(groups: NDArray[np.intp], members: NDArray[np.intp]) -> bool:
    """Return whether rows of one group have different members. Both are numbers from 0."""
    pairs = groups * (members.max(initial=0) + 1) + members
    return len(np.unique(pairs)) > len(np.unique(groups))


def chained(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the connected component of each row, (rows,): rows that a chain of equal numbers in either array joins."""
    if not joins_several(second, first):
        return first
    from scipy.sparse import coo_array  # 0.1 s that not every report needs to wait for
    from scipy.sparse.csgraph import connected_components

    nodes = int(first.max(initial=-1)) + 1
    size = nodes + int(second.max(initial=-1)) + 1
    edges = coo_array((np.ones(len(first), dtype=bool), (first, nodes + second)), shape=(size, size))
    return np.asarray(connected_components(edges, directed=False)[1][first], dtype=np.intp)


WORD = re.compile(r"\b\w\w+\b")
"""A word of two letters or digits at least, as scikit-learn's `CountVectorizer` reads it."""


@dataclass(frozen=True)
class PhraseCounts:
    """Counts of each word and word pair in each text, made once for all folds.

    They are those of scikit-learn's `CountVectorizer(ngram_range=(1, 2))`, in its order, but phrases are numbers until they
    are shown: a fifth of the time and of the memory.
    """

    table: Any
    """(texts, phrases), sparse by rows."""
    words: Sequence[str]
    """The words in ascending order."""
    keys: IntArray
    """(phrases,) in ascending order: the place of the first word times (words + 1), plus the place of the second from 1."""

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Self:
        """Count the words of two letters or digits at least, in lower case, and their pairs."""
        from scipy.sparse import csc_matrix

        number: defaultdict[str, int] = defaultdict()
        number.default_factory = number.__len__
        lengths, codes = array("q"), array("q")
        for written in texts:
            words = WORD.findall(written.lower())
            lengths.append(len(words))
            codes.extend(map(number.__getitem__, words))
        vocabulary = sorted(number)
        place = np.empty(len(vocabulary), dtype=np.int64)
        place[[number[word] for word in vocabulary]] = np.arange(len(vocabulary))
        # A phrase and its text are one number, so one sort in place brings equal phrases together.
        n, base = max(1, len(lengths)), len(vocabulary) + 1
        if base * base * n >= 2**63:
            raise StatisticsError(f"{len(vocabulary):,} different words in {count_of(n, 'text is')} too many to count")
        row = np.repeat(np.arange(len(lengths)), np.asarray(lengths))
        word = place[np.asarray(codes)]
        follows = np.flatnonzero(row[1:] == row[:-1])
        pairs = word[follows] * base + word[follows + 1] + 1
        hashes = np.concatenate([word * (base * n) + row, pairs * n + row[follows]])
        del codes, row, word, follows, pairs
        hashes.sort()
        starts = np.flatnonzero(np.diff(hashes, prepend=-1))
        times = np.diff(starts, append=len(hashes)).astype(np.float64)
        phrase, text_of = np.divmod(hashes[starts], n)
        del hashes
        firsts = np.flatnonzero(np.diff(phrase, prepend=-1))
        table = csc_matrix((times, text_of, np.append(firsts, len(phrase))), shape=(len(lengths), len(firsts)))
        return cls(table.tocsr(), vocabulary, phrase[firsts])

    def __len__(self) -> int:
        return int(self.table.shape[0])

    def phrase(self, place: int) -> str:
        """Return the words of a phrase."""
        first, second = divmod(int(self.keys[place]), len(self.words) + 1)
        return " ".join(self.words[word] for word in (first, second - 1) if word >= 0)


@dataclass(frozen=True)
class Classifier:
    """A fitted classifier of texts by their phrases, or a constant where there is nothing to learn."""

    used: IntArray
    """Places of the phrases that count: those of two texts of the training set, or of one text where there are few."""
    tfidf: Any
    regression: Any
    constant: float = 0.5

    @classmethod
    def fit(cls, counts: PhraseCounts, weight: FloatArray, learn: BoolArray, model: LinearBaseline) -> Self:
        """Fit on the rows of `learn`. A weight between 0 and 1 is a row of each verdict, weighed by its share."""
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression

        share = weight[learn]
        constant = float(share.mean()) if len(share) else 0.5
        no_phrases = np.zeros(0, dtype=np.int64)
        if not len(share) or share.min() == share.max():
            return cls(no_phrases, None, None, constant)
        table = counts.table[np.flatnonzero(learn)]
        used = np.flatnonzero(table.getnnz(axis=0) >= (2 if learn.sum() > 100 else 1))
        if not len(used):
            return cls(no_phrases, None, None, constant)
        tfidf = TfidfTransformer(sublinear_tf=True)
        rows = tfidf.fit_transform(table[:, used])
        safe, unsafe = np.flatnonzero(share > 0), np.flatnonzero(share < 1)
        regression = LogisticRegression(C=model.c, max_iter=1000).fit(
            rows[np.concatenate([safe, unsafe])],
            np.repeat([1, 0], [len(safe), len(unsafe)]),
            sample_weight=np.concatenate([share[safe], 1 - share[unsafe]]),
        )
        return cls(used, tfidf, regression, constant)

    def predict(self, counts: PhraseCounts, rows: BoolArray) -> FloatArray:
        """Return P(safe) of some rows."""
        if self.regression is None:
            return np.full(int(rows.sum()), self.constant)
        weighed = self.tfidf.transform(counts.table[np.flatnonzero(rows)][:, self.used])
        safe: FloatArray = self.regression.predict_proba(weighed)[:, 1]
        return safe


def out_of_fold(
    texts: Iterable[str] | PhraseCounts,
    weight: FloatArray,
    *,
    folds: Sequence[Folds],
    model: LinearBaseline = LinearBaseline(),
) -> FloatArray:
    """Return P(safe) of every text, from a classifier that saw no row of its fold.

    `texts`: n texts, or their phrases counted before.
    `weight`: (n,) of "safe"; a row with weight *w* is learnt as safe with weight *w* and as unsafe with 1 − *w*. Rows without a
        label (nan) are predicted, not learnt.
    `folds`: of one kind of group, or of several that are crossed: a classifier saw no row that shares a fold of either kind.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    counts = texts if isinstance(texts, PhraseCounts) else PhraseCounts.from_texts(texts)
    predicted = np.empty(len(counts))
    cells, cell = np.unique(np.column_stack([fold_set.of_row for fold_set in folds]), axis=0, return_inverse=True)
    cell = cell.ravel()
    # The optimiser's vectors are too short for several threads: on two cores they make it three times slower.
    with threadpool_limits(limits=1):
        for place, of_cell in enumerate(cells):
            shares = np.any([fold_set.of_row == fold for fold_set, fold in zip(folds, of_cell, strict=True)], axis=0)
            fitted = Classifier.fit(counts, weight, ~shares & ~np.isnan(weight), model)
            predicted[cell == place] = fitted.predict(counts, cell == place)
    return predicted


class Phrase(NamedTuple):
    """A word or word pair and its coefficient, which is above zero for safe."""

    text: str
    coefficient: float


def strongest_phrases(
    texts: Iterable[str] | PhraseCounts, weight: FloatArray, *, n: int = 10
) -> tuple[list[Phrase], list[Phrase]]:
    """Return the `n` phrases with the largest coefficients for safe, and for unsafe, in a fit on all rows."""
    counts = texts if isinstance(texts, PhraseCounts) else PhraseCounts.from_texts(texts)
    fitted = Classifier.fit(counts, weight, ~np.isnan(weight), LinearBaseline())
    if fitted.regression is None:
        return [], []
    coefficients = fitted.regression.coef_[0]
    order = np.argsort(coefficients)
    for_unsafe, for_safe = (
        [Phrase(counts.phrase(fitted.used[i]), float(coefficients[i])) for i in places]
        for places in (order[:n], order[::-1][:n])
    )
    return for_safe, for_unsafe


ANY_WORD = re.compile(r"\w+")

Hashes = NDArray[np.uint32]

BLOCK = 2_000
"""Number of texts that are hashed in one block."""

PLACES = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)
"""Factors of the words of a sequence, by their places in it."""

LEAST = 0.8
"""Jaccard index of texts that are nearly the same."""

BANDS, ROWS = 16, 4
"""Texts with a Jaccard index of 0.8 meet in some band with probability 0.9998, those of 0.3 with 0.12."""


def near_duplicates(texts: Iterable[str], *, seed: int = 0) -> IntArray:
    r"""Return the group of each text, as a number: texts that are nearly the same are in one group.

    Two texts are nearly the same where their sets *A*, *B* of three-word sequences have a Jaccard index
    :math:`|A \cap B| / |A \cup B|` of at least `LEAST`; groups are chains of such texts. Candidates are found by
    min-hashing, so that a hundred thousand texts take seconds; each is then compared exactly.

    References
    ----------
    .. [1] Broder (1997), On the resemblance and containment of documents.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    shingled = ShingleHashes.from_texts(texts)
    groups = []
    for first, second in shingled.candidates(seed=seed).tolist():
        a, b = shingled[first], shingled[second]
        shared = len(np.intersect1d(a, b, assume_unique=True))
        if shared >= LEAST * (len(a) + len(b) - shared):
            groups.append((first, second))
    pairs = np.array(groups, dtype=np.intp).reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(len(shingled), len(shingled)))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


class WordHashes(dict[str, int]):
    """A mapping from words to their hashes, computed when first asked for."""

    def __missing__(self, word: str) -> int:
        self[word] = crc = zlib.crc32(word.encode())
        return crc


@dataclass(frozen=True)
class ShingleHashes:
    """Hashes of each text's three-word sequences, each once and in ascending order, one text after another."""

    hashes: Hashes
    ends: IntArray

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Self:
        hash_of = WordHashes()
        rest = iter(texts)
        sets = [shingles(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))]
        while block := [ANY_WORD.findall(text.lower()) for text in islice(rest, BLOCK)]:
            lengths = np.array([len(words) for words in block], dtype=np.int64)
            codes = np.fromiter(map(hash_of.__getitem__, chain.from_iterable(block)), np.uint32, count=lengths.sum())
            # With zeros behind the words of those that have fewer than three.
            room = np.maximum(lengths, len(PLACES))
            filled = np.zeros(room.sum(), dtype=np.uint32)
            filled[np.arange(len(codes)) + np.repeat(np.cumsum(room - lengths) - (room - lengths), lengths)] = codes
            sets.append(shingles(filled, room))
        hashes, times = (np.concatenate(parts) for parts in zip(*sets, strict=True))
        return cls(hashes, np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(times)]))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, text: int) -> Hashes:
        return self.hashes[self.ends[text] : self.ends[text + 1]]

    def signatures(self, *, seed: int) -> Hashes:
        """Return the smallest value of each random hash function over each text's set: (texts, BANDS · ROWS)."""
        rng = np.random.default_rng(seed)
        factor, shift = (rng.integers(0, 2**32, size=BANDS * ROWS, dtype=np.uint32) for _ in range(2))
        signatures = np.empty((len(self), BANDS * ROWS), dtype=np.uint32)
        for at in range(0, len(self), BLOCK):
            ends = self.ends[at : at + BLOCK + 1]
            hashes = self.hashes[ends[0] : ends[-1]]
            for column, (times, plus) in enumerate(zip(factor | np.uint32(1), shift, strict=True)):
                signatures[at : at + BLOCK, column] = np.minimum.reduceat(hashes * times + plus, ends[:-1] - ends[0])
        return signatures

    def candidates(self, *, seed: int) -> NDArray[np.intp]:
        """Return pairs of texts that agree in a whole band of their signatures, the first of each bucket with every other: (pairs, 2)."""
        signatures = self.signatures(seed=seed)
        weights = np.random.default_rng(0).integers(0, 2**64, size=ROWS, dtype=np.uint64)
        pairs = []
        for band in range(BANDS):
            key = (signatures[:, band * ROWS : (band + 1) * ROWS] * weights).sum(axis=1, dtype=np.uint64)
            order = np.argsort(key, kind="stable")
            again = np.append([False], key[order][1:] == key[order][:-1])[: len(order)]
            first = order[np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))]
            pairs.append(np.column_stack([first, order])[again])
        return np.unique(np.concatenate(pairs), axis=0)


def shingles(codes: Hashes, lengths: IntArray) -> tuple[Hashes, IntArray]:
    """Return the distinct three-word sequences of texts of three words or more, and the number of each text."""
    n = len(PLACES)
    text = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    whole = text[n - 1 :] == text[: len(text) - n + 1]
    runs: Hashes = sum(codes[at : len(codes) - n + 1 + at] * times for at, times in enumerate(PLACES))
    keys = np.sort(text[: len(whole)][whole] << np.uint64(32) | runs[whole])
    keys = keys[np.diff(keys, prepend=~keys[:1]) != 0]
    return keys.astype(np.uint32), np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=len(lengths))


class SimilarTexts(NamedTuple):
    """The places of the earlier texts that are most similar to a text, and their similarity; none where no run is shared."""

    places: list[int]
    similarity: float


@dataclass
class EarlierTexts:
    """Sets of word runs, in the order in which they were added.

    Only texts that share a run are compared: the cost grows with the number of pairs that do.
    """

    rare: int | None = None
    """Number of texts above which a run that they share finds no candidates; None: every run does."""
    _texts: list[AbstractSet[str]] = field(default_factory=list)
    _holders: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, runs: AbstractSet[str]) -> None:
        """Add a text, with which later ones are compared."""
        for run in runs:
            self._holders[run].append(len(self._texts))
        self._texts.append(runs)

    def most_similar(self, runs: AbstractSet[str]) -> SimilarTexts:
        """Return the earlier texts with the largest Jaccard index with `runs`."""
        holders = (self._holders[run] for run in runs if run in self._holders)
        near = {place for places in holders if self.rare is None or len(places) <= self.rare for place in places}
        index = {place: jaccard(runs, self._texts[place]) for place in near}
        best = max(index.values(), default=0.0)
        return SimilarTexts(sorted(place for place in near if index[place] == best), best)


def word_runs(words: Sequence[str], *, length: int) -> frozenset[str]:
    """Return the sequences of `length` words that follow each other."""
    return frozenset(" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def jaccard(first: AbstractSet[object], second: AbstractSet[object]) -> float:
    r"""Return the share of what either has that both have, :math:`|A \cap B| / |A \cup B|`; not both may be empty."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)


TOKENS = re.compile(r"\w+|[^\w\s]|\s+")


@dataclass(frozen=True)
class Piece:
    """A run of words that both texts have, or only the first (`gone`), or only the second (`new`)."""

    kind: Literal["same", "gone", "new"]
    text: str


def difference(before: str, after: str) -> list[Piece]:
    """Return the pieces of `before` and `after` in reading order, `gone` before `new` where one replaces the other.

    All pieces but the `new` ones together are `before`; all but the `gone` ones are `after`.
    """
    first, second = TOKENS.findall(before), TOKENS.findall(after)
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(first[a:b])))
            continue
        if a < b:
            pieces.append(Piece("gone", "".join(first[a:b])))
        if c < d:
            pieces.append(Piece("new", "".join(second[c:d])))
    return pieces
