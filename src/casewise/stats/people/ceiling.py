"""The best that any judge could score against rates of finitely many people's votes; how true rates are spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, xlogy

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.people.vote_reliability import checked_votes

__all__ = [
    "AnyShape",
    "Ceilings",
    "KindsOfItems",
    "ceilings",
    "fitted_beta",
    "rates_of_any_shape",
]


POINTS, ROUNDS = 200, 1000
"""Of the grid of rates, and of EM on it: with more rounds a ceiling of accuracy still falls, by a hundredth."""


@dataclass(frozen=True)
class Ceilings:
    """What a judge that knew every item's true safe rate would score."""

    pearson: float
    """At most: the square root of the reliability of all votes."""
    bce_plug_in: float
    """Mean entropy of the observed rates, in nats: a lower bound that no judge reaches."""
    bce_floor: float
    """The same with Miller and Madow's correction: what is attainable."""
    brier_floor: float
    """Mean p(1 − p)/(m − 1): the noise of the rates themselves."""
    items: int


def ceilings(safe: ArrayLike, votes: ArrayLike) -> Ceilings:
    r"""Ceiling of Pearson's *r* and floors of BCE and Brier score, from votes alone.

    .. math:: r_{max} = \sqrt{1 - \frac{\overline{p(1-p)/(m-1)}}{\mathrm{var}(p)}}, \qquad
       BCE_{min} = \overline{H(p)} + \overline{\frac{[0 < p < 1]}{2m}}

    Parameters
    ----------
    safe, votes : (items,) integers
        Items with fewer than two votes are left out.

    Raises
    ------
    StatisticsError
        Fewer than two items with two votes, or all with the same rate.

    References
    ----------
    .. [1] Lord & Novick (1968), ch. 3 (attenuation). Miller (1955), in Information Theory in Psychology.
    """
    (s, m), _, _ = checked_votes(safe, votes, None)
    p = s / m
    if len(p) < 2 or np.ptp(p) == 0:
        raise StatisticsError("a ceiling needs items whose safe rates differ")
    noise = float((p * (1 - p) / (m - 1)).mean())
    entropy = -(xlogy(p, p) + xlogy(1 - p, 1 - p))
    mixed = (s > 0) & (s < m)
    return Ceilings(
        pearson=float(np.sqrt(max(0.0, 1 - noise / p.var(ddof=1)))),
        bce_plug_in=float(entropy.mean()),
        bce_floor=float((entropy + mixed / (2 * m)).mean()),
        brier_floor=noise,
        items=len(p),
    )


def fitted_beta(s: IntArray, m: IntArray) -> tuple[float, float]:
    """The beta distribution under which these counts are likeliest.

    Beta-binomial maximum likelihood by fixed point (Minka 2000, Estimating a Dirichlet distribution, eq. 55).
    """
    x, n, _, times = KindsOfItems.of(s, m)
    a = b = 1.0
    for _ in range(5000):
        spread = times @ (digamma(a + b + n) - digamma(a + b))
        new_a = a * float(times @ (digamma(a + x) - digamma(a))) / spread
        new_b = b * float(times @ (digamma(b + n - x) - digamma(b))) / spread
        new_a, new_b = np.clip([new_a, new_b], 1e-3, 1e4).tolist()
        moved = abs(new_a - a) / a + abs(new_b - b) / b
        a, b = new_a, new_b
        if moved < 1e-10:
            break
    return a, b


class KindsOfItems(NamedTuple):
    """The kinds of items by their counts, in ascending order, which each item is of, and how many items are of each."""

    safe: IntArray
    votes: IntArray
    which: IntArray
    times: IntArray

    @classmethod
    def of(cls, safe: IntArray, votes: IntArray) -> Self:
        past = int(votes.max(initial=0)) + 1
        codes = safe * past + votes
        if past**2 > len(codes):
            kinds, which, times = np.unique(codes, return_inverse=True, return_counts=True)
        else:  # counted, which takes a tenth of sorting
            times = np.bincount(codes)
            kinds, which = np.flatnonzero(times), (np.cumsum(times > 0) - 1)[codes]
            times = times[kinds]
        return cls(*np.divmod(kinds, past), which, times)


@dataclass(frozen=True)
class AnyShape:
    """Where the items' true rates probably lie."""

    grid: FloatArray
    posterior: FloatArray
    """(kinds, grid), a kind for each pair of counts: each row sums to 1."""
    kind: IntArray
    """(items,) the row of each item."""


def rates_of_any_shape(s: IntArray, m: IntArray) -> AnyShape:
    """Each item's posterior under the likeliest distribution of true rates, whatever its shape (Laird 1978, by EM)."""
    grid = (np.arange(POINTS) + 0.5) / POINTS
    kinds = KindsOfItems.of(s, m)
    x, n, times = kinds.safe[:, None], kinds.votes[:, None], kinds.times
    log = xlogy(x, grid) + xlogy(n - x, 1 - grid)
    likelihood = np.exp(log - log.max(1, keepdims=True))
    weight = np.full(POINTS, 1 / POINTS)
    for _ in range(ROUNDS):
        weight = weight * ((times / (likelihood @ weight)) @ likelihood) / times.sum()
    posterior = likelihood * weight
    return AnyShape(grid, posterior / posterior.sum(1, keepdims=True), kinds.which)
