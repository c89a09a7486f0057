"""Two judges on the same items, in clusters: McNemar's exact test where each cluster has one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.core.checks import vector
from casewise.stats.core.majorities import log_choose

__all__ = ["SignFlips", "sign_flips"]


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

    `net`: (clusters,) integers; wins of the first condition less those of the second.

    Raises StatisticsError: a difference is no whole number, or they add up to more than a million.

    Sources: Fisher (1935), The Design of Experiments, §21. Pesarin & Salmaso (2010), Permutation Tests for Complex Data.
    McNemar (1947), Psychometrika 12, 153-157; mid-p: Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91.
    R, for clusters of one: `binom.test`.

    Examples
    --------
    >>> round(sign_flips([1] * 11 + [-1] * 9).p_mid, 4)
    0.6637
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
        spaced[::step] = np.exp(log_choose(n, heads) - n * np.log(2))
        chance = np.convolve(chance, spaced)
    signed = np.abs(2 * np.arange(len(chance)) - len(chance) + 1)
    seen = abs(int(differences.sum()))
    beyond, at = float(chance[signed > seen].sum()), float(chance[signed == seen].sum())
    return SignFlips(min(1.0, beyond + at), min(1.0, beyond + (at / 2 if seen else at)))
