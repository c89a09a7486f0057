r"""Confidence intervals with a floor for errors that were not seen, and corrections for several tests.

Every interval of an estimate or a difference is made here, in two steps.

1. **Spread that was seen.** `t_interval_from_influences`: Student's *t* on the scale that the number's domain calls for (logits
   between two bounds, which for a correlation is Fisher's *z*; logarithms above one; as it is without), from what each cluster
   adds to the number, its influence. Degrees of freedom are Satterthwaite's at the kurtosis of the influences: few clusters
   that carry the variance say little about it, however many others are silent. Without two bounds, Hall's correction allows for
   influences that lean to one side.
2. **Spread that was not seen.** `floored_interval`: a judge that was right on all of *G* queries can still be wrong on other queries of
   the kind, and the spread of what was seen says nothing of it. The largest share of clusters of a kind of which none was seen is

   .. math:: u = 1 - \left(\tfrac{\alpha}{2}\right)^{1/G}

   (the upper limit of Clopper and Pearson for 0 of *G*; about 3.7/*G*, or 3/*G* one-sided, the "rule of three"). A part of a
   number that shows no spread is at least as uncertain as if a share *u* of its clusters stood at the end of its scale. So each
   limit of the number lies at least :math:`u \sqrt{\sum_j r_j^2}` away, :math:`r_j` being the distance of such a part *j* to that
   end. Limits that are already wider stay as they are: where the data carry an interval, the floor changes nothing.

Sources: Clopper & Pearson (1934), Biometrika 26, 404-413. Hanley & Lippman-Hand (1983), JAMA 249, 1743-1745 (the rule of
three). Zou & Donner (2008), Statistics in Medicine 27, 1693-1702 (independent parts add by squares). The sections `unseen-…`
of `benchmarks/coverage.py` simulate how often conclusions that rest on these intervals are false.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casewise.stats.arrays import BoolArray, FloatArray, cluster_variance

Domain = tuple[float, float]
"""Lower and upper bound of a number's range."""

UNBOUNDED: Domain = (-np.inf, np.inf)

LEVEL = 0.95
"""Confidence level of all intervals, where no other is given."""


class Interval(NamedTuple):
    """Lower and upper confidence limit."""

    low: float
    high: float


def student_quantile(share: float, df: float) -> float:
    """Return the value that a Student *t* falls below with probability `share` (R: `qt`)."""
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


def shows_spread(influence: FloatArray) -> bool:
    """Return True if the clusters differ by more than rounding, so that their spread says something of the error."""
    return bool(cluster_variance(influence) > ROUNDING_ERROR**2)


def t_interval_from_influences(
    value: float, influence: FloatArray, *, domain: Domain = UNBOUNDED, at_risk: int, level: float = LEVEL
) -> Interval | None:
    """Return Student's *t* interval of a number from its clusters' influences; None without spread, or at a bound.

    `influence`: (clusters,) floats; the addition of each cluster to the number's deviation.
    `at_risk`: number of clusters that the number is over; the degrees of freedom are at most one less than it.
    `level`: confidence level; above .95 where the interval is one of several that hold together.

    The mean of ten queries, of which two are wrong:

    >>> right = np.array([1, 1, 1, 0, 1, 1, 1, 1, 0, 1])
    >>> low, high = t_interval_from_influences(0.8, (right - 0.8) / 10, domain=(0.0, 1.0), at_risk=10)
    >>> round(float(low), 3), round(float(high), 3)
    (0.377, 0.964)
    """
    low, high = domain
    if not shows_spread(influence) or not low < value < high or at_risk < 2:
        return None
    if np.isfinite(high) and not np.isfinite(low):  # as of a number with a lower bound, seen from the other side
        mirrored = t_interval_from_influences(-value, -influence, domain=(-high, np.inf), at_risk=at_risk, level=level)
        return None if mirrored is None else Interval(-mirrored.high, -mirrored.low)
    error = float(np.sqrt(cluster_variance(influence)))
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


HALL_RANGE = 0.5
r"""The product :math:`\gamma (t + \gamma/6)` up to which Hall's cubic is used. Its limit runs away as the product comes near 1."""


