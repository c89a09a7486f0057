r"""Logistic regression with more columns than rows: scikit-learn's steps, taken among the rows.

Every step that L-BFGS takes from zero is a combination of rows, :math:`w = X^\top a`. So what it remembers are vectors of one
number a row and not of one a column, of which words in pairs make a hundred times as many; a step along a line needs no product
with *X* at all; and a row that is learnt as safe with one weight and as unsafe with the rest is one row. The steps are those of
scikit-learn's `LogisticRegression(C=c, max_iter=1000)` to rounding, and so is where they end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from casewise.stats.core.arrays import FloatArray
from casewise.stats.words.line_search import searched

__all__ = ["Logistic", "fit_logistic"]

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
