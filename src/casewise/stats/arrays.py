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
        """Both as integers of one shape, after broadcasting."""
        return cls(*np.broadcast_arrays(np.asarray(successes, dtype=np.int64), np.asarray(sizes, dtype=np.int64)))


def coded_labels(values: ArrayLike) -> NDArray[np.intp]:
    """`values` as the numbers 0, 1, 2, ... in their order. Integers that lie close are counted, which takes a tenth of sorting."""
    labels = np.asarray(values)
    if labels.dtype.kind not in "iu" or not len(labels) or labels.min() < 0 or labels.max() >= 4 * len(labels):
        sorted_codes: NDArray[np.intp] = np.unique(labels, return_inverse=True)[1].ravel()
        return sorted_codes
    present = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
    present[labels] = True
    codes: NDArray[np.intp] = (np.cumsum(present) - 1)[labels]
    return codes


def clusters_of(clusters: ArrayLike | None, n: int) -> IntArray:
    """The cluster of each of `n` items as a number; each its own where none are given."""
    return np.arange(n) if clusters is None else coded_labels(clusters)


def checked_share(value: float, name: str) -> float:
    """`value`, if it lies strictly between 0 and 1. Raises StatisticsError: it does not."""
    if not isinstance(value, float | int | np.number) or not 0 < value < 1:
        raise StatisticsError(f"{name} must lie strictly between 0 and 1, not {value!r}")
    return float(value)


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, *, otherwise: float = 0.0) -> FloatArray:
    """Element-wise quotient, with `otherwise` where the denominator is zero."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    out = np.full(top.shape, otherwise)
    quotient: FloatArray = np.divide(top, bottom, out=out, where=bottom != 0)
    return quotient


def whole(value: object, name: str, *, least: int) -> int:
    """`value` as a whole number of at least `least`. Raises StatisticsError: it is none, or smaller."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StatisticsError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def least_reaching(target: float, function: Callable[[int], float], *, start: int, largest: int) -> int | None:
    """The smallest integer from `start` on at which `function`, which rises, is at least `target`; None: not up to `largest`."""
    low, high = start - 1, start
    while function(high) < target:
        if high * 2 > largest:
            return None
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if function(middle) >= target else (middle, high)
    return high


# Sums within clusters, and the one computation of a cluster-robust variance. Neither needs scipy, which loads
# long.


def cluster_sums(
    terms: Collection[FloatArray] | FloatArray, clusters: NDArray[np.intp], *, n_clusters: int
) -> FloatArray:
    """Sum each of `terms`, k of (items,), within clusters: shape (n_clusters, k), each column in one piece."""
    sums = np.empty((len(terms), n_clusters))
    for place, column in enumerate(terms):
        sums[place] = np.bincount(clusters, weights=column, minlength=n_clusters)
    return sums.T


def cluster_variance(influence: ArrayLike, clusters: ArrayLike | None = None) -> float:
    r"""The variance of a number from what each observation adds to it, clusters taken together.

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


# What annotators add to an error that knows queries only: two-way clustering, for whatever is made of people's
# votes.
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
    """One entry a vote: the place of its item, whose it is, and its weight of "safe"."""

    item: NDArray[np.intp]
    annotator: NDArray[np.intp]
    safe: BoolArray | FloatArray | IntArray
    """True and false, or shares of 1: what a vote adds to a number lies between what a safe and an unsafe one add. Of ratings
    that are no verdicts, their values."""

    def where(self, mask: BoolArray) -> Raters:
        """The votes on the items of `mask`, at their new places."""
        on_items = mask[self.item]
        place = np.cumsum(mask) - 1
        return Raters(place[self.item[on_items]], self.annotator[on_items], self.safe[on_items])


def annotators_covariance(of_safe: FloatArray, of_unsafe: FloatArray, raters: Raters) -> FloatArray:
    """:math:`V_{annotator} - V_{cell}` of several numbers together: what they vary by because people differ throughout.

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
    plain = people / (people - 1) * sums.T @ sums - influence.T @ influence
    values, vectors = np.linalg.eigh(plain)
    covariance: FloatArray = (vectors * np.maximum(values, 0.0)) @ vectors.T
    # What was below 0 has lifted the variances: they stay as they are, and the correlations come from the lifted ones.
    own = np.sqrt(np.maximum(np.diag(plain), 0.0) / np.maximum(np.diag(covariance), np.finfo(float).tiny))
    return covariance * own[:, None] * own


TermsOfCounts = Callable[[IntArray, IntArray], FloatArray]
"""Function from safe votes and votes of items to the addition of each item to each term: (items, terms)."""


class PerVote(NamedTuple):
    """Additions of one safe and of one unsafe vote on each item to a number, or (items, terms) to terms, and who gave which."""

    raters: Raters
    of_safe: FloatArray
    of_unsafe: FloatArray

    @classmethod
    def from_counts(cls, terms: TermsOfCounts, safe: IntArray, votes: IntArray, raters: Raters) -> Self:
        """A vote adds what the terms lose where it is exchanged for another one of its item."""
        share, own = (safe / np.maximum(votes, 1))[:, None], terms(safe, votes)
        alone = (votes / np.maximum(votes - 1, 1))[:, None]  # another one, not any one
        without_safe, without_unsafe = terms(np.maximum(safe - 1, 0), votes), terms(np.minimum(safe + 1, votes), votes)
        return cls(raters, alone * (1 - share) * (own - without_safe), alone * share * (own - without_unsafe))

    def of_number(self, gradient: FloatArray) -> PerVote:
        """Return the additions of votes to a number with this gradient by the terms."""
        return PerVote(self.raters, self.of_safe @ gradient, self.of_unsafe @ gradient)

    @property
    def variance(self) -> float:
        """The part of annotators in the variance of a number."""
        return float(annotators_covariance(self.of_safe[:, None], self.of_unsafe[:, None], self.raters)[0, 0])

    @classmethod
    def weighted(cls, parts: Sequence[tuple[float, PerVote | None]]) -> PerVote | None:
        """Return the weighted sum of numbers on the same items; None where an annotator of one is not known."""
        present = [(weight, part) for weight, part in parts if part is not None]
        if len(present) < len(parts) or len({len(part.of_safe) for _, part in present}) != 1:
            return None
        return cls(
            present[0][1].raters,
            np.sum([weight * part.of_safe for weight, part in present], axis=0),
            np.sum([weight * part.of_unsafe for weight, part in present], axis=0),
        )


def widened_for_annotators(influence: FloatArray, more: float) -> FloatArray:
    """Clusters' influences, enlarged so that their variance has `more` in it."""
    own = cluster_variance(influence)
    return influence * np.sqrt(1 + more / own) if own > 0 and more > 0 else influence
