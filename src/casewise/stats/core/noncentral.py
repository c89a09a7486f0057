r"""Upper tails of the noncentral F and chi-square distributions.

Both are Poisson mixtures of central tails, summed here over the weights that count. All terms are positive, so small
powers are as exact as large ones, and `scipy.stats` (0.75 s to import) is not needed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betaincc, betainccinv, betaincinv, gammaincc, gammainccinv, gammaln, xlogy

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray

__all__ = ["chi_square_critical", "chi_square_power", "f_critical", "f_power"]

MOST_TERMS = 100_001
"""Terms summed one by one: noncentralities of up to 3e7."""

REACH = 12.0
"""Poisson weights further than this many standard deviations (and 60 terms) from the mean are below 1e-17."""


def f_critical(alpha: float, df1: float, df2: float) -> float:
    """The value that a central F exceeds with probability `alpha` (R: `qf(alpha, df1, df2, lower = FALSE)`).

    Raises StatisticsError: `alpha` is so small (below about 1e-100) that no such value can be computed.
    """
    share, rest = (
        betainccinv(df1 / 2, df2 / 2, alpha),
        betaincinv(df2 / 2, df1 / 2, alpha),
    )  # rest is 1 - share, not rounded
    with np.errstate(over="ignore", divide="ignore"):
        return _computed(float(df2 * share / (df1 * rest)), alpha)


def f_power(critical: float, df1: float, df2: float, noncentrality: float) -> float:
    """The probability that a noncentral F exceeds `critical` (R: `pf(critical, df1, df2, ncp, lower = FALSE)`)."""
    share = 1 / (1 + df2 / (df1 * critical)) if critical > 0 else 0.0
    return _mixture(noncentrality, lambda j: betaincc(df1 / 2 + j, df2 / 2, share))


def chi_square_critical(alpha: float, df: float) -> float:
    """The value that a central chi-square exceeds with probability `alpha`; raises as `f_critical`."""
    return _computed(float(2 * gammainccinv(df / 2, alpha)), alpha)


def _computed(critical: float, alpha: float) -> float:
    if not np.isfinite(critical):
        raise StatisticsError(f"alpha is {alpha!r}: too small for a critical value to be computed")
    return critical


def chi_square_power(critical: float, df: float, noncentrality: float) -> float:
    """The probability that a noncentral chi-square exceeds `critical` (R: `pchisq(critical, df, ncp, lower = FALSE)`)."""
    return _mixture(noncentrality, lambda j: np.asarray(gammaincc(df / 2 + j, critical / 2), dtype=float))


def _mixture(noncentrality: float, tail: Callable[[FloatArray], FloatArray]) -> float:
    mean = noncentrality / 2
    reach = REACH * np.sqrt(mean) + 60
    if np.spacing(mean) * MOST_TERMS > reach:  # the weights are one number: no float lies between
        return float(min(1.0, tail(np.array([mean]))[0]))
    low, high = max(0.0, np.floor(mean - reach)), np.ceil(mean + reach)
    if high - low <= MOST_TERMS:
        j = np.arange(low, high)
        weights = np.exp(xlogy(j, mean) - mean - gammaln(j + 1))
    else:  # the weights are a normal curve by then, and every so manieth term of a smooth sum is as good as all
        j = np.linspace(low, high, MOST_TERMS)
        weights = np.exp(-((j - mean) ** 2) / (2 * mean))
    # What is cut off is nothing; dividing takes away the rounding of the logarithms at large noncentralities.
    return float(min(1.0, np.sum(weights * tail(j)) / np.sum(weights)))
