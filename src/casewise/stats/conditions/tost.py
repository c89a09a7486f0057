"""Are two conditions alike? Two one-sided tests (TOST): not finding a difference is no evidence of none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, checked_share
from casewise.stats.core.checks import numbers, of_one_shape

__all__ = ["Equivalence", "equivalence"]


@dataclass(frozen=True)
class Equivalence:
    """Whether a difference is shown to lie within ± `margin`; arrays have the shape of the differences."""

    margin: float
    alpha: float
    p: FloatArray
    """The larger of the two one-sided p values."""
    ci_low: FloatArray
    """Limits at level 1 − 2·alpha: equivalence is shown exactly where they lie within the margin."""
    ci_high: FloatArray
    equivalent: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def equivalence(
    difference: ArrayLike, error: ArrayLike, *, margin: float, df: float = np.inf, alpha: float = 0.05
) -> Equivalence:
    r"""Two one-sided tests that a difference lies within a margin stated beforehand.

    .. math:: p = \max\left(P(T > \tfrac{d + \delta}{s}),\; P(T < \tfrac{d - \delta}{s})\right)

    Parameters
    ----------
    difference, error : (...) floats
        The estimate and its standard error, as from `clustered_contrast`.
    margin : float
        The largest difference :math:`\delta` of safe rates that would not matter, for instance 0.05.
    df : float
        Degrees of freedom of the error; infinite for a normal one.
    alpha : float
        Level of each one-sided test, and so of the whole.

    Raises
    ------
    StatisticsError
        The margin or `df` is not positive, an error is negative, or a value is no finite number.

    References
    ----------
    .. [1] Schuirmann (1987), J Pharmacokinet Biopharm 15, 657-680. R: `TOSTER::tsum_TOST`.
    """
    d, s = of_one_shape({"difference": numbers(difference, "difference"), "error": numbers(error, "error")})
    if not 0 < margin < np.inf:
        raise StatisticsError(f"margin must be positive and finite, not {margin!r}: nothing is equal to the last digit")
    if (s < 0).any():
        raise StatisticsError("a standard error is negative")
    if not df > 0:
        raise StatisticsError(f"df must be positive, not {df!r}")
    some = np.where(s > 0, s, 1.0)
    with np.errstate(over="ignore"):  # infinitely many errors away is far enough
        below, above = (d + margin) / some, (d - margin) / some
    p = np.maximum(stdtr(df, -below), stdtr(df, above))
    sure = np.where(np.abs(d) < margin, 0.0, 1.0)
    half = -stdtrit(df, checked_share(alpha, "alpha")) * s
    return Equivalence(
        margin=margin,
        alpha=alpha,
        p=np.where(s > 0, p, sure)[()],
        ci_low=(d - half)[()],
        ci_high=(d + half)[()],
        equivalent=(np.maximum(np.abs(d - half), np.abs(d + half)) < margin)[()],
    )
