"""The reports of runs, as Python sees them."""

from __future__ import annotations

from casewise.api.displayed import Displayed
from casewise.evaluation.comparison import ComparisonNumbers
from casewise.evaluation.doing.says_does import SaysDoesNumbers
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.reporting.pages.comparison import comparison_page
from casewise.reporting.pages.judge import judge_page
from casewise.reporting.pages.says_does import says_does_page

__all__ = ["ComparisonReport", "Report", "SaysDoesReport"]


class Report(JudgeNumbers, Displayed):
    """The report of judges' runs."""

    laid_out = staticmethod(judge_page)


class ComparisonReport(ComparisonNumbers, Displayed):
    """Several judges, arms or elicitations beside each other."""

    laid_out = staticmethod(comparison_page)


class SaysDoesReport(SaysDoesNumbers, Displayed):
    """What models say against what they do."""

    laid_out = staticmethod(says_does_page)
