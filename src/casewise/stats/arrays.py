"""Arrays of counts and labels, and clusters and raters in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Counts(NamedTuple):
    """Successes out of sizes, of one shape."""

    successes: IntArray
    sizes: IntArray

    @classmethod
    def from_arrays(cls, successes: ArrayLike, sizes: ArrayLike) -> Self:
        """Return both arrays as integers, broadcast to one shape."""
        return cls(*np.broadcast_arrays(np.asarray(successes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)))


def coded_labels(values: ArrayLike) -> NDArray[np.intp]:
    """Return `values` as the numbers 0, 1, 2, ... in their order. Integers that lie close are counted, which takes a tenth of sorting."""
    labels = np.asarray(values)
    if labels.dtype.kind not in "iu" or not len(labels) or labels.min() < 0 or labels.max() >= 4 * len(labels):
        return np.unique(labels, return_inverse=True)[1].ravel()
    present = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
    present[labels] = True
    codes: NDArray[np.intp] = (np.cumsum(present) - 1)[labels]
    return codes


def clusters_of(clusters: ArrayLike | None, n: int) -> IntArray:
    """Return the cluster of each of `n` items as an integer from 0; each item is its own cluster if `clusters` is None."""
    return np.arange(n) if clusters is None else coded_labels(clusters)


def checked_share(value: float, name: str) -> float:
    """Return `value` as a float. Raises StatisticsError: it is not strictly between 0 and 1."""
    if not isinstance(value, float | int | np.number) or not 0 < value < 1:
        raise StatisticsError(f"{name} must lie strictly between 0 and 1, not {value!r}")
    return float(value)


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, *, default: float = 0.0) -> FloatArray:
    """Return the element-wise quotient, with `default` where the denominator is zero."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    result = np.full(top.shape, default)
    quotient: FloatArray = np.divide(top, bottom, out=result, where=bottom != 0)
    return quotient


