"""Calibration of a judge's values: the curve, its error, and the parts of the Brier score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from casewise.stats.arrays import FloatArray, PerVote
from casewise.stats.estimates import Estimate, estimate_of, measure
from casewise.stats.intervals import degrees_of_freedom, student_quantile
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.metrics import parse_metrics
from casewise.stats.sample import Sample, totals_by_query

N_BINS = 10

QUERIES_PER_BIN = 8

ERROR_WITHOUT_INTERVAL = "no interval: bounds that hold are too wide; see the calibration part"

NO_RATED_VALUES = "undefined: no item has both a value and a rate"


@dataclass(frozen=True)
class CalibrationBin:
    """A bin of items with similar values: the judge's mean value and people's mean rate."""

    low: float
    high: float
    """The smallest and the largest value of the judge in the bin."""
    value: float
    """The judge's mean value."""
    rate: Estimate
    """People's mean safe rate."""
    n: int


@dataclass(frozen=True)
class Calibration:
    """The match of a judge's values on [0, 1] with the safe rates."""

    curve: tuple[CalibrationBin, ...]
    """The bins, in ascending order of the judge's values."""
    error: Estimate
    """Mean distance of a bin's mean value from its mean rate, weighted by items, less what chance adds; without an interval."""
    by_chance: float | None
    """Expected error, before that correction, of a calibrated judge on this many items and queries."""
    brier: Estimate
    calibration_part: Estimate
    refinement_part: Estimate
    """The Brier score is the sum of its two parts. The first vanishes for a calibrated judge, and a monotone change of
    scale can remove it; the second is what the judge does not tell apart."""
    noise_floor: Estimate
    """The Brier score of a judge that knows every true safe rate: the noise of few votes."""

    @property
    def n(self) -> int:
        """Number of items in the bins."""
        return sum(part.n for part in self.curve)


