"""Safe rate by recruited stratum: do some people answer differently, and does context move them differently?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import gammaincc

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.clustered import clustered_regression
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
    chi_square: float | None
    """Wald test that the conditions differ alike in all values of the stratum; None where it cannot be tested."""
    df: int | None
    p: float | None


def safe_rate_by_stratum(ratings: CodedRatings, name: str) -> StratumRates:
    """Safe rate in each value of the stratum `name` under each condition, and a test of their interaction.

    The test is a Wald test on a linear model with errors clustered by annotator, over the cells that are shown.

    Raises
    ------
    StatisticsError
        Ratings have no annotators, or there is no such stratum.
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
    chi_square, df, p = _interaction(ratings, name, shown[cell])
    table = pl.DataFrame(rows, infer_schema_length=None)
    return StratumRates(name, table, int(((people > 0) & ~shown).sum()), chi_square, df, p)


def _interaction(
    ratings: CodedRatings, name: str, used: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> tuple[float | None, int | None, float | None]:
    assert ratings.annotator is not None
    values, conditions = ratings.strata[name].codes[used], ratings.condition.codes[used]
    a, b = (_dummies(codes) for codes in (values, conditions))
    if not a.shape[1] or not b.shape[1]:
        return None, None, None
    both = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
    both = both[:, both.any(0)]
    design = np.column_stack([np.ones(len(a)), a, b, both])
    try:
        fit = clustered_regression(design, ratings.safe[used], ratings.annotator.codes[used], adjustment="HC1")
        tested = slice(design.shape[1] - both.shape[1], None)
        effects = fit.coefficients[tested]
        chi_square = float(effects @ np.linalg.solve(fit.covariance[tested, tested], effects))
    except (StatisticsError, np.linalg.LinAlgError):
        return None, None, None
    df = both.shape[1]
    return chi_square, df, float(gammaincc(df / 2, max(chi_square, 0.0) / 2))


def _dummies(codes: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> FloatArray:
    present = np.unique(codes)
    columns: FloatArray = (codes[:, None] == present[1:]).astype(float)
    return columns
