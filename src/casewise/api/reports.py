"""The reports of one judge and of several: their numbers, with every face."""

from __future__ import annotations

from functools import cached_property

from casewise.api.displayed import Displayed
from casewise.evaluation.comparison import ComparisonNumbers
from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.reporting.document import Document
from casewise.reporting.pages.comparison import comparison_page
from casewise.reporting.pages.judge import judge_page

__all__ = ["ComparisonReport", "Report"]


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
