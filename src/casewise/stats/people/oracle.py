r"""How often an oracle would agree with a study's labels: one that knows what a very large crowd says of each item.

It knows each item's true rate :math:`\theta` and not the study's votes. Against labels of *m* votes it scores, ties
counting half as in every accuracy,

.. math:: \psi(G) = \int c_m(\max(\theta, 1 - \theta)) \, dG(\theta), \qquad c_m(\theta) = P(\text{most of } m \text{ say safe})

and votes settle *G*, the spread of the true rates, only roughly. So two things are given. *By prior* is the oracle's
expected accuracy on these very items under several spreads: their range is how much the choice matters, and no interval.
The interval holds :math:`\psi` of every *G* that the counts of votes do not contradict.

It is no bound on a judge: one that has seen the votes, or labels like them, can agree more often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betainc

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray, IntArray, checked_share
from casewise.stats.core.cluster_variance import cluster_sums
from casewise.stats.core.majorities import chance_of_majority
from casewise.stats.people.ceiling import KindsOfItems, fitted_beta, rates_of_any_shape
from casewise.stats.people.vote_reliability import checked_votes

__all__ = ["OracleAccuracy", "oracle_accuracy"]

MOST_CUTS = 40
"""Places at which the counts' distribution is held against a spread of rates."""
GRID = np.linspace(0, 1, 201)
"""True rates that a spread is made of."""
DRAWS, DRAWN_AT_ONCE = 1_000, 50
MANY_CLUSTERS = 100_000
"""Above which no number is drawn for each, but as many as there are places to look at."""


@dataclass(frozen=True)
class OracleAccuracy:
    """The oracle's accuracy: by prior on the items' true rates, and an interval that supposes no prior."""

    by_prior: dict[str, float]
    ci_low: float
    ci_high: float
    ties: int
    """Items without a majority, on which the oracle is half right."""
    items: int

    @property
    def low(self) -> float:
        """The least over the priors."""
        return min(self.by_prior.values())

    @property
    def high(self) -> float:
        """The most over the priors."""
        return max(self.by_prior.values())


