"""A loader's rows become a benchmark under the loader's name, with its licence and terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from casewise.records import RatingScale
from casewise.storage.annotation_tools import read_any_table
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.entries import Entry
from casewise.storage.imports import of_rows
from casewise.storage.loaders.loader import Loader


def table_entries(path: Path) -> Iterator[Entry]:
    """Yield the rows of a CSV file, of JSON Lines, or of an annotation tool's export."""
    yield from read_any_table(path).rows


def built(
    loader: Loader,
    path: Path,
    rows: Iterable[tuple[Entry, dict[str, Any]]],
    *,
    scale: RatingScale | None = None,
) -> Benchmark:
    """The benchmark that a loader's rows make; see `of_rows` for what a row may hold. Errors of no single row name `path`.

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
    return of_rows(entries, about, source=path)
