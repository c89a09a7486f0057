"""How likely a label is to come out the same when the study is repeated with as many other people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.checks import checked_votes_of_items, whole
from casewise.stats.core.majorities import chance_of_majority, log_choose, majority_weight
from casewise.stats.people.ceiling import KindsOfItems, fitted_beta

__all__ = ["JEFFREYS", "UNIFORM", "BetaPrior", "fit_beta", "predicted_counts", "same_label"]


@dataclass(frozen=True)
class BetaPrior:
    """How items' true safe rates are spread: Beta(a, b)."""

    a: float
    b: float

    def __post_init__(self) -> None:
        if not (SHARPEST <= self.a <= 1 / SHARPEST and SHARPEST <= self.b <= 1 / SHARPEST):
            raise StatisticsError(f"a beta distribution needs two positive numbers, not {self.a!r} and {self.b!r}")


SHARPEST = 1e-9
"""Beta distributions with smaller numbers, or with larger ones than its inverse, are points."""
MANY_VOTES = 1_000
"""Votes above which new counts are not listed one by one."""
RATES = 2_000
MOST_LISTED = 1_000_000

JEFFREYS = BetaPrior(0.5, 0.5)
UNIFORM = BetaPrior(1.0, 1.0)


def fit_beta(safe: ArrayLike, votes: ArrayLike) -> BetaPrior:
    """The Beta(a, b) under which the counts are most likely (beta-binomial maximum likelihood).

    `safe`, `votes`: (items,) integers; safe votes and votes of each item. Items without votes say nothing.

    Raises StatisticsError: no item has two votes: the spread of rates is then unknown.

    Source: Griffiths (1973), Biometrics 29, 637-648.
    """
    successes, sizes = checked_votes_of_items(safe, votes)
    successes, sizes = successes[sizes > 0], sizes[sizes > 0]
    if not len(sizes) or sizes.max() < 2:
        raise StatisticsError("fitting the spread of rates needs items with two votes or more")
    return BetaPrior(*fitted_beta(successes, sizes))


def predicted_counts(safe: int, votes: int, *, prior: BetaPrior, new_votes: int) -> FloatArray:
    r"""P(k of `new_votes` new people say safe), k = 0 … `new_votes`, given `safe` of `votes`: beta-binomial.

    .. math:: P(k) = \binom{n}{k} \frac{B(a + s + k,\; b + m - s + n - k)}{B(a + s,\; b + m - s)}

    Raises StatisticsError: more safe votes than votes, a negative number, or a million new votes.
    """
    if not 0 <= whole(safe, "safe", least=0) <= whole(votes, "votes", least=0):
        raise StatisticsError(f"{safe} safe votes out of {votes}: more than there are")
    if whole(new_votes, "new_votes", least=0) > MOST_LISTED:
        raise StatisticsError(f"counts of up to {MOST_LISTED:,} new votes are listed, not of {new_votes:,}")
    a, b = prior.a + safe, prior.b + votes - safe
    k = np.arange(new_votes + 1)
    return np.exp(log_choose(new_votes, k) + betaln(a + k, b + new_votes - k) - betaln(a, b))


def same_label(safe: ArrayLike, votes: ArrayLike, *, prior: BetaPrior) -> FloatArray:
    """P(the majority label of each item would come out the same) in a study with as many other people.

    A tie is half safe and half unsafe, in this study and in the repeated one: with labels *w* and *w'* in {0, ½, 1},
    the result is :math:`E[w w' + (1-w)(1-w')]`, so a tie has ½.

    `safe`, `votes`: (items,) integers; an item without votes gives nan.
    `prior`: how rates are spread. People are taken to vote independently given the item; where a person's
        votes go together on many items, whole blocks of labels change at once, and as often.
    """
    successes, sizes = checked_votes_of_items(safe, votes)
    found = np.full(len(sizes), np.nan)
    kinds = KindsOfItems.of(successes, sizes)
    for kind, (s, m) in enumerate(zip(kinds.safe.tolist(), kinds.votes.tolist(), strict=True)):
        if m > 0:
            again_safe = majority_again(s, m, prior=prior)
            w = float(majority_weight(s, m))
            found[kinds.which == kind] = w * again_safe + (1 - w) * (1 - again_safe)
    return found


def majority_again(safe: int, votes: int, *, prior: BetaPrior) -> float:
    """P(most of as many new people say safe), a tie counting half.

    Over all counts where there are few votes; over equally likely rates where there are many (right to 1e-6).
    """
    if votes <= MANY_VOTES:
        chances = predicted_counts(safe, votes, prior=prior, new_votes=votes)
        return float(chances @ majority_weight(np.arange(votes + 1), votes))
    place = (np.arange(RATES) + 0.5) / RATES
    rates = betaincinv(prior.a + safe, prior.b + votes - safe, place)
    return float(chance_of_majority(rates, votes).mean())
