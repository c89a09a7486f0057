"""Arrays checked once, and clusters and raters in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError

# The arrays that statistics are computed on, and the check that counts are counts.


LARGEST_COUNT = 100_000_000
"""Products of two counts then stay whole in 64 bits; no study has more votes on an item."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Counts(NamedTuple):
    """Successes out of sizes, of one shape."""

    successes: IntArray
    sizes: IntArray


def renumbered(codes: NDArray[np.integer]) -> NDArray[np.intp]:
    """Integers as 0, 1, 2, ... in their order. Where they lie close they are counted, which takes a tenth of sorting."""
    if not len(codes) or codes.min() < 0 or codes.max() >= 4 * len(codes):
        sorted_codes: NDArray[np.intp] = np.unique(codes, return_inverse=True)[1].ravel()
        return sorted_codes
    present = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    present[codes] = True
    codes_there: NDArray[np.intp] = (np.cumsum(present) - 1)[codes]
    return codes_there


def integers(values: ArrayLike, name: str) -> IntArray:
    """`values` as 64-bit integers.

    Raises StatisticsError: a value is no whole number, negative, or larger than `LARGEST_COUNT`.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise StatisticsError(f"{name} must be whole numbers in rows of one length") from None
    numeric = array.dtype.kind in "biu" or (array.dtype.kind == "f" and bool(np.isfinite(array).all()))
    if not numeric or (array.dtype.kind == "f" and not np.array_equal(np.floor(array), array)):
        raise StatisticsError(f"{name} must be whole numbers, not {values!r}")
    if array.size and array.min() < 0:
        raise StatisticsError(f"{name} must not be negative; the smallest is {array.min()}")
    if array.size and array.max() > LARGEST_COUNT:
        raise StatisticsError(f"{name} of up to {LARGEST_COUNT:,} are counted; the largest is {array.max():,}")
    return array.astype(np.int64)


def checked_counts(successes: ArrayLike, sizes: ArrayLike) -> Counts:
    """Both as integers of one shape, after broadcasting.

    Raises StatisticsError: a count is no whole number, is negative, or exceeds its size; or the shapes do not fit.
    """
    counted, out_of = integers(successes, "successes"), integers(sizes, "sizes")
    try:
        counted, out_of = np.broadcast_arrays(counted, out_of)
    except ValueError:
        raise StatisticsError(f"successes of shape {counted.shape} do not fit sizes of shape {out_of.shape}") from None
    if (counted > out_of).any():
        where = tuple(int(i) for i in np.argwhere(counted > out_of)[0])
        raise StatisticsError(
            f"{counted[where]} successes out of {out_of[where]} at index {where}: more than there are"
        )
    return Counts(counted, out_of)


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


# What a statistic may be asked: values, labels and settings checked once, so that nothing comes out nan in
# silence.


Scalar = TypeVar("Scalar", bound=np.generic)


def numbers(values: ArrayLike, name: str) -> FloatArray:
    """`values` as finite floats.

    Raises StatisticsError: a value is no number, is nan or is infinite; or rows differ in length.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise StatisticsError(f"{name} must be numbers") from None
    if not np.isfinite(array).all():
        raise StatisticsError(f"{name} must be finite numbers; {np.sum(~np.isfinite(array))} of {array.size} are not")
    return array


def vector(values: ArrayLike, name: str) -> FloatArray:
    """`values` as finite floats in one dimension."""
    array = numbers(values, name)
    if array.ndim != 1:
        raise StatisticsError(f"{name} must be one list of numbers, not of shape {array.shape}")
    return array


