"""How likely a label is to come out the same when the study is repeated with as many other people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_counts
from casewise.stats.people.ceiling import fitted_beta

__all__ = ["JEFFREYS", "UNIFORM", "BetaPrior", "fit_beta", "predicted_counts", "same_label"]


@dataclass(frozen=True)
class BetaPrior:
    """How items' true safe rates are spread: Beta(a, b)."""

    a: float
    b: float


JEFFREYS = BetaPrior(0.5, 0.5)
UNIFORM = BetaPrior(1.0, 1.0)


def fit_beta(safe: ArrayLike, votes: ArrayLike) -> BetaPrior:
    r"""The Beta(a, b) under which the counts are most likely (beta-binomial maximum likelihood).

    Parameters
    ----------
    safe, votes : (items,) integers
        Safe votes and votes of each item. Items without votes say nothing.

    Raises
    ------
    StatisticsError
        No item has two votes: the spread of rates is then unknown.

    References
    ----------
    .. [1] Griffiths (1973), Biometrics 29, 637-648.
    """
    successes, sizes = checked_counts(safe, votes)
    successes, sizes = successes[sizes > 0], sizes[sizes > 0]
    if not len(sizes) or sizes.max() < 2:
        raise StatisticsError("fitting the spread of rates needs items with two votes or more")
    return BetaPrior(*fitted_beta(successes, sizes))


def predicted_counts(safe: int, votes: int, *, prior: BetaPrior, new_votes: int) -> FloatArray:
    r"""P(k of `new_votes` new people say safe), k = 0 … `new_votes`, given `safe` of `votes`: beta-binomial.

    .. math:: P(k) = \binom{n}{k} \frac{B(a + s + k,\; b + m - s + n - k)}{B(a + s,\; b + m - s)}
    """
    a, b = prior.a + safe, prior.b + votes - safe
    k = np.arange(new_votes + 1)
    choose = gammaln(new_votes + 1) - gammaln(k + 1) - gammaln(new_votes - k + 1)
    found: FloatArray = np.exp(choose + betaln(a + k, b + new_votes - k) - betaln(a, b))
    return found


def same_label(safe: ArrayLike, votes: ArrayLike, *, prior: BetaPrior) -> FloatArray:
    r"""P(the majority label of each item would come out the same) in a study with as many other people.

    A tie is half safe and half unsafe, in this study and in the repeated one: with labels *w* and *w'* in {0, ½, 1},
    the result is :math:`E[w w' + (1-w)(1-w')]`, so a tie has ½.

    Parameters
    ----------
    safe, votes : (items,) integers
        An item without votes gives nan.
    prior : BetaPrior
        How rates are spread. People are taken to vote independently given the item; where a person's votes go together
        on many items, whole blocks of labels change at once, and as often.
    """
    successes, sizes = checked_counts(safe, votes)
    found = np.full(len(sizes), np.nan)
    for s, m in {(int(s), int(m)) for s, m in zip(successes, sizes, strict=True) if m > 0}:
        chances = predicted_counts(s, m, prior=prior, new_votes=m)
        again_safe = float(chances @ label_of(np.arange(m + 1), m))
        w = float(label_of(np.array(s), m))
        found[(successes == s) & (sizes == m)] = w * again_safe + (1 - w) * (1 - again_safe)
    return found


def label_of(safe: IntArray, votes: int) -> FloatArray:
    """The majority's weight of "safe": 0, ½ or 1."""
    label: FloatArray = (np.sign(2 * np.asarray(safe) - votes) + 1) / 2
    return label
