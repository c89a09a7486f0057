"""A number measured on a sample, with what its interval and its differences from others need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    PerVote,
    Raters,
    TermsOfCounts,
    annotator_covariance,
    cluster_sums,
    cluster_variance,
    safe_divide,
)
from casewise.stats.intervals import UNBOUNDED, Domain, largest_unseen_share

Totals = Mapping[str, FloatArray]
"""Sums of named terms, each of shape (...): over all items, or moved a little for each term."""

Kind = Literal["share", "mean", "harmonic", "other"]

NO_ITEMS = "undefined: no items of that kind"


@dataclass(frozen=True)
class Measured:
    """A statistic with its influence function over clusters, from which intervals and differences follow."""

    name: str
    value: float
    """nan where undefined; `undefined` then says why."""
    n: float
    """Number of items that it is over; half an item where a tie counts half."""
    n_unscored: int
    influence: FloatArray
    """Influence of each cluster; the sum of squares times *G*/(*G* − 1) is the variance."""
    at_risk: int
    """Number of clusters with items that it is over."""
    kind: Kind = "other"
    """`share`: a proportion; `mean`: a mean over items of numbers within `domain`; `harmonic`: 2*J* / (1 + *J*) of a
    proportion *J*, as F1 is; `other`."""
    domain: Domain = UNBOUNDED
    """Smallest and largest possible value."""
    undefined: str = NO_ITEMS
    shares: tuple[Measured, ...] = ()
    """Proportions whose mean it is; empty for other numbers."""
    loss: FloatArray | None = None
    """Change of the number if the cluster were judged wrongly; None where that is not known."""
    unseen: float | None = None
    """Value if as many clusters as can go unseen were judged wrongly; None where that is not asked."""
    votes: PerVote | None = None
    """Influence of each vote; None where votes are anonymous."""
    cluster_shares: tuple[float, float] | None = None
    """Share of clusters at risk of a proportion with any item that counts, and with any that does not."""
    wordings: int = 1
    """Number of wordings that its variance is over, besides clusters."""
    threshold_variance: float = 0.0
    """Variance from thresholds that were fitted on other queries."""

    @property
    def n_independent(self) -> int:
        """Number of clusters, or of wordings where these vary more, that its variance is known from."""
        return self.at_risk if self.wordings < 2 else min(self.at_risk, self.wordings)

    @cached_property
    def extra_variance(self) -> float:
        """Variance from annotators and fitted thresholds, which the influences of clusters do not contain."""
        return self.threshold_variance + (0.0 if self.votes is None else self.votes.variance)

    @property
    def variance(self) -> float:
        r"""Cluster-robust, :math:`\frac{G}{G-1} \sum_g I_g^2` (for a ratio: `sandwich::vcovCL`, HC0, cadjust)."""
        return cluster_variance(self.influence)


def weighted_mean(parts: Sequence[tuple[float, Measured]], *, kind: Kind | None = None) -> Measured:
    """Return the weighted mean of numbers measured on the same clusters, as a number measured on them.

    `kind`: of the mean; that of the numbers if None.

    Raises StatisticsError: they were not measured on the same clusters.
    """
    numbers = [part for _, part in parts]
    if len({len(number.influence) for number in numbers}) > 1:
        raise StatisticsError("these numbers were measured on different queries, so they have no mean with an interval")
    weights = np.array([weight for weight, _ in parts])
    losses = [number.loss for number in numbers if number.loss is not None]
    unseen = [number.unseen for number in numbers if number.unseen is not None]
    return replace(
        numbers[0],
        value=float(weights @ [number.value for number in numbers]),
        n=min(number.n for number in numbers),
        n_unscored=max(number.n_unscored for number in numbers),
        influence=weights @ np.array([number.influence for number in numbers]),
        at_risk=min(number.at_risk for number in numbers),
        kind=kind or numbers[0].kind,
        undefined=next((number.undefined for number in numbers if np.isnan(number.value)), numbers[0].undefined),
        shares=(),
        loss=weights @ np.array(losses) if len(losses) == len(numbers) else None,
        unseen=float(weights @ unseen) if len(unseen) == len(numbers) else None,
        votes=PerVote.weighted([(weight, number.votes) for weight, number in parts]),
        cluster_shares=None,
    )


@dataclass(frozen=True)
class Functional:
    """A number that is a function of sums over items."""

    name: str
    formula: Callable[[Totals], FloatArray]
    n_items: Callable[[Totals], FloatArray]
    """The number of items that it is over."""
    kind: Kind = "other"
    domain: Domain = UNBOUNDED
    undefined: str = NO_ITEMS


def share(
    name: str,
    top: str,
    bottom: str,
    *,
    kind: Kind = "share",
    domain: Domain = (0.0, 1.0),
    undefined: str = NO_ITEMS,
) -> Functional:
    """Return the sum of the term `top` over that of `bottom`: a proportion, or of another `kind` a mean."""

    def formula(totals: Totals) -> FloatArray:
        return safe_divide(totals[top], totals[bottom], default=np.nan)

    return Functional(name, formula, lambda totals: totals[bottom], kind, domain, undefined)


@dataclass(frozen=True)
class TotalsByCluster:
    """Named terms summed within clusters: `sums` of shape (clusters, terms) serves every functional."""

    names: tuple[str, ...]
    sums: FloatArray
    n_unscored: int
    all_wrong: FloatArray | None = None
    """(clusters, terms), or (1, terms) of all together: the same if everything were judged wrongly; None where that is
    not asked."""
    votes: PerVote | None = None
    """The addition of each vote to the terms, with its annotator; None for anonymous votes."""

    @classmethod
    def from_terms(
        cls,
        terms: Mapping[str, FloatArray],
        cluster: NDArray[np.intp],
        *,
        n_clusters: int | None = None,
        n_unscored: int = 0,
    ) -> Self:
        """Return the terms of items summed within clusters, which are numbered from 0; `n_clusters` is by default the largest number plus 1."""
        n = int(cluster.max(initial=-1)) + 1 if n_clusters is None else n_clusters
        return cls(tuple(terms), cluster_sums(terms.values(), cluster, n_clusters=n), n_unscored)

    @classmethod
    def from_counts(
        cls,
        terms: TermsOfCounts,
        counts: tuple[IntArray, IntArray],
        cluster: NDArray[np.intp],
        *,
        names: tuple[str, ...],
        raters: Raters | None = None,
    ) -> Self:
        """Return the terms of items, made from their counts of votes, summed within clusters; `raters` say who gave which vote."""
        sums = cluster_sums(terms(*counts).T, cluster, n_clusters=int(cluster.max()) + 1)
        return cls(names, sums, 0, votes=None if raters is None else PerVote.from_counts(terms, *counts, raters))

    def select(self, *names: str) -> Self:
        """Return the totals of these terms alone, in this order."""
        at = [self.names.index(name) for name in names]
        votes = self.votes
        if votes is not None:
            votes = votes._replace(of_safe=votes.of_safe[:, at], of_unsafe=votes.of_unsafe[:, at])
        return replace(
            self,
            names=names,
            sums=self.sums[:, at],
            all_wrong=None if self.all_wrong is None else self.all_wrong[:, at],
            votes=votes,
        )

    def join(self, added: TotalsByCluster) -> Self:
        """Return these terms together with those of `added` over the same clusters."""
        votes = self.votes
        if votes is not None and added.votes is not None:
            safe, unsafe = (np.hstack(pair) for pair in zip(votes[1:], added.votes[1:], strict=True))
            votes = PerVote(votes.raters, safe, unsafe)
        return replace(
            self, names=self.names + added.names, sums=np.concatenate([self.sums.T, added.sums.T]).T, votes=votes
        )

    def by_name(self, totals: FloatArray) -> Totals:
        """Return totals of shape (..., terms) by name."""
        return dict(zip(self.names, np.moveaxis(totals, -1, 0), strict=True))

    def unseen(self, functional: Functional) -> float | None:
        """Return the number if as many clusters as can go unseen were judged wrongly."""
        if self.all_wrong is None:
            return None
        share = largest_unseen_share(len(self.sums))
        mixture = (1 - share) * self.total + share * self.all_wrong.sum(axis=0)
        return float(functional.formula(self.by_name(mixture)))

    def measure(self, functional: Functional, *, jackknife: bool = False) -> Measured:
        """Return one number with its influences; `jackknife` takes them from its value without each cluster.

        That sees how a number bends that few clusters carry, where the gradient takes it for straight (the jackknife).
        """
        totals = self.by_name(self.total)
        gradient = self.gradient(functional)
        return Measured(
            name=functional.name,
            value=float(functional.formula(totals)),
            n=float(functional.n_items(totals)),
            n_unscored=self.n_unscored,
            influence=self.jackknife_influence(functional)
            if jackknife
            else self.influence_along(gradient, self.total / max(len(self.sums), 1)),
            votes=None if self.votes is None else self.votes.along_gradient(gradient),
            at_risk=int(self.at_risk(functional).sum()),
            kind=functional.kind,
            domain=functional.domain,
            undefined=functional.undefined,
            loss=None
            if self.all_wrong is None or len(self.all_wrong) != len(self.sums)
            else -self.influence_along(gradient, self.all_wrong),
            cluster_shares=self.cluster_shares(functional) if functional.kind == "share" else None,
        )

    def added_by_annotators(self, gradients: FloatArray) -> FloatArray:
        """Return the part of annotators in the covariance of numbers with these gradients, (terms, numbers); 0 for
        anonymous votes."""
        if self.votes is None:
            return np.zeros((gradients.shape[1], gradients.shape[1]))
        votes = self.votes
        return annotator_covariance(votes.of_safe @ gradients, votes.of_unsafe @ gradients, votes.raters)

    def at_risk(self, functional: Functional) -> BoolArray:
        """Return the mask of clusters, (clusters,), with items that the number is over; of a harmonic mean, with any that could count."""
        by_cluster = self.by_name(self.sums)
        mask: BoolArray = functional.n_items(by_cluster) > 0
        return mask & ~np.isnan(functional.formula(by_cluster)) if functional.kind == "harmonic" else mask

    @cached_property
    def total(self) -> FloatArray:
        """(terms,) over all clusters."""
        sums: FloatArray = self.sums.sum(axis=0)
        return sums

    def influence_along(self, gradient: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the influence of each cluster, (clusters,), on a number with this gradient, term by term to save memory."""
        influence = np.zeros(len(self.sums))
        for place in np.flatnonzero(gradient):
            influence += gradient[place] * (self.sums[:, place] - sums[..., place])
        return influence

    def jackknife_influence(self, functional: Functional) -> FloatArray:
        """Return the addition of each cluster: the loss of the number without it, times (G - 1)/G."""
        totals, groups = self.total, len(self.sums)
        if groups < 2:
            return np.zeros(groups)
        value_without = functional.formula(self.by_name(totals - self.sums))
        value_without = np.where(np.isnan(value_without), functional.formula(self.by_name(totals)), value_without)
        influence: FloatArray = (groups - 1) / groups * (value_without.mean() - value_without)
        return influence

    def cluster_shares(self, functional: Functional) -> tuple[float, float] | None:
        """Return the share of clusters at risk of a proportion with any item that counts, and with any that does not."""
        at_risk = self.at_risk(functional)
        if not at_risk.any():
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            cluster_values = functional.formula(self.by_name(self.sums))[at_risk]
        return float((cluster_values > 0).mean()), float((cluster_values < 1).mean())

    def gradient(self, functional: Functional) -> FloatArray:
        r"""Return the gradient of the number by its sums, for the delta method: a cluster adds :math:`\nabla f \cdot (S_g - \bar S)`.

        Taken by central differences, which never make a sum negative: at a sum of 0 it is the slope upwards.
        """
        totals = self.total
        step = 1e-6 * np.maximum(1.0, np.abs(totals))
        step_down = np.where(totals >= 0, np.minimum(step, totals), step)
        shifted = totals + np.concatenate([np.diag(step), -np.diag(step_down)])
        values = functional.formula(self.by_name(shifted))
        n_terms = len(totals)
        with np.errstate(invalid="ignore"):  # of a formula that is infinite
            return np.nan_to_num((values[:n_terms] - values[n_terms:]) / (step + step_down))
