"""Whether a judge's values mean what they say: the calibration curve, its error, and the parts of the Brier score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import FloatArray, safe_divide
from casewise.stats.core.measured import Functional, Totals, TotalsByCluster, share

__all__ = ["Calibration", "CalibrationBin", "calibration", "equal_mass_bins"]

N_BINS = 10

UNIT = (0.0, 1.0)

NOTHING_TO_CALIBRATE = "undefined: no item has both a value and a rate"


@dataclass(frozen=True)
class CalibrationBin:
    """Items whose values are alike: what the judge says of them, and what people say."""

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
    """How well a judge's values on [0, 1] match people's safe rates.

    Attributes
    ----------
    curve
        In ascending order of the judge's values.
    error
        Mean distance of a bin's mean value from its mean rate, weighted by items. It is never 0: see `by_chance`.
    by_chance
        What `error` would be on average for a judge that is perfectly calibrated, on this many items and queries.
    brier, calibration_part, refinement_part
        The Brier score is the sum of its two parts. The first vanishes for a calibrated judge, and a monotone change of
        scale can remove it; the second is what the judge does not tell apart.
    noise_floor
        The Brier score of a judge that knew everyone's opinion: what few votes leave open.
    """

    curve: tuple[CalibrationBin, ...]
    error: Estimate
    by_chance: float | None
    brier: Estimate
    calibration_part: Estimate
    refinement_part: Estimate
    noise_floor: Estimate

    @property
    def n(self) -> int:
        return sum(found.n for found in self.curve)


def calibration(sample: Sample, *, n_bins: int = N_BINS) -> Calibration:
    r"""The calibration curve over bins of equal mass, its error, and the parts of the Brier score.

    With *n_b* items in bin *b*, mean value :math:`\bar q_b` and mean rate :math:`\bar r_b`,

    .. math:: E = \sum_b \tfrac{n_b}{n} |\bar q_b - \bar r_b|, \qquad
              B = \underbrace{\sum_b \tfrac{n_b}{n} (\bar q_b - \bar r_b)^2}_{calibration}
                + \underbrace{\sum_b \tfrac{n_b}{n} \mathrm{var}_b(q - r)}_{refinement}.

    Tied values share a bin. The bins are held fixed in the resamples. By chance alone a calibrated judge has
    :math:`E \approx \sum_b \tfrac{n_b}{n} \sigma_b \sqrt{2/\pi}`, with :math:`\sigma_b` the cluster-robust error of
    :math:`\bar q_b - \bar r_b`; where *E* is less than twice that, a percentile interval would miss the truth, and
    there is none.

    Parameters
    ----------
    n_bins
        At most so many bins; a score from 1 to 10 gives no more than ten.

    Raises
    ------
    StatisticsError
        Fewer than one bin is asked for.

    References
    ----------
    .. [1] Murphy (1973), Journal of Applied Meteorology 12, 595-600; for bins, Stephenson, Coelho & Jolliffe (2008),
       Weather and Forecasting 23, 752-757. Nixon et al. (2019), Measuring calibration in deep learning.
    """
    if n_bins < 1:
        raise StatisticsError(f"a calibration curve needs a bin at least, not {n_bins}")
    counted = sample.in_rate_metrics
    rated = sample.where(counted)
    bins = equal_mass_bins(rated.probability, n_bins)
    n_used = int(bins.max()) + 1 if len(bins) else 0
    totals = TotalsByCluster.of(
        bin_terms(rated, bins, n_used),
        rated.cluster,
        n_clusters=rated.n_clusters,
        n_unscored=int(sample.unscored.sum()),
    )
    found = {f.name: estimate_of(totals.measure(f)) for f in functionals(n_used)}
    chance = by_chance(totals, n_used)
    return Calibration(
        curve=tuple(curve(rated, bins, found)),
        error=above_chance(found["calibration_error"], chance),
        by_chance=chance,
        brier=found["brier"],
        calibration_part=above_chance_part(found["calibration_part"], found["calibration_error"], chance),
        refinement_part=found["refinement_part"],
        noise_floor=found["vote_noise"],
    )


def equal_mass_bins(values: FloatArray, n_bins: int) -> NDArray[np.intp]:
    """The bin of each value, from 0: as equally filled as ties allow, with tied values in one bin."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    middle = (np.cumsum(sizes) - sizes / 2) / max(len(values), 1)
    of_group = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    _, bins = np.unique(of_group[group], return_inverse=True)
    return bins.astype(np.intp)


