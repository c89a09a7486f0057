"""Logarithms of tail probabilities, exact also where the probability itself underflows."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammainc, gammaincc, gammaln, hyp2f1, log_ndtr, stdtr

from casewise.stats.core.arrays import FloatArray, IntArray

__all__ = ["chi_square_log_tail", "chi_square_tail", "normal_log_tail", "student_log_tail", "two_sided_log_p"]


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
