r"""How well a judge orders items, whatever its scale: AUROC and Spearman's correlation, with ranks anew in each resample.

A resample gives every cluster a whole-number weight, so that ranks become weighted midranks. They are computed for all
resamples at once from sums over tied values: one sparse product and a cumulative sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.bootstrap import Resampling
from casewise.stats.core.measured import ANALYTIC_FROM, Measured

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["auroc", "spearman"]

CELLS_AT_A_TIME = 500_000
"""Weights in memory at a time: about what a processor's cache holds."""


def auroc(sample: Sample, resampling: Resampling = Resampling()) -> Measured:
    r"""The chance that an item which people call safe has a higher value than one which they call unsafe.

    With *w* the weight of "safe" and *u* = 1 − *w*, and value ties counting half,

    .. math:: A = \frac{\sum_{ij} w_i u_j \left([q_i > q_j] + \tfrac12 [q_i = q_j]\right)}{\sum_i w_i \sum_j u_j}.

    An item on which people are tied is half an item of each class. Items without a value are left out.

    References
    ----------
    .. [1] Hanley & McNeil (1982), Radiology 143, 29-36.
    .. [2] Agrees with `sklearn.metrics.roc_auc_score` with each item given twice, weighted *w* and 1 − *w*.
    """
    table = Ranked.of(sample)
    safe, unsafe = table.grouped(table.weight), table.grouped(1 - table.weight)
    once = np.ones((1, table.n_clusters))
    value = area(once @ safe, once @ unsafe)[0]
    drawn = table.over_resamples(lambda m: area(m @ safe, m @ unsafe), resampling)
    return table.measured(
        "auroc", value, drawn, influence=area_influence(safe, unsafe, value), undefined="undefined: a class is missing"
    )


def area(safe: FloatArray, unsafe: FloatArray) -> FloatArray:
    """AUROC of weights in ascending groups of tied values, shape (..., groups); nan where a class is missing."""
    below = np.cumsum(unsafe, axis=-1) - unsafe / 2
    of_both = safe.sum(axis=-1) * unsafe.sum(axis=-1)
    found: FloatArray = np.where(of_both > 0, (safe * below).sum(axis=-1) / np.where(of_both > 0, of_both, 1), np.nan)
    return found


def area_influence(safe: csr_array, unsafe: csr_array, value: float) -> FloatArray:
    """What each cluster adds to the AUROC: the derivative by its weight."""
    w, u = np.asarray(safe.sum(axis=0)), np.asarray(unsafe.sum(axis=0))
    below, above = np.cumsum(u) - u / 2, w.sum() - np.cumsum(w) + w / 2
    own = safe @ below + unsafe @ above
    expected = value * (safe.sum(axis=1) * u.sum() + unsafe.sum(axis=1) * w.sum())
    found: FloatArray = np.nan_to_num((own - expected) / max(w.sum() * u.sum(), 1e-300))
    return found


def spearman(sample: Sample, resampling: Resampling = Resampling()) -> Measured:
    """Spearman's rank correlation of the judge's values with people's safe rates: Pearson's, of midranks.

    Items without a value are left out. Undefined where either is constant.

    References
    ----------
    .. [1] Spearman (1904), American Journal of Psychology 15, 72-101. Agrees with `scipy.stats.spearmanr`.
    """
    table = Ranked.of(sample)
    cells = Cells.of(table)
    value = cells.correlation(np.ones((1, table.n_clusters)))[0]
    drawn = table.over_resamples(cells.correlation, resampling)
    return table.measured(
        "spearman", value, drawn, influence=cells.influence(value), undefined="undefined: nothing varies"
    )


