"""The report of runs, and no more than it needs: what else runs come to is in `evaluating.py`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from casewise.api.benchmarks import RunAt, Source, benchmark_of, folders_of
from casewise.api.displayed import Displayed
from casewise.errors import BenchmarkError, one_of
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.evaluation.options import ReportOptions
from casewise.reporting.pages.judge import judge_page
from casewise.stats.agreeing.labels_and_ties import LabelPolicy, Ties
from casewise.stats.agreeing.sample import UnscoredPolicy
from casewise.storage.files.long_steps import long_step

__all__ = ["Report", "ReportOptions", "policy_of", "report", "report_options"]


class Report(JudgeNumbers, Displayed):
    """The report of judges' runs."""

    laid_out = staticmethod(judge_page)


def policy_of(labels: str | LabelPolicy) -> LabelPolicy:
    return labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)


def report_options(
    labels: str = "votes",
    *,
    ties: str = "half",
    unscored: str = "miss",
    items: str | None = None,
    fit_thresholds: bool = False,
) -> ReportOptions:
    """The options of a report that these words name.

    Raises
    ------
    ConfigurationError
        One of them is no such policy.
    """
    tied: Ties = one_of(ties, get_args(Ties), "--ties")
    lacking: UnscoredPolicy = one_of(unscored, get_args(UnscoredPolicy), "--unscored")
    policy = LabelPolicy.parse(labels, ties=tied)
    return ReportOptions(labels=policy, unscored=lacking, items=items, fit_thresholds=fit_thresholds)


def report(
    *runs: RunAt | str | Path,
    benchmark: Source | None = None,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> Report:
    """The report of one or more runs over one benchmark.

    Parameters
    ----------
    labels
        The label policy: `votes`, `published`, `intended`, each with `,override:CATEGORY=unsafe` where wanted.

    Raises
    ------
    DataError, BenchmarkError
        A folder is no run, holds nothing, or the runs are over different benchmarks; or there are no runs.

    Examples
    --------
    >>> from casewise.api import judge
    >>> found = report(judge("demo", "constant:safe"))
    >>> found.metrics.filter(pl.col("metric") == "recall_safe")["estimate"].to_list()
    [1.0]
    """
    if not runs:
        raise BenchmarkError("there is nothing to report: give at least one run")
    found = options or ReportOptions(labels=policy_of(labels))
    with long_step("the report's numbers, all told"):
        return Report.of(folders_of(runs), benchmark=benchmark_of(runs, benchmark), options=found)
