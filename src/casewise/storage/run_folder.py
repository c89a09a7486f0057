"""A run on disk: its manifest, its log of calls, and notes on its items."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, Union, get_args, get_origin

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from casewise.errors import DataError, RunConflict
from casewise.records import Judgement, UnscoredReason, elicitation_names
from casewise.records.base import Record
from casewise.records.call import Call
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import read_manifest_file
from casewise.storage.files import (
    append_line,
    cannot_append,
    cannot_write,
    decoded,
    parse,
    read_jsonl,
    read_text,
    record,
    write_text,
)
from casewise.text import RefusalNote


@dataclass(frozen=True)
class StoredRun:
    """The folder of a run, and its benchmark."""

    path: Path
    benchmark: Benchmark = field(repr=False)


AnyRun = StoredRun | str | Path
"""A run, or the path of its folder."""


def folder_of(run: AnyRun) -> Path:
    """Return the folder of a run."""
    return run.path if isinstance(run, StoredRun) else Path(run)


# The kinds of logs. Of several attempts the last one counts, for records and for columns.


class AnyManifest(Record):
    """The fields of every `run.json`. Each kind of run adds fields.

    Kinds other than judgements declare a field `kind` as well, so that a folder says what it holds.
    """

    format_version: int
    identity: Record
    """The identity of the run: a change here is a new run."""

    def problem_with(self, _new: Self) -> str | None:
        """Return the reason why this run cannot resume as `_new` with the same settings; None where it can."""
        return None

    def joined(self, _new: Self) -> Self:
        """Return this manifest with what `_new` asks in addition."""
        return self


M = TypeVar("M", bound=AnyManifest)
R = TypeVar("R", bound=Call)


@dataclass(frozen=True)
class LogKind(Generic[M, R]):
    """A kind of run folder: its manifest, its log, and the fields that identify a record's question."""

    name: str
    """Name in plain words and in the plural, `judgements`; the log is called so too."""
    manifest: type[M]
    record: type[R]
    key: tuple[str, ...]
    """The fields that say what was asked, whatever the attempt. Of several records with one key the last attempt counts."""
    newest: int = 1
    """The newest format version that this casewise reads."""

    @property
    def file(self) -> str:
        """The name of the log in its folder."""
        return f"{self.name}.jsonl"


def last_records(log: Path, kind: LogKind[M, R], *, growing: bool = False) -> list[R]:
    """Return the records of a log that count, in the order in which their asks were first answered."""
    last: dict[tuple[Any, ...], R] = {}
    for answered in read_jsonl(log, kind.record, growing=growing):
        key = tuple(getattr(answered, name) for name in kind.key)
        if key not in last or answered.attempt >= last[key].attempt:
            last[key] = answered
    return list(last.values())


