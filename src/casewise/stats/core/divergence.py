r"""How far two rates lie apart, and what a function of a true rate is, known from few votes.

A rate of *m* votes lies off the true one, so even a judge that knew every true rate would not score 0 against votes. The
jackknife's value has the mean of that at the true rates up to terms of order :math:`1/m^2`:

.. math:: \hat f(s) = m f\!\left(\tfrac sm\right) - (m-1)\left[\tfrac sm f\!\left(\tfrac{s-1}{m-1}\right)
          + \left(1 - \tfrac sm\right) f\!\left(\tfrac{s}{m-1}\right)\right]

References
----------
.. [1] Quenouille (1956), Biometrika 43, 353-360. Lin (1991), IEEE Trans. Information Theory 37, 145-151.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.checks import checked_votes_of_items

__all__ = ["debiased", "entropy", "jensen_shannon"]


def entropy(rate: ArrayLike) -> FloatArray:
    """The entropy of a yes or no with this rate, in nats."""
    p = np.asarray(rate, dtype=float)
    found: FloatArray = -(xlogy(p, p) + xlogy(1 - p, 1 - p))
    return found


def jensen_shannon(first: ArrayLike, second: ArrayLike) -> FloatArray:
    r"""The divergence of two rates, :math:`H(\frac{p+q}2) - \frac{H(p)+H(q)}2` in nats: 0 to log 2, finite at 0 and 1."""
    p, q = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.maximum(entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2, 0.0)


def debiased(of_rate: Callable[[FloatArray], FloatArray], safe: ArrayLike, votes: ArrayLike) -> FloatArray:
    """The jackknife's estimate of a function of each item's true safe rate; nan for items with fewer than two votes.

    At 20 votes its bias for the entropy is below 0.01, where the plug-in's is up to 0.03.
    """
    s, m = checked_votes_of_items(safe, votes)
    some = np.maximum(m, 2)
    share, others = s / some, some - 1
    left_out = share * of_rate(np.maximum(s - 1, 0) / others) + (1 - share) * of_rate(np.minimum(s / others, 1.0))
    found: FloatArray = some * of_rate(np.minimum(share, 1.0)) - others * left_out
    return np.where(m > 1, found, np.nan)
