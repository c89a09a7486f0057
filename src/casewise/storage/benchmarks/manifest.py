"""The manifest of a benchmark folder: what it holds, with the checksum of each file; and a new folder, written whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from casewise.errors import BenchmarkError, ChecksumMismatch, ConfigurationError, DataError
from casewise.records import Context, Item, ParameterSet, Query, Rating, Revision, Taxonomy, paper_parameters
from casewise.records.base import Record
from casewise.storage.benchmarks.benchmark import About, Benchmark, BenchmarkCounts
from casewise.storage.files.atomic import cannot_write, current_umask, read_text, write_text
from casewise.storage.files.strict_json import parse, what_is_wrong

__all__ = [
    "FILES",
    "FORMAT_VERSION",
    "MANIFEST",
    "RECORDS",
    "Manifest",
    "assembled",
    "check_files",
    "new_folder",
    "read_manifest",
    "read_manifest_file",
    "sha256",
    "write_manifest",
]

FORMAT_VERSION = 1
"""Of benchmark folders. A reader knows every version up to this one."""

MANIFEST = "benchmark.json"

RECORDS: dict[str, type[Record]] = {
    "queries": Query,
    "contexts": Context,
    "items": Item,
    "ratings": Rating,
    "revisions": Revision,
}
"""What a benchmark holds, and what each of it is."""
FILES = tuple(f"{name}.jsonl" for name in RECORDS)

LAYOUTS = tuple(
    {f"{under}{name}{ending}" for name in RECORDS}
    for under, ending in (("", ".jsonl"), ("", ".parquet"), ("data/", ".parquet"))
)
"""The files of a benchmark folder, of one of Parquet files, and of a Hugging Face dataset folder."""

R = TypeVar("R", bound=Record)


class Manifest(Record):
    """What `benchmark.json` says."""

    format_version: int
    about: About
    counts: BenchmarkCounts
    taxonomy: Taxonomy
    parameters: ParameterSet | None = None
    """What contexts state, where that is not what the paper's do."""
    files: dict[str, str]
    """File name to sha256, as 64 hexadecimal digits."""

    @property
    def frame(self) -> dict[str, Any]:
        """The taxonomy and the set of parameters, as a benchmark takes them."""
        return {"taxonomy": self.taxonomy, "parameters": self.parameters or paper_parameters()}


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill that becomes `folder` when the block ends well, and disappears when it does not.

    Raises ConfigurationError: there is something at `folder` already (a benchmark is immutable), or it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(f"{folder} exists and a benchmark is never overwritten; choose another place")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        yield draft
        draft.chmod(0o777 & ~current_umask())
        draft.replace(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_manifest(benchmark: Benchmark, folder: Path, *, names: Iterable[str]) -> None:
    """Write the manifest of a folder that holds `benchmark` in the files `names`."""
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        about=benchmark.about,
        counts=benchmark.counts,
        taxonomy=benchmark.taxonomy,
        parameters=None if benchmark.parameters == paper_parameters() else benchmark.parameters,
        files={name: sha256(folder / name) for name in names},
    )
    write_text(folder / MANIFEST, manifest.model_dump_json(indent=1, exclude_none=True) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a benchmark folder.

    Raises DataError: there is none, it is not valid, or it was written by a newer casewise.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise DataError(folder, None, f"is no benchmark folder: it has no {MANIFEST}")
    manifest = read_manifest_file(path, Manifest, newest=FORMAT_VERSION)
    if set(manifest.files) not in LAYOUTS:
        raise DataError(path, None, f"'files' names {listed(manifest.files)}, not {listed(FILES)}")
    return manifest


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def read_manifest_file(path: Path, model: type[R], *, newest: int) -> R:
    """A manifest, of this format version or an older one; no value passes for one of another type.

    Raises DataError: the file is no such manifest, or was written by a newer casewise.
    """
    text = read_text(path)
    value = parse(text, path=path)
    version = value.get("format_version") if isinstance(value, dict) else None
    if isinstance(version, int) and not 1 <= version <= newest:
        what = f"newer than {newest}, which this casewise reads; update it" if version > newest else "no version"
        raise DataError(path, None, f"format_version is {version}, {what}")
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise DataError(path, None, what_is_wrong(error)) from error


def assembled(folder: Path, manifest: Manifest, records: Mapping[str, Sequence[Record]]) -> Benchmark:
    """The benchmark of a folder with this manifest whose files hold `records`, by the names of `RECORDS`.

    Raises DataError: they do not fit together, or the manifest counts others.
    """
    fields: dict[str, Any] = dict(records)
    try:
        found = Benchmark(about=manifest.about, **manifest.frame, **fields)
    except BenchmarkError as error:
        raise DataError(folder, None, str(error)) from error
    if found.counts != manifest.counts:
        problem = f"'counts' says {manifest.counts}, but the files hold {found.counts}"
        raise DataError(folder / MANIFEST, None, problem)
    return found


def check_files(folder: Path, manifest: Manifest) -> None:
    """Check every file that `manifest` names.

    Raises DataError: one is missing, or is not the one that the manifest speaks of.
    """
    names, expected = manifest.files.keys(), manifest.files.values()
    with ThreadPoolExecutor() as pool:  # a sum is taken outside of Python's lock
        deque(pool.map(check_sum, (folder / name for name in names), expected), maxlen=0)


def check_sum(path: Path, expected: str) -> None:
    if not path.is_file():
        raise DataError(path, None, "is missing, but the manifest names it")
    found = sha256(path)
    if found != expected:
        raise ChecksumMismatch(
            path, None, f"sha256 is {found}, but the manifest says {expected}: the file was changed or damaged"
        )


def sha256(path: Path) -> str:
    """The file's sha256 as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