def last_rows(table: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return the last attempt for each `key` of a log with the column `attempt`."""
    if table.select(pl.struct(key).hash()).to_series().n_unique() == len(table):
        return table  # no two have one key, as far as hashes tell: a fifth of the memory of comparing the keys
    return table.sort("attempt", maintain_order=True).unique(key, keep="last", maintain_order=True)


# A run as a folder: what was asked in `run.json`, and every answer in a log such as `judgements.jsonl`. One process writes.
#
# The log only grows: one write a line, synced to disk each second and at the end, so that a killed process loses at most
# the calls under way and a power cut at most a second. A torn last line is cut off when the run resumes.


RUN = "run.json"
SESSIONS = "sessions.jsonl"
NOTES = "notes.json"
"""The file of the judge's notes that a reader of the run must know."""

LOCK = ".lock"

MADE_BEFORE = "made"
"""The folder in a run's own of what models made of texts before it began."""

SYNC_EVERY_S = 1.0

JUDGEMENT_RUN = "judgements"
"""The kind of a folder whose `run.json` names none."""


class Session(Record):
    """One session of a run, from its start to its end or stop."""

    started: datetime
    versions: dict[str, str]
    options: dict[str, Any]
    command: str | None = None
    weights_bytes: int | None = None
    """The size of the weights of a model that was run here."""
    planned_items: int | None = None
    """The number of items that its plan asks."""
    planned_asks: dict[str, int] | None = None
    """The number of judgements, or replies, that its plan wants of each way of asking (`way_of_asking`), if recorded."""


class RunFolder(Generic[M, R]):
    """A run folder, locked by this process until it is closed.

    Use `RunFolder.hold`; `read_manifest` reads one without holding it.
    """

    def __init__(self, path: Path, manifest: M, kind: LogKind[M, R], log: int) -> None:
        self.path, self.manifest, self.kind = path, manifest, kind
        self.log_path = path / kind.file
        self._log, self._synced = log, time.monotonic()

    @classmethod
    @contextmanager
    def hold(cls, path: Path, manifest: M, kind: LogKind[M, R], *, private: bool = False) -> Iterator[Self]:
        """Lock and start the run at `path`, or resume it. A `private` folder (mode 0700) is accessible to its owner alone.

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
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunConflict(
                    f"another process is working on {path}; wait for it, or choose another place"
                ) from error
            begun = begin(path, manifest, kind)
            file = path / kind.file
            try:
                cut_torn_line(file)
                log = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            except OSError as error:
                raise cannot_write(file, error) from error
            try:
                yield cls(path, begun, kind, log)
            finally:
                try:
                    os.fsync(log)
                except OSError as error:
                    raise cannot_append(file, error) from error
                finally:
                    os.close(log)
        finally:
            os.close(lock)

    def add(self, answered: R) -> None:
        """Append a record with one write, and sync to disk if a second has passed since the last sync.

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
            raise cannot_append(self.log_path, error) from error

    def brief(self) -> pl.DataFrame:
        """Return a table with the facts that a session needs about each line of the log.

        Its columns are those of the key, the `attempt`, the `place` of the line in bytes, whether the
        answer is `usable` or failed for a `passing` reason, and the `tokens` and `cost_usd` that it took, or at most took.
        """
        if issubclass(self.kind.record, Judgement):
            return judgement_summaries(self.log_path)
        columns, place, rows = (*self.kind.key, "attempt", "place", "usable", "passing", "tokens", "cost_usd"), 0, []
        with self.log_path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                text = decoded(line, path=self.log_path, line=number)
                call = record(text, self.kind.record, path=self.log_path, line=number)
                tokens = (call.input_tokens or 0) + (call.output_tokens or 0) + (call.assumed_tokens or 0)
                cost_usd = (call.cost_usd or 0.0) + (call.assumed_cost_usd or 0.0)
                key = (getattr(call, name) for name in self.kind.key)
                rows.append((*key, call.attempt, place, call.failure is None, call.may_pass, tokens, cost_usd))
                place += len(line)
        return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)

    def at(self, place: int) -> R:
        """Return the record at a place of the log."""
        with self.log_path.open("rb") as file:
            file.seek(place)
            return self.kind.record.model_validate_json(file.readline())

    def sync(self) -> None:
        """Sync the added records to disk."""
        os.fsync(self._log)
        self._synced = time.monotonic()

    def keep_notes(self, notes: Iterable[str]) -> None:
        """Add the judge's notes for readers to those of earlier sessions."""
        earlier = run_notes(self.path)
        if fresh := [note for note in dict.fromkeys(notes) if note not in earlier]:
            entries = [
                {"refused": note.option, "text": note} if isinstance(note, RefusalNote) else note
                for note in (*earlier, *fresh)
            ]
            write_text(self.path / NOTES, json.dumps(entries, ensure_ascii=False, indent=1) + "\n")

    def note_session(self, session: Session) -> None:
        """Record how this stretch of work was done."""
        append_line(self.path / SESSIONS, session)