def bin_terms(rated: Sample, bins: NDArray[np.intp], n_bins: int) -> dict[str, FloatArray]:
    q, r, m = rated.probability, rated.rate, rated.n_votes
    several = m > 1
    columns = {
        "n": np.ones(len(rated)),
        "brier": (q - r) ** 2,
        "several": several,
        "noise": several * r * (1 - r) / np.maximum(m - 1, 1),
    }
    for b in range(n_bins):
        inside = bins == b
        columns |= {f"n{b}": inside, f"gap{b}": inside * (q - r), f"rate{b}": inside * r}
    return {name: column.astype(np.float64) for name, column in columns.items()}


def functionals(n_bins: int) -> list[Functional]:
    def over(t: Totals) -> FloatArray:
        return t["n"]

    def mean(numerator: FloatArray, t: Totals) -> FloatArray:
        return safe_divide(numerator, t["n"], otherwise=np.nan)

    def error(t: Totals) -> FloatArray:
        return mean(add(np.abs(t[f"gap{b}"]) for b in range(n_bins)), t)

    def calibration_part(t: Totals) -> FloatArray:
        return mean(add(safe_divide(t[f"gap{b}"] ** 2, t[f"n{b}"]) for b in range(n_bins)), t)

    def brier(t: Totals) -> FloatArray:
        return mean(t["brier"], t)

    def refinement_part(t: Totals) -> FloatArray:
        return brier(t) - calibration_part(t)

    def noise(t: Totals) -> FloatArray:
        return safe_divide(t["noise"], t["several"], otherwise=np.nan)

    return [
        Functional("calibration_error", error, over, domain=UNIT, undefined=NOTHING_TO_CALIBRATE),
        Functional("calibration_part", calibration_part, over, domain=UNIT, undefined=NOTHING_TO_CALIBRATE),
        Functional("refinement_part", refinement_part, over, domain=UNIT, undefined=NOTHING_TO_CALIBRATE),
        Functional("brier", brier, over, domain=UNIT, undefined=NOTHING_TO_CALIBRATE),
        Functional(
            "vote_noise", noise, lambda t: t["several"], domain=UNIT, undefined="undefined: no item has two votes"
        ),
        *(share(f"rate{b}", f"rate{b}", f"n{b}") for b in range(n_bins)),
    ]


def add(terms: Iterator[FloatArray]) -> FloatArray:
    return reduce(np.add, terms, np.float64(0))  # type: ignore[arg-type]  # numpy's own scalar


def by_chance(totals: TotalsByCluster, n_bins: int) -> float | None:
    """The mean absolute gap that sampling alone leaves in the bins of a calibrated judge."""
    if len(totals.sums) < 2:
        return None
    n = totals.sums[:, totals.names.index("n")].sum()
    gaps = [totals.measure(share(f"gap{b}", f"gap{b}", f"n{b}")) for b in range(n_bins)]
    return float(sum(gap.n / n * np.sqrt(gap.variance * 2 / np.pi) for gap in gaps))


def above_chance(error: Estimate, chance: float | None) -> Estimate:
    if error.estimate is None or chance is None or error.estimate >= 2 * chance:
        return error
    why = f"no interval: less than twice the {chance:.3f} that a calibrated judge has by chance"
    return without_interval(error, why)


def above_chance_part(part: Estimate, error: Estimate, chance: float | None) -> Estimate:
    if error.estimate is None or chance is None or error.estimate >= 2 * chance:
        return part
    return without_interval(part, "no interval: the calibration error is near what a calibrated judge has by chance")


def without_interval(found: Estimate, why: str) -> Estimate:
    return Estimate(found.name, found.estimate, None, None, found.n, found.n_unscored, why)


def curve(rated: Sample, bins: NDArray[np.intp], found: dict[str, Estimate]) -> Iterator[CalibrationBin]:
    for b in range(int(bins.max()) + 1 if len(bins) else 0):
        inside = rated.probability[bins == b]
        yield CalibrationBin(
            low=float(inside.min()),
            high=float(inside.max()),
            value=float(inside.mean()),
            rate=within_unit(found[f"rate{b}"]),
            n=len(inside),
        )


def within_unit(rate: Estimate) -> Estimate:
    """A rate's interval, cut at 0 and 1."""
    if rate.ci_low is None or rate.ci_high is None:
        return rate
    return replace(rate, ci_low=max(0.0, rate.ci_low), ci_high=min(1.0, rate.ci_high))
