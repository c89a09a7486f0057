"""The arrays that statistics are computed on, and the check that counts are counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError

__all__ = [
    "BoolArray",
    "Counts",
    "FloatArray",
    "IntArray",
    "checked_counts",
    "checked_share",
    "integers",
    "renumbered",
    "safe_divide",
]

LARGEST_COUNT = 100_000_000
"""Products of two counts then stay whole in 64 bits; no study has more votes on an item."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Counts(NamedTuple):
    """Successes out of sizes, of one shape."""

    successes: IntArray
    sizes: IntArray


def renumbered(codes: NDArray[np.integer]) -> NDArray[np.intp]:
    """Integers as 0, 1, 2, ... in their order. Where they lie close they are counted, which takes a tenth of sorting."""
    if not len(codes) or codes.min() < 0 or codes.max() >= 4 * len(codes):
        sorted_codes: NDArray[np.intp] = np.unique(codes, return_inverse=True)[1].ravel()
        return sorted_codes
    there = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    there[codes] = True
    found: NDArray[np.intp] = (np.cumsum(there) - 1)[codes]
    return found


def integers(values: ArrayLike, name: str) -> IntArray:
    """`values` as 64-bit integers.

    Raises StatisticsError: a value is no whole number, negative, or larger than `LARGEST_COUNT`.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise StatisticsError(f"{name} must be whole numbers in rows of one length") from None
    known = array.dtype.kind in "biu" or (array.dtype.kind == "f" and bool(np.isfinite(array).all()))
    if not known or (array.dtype.kind == "f" and not np.array_equal(np.floor(array), array)):
        raise StatisticsError(f"{name} must be whole numbers, not {values!r}")
    if array.size and array.min() < 0:
        raise StatisticsError(f"{name} must not be negative; the smallest is {array.min()}")
    if array.size and array.max() > LARGEST_COUNT:
        raise StatisticsError(f"{name} of up to {LARGEST_COUNT:,} are counted; the largest is {array.max():,}")
    return array.astype(np.int64)


def checked_counts(successes: ArrayLike, sizes: ArrayLike) -> Counts:
    """Both as integers of one shape, after broadcasting.

    Raises StatisticsError: a count is no whole number, is negative, or exceeds its size; or the shapes do not fit.
    """
    some, out_of = integers(successes, "successes"), integers(sizes, "sizes")
    try:
        some, out_of = np.broadcast_arrays(some, out_of)
    except ValueError:
        raise StatisticsError(f"successes of shape {some.shape} do not fit sizes of shape {out_of.shape}") from None
    if (some > out_of).any():
        where = tuple(int(i) for i in np.argwhere(some > out_of)[0])
        raise StatisticsError(f"{some[where]} successes out of {out_of[where]} at index {where}: more than there are")
    return Counts(some, out_of)


def checked_share(value: float, name: str) -> float:
    """`value`, if it lies strictly between 0 and 1. Raises StatisticsError: it does not."""
    if not isinstance(value, float | int | np.number) or not 0 < value < 1:
        raise StatisticsError(f"{name} must lie strictly between 0 and 1, not {value!r}")
    return float(value)


def safe_divide(numerator: ArrayLike, denominator: ArrayLike, *, otherwise: float = 0.0) -> FloatArray:
    """Element-wise quotient, with `otherwise` where the denominator is zero."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, dtype=float), np.asarray(denominator, dtype=float))
    out = np.full(top.shape, otherwise)
    quotient: FloatArray = np.divide(top, bottom, out=out, where=bottom != 0)
    return quotient