def calibration(sample: Sample, *, n_bins: int = N_BINS) -> Calibration:
    r"""Return the calibration curve over bins of equal mass, its error, and the parts of the Brier score.

    With *n_b* items in bin *b*, mean value :math:`\bar q_b` and mean rate :math:`\bar r_b`,

    .. math:: E = \sum_b \tfrac{n_b}{n} |\bar q_b - \bar r_b|, \qquad
              B = \underbrace{\sum_b \tfrac{n_b}{n} (\bar q_b - \bar r_b)^2}_{calibration}
                + \underbrace{\sum_b \tfrac{n_b}{n} \mathrm{var}_b(q - r)}_{refinement}.

    Tied values share a bin, and there are no more bins than one for eight queries. Both are lifted by chance: with
    :math:`\hat g_b` for :math:`\bar q_b - \bar r_b` and :math:`\sigma_b` its cluster-robust error,
    :math:`\sum_b \tfrac{n_b}{n} \sigma_b^2` is taken off the calibration part (and left in the refinement), and
    *E* is printed as the sum of :math:`\tfrac{n_b}{n} \sqrt{\max(0, \hat g_b^2 - \sigma_b^2)}`. The interval of the calibration part *C* is
    every *C* with :math:`(C - \hat C)^2 \le t^2 (a C + 2 \sum_{bc} w_b w_c \Sigma_{bc}^2)`, its variance growing with *C* as
    the influences say. *E* has no interval: it bends where a gap is 0, as many are, and the bounds that follow from
    :math:`C / \max|g| \le E \le \sqrt C` hold in 99.6 to 100 % of studies, which is too wide to be useful.

    `n_bins`: at most so many bins; a score from 1 to 10 gives no more than ten.

    Source: Murphy (1973), Journal of Applied Meteorology 12, 595-600; for bins, Stephenson, Coelho & Jolliffe (2008),
    Weather and Forecasting 23, 752-757. Nixon et al. (2019), Measuring calibration in deep learning.
    """
    rated = sample.where(sample.in_rate_metrics)
    # Measured before there are totals of every bin, which are large.
    measured_brier = measure(rated, metrics=parse_metrics("brier"))
    bins = equal_mass_bins(rated.probability, max(1, min(n_bins, rated.n_clusters // QUERIES_PER_BIN)))
    n_used = int(bins.max()) + 1 if len(bins) else 0
    totals = replace(
        totals_by_query(rated, lambda subset: bin_terms(subset, bins, n_used)), n_unscored=int(sample.unscored.sum())
    )
    curve = []
    for b in range(n_used):
        values = rated.probability[bins == b]
        rate = estimate_of(totals.measure(share(f"rate{b}", f"rate{b}", f"n{b}")))
        low, high, mean = (float(limit) for limit in (values.min(), values.max(), values.mean()))
        curve.append(CalibrationBin(low, high, mean, rate, len(values)))
    noise = estimate_of(totals.measure(NOISE))
    gaps = Gaps.from_totals(totals, n_used)
    (brier,) = measured_brier or (totals.measure(BRIER),)
    brier = replace(brier, n_unscored=totals.n_unscored)
    score = estimate_of(brier)
    part = calibration_part(score, gaps)
    removable = part.estimate or 0.0
    refinement = replace(
        brier,
        name="refinement_part",
        value=brier.value - removable,
        influence=(brier.influence - gaps.total_influence)
        * np.sqrt(rated.n_clusters / max(rated.n_clusters - n_used, 1)),
        votes=PerVote.weighted([(1.0, brier.votes), (-1.0, gaps.votes)]),
        unseen=None if brier.unseen is None else brier.unseen - removable,
    )
    error = replace(part, name="calibration_error", ci_low=None, ci_high=None)
    if part.estimate is not None:
        distance = float(gaps.weight @ np.sqrt(np.maximum(gaps.gap**2 - gaps.spread**2, 0.0)))
        error = replace(error, estimate=distance, method=ERROR_WITHOUT_INTERVAL)
    return Calibration(
        curve=tuple(curve),
        error=error,
        by_chance=float(gaps.weight @ gaps.spread * np.sqrt(2 / np.pi)) if rated.n_clusters > 1 else None,
        brier=score,
        calibration_part=part,
        refinement_part=estimate_of(refinement),
        noise_floor=noise,
    )


@dataclass(frozen=True)
class Gaps:
    """Gaps between the mean value and the mean rate of each bin, (bins,), with the bins' shares of all items."""

    gap: FloatArray
    weight: FloatArray
    influence: FloatArray
    """Influence of each query on each gap, (queries, bins), scaled to be unbiased for few queries in a bin."""
    composition: FloatArray
    """Influence of each query on the weights, (queries, bins)."""
    extra_variance: FloatArray
    """Covariance of the gaps that comes from annotators, (bins, bins); 0 where votes are anonymous."""
    votes: PerVote | None
    """Influence of each vote on the weighted sum of squared gaps."""

    @classmethod
    def from_totals(cls, totals: TotalsByCluster, n_bins: int) -> Gaps:
        places = [[totals.names.index(f"{kind}{b}") for b in range(n_bins)] for kind in ("gap", "n")]
        sums, counts = (totals.sums[:, columns] for columns in places)
        n, queries = counts.sum(axis=0), (counts > 0).sum(axis=0)
        gap = sums.sum(axis=0) / np.maximum(n, 1)
        small_sample_factor = np.sqrt(np.where(queries > 1, queries / np.maximum(queries - 1, 1), 1.0))
        total = max(float(n.sum()), 1.0)
        gap_gradient = np.zeros((len(totals.names), n_bins))
        gap_gradient[places[0], range(n_bins)] = 1 / np.maximum(n, 1)
        squares_gradient = gap_gradient @ (2 * n / total * gap)
        sums -= gap * counts  # in place, for there may be half a million queries
        sums *= small_sample_factor
        sums /= np.maximum(n, 1)
        counts -= counts.sum(axis=1, keepdims=True) * n / total
        counts /= total
        return cls(
            gap=gap,
            weight=n / total,
            influence=sums,
            composition=counts,
            extra_variance=totals.added_by_annotators(gap_gradient),
            votes=None if totals.votes is None else totals.votes.along_gradient(squares_gradient),
        )

    @property
    def slope(self) -> FloatArray:
        """Gradient of the weighted sum of squared gaps with respect to the gaps."""
        return 2 * self.weight * self.gap

    @property
    def total_influence(self) -> FloatArray:
        """Influence of each query on the weighted sum of squared gaps, through the gaps and through the bins of its items."""
        return self.influence @ self.slope + self.composition @ self.gap**2

    @property
    def covariance(self) -> FloatArray:
        return self.influence.T @ self.influence + self.extra_variance

    @property
    def spread(self) -> FloatArray:
        return np.sqrt(np.diag(self.covariance))


def calibration_part(brier: Estimate, gaps: Gaps) -> Estimate:
    """Return the part of the Brier score that a change of scale removes, less what chance adds; never below 0."""
    if brier.estimate is None:
        return replace(brier, name="calibration_part")
    estimate = Estimate("calibration_part", None, None, None, brier.n, brier.n_unscored, "no interval: one query only")
    raw = float(gaps.weight @ gaps.gap**2)
    if len(gaps.influence) < 2:
        return replace(estimate, estimate=raw)
    unbiased = raw - float(gaps.weight @ gaps.spread**2)
    influence = gaps.total_influence
    noise = 2 * float(gaps.weight @ gaps.covariance**2 @ gaps.weight)
    slope = float(influence @ influence + gaps.slope @ gaps.extra_variance @ gaps.slope) / raw if raw > 0 else 0.0
    t = student_quantile(0.975, max(1.0, min(degrees_of_freedom(influence), len(influence) - 1)))
    centre = unbiased + t**2 * slope / 2
    half_width = t * np.sqrt(max(t**2 * slope**2 / 4 + slope * unbiased + noise, 0.0))
    low, high = max(0.0, centre - half_width), min(1.0, max(0.0, centre + half_width))
    return replace(
        estimate, estimate=max(0.0, unbiased), ci_low=low, ci_high=float(high), method="by inversion, over queries"
    )


def equal_mass_bins(values: FloatArray, n_bins: int) -> NDArray[np.intp]:
    """Return the bin of each value, from 0: bins of equal size as far as ties allow, with tied values in one bin."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    centre = (np.cumsum(sizes) - sizes / 2) / max(len(values), 1)
    bin_of_group = np.minimum((centre * n_bins).astype(np.intp), n_bins - 1)
    _, bins = np.unique(bin_of_group[group], return_inverse=True)
    return bins.astype(np.intp)


def bin_terms(rated: Sample, bins: NDArray[np.intp], n_bins: int) -> Mapping[str, FloatArray]:
    q, r, m = rated.probability, rated.rate, rated.n_votes
    has_several = m > 1

    def in_bin(b: int, values: FloatArray) -> FloatArray:
        return np.where(bins == b, values, 0.0)

    by_bin = {"n": np.ones(len(rated)), "gap": q - r, "rate": r}
    columns: dict[str, Callable[[], FloatArray]] = {
        "n": lambda: np.ones(len(rated)),
        "brier": lambda: (q - r) ** 2,
        "several": lambda: has_several.astype(np.float64),
        "noise": lambda: has_several * r * (1 - r) / np.maximum(m - 1, 1),
    }
    for b in range(n_bins):
        for name, values in by_bin.items():
            columns[f"{name}{b}"] = partial(in_bin, b, values)
    return LazyColumns(columns)


class LazyColumns(Mapping[str, FloatArray]):
    """Columns by name that are computed at each access and not kept, so that those of ten bins are not in memory together."""

    def __init__(self, columns: Mapping[str, Callable[[], FloatArray]]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> FloatArray:
        return self._columns[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


BRIER = share("brier", "brier", "n", kind="other", undefined=NO_RATED_VALUES)
NOISE = share("vote_noise", "noise", "several", kind="other", undefined="undefined: no item has two votes")
