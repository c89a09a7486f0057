"""Safe rate by recruited stratum: do some people answer differently, and does context move them differently?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import fdtrc

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.people.coded_ratings import CodedRatings

__all__ = ["FEWEST_PEOPLE", "StratumRates", "safe_rate_by_stratum"]

FEWEST_PEOPLE = 10
"""Cells with fewer people are not shown: they could be recognised."""


@dataclass(frozen=True)
class StratumRates:
    """One stratum's safe rates."""

    name: str
    table: pl.DataFrame
    """Stratum value, condition, people, ratings, safe rate and its error; suppressed cells have only their name."""
    suppressed: int
    f: float | None
    """F test that the conditions differ alike in all values of the stratum; None where it cannot be tested."""
    df: int | None
    people_df: float | None
    """Degrees of freedom of the denominator."""
    p: float | None


def safe_rate_by_stratum(ratings: CodedRatings, name: str) -> StratumRates:
    r"""Safe rate in each value of the stratum `name` under each condition, and a test of their interaction.

    The test is on the rates of the cells that are shown. With contrasts *C* that what values and conditions do apart does
    not reach, and *V* the covariance of the rates clustered by annotator, each cell scaled by *m*/(*m* − 1) of its people,

    .. math:: F = \frac{\nu - q + 1}{\nu q} (C'r)' (C'VC)^{-1} C'r \sim F(q, \nu - q + 1)

    with :math:`\nu` what the cells' variances, each known from its people, are worth together [1]_. (A chi-square rejects
    too often where cells are small.)

    Raises StatisticsError: ratings have no annotators, or there is no such stratum.

    Source: Krishnamoorthy & Yu (2004), Statistics & Probability Letters 66, 161-169 (after Nel & van der Merwe 1986).
    """
    if ratings.annotator is None:
        raise StatisticsError("strata are of people: not available where votes are anonymous")
    if name not in ratings.strata:
        raise StatisticsError(f"there is no stratum {name!r}; there are {', '.join(ratings.strata) or 'none'}")
    values, conditions = ratings.strata[name], ratings.condition
    cell = values.codes * len(conditions) + conditions.codes
    n = len(values) * len(conditions)
    people = np.bincount(np.unique(np.stack([cell, ratings.annotator.codes]), axis=1)[0], minlength=n)
    shown = people >= FEWEST_PEOPLE
    rows = []
    for index in np.flatnonzero(people > 0):
        chosen = cell == index
        row = {"value": values.names[index // len(conditions)], "condition": conditions.names[index % len(conditions)]}
        known: dict[str, float | None] = dict.fromkeys(("people", "ratings", "safe_rate", "error"))
        if shown[index]:
            rate = ratings.safe[chosen].mean()
            count, total = int(people[index]), int(chosen.sum())
            influence = (ratings.safe[chosen] - rate) / total
            error = float(np.sqrt(cluster_variance(influence, ratings.annotator.codes[chosen])))
            known = {"people": count, "ratings": total, "safe_rate": float(rate), "error": error}
        rows.append({**row, **known})
    found = _interaction(ratings, name, shown[cell])
    table, hidden = pl.DataFrame(rows, infer_schema_length=None), int(((people > 0) & ~shown).sum())
    if found is None:
        return StratumRates(name, table, hidden, None, None, None, None)
    return StratumRates(name, table, hidden, found.f, found.df, found.people_df, found.p)


@dataclass(frozen=True)
class _Interaction:
    """The test that conditions differ alike in all values of a stratum."""

    f: float
    df: int
    people_df: float

    @property
    def p(self) -> float:
        return float(fdtrc(self.df, self.people_df, self.f))


def _interaction(ratings: CodedRatings, name: str, used: BoolArray) -> _Interaction | None:
    assert ratings.annotator is not None
    values, conditions = ratings.strata[name].codes[used], ratings.condition.codes[used]
    cells, cell = np.unique(np.stack([values, conditions]), axis=1, return_inverse=True)
    _, person = np.unique(ratings.annotator.codes[used], return_inverse=True)
    additive = np.column_stack([np.ones(cells.shape[1]), *(_dummies(row) for row in cells)])
    contrasts = _left_over(additive)
    if not (q := contrasts.shape[1]):
        return None
    rated, safe = (_summed(person, cell, weight) for weight in (np.ones(len(cell)), ratings.safe[used].astype(float)))
    mean, in_cell = safe.sum(axis=0) / rated.sum(axis=0), (rated > 0).sum(axis=0)
    adds = (safe - mean * rated) / rated.sum(axis=0) * np.sqrt(in_cell / np.maximum(in_cell - 1, 1))
    found = contrasts.T @ mean
    covariance = contrasts.T @ (adds.T @ adds) @ contrasts
    each = (adds**2).sum(axis=0) * (contrasts**2).sum(axis=1)
    unsure = float((2 * each**2 / np.maximum(in_cell - 1, 1)).sum())
    if unsure <= 0 or np.linalg.matrix_rank(covariance) < q:
        return None
    nu = float(np.trace(covariance) ** 2 + np.trace(covariance @ covariance)) / unsure
    wald = float(found @ np.linalg.solve(covariance, found))
    return _Interaction(wald * (nu - q + 1) / (nu * q), q, nu - q + 1) if nu > q else None


def _summed(rows: IntArray, columns: IntArray, weight: FloatArray) -> FloatArray:
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    found = np.bincount(rows * shape[1] + columns.ravel(), weights=weight, minlength=shape[0] * shape[1])
    return found.astype(float).reshape(shape)


def _left_over(design: FloatArray) -> FloatArray:
    """Orthonormal columns that the design's do not reach."""
    vectors, sizes, _ = np.linalg.svd(design)
    return vectors[:, int((sizes > 1e-9).sum()) :]


def _dummies(codes: IntArray) -> FloatArray:
    present = np.unique(codes)
    columns: FloatArray = (codes[:, None] == present[1:]).astype(float)
    return columns