@dataclass(frozen=True)
class Ranked:
    """The items that rank metrics count, with tied values in groups of ascending value."""

    weight: FloatArray
    rate: FloatArray
    group: NDArray[np.intp]
    cluster: NDArray[np.intp]
    n_clusters: int
    n_unscored: int

    @classmethod
    def of(cls, sample: Sample) -> Ranked:
        counted = sample.in_rank_metrics
        _, group = np.unique(sample.value[counted], return_inverse=True)
        return cls(
            weight=sample.weight[counted],
            rate=sample.rate[counted],
            group=group.astype(np.intp),
            cluster=sample.cluster[counted],
            n_clusters=sample.n_clusters,
            n_unscored=int(sample.unscored.sum()),
        )

    def grouped(self, weight: FloatArray) -> csr_array:
        """`weight` summed within cluster and group of tied values: shape (clusters, groups)."""
        from scipy.sparse import csr_array

        n_groups = int(self.group.max()) + 1
        return csr_array((weight, (self.cluster, self.group)), shape=(self.n_clusters, n_groups))

    def over_resamples(
        self, statistic: Callable[[FloatArray], FloatArray], resampling: Resampling
    ) -> FloatArray | None:
        """`statistic` of the clusters' weights in each resample; None where the analytic error serves."""
        if not 2 <= self.n_clusters <= ANALYTIC_FROM:
            return None
        rows = max(1, CELLS_AT_A_TIME // max(self.n_clusters, len(self.group)))
        pieces = (piece for chunk in resampling.weights(self.n_clusters) for piece in in_rows(chunk, rows))
        return np.concatenate([statistic(piece) for piece in pieces])

    def measured(
        self, name: str, value: float, drawn: FloatArray | None, *, influence: FloatArray, undefined: str
    ) -> Measured:
        return Measured(
            name=name,
            value=float(value),
            n=float(len(self.group)),
            n_unscored=self.n_unscored,
            resampled=drawn,
            influence=influence,
            at_risk=len(np.unique(self.cluster)),
            undefined=undefined,
        )


def in_rows(chunk: FloatArray, rows: int) -> Iterator[FloatArray]:
    for start in range(0, len(chunk), rows):
        yield chunk[start : start + rows]


@dataclass(frozen=True)
class Cells:
    """Items counted by cluster and by cell, a cell being one value of the judge with one safe rate."""

    counts: csr_array
    """(clusters, cells)"""
    value: NDArray[np.intp]
    """The group of tied values that each cell lies in."""
    rate: NDArray[np.intp]
    """The group of tied rates that each cell lies in."""

    @classmethod
    def of(cls, table: Ranked) -> Cells:
        from scipy.sparse import csr_array

        rates, rate = np.unique(table.rate, return_inverse=True)
        codes, cell = np.unique(table.group * len(rates) + rate, return_inverse=True)
        counts = csr_array((np.ones(len(cell)), (table.cluster, cell)), shape=(table.n_clusters, len(codes)))
        return cls(counts, value=codes // len(rates), rate=codes % len(rates))

    def correlation(self, weights: FloatArray) -> FloatArray:
        """Spearman's correlation for clusters weighted by `weights` (resamples, clusters): shape (resamples,)."""
        mass = weights @ self.counts
        x, y = centred_midranks(mass, self.value), centred_midranks(mass, self.rate)
        covariance = np.einsum("ij,ij,ij->i", mass, x, y)
        spread = np.einsum("ij,ij,ij->i", mass, x, x) * np.einsum("ij,ij,ij->i", mass, y, y)
        varies = spread > 1e-9
        return np.where(varies, np.clip(covariance / np.sqrt(np.where(varies, spread, 1)), -1, 1), np.nan)

    def influence(self, correlation: float) -> FloatArray:
        r"""What each cluster adds, by the influence function of a correlation of midranks.

        With *F* and *G* the mid-distribution functions and :math:`K(x, X) = [x < X] + \tfrac12 [x = X]`, the
        covariance E *F*(X) *G*(Y) − ¼ changes with an item at (x, y) by
        :math:`F(x) G(y) + E\,K(x, X) G(Y) + E\,F(X) K(y, Y) - 3 E\,F(X) G(Y)`.
        """
        mass = np.asarray(self.counts.sum(axis=0))
        share = mass / mass.sum()
        f = centred_midranks(share[None], self.value)[0] + 0.5
        g = centred_midranks(share[None], self.rate)[0] + 0.5
        by_value, by_rate = self.value, self.rate
        both = f * g + above(share * g, by_value) + above(share * f, by_rate) - 3 * (share * f * g).sum()
        first = f * f + 2 * above(share * f, by_value) - 3 * (share * f * f).sum()
        second = g * g + 2 * above(share * g, by_rate) - 3 * (share * g * g).sum()
        spread_f, spread_g = (share * (f - 0.5) ** 2).sum(), (share * (g - 0.5) ** 2).sum()
        if np.isnan(correlation):
            return np.zeros(self.counts.shape[0])
        each = both / np.sqrt(spread_f * spread_g) - correlation / 2 * (first / spread_f + second / spread_g)
        found: FloatArray = self.counts @ each / mass.sum()
        return found


def centred_midranks(mass: FloatArray, group: NDArray[np.intp]) -> FloatArray:
    """Each cell's midrank by its group, less the mean midrank, in units of the total mass: shape (..., cells)."""
    order = np.argsort(group, kind="stable")
    _, starts = np.unique(group[order], return_index=True)
    of_group = np.add.reduceat(mass[..., order], starts, axis=-1)
    below = np.cumsum(of_group, axis=-1)
    total = np.maximum(below[..., -1:], 1e-300)  # a resample may have none of these items
    found: FloatArray = ((below - of_group / 2) / total - 0.5)[..., group]
    return found


def above(weight: FloatArray, group: NDArray[np.intp]) -> FloatArray:
    """For each cell, the weight of the groups above its own, and half of its own."""
    of_group = np.bincount(group, weights=weight)
    found: FloatArray = (of_group.sum() - np.cumsum(of_group) + of_group / 2)[group]
    return found
