"""Pages to read: what a benchmark or a run holds, one item of it, the paper recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casewise.api.benchmarks import Outputs, Source, as_benchmark, output_files
from casewise.api.displayed import Displayed
from casewise.reporting.document import Document
from casewise.reporting.faces.as_json import document_json
from casewise.reporting.pages.benchmark import benchmark_json, benchmark_page, item_json, item_page
from casewise.reporting.pages.paper import paper_page
from casewise.reporting.pages.run import run_json, run_page

__all__ = ["Look", "look_at", "look_at_run", "paper"]


@dataclass(frozen=True, repr=False)
class Look(Displayed):
    """Something to read."""

    page: Document
    numbers: dict[str, Any]

    @property
    def document(self) -> Document:
        """It, laid out."""
        return self.page

    def as_json(self) -> dict[str, Any]:
        """It, as plain JSON values."""
        return self.numbers


def look_at(benchmark: Source, item: str | None = None) -> Look:
    """What a benchmark holds, or one item of it.

    Parameters
    ----------
    item
        An item's id, its beginning, or its place from 1.

    Raises
    ------
    BenchmarkError
        There is no such item.

    Examples
    --------
    >>> look_at("demo").document.sections[0].heading
    'What it holds'
    """
    found = as_benchmark(benchmark)
    if item is None:
        return Look(benchmark_page(found), benchmark_json(found))
    one = found.find(item)
    return Look(item_page(found, one), item_json(found, one))


def look_at_run(run: str | Path, item: str | None = None, *, benchmark: str | None = None) -> Look:
    """What a run holds, or one item with its judgements: context, query, reply, verdict, people's votes.

    Raises
    ------
    DataError
        There is no run.
    BenchmarkError
        The benchmark is not the run's, or has no such item.
    """
    folder = Path(run)
    return Look(run_page(folder, item, benchmark=benchmark), run_json(folder, item, benchmark=benchmark))


def paper(benchmark: Source = "casebench", *, outputs: Outputs = None) -> Look:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not.

    Parameters
    ----------
    outputs
        Judges' output files of the release, or a folder that holds some (`output_MODE.json`, at any depth);
        by default the folder that `CASEWISE_OUTPUTS` names, if any.

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings.
    """
    page = paper_page(as_benchmark(benchmark), outputs=output_files(outputs))
    return Look(page, document_json(page))
