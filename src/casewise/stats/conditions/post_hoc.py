"""After Kruskal-Wallis: which two conditions differ on a task?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from casewise.errors import StatisticsError
from casewise.stats.conditions.proportions import two_proportion_z
from casewise.stats.core.arrays import BoolArray, Counts, FloatArray, IntArray, checked_counts, safe_divide
from casewise.stats.core.multiplicity import Correction, adjust
from casewise.stats.core.tails import two_sided_log_p

__all__ = ["PairwiseTests", "dunn", "pairwise_proportions"]


@dataclass(frozen=True)
class PairwiseTests:
    """Every pair of groups on every task; arrays have shape (..., pairs)."""

    pairs: IntArray
    """(pairs, 2) indices of the groups."""
    z: FloatArray
    """Positive where the *second* group of the pair is the safer one (as in R's rstatix)."""
    p: FloatArray
    """Two-sided, not adjusted."""
    log_p: FloatArray
    p_bonferroni: FloatArray
    p_holm: FloatArray
    p_benjamini_hochberg: FloatArray
    testable: BoolArray
    """False where the pair (for Dunn: the task) has nothing to test; then p is 1 and the family one smaller."""

    def adjusted(self, method: Correction) -> FloatArray:
        """The p values after another correction within each task."""
        return adjust(self.p, method, where=self.testable)


def dunn(successes: ArrayLike, sizes: ArrayLike) -> PairwiseTests:
    r"""Dunn's test of every two groups, with ranks shared by all groups of the task.

    On 0/1 ratings the mean ranks differ by :math:`\tfrac{N}{2}(p_j - p_i)`, and with the correction for ties

    .. math:: z_{ij} = \frac{p_j - p_i}{\sqrt{\frac{N}{N-1}\,p(1-p)\left(\frac{1}{n_i} + \frac{1}{n_j}\right)}}.

    Parameters
    ----------
    successes, sizes : (..., groups) integers
        As for `kruskal_wallis`.

    Returns
    -------
    PairwiseTests
        Corrected within each task by Bonferroni, Holm and Benjamini-Hochberg.

    Raises
    ------
    StatisticsError
        A count is negative or exceeds its size, or there are fewer than two groups.

    References
    ----------
    .. [1] Dunn (1964), Technometrics 6, 241-252.
    .. [2] R: `rstatix::dunn_test`; `dunn.test` gives the opposite sign.
    """
    counts = checked_counts(successes, sizes)
    pairs = _pairs(counts)
    total, safe = counts.sizes.sum(-1)[..., None], counts.successes.sum(-1)[..., None]
    a, m, b, n = _sides(counts, pairs)
    testable = (safe > 0) & (safe < total) & (m > 0) & (n > 0)
    cross = (b * m - a * n).astype(float)
    spread = np.where(testable, 1.0 * m * n * (m + n) * safe * (total - safe), 0.0)
    z = cross * np.sqrt(safe_divide(1.0 * total * (total - 1), spread))
    return _adjusted(pairs, z, testable)


def pairwise_proportions(successes: ArrayLike, sizes: ArrayLike) -> PairwiseTests:
    """Two-proportion z test of every two groups on their own ratings (R: `pairwise.prop.test(correct = FALSE)`).

    Parameters, results and errors as `dunn`; a pair on which everyone agrees is not testable.
    """
    counts = checked_counts(successes, sizes)
    pairs = _pairs(counts)
    a, m, b, n = _sides(counts, pairs)
    result = two_proportion_z(b, n, a, m)
    return _adjusted(pairs, result.z, result.testable)


def _pairs(counts: Counts) -> IntArray:
    groups = counts.sizes.shape[-1] if counts.sizes.ndim else 1
    if groups < 2:
        raise StatisticsError("there is nothing to compare: only one group was given")
    return np.array(list(combinations(range(groups), 2)), dtype=np.int64)


def _sides(counts: Counts, pairs: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    i, j = pairs.T
    return counts.successes[..., i], counts.sizes[..., i], counts.successes[..., j], counts.sizes[..., j]


def _adjusted(pairs: IntArray, z: FloatArray, testable: BoolArray) -> PairwiseTests:
    p = np.minimum(2 * ndtr(-np.abs(z)), 1.0)
    return PairwiseTests(
        pairs=pairs,
        z=z,
        p=p,
        log_p=two_sided_log_p(z),
        p_bonferroni=adjust(p, "bonferroni", where=testable),
        p_holm=adjust(p, "holm", where=testable),
        p_benjamini_hochberg=adjust(p, "benjamini_hochberg", where=testable),
        testable=testable,
    )
