"""Confidence intervals, and corrections for several tests."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casewise.stats.arrays import BoolArray, FloatArray, cluster_variance

# From what each cluster adds to a number, its influence, to the interval of the number: the one way that all
# take.
#
# On the scale that the number's domain calls for (logits between two bounds, which for a correlation is Fisher's z;
# logarithms above one, and above the number no less than Hall's correction for skewness asks; as it is without) its error is Student's *t*, with Satterthwaite's degrees of freedom at the
# kurtosis of the influences: few clusters that carry the variance say little about it, however many others are silent.


Domain = tuple[float, float]
"""The least and the most that a number can be."""

ANYWHERE: Domain = (-np.inf, np.inf)

LEVEL = 0.95
"""Of every interval here."""


class Interval(NamedTuple):
    """Of an interval."""

    low: float
    high: float


def student_quantile(share: float, df: float) -> float:
    """The value that a Student *t* falls below with probability `share`."""
    from scipy.special import stdtrit  # 0.2 s that not every command needs to wait for

    return float(stdtrit(df, share))


def degrees_of_freedom(influence: FloatArray) -> float:
    r"""Return the degrees of freedom of a variance, :math:`2G/(\kappa - 1)`, at most *G* − 1, *G* being the clusters that add anything.

    Source: Satterthwaite (1946), Biometrics Bulletin 2, 110-114; with the variance of a variance at kurtosis
    :math:`\kappa`, Bonett (2006), Computational Statistics & Data Analysis 50, 775-782.
    """
    squares = influence**2
    total, fourth = float(squares.sum()), float((squares**2).sum())
    n = len(influence)
    excess = n * fourth / total**2 - 1 if total > 0 else 0.0
    return float(min(n - 1, 2 * n / excess)) if excess > 0 else float(n - 1)


ROUNDING_ERROR = 1e-9
"""A standard error below it is rounding: gradients are taken by differences, which leaves about 1e-11."""


def t_interval_from_influences(
    value: float, influence: FloatArray, *, domain: Domain = ANYWHERE, at_risk: int, level: float = LEVEL
) -> Interval | None:
    """The interval of a number from the clusters' influences; None where they show no spread, or it is at a bound.

    `influence`: (clusters,); what each adds to the number's deviation; see `casewise.stats.arrays`.
    `at_risk`: clusters that the number is over: at most so many, less one, degrees of freedom.
    `level`: of the interval; above .95 where the interval is one of several that hold together.
    """
    error = float(np.sqrt(cluster_variance(influence)))
    low, high = domain
    if not error > ROUNDING_ERROR or not low < value < high or at_risk < 2:
        return None
    t = student_quantile((1 + level) / 2, min(degrees_of_freedom(influence), at_risk - 1))
    if np.isfinite(high):
        place, slope = np.log((value - low) / (high - value)), (high - low) / ((value - low) * (high - value))
        ends = [1 / (1 + np.exp(-np.clip(place + side * t * slope * error, -700, 700))) for side in (-1, 1)]
        return Interval(*(low + (high - low) * end for end in ends))
    if np.isfinite(low):
        factor = float(np.exp(np.minimum(t * error / (value - low), 700)))
        reach = value + error * hall_corrected_quantile(t, influence)
        return Interval(low + (value - low) / factor, max(low + (value - low) * factor, reach))
    return Interval(
        value - error * hall_corrected_quantile(t, -influence), value + error * hall_corrected_quantile(t, influence)
    )


def hall_corrected_quantile(t: float, influence: FloatArray) -> float:
    r"""Return the number of standard errors up to the upper limit, where the influences lean to large values.

    .. math:: -\frac{3}{\gamma} \left[\left(1 - \gamma (t + \gamma/6)\right)^{1/3} - 1\right]

    Source: Hall (1992), Journal of the Royal Statistical Society B 54, 221-228.
    """
    skew = skewness(influence)
    return t if skew <= 1e-3 else -3 / skew * (float(np.cbrt(1 - skew * (t + skew / 6))) - 1)


def hall_corrected_statistic(t: float, influence: FloatArray) -> float:
    """The `t` of which `hall_corrected_quantile` makes this one: what a statistic is held against Student's distribution as."""
    skew = skewness(influence)
    return t if skew <= 1e-3 else (1 - (1 - skew * t / 3) ** 3) / skew - skew / 6


def skewness(influence: FloatArray) -> float:
    """Of a mean of so many influences."""
    squares = influence**2
    total = float(squares.sum())
    return (
        float((squares * influence).sum()) / total**1.5 if total > 0 else 0.0
    )  # numpy's own cube takes 20 times as long


def clopper_pearson_interval(share: float, clusters: int, *, level: float = LEVEL) -> Interval:
    """Clopper and Pearson's for a share that does not vary between clusters: each counts once, whatever its items."""
    from casewise.stats.shares import clopper_pearson

    interval = clopper_pearson(min(max(share, 0.0), 1.0) * clusters, clusters, level=level)
    return Interval(float(interval.low), float(interval.high))


def largest_unseen_share(clusters: int) -> float:
    """The largest share of clusters of a kind of which none was seen: the upper limit of `clopper_pearson_interval` at 0."""
    return 1 - float(((1 - LEVEL) / 2) ** (1 / clusters)) if clusters else 1.0


Correction = Literal["bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli", "none"]


def adjust(p: ArrayLike, method: Correction, *, where: BoolArray | None = None) -> FloatArray:
    r"""p values corrected for several tests, as R's `p.adjust` gives them.

    For the *i*-th smallest of *m*: "bonferroni" is :math:`\min(1, m\,p)`; "holm" is *m − i + 1* times *p*, made to rise; both
    bound the chance of any false alarm. "benjamini_hochberg" is *m/i* times *p*, made to rise, and bounds the expected
    share of false alarms among the alarms for independent or positively dependent tests; "benjamini_yekutieli" is that
    times :math:`\sum_{i \le m} 1/i`, and holds under any dependence. "none" gives the p values back.

    Parameters
    ----------
    p : (..., tests) floats
        Leading axes are families of tests.
    where : (..., tests) booleans, optional
        Which tests count. The others get 1 and do not enlarge the family, as NA does in R.

    References
    ----------
    .. [1] Holm (1979), Scand J Statist 6, 65-70. Benjamini & Hochberg (1995), JRSS B 57, 289-300. Benjamini & Yekutieli
       (2001), Annals of Statistics 29, 1165-1188.
    """
    values = np.atleast_1d(np.asarray(p, dtype=np.float64))
    counted = np.ones(values.shape, dtype=bool) if where is None else np.broadcast_to(where, values.shape)
    if method == "none":
        return np.where(counted, values, 1.0)
    order = np.argsort(np.where(counted, values, 2.0), axis=-1, kind="stable")
    rising, rank = np.take_along_axis(values, order, -1), np.arange(1, values.shape[-1] + 1)
    family = counted.sum(-1, keepdims=True)
    if method == "bonferroni":
        rising = rising * family
    elif method == "holm":
        rising = np.maximum.accumulate(rising * np.maximum(family - rank + 1, 1), axis=-1)
    else:
        harmonic = np.append(0.0, np.cumsum(1 / rank))[family] if method == "benjamini_yekutieli" else 1.0
        steps = np.where(rank <= family, rising * (family / rank) * harmonic, np.inf)
        rising = np.minimum.accumulate(steps[..., ::-1], axis=-1)[..., ::-1]
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(rising, 1.0), -1)
    return np.where(counted, adjusted, 1.0)
