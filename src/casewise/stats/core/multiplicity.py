"""Many tests at once: adjusted p values, as R's `p.adjust` gives them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import BoolArray, FloatArray

__all__ = ["Correction", "adjust", "benjamini_hochberg", "benjamini_yekutieli", "bonferroni", "holm"]

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
