"""Of several attempts at one ask, the last one counts: the rule, once for records and once for columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

import polars as pl

from casewise.records.base import Record
from casewise.storage.runs.log_kind import AnyManifest, LogKind

__all__ = ["LastAttempts", "last_records", "last_rows"]


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
M = TypeVar("M", bound=AnyManifest)
R = TypeVar("R", bound=Record)


class LastAttempts(Generic[K, V]):
    """The last attempt at everything that was asked; of two with one number, the one that was noted later."""

    def __init__(self, attempt: Callable[[V], int]) -> None:
        self.by_key: dict[K, V] = {}
        self._attempt = attempt

    def note(self, key: K, value: V) -> None:
        """Take one attempt into account, in the order of the log."""
        there = self.by_key.get(key)
        if there is None or self._attempt(value) >= self._attempt(there):
            self.by_key[key] = value


def last_records(records: Iterable[R], kind: LogKind[M, R]) -> list[R]:
    """Of a log's records those that count, in the order in which their asks were first answered."""
    last: LastAttempts[tuple[str, ...], R] = LastAttempts(kind.attempt)
    for one in records:
        last.note(kind.key(one), one)
    return list(last.by_key.values())


def last_rows(table: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Of the rows of a log those that count: one for each `key`. There is a column `attempt`."""
    if all_differ(table, key):
        return table
    if not (table["attempt"] > 0).any():
        return table.unique(key, keep="last", maintain_order=True)
    return table.sort("attempt", maintain_order=True).unique(key, keep="last", maintain_order=True)


def all_differ(table: pl.DataFrame, key: Sequence[str]) -> bool:
    """Whether no two rows have one key, as far as hashes tell: a fifth of the memory of comparing the keys."""
    hashes = table.select(pl.struct(key).hash())
    return bool(hashes.to_series().n_unique() == len(table))
