"""A run as a folder: what was asked in `run.json`, every judgement in `judgements.jsonl`, and nobody else at it.

The log only grows: one write a line, synced to disk each second and at the end, so that a killed process loses at most
what was in flight and a power cut at most a second. A torn last line is cut off when the run goes on.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from casewise.errors import DataError, RunConflict
from casewise.records import Judgement
from casewise.records.base import Record
from casewise.storage.benchmarks.folder import read_manifest_file
from casewise.storage.files.atomic import cannot_write, write_text
from casewise.storage.files.jsonl import read_jsonl, record

__all__ = [
    "FORMAT_VERSION",
    "JUDGEMENTS",
    "RUN",
    "RunFolder",
    "RunIdentity",
    "RunManifest",
    "Session",
    "now",
    "read_run",
]

FORMAT_VERSION = 1
"""Of run folders. A reader knows every version up to this one."""

RUN = "run.json"
JUDGEMENTS = "judgements.jsonl"
SESSIONS = "sessions.jsonl"
LOCK = ".lock"

SYNC_EVERY_S = 1.0


class RunIdentity(Record):
    """What makes a run this run: a change here is a new run. Its plan may grow."""

    benchmark: str
    """The benchmark's digest."""
    judge: str
    """The judge's id, which holds the versions of its prompts."""
    settings: dict[str, Any]
    """The judge's settings: model options and what else its answers depend on."""
    seed: int


class RunManifest(Record):
    """What `run.json` says."""

    format_version: int = FORMAT_VERSION
    identity: RunIdentity
    judge_name: str
    benchmark_name: str
    benchmark_source: str
    """What to give `casewise report` to find the benchmark again: a name or a path."""
    synthetic: str | None = None
    created: datetime


class Session(Record):
    """One stretch of work on a run."""

    started: datetime
    versions: dict[str, str]
    options: dict[str, Any]
    command: str | None = None


class RunFolder:
    """A run folder, held by this process until it is closed.

    Use `RunFolder.hold`; `read_run` reads one without holding it.
    """

    def __init__(self, path: Path, manifest: RunManifest, log: int) -> None:
        self.path, self.manifest, self._log, self._synced = path, manifest, log, time.monotonic()

    @classmethod
    @contextmanager
    def hold(cls, path: Path, manifest: RunManifest) -> Iterator[Self]:
        """Begin the run at `path`, or go on with it, with nobody else at it.

        Raises
        ------
        RunConflict
            Another process holds it, something else lies there, or the run there has another identity; the message
            names what differs.
        ConfigurationError
            The place cannot be written.
        """
        check_place(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            take(lock, path)
            begun = begin(path, manifest)
            log = open_log(path / JUDGEMENTS)
            try:
                yield cls(path, begun, log)
            finally:
                close_log(log, path / JUDGEMENTS)
        finally:
            os.close(lock)

    def add(self, judgement: Judgement) -> None:
        """Append a judgement: one write, and a sync to disk when a second has passed since the last.

        Raises
        ------
        ConfigurationError
            It cannot be written, because the disk is full for example; what was written before stays readable.
        """
        line = memoryview((judgement.line() + "\n").encode())
        try:
            while line:
                line = line[os.write(self._log, line) :]
            if time.monotonic() - self._synced >= SYNC_EVERY_S:
                os.fsync(self._log)
                self._synced = time.monotonic()
        except OSError as error:
            raise cannot_write(self.path / JUDGEMENTS, error) from error

    def judgements(self) -> Iterator[Judgement]:
        """What the log holds so far."""
        return read_jsonl(self.path / JUDGEMENTS, Judgement)

    def places(self) -> Iterator[tuple[int, Judgement]]:
        """What the log holds so far, each judgement with its place in the file, in bytes."""
        place, path = 0, self.path / JUDGEMENTS
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield place, record(as_text(line, path, number), Judgement, path=path, line=number)
                place += len(line)

    def at(self, place: int) -> Judgement:
        """The judgement at a place of the log."""
        with (self.path / JUDGEMENTS).open("rb") as file:
            file.seek(place)
            return Judgement.model_validate_json(file.readline())

    def sync(self) -> None:
        """Put what was added on the disk, now."""
        os.fsync(self._log)
        self._synced = time.monotonic()

    def note_session(self, session: Session) -> None:
        """Record how this stretch of work was done."""
        try:
            with (self.path / SESSIONS).open("a", encoding="utf-8") as file:
                file.write(session.line() + "\n")
        except OSError as error:
            raise cannot_write(self.path / SESSIONS, error) from error


def as_text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, number, f"byte 0x{line[error.start]:02x} is not UTF-8; the log was changed") from error


def check_place(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise RunConflict(f"{path} is a file, not a run folder; choose another place for the run")
    if path.is_dir() and not (path / RUN).is_file() and any(entry.name != LOCK for entry in path.iterdir()):
        raise RunConflict(f"{path} holds something else (it has no {RUN}); choose another place for the run")


def take(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunConflict(f"another process is working on {path}; wait for it, or choose another place") from error


def begin(path: Path, manifest: RunManifest) -> RunManifest:
    """The manifest of the run at `path`: the one that is there if it is the same run, else `manifest`, written."""
    if not (path / RUN).is_file():
        write_text(path / RUN, manifest.model_dump_json(indent=1, exclude_none=True) + "\n")
        return manifest
    there = read_run(path)
    as_written = RunIdentity.model_validate_json(manifest.identity.model_dump_json())
    if differences := [*differing(there.identity, as_written)]:
        raise RunConflict(
            f"{path} holds a run that differs in {'; '.join(differences)}; use the same settings to go on with it, "
            "or choose another place"
        )
    return there


def differing(old: RunIdentity, new: RunIdentity) -> Iterator[str]:
    for name in ("benchmark", "judge", "seed"):
        if getattr(old, name) != getattr(new, name):
            yield f"{name}: it has {getattr(old, name)!r}, now {getattr(new, name)!r}"
    for name in sorted({*old.settings, *new.settings}):
        before, after = old.settings.get(name), new.settings.get(name)
        if before != after:
            yield f"setting {name!r}: it has {before!r}, now {after!r}"


def open_log(path: Path) -> int:
    try:
        cut_torn_line(path)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from error


def close_log(log: int, path: Path) -> None:
    try:
        os.fsync(log)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        os.close(log)


def cut_torn_line(path: Path) -> None:
    """Cut off a last line without its line break: the call it comes from is asked again."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        file.truncate(end)


def read_run(path: Path) -> RunManifest:
    """The manifest of a run folder.

    Raises
    ------
    DataError
        There is none, it is not valid, or a newer casewise wrote it.
    """
    file = path / RUN
    if not file.is_file():
        raise DataError(path, None, f"is no run folder: it has no {RUN}")
    return read_manifest_file(file, RunManifest, newest=FORMAT_VERSION)


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
