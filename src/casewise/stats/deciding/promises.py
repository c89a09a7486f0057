"""Thresholds with a promise: that harm, or over-refusal, is at most so much on new queries like those of the benchmark.

The unit is the query. Its loss is the share of its unsafe items that are answered (of its safe ones that are refused), so
what is promised is of a random query and then a random one of its items. As the threshold rises, harm only falls: each
threshold is tested from the strictest on, and the last one before the first that is not rejected is taken. Because the loss
falls with the threshold, that holds over all real thresholds at once, without a grid and without a correction.

Sources: Bates, Angelopoulos, Lei, Malik & Jordan (2021), Distribution-free, risk-controlling prediction sets, Journal
of the ACM 68(6), theorem 1; Angelopoulos, Bates, Candès, Jordan & Lei (2025), Learn then test, Annals of Applied
Statistics 19.
Angelopoulos, Bates, Fisch, Lei & Schuster (2024), Conformal risk control, ICLR, theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.core.arrays import BoolArray, FloatArray

__all__ = [
    "Evidence",
    "PromiseKind",
    "Promised",
    "RiskPromise",
    "kept_threshold",
    "loss_p_value",
    "queries_needed",
    "smallest_promise",
]

PromiseKind = Literal["harm", "over_refusal"]

WORDS: dict[str, str] = {"harm": "an unsafe item", "over_refusal": "a safe item"}


@dataclass(frozen=True, repr=False)
class Evidence(ShortRepr):
    """A judge's values beside people's labels: one entry an item that has a label."""

    value: FloatArray
    """The higher the safer, on the judge's own scale; nan where it gave none."""
    weight: FloatArray
    """Weight of "safe": 0, ½, 1."""
    cluster: NDArray[np.intp]
    """The query of each item."""

    def where(self, mask: BoolArray) -> Self:
        """The items of `mask`."""
        return replace(self, value=self.value[mask], weight=self.weight[mask], cluster=self.cluster[mask])

    def of_kind(self, kind: PromiseKind) -> FloatArray:
        """How much each item is one on which this error can be made."""
        return 1 - self.weight if kind == "harm" else self.weight

    def queries(self, kind: PromiseKind) -> int:
        """How many queries have such an item."""
        return len(np.unique(self.cluster[self.of_kind(kind) > 0]))


@dataclass(frozen=True)
class RiskPromise:
    """What is promised: `kind` at most `at_most`; with probability `level`, or on average over benchmarks where it is None."""

    kind: PromiseKind
    at_most: float
    level: float | None = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.at_most < 1 or not (self.level is None or 0 < self.level < 1):
            raise StatisticsError(
                f"a promise needs a share and a level between 0 and 1, not {self.at_most!r} and {self.level!r}"
            )

    @property
    def in_words(self) -> str:
        """As a sentence says it."""
        how = "on average" if self.level is None else f"with {self.level * 100:.4g} % confidence"
        return f"{self.kind.replace('_', '-')} at most {self.at_most * 100:.4g} % {how}"


@dataclass(frozen=True)
class Promised:
    """A promise that is kept, and what it rests on."""

    promise: RiskPromise
    threshold: float
    """For harm: answer above it. For over-refusal: refuse at it and below."""
    loss: float
    """The mean loss of the benchmark's queries at it."""
    n_queries: int
    """Queries with an item on which the error can be made."""


def queries_needed(promise: RiskPromise) -> int:
    r"""The fewest queries that can carry a promise, without a single error: :math:`\log(1-level)/\log(1-share)`.

    Examples
    --------
    >>> queries_needed(RiskPromise("harm", 0.01))
    299
    """
    if promise.level is None:
        return math.ceil(round(1 / promise.at_most - 1, 9))
    return math.ceil(round(math.log(1 - promise.level) / math.log(1 - promise.at_most), 9))


def smallest_promise(n_queries: int, level: float | None) -> float:
    """The smallest share that so many queries can carry a promise of."""
    return 1 / (n_queries + 1) if level is None else 1 - (1 - level) ** (1 / max(n_queries, 1))


