"""Two conditions, or two judges, on the same units: McNemar's test, and the same for units in clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln, ndtr

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray, integers
from casewise.stats.core.checks import of_one_shape, vector

__all__ = ["McNemar", "SignFlips", "mcnemar", "sign_flips"]


@dataclass(frozen=True)
class McNemar:
    """The test of each table, two-sided; arrays have the shape of the counts."""

    chi_square: FloatArray
    """(b − c)² / (b + c), without a continuity correction; 0 where no pair is discordant."""
    p_asymptotic: FloatArray
    p_corrected: FloatArray
    """With Edwards' continuity correction."""
    p_exact: FloatArray
    """Binomial; never more false alarms than nominal, often far fewer."""
    p_mid: FloatArray
    """Mid-p: half of the observed table's probability. The one to quote."""
    log_p_exact: FloatArray
    """Natural logarithm, also where `p_exact` underflows."""
    testable: BoolArray
    """False where no pair is discordant: then every p is 1."""


def mcnemar(b: ArrayLike, c: ArrayLike) -> McNemar:
    r"""Do two paired conditions say "safe" equally often?

    Only the discordant pairs count. With :math:`X \sim \mathrm{Bin}(b + c, \tfrac12)` and :math:`m = \min(b, c)`,

    .. math:: p_{exact} = \min(1, 2 P(X \le m)), \qquad p_{mid} = 2 P(X \le m) - P(X = m).

    Parameters
    ----------
    b, c : (...) integers
        Pairs that are safe under the first condition only, and under the second only.

    Raises
    ------
    StatisticsError
        A count is no whole number or is negative.

    References
    ----------
    .. [1] McNemar (1947), Psychometrika 12, 153-157. Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91.
    .. [2] R: `mcnemar.test`, `binom.test`.

    Examples
    --------
    >>> round(float(mcnemar(11, 9).p_mid), 4)
    0.6637
    """
    first, second = of_one_shape({"b": integers(b, "b"), "c": integers(c, "c")})
    discordant, gap = first + second, np.abs(first - second)
    some = np.maximum(discordant, 1)
    smaller = np.minimum(first, second)
    lower = np.asarray(betainc(np.maximum(discordant - smaller, 0.5), smaller + 1, 0.5), dtype=float)
    lower = np.where(discordant > 0, lower, 1.0)
    log_at = gammaln(discordant + 1) - gammaln(smaller + 1) - gammaln(discordant - smaller + 1) - discordant * np.log(2)
    z = gap / np.sqrt(some)
    corrected = np.maximum(gap - 1, 0) / np.sqrt(some)
    return McNemar(
        chi_square=(gap**2 / some)[()],
        p_asymptotic=np.minimum(2 * ndtr(-z), 1.0)[()],
        p_corrected=np.minimum(2 * ndtr(-corrected), 1.0)[()],
        p_exact=np.minimum(2 * lower, 1.0)[()],
        p_mid=np.clip(2 * lower - np.exp(log_at), 0.0, 1.0)[()],
        log_p_exact=_log_exact(smaller, discordant, lower=lower, log_at=log_at)[()],
        testable=(discordant > 0)[()],
    )


MOST = 1_000_000
"""Items on which two judges differ."""


class SignFlips(NamedTuple):
    """Two-sided p values of `sign_flips`."""

    p_exact: float
    p_mid: float


def sign_flips(net: ArrayLike) -> SignFlips:
    r"""Do two paired conditions do equally well, where observations come in clusters?

    Under the null each cluster's net difference :math:`d_g` is as likely to have the other sign, so that

    .. math:: p = P\Big(\Big|\sum_g \pm d_g\Big| \ge \Big|\sum_g d_g\Big|\Big)

    over all :math:`2^G` signs, which a convolution gives exactly. With clusters of one it is McNemar's exact test;
    `p_mid` counts half of the probability of what was observed.

    Parameters
    ----------
    net : (clusters,) integers
        Wins of the first condition less those of the second.

    Raises
    ------
    StatisticsError
        A difference is no whole number, or they add up to more than a million.

    References
    ----------
    .. [1] Fisher (1935), The Design of Experiments, §21. Pesarin & Salmaso (2010), Permutation Tests for Complex Data.

    Examples
    --------
    >>> sign_flips([1] * 11 + [-1] * 9).p_mid == float(mcnemar(11, 9).p_mid)
    True
    """
    differences = vector(net, "net")
    if (differences != np.rint(differences)).any():
        raise StatisticsError("net differences are whole numbers of items")
    if np.abs(differences).sum() > MOST:
        raise StatisticsError(f"net differences add up to more than {MOST:,}: they are of items, so they never should")
    steps, times = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    chance = np.ones(1)
    for step, n in zip(steps.astype(int).tolist(), times.tolist(), strict=True):
        heads = np.arange(n + 1)
        spaced = np.zeros(n * step + 1)
        spaced[::step] = np.exp(gammaln(n + 1) - gammaln(heads + 1) - gammaln(n - heads + 1) - n * np.log(2))
        chance = np.convolve(chance, spaced)
    signed = np.abs(2 * np.arange(len(chance)) - len(chance) + 1)
    seen = abs(int(differences.sum()))
    beyond, at = float(chance[signed > seen].sum()), float(chance[signed == seen].sum())
    return SignFlips(min(1.0, beyond + at), min(1.0, beyond + (at / 2 if seen else at)))


def _log_exact(smaller: IntArray, discordant: IntArray, *, lower: FloatArray, log_at: FloatArray) -> FloatArray:
    """log min(1, 2 P(X <= m)), by the ratios of neighbouring terms where the probability underflows."""
    with np.errstate(divide="ignore"):
        log = np.asarray(np.log(2 * lower))
    tiny = lower < 1e-290
    if tiny.any():
        total = term = np.ones(np.shape(smaller))
        for step in range(int(np.max(np.where(tiny, np.minimum(smaller, 2000), 0)))):
            left = np.maximum(smaller - step, 0)
            term = term * left / (discordant - left + 1)
            total = total + term
        log = np.where(tiny, np.log(2) + log_at + np.log(total), log)
    capped: FloatArray = np.minimum(log, 0.0)
    return capped
