"""A number measured on a sample, with what its interval and its differences from others need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from casewise.stats.core.arrays import FloatArray, safe_divide
from casewise.stats.core.bootstrap import Resampling, cluster_sums
from casewise.stats.core.cluster_variance import cluster_variance

__all__ = ["ANALYTIC_FROM", "NO_ITEMS", "Functional", "Measured", "Totals", "TotalsByCluster", "share"]

ANALYTIC_FROM = 20_000
"""Above so many clusters the analytic error serves: it is then as good, and a bootstrap would take minutes."""

Totals = Mapping[str, FloatArray]
"""Sums of named terms, each of shape (...): over all items, or over each of many resamples."""

Kind = Literal["share", "mean", "other"]

NO_ITEMS = "undefined: no items of that kind"


@dataclass(frozen=True)
class Measured:
    """A number with its sampling behaviour over clusters.

    Attributes
    ----------
    value
        nan where undefined; `undefined` then says why.
    n
        How many items it is over; half an item where a tie counts half.
    resampled
        Its value in each resample; None with one cluster, or with more than `ANALYTIC_FROM`.
    influence
        What each cluster adds to its deviation: the sum of squares, times *G*/(*G* − 1), is its variance.
    kind
        `share`: a proportion; `mean`: a mean of something else; `other`.
    at_risk
        How many clusters have items that it is over.
    """

    name: str
    value: float
    n: float
    n_unscored: int
    resampled: FloatArray | None
    influence: FloatArray
    at_risk: int
    kind: Kind = "other"
    undefined: str = NO_ITEMS

    @property
    def variance(self) -> float:
        r"""Cluster-robust, :math:`\frac{G}{G-1} \sum_g I_g^2` (for a ratio: `sandwich::vcovCL`, HC0, cadjust)."""
        return cluster_variance(self.influence)


@dataclass(frozen=True)
class Functional:
    """A number that is a function of sums over items.

    Attributes
    ----------
    over
        How many items it is over.
    """

    name: str
    formula: Callable[[Totals], FloatArray]
    over: Callable[[Totals], FloatArray]
    kind: Kind = "other"
    undefined: str = NO_ITEMS


def share(name: str, top: str, bottom: str, *, kind: Kind = "share") -> Functional:
    """The sum of the term `top` over that of `bottom`: a proportion, or with another `kind` a mean."""

    def formula(totals: Totals) -> FloatArray:
        return safe_divide(totals[top], totals[bottom], otherwise=np.nan)

    return Functional(name, formula, over=lambda totals: totals[bottom], kind=kind)


@dataclass(frozen=True)
class TotalsByCluster:
    """Named terms summed within clusters, and over resamples of clusters: one matrix product serves every functional.

    Attributes
    ----------
    sums : (clusters, terms) floats
    resampling
        How the resamples are drawn. The same number of clusters and the same seed give the same resamples.
    """

    names: tuple[str, ...]
    sums: FloatArray
    n_unscored: int
    resampling: Resampling

    @classmethod
    def of(
        cls,
        terms: Mapping[str, FloatArray],
        cluster: NDArray[np.intp],
        *,
        n_clusters: int,
        n_unscored: int = 0,
        resampling: Resampling = Resampling(),
    ) -> Self:
        """From what each item adds to each term."""
        columns = np.column_stack([np.asarray(column, dtype=np.float64) for column in terms.values()])
        return cls(tuple(terms), cluster_sums(columns, cluster, n_clusters=n_clusters), n_unscored, resampling)

    @cached_property
    def resampled(self) -> FloatArray | None:
        """(resamples, terms) totals; None with one cluster, or with more than `ANALYTIC_FROM`."""
        if not 2 <= len(self.sums) <= ANALYTIC_FROM:
            return None
        return np.concatenate([chunk @ self.sums for chunk in self.resampling.weights(len(self.sums))])

    def named(self, totals: FloatArray) -> Totals:
        """Totals of shape (..., terms) by name."""
        return dict(zip(self.names, np.moveaxis(totals, -1, 0), strict=True))

    def measure(self, functional: Functional) -> Measured:
        """One number with its resampled values and influences."""
        totals = self.named(self.sums.sum(axis=0))
        drawn = None if self.resampled is None else functional.formula(self.named(self.resampled))
        return Measured(
            name=functional.name,
            value=float(functional.formula(totals)),
            n=float(functional.over(totals)),
            n_unscored=self.n_unscored,
            resampled=drawn,
            influence=self.influence(functional),
            at_risk=int((functional.over(self.named(self.sums)) > 0).sum()),
            kind=functional.kind,
            undefined=functional.undefined,
        )

    def influence(self, functional: Functional) -> FloatArray:
        r"""What each cluster adds, by the delta method: :math:`\nabla f \cdot (S_g - \bar S)`.

        The gradient is taken by central differences.
        """
        if not len(self.sums):
            return np.zeros(0)
        totals = self.sums.sum(axis=0)
        step = 1e-6 * np.maximum(1.0, np.abs(totals))
        around = totals + np.concatenate([np.diag(step), -np.diag(step)])
        values = functional.formula(self.named(around))
        k = len(totals)
        gradient = np.nan_to_num((values[:k] - values[k:]) / (2 * step))
        found: FloatArray = (self.sums - self.sums.mean(axis=0)) @ gradient
        return found