def check_place(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise RunConflict(f"{path} is a file, not a run folder; choose another place for the run")
    if (
        path.is_dir()
        and not (path / RUN).is_file()
        and any(entry.name not in (LOCK, MADE_BEFORE) for entry in path.iterdir())
    ):
        raise RunConflict(f"{path} holds something else (it has no {RUN}); choose another place for the run")


def begin(path: Path, manifest: M, kind: LogKind[M, R]) -> M:
    """Return the manifest of the run at `path`: the existing one if it is the same run, else `manifest`, which is written."""
    if not (path / RUN).is_file():
        return write_run_manifest(path, manifest)
    if (name_of_kind := kind_of(path)) != kind.name:
        raise RunConflict(f"{path} holds a run of {name_of_kind}, not of {kind.name}; choose another place")
    existing = read_manifest(path, kind)
    identity = type(manifest.identity).model_validate_json(manifest.identity.model_dump_json())
    called = [getattr(either, "benchmark_name", None) for either in (existing, manifest)]
    if problem := existing.problem_with(manifest):
        raise RunConflict(f"{path} {problem}; choose another place")
    if differences := [*identity_differences(existing.identity, identity, benchmarks=called)]:
        raise RunConflict(
            f"{path} holds a run that differs in {'; '.join(differences)}; use the same settings to resume it, or choose another place"
        )
    joined = existing.joined(manifest).model_copy(
        update={"format_version": max(existing.format_version, manifest.format_version)}
    )
    return existing if joined == existing else write_run_manifest(path, joined)


def write_run_manifest(path: Path, manifest: M) -> M:
    write_text(path / RUN, manifest.model_dump_json(indent=1, exclude_none=True) + "\n")
    return manifest


def identity_differences(old: Record, new: Record, *, benchmarks: Sequence[str | None]) -> Iterator[str]:
    """Yield the differences of two identities: settings one by one, benchmarks by their names where they have some."""
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


def cut_torn_line(path: Path) -> None:
    """Cut off a last line without its line break: the call it comes from is asked again."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        file.truncate(end)


def advice_for_path(path: Path) -> str:
    """Return what to do with a path that is no run folder."""
    if path.is_file():
        return f"to compare verdicts and labels in a table: casewise check {shlex.quote(str(path))}"
    if (path / "benchmark.json").is_file():
        return f"it is a benchmark: casewise judge {shlex.quote(str(path))} --judge NAME makes a run of it"
    if runs := sorted(found.parent for found in path.glob(f"*/{RUN}")):
        return f"it holds run folders: give them, such as {runs[0]}"
    return "casewise judge makes one"


def kind_of(path: Path) -> str:
    """Return the kind of run in the folder at `path`: `judgements`, or what its `run.json` names.

    Raises DataError: it holds no run.
    """
    if not (path / RUN).is_file():
        raise DataError(path, None, f"is no run folder: it has no {RUN}; {advice_for_path(path)}")
    value = parse(read_text(path / RUN), path=path / RUN)
    named = value.get("kind") if isinstance(value, dict) else None
    return named if isinstance(named, str) else JUDGEMENT_RUN


def read_manifest(path: Path, kind: LogKind[M, R]) -> M:
    """Return the manifest of a run folder of this kind.

    Raises DataError: there is none, it is not valid, a newer casewise wrote it, or it is a run of another kind.
    """
    if (name_of_kind := kind_of(path)) != kind.name:
        raise DataError(path, None, f"is a run of {name_of_kind}, not of {kind.name}")
    return read_manifest_file(path / RUN, kind.manifest, newest=kind.newest)


class RefusalEntry(Record):
    """A `RefusalNote` in `notes.json`. Other notes are texts there."""

    refused: str
    text: str


def run_notes(path: Path) -> tuple[str, ...]:
    """Return the notes that the judge of the run in the folder `path` gave for its readers.

    Raises DataError: its `notes.json` cannot be read.
    """
    file = path / NOTES
    if not file.is_file():
        return ()
    try:
        entries = TypeAdapter(tuple[str | RefusalEntry, ...]).validate_json(read_text(file))
    except ValidationError as error:
        raise DataError(file, None, "is not a list of notes; judge again into another folder") from error
    return tuple(
        entry if isinstance(entry, str) else RefusalNote(entry.text, option=entry.refused) for entry in entries
    )


def way_of_asking(elicitation: str, arm: str) -> str:
    """Return the name that a session gives to a way of asking."""
    return f"{elicitation} {arm}"


def last_session(path: Path) -> Session | None:
    """Return the last stretch of work on the run in `path`; None where none was noted."""
    file = path / SESSIONS
    sessions = list(read_jsonl(file, Session)) if file.is_file() else []
    return sessions[-1] if sessions else None


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


# The run folder of a judge: what its `run.json` says, and its log of judgements.


FORMAT_VERSION = 1
"""Version of run folders of judges: raised with each change of `RunManifest` or `Judgement`, so that an older reader refuses the folder.
A reader knows every version up to this one; `tests/contract` pins a folder of each."""


class RunIdentity(Record):
    """The identity of a run: a change here is a new run. Its plan may grow."""

    benchmark: str
    """The benchmark's digest."""
    judge: str
    """The judge's id."""
    settings: dict[str, Any]
    """The judge's settings: model options and what else its answers depend on."""
    seed: int


class RunManifest(AnyManifest):
    """The content of `run.json` for a run of judgements."""

    format_version: int = FORMAT_VERSION
    identity: RunIdentity
    judge_name: str
    benchmark_name: str
    benchmark_source: str
    """The name or path by which `casewise report` finds the benchmark again."""
    synthetic: str | None = None
    address: str | None = None
    """The address of the judge's model when the run began; None where it has none or none was recorded."""
    wordings: dict[str, str] = Field(default_factory=dict)
    """Version and digest of the words that each elicitation was asked in, where it was asked in words."""
    created: datetime

    def problem_with(self, new: Self) -> str | None:
        """Return the problem that an elicitation had another wording before, or None."""
        for elicitation, wording in new.wordings.items():
            if (before := self.wordings.get(elicitation, wording)) != wording:
                return f"asked for {elicitation} in other words: it has {before}, now {wording}"
        return None

    def joined(self, new: Self) -> Self:
        """Return the manifest with the wordings of elicitations that are asked for the first time."""
        return self.model_copy(update={"wordings": new.wordings | self.wordings})


JUDGEMENT_LOG = LogKind(
    "judgements", RunManifest, Judgement, key=("item_id", "elicitation", "arm", "repeat"), newest=FORMAT_VERSION
)

JUDGEMENTS = JUDGEMENT_LOG.file


def read_run(path: Path) -> RunManifest:
    """Return the manifest of a judge's run folder.

    Raises DataError: there is none, it is not valid, a newer casewise wrote it, or it is a run of another kind.
    """
    return read_manifest(path, JUDGEMENT_LOG)


# A run's judgements as a table, read in columns: a million lines without a million objects, and never re-hashed.


def plain_type(annotation: Any) -> Any:
    """Return the Python type of a field's values, without None, bounds and type parameters."""
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if get_origin(annotation) is Literal:
        return str
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return plain_type(kinds[0])
    return get_origin(annotation) or annotation


OUTCOME = pl.Struct(
    {"kind": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "reason": pl.String}
)

TYPES: dict[Any, pl.DataType] = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), tuple: pl.List(pl.String())}

