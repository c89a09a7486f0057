"""A run as Python sees it: where it lies, what came of it, its judgements as a frame; the reports of runs."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from casewise.api.benchmarks import Source
from casewise.api.displayed import Displayed
from casewise.evaluation.comparison import ComparisonNumbers
from casewise.evaluation.doing.says_does import SaysDoesNumbers
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.evaluation.options import ReportOptions
from casewise.judging.running.run import RunSummary
from casewise.reporting.document import Document
from casewise.reporting.pages.comparison import comparison_page
from casewise.reporting.pages.judge import judge_page
from casewise.reporting.pages.says_does import says_does_page
from casewise.stats.agreeing.labels import LabelPolicy
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.judgement_run import JUDGEMENTS
from casewise.storage.runs.judgement_table import judgement_table

__all__ = ["ComparisonReport", "PassingFolder", "Report", "Run", "SaysDoesReport", "benchmark_of", "folders_of"]


class Report(JudgeNumbers, Displayed):
    """The report of judges' runs."""

    @cached_property
    def document(self) -> Document:
        """The report as a `Document`, ready for any face."""
        return judge_page(self)


class ComparisonReport(ComparisonNumbers, Displayed):
    """Several judges, arms or elicitations beside each other."""

    @cached_property
    def document(self) -> Document:
        """The comparison as a `Document`, ready for any face."""
        return comparison_page(self)


class SaysDoesReport(SaysDoesNumbers, Displayed):
    """What models say against what they do."""

    @cached_property
    def document(self) -> Document:
        """The comparison as a `Document`, ready for any face."""
        return says_does_page(self)


class PassingFolder:
    """A temporary folder that is gone when nobody holds this object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="casewise-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Run:
    """A judge's run over a benchmark."""

    path: Path
    benchmark: Benchmark = field(repr=False)
    summary: RunSummary = field(repr=False)
    kept: PassingFolder | None = field(default=None, repr=False)
    """Holds a temporary folder for as long as the run is in use."""

    def __repr__(self) -> str:
        done = self.summary
        stopped = f", stopped: {done.stopped}" if done.stopped else ""
        return f"<Run on {self.benchmark.name}: {done.n_judged:,} judged, {done.n_unscored:,} unscored{stopped}>"

    @property
    def judgements(self) -> pl.DataFrame:
        """Every judgement, a row each, with the raw replies."""
        return judgement_table(self.path / JUDGEMENTS, replies="keep")

    def report(self, *, labels: str | LabelPolicy = "votes") -> Report:
        """The report of this run."""
        policy = labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)
        return Report.of([self.path], benchmark=self.benchmark, options=ReportOptions(labels=policy))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def folders_of(runs: Sequence[Run | str | Path]) -> list[Path]:
    """Where these runs lie."""
    return [run.path if isinstance(run, Run) else Path(run) for run in runs]


def benchmark_of(runs: Sequence[Run | str | Path], given: Source | None) -> Source | None:
    """The benchmark that was given, or that of the first run where it holds one."""
    first = runs[0] if runs else None
    return given if given is not None else first.benchmark if isinstance(first, Run) else None
