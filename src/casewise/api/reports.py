"""The reports of runs, as Python sees them."""

from __future__ import annotations

from functools import cached_property

from casewise.api.displayed import Displayed
from casewise.evaluation.comparison import ComparisonNumbers
from casewise.evaluation.doing.says_does import SaysDoesNumbers
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.reporting.document import Document
from casewise.reporting.pages.comparison import comparison_page
from casewise.reporting.pages.judge import judge_page
from casewise.reporting.pages.says_does import says_does_page

__all__ = ["ComparisonReport", "Report", "SaysDoesReport"]


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