def hall_corrected_quantile(t: float, influence: FloatArray) -> float:
    r"""Return the number of standard errors up to the upper limit, where the influences lean to large values.

    .. math:: \frac{3}{\gamma} \left[1 - (1 - x)^{1/3}\right], \qquad x = \gamma (t + \gamma/6)

    :math:`\gamma` being the skewness of the mean. Beyond *x* = ½ the correction goes on along its tangent: Hall's expansion
    is one in small *x*, and at *x* ≥ 1 its cubic takes the limit to many times what a bootstrap gives. It never narrows.

    Source: Hall (1992), Journal of the Royal Statistical Society B 54, 221-228.
    """
    skew = skewness(influence)
    if skew <= 1e-3:
        return t
    x, root = skew * (t + skew / 6), float(np.cbrt(1 - HALL_RANGE))
    return (3 * (1 - float(np.cbrt(1 - x))) if x <= HALL_RANGE else 3 * (1 - root) + (x - HALL_RANGE) / root**2) / skew


def hall_corrected_statistic(statistic: float, influence: FloatArray) -> float:
    """Return the Student *t* whose `hall_corrected_quantile` is `statistic`: for a p value that agrees with the limit."""
    skew = skewness(influence)
    if skew <= 1e-3:
        return statistic
    root = float(np.cbrt(1 - HALL_RANGE))
    beyond = skew * statistic - 3 * (1 - root)
    x = 1 - (1 - skew * statistic / 3) ** 3 if beyond <= 0 else HALL_RANGE + beyond * root**2
    return x / skew - skew / 6


def skewness(influence: FloatArray) -> float:
    r"""Return the skewness of the mean of independent clusters with this influence, :math:`\sum I_g^3 / (\sum I_g^2)^{3/2}`."""
    squares = influence**2
    total, third = float(squares.sum()), float((squares * influence).sum())  # numpy's own cube takes 20 times as long
    return third / total**1.5 if total > 0 else 0.0


def clopper_pearson_interval(share: float, clusters: int, *, level: float = LEVEL) -> Interval:
    """Return Clopper and Pearson's interval of a share that does not vary between clusters: each cluster counts once."""
    from casewise.stats.shares import clopper_pearson

    interval = clopper_pearson(min(max(share, 0.0), 1.0) * clusters, clusters, level=level)
    return Interval(float(interval.low), float(interval.high))


def largest_unseen_share(clusters: int, *, level: float = LEVEL) -> float:
    """Return the largest share of clusters of a kind of which none was seen among `clusters`; see the module's text."""
    return 1 - float(((1 - level) / 2) ** (1 / clusters)) if clusters else 1.0


def floored_interval(
    value: float,
    limits: Interval | None,
    *,
    below: Iterable[float] = (),
    above: Iterable[float] = (),
    clusters: int,
    domain: Domain = UNBOUNDED,
    level: float = LEVEL,
) -> Interval:
    """Return the limits, no closer to the number than errors that were not seen allow.

    `limits`: from the spread that was seen; None where there was none.
    `below`, `above`: for each part of the number that shows no spread, how far the number falls, or rises, if all clusters stood
        at the end of that part's scale.
    `clusters`: number of clusters that these parts are known from.
    """
    low, high = limits or (value, value)
    share = largest_unseen_share(clusters, level=level)
    fall, rise = (share * float(np.sqrt(sum(reach**2 for reach in parts))) for parts in (below, above))
    return Interval(max(domain[0], min(low, value - fall)), min(domain[1], max(high, value + rise)))


def unseen_floor_p(distance: float, parts: Iterable[float], *, clusters: int) -> float:
    """Return the one-sided p value of the floor: the level at which a limit of `floored_interval` stands `distance` away.

    `parts`: as `below` or `above` of `floored_interval`. Without any the floor allows nothing, and p is 0.
    """
    reach = float(np.sqrt(sum(part**2 for part in parts)))
    if reach <= 0:
        return 0.0 if distance > 0 else 1.0
    return float((1 - min(max(distance / reach, 0.0), 1.0)) ** clusters)


Correction = Literal["bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli", "none"]


def adjust(p: ArrayLike, method: Correction, *, where: BoolArray | None = None) -> FloatArray:
    r"""Return the p values corrected for several tests, as R's `p.adjust` gives them.

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

    Examples
    --------
    >>> adjust([0.01, 0.02, 0.03], "holm").round(3).tolist()
    [0.03, 0.04, 0.04]
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
