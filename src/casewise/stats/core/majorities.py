"""What most people say, and what some of them do: of votes that were given, and of people who are yet to be asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln

from casewise.stats.core.arrays import FloatArray

__all__ = ["chance_of_majority", "hypergeometric", "log_choose", "majority_weight"]


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
    x = np.where(possible, j, 0)
    some, rest = np.where(possible, safe, 0), np.where(possible, unsafe, drawn)
    log = log_choose(some, x) + log_choose(rest, drawn - x) - log_choose(votes, drawn)
    return np.where(possible, np.exp(log), 0.0)


def log_choose(n: ArrayLike, k: ArrayLike) -> FloatArray:
    """Natural logarithm of the number of ways to choose *k* of *n*."""
    all_, some = np.asarray(n, dtype=float), np.asarray(k, dtype=float)
    return np.asarray(gammaln(all_ + 1) - gammaln(some + 1) - gammaln(all_ - some + 1), dtype=float)
