"""A run as a folder: what was asked in `run.json`, every answer in a log such as `judgements.jsonl`, nobody else at it.

The log only grows: one write a line, synced to disk each second and at the end, so that a killed process loses at most
what was in flight and a power cut at most a second. A torn last line is cut off when the run goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from casewise.errors import DataError, RunConflict
from casewise.records.base import Record
from casewise.storage.benchmarks.manifest import read_manifest_file
from casewise.storage.files.atomic import cannot_add, cannot_write, read_text, write_text
from casewise.storage.files.jsonl import read_jsonl, record
from casewise.storage.files.strict_json import parse
from casewise.storage.runs.log_kind import AnyManifest, LogKind

__all__ = [
    "MADE_BEFORE",
    "RUN",
    "RunFolder",
    "Session",
    "asked_so",
    "cut_torn_line",
    "kind_of",
    "last_session",
    "now",
    "read_manifest",
    "run_notes",
    "weights_bytes",
]

RUN = "run.json"
SESSIONS = "sessions.jsonl"
NOTES = "notes.json"
"""What the judge says that a reader of the run must know."""

LOCK = ".lock"

MADE_BEFORE = "made"
"""The folder in a run's own of what models made of texts before it began."""

SYNC_EVERY_S = 1.0

JUDGEMENTS = "judgements"
"""The kind of a folder that names none: judges' runs are older than other kinds."""

M = TypeVar("M", bound=AnyManifest)
R = TypeVar("R", bound=Record)


class Session(Record):
    """One stretch of work on a run."""

    started: datetime
    versions: dict[str, str]
    options: dict[str, Any]
    command: str | None = None
    weights_bytes: int | None = None
    """What the weights of a model that was run here take."""
    planned_items: int | None = None
    """How many items its plan asks."""
    planned_asks: dict[str, int] | None = None
    """How many judgements, or replies, its plan wants of each way of asking (`asked_so`); older sessions do not say."""


