"""Who dropped out, and whether it differs between conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import gammaincc

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, integers
from casewise.stats.core.checks import of_one_shape
from casewise.stats.people.coded_ratings import CodedRatings

__all__ = ["STEPS", "Attrition", "Flow", "attrition", "lost_by_condition"]

STEPS = ("arrived", "consented", "passed", "assigned", "finished", "void")
"""People at each step; `assigned` is where conditions begin, and `void` are those whose ratings were set aside."""


@dataclass(frozen=True)
class Flow:
    """People at each step by condition; before `assigned` there may be one column only, for all."""

    conditions: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    """Step to one number a condition, or one number where conditions did not exist yet."""


@dataclass(frozen=True)
class Attrition:
    """Drop-out after assignment."""

    table: pl.DataFrame
    """One row a condition: assigned, finished, void, lost, share lost."""
    chi_square: float
    df: int
    p: float
    """Of equal shares lost; 1 where nobody or everybody was lost."""
    bounds: pl.DataFrame | None
    """One row a condition: safe rate if all ratings that the lost still owed were unsafe, or were safe."""
    flow: Flow


def lost_by_condition(assigned: IntArray, finished: IntArray) -> tuple[float, int, float]:
    """Pearson's chi-square of differential attrition, its degrees of freedom and p (R: `chisq.test`).

    Raises StatisticsError: a count is no whole number, or more finished than were assigned.
    """
    n, done = of_one_shape({"assigned": integers(assigned, "assigned"), "finished": integers(finished, "finished")})
    if (done > n).any():
        raise StatisticsError("more people finished than were assigned; a person counts in one condition only")
    used = n > 0
    n, lost = n[used], (n - done)[used]
    df = max(len(n) - 1, 1)
    share = lost.sum() / max(1, n.sum())
    if len(n) < 2 or share in {0.0, 1.0}:
        return 0.0, df, 1.0
    chi_square = float(((lost - n * share) ** 2 / (n * share * (1 - share))).sum())
    return chi_square, df, float(gammaincc(df / 2, chi_square / 2))


def attrition(flow: Flow, ratings: CodedRatings | None = None) -> Attrition:
    """The test of differential attrition, and bounds on the safe rates that hold whatever the lost would have said.

    The bounds are Manski's: they suppose nothing of those who left. They are wide, and a difference that survives
    them survives anything.

    Raises StatisticsError: the flow does not say how many were assigned and how many finished in each condition.

    Source: Manski (1990), American Economic Review 80, 319-323. CONSORT 2010, item 13.
    """
    n = len(flow.conditions)
    if any(len(flow.counts.get(step, ())) != n for step in ("assigned", "finished")):
        raise StatisticsError("the flow must say for each condition how many were assigned and how many finished")
    assigned, finished = (np.array(flow.counts[step]) for step in ("assigned", "finished"))
    void = np.array(flow.counts.get("void", (0,) * n))
    chi_square, df, p = lost_by_condition(assigned, finished)
    lost = assigned - finished
    share = lost / np.maximum(assigned, 1)
    table = pl.DataFrame(
        {
            "condition": flow.conditions,
            "assigned": assigned,
            "finished": finished,
            "void": void,
            "lost": lost,
            "share_lost": share,
        }
    )
    bounds = None if ratings is None else _bounds(flow, ratings, share + void / np.maximum(assigned, 1))
    return Attrition(table, chi_square, df, p, bounds, flow)


def _bounds(flow: Flow, ratings: CodedRatings, missing: FloatArray) -> pl.DataFrame:
    rows = []
    for condition, gone in zip(flow.conditions, np.minimum(missing, 1.0), strict=True):
        if condition in ratings.condition.names:
            rate = float(ratings.safe[ratings.within(ratings.condition.names.index(condition))].mean())
            low, high = (1 - gone) * rate, (1 - gone) * rate + gone
            rows.append({"condition": condition, "safe_rate": rate, "if_unsafe": low, "if_safe": high})
    return pl.DataFrame(rows)
