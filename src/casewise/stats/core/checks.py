"""What a statistic may be asked: values, labels and settings checked once, so that nothing comes out nan in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from casewise.errors import StatisticsError
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray, checked_counts, renumbered

__all__ = [
    "checked_draws",
    "checked_votes_of_items",
    "clusters_of",
    "coded_labels",
    "numbers",
    "of_one_length",
    "of_one_shape",
    "partly_known",
    "truths",
    "vector",
    "whole",
]

Scalar = TypeVar("Scalar", bound=np.generic)


def numbers(values: ArrayLike, name: str) -> FloatArray:
    """`values` as finite floats.

    Raises StatisticsError: a value is no number, is nan or is infinite; or rows differ in length.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise StatisticsError(f"{name} must be numbers") from None
    if not np.isfinite(array).all():
        raise StatisticsError(f"{name} must be finite numbers; {np.sum(~np.isfinite(array))} of {array.size} are not")
    return array


def vector(values: ArrayLike, name: str) -> FloatArray:
    """`values` as finite floats in one dimension."""
    array = numbers(values, name)
    if array.ndim != 1:
        raise StatisticsError(f"{name} must be one list of numbers, not of shape {array.shape}")
    return array


def partly_known(values: ArrayLike, name: str, *, shape: tuple[int, ...] | None = None) -> FloatArray:
    """`values` as floats, nan where one is not known; of this shape, where one is wanted.

    Raises StatisticsError: a value is no number or is infinite, or the shape is another one.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise StatisticsError(f"{name} must be numbers, nan where one is not known") from None
    if np.isinf(array).any() or (shape is not None and array.shape != shape):
        raise StatisticsError(f"{name} must be finite numbers or nan" + (f" of shape {shape}" if shape else ""))
    return array


def truths(values: ArrayLike, name: str) -> BoolArray:
    """`values`, each true or false (1 or 0), in one dimension."""
    array = vector(values, name)
    if not ((array == 0) | (array == 1)).all():
        raise StatisticsError(f"{name} must be true or false, 1 or 0")
    found: BoolArray = array == 1
    return found


def coded_labels(values: ArrayLike, name: str) -> IntArray:
    """`values` as the numbers 0, 1, 2, ... of their sorted names, in one dimension.

    Raises StatisticsError: a label is missing (None or nan), or the labels are of kinds that cannot be compared.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise StatisticsError(f"{name} must be one list of labels") from None
    if array.ndim != 1:
        raise StatisticsError(f"{name} must be one list of labels, not of shape {array.shape}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise StatisticsError(f"{name} must not be missing; {np.isnan(array).sum()} of {array.size} are")
    if array.dtype.kind in "iu":
        return renumbered(array)
    try:
        codes: IntArray = np.unique(array, return_inverse=True)[1].ravel()
    except TypeError:
        raise StatisticsError(f"{name} must all be of one kind, and none missing") from None
    return codes


def clusters_of(clusters: ArrayLike | None, n: int) -> IntArray:
    """The cluster of each of `n` items as a number; each its own where none are given."""
    if clusters is None:
        return np.arange(n)
    codes = coded_labels(clusters, "clusters")
    if len(codes) != n:
        raise StatisticsError(f"there are {n} items and clusters of {len(codes)}")
    return codes


def of_one_length(**columns: NDArray[Any] | None) -> int:
    """How long all columns are. Raises StatisticsError: they differ in length."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise StatisticsError(f"lengths differ: {', '.join(f'{n} {name}' for name, n in lengths.items())}")
    return next(iter(lengths.values()))


def of_one_shape(columns: Mapping[str, NDArray[Scalar]]) -> list[NDArray[Scalar]]:
    """All columns broadcast against each other. Raises StatisticsError: their shapes do not fit."""
    try:
        return list(np.broadcast_arrays(*columns.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise StatisticsError(f"shapes do not fit: {shapes}") from None


def whole(value: object, name: str, *, least: int) -> int:
    """`value` as a whole number of at least `least`. Raises StatisticsError: it is none, or smaller."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StatisticsError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def checked_draws(draws: int, name: str = "draws") -> int:
    """A number of simulations: at least one."""
    return whole(draws, name, least=1)


def checked_votes_of_items(safe: ArrayLike, votes: ArrayLike) -> tuple[IntArray, IntArray]:
    """Safe votes and votes of a list of items.

    Raises StatisticsError: as `checked_counts`; also where they are no list, or hold no item.
    """
    counts = checked_counts(safe, votes)
    if counts.sizes.ndim != 1 or not len(counts.sizes):
        raise StatisticsError(f"votes must be a list with a number an item, not of shape {counts.sizes.shape}")
    return counts.successes, counts.sizes
