"""Which of many features separates errors from the rest, with a test that allows for the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from casewise.stats.arrays import BoolArray, FloatArray, IntArray


class Memberships(NamedTuple):
    """Pairs of items and their features: `item[k]` has `feature[k]`; no pair stands twice."""

    item: IntArray
    feature: IntArray
    parameter: IntArray
    """(features,) the parameter that each feature is a statement of."""


@dataclass(frozen=True)
class Separation:
    """The feature, or the parameter, that separates errors best."""

    feature: int | None
    """The feature; None where the features of one parameter together separate best."""
    parameter: int
    p: float
    """P value of the hypothesis that errors are related to no feature or parameter, by permuted errors; it allows for the search."""
    searched: int
    """Number of features and parameters that were searched."""


PERMUTATIONS = 999
"""Number of permutations of at most `MANY` items."""

FEW_PERMUTATIONS = 199
"""Number of permutations of more than `MANY` items."""

MANY = 2_000
"""Number of items above which there are fewer permutations."""

LEAST_ITEMS = 3
"""Number of items with, and without, a feature below which it is not searched."""


def separation(
    error: BoolArray, has: Memberships, cluster: NDArray[np.intp], *, rng: np.random.Generator
) -> Separation | None:
    r"""Return the feature whose items err most beyond chance; None where there is nothing to search.

    Two families of statistics are searched. Within clusters: the errors of a feature's items less the mean of their cluster,

    .. math:: T_f = \sum_{i \in f} (e_i - \bar e_{q(i)}),

    where errors are permuted among the items of each cluster. Between clusters: the share of a feature in each cluster times
    the cluster's mean error, where means are permuted among clusters. Each is divided by its spread over permutations. Of
    the features of one parameter together, :math:`\sum_f T_f^2 / n_f` is the statistic, as a cube root, which is close to
    normal. The largest of a family is compared with the largest of each permutation, which allows for the search and
    for features that stand together; the smaller p of the two families counts twice.

    `error`: (items,) True for an error.
    `cluster`: (items,) the query of each item, from 0.

    Source: Westfall & Young (1993), Resampling-based multiple testing, chapter 2 (maxT); Wilson & Hilferty (1931), PNAS 17.
    """
    n, n_features = len(error), len(has.parameter)
    size = np.bincount(has.feature, minlength=n_features)
    searched = (size >= LEAST_ITEMS) & (size <= n - LEAST_ITEMS)
    if error.all() or not error.any() or not searched.any():
        return None
    from scipy.sparse import csr_array  # 0.1 s that not every report needs to wait for

    searched_feature = searched[has.feature]
    place = np.cumsum(searched) - 1
    ones = (np.ones(int(searched_feature.sum())), (place[has.feature[searched_feature]], has.item[searched_feature]))
    stands = csr_array(ones, shape=(int(searched.sum()), n))
    parameter = has.parameter[searched]
    n_permutations = PERMUTATIONS if n <= MANY else FEW_PERMUTATIONS
    _, query, in_query = np.unique(cluster, return_inverse=True, return_counts=True)
    mean = np.bincount(query, weights=error) / in_query
    within = np.column_stack(
        [error - mean[query], *(within_clusters(error, query, rng) - mean[query] for _ in range(n_permutations))]
    )
    between = np.column_stack([mean, *(rng.permutation(mean) for _ in range(n_permutations))]) - mean.mean()
    families = [
        Family.from_totals(np.asarray(stands @ within), size[searched], parameter),
        Family.from_totals(np.asarray(stands @ (between / in_query[:, None])[query]), size[searched], parameter),
    ]
    best = min(families, key=lambda family: (family.p, -family.largest))
    n_searched = int(searched.sum()) + len(np.unique(parameter))
    p = min(1.0, len(families) * best.p)
    if best.place < len(parameter):
        return Separation(int(np.flatnonzero(searched)[best.place]), int(parameter[best.place]), p, n_searched)
    return Separation(None, int(np.unique(parameter)[best.place - len(parameter)]), p, n_searched)


def within_clusters(error: BoolArray, query: NDArray[np.intp], rng: np.random.Generator) -> FloatArray:
    """Return the errors, permuted among the items of each query."""
    permuted = np.empty(len(error))
    permuted[np.argsort(query, kind="stable")] = error[np.lexsort((rng.random(len(error)), query))]
    return permuted


class Family(NamedTuple):
    """The largest statistic of a family, its place, and its p value among permutations."""

    place: int
    largest: float
    p: float

    @classmethod
    def from_totals(cls, totals: FloatArray, size: IntArray, parameter: IntArray) -> Family:
        """Return a family from (features, 1 + permutations) totals, of which the first column is observed."""
        _, code = np.unique(parameter, return_inverse=True)
        together = np.zeros((int(code.max()) + 1, totals.shape[1]))
        np.add.at(together, code, totals**2 / size[:, None])
        is_single = np.bincount(code)[:, None] < 2  # a single statement is searched as itself
        statistic = standardised(np.vstack([totals, np.where(is_single, 0.0, np.cbrt(together))]))
        largest = statistic.max(axis=0)
        p = float((largest >= largest[0] - 1e-9).mean())
        return cls(int(statistic[:, 0].argmax()), float(largest[0]), p)


def standardised(statistic: FloatArray) -> FloatArray:
    """Return each row less its mean over its spread; 0 for a row that no permutation changes."""
    spread, centred = statistic.std(axis=1, keepdims=True), statistic - statistic.mean(axis=1, keepdims=True)
    result: FloatArray = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-9)
    return result
