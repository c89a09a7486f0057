"""What tells one kind of log from another, and which of several attempts counts: the last, for records and for columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import polars as pl

from casewise.records.base import Record

__all__ = ["AnyManifest", "LastAttempts", "LogKind", "last_records", "last_rows"]


class AnyManifest(Record):
    """What every `run.json` says. Each kind has its own, which says more.

    Kinds other than judgements declare a field `kind` as well, so that a folder says what it holds.
    """

    format_version: int
    identity: Record
    """What makes a run this run: a change here is a new run."""


M = TypeVar("M", bound=AnyManifest)
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class LogKind(Generic[M, R]):
    """A kind of run folder: its manifest, its log, and what tells what one record was asked from what another was."""

    name: str
    """In plain words and in the plural, `judgements`; the log is called so too."""
    manifest: type[M]
    record: type[R]
    key: Callable[[R], tuple[str, ...]]
    """What was asked, whatever the attempt. Of several records with one key the last attempt counts."""
    attempt: Callable[[R], int]
    """Which attempt at it the record is, from 0."""
    newest: int = 1
    """The newest format version that this casewise reads."""

    @property
    def file(self) -> str:
        """The name of the log in its folder."""
        return f"{self.name}.jsonl"


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
    if table.select(pl.struct(key).hash()).to_series().n_unique() == len(table):
        return table  # no two have one key, as far as hashes tell: a fifth of the memory of comparing the keys
    if not (table["attempt"] > 0).any():
        return table.unique(key, keep="last", maintain_order=True)
    return table.sort("attempt", maintain_order=True).unique(key, keep="last", maintain_order=True)
