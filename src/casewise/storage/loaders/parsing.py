"""A loader's rows become a benchmark under the loader's name, with its licence and terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from casewise.records import RatingScale
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.entries import Entry
from casewise.storage.imports import CaseRow, of_rows, read_case_rows
from casewise.storage.loaders.loader import Loader


def table_entries(path: Path) -> Iterator[Entry]:
    """The rows of a CSV file or of JSON Lines."""
    columns, found = read_case_rows(path)
    empty = dict.fromkeys(columns)
    for line, cells, _ in found:
        yield Entry(path, line, empty | cells)


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
    cells = (
        CaseRow(entry.line or number, {"judged": loader.judged} | row, entry.path)
        for number, (entry, row) in enumerate(rows, 1)
    )
    return of_rows(cells, about, source=path)
