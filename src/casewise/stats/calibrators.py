"""Calibrators: functions from a judge's values to the probability that people call an item safe."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.arrays import FloatArray
from casewise.stats.words import N_FOLDS, Folds


class Calibrator(Protocol):
    """A function from values to P(safe), which never falls."""

    def __call__(self, values: ArrayLike) -> FloatArray: ...


@dataclass(frozen=True)
class Platt:
    """P(safe) is the logistic function of a line."""

    slope: float
    intercept: float

    def __call__(self, values: ArrayLike) -> FloatArray:
        line = self.intercept + self.slope * np.asarray(values, dtype=np.float64)
        return 1 / (1 + np.exp(-np.clip(line, -700, 700)))


@dataclass(frozen=True)
class Isotonic:
    """P(safe) is a straight line between knots, and flat beyond them."""

    values: tuple[float, ...]
    rates: tuple[float, ...]

    def __call__(self, values: ArrayLike) -> FloatArray:
        inputs = np.asarray(values, dtype=np.float64)
        return np.where(np.isnan(inputs), np.nan, np.interp(inputs, self.values, self.rates))


def platt(values: FloatArray, weight: FloatArray) -> Platt:
    """Return the logistic curve that fits the labels best, by maximum likelihood.

    Labels are drawn towards each other, :math:`(N_+ + 1)/(N_+ + 2)` and :math:`1/(N_- + 2)`, as Platt has it, so that a
    judge that is always right still gets a finite slope. A slope below 0 becomes 0: a higher value is never less safe.
    scikit-learn's `LogisticRegression` fits it: each item stands twice, as safe and as unsafe, weighted by its label.

    `weight`: weight of "safe" of each item: 0, ½, 1.

    Source: Platt (1999), Probabilistic outputs for support vector machines; Lin, Lin & Weng (2007), Machine Learning 68.
    """
    safe = float(weight.sum())
    target = (weight * (safe + 1) + (1 - weight) * (safe + 2) / (len(weight) - safe + 2)) / (safe + 2)
    base = float(np.log(target.mean() / (1 - target.mean())))
    middle, spread = float(values.mean()), float(values.std())
    if not values.max() > values.min():
        return Platt(0.0, base)
    from sklearn.linear_model import LogisticRegression  # 0.6 s that not every command needs to wait for

    standard = np.tile((values - middle) / spread, 2)[:, None]
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Line search of Newton solver")  # L-BFGS then goes on
        fit = model.fit(standard, np.repeat([1, 0], len(values)), sample_weight=np.r_[target, 1 - target])
    slope, intercept = float(fit.coef_[0, 0]), float(fit.intercept_[0])
    if slope <= 0:
        return Platt(0.0, base)
    return Platt(slope / spread, intercept - slope * middle / spread)


def isotonic(values: FloatArray, weight: FloatArray) -> Isotonic:
    """Return the rising curve that fits the labels best in squares: pool adjacent violators, by scikit-learn."""
    from sklearn.isotonic import IsotonicRegression

    fit = IsotonicRegression().fit(values, weight)
    return Isotonic(tuple(fit.X_thresholds_.tolist()), tuple(fit.y_thresholds_.tolist()))


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
    """Return the calibrator of a judge's values, chosen by cross-validation over queries.

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
    has_learnt = np.isin(cluster, cluster[learnt])
    fold_of = np.full(len(values), -1, dtype=np.intp)  # -1: of queries that no fold learns from
    fold_of[has_learnt] = Folds.from_groups(cluster[has_learnt], n=min(N_FOLDS, n_queries), seed=seed).of_row
    held_out = {name: np.full(len(values), np.nan) for name in METHODS}
    for fold in np.unique(fold_of[valued]):
        inside, outside = (fold_of == fold) & valued, learnt & (fold_of != fold)
        for name, fit in METHODS.items():
            held_out[name][inside] = fit(values[outside], weight[outside])(values[inside])
    brier = {name: float(((predicted - weight)[learnt] ** 2).mean()) for name, predicted in held_out.items()}
    chosen = method or min(brier, key=brier.__getitem__)
    return ChosenCalibrator(chosen, METHODS[chosen](values[learnt], weight[learnt]), held_out[chosen], brier)
