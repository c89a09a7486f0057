"""A linear classifier on words: how far vocabulary alone goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.words.logistic import Logistic, fit_logistic
from casewise.stats.words.word_counts import Weighing, WordCounts

__all__ = ["Folds", "LinearBaseline", "out_of_fold", "weighty_phrases"]


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
