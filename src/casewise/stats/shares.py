"""Intervals for shares, votes and majorities, and tail probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betainccinv, betaincinv, gammainc, gammaln, log_ndtr, ndtri, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.arrays import FloatArray


def two_sided_log_p(z: FloatArray) -> FloatArray:
    """Return the natural logarithm of the two-sided p value of `z`; never above 0."""
    log_p: FloatArray = np.minimum(np.log(2) + log_ndtr(-np.abs(z)), 0.0)
    return log_p


LARGEST_NONCENTRALITY = 1e9
"""Noncentrality above which the numerator of F is its mean but for 1 part in 10⁹; the series of `scipy.stats.ncf` may not end."""


def f_critical(alpha: float, df1: float, df2: float) -> float:
    """Return the value that a central F exceeds with probability `alpha` (R: `qf(alpha, df1, df2, lower = FALSE)`).

    Raises StatisticsError: `alpha` is so small (below about 1e-100) that no such value can be computed.
    """
    share = betainccinv(df1 / 2, df2 / 2, alpha)
    other_share = betaincinv(df2 / 2, df1 / 2, alpha)  # 1 - share, before it is rounded
    with np.errstate(over="ignore", divide="ignore"):
        critical = float(df2 * share / (df1 * other_share))
    if not np.isfinite(critical):
        raise StatisticsError(f"alpha is {alpha!r}: too small for a critical value to be computed")
    return critical


def f_power(critical: float, df1: float, df2: float, noncentrality: float) -> float:
    """Return the probability that a noncentral F exceeds `critical` (R: `pf(critical, df1, df2, ncp, lower = FALSE)`)."""
    from scipy.stats import ncf  # 0.4 s that not every command needs to wait for

    if noncentrality > LARGEST_NONCENTRALITY:
        return float(gammainc(df2 / 2, (df1 + noncentrality) / critical * df2 / df1 / 2))
    return float(
        ncf.sf(critical, df1, df2, max(noncentrality, 1e-300))
    )  # scipy returns 1 less than the probability at 0


@dataclass(frozen=True)
class IntervalArrays:
    """Lower and upper limits, as arrays of one shape."""

    low: FloatArray
    high: FloatArray


def korn_graubard(
    estimate: ArrayLike, variance: ArrayLike, *, n: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> IntervalArrays:
    r"""Return Clopper-Pearson at the effective sample size: honest for clustered shares, also near 0 and 1.

    .. math:: n^* = \min\left(n, \frac{p(1-p)}{v}\left(\frac{t_{n-1}}{t_{G-1}}\right)^2\right)

    Parameters
    ----------
    estimate : (...) floats
        The share *p*.
    variance : (...) floats
        Its variance *v*, clusters taken into account. Where it is 0 (all alike), the sample counts as *n* of
        independent units, less the loss of degrees of freedom.
    n : (...) integers
        Number of units.
    clusters : (...) integers
        Number *G* of clusters; at least 2.
    level : float
        Of confidence.

    References
    ----------
    .. [1] Korn & Graubard (1998), Survey Methodology 24, 193-201; truncated at n as the NCHS standard of 2017 does.
       R: `survey::svyciprop(method = "beta")`, which does not truncate.

    Examples
    --------
    On 9 safe of 12 ratings, of 4 queries, with a cluster-robust variance of 0.02:

    >>> limits = korn_graubard(9 / 12, 0.02, n=12, clusters=4)
    >>> round(float(limits.low), 3), round(float(limits.high), 3)
    (0.22, 0.991)
    """
    columns = (np.asarray(values, dtype=np.float64) for values in (estimate, variance, n, clusters))
    p, v, units, groups = np.broadcast_arrays(*columns)
    tail = (1 - level) / 2
    independent = np.where(v > 0, p * (1 - p) / np.where(v > 0, v, 1), units)
    loss = (stdtrit(units - 1, tail) / stdtrit(groups - 1, tail)) ** 2
    effective = np.minimum(np.where(p * (1 - p) > 0, independent, units) * loss, units)
    return _beta_limits(p * effective, effective, tail)


def clopper_pearson(successes: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> IntervalArrays:
    """Return the exact interval for a share of independent units (Clopper & Pearson 1934; R: `binom.test`; statsmodels: `proportion_confint(method="beta")`).

    Where there are no units it is (0, 1): nothing is known.

    No error in 20 items does not mean no error; the upper limit is near 3.7 / 20:

    >>> round(float(clopper_pearson(0, 20).high), 3)
    0.168
    """
    return _beta_limits(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64), (1 - level) / 2)


def wilson(successes: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> IntervalArrays:
    """Return the score interval for a share of independent units (Wilson 1927; R: `prop.test(correct = FALSE)`).

    Where there are no units it is (0, 1): nothing is known.

    >>> limits = wilson(15, 21)
    >>> round(float(limits.low), 3), round(float(limits.high), 3)
    (0.5, 0.862)
    """
    x, size = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    units = np.where(size > 0, size, 1)
    limits = score_limits(np.where(size > 0, x / units, 0.5), units, level=level)
    return IntervalArrays(np.where(size > 0, limits.low, 0.0), np.where(size > 0, limits.high, 1.0))


def score_limits(estimate: ArrayLike, n: ArrayLike, *, level: float = 0.95, df: float = np.inf) -> IntervalArrays:
    r"""Return Wilson's limits for a share *p* known from *n* units, which may be a fraction: an effective size.

    .. math:: \frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    `df`: of the share's variance, for Student's quantile in place of the normal *z*.
    """
    p, size = np.broadcast_arrays(np.asarray(estimate, dtype=np.float64), np.asarray(n, dtype=np.float64))
    tail = (1 - level) / 2
    z = -ndtri(tail) if df == np.inf else -stdtrit(df, tail)
    p_share, half_weight = size / (size + z**2), z**2 / (size + z**2)  # neither overflows, whatever the size
    centre, width = p_share * p + half_weight / 2, np.sqrt(p_share * half_weight * p * (1 - p) + half_weight**2 / 4)
    return IntervalArrays(np.where(p > 0, centre - width, 0.0)[()], np.where(p < 1, centre + width, 1.0)[()])


def binomial_below(successes: float, n: float, share: float) -> float:
    r"""Return P(at most `successes` of `n`) where each succeeds with probability `share`: one-sided, exact for integers.

    :math:`P(X \le x) = I_{1-p}(n-x,\; x+1)`, which interpolates where ties make *x* fractional. R: `pbinom(x, n, p)`.
    """
    return 1.0 if successes >= n else float(betainc(n - successes, successes + 1, 1 - share))


def sign_test(one_way: int, other_way: int) -> float:
    """Return the two-sided p value of the exact sign test: that of so uneven a split where both ways are equally likely."""
    return min(1.0, 2 * binomial_below(min(one_way, other_way), one_way + other_way, 0.5))


def _beta_limits(x: FloatArray, n: FloatArray, tail: float) -> IntervalArrays:
    """Return Clopper-Pearson limits for a number of successes that may be fractional."""
    none, all_ = x <= 0, x >= n
    low = betaincinv(np.where(none, 1.0, x), n - np.where(none, 0.0, x) + 1, tail)
    high = betaincinv(np.where(all_, 0.0, x) + 1, np.where(all_, 1.0, n - x), 1 - tail)
    return IntervalArrays(np.where(none, 0.0, low), np.where(all_, 1.0, high))


def majority_weight(safe: ArrayLike, votes: ArrayLike) -> FloatArray:
    """Return the majority's weight of "safe": 0, or 1, or ½ at a tie."""
    weight: FloatArray = (np.sign(2 * np.asarray(safe) - np.asarray(votes)) + 1) / 2
    return weight


