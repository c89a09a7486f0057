"""Whether anonymous votes depend on each other across items: do columns of votes vary more than chance allows?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.checks import clusters_of, numbers, whole

__all__ = ["ColumnDependence", "column_dependence"]


@dataclass(frozen=True)
class ColumnDependence:
    """How much more the columns vary within blocks of items than if each item's votes stood in random order."""

    ratio: float
    """Observed over expected variance of column sums within blocks; 1 where the order of votes means nothing. It is
    also about the factor by which the error variance of a block's mean rate is larger than independent votes give."""
    correlation: float
    """Mean correlation of two votes of one column in one block, from ratio = 1 + (block − 1) · correlation."""
    z: float
    p: float
    """Standardised by the exact permutation variance; *p* is one-sided and normal."""
    block: int
    n_blocks: int
    n_items: int
    n_columns: int


def column_dependence(votes: ArrayLike, *, block: int = 25, group: NDArray[np.int64] | None = None) -> ColumnDependence:
    r"""Test whether votes in one column, within blocks of successive items, go together.

    With :math:`e_{ic}` the vote of item *i* in column *c* less the item's mean, and blocks *B* of successive items,

    .. math:: T = \sum_B \sum_c \Bigl(\sum_{i \in B} e_{ic}\Bigr)^2, \qquad
       E\,T = \sum_i S_i, \qquad \mathrm{Var}\,T = \frac{4}{m-1} \sum_B \sum_{i<j \in B} S_i S_j,

    where :math:`S_i = \sum_c e_{ic}^2` and *m* is the number of columns. Both moments are exact when each item's votes
    are permuted at random, independently of other items: cross products of different pairs of items are uncorrelated.
    Items' own rates are held fixed, so no trend of rates along the file can produce a finding.

    `votes`: (items, columns) of 0 and 1; in the order of the file.
    `block`: successive items taken together; about as many as one person rates. The rest of an incomplete block counts too.
    `group`: (items,) integers; items of different groups, such as conditions with people of their own, share no block.
        All one by default.

    Raises StatisticsError: there are fewer than two items, two columns, or no item on which votes differ.

    Source: own derivation; the moments agree with simulated permutations (tests/stats/test_vote_columns.py).
    """
    table = numbers(votes, "votes")
    if table.ndim != 2 or min(table.shape) < 2 or whole(block, "block", least=0) < 2:
        raise StatisticsError("vote columns need at least two items, two columns and blocks of two")
    if not ((table == 0) | (table == 1)).all():
        raise StatisticsError("votes must be 0 or 1")
    order, starts = blocks(clusters_of(np.zeros(len(table)) if group is None else group, len(table)), block)
    residual = (table - table.mean(axis=1, keepdims=True))[order]
    own = (residual**2).sum(axis=1)
    observed = float((np.add.reduceat(residual, starts, axis=0) ** 2).sum())
    expected = float(own.sum())
    pairs = (np.add.reduceat(own, starts) ** 2 - np.add.reduceat(own**2, starts)) / 2
    variance = 4 * float(pairs.sum()) / (table.shape[1] - 1)
    if variance <= 0:
        raise StatisticsError("there is nothing to test: within blocks, at most one item has votes that differ")
    z = (observed - expected) / np.sqrt(variance)
    ratio = observed / expected
    return ColumnDependence(
        ratio=ratio,
        correlation=(ratio - 1) / pair_share(own, starts),
        z=float(z),
        p=float(ndtr(-z)),
        block=block,
        n_blocks=len(starts),
        n_items=len(table),
        n_columns=table.shape[1],
    )


class Blocks(NamedTuple):
    """Items sorted by group, and where each block begins among them."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]


def blocks(group: NDArray[np.int64], size: int) -> Blocks:
    order = np.argsort(group, kind="stable")
    sizes = np.unique(group, return_counts=True)[1]
    ends = np.cumsum(sizes)
    starts = [np.arange(end - n, end, size) for n, end in zip(sizes, ends, strict=True)]
    return Blocks(order, np.concatenate(starts))


def pair_share(own: FloatArray, starts: NDArray[np.int64]) -> float:
    """What a correlation of one adds to the ratio: block size less one, where all items count alike."""
    root = np.sqrt(own)
    together = np.add.reduceat(root, starts) ** 2 - np.add.reduceat(own, starts)
    return float(together.sum() / own.sum())
