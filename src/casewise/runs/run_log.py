"""Where a run goes, what it knows of what was answered before, and where it writes what is answered now."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from casewise.records.base import Record
from casewise.runs.limits import Limits, Spend
from casewise.runs.run_kind import Attempted, LoggedKind
from casewise.storage.runs.log_kind import LastAttempts
from casewise.storage.runs.run_folder import RunFolder, Session

__all__ = ["FolderLog", "LastAttempt", "RunLog", "default_folder", "hashed", "session_now"]

A = TypeVar("A", bound=Attempted)
Ask_contra = TypeVar("Ask_contra", contravariant=True)
B = TypeVar("B")
R = TypeVar("R", bound=Record)


class LastAttempt(NamedTuple):
    """The last attempt at an ask: where it stands in the log, its number, and whether it settled the ask.

    One that failed for a reason that passes, such as a server that was down, is asked again by every later session.
    """

    place: int
    attempt: int
    usable: bool
    passing: bool = False


class RunLog(Protocol[Ask_contra, B]):
    """What was answered in all sessions of a run. A folder is one; a database can be another."""

    @property
    def empty(self) -> bool:
        """Whether nothing was answered before, so that nothing need be looked up."""

    @property
    def spent(self) -> Spend:
        """What all earlier sessions took."""

    def last(self, key: tuple[str, ...]) -> LastAttempt | None:
        """The last attempt at the ask with this key before this session."""

    def answer(self, last: LastAttempt) -> B:
        """What that attempt came to."""

    def write(self, ask: Ask_contra, answer: B) -> None:
        """Keep an answer, whatever becomes of this process."""

    def sync(self) -> None:
        """Put what was written on the disk, now."""


class FolderLog(Generic[A, B, R]):
    """The log of a run folder, indexed in about 200 bytes an ask."""

    def __init__(self, folder: RunFolder[Any, R], kind: LoggedKind[A, B, R]) -> None:
        self.folder, self.kind, self.spent = folder, kind, Spend()
        self._last: LastAttempts[bytes, LastAttempt] = LastAttempts(lambda last: last.attempt)
        cost, tokens = 0.0, 0
        for one in kind.held(folder):
            self._last.note(hashed(one.key), LastAttempt(one.place, one.attempt, one.usable, one.passing))
            cost, tokens = cost + (one.cost_usd or 0.0), tokens + one.tokens
        self.spent = Spend(cost, tokens)

    @property
    def empty(self) -> bool:
        return not self._last.by_key

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


def session_now(limits: Limits, *, command: str | None = None) -> Session:
    """A session that begins now: the versions that matter, its limits, and what was typed."""
    versions = {name: version(name) for name in ("casewise", "numpy", "polars", "pydantic", "aiohttp")}
    return Session(
        started=datetime.now(UTC),
        versions={"python": platform.python_version(), **versions},
        options=vars(limits),
        command=command,
    )