def chance_of_majority(rate: ArrayLike, people: ArrayLike) -> FloatArray:
    r"""Return P(most of so many people say safe), each with chance `rate`; a tie counts half.

    .. math:: P(X > k/2) + \tfrac12 P(X = k/2) = I_\theta(h, h), \qquad h = \lceil k/2 \rceil

    An even number of people is worth exactly what the odd number below it is. Without people it is ½.
    """
    half = np.ceil(np.asarray(people) / 2)
    chance: FloatArray = np.asarray(
        betainc(np.maximum(half, 1), np.maximum(half, 1), np.asarray(rate, dtype=float)), dtype=float
    )
    return np.where(half > 0, chance, 0.5)


def hypergeometric(j: ArrayLike, safe: ArrayLike, votes: ArrayLike, drawn: int) -> FloatArray:
    """Return the probability of `j` safe votes among `drawn` of `votes`, of which `safe` are safe; 0 where impossible."""
    j, safe, votes = np.broadcast_arrays(j, safe, votes)
    unsafe = votes - safe
    possible = (j <= safe) & (drawn - j <= unsafe) & (safe >= 0) & (unsafe >= 0)
    x, s, u = np.where(possible, j, 0), np.where(possible, safe, 0), np.where(possible, unsafe, drawn)
    log = log_choose(s, x) + log_choose(u, drawn - x) - log_choose(votes, drawn)
    return np.where(possible, np.exp(log), 0.0)


def log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Return the natural logarithm of the number of ways to choose *k* of *n*."""
    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=float)
