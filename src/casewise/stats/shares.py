"""Intervals for shares, votes and majorities, and tail probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import (
    betainc,
    betainccinv,
    betaincinv,
    betaln,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaln,
    hyp2f1,
    log_ndtr,
    ndtri,
    stdtr,
    stdtrit,
)

from casewise.errors import StatisticsError
from casewise.stats.arrays import FloatArray, IntArray, checked_share, integers, numbers, of_one_shape

# Tail probabilities: their logarithms, exact also where they underflow, and those of noncentral distributions.


MANY = 10_000
"""Degrees of freedom above which Student's t counts as normal in the far tail, after Wallace (1959)."""


def chi_square_tail(statistic: FloatArray, df: int | IntArray) -> FloatArray:
    """The probability that a chi-square with `df` degrees of freedom exceeds `statistic`."""
    half = np.asarray(statistic, dtype=float) / 2
    if np.ndim(df) or df not in {2, 4, 6, 8}:
        return np.asarray(gammaincc(np.asarray(df) / 2, half), dtype=float)
    # The closed form for an even number: a Poisson sum, several times faster than the incomplete gamma function.
    term = total = np.ones_like(half)
    for j in range(1, int(df) // 2):
        term = term * half / j
        total = total + term
    return np.exp(-half) * total


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
    a, x = a[tiny], half[tiny]
    fraction = x + 61 - a
    for i in range(30, 0, -1):
        fraction = x + 2 * i - 1 - a - i * (i - a) / fraction
    log_tail[tiny] = -x + a * np.log(x) - gammaln(a) - np.log(fraction)
    return log_tail


def two_sided_log_p(z: FloatArray) -> FloatArray:
    """Natural logarithm of the two-sided p value of `z`; never above 0."""
    log_p: FloatArray = np.minimum(np.log(2) + log_ndtr(-np.abs(z)), 0.0)
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


LARGEST_NONCENTRALITY = 1e9
"""Beyond, the numerator of a noncentral F is its mean but for 1 part in 10⁹, and the series of `scipy.stats.ncf` need not end."""


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
    from scipy.stats import ncf  # 0.4 s that not every command needs to wait for

    if noncentrality > LARGEST_NONCENTRALITY:
        return float(gammainc(df2 / 2, (df1 + noncentrality) / critical * df2 / df1 / 2))
    return float(ncf.sf(critical, df1, df2, noncentrality))


def chi_square_critical(alpha: float, df: float) -> float:
    """The value that a central chi-square exceeds with probability `alpha`; raises as `f_critical`."""
    return _computed(float(2 * gammainccinv(df / 2, alpha)), alpha)


def _computed(critical: float, alpha: float) -> float:
    if not np.isfinite(critical):
        raise StatisticsError(f"alpha is {alpha!r}: too small for a critical value to be computed")
    return critical


def chi_square_power(critical: float, df: float, noncentrality: float) -> float:
    """The probability that a noncentral chi-square exceeds `critical` (R: `pchisq(critical, df, ncp, lower = FALSE)`)."""
    from scipy.stats import ncx2

    return float(ncx2.sf(critical, df, noncentrality))


# Intervals for a share, measured on clusters or on independent units, and tests of one.


@dataclass(frozen=True)
class Interval:
    """Two limits, each of the shape of what they bound."""

    low: FloatArray
    high: FloatArray


def korn_graubard(
    estimate: ArrayLike, variance: ArrayLike, *, n: ArrayLike, clusters: ArrayLike, level: float = 0.95
) -> Interval:
    r"""Clopper-Pearson at the effective sample size: honest for clustered shares, also near 0 and 1.

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

    Raises
    ------
    StatisticsError
        A share outside [0, 1], a negative variance, fewer than two units or clusters, or a value that is no number.

    References
    ----------
    .. [1] Korn & Graubard (1998), Survey Methodology 24, 193-201; truncated at n as the NCHS standard of 2017 does.
       R: `survey::svyciprop(method = "beta")`, which does not truncate.
    """
    columns = {"estimate": estimate, "variance": variance, "n": n, "clusters": clusters}
    p, v, units, groups = of_one_shape({name: numbers(values, name) for name, values in columns.items()})
    if ((p < 0) | (p > 1) | (v < 0)).any() or (groups < 2).any() or (units < 2).any():
        raise StatisticsError(
            "korn_graubard needs shares in [0, 1], variances of at least 0, two units and two clusters"
        )
    tail = (1 - checked_share(level, "level")) / 2
    independent = np.where(v > 0, p * (1 - p) / np.where(v > 0, v, 1), units)
    loss = (stdtrit(units - 1, tail) / stdtrit(groups - 1, tail)) ** 2
    effective = np.minimum(np.where(p * (1 - p) > 0, independent, units) * loss, units)
    return _beta_limits(p * effective, effective, tail)


def clopper_pearson(successes: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> Interval:
    """The exact interval for a share of independent units (Clopper & Pearson 1934; R: `binom.test`).

    Where there are no units it is (0, 1): nothing is known.

    Raises StatisticsError: more successes than units, a negative number, or one that is none.
    """
    tail = (1 - checked_share(level, "level")) / 2
    x, size = _checked_units(successes, n)
    return _beta_limits(x, size, tail)


def wilson(successes: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> Interval:
    """The score interval for a share of independent units (Wilson 1927; R: `prop.test(correct = FALSE)`).

    Where there are no units it is (0, 1): nothing is known. Raises as `clopper_pearson`.
    """
    x, size = _checked_units(successes, n)
    units = np.where(size > 0, size, 1)
    limits = score_limits(np.where(size > 0, x / units, 0.5), units, level=level)
    return Interval(np.where(size > 0, limits.low, 0.0), np.where(size > 0, limits.high, 1.0))


def score_limits(estimate: ArrayLike, n: ArrayLike, *, level: float = 0.95, df: float = np.inf) -> Interval:
    r"""Wilson's limits for a share *p* known from *n* units, which may be a fraction: an effective size.

    .. math:: \frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    `df`: of the share's variance, for Student's quantile in place of the normal *z*.
    """
    p, size = of_one_shape({"estimate": numbers(estimate, "estimate"), "n": numbers(n, "n")})
    if ((p < 0) | (p > 1)).any() or (size <= 0).any():
        raise StatisticsError("score limits need shares in [0, 1] and sizes above 0")
    if not df > 0:
        raise StatisticsError(f"df must be above 0, not {df!r}")
    tail = (1 - checked_share(level, "level")) / 2
    z = -ndtri(tail) if df == np.inf else -stdtrit(df, tail)
    of_p, of_half = size / (size + z**2), z**2 / (size + z**2)  # neither overflows, whatever the size
    centre, half = of_p * p + of_half / 2, np.sqrt(of_p * of_half * p * (1 - p) + of_half**2 / 4)
    return Interval(np.where(p > 0, centre - half, 0.0)[()], np.where(p < 1, centre + half, 1.0)[()])


def _checked_units(successes: ArrayLike, n: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Successes and units of one shape; halves are fine (a tie counts half)."""
    x, size = of_one_shape({"successes": numbers(successes, "successes"), "n": numbers(n, "n")})
    if ((x < 0) | (x > size)).any():
        raise StatisticsError("successes must lie between 0 and n")
    return x, size


def binomial_below(successes: float, n: float, share: float) -> float:
    r"""P(at most `successes` of `n`) where each succeeds with probability `share`: one-sided, exact for integers.

    :math:`P(X \le x) = I_{1-p}(n-x,\; x+1)`, which interpolates where ties make *x* fractional. R: `pbinom(x, n, p)`.
    """
    _checked_units(min(successes, n), n)
    if not 0 <= share <= 1:
        raise StatisticsError(f"share must lie between 0 and 1, not {share!r}")
    if successes >= n:
        return 1.0
    return float(betainc(n - successes, successes + 1, 1 - share))


def sign_test(one_way: int, other_way: int) -> float:
    """Two-sided exact sign test: how likely so uneven a split is where both ways are equally likely. 1 without any."""
    ways = integers([one_way, other_way], "ways")
    n, fewer = int(ways.sum()), int(ways.min())
    return min(1.0, 2 * binomial_below(fewer, n, 0.5)) if n else 1.0


def _beta_limits(x: FloatArray, n: FloatArray, tail: float) -> Interval:
    """Clopper-Pearson limits for a possibly fractional number of successes."""
    none, all_ = x <= 0, x >= n
    low = betaincinv(np.where(none, 1.0, x), n - np.where(none, 0.0, x) + 1, tail)
    high = betaincinv(np.where(all_, 0.0, x) + 1, np.where(all_, 1.0, n - x), 1 - tail)
    return Interval(np.where(none, 0.0, low), np.where(all_, 1.0, high))


# What most people say, and what some of them do: of votes that were given, and of people who are yet to be asked.


def majority_weight(safe: ArrayLike, votes: ArrayLike) -> FloatArray:
    """The majority's weight of "safe": 0, or 1, or ½ at a tie."""
    weight: FloatArray = (np.sign(2 * np.asarray(safe) - np.asarray(votes)) + 1) / 2
    return weight


def chance_of_majority(rate: ArrayLike, people: ArrayLike) -> FloatArray:
    r"""P(most of so many people say safe), each with chance `rate`; a tie counts half.

    .. math:: P(X > k/2) + \tfrac12 P(X = k/2) = I_\theta(h, h), \qquad h = \lceil k/2 \rceil

    An even number of people is worth exactly what the odd number below it is. Without people it is ½.
    """
    half = np.ceil(np.asarray(people) / 2)
    chance: FloatArray = np.asarray(
        betainc(np.maximum(half, 1), np.maximum(half, 1), np.asarray(rate, dtype=float)), dtype=float
    )
    return np.where(half > 0, chance, 0.5)


def hypergeometric(j: ArrayLike, safe: ArrayLike, votes: ArrayLike, drawn: int) -> FloatArray:
    """Probability of `j` safe votes among `drawn` of `votes`, of which `safe` are safe; 0 where impossible."""
    j, safe, votes = np.broadcast_arrays(j, safe, votes)
    unsafe = votes - safe
    possible = (j <= safe) & (drawn - j <= unsafe) & (safe >= 0) & (unsafe >= 0)
    x, s, u = np.where(possible, j, 0), np.where(possible, safe, 0), np.where(possible, unsafe, drawn)
    log = log_choose(s, x) + log_choose(u, drawn - x) - log_choose(votes, drawn)
    return np.where(possible, np.exp(log), 0.0)


def log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Natural logarithm of the number of ways to choose *k* of *n*."""
    n, k = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=float)
