"""From a judge's value to P(safe): Platt's curve or an isotonic one, whichever is better on queries that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.core.arrays import FloatArray
from casewise.stats.words.baseline import Folds

__all__ = ["METHODS", "Calibrator", "ChosenCalibrator", "Isotonic", "Platt", "calibrated", "isotonic", "platt"]

N_FOLDS = 10

STEPS = 50
"""Of Newton's method; it is done after five or six."""

FARTHEST = 30.0
"""Of a slope, in spreads of the judge's values: beyond it the curve is a step."""


class Calibrator(Protocol):
    """What P(safe) is said to be for each value; never lower for a higher one."""

    def __call__(self, values: ArrayLike) -> FloatArray: ...

    def at(self, value: float) -> float:
        """The same for one value, in a tenth of the time."""


@dataclass(frozen=True)
class Platt:
    """P(safe) is the logistic function of a line."""

    slope: float
    intercept: float

    def __call__(self, values: ArrayLike) -> FloatArray:
        line = self.intercept + self.slope * np.asarray(values, dtype=np.float64)
        return 1 / (1 + np.exp(-np.clip(line, -700, 700)))

    def at(self, value: float) -> float:
        return 1 / (1 + math.exp(-min(max(self.intercept + self.slope * value, -700.0), 700.0)))


@dataclass(frozen=True)
class Isotonic:
    """P(safe) is a straight line between knots, and flat beyond them."""

    values: tuple[float, ...]
    rates: tuple[float, ...]

    def __call__(self, values: ArrayLike) -> FloatArray:
        given = np.asarray(values, dtype=np.float64)
        return np.where(np.isnan(given), np.nan, np.interp(given, self.values, self.rates))

    def at(self, value: float) -> float:
        return float(np.interp(value, self.values, self.rates))


def platt(values: FloatArray, weight: FloatArray) -> Platt:
    """The logistic curve that fits the labels best, by maximum likelihood.

    Labels are drawn towards each other, :math:`(N_+ + 1)/(N_+ + 2)` and :math:`1/(N_- + 2)`, as Platt has it, so that a
    judge that is always right still gets a finite slope. A slope below 0 becomes 0: a higher value is never less safe.

    `weight`: weight of "safe" of each item: 0, ½, 1.

    Source: Platt (1999), Probabilistic outputs for support vector machines; Lin, Lin & Weng (2007), Machine Learning 68.
    """
    safe = float(weight.sum())
    target = (weight * (safe + 1) + (1 - weight) * (safe + 2) / (len(weight) - safe + 2)) / (safe + 2)
    base = float(np.log(target.mean() / (1 - target.mean())))
    middle, spread = float(values.mean()), float(values.std())
    if not values.max() > values.min():
        return Platt(0.0, base)
    design = np.column_stack([np.ones(len(values)), (values - middle) / spread])
    at = np.array([base, 0.0])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(design @ at, -700, 700)))
        curvature = (design * np.maximum(p * (1 - p), 1e-9)[:, None]).T @ design
        step = np.linalg.solve(curvature, design.T @ (target - p))
        at = np.clip(at + step, -FARTHEST, FARTHEST)
        if np.abs(step).max() < 1e-9:
            break
    if at[1] <= 0:
        return Platt(0.0, base)
    return Platt(float(at[1] / spread), float(at[0] - at[1] * middle / spread))


def isotonic(values: FloatArray, weight: FloatArray) -> Isotonic:
    """The rising curve that fits the labels best in squares (pool adjacent violators; `scipy.optimize.isotonic_regression`)."""
    from scipy.optimize import isotonic_regression  # 0.3 s that not every command needs to wait for

    known, group, size = np.unique(values, return_inverse=True, return_counts=True)
    fitted = isotonic_regression(np.bincount(group, weights=weight) / size, weights=size.astype(np.float64)).x
    ends = np.r_[True, np.diff(fitted) > 0] | np.r_[np.diff(fitted) > 0, True]
    return Isotonic(tuple(known[ends].tolist()), tuple(fitted[ends].tolist()))


METHODS: dict[str, Callable[[FloatArray, FloatArray], Calibrator]] = {"platt": platt, "isotonic": isotonic}


@dataclass(frozen=True, repr=False)
class ChosenCalibrator(ShortRepr):
    """A calibrator, and how it was chosen."""

    method: str
    calibrator: Calibrator
    out_of_fold: FloatArray
    """P(safe) of each item from a calibrator that saw no item of its query; nan where the item has no value."""
    brier: dict[str, float]
    """Method to its Brier score against the labels on held-out queries; the lowest was taken."""


def calibrated(
    values: FloatArray, weight: FloatArray, *, cluster: NDArray[np.intp], seed: int = 0, method: str | None = None
) -> ChosenCalibrator:
    """The calibrator of a judge's values, chosen by cross-validation over queries.

    `values`: nan where the judge gave none.
    `weight`: weight of "safe" of each item; nan where it has no label, and then nothing is learnt from it.
    `cluster`: the query of each item.
    `method`: `platt` or `isotonic`; by default the one with the lower Brier score on held-out queries.

    Raises StatisticsError: there are fewer than two queries with values and labels, labels of one kind alone, or no
    such method.
    """
    if method is not None and method not in METHODS:
        raise StatisticsError(f"no calibration is called {method!r}; there are {', '.join(METHODS)}")
    valued = ~np.isnan(values)
    learnt = valued & ~np.isnan(weight)
    n_queries = len(np.unique(cluster[learnt]))
    if n_queries < 2 or weight[learnt].min() == weight[learnt].max():
        raise StatisticsError(
            "a calibrator needs two queries with values and labels at least, and labels of both kinds"
        )
    known = np.isin(cluster, cluster[learnt])
    fold_of = np.full(len(values), -1, dtype=np.intp)  # -1: of queries that no fold learns from
    fold_of[known] = Folds.of(cluster[known], n=min(N_FOLDS, n_queries), seed=seed).of_row
    held_out = {name: np.full(len(values), np.nan) for name in METHODS}
    for fold in np.unique(fold_of[valued]):
        inside, outside = (fold_of == fold) & valued, learnt & (fold_of != fold)
        for name, fit in METHODS.items():
            held_out[name][inside] = fit(values[outside], weight[outside])(values[inside])
    brier = {name: float(((found - weight)[learnt] ** 2).mean()) for name, found in held_out.items()}
    chosen = method or min(brier, key=brier.__getitem__)
    return ChosenCalibrator(chosen, METHODS[chosen](values[learnt], weight[learnt]), held_out[chosen], brier)
