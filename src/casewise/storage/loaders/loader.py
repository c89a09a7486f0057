"""A loader: where a public benchmark's files come from, under which terms, and the function that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.records import Judged, LabelsBy, RatingScale
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.entries import Entry
from casewise.storage.files import cache_folder
from casewise.storage.intake.cases import benchmark_from_rows
from casewise.storage.intake.cells import Policies, Repeats
from casewise.storage.intake.formats.find import read_any_table

Rows = Iterator[tuple[Entry, dict[str, Any]]]
"""Rows that a loader reads of its files: the place of each row, and the row as `benchmark_from_rows` takes it."""


@dataclass(frozen=True)
class SourceFile:
    """A file that a benchmark is published in."""

    name: str
    """Its name to users and to the loader, such as `annotations.csv`; with the folder that it is kept in, if it has one."""
    url: str | None = None
    """The address of the download; None where a copy has to be given (`--from`)."""
    sha256: str | None = None
    """Its checksum. None if the publisher's is not recorded; then the first fetch records it."""


@dataclass(frozen=True)
class Loader:
    """A public benchmark that casewise knows by name.

    Another package brings one under the entry-point group `casewise.benchmarks`, by an entry point with the loader's name.
    """

    name: str
    """The name that commands take: small letters, digits, underscores and hyphens."""
    title: str
    size: str
    """The size of the published set, in words."""
    judged: Judged
    labels_by: LabelsBy | None
    """The source of its labels; None where its file says so."""
    licence: str
    terms: str
    """The terms that a user agrees to before anything is fetched."""
    source: str
    """The repository and the commit that the files are of."""
    files: tuple[SourceFile, ...]
    load: Callable[[Mapping[str, Path]], Benchmark]
    """Reads the files, by their names. Raises DataError: one is in another shape than expected."""
    extra: Mapping[str, tuple[SourceFile, ...]] = field(default_factory=dict)
    """Files that are fetched on request and that `load` does not read, by the name of the option: `prompts`, `outputs`."""
    metrics: tuple[str, ...] = ()
    """The kinds of label of a set with several: the name takes one of them after a colon."""
    remark: str = ""
    """Facts about its labels and items that a reader of its numbers needs."""

    @property
    def command(self) -> str:
        """The command that fetches it."""
        return f"casewise data fetch {self.name}"

    def title_of(self, file: SourceFile) -> str:
        """Return the name of a file, or of its folder, among all that are fetched: the first of a benchmark has its name."""
        return self.name if file == self.files[0] else f"{self.name}-{Path(Path(file.name).parts[0]).stem}"

    def cache_path(self, file: SourceFile) -> Path:
        """Return the path in the user's cache at which the file is kept once it is fetched."""
        if "/" in file.name:
            return cache_folder() / f"{self.name}-{file.name}"
        stem = self.title_of(file).replace(":", "-")
        return cache_folder() / f"{stem}-{(file.sha256 or 'unpinned')[:12]}{Path(file.name).suffix}"

    def display_path(self, file: SourceFile) -> Path:
        """Return what a user is told of a file that is here: its path, or the folder that it is kept in."""
        return cache_folder() / self.title_of(file) if "/" in file.name else self.cache_path(file)

    def option_of(self, file: SourceFile) -> str | None:
        """Return the option that a file is fetched by; None if it is one of the benchmark's own."""
        return next((option for option, files in self.extra.items() if file in files), None)

    @property
    def is_fetched(self) -> bool:
        """True if all its files are in the cache."""
        return all(self.cache_path(file).is_file() for file in self.files)


def github(repository: str, commit: str, files: Mapping[str, str | None]) -> tuple[SourceFile, ...]:
    """Return files of a public repository at one commit, from their paths and checksums."""
    address = f"https://raw.githubusercontent.com/{repository}/{commit}"
    return tuple(SourceFile(Path(path).name, f"{address}/{path}", sha256) for path, sha256 in files.items())


# A loader's rows become a benchmark under its name, with its licence and terms.


def table_entries(path: Path) -> Iterator[Entry]:
    """Yield the rows of a CSV file, of JSON Lines, or of an annotation tool's export."""
    yield from read_any_table(path).whole().rows


def build_benchmark(
    loader: Loader,
    path: Path,
    rows: Rows,
    *,
    scale: RatingScale | None = None,
    repeats: Repeats = "refuse",
) -> Benchmark:
    """Return the benchmark that a loader's rows make; see `benchmark_from_rows` for what a row may hold. Errors of no single row name
    `path`.

    `repeats`: what becomes of a case that stands several times.

    Raises DataError: a row cannot be read, or rows contradict each other.
    """
    about = About(
        name=loader.name,
        description=loader.title,
        licence=loader.licence,
        terms=loader.terms,
        source=loader.source,
        remarks=(loader.remark,) if loader.remark else None,
        labels_by=loader.labels_by,
        scale=scale,
    )
    entries = (
        Entry(entry.path, entry.line or number, {"judged": loader.judged} | row)
        for number, (entry, row) in enumerate(rows, 1)
    )
    policies = Policies(repeats=repeats, keep_secrets=True)  # a public set stays as it was published
    return benchmark_from_rows(entries, about, source=path, policies=policies)


def recipe(name: str, facts: Mapping[str, Any], rows: Callable[..., Rows]) -> Loader:
    """Return the loader of a set that is declared in a file: its facts by their names, the checksums of its files, and perhaps
    `address`, the folder of these on the web, a `scale`, and what becomes of `repeats`.

    `rows`: takes the paths of the files in their order.
    """
    own_facts = dict(facts)
    address, scale = own_facts.pop("address", None), own_facts.pop("scale", None)
    repeats, checksums = own_facts.pop("repeats", "refuse"), own_facts.pop("files")
    files = tuple(
        SourceFile(Path(path).name, f"{address}/{path}" if address else None, sha256 or None)
        for path, sha256 in checksums.items()
    )

    def load(given: Mapping[str, Path]) -> Benchmark:
        paths = [given[file.name] for file in files]
        stated = None if scale is None else RatingScale(**scale)
        return build_benchmark(loader, paths[0], rows(*paths), scale=stated, repeats=repeats)

    loader = Loader(name=name, files=files, load=load, **own_facts)
    return loader
