"""The paper that the published release came with, recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casewise.api.benchmarks import Source, as_benchmark, output_files
from casewise.api.displayed import Displayed
from casewise.reporting.document import Document
from casewise.reporting.faces.as_json import document_json
from casewise.reporting.pages.paper import paper_page

__all__ = ["Paper", "paper"]


@dataclass(frozen=True, repr=False)
class Paper(Displayed):
    """The tables and figures of the CASE-Bench paper, as far as a benchmark allows them."""

    page: Document

    @property
    def document(self) -> Document:
        """All of them, laid out."""
        return self.page

    def as_json(self) -> dict[str, Any]:
        """Every table with its cells, as plain JSON values."""
        return document_json(self.page)


def paper(benchmark: Source = "casebench", *, outputs: str | Path | Sequence[str | Path] = ()) -> Paper:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not.

    Parameters
    ----------
    outputs
        Judges' output files of the release, or a folder that holds some (`output_MODE.json`, at any depth).

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings.
    """
    return Paper(paper_page(as_benchmark(benchmark), outputs=output_files(outputs)))