class RunFolder(Generic[M, R]):
    """A run folder, held by this process until it is closed.

    Use `RunFolder.hold`; `read_manifest` reads one without holding it.
    """

    def __init__(self, path: Path, manifest: M, kind: LogKind[M, R], log: int) -> None:
        self.path, self.manifest, self.kind = path, manifest, kind
        self.log_path = path / kind.file
        self._log, self._synced = log, time.monotonic()

    @classmethod
    @contextmanager
    def hold(cls, path: Path, manifest: M, kind: LogKind[M, R], *, private: bool = False) -> Iterator[Self]:
        """Begin the run at `path`, or go on with it, with nobody else at it; a `private` one is its owner's alone (0700).

        Raises RunConflict: another process holds it, something else lies there, or the run there has another identity;
        the message names what differs. ConfigurationError: the place cannot be written.
        """
        check_place(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if private:
                path.chmod(0o700)
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(path, error) from error
        try:
            take(lock, path)
            begun = begin(path, manifest, kind)
            log = open_log(path / kind.file)
            try:
                yield cls(path, begun, kind, log)
            finally:
                close_log(log, path / kind.file)
        finally:
            os.close(lock)

    def add(self, answered: R) -> None:
        """Append a record: one write, and a sync to disk when a second has passed since the last.

        Raises ConfigurationError: it cannot be written, because the disk is full for example; what was written before
        stays readable.
        """
        line = memoryview((answered.line() + "\n").encode())
        try:
            while line:
                line = line[os.write(self._log, line) :]
            if time.monotonic() - self._synced >= SYNC_EVERY_S:
                os.fsync(self._log)
                self._synced = time.monotonic()
        except OSError as error:
            raise cannot_add(self.log_path, error) from error

    def records(self) -> Iterator[R]:
        """What the log holds so far."""
        return read_jsonl(self.log_path, self.kind.record)

    def places(self) -> Iterator[tuple[int, R]]:
        """What the log holds so far, each record with its place in the file, in bytes."""
        place, path, kind = 0, self.log_path, self.kind.record
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    found = kind.model_validate_json(line, strict=True)
                except ValidationError:  # read once more, slowly, to say what is wrong
                    found = record(as_text(line, path, number), kind, path=path, line=number)
                yield place, found
                place += len(line)

    def at(self, place: int) -> R:
        """The record at a place of the log."""
        with self.log_path.open("rb") as file:
            file.seek(place)
            return self.kind.record.model_validate_json(file.readline())

    def sync(self) -> None:
        """Put what was added on the disk, now."""
        os.fsync(self._log)
        self._synced = time.monotonic()

    def keep_notes(self, notes: Iterable[str]) -> None:
        """Keep what the judge says that a reader must know, beside what it said in earlier sessions."""
        known = run_notes(self.path)
        if fresh := [note for note in dict.fromkeys(notes) if note not in known]:
            write_text(self.path / NOTES, json.dumps([*known, *fresh], ensure_ascii=False, indent=1) + "\n")

    def note_session(self, session: Session) -> None:
        """Record how this stretch of work was done."""
        try:
            with (self.path / SESSIONS).open("a", encoding="utf-8") as file:
                file.write(session.line() + "\n")
        except OSError as error:
            raise cannot_add(self.path / SESSIONS, error) from error


def as_text(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(path, number, f"byte 0x{line[error.start]:02x} is not UTF-8; the log was changed") from error


def check_place(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise RunConflict(f"{path} is a file, not a run folder; choose another place for the run")
    if (
        path.is_dir()
        and not (path / RUN).is_file()
        and any(entry.name not in (LOCK, MADE_BEFORE) for entry in path.iterdir())
    ):
        raise RunConflict(f"{path} holds something else (it has no {RUN}); choose another place for the run")


def take(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunConflict(f"another process is working on {path}; wait for it, or choose another place") from error


def begin(path: Path, manifest: M, kind: LogKind[M, R]) -> M:
    """The manifest of the run at `path`: the one that is there if it is the same run, else `manifest`, written."""
    if not (path / RUN).is_file():
        return written(path, manifest)
    if (other := kind_of(path)) != kind.name:
        raise RunConflict(f"{path} holds a run of {other}, not of {kind.name}; choose another place")
    there = read_manifest(path, kind)
    identity = type(manifest.identity).model_validate_json(manifest.identity.model_dump_json())
    called = [getattr(one, "benchmark_name", None) for one in (there, manifest)]
    if differences := [*differing(there.identity, identity, benchmarks=called)]:
        raise RunConflict(
            f"{path} holds a run that differs in {'; '.join(differences)}; use the same settings to go on with it, "
            "or choose another place"
        )
    if there.format_version < manifest.format_version:
        return written(path, there.model_copy(update={"format_version": manifest.format_version}))
    return there


def written(path: Path, manifest: M) -> M:
    write_text(path / RUN, manifest.model_dump_json(indent=1, exclude_none=True) + "\n")
    return manifest


def differing(old: Record, new: Record, *, benchmarks: Sequence[str | None]) -> Iterator[str]:
    """What two identities differ in: settings one by one, benchmarks by their names where they have some."""
    before, after = dict(old), dict(new)
    tables = [name for name, value in after.items() if isinstance(value, dict)]
    for name, value in after.items():
        if name not in tables and before[name] != value:
            was, now = benchmarks if name == "benchmark" and all(benchmarks) else (before[name], value)
            yield f"{name}: it has {was!r}, now {now!r}{' with other items or ratings' if was == now else ''}"
    for table in tables:
        for name in sorted({*before[table], *after[table]}):
            was, now = before[table].get(name), after[table].get(name)
            if was != now:
                yield f"setting {name!r}: it has {was!r}, now {now!r}"


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
        raise cannot_add(path, error) from error
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


def kind_of(path: Path) -> str:
    """What kind of run the folder at `path` holds: `judgements`, or what its `run.json` names.

    Raises DataError: it holds no run.
    """
    value = parse(read_text(manifest_file(path)), path=path / RUN)
    named = value.get("kind") if isinstance(value, dict) else None
    return named if isinstance(named, str) else JUDGEMENTS


def read_manifest(path: Path, kind: LogKind[M, R]) -> M:
    """The manifest of a run folder of this kind.

    Raises DataError: there is none, it is not valid, a newer casewise wrote it, or it is a run of another kind.
    """
    if (other := kind_of(path)) != kind.name:
        raise DataError(path, None, f"is a run of {other}, not of {kind.name}")
    return read_manifest_file(path / RUN, kind.manifest, newest=kind.newest)


def manifest_file(path: Path) -> Path:
    file = path / RUN
    if not file.is_file():
        raise DataError(path, None, f"is no run folder: it has no {RUN}")
    return file


def run_notes(path: Path) -> tuple[str, ...]:
    """What the judge of the run in the folder `path` said that a reader must know.

    Raises DataError: its `notes.json` cannot be read.
    """
    file = path / NOTES
    if not file.is_file():
        return ()
    try:
        return TypeAdapter(tuple[str, ...]).validate_json(read_text(file))
    except ValidationError as error:
        raise DataError(file, None, "is not a list of texts; judge again into another folder") from error


def weights_bytes(path: Path) -> int | None:
    """What the weights of the judge's model took in the last session of the run in `path`; None where it ran elsewhere, or has none."""
    last = last_session(path)
    return last.weights_bytes if last else None


def asked_so(elicitation: str, arm: str) -> str:
    """What a session calls a way of asking."""
    return f"{elicitation} {arm}"


def last_session(path: Path) -> Session | None:
    """The last stretch of work on the run in `path`; None where none was noted."""
    file = path / SESSIONS
    sessions = list(read_jsonl(file, Session)) if file.is_file() else []
    return sessions[-1] if sessions else None


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
