"""Tail probabilities: their logarithms, exact also where they underflow, and those of noncentral distributions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import (
    betaincc,
    betainccinv,
    betaincinv,
    betaln,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaln,
    hyp2f1,
    log_ndtr,
    stdtr,
    xlogy,
)

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray

__all__ = [
    "chi_square_critical",
    "chi_square_log_tail",
    "chi_square_power",
    "chi_square_tail",
    "f_critical",
    "f_power",
    "normal_log_tail",
    "student_log_tail",
    "two_sided_log_p",
]

MANY = 10_000
"""Degrees of freedom above which Student's t counts as normal in the far tail, after Wallace (1959)."""


def chi_square_tail(statistic: FloatArray, df: int | IntArray) -> FloatArray:
    """The probability that a chi-square with `df` degrees of freedom exceeds `statistic`."""
    half = np.asarray(statistic, dtype=float) / 2
    if np.ndim(df) == 0 and df in {2, 4, 6, 8}:
        return _even_tail(half, int(df))
    return np.asarray(gammaincc(np.asarray(df) / 2, half), dtype=float)


def chi_square_log_tail(statistic: FloatArray, df: int | IntArray, *, tail: FloatArray) -> FloatArray:
    r"""Natural logarithm of `chi_square_tail`, of which `tail` is the value.

    Near 1 it is :math:`\log(1 - P)`; where the tail is below 1e-290 it is the continued fraction of the incomplete
    gamma function (Abramowitz & Stegun 6.5.31; R: `pchisq(..., log.p = TRUE)`).
    """
    half = np.asarray(statistic, dtype=float) / 2
    a = np.broadcast_to(np.asarray(df) / 2, half.shape)
    with np.errstate(divide="ignore"):
        log_tail = np.array(np.log(tail))
    near_one, tiny = tail > 0.5, tail < 1e-290
    log_tail[near_one] = np.log1p(-gammainc(a[near_one], half[near_one]))
    log_tail[tiny] = _continued_fraction(a[tiny], half[tiny])
    return log_tail


def normal_log_tail(z: FloatArray) -> FloatArray:
    """Natural logarithm of the probability that a standard normal exceeds `z`."""
    return np.asarray(log_ndtr(-np.asarray(z, dtype=float)), dtype=float)


def two_sided_log_p(z: FloatArray) -> FloatArray:
    """Natural logarithm of the two-sided p value of `z`; never above 0."""
    log_p: FloatArray = np.minimum(np.log(2) + normal_log_tail(np.abs(z)), 0.0)
    return log_p


def student_log_tail(t: float, df: float) -> float:
    r"""Natural logarithm of the probability that a Student *t* exceeds `t`, which is at least 0.

    :math:`P = \tfrac12 I_x(\nu/2, \tfrac12)` with :math:`x = \nu/(\nu + t^2)`, as a hypergeometric series in *x*
    (R: `pt(t, df, lower = FALSE, log.p = TRUE)`).
    """
    tail = float(stdtr(df, -t))
    if tail > 1e-290:
        return float(np.log(tail))
    if df > MANY:
        return float(log_ndtr(-np.sqrt(df * np.log1p(t * t / df)) * (8 * df + 1) / (8 * df + 3)))
    x, a = df / (df + t * t), df / 2
    series = hyp2f1(a + 0.5, 1.0, a + 1.0, x)
    return float(np.log(0.5) + a * np.log(x) + 0.5 * np.log1p(-x) - np.log(a) - betaln(a, 0.5) + np.log(series))


def _even_tail(half: FloatArray, df: int) -> FloatArray:
    """The closed form for an even `df`: a Poisson sum, several times faster than the incomplete gamma function."""
    term = total = np.ones_like(half)
    for j in range(1, df // 2):
        term = term * half / j
        total = total + term
    return np.exp(-half) * total


def _continued_fraction(a: FloatArray, x: FloatArray) -> FloatArray:
    fraction = x + 61 - a
    for i in range(30, 0, -1):
        fraction = x + 2 * i - 1 - a - i * (i - a) / fraction
    return -x + a * np.log(x) - gammaln(a) - np.log(fraction)


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
