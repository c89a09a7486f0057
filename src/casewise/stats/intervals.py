"""Confidence intervals, and corrections for several tests."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
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


class Ends(NamedTuple):
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


def spread_limits(
    value: float, influence: FloatArray, *, domain: Domain = ANYWHERE, at_risk: int, level: float = LEVEL
) -> Ends | None:
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
        return Ends(*(low + (high - low) * end for end in ends))
    if np.isfinite(low):
        factor = float(np.exp(np.minimum(t * error / (value - low), 700)))
        reach = value + error * unskewed(t, influence)
        return Ends(low + (value - low) / factor, max(low + (value - low) * factor, reach))
    return Ends(value - error * unskewed(t, -influence), value + error * unskewed(t, influence))


def unskewed(t: float, influence: FloatArray) -> float:
    r"""Return the number of standard errors up to the upper limit, where the influences lean to large values.

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


def exact_limits(share: float, clusters: int, *, level: float = LEVEL) -> Ends:
    """Clopper and Pearson's for a share that does not vary between clusters: each counts once, whatever its items."""
    from casewise.stats.shares import clopper_pearson

    interval = clopper_pearson(min(max(share, 0.0), 1.0) * clusters, clusters, level=level)
    return Ends(float(interval.low), float(interval.high))


def unseen_share(clusters: int) -> float:
    """The largest share of clusters of a kind of which none was seen: the upper limit of `exact_limits` at 0."""
    return 1 - float(((1 - LEVEL) / 2) ** (1 / clusters)) if clusters else 1.0


# Many tests at once: adjusted p values, as R's `p.adjust` gives them.


Correction = Literal["bonferroni", "holm", "benjamini_hochberg", "benjamini_yekutieli", "none"]


def bonferroni(p: ArrayLike, *, where: BoolArray | None = None) -> FloatArray:
    r"""Bonferroni: :math:`\min(1, m\,p)`; bounds the chance of any false alarm (R: `p.adjust(p, "bonferroni")`).

    Parameters
    ----------
    p : (..., tests) floats
        Leading axes are families of tests.
    where : (..., tests) booleans, optional
        Which tests count. The others get 1 and do not enlarge the family, as NA does in R.

    Raises
    ------
    StatisticsError
        A p value outside [0, 1].
    """
    values, counted = _checked(p, where)
    return np.where(counted, np.minimum(1.0, values * counted.sum(-1, keepdims=True)), 1.0)


def holm(p: ArrayLike, *, where: BoolArray | None = None) -> FloatArray:
    r"""Holm (1979): the *i*-th smallest times *m − i + 1*, made monotone (R: `p.adjust(p, "holm")`).

    Bounds the chance of any false alarm as Bonferroni does, and is never less powerful. Parameters as `bonferroni`.
    """
    values, counted = _checked(p, where)
    order = np.argsort(values, axis=-1, kind="stable")
    left = counted.sum(-1, keepdims=True) - np.arange(values.shape[-1])
    steps = np.take_along_axis(values, order, -1) * np.maximum(left, 1)
    adjusted = np.minimum(1.0, np.maximum.accumulate(steps, axis=-1))
    return np.where(counted, _put_back(adjusted, order), 1.0)


def benjamini_hochberg(p: ArrayLike, *, where: BoolArray | None = None) -> FloatArray:
    r"""Benjamini and Hochberg (1995): the *i*-th smallest times *m/i*, made monotone (R: `p.adjust(p, "BH")`).

    Bounds the expected share of false alarms among the alarms, for independent or positively dependent tests.
    Parameters as `bonferroni`.
    """
    return _step_up(p, where, dependent=False)


def benjamini_yekutieli(p: ArrayLike, *, where: BoolArray | None = None) -> FloatArray:
    r"""Benjamini and Yekutieli (2001): as Benjamini-Hochberg, times :math:`\sum_{i \le m} 1/i` (R: `"BY"`).

    Holds under any dependence. Parameters as `bonferroni`.
    """
    return _step_up(p, where, dependent=True)


def adjust(p: ArrayLike, method: Correction, *, where: BoolArray | None = None) -> FloatArray:
    """The correction called `method`; "none" gives the p values back."""
    if method == "none":
        values, counted = _checked(p, where)
        return np.where(counted, values, 1.0)
    if method not in _METHODS:
        raise StatisticsError(f"no correction is called {method!r}; there are {', '.join(_METHODS)} and none")
    return _METHODS[method](p, where=where)


_METHODS = {
    "bonferroni": bonferroni,
    "holm": holm,
    "benjamini_hochberg": benjamini_hochberg,
    "benjamini_yekutieli": benjamini_yekutieli,
}


def _step_up(p: ArrayLike, where: BoolArray | None, *, dependent: bool) -> FloatArray:
    values, counted = _checked(p, where)
    family = counted.sum(-1, keepdims=True)
    order = np.argsort(values, axis=-1, kind="stable")
    rank = np.arange(1, values.shape[-1] + 1)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / rank)])[family] if dependent else 1.0
    steps = np.take_along_axis(values, order, -1) * (family / rank) * harmonic
    in_family = np.where(rank <= family, steps, np.inf)
    adjusted = np.minimum(1.0, np.minimum.accumulate(in_family[..., ::-1], axis=-1)[..., ::-1])
    return np.where(counted, _put_back(adjusted, order), 1.0)


def _checked(p: ArrayLike, where: BoolArray | None) -> tuple[FloatArray, BoolArray]:
    """The p values, 2 where they do not count (so that they sort last), and which do."""
    try:
        values = np.atleast_1d(np.asarray(p, dtype=float))
        counted = np.ones(values.shape, dtype=bool) if where is None else np.broadcast_to(where, values.shape)
    except (TypeError, ValueError):
        raise StatisticsError("p values must be numbers, and `where` must have their shape") from None
    if not ((values >= 0) & (values <= 1))[counted].all():
        raise StatisticsError("p values must lie between 0 and 1; leave tests without one out with `where`")
    return np.where(counted, values, 2.0), counted


def _put_back(ordered: FloatArray, order: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> FloatArray:
    back = np.empty_like(ordered)
    np.put_along_axis(back, order, ordered, -1)
    return back
