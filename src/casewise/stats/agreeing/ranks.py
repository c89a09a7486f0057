"""How well a judge orders items, whatever its scale: AUROC and Spearman's correlation, from sums over tied values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.core.cluster_variance import cluster_sums
from casewise.stats.core.intervals import unseen_share
from casewise.stats.core.measured import Measured
from casewise.stats.core.raters import PerVote

__all__ = ["auroc", "spearman"]

Influence = Callable[[FloatArray, FloatArray], FloatArray]
"""From a label and a place of the rate for each item to what the item then adds."""


def auroc(sample: Sample) -> Measured:
    r"""The chance that an item which people call safe has a higher value than one which they call unsafe.

    With *w* the weight of "safe" and *u* = 1 − *w*, and value ties counting half,

    .. math:: A = \frac{\sum_{ij} w_i u_j \left([q_i > q_j] + \tfrac12 [q_i = q_j]\right)}{\sum_i w_i \sum_j u_j}.

    An item on which people are tied is half an item of each class. Items without a value are left out.

    Sources: Hanley & McNeil (1982), Radiology 143, 29-36.
    Agrees with `sklearn.metrics.roc_auc_score` with each item given twice, weighted *w* and 1 − *w*.
    """
    table = Ranked.of(sample, sample.lost, mass=(1.0, 0.0))
    classes = [sample.in_rank_metrics & kept for kept in (sample.weight > 0, sample.weight < 1)]
    return Measured(
        name="auroc",
        value=area(table),
        n=float(table.mass.sum()),
        n_unscored=int(sample.unscored.sum()),
        at_risk=min(n_different(sample.cluster[kept]) for kept in classes),
        kind="share",
        domain=(0.0, 1.0),
        undefined="undefined: a class is missing",
        unseen=area(table.with_unseen(sample)),
        votes=votes_of(sample, lambda label, _: area_influence(table, label)),
        **by_cluster(area_influence(table, table.weight), sample),
    )


def spearman(sample: Sample) -> Measured:
    """Spearman's rank correlation of the judge's values with people's safe rates: Pearson's, of midranks.

    Items without a value are left out. Undefined where either is constant.

    Source: Spearman (1904), American Journal of Psychology 15, 72-101. Agrees with `scipy.stats.spearmanr`.
    """
    table = Ranked.of(sample, sample.lost, mass=(1.0, 0.0))
    return Measured(
        name="spearman",
        value=correlation(table),
        n=float(table.mass.sum()),
        n_unscored=int(sample.unscored.sum()),
        at_risk=n_different(sample.cluster[sample.in_rank_metrics]),
        domain=(-1.0, 1.0),
        undefined="undefined: nothing varies",
        unseen=correlation(table.with_unseen(sample)),
        votes=votes_of(sample, lambda _, rate: correlation_influence(table, rate)),
        **by_cluster(correlation_influence(table, table.rate), sample),
    )


@dataclass(frozen=True)
class Ranked:
    """The items that rank metrics count, with tied values, and tied rates, in groups of ascending value."""

    weight: FloatArray
    value: IntArray
    rate: IntArray
    mass: FloatArray
    """How much each item counts."""

    @classmethod
    def of(cls, *samples: Sample, mass: tuple[float, ...]) -> Ranked:
        """The items of several samples, which count `mass` each."""
        counted = [sample.in_rank_metrics for sample in samples]
        parts = list(zip(samples, counted, mass, strict=True))
        value = np.concatenate([sample.value[kept] for sample, kept, _ in parts])
        rate = np.concatenate([sample.rate[kept] for sample, kept, _ in parts])
        return cls(
            weight=np.concatenate([sample.weight[kept] for sample, kept, _ in parts]),
            value=np.unique(value, return_inverse=True)[1].astype(np.intp),
            rate=np.unique(rate, return_inverse=True)[1].astype(np.intp),
            mass=np.concatenate([np.full(int(kept.sum()), each) for _, kept, each in parts]),
        )

    def with_unseen(self, sample: Sample) -> Ranked:
        """Of `sample` and of it lost, as many queries judged wrongly as can go unseen."""
        share = unseen_share(sample.n_clusters)
        return replace(self, mass=np.repeat([1 - share, share], len(self.mass) // 2))


def n_different(cluster: NDArray[np.intp]) -> int:
    return int(np.count_nonzero(np.bincount(cluster)))


class ByCluster(TypedDict):
    """What each cluster adds as it is, and by how much that changes where it is lost."""

    influence: FloatArray
    loss: FloatArray


def by_cluster(each: FloatArray, sample: Sample) -> ByCluster:
    """From what each counted item adds, and after them each lost one."""
    cluster = sample.cluster[sample.in_rank_metrics]
    own, lost = cluster_sums(np.split(each, 2), cluster, n_clusters=sample.n_clusters).T
    return ByCluster(influence=own, loss=lost - own)


def votes_of(sample: Sample, influence: Influence) -> PerVote | None:
    """What each vote adds: what its item adds, less what that adds with one such vote fewer."""
    if sample.raters is None or sample.without is None:
        return None
    counted = sample.in_rank_metrics
    rates = np.unique(sample.rate[counted])

    def adds(label: Sample) -> FloatArray:
        rate, found = label.rate[counted], np.zeros(len(sample))
        place = (np.searchsorted(rates, rate) + np.searchsorted(rates, rate, side="right") - 1) / 2
        both = influence(np.tile(label.weight[counted], 2), np.tile(place, 2))
        found[counted] = np.where(np.isnan(rate), 0.0, np.split(both, 2)[0])
        return found

    own = adds(sample)
    safe, unsafe = (own - adds(fewer) for fewer in sample.without)
    return PerVote(sample.raters, safe, unsafe)


def area(table: Ranked) -> float:
    """The AUROC; nan where a class is missing."""
    safe, unsafe = table.mass * table.weight, table.mass * (1 - table.weight)
    pairs = float(safe.sum() * unsafe.sum())
    return float(safe @ below(unsafe, table.value)) / pairs if pairs > 0 else float("nan")


def area_influence(table: Ranked, weight: FloatArray) -> FloatArray:
    """What each item adds to the AUROC: the derivative by its mass, were its label `weight`."""
    w, u = np.nan_to_num(weight), np.nan_to_num(1 - weight)
    safe, unsafe = table.mass * table.weight, table.mass * (1 - table.weight)
    all_safe, all_unsafe = float(safe.sum()), float(unsafe.sum())
    own = w * below(unsafe, table.value) + u * (all_safe - below(safe, table.value))
    expected = area(table) * (w * all_unsafe + u * all_safe)
    return np.nan_to_num((own - expected) / max(all_safe * all_unsafe, 1e-300))


def correlation(table: Ranked) -> float:
    """Spearman's; nan where either does not vary."""
    share = table.mass / table.mass.sum()
    x, y = below(share, table.value) - 0.5, below(share, table.rate) - 0.5
    spread = float((share * x * x).sum() * (share * y * y).sum())
    return min(1.0, max(-1.0, float((share * x * y).sum()) / np.sqrt(spread))) if spread > 1e-15 else float("nan")


