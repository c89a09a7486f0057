"""What tells one kind of log from another: judgements today; replies, grades and verifications are others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from casewise.records.base import Record

__all__ = ["AnyManifest", "LogKind"]


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