def oracle_accuracy(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> OracleAccuracy:
    r"""How often a large crowd's majority agrees with that of these votes, on the scale of every other accuracy.

    Parameters
    ----------
    safe, votes : (items,) integers
        Items with fewer than two votes are left out.
    rng : Generator
        Draws the width of the band around the counts' distribution (multiplier bootstrap over clusters).
    clusters : (items,) labels, optional
        Items that belong together: those of one query. Each its own if absent.
    strata : (items,) labels, optional
        Conditions, each with a spread of its own under the prior "beta by stratum".
    level : float
        Of the interval.

    Returns
    -------
    OracleAccuracy
        Under ``uniform``, Beta(1, 1); ``beta``, one distribution fitted to all items; ``beta by stratum``; and ``any
        shape``, the nonparametric maximum likelihood on a grid. The interval is the least and the largest
        :math:`\psi(G)` over all *G* under which the distribution function of the vote shares stays within its
        simultaneous band (two linear programmes).

    Raises
    ------
    StatisticsError
        No item has a majority, or there are fewer than two clusters.

    References
    ----------
    .. [1] Lord (1969), Psychometrika 34, 259-299. Laird (1978), JASA 73, 805-811.
    .. [2] Ignatiadis & Wager (2022), Confidence intervals for nonparametric empirical Bayes analysis, JASA 117,
       1149-1166 (§2, the F-localization).
    """
    checked_share(level, "level")
    (s, m), cluster, _ = checked_votes(safe, votes, clusters)
    stratum = None if strata is None else checked_votes(safe, votes, strata)[1]
    if (2 * s == m).all():
        raise StatisticsError("no item has a majority, so there is no label that could be right")
    if cluster.max() < 1:
        raise StatisticsError("an interval needs at least two clusters of items")
    low, high = _interval(s, m, cluster, rng=rng, level=level)
    return OracleAccuracy(_by_prior(s, m, stratum), low, high, int((2 * s == m).sum()), len(s))


def _by_prior(s: IntArray, m: IntArray, stratum: IntArray | None) -> dict[str, float]:
    found = {
        "uniform": _right(s, m, a=1.0, b=1.0),
        "beta": _right_of_fitted(s, m),
        "any shape": _right_of_any_shape(s, m),
    }
    if stratum is not None and stratum.max() > 0:
        found["beta by stratum"] = np.empty(len(s))
        for one in range(int(stratum.max()) + 1):
            chosen = stratum == one
            found["beta by stratum"][chosen] = _right_of_fitted(s[chosen], m[chosen])
    return {name: float(np.where(2 * s == m, 0.5, right).mean()) for name, right in found.items()}


def _right(s: IntArray, m: IntArray, *, a: float, b: float) -> FloatArray:
    """Posterior probability that the true rate lies on the votes' side of one half."""
    kinds = KindsOfItems.of(s, m)
    below: FloatArray = np.asarray(betainc(a + kinds.safe, b + kinds.votes - kinds.safe, 0.5), dtype=float)
    right: FloatArray = np.where(2 * kinds.safe > kinds.votes, 1 - below, below)[kinds.which]
    return right


def _right_of_fitted(s: IntArray, m: IntArray) -> FloatArray:
    a, b = fitted_beta(s, m)
    return _right(s, m, a=a, b=b)


def _right_of_any_shape(s: IntArray, m: IntArray) -> FloatArray:
    spread = rates_of_any_shape(s, m)
    above = spread.posterior[:, spread.grid > 0.5].sum(1)[spread.kind]
    right: FloatArray = np.where(2 * s > m, above, 1 - above)
    return right


def _interval(
    s: IntArray, m: IntArray, cluster: IntArray, *, rng: np.random.Generator, level: float
) -> tuple[float, float]:
    cuts = _cuts(s / m)
    shares = np.mean((s / m)[:, None] <= cuts, axis=0)
    band = _band(((s / m)[:, None] <= cuts) - shares, cluster, rng=rng, level=level)
    sizes, which = np.unique(m, return_inverse=True)
    weight = np.bincount(which.ravel()) / len(m)
    of_rate = np.zeros((len(cuts), len(GRID)))
    accuracy = np.zeros(len(GRID))
    for share, size in zip(weight, sizes, strict=True):
        of_rate += share * bdtr(np.floor(cuts * size + 1e-9)[:, None], size, GRID[None, :])
        accuracy += share * chance_of_majority(np.maximum(GRID, 1 - GRID), size)
    rows, bounds = np.vstack([of_rate, -of_rate]), np.concatenate([shares + band, band - shares])
    low, high = (_least(sign * accuracy, rows, bounds) for sign in (1, -1))
    # No spread at all within the band: votes that depend on each other. Then nothing is known.
    return (0.5 if low is None else low), (1.0 if high is None else -high)


def _least(value: FloatArray, rows: FloatArray, bounds: FloatArray) -> float | None:
    """The least mean of `value` over all weights on the grid that keep each row within its bound; None without any."""
    from scipy.optimize import linprog

    one = np.ones((1, len(value)))
    found = linprog(value, A_ub=rows, b_ub=bounds, A_eq=one, b_eq=np.ones(1), bounds=(0, None), method="highs")
    return None if found.status != 0 or found.fun is None else float(found.fun)


def _cuts(share: FloatArray) -> FloatArray:
    """The distinct shares below the largest, or as many quantiles of them."""
    distinct = np.unique(share)
    if len(distinct) > MOST_CUTS:
        distinct = np.unique(np.quantile(share, np.linspace(0, 1, MOST_CUTS + 1), method="inverted_cdf"))
    return distinct[:-1] + 1e-9


def _band(deviations: FloatArray, cluster: IntArray, *, rng: np.random.Generator, level: float) -> FloatArray:
    """Half widths of a simultaneous band around means whose deviations these are, wider where they vary more."""
    groups = int(cluster.max()) + 1
    sums = cluster_sums(deviations.T, cluster, n_clusters=groups) / len(cluster)
    error = np.maximum(np.sqrt(groups / (groups - 1) * (sums**2).sum(0)), 1 / len(cluster))
    if groups > MANY_CLUSTERS:  # so many normal draws come to one with their covariance
        sums = np.linalg.qr(sums).R
    blocks = [rng.standard_normal((DRAWN_AT_ONCE, len(sums))) @ sums for _ in range(DRAWS // DRAWN_AT_ONCE)]
    drawn = np.abs(np.concatenate(blocks)) / error
    half: FloatArray = float(np.quantile(drawn.max(1, initial=0.0), level)) * error
    return half
