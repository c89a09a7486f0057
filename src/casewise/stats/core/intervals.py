r"""From what each cluster adds to a number, its influence, to the interval of the number: the one way that all take.

On the scale that the number's domain calls for (logits between two bounds, which for a correlation is Fisher's z;
logarithms above one, and above the number no less than Hall's correction for skewness asks; as it is without) its error is Student's *t*, with Satterthwaite's degrees of freedom at the
kurtosis of the influences: few clusters that carry the variance say little about it, however many others are silent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.cluster_variance import cluster_variance

__all__ = [
    "ANYWHERE",
    "Domain",
    "Ends",
    "degrees_of_freedom",
    "exact_limits",
    "spread_limits",
    "student_quantile",
    "unseen_share",
    "unskewed",
    "unskewed_statistic",
]

Domain = tuple[float, float]
"""The least and the most that a number can be."""

ANYWHERE: Domain = (-np.inf, np.inf)

LEVEL = 0.95
"""Of every interval here."""


class Ends(NamedTuple):
    """Of an interval."""

    low: float
    high: float


def student_quantile(share: float, df: float) -> float:
    """The value that a Student *t* falls below with probability `share`."""
    from scipy.special import stdtrit  # 0.2 s that not every command needs to wait for

    return float(stdtrit(df, share))


def degrees_of_freedom(influence: FloatArray) -> float:
    r"""What the variance is known from: :math:`2G/(\kappa - 1)`, at most *G* − 1, *G* being the clusters that add anything.

    Source: Satterthwaite (1946), Biometrics Bulletin 2, 110-114; with the variance of a variance at kurtosis
    :math:`\kappa`, Bonett (2006), Computational Statistics & Data Analysis 50, 775-782.
    """
    squares = influence**2
    total, fourth = float(squares.sum()), float((squares**2).sum())
    n = len(influence)
    excess = n * fourth / total**2 - 1 if total > 0 else 0.0
    return float(min(n - 1, 2 * n / excess)) if excess > 0 else float(n - 1)


def spread_limits(value: float, influence: FloatArray, *, domain: Domain = ANYWHERE, at_risk: int) -> Ends | None:
    """The interval of a number from the clusters' influences; None where they show no spread, or it is at a bound.

    `influence`: (clusters,); what each adds to the number's deviation; see `casewise.stats.core.cluster_variance`.
    `at_risk`: clusters that the number is over: at most so many, less one, degrees of freedom.
    """
    error = float(np.sqrt(cluster_variance(influence)))
    low, high = domain
    if not error > 1e-12 or not low < value < high or at_risk < 2:
        return None
    t = student_quantile((1 + LEVEL) / 2, min(degrees_of_freedom(influence), at_risk - 1))
    if np.isfinite(high):
        place, slope = np.log((value - low) / (high - value)), (high - low) / ((value - low) * (high - value))
        ends = [1 / (1 + np.exp(-np.clip(place + side * t * slope * error, -700, 700))) for side in (-1, 1)]
        return Ends(*(low + (high - low) * end for end in ends))
    if np.isfinite(low):
        factor = float(np.exp(np.minimum(t * error / (value - low), 700)))
        reach = value + error * unskewed(t, influence)
        return Ends(low + (value - low) / factor, max(low + (value - low) * factor, reach))
    return Ends(value - error * unskewed(t, -influence), value + error * unskewed(t, influence))


def unskewed(t: float, influence: FloatArray) -> float:
    r"""How many errors above the number its upper limit lies, where the influences lean to large values.

    .. math:: -\frac{3}{\gamma} \left[\left(1 - \gamma (t + \gamma/6)\right)^{1/3} - 1\right]

    Source: Hall (1992), Journal of the Royal Statistical Society B 54, 221-228.
    """
    skew = skewness(influence)
    return t if skew <= 1e-3 else -3 / skew * (float(np.cbrt(1 - skew * (t + skew / 6))) - 1)


def unskewed_statistic(t: float, influence: FloatArray) -> float:
    """The `t` of which `unskewed` makes this one: what a statistic is held against Student's distribution as."""
    skew = skewness(influence)
    return t if skew <= 1e-3 else (1 - (1 - skew * t / 3) ** 3) / skew - skew / 6


def skewness(influence: FloatArray) -> float:
    """Of a mean of so many influences."""
    squares = influence**2
    total = float(squares.sum())
    return (
        float((squares * influence).sum()) / total**1.5 if total > 0 else 0.0
    )  # numpy's own cube takes 20 times as long


def exact_limits(share: float, clusters: int) -> Ends:
    """Clopper and Pearson's for a share that does not vary between clusters: each counts once, whatever its items."""
    from casewise.stats.core.share_intervals import clopper_pearson

    found = clopper_pearson(min(max(share, 0.0), 1.0) * clusters, clusters, level=LEVEL)
    return Ends(float(found.low), float(found.high))


def unseen_share(clusters: int) -> float:
    """The largest share of clusters of a kind of which none was seen: the upper limit of `exact_limits` at 0."""
    return 1 - float(((1 - LEVEL) / 2) ** (1 / clusters)) if clusters else 1.0