def partly_known(values: ArrayLike, name: str, *, shape: tuple[int, ...] | None = None) -> FloatArray:
    """`values` as floats, nan where one is not known; of this shape, where one is wanted.

    Raises StatisticsError: a value is no number or is infinite, or the shape is another one.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise StatisticsError(f"{name} must be numbers, nan where one is not known") from None
    if np.isinf(array).any() or (shape is not None and array.shape != shape):
        raise StatisticsError(f"{name} must be finite numbers or nan" + (f" of shape {shape}" if shape else ""))
    return array


def truths(values: ArrayLike, name: str) -> BoolArray:
    """`values`, each true or false (1 or 0), in one dimension."""
    array = vector(values, name)
    if not ((array == 0) | (array == 1)).all():
        raise StatisticsError(f"{name} must be true or false, 1 or 0")
    mask: BoolArray = array == 1
    return mask


def coded_labels(values: ArrayLike, name: str) -> IntArray:
    """`values` as the numbers 0, 1, 2, ... of their sorted names, in one dimension.

    Raises StatisticsError: a label is missing (None or nan), or the labels are of kinds that cannot be compared.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise StatisticsError(f"{name} must be one list of labels") from None
    if array.ndim != 1:
        raise StatisticsError(f"{name} must be one list of labels, not of shape {array.shape}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise StatisticsError(f"{name} must not be missing; {np.isnan(array).sum()} of {array.size} are")
    if array.dtype.kind in "iu":
        return renumbered(array)
    try:
        codes: IntArray = np.unique(array, return_inverse=True)[1].ravel()
    except TypeError:
        raise StatisticsError(f"{name} must all be of one kind, and none missing") from None
    return codes


def clusters_of(clusters: ArrayLike | None, n: int) -> IntArray:
    """The cluster of each of `n` items as a number; each its own where none are given."""
    if clusters is None:
        return np.arange(n)
    codes = coded_labels(clusters, "clusters")
    if len(codes) != n:
        raise StatisticsError(f"there are {n} items and clusters of {len(codes)}")
    return codes


def of_one_length(**columns: NDArray[Any] | None) -> int:
    """Return the common length of all columns. Raises StatisticsError: they differ in length."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise StatisticsError(f"lengths differ: {', '.join(f'{n} {name}' for name, n in lengths.items())}")
    return next(iter(lengths.values()))


def of_one_shape(columns: Mapping[str, NDArray[Scalar]]) -> list[NDArray[Scalar]]:
    """All columns broadcast against each other. Raises StatisticsError: their shapes do not fit."""
    try:
        return list(np.broadcast_arrays(*columns.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise StatisticsError(f"shapes do not fit: {shapes}") from None


def whole(value: object, name: str, *, least: int) -> int:
    """`value` as a whole number of at least `least`. Raises StatisticsError: it is none, or smaller."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StatisticsError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def checked_votes_of_items(safe: ArrayLike, votes: ArrayLike) -> tuple[IntArray, IntArray]:
    """Safe votes and votes of a list of items.

    Raises StatisticsError: as `checked_counts`; also where they are no list, or hold no item.
    """
    counts = checked_counts(safe, votes)
    if counts.sizes.ndim != 1 or not len(counts.sizes):
        raise StatisticsError(f"votes must be a list with a number an item, not of shape {counts.sizes.shape}")
    return counts.successes, counts.sizes


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
    sums = vector(influence, "influence")
    if clusters is not None:
        ids = coded_labels(clusters, "clusters")
        of_one_length(influences=sums, clusters=ids)
        sums = np.bincount(ids, weights=sums).astype(float)
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
    safe: BoolArray | FloatArray
    """True and false, or shares of 1: what a vote adds to a number lies between what a safe and an unsafe one add."""

    def of(self, items: int) -> Raters:
        """The same, of a table of so many items.

        Raises StatisticsError: the columns differ in length, or name items that the table has not.
        """
        if len({len(column) for column in self}) > 1 or (
            len(self.item) and not 0 <= self.item.min() <= self.item.max() < items
        ):
            raise StatisticsError(f"raters must be a vote a row, on items from 0 to {items - 1}")
        return self

    def where(self, mask: BoolArray) -> Raters:
        """The votes on the items of `mask`, at their new places."""
        self.of(len(mask))
        on_items = mask[self.item]
        place = np.cumsum(mask) - 1
        return Raters(place[self.item[on_items]], self.annotator[on_items], self.safe[on_items])


def annotators_variance(of_safe: FloatArray, of_unsafe: FloatArray, raters: Raters) -> float:
    """:math:`V_{annotator} - V_{cell}`, at least 0: what a number varies by because people differ throughout.

    `of_safe`, `of_unsafe`: (items,); the influence of one safe and of one unsafe vote on each item.
    """
    return float(annotators_covariance(of_safe[:, None], of_unsafe[:, None], raters)[0, 0])


def annotators_covariance(of_safe: FloatArray, of_unsafe: FloatArray, raters: Raters) -> FloatArray:
    """The same of several numbers together, from the influences of votes on each, (items, numbers): no variance below 0."""
    raters.of(len(of_safe))
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


class PerVote(NamedTuple):
    """The addition of one safe and of one unsafe vote on each item to a number, and who gave which."""

    raters: Raters
    of_safe: FloatArray
    of_unsafe: FloatArray

    @property
    def variance(self) -> float:
        """The part of annotators in the number's variance."""
        return annotators_variance(self.of_safe, self.of_unsafe, self.raters)

    @classmethod
    def weighted(cls, parts: Sequence[tuple[float, PerVote | None]]) -> PerVote | None:
        """Of a weighted sum of numbers on the same items; None where it is not known of one who voted."""
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
