"""A benchmark as an immutable folder: one JSONL file a record type, and a manifest with the checksum of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from casewise.records import Rating
from casewise.records.base import Record
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.context_file import ContextFile
from casewise.storage.benchmarks.kept import find_kept, keep, worth_keeping
from casewise.storage.benchmarks.manifest import (
    FILES,
    RECORDS,
    Manifest,
    assembled,
    check_files,
    new_folder,
    read_manifest,
    write_manifest,
)
from casewise.storage.benchmarks.ratings import RatingColumns
from casewise.storage.files.jsonl import read_jsonl, write_jsonl

__all__ = ["read_benchmark", "write_benchmark"]

MOST_HELD = 10_000
"""Contexts that are held in memory, where a benchmark has no more of them. They are the bulk of its records."""


def write_benchmark(benchmark: Benchmark, folder: Path) -> Path:
    """Write `benchmark` as a new folder: all of it or nothing.

    Raises ConfigurationError: there is something at `folder` already (a benchmark is immutable), or it cannot be written.
    """
    with new_folder(folder) as draft:
        for name in RECORDS:
            write_jsonl(draft / f"{name}.jsonl", getattr(benchmark, name))
        write_manifest(benchmark, draft, names=FILES)
    return folder


def read_benchmark(folder: Path, *, most_held: int = MOST_HELD) -> Benchmark:
    """The benchmark that a folder holds, its checksums checked.

    A large one is read whole once, and from what was kept of it later (see `casewise.storage.benchmarks.kept`).

    `folder`: where it lies.
    `most_held`: with more contexts than this they stay in their file, and each is read when it is asked for.

    Raises DataError: a file is missing, is not the one that the manifest speaks of, or holds a line that is no such record.
    """
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    in_file = manifest.counts.contexts > most_held
    if not in_file or manifest.counts.revisions or not worth_keeping(manifest):
        return read_whole(folder, manifest, in_file=in_file)
    if (kept := find_kept(folder, manifest)) is not None:
        return kept
    found = read_whole(folder, manifest, in_file=in_file)
    keep(found, manifest)
    return found


def read_whole(folder: Path, manifest: Manifest, *, in_file: bool) -> Benchmark:
    """Every record of a folder whose files were checked, checked itself."""
    return assembled(folder, manifest, {name: read_all(folder, name, in_file=in_file) for name in RECORDS})


def read_all(folder: Path, name: str, *, in_file: bool) -> Sequence[Record]:
    path = folder / f"{name}.jsonl"
    if name == "contexts" and in_file:
        return ContextFile(path)
    if name == "ratings":
        plain = RatingColumns.plainly_written(path)
        return RatingColumns.of(read_jsonl(path, Rating)) if plain is None else plain
    return tuple(read_jsonl(path, RECORDS[name]))
