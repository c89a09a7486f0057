"""Where a run goes, what it knows of what was answered before, and where it writes what is answered now."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import polars as pl

from casewise.records.base import Record
from casewise.runs.limits import Limits, Spend
from casewise.runs.resuming import LastAttempt, spent_in_columns
from casewise.runs.run_kind import Attempted, LoggedKind
from casewise.storage.runs.log_kind import LastAttempts
from casewise.storage.runs.run_folder import RunFolder, Session

__all__ = ["FolderLog", "RunLog", "default_folder", "hashed", "session_now"]

A = TypeVar("A", bound=Attempted)
Ask_contra = TypeVar("Ask_contra", contravariant=True)
B = TypeVar("B")
R = TypeVar("R", bound=Record)


class RunLog(Protocol[Ask_contra, B]):
    """What was answered in all sessions of a run. A folder is one; a database can be another."""

    @property
    def empty(self) -> bool:
        """Whether nothing was answered before, so that nothing need be looked up."""

    @property
    def spent(self) -> Spend:
        """What all earlier sessions took."""

    def columns(self) -> pl.DataFrame | None:
        """What was answered before this session, in columns (see `LoggedKind.in_columns`); None where it is looked up by keys."""

    def last(self, key: tuple[str, ...]) -> LastAttempt | None:
        """The last attempt at the ask with this key before this session."""

    def answer(self, last: LastAttempt) -> B:
        """What that attempt came to."""

    def write(self, ask: Ask_contra, answer: B) -> None:
        """Keep an answer, whatever becomes of this process."""

    def sync(self) -> None:
        """Put what was written on the disk, now."""


class FolderLog(Generic[A, B, R]):
    """The log of a run folder: in columns where its kind reads it so, else indexed in about 200 bytes an ask."""

    def __init__(self, folder: RunFolder[Any, R], kind: LoggedKind[A, B, R]) -> None:
        self.folder, self.kind, self.spent = folder, kind, Spend()
        self._last: LastAttempts[bytes, LastAttempt] = LastAttempts(lambda last: last.attempt)
        self._columns = kind.in_columns(folder)
        if self._columns is not None:
            self.empty = self._columns.is_empty()
            self.spent = spent_in_columns(self._columns)
            return
        cost, tokens = 0.0, 0
        for one in kind.held(folder):
            self._last.note(hashed(one.key), LastAttempt(one.place, one.attempt, one.usable, one.passing))
            cost, tokens = cost + (one.cost_usd or 0.0), tokens + one.tokens
        self.spent, self.empty = Spend(cost, tokens), not self._last.by_key

    def columns(self) -> pl.DataFrame | None:
        return self._columns

    def last(self, key: tuple[str, ...]) -> LastAttempt | None:
        return self._last.by_key.get(hashed(key))

    def answer(self, last: LastAttempt) -> B:
        return self.kind.answer(self.folder.at(last.place))

    def write(self, ask: A, answer: B) -> None:
        self.folder.add(self.kind.record(ask, answer))

    def sync(self) -> None:
        self.folder.sync()


def hashed(key: tuple[str, ...]) -> bytes:
    """A key in 16 bytes, the same in every process."""
    return hashlib.blake2b("\n".join(key).encode(), digest_size=16).digest()


def default_folder(name: str) -> Path:
    """Where a run of this name goes unless the user says otherwise."""
    return Path("runs") / "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)


def session_now(
    limits: Limits, *, command: str | None = None, items: int | None = None, asks: dict[str, int] | None = None
) -> Session:
    """A session that begins now: the versions that matter, its limits, what was typed, and what its plan wants."""
    versions = {name: version(name) for name in ("casewise", "numpy", "polars", "pydantic", "aiohttp")}
    return Session(
        started=datetime.now(UTC),
        versions={"python": platform.python_version(), **versions},
        options=vars(limits),
        command=command,
        planned_items=items,
        planned_asks=asks,
    )