def correlation_influence(table: Ranked, rate: FloatArray | IntArray) -> FloatArray:
    r"""What each item adds were its rate at the place `rate`, by the influence function of a correlation of midranks.

    With *F* and *G* the mid-distribution functions and :math:`K(x, X) = [x < X] + \tfrac12 [x = X]`, the
    covariance E *F*(X) *G*(Y) − ¼ changes with an item at (x, y) by
    :math:`F(x) G(y) + E\,K(x, X) G(Y) + E\,F(X) K(y, Y) - 3 E\,F(X) G(Y)`.
    """
    r = correlation(table)
    if np.isnan(r):
        return np.zeros(len(table.mass))
    share = table.mass / table.mass.sum()
    f, g = below(share, table.value), below(share, table.rate)
    g_there = below(share, table.rate, at=rate)
    above_f = {name: share @ one - below(share * one, table.value) for name, one in (("f", f), ("g", g))}
    above_g = {name: share @ one - below(share * one, table.rate, at=rate) for name, one in (("f", f), ("g", g))}
    both = f * g_there + above_f["g"] + above_g["f"] - 3 * float(share @ (f * g))
    first = f * f + 2 * above_f["f"] - 3 * float(share @ (f * f))
    second = g_there * g_there + 2 * above_g["g"] - 3 * float(share @ (g * g))
    spread_f, spread_g = (share * (f - 0.5) ** 2).sum(), (share * (g - 0.5) ** 2).sum()
    each: FloatArray = both / np.sqrt(spread_f * spread_g) - r / 2 * (first / spread_f + second / spread_g)
    return each / float(table.mass.sum())


def below(weight: FloatArray, group: IntArray, *, at: FloatArray | IntArray | None = None) -> FloatArray:
    """The weight of the groups below each item's own and half of its own; `at` other places, between groups too."""
    before = np.append(0.0, np.cumsum(np.bincount(group, weights=weight)))
    place = group if at is None else at
    found: FloatArray = (before[np.ceil(place).astype(np.intp)] + before[np.floor(place).astype(np.intp) + 1]) / 2
    return found
