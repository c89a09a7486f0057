r"""Whether vote counts stop at the majority line, in a way that no crowd of people makes, however its rates are spread.

Given an item's rate :math:`\theta`, its *m* votes are binomial; over items the counts are a mixture of binomials. A
mixture can lean, have several heads, or end anywhere, and still has no step from one count to the next: binomials of 20
votes are wide. Votes that were gathered, dropped or changed until they fit do have one, at the line.

The test is a bet (an e-value). From some of the items a guess *q* of the shares near the line is made; against it stands
the mixture :math:`p^*` that is nearest to *q* among *all* mixtures. Each further item multiplies the stake by
:math:`q_k / (M p^*_k)`. With :math:`M = \max_\theta \sum_k \mathrm{Bin}(k; \theta)\, q_k / p^*_k` the stake shrinks or stays,
on average, whatever the mixture is: the chance that it ever grows a thousandfold is at most one in a thousand. Nothing is
supposed of the mixture, nothing is asymptotic, and items may depend on each other through their rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, integers
from casewise.stats.core.checks import whole
from casewise.stats.core.majorities import log_choose

__all__ = ["FEWEST_VOTES", "MOST_VOTES", "MajorityGap", "majority_gap"]

LEAST_ITEMS = 40
"""Fewer items within `WINDOW` counts of the line carry no step."""
WINDOW = 5

FIRST, BLOCKS = 0.2, 5
"""The first guess is made from so much of the items, and is made anew for each of so many blocks of the others."""
ORDERS = 4
"""Random orders of the items, over whose stakes the mean is taken (a mean of bets is a bet)."""
ROUNDS = 400
POINTS = 101
"""Rates at which a mixture has weight; with 20 votes a finer grid fits no better."""
FEWEST_VOTES, MOST_VOTES = 6, 200
FINE = 20_000
"""Rates among which the largest mean stake is sought; between two of them it is higher by less than a thousandth."""


@dataclass(frozen=True)
class MajorityGap:
    """What the counts at the majority line say."""

    cut: int
    """The clearest step is between `cut` and `cut` + 1 safe votes."""
    below: int
    above: int
    """Items at `cut` and at `cut` + 1."""
    expected_below: float
    expected_above: float
    """The same in the mixture that fits all counts best."""
    log_ratio: float
    """The step in logs, that of the mixture taken out; below zero where counts stop at the line."""
    log_stake: float
    """Natural logarithm of what a stake of one has become; below zero the bet was lost."""

    @property
    def p(self) -> float:
        """The inverse of the stake, at most 1: the chance that honest votes win so much is no larger."""
        return float(np.exp(-max(0.0, self.log_stake)))


class _Mixtures(NamedTuple):
    """Binomials of some number of votes: at the rates a mixture is made of, and at many more, to be sure."""

    made_of: FloatArray
    all: FloatArray


def majority_gap(safe: ArrayLike, *, votes: int, rng: np.random.Generator) -> MajorityGap | None:
    """A bet against all crowds that shows whether the counts of safe votes have a step at the majority line.

    `safe`: (items,) integers; safe votes of items that all have `votes` votes, and that one author's intent sets apart.
    `votes`: how many votes each item has; 6 to 200.
    `rng`: orders the items.

    Returns MajorityGap or None: None where too few items lie near the line to tell.

    Raises StatisticsError: counts that are no whole numbers up to `votes`, or too few or too many votes.

    Source: Grünwald, de Heide & Koolen (2024), Safe testing, JRSS B 86, 1091-1128 (the nearest mixture, thm. 1). Ramdas
    et al. (2023), Game-theoretic statistics and safe anytime-valid inference, Statistical Science 38.
    """
    counts = integers(safe, "safe")
    if (
        counts.ndim != 1
        or not FEWEST_VOTES <= whole(votes, "votes", least=0) <= MOST_VOTES
        or counts.max(initial=0) > votes
    ):
        raise StatisticsError(
            f"the majority line needs {FEWEST_VOTES} to {MOST_VOTES} votes an item, and no count above {votes}"
        )
    near = np.abs(counts - votes / 2) <= WINDOW
    if near.sum() < LEAST_ITEMS:
        return None
    stakes = [_log_stake(rng.permutation(counts), votes) for _ in range(ORDERS)]
    log_stake = float(np.logaddexp.reduce(stakes) - np.log(ORDERS))
    return _step(np.bincount(counts, minlength=votes + 1).astype(float), votes, log_stake)


def _log_stake(counts: IntArray, votes: int) -> float:
    """What a stake of one becomes on these items in this order."""
    mixtures = _mixtures(votes)
    ends = np.linspace(FIRST, 1, BLOCKS + 1) * len(counts)
    log_stake = 0.0
    for start, end in zip(ends[:-1].astype(int), ends[1:].astype(int), strict=True):
        seen, new = (np.bincount(part, minlength=votes + 1) for part in (counts[:start], counts[start:end]))
        guess = _guess(seen, votes)
        odds = guess / _nearest(guess, mixtures.made_of)
        most = float(np.max(odds @ mixtures.all))
        log_stake += float(new @ np.log(odds / max(most, 1.0)))
    return log_stake


def _guess(seen: IntArray, votes: int) -> FloatArray:
    """The nearest mixture to what was seen, and in the cells at the line what was seen itself (one item more in each)."""
    fitted = _nearest(seen / seen.sum(), _mixtures(votes).made_of)
    guess = fitted.copy()
    for cell in _cells(votes):
        guess[cell] *= (seen[cell].sum() + 1) / (seen.sum() * fitted[cell].sum() + 1)
    guess /= guess.sum()
    return guess


def _cells(votes: int) -> list[slice]:
    """Two cells on each side of the line, each a twentieth of the votes wide, and a tie between them."""
    wide, tie = max(1, votes // 20), votes % 2 == 0
    below = votes // 2 - 1 if tie else votes // 2
    above = votes // 2 + 1
    sides = [slice(below - (i + 1) * wide + 1, below - i * wide + 1) for i in (0, 1)]
    sides += [slice(above + i * wide, above + (i + 1) * wide) for i in (0, 1)]
    return [*sides, slice(below + 1, above)] if tie else sides


def _nearest(shares: FloatArray, made_of: FloatArray) -> FloatArray:
    """The mixture under which counts of these shares are likeliest, whatever its rates (Laird 1978, by EM)."""
    weight = np.full(made_of.shape[1], 1 / made_of.shape[1])
    for _ in range(ROUNDS):
        weight = weight * ((shares / (made_of @ weight)) @ made_of)
    mixture: FloatArray = made_of @ (weight / weight.sum())
    return mixture


@lru_cache(maxsize=2)
def _mixtures(votes: int) -> _Mixtures:
    made_of = (np.arange(POINTS) + 0.5) / POINTS
    return _Mixtures(_binomials(votes, made_of), _binomials(votes, np.linspace(0, 1, FINE + 1)))


def _binomials(votes: int, rates: FloatArray) -> FloatArray:
    """(votes + 1, rates) chances of each count."""
    k = np.arange(votes + 1)[:, None]
    return np.exp(log_choose(votes, k) + xlogy(k, rates) + xlogy(votes - k, 1 - rates))


def _step(histogram: FloatArray, votes: int, log_stake: float) -> MajorityGap:
    expected = histogram.sum() * _nearest(histogram / histogram.sum(), _mixtures(votes).made_of)
    logs = np.log((histogram + 0.5) / (expected + 0.5))
    cuts = (votes // 2 - 1, votes // 2) if votes % 2 == 0 else (votes // 2,)
    cut = max(cuts, key=lambda at: abs(float(logs[at + 1] - logs[at])))
    return MajorityGap(
        cut=cut,
        below=int(histogram[cut]),
        above=int(histogram[cut + 1]),
        expected_below=float(expected[cut]),
        expected_above=float(expected[cut + 1]),
        log_ratio=float(logs[cut + 1] - logs[cut]),
        log_stake=log_stake,
    )