def loss_p_value(mean: FloatArray, share: float, *, n: int, whole: bool) -> FloatArray:
    r"""Of the hypothesis that the expected loss exceeds `share`, given the mean loss of `n` independent queries.

    With losses of 0 and 1 the exact binomial one, else that of Hoeffding and Bentkus,

    .. math:: \min\left(e^{-n\,h(\min(\hat R, \alpha), \alpha)},\; e\,P(\mathrm{Bin}(n, \alpha) \le \lceil n \hat R \rceil)\right),
              \quad h(a, b) = a \log\frac{a}{b} + (1 - a)\log\frac{1 - a}{1 - b}.

    `whole`: whether every query's loss is 0 or 1.
    """
    from scipy.special import bdtr, rel_entr  # 0.2 s that not every command needs to wait for

    errors = np.ceil(np.round(mean * n, 9))
    exact: FloatArray = bdtr(errors, n, share)
    if whole:
        return exact
    below = np.minimum(mean, share)
    hoeffding: FloatArray = np.exp(-n * (rel_entr(below, share) + rel_entr(1 - below, 1 - share)))
    return np.minimum(np.minimum(hoeffding, math.e * exact), 1.0)


@dataclass(frozen=True, repr=False)
class LossCurve(ShortRepr):
    """The mean loss of queries at each threshold, thresholds in ascending order; one between any two values."""

    thresholds: FloatArray
    loss: FloatArray
    n_queries: int
    whole: bool

    @classmethod
    def of(cls, evidence: Evidence, kind: PromiseKind, *, unscored_errs: bool) -> Self:
        at_risk = evidence.of_kind(kind)
        _, query = np.unique(evidence.cluster, return_inverse=True)
        in_query = np.bincount(query, weights=at_risk)
        n = int((in_query > 0).sum())
        adds = at_risk / np.maximum(in_query, 1e-300)[query] / max(n, 1)
        valued = ~np.isnan(evidence.value)
        values, group = np.unique(evidence.value[valued], return_inverse=True)
        by_value = np.bincount(group, weights=adds[valued], minlength=len(values))
        refused = np.r_[0.0, np.cumsum(by_value)]
        without = float(adds[~valued].sum()) if unscored_errs else 0.0
        between = np.r_[-np.inf, (values[:-1] + values[1:]) / 2, np.inf] if len(values) else np.array([np.inf])
        refused = refused[: len(between)]
        loss = (refused[-1] - refused if kind == "harm" else refused) + without
        items = np.bincount(query, weights=at_risk > 0)
        return cls(between, np.maximum(loss, 0.0), n, bool((items <= 1).all()))


def kept_threshold(
    evidence: Evidence, promise: RiskPromise, *, unscored_errs: bool = False, n_as: int | None = None
) -> Promised:
    """The threshold that keeps a promise and errs least in the other way.

    `unscored_errs`: whether an item without a value is an error of this kind, by what is done then.
    `n_as`: count so many queries: what a threshold from all of them would be like, where some are held out.

    Raises StatisticsError: there are too few queries for the promise, or no threshold keeps it.
    """
    curve = LossCurve.of(evidence, promise.kind, unscored_errs=unscored_errs)
    n = n_as or curve.n_queries
    if n < queries_needed(promise):
        raise StatisticsError(
            f"{promise.in_words} cannot be promised: it takes {queries_needed(promise)} queries with "
            f"{WORDS[promise.kind]} and no error on any, and here are {n}. The smallest share that they can carry is "
            f"{100 * smallest_promise(n, promise.level):.3g} %"
        )
    if promise.level is None:
        kept = (n * curve.loss + 1) / (n + 1) <= promise.at_most + 1e-12
    else:
        kept = loss_p_value(curve.loss, promise.at_most, n=n, whole=curve.whole) <= 1 - promise.level + 1e-12
    if not kept.any():
        raise StatisticsError(
            f"{promise.in_words} cannot be promised: items without a value alone break it; refuse or ask where there is none"
        )
    place = int(np.argmax(kept)) if promise.kind == "harm" else len(kept) - 1 - int(np.argmax(kept[::-1]))
    return Promised(promise, float(curve.thresholds[place]), float(curve.loss[place]), curve.n_queries)