SCHEMA: dict[str, pl.DataType] = {
    name: OUTCOME if name == "outcome" else TYPES[kind]
    for name, field in Judgement.model_fields.items()
    if (kind := plain_type(field.annotation)) in TYPES or name == "outcome"
}
"""The columns of a log of judgements, from the fields of the record; times and details stay in the file."""

REQUIRED_COLUMNS = ("item_id", "judge_id", "elicitation", "arm", "outcome")
"""The columns that tell whether a line is a judgement."""

SUMMARY_COLUMNS = (
    *REQUIRED_COLUMNS,
    "repeat",
    "attempt",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "assumed_cost_usd",
    "assumed_tokens",
)

BLOCK = 8_388_608
"""Bytes of a log that are read at a time."""

KEY_COLUMNS = ("item_id", "judge_id", "elicitation", "arm")


def judgement_table(
    path: Path, *, replies: Literal["leave", "keep"] = "leave", columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return the judgements of the log at `path`, every attempt a row.

    Columns are those of `Judgement`, with the outcome spread out into `value`, `low`, `high` and `unscored_reason`; or
    `columns` of these. Raw replies are left on disk unless `replies` is `keep`.

    Raises DataError: a line is no judgement; the message names it.
    """
    lines = line_blocks(path) if path.is_file() else ()
    parts = [flatten_outcomes(pl.DataFrame(schema=SCHEMA), replies).select(columns or pl.all())]
    return pl.concat(
        [*parts, *(flatten_outcomes(read_lines(path, block), replies).select(columns or pl.all()) for block in lines)]
    )


def read_lines(path: Path, lines: bytes, names: Sequence[str] = tuple(SCHEMA)) -> pl.DataFrame:
    """Return some lines of the log at `path`, a row a line, with the columns `names`, which hold `REQUIRED_COLUMNS`.

    Raises DataError: a line is no judgement, as far as these columns tell; the message names it.
    """
    try:
        table = pl.read_ndjson(lines, schema={name: SCHEMA[name] for name in names})
        table = table.with_columns(pl.col("repeat", "attempt").fill_null(0).cast(pl.Int32))
    except pl.exceptions.PolarsError as error:
        raise_for_bad_line(path)
        raise DataError(path, None, f"cannot be read: {error}") from error
    if table.select(is_invalid().any()).item():
        raise_for_bad_line(path)
    return table


def line_blocks(path: Path) -> Iterator[bytes]:
    """Yield the log in blocks of whole lines, so that a million replies are never in memory at once.

    A last line that a killed process left unfinished is left out.
    """
    left = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            lines, end, remainder = (left + block).rpartition(b"\n")
            if end:
                yield lines + end
            left = remainder
    with suppress(ValidationError):
        Judgement.model_validate_json(left, strict=True)
        yield left


def judgement_summaries(path: Path) -> pl.DataFrame:
    """Return the lines of a log as `RunFolder.brief` gives them, the key being `item_id`, `elicitation`, `arm` and `repeat`.

    A last line without its line break is passed over.

    Raises DataError: a line is no judgement; the message names it.
    """
    parts, start = [summary_rows(pl.DataFrame(schema=SCHEMA), np.zeros(0, dtype=np.int64))], 0
    for block in line_blocks(path):
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
        if not block.endswith(b"\n"):
            break
        table = read_lines(path, block, SUMMARY_COLUMNS)
        if len(table) != len(ends):
            raise DataError(path, None, "holds a line that is no judgement")
        parts.append(summary_rows(table, start + np.concatenate([[0], ends[:-1]])))
        start += len(block)
    return pl.concat(parts)


def summary_rows(table: pl.DataFrame, places: NDArray[np.int64]) -> pl.DataFrame:
    outcome = pl.col("outcome").struct
    return table.select(
        "item_id",
        "elicitation",
        "arm",
        pl.col("repeat", "attempt").cast(pl.Int32),
        place=pl.Series(places),
        usable=outcome.field("kind") == "scored",
        passing=(outcome.field("reason") == UnscoredReason.UNAVAILABLE.value).fill_null(value=False),
        tokens=pl.sum_horizontal("input_tokens", "output_tokens", "assumed_tokens"),
        cost_usd=pl.sum_horizontal("cost_usd", "assumed_cost_usd"),
    )


def is_invalid() -> pl.Expr:
    """Return an expression, true where a row is no judgement, as far as the columns of `REQUIRED_COLUMNS` tell."""
    outcome = pl.col("outcome").struct
    kind, value, reason = (outcome.field(name) for name in ("kind", "value", "reason"))
    scored = (kind == "scored") & value.is_not_null() & reason.is_null()
    unscored = (kind == "unscored") & reason.is_in(list(UnscoredReason)) & value.is_null()
    is_ask = pl.col("elicitation").is_in(elicitation_names()) & pl.col("arm").is_not_null()
    whole = pl.col("item_id").is_not_null() & pl.col("judge_id").is_not_null() & is_ask & (scored | unscored)
    return ~whole.fill_null(value=False)


def flatten_outcomes(table: pl.DataFrame, replies: str) -> pl.DataFrame:
    """Return the table with its outcomes spread out into columns."""
    outcome = pl.col("outcome").struct
    return table.select(
        *(pl.col(name).cast(pl.Categorical if name != "item_id" else pl.String) for name in KEY_COLUMNS),
        pl.col("repeat", "attempt").cast(pl.Int32),
        outcome.field("kind").cast(pl.Categorical),
        outcome.field("value", "low", "high"),
        outcome.field("reason").cast(pl.Categorical).alias("unscored_reason"),
        *(name for name in SCHEMA if name not in ("outcome", "raw_reply", *KEY_COLUMNS, "repeat", "attempt")),
        *(["raw_reply"] if replies == "keep" else []),
    )


def raise_for_bad_line(path: Path) -> None:
    """Read the log line by line, so that the first invalid line raises an error with its number."""
    for _ in read_jsonl(path, Judgement):
        pass


def last_attempts(table: pl.DataFrame) -> pl.DataFrame:
    """Return the last attempt at each judgement."""
    return last_rows(table, [*KEY_COLUMNS, "repeat"])


# Notes and tags of people on the items of a run, in a file of its folder.


ITEM_NOTES = "item_notes.jsonl"

Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=r"^[^,\x00-\x1f]+$")]


class ItemNote(Record):
    """A person's note on an item. Of several notes on one item the last one counts."""

    item_id: str
    text: Annotated[str, StringConstraints(max_length=20_000)] = ""
    tags: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()
    at: datetime


def read_item_notes(runs: Iterable[Path]) -> dict[str, ItemNote]:
    """Return the notes that count in the folders of `runs`, by item.

    Raises DataError: a line of the file is no note; the message names it.
    """
    files = (run / ITEM_NOTES for run in runs)
    notes = sorted(
        (note for file in files if file.is_file() for note in read_jsonl(file, ItemNote)), key=lambda n: n.at
    )
    latest = {note.item_id: note for note in notes}  # an empty note takes back what was noted before
    return {item: note for item, note in latest.items() if note.text.strip() or note.tags}


def add_item_note(run: Path, note: ItemNote) -> None:
    """Append a note to the file in the folder of a run. Raises ConfigurationError: it cannot be written."""
    append_line(run / ITEM_NOTES, note)