def checked_integer(value: object, name: str, *, minimum: int) -> int:
    """Return `value` as an int. Raises StatisticsError: it is no whole number, or below `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise StatisticsError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return int(value)


def smallest_integer_reaching(
    target: float, function: Callable[[int], float], *, start: int, largest: int
) -> int | None:
    """Return the smallest integer from `start` on at which the rising `function` reaches `target`; None if none up to `largest` does."""
    low, high = start - 1, start
    while function(high) < target:
        if high * 2 > largest:
            return None
        low, high = high, high * 2
    while high - low > 1:
        midpoint = (low + high) // 2
        low, high = (low, midpoint) if function(midpoint) >= target else (midpoint, high)
    return high


# Sums within clusters, and the one computation of a cluster-robust variance. Neither needs scipy, which loads long.


def cluster_sums(
    terms: Collection[FloatArray] | FloatArray, clusters: NDArray[np.intp], *, n_clusters: int
) -> FloatArray:
    """Return the sums of `terms`, k of (items,), within clusters: (n_clusters, k), each column contiguous in memory."""
    sums = np.empty((len(terms), n_clusters))
    for place, column in enumerate(terms):
        sums[place] = np.bincount(clusters, weights=column, minlength=n_clusters)
    return sums.T


def cluster_variance(influence: ArrayLike, clusters: ArrayLike | None = None) -> float:
    r"""Return the cluster-robust variance of a number, from the influence of each observation on it.

    .. math:: \frac{G}{G-1} \sum_g \Big(\sum_{i \in g} e_i\Big)^2

    `influence`: (n,) numbers; :math:`e_i`; for a mean, :math:`(y_i - \bar y) / n`.
    `clusters`: (n,) labels; each its own cluster if absent.

    Returns float: nan for fewer than two clusters, which show no variance.

    Source: Liang & Zeger (1986), Biometrika 73, 13-22. R: `sandwich::vcovCL(type = "HC0", cadjust = TRUE)`.
    """
    sums: FloatArray = np.asarray(influence, dtype=np.float64)
    if clusters is not None:
        sums = np.bincount(coded_labels(clusters), weights=sums).astype(np.float64)
    groups = len(sums)
    return float(groups / (groups - 1) * (sums**2).sum()) if groups > 1 else float("nan")


# What annotators add to an error over queries: two-way clustering, for any number that is made of people's votes.
#
# With errors clustered by query, by annotator, and by their cells (Cameron, Gelbach and Miller 2011),
#
# .. math:: V = V_{query} + V_{annotator} - V_{cell}
#
# and a vote's influence on a number is what the number loses without it (the infinitesimal jackknife of a vote). Nothing is
# resampled, so two-way intervals take no longer than one-way ones.
#
# Source: Cameron, Gelbach & Miller (2011), JBES 29, 238-249. Owen (2007), Annals of Applied Statistics 1, 386-411 (the
# pigeonhole bootstrap, whose variance this is but for terms of the order of a cell).


class Raters(NamedTuple):
    """Votes, one entry each: the index of the item, the annotator, and the weight of "safe"."""

    item: NDArray[np.intp]
    annotator: NDArray[np.intp]
    safe: BoolArray | FloatArray | IntArray
    """True and false, or shares of 1: the influence of a vote lies between those of a safe and of an unsafe one. Of ratings that
    are not verdicts, their values."""

    def where(self, mask: BoolArray) -> Raters:
        """Return the votes on the items of `mask`, with items numbered anew."""
        is_kept = mask[self.item]
        place = np.cumsum(mask) - 1
        return Raters(place[self.item[is_kept]], self.annotator[is_kept], self.safe[is_kept])


def annotator_covariance(of_safe: FloatArray, of_unsafe: FloatArray, raters: Raters) -> FloatArray:
    """Return the covariance that annotators add to several numbers, :math:`V_{annotator} - V_{cell}`.

    `of_safe`, `of_unsafe`: (items, numbers); the influence of one safe and of one unsafe vote on each item. No variance is
    below 0.
    """
    weight = raters.safe.astype(np.float64)[:, None]
    influence = weight * of_safe[raters.item] + (1 - weight) * of_unsafe[raters.item]
    codes = np.unique(raters.annotator, return_inverse=True)[1]
    people = int(codes.max(initial=-1)) + 1
    if people < 2:
        return np.zeros((influence.shape[1], influence.shape[1]))
    influence = influence - influence.mean(axis=0)
    sums = cluster_sums(influence.T, codes, n_clusters=people)
    raw = people / (people - 1) * sums.T @ sums - influence.T @ influence
    values, vectors = np.linalg.eigh(raw)
    covariance: FloatArray = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # What was below 0 has lifted the variances: they stay as they are, and the correlations come from the lifted ones.
    rescaling = np.sqrt(np.maximum(np.diag(raw), 0.0) / np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return covariance * rescaling[:, None] * rescaling


TermsOfCounts = Callable[[IntArray, IntArray], FloatArray]
"""Function from safe votes and votes of items to the addition of each item to each term: (items, terms)."""


class PerVote(NamedTuple):
    """Influence of one safe and of one unsafe vote on each item, on a number (items,) or on terms (items, terms), and the votes."""

    raters: Raters
    of_safe: FloatArray
    of_unsafe: FloatArray

    @classmethod
    def from_counts(cls, terms: TermsOfCounts, safe: IntArray, votes: IntArray, raters: Raters) -> Self:
        """Return the influences of votes: what the terms lose if a vote is exchanged for another one of its item."""
        share, full = (safe / np.maximum(votes, 1))[:, None], terms(safe, votes)
        other_vote = (votes / np.maximum(votes - 1, 1))[:, None]  # the vote itself is not drawn
        without_safe, without_unsafe = terms(np.maximum(safe - 1, 0), votes), terms(np.minimum(safe + 1, votes), votes)
        return cls(
            raters, other_vote * (1 - share) * (full - without_safe), other_vote * share * (full - without_unsafe)
        )

    def along_gradient(self, gradient: FloatArray) -> PerVote:
        """Return the influence of votes on a number with this gradient with respect to the terms."""
        return PerVote(self.raters, self.of_safe @ gradient, self.of_unsafe @ gradient)

    @property
    def variance(self) -> float:
        """Variance of the number that comes from the choice of annotators."""
        return float(annotator_covariance(self.of_safe[:, None], self.of_unsafe[:, None], self.raters)[0, 0])

    @classmethod
    def weighted(cls, parts: Sequence[tuple[float, PerVote | None]]) -> PerVote | None:
        """Return the influences on a weighted sum of numbers over the same items; None where one of them has no known annotators."""
        known_parts = [(weight, part) for weight, part in parts if part is not None]
        if len(known_parts) < len(parts) or len({len(part.of_safe) for _, part in known_parts}) != 1:
            return None
        return cls(
            known_parts[0][1].raters,
            np.sum([weight * part.of_safe for weight, part in known_parts], axis=0),
            np.sum([weight * part.of_unsafe for weight, part in known_parts], axis=0),
        )


def widen_influence(influence: FloatArray, extra: float) -> FloatArray:
    """Return the influences of clusters, scaled so that their variance grows by `extra`."""
    variance = cluster_variance(influence)
    return influence * np.sqrt(1 + extra / variance) if variance > 0 and extra > 0 else influence
