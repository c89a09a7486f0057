"""From words on the command line to the options of a report."""

from __future__ import annotations

from typing import get_args

from casewise.errors import ConfigurationError
from casewise.reporting.pages.judge_report import ReportOptions
from casewise.stats.agreeing.labels import LabelPolicy, Ties
from casewise.stats.agreeing.sample import UnscoredPolicy

__all__ = ["report_options"]


def report_options(labels: str, *, ties: str = "half", unscored: str = "miss") -> ReportOptions:
    """The options that these words name.

    Raises
    ------
    ConfigurationError
        One of them is no such policy.
    """
    if ties not in get_args(Ties):
        raise ConfigurationError(f"--ties is {ties!r}; it can be {', '.join(get_args(Ties))}")
    if unscored not in get_args(UnscoredPolicy):
        raise ConfigurationError(f"--unscored is {unscored!r}; it can be {', '.join(get_args(UnscoredPolicy))}")
    policy = LabelPolicy.parse(labels, ties=ties)  # type: ignore[arg-type]  # checked above
    return ReportOptions(labels=policy, unscored=unscored)  # type: ignore[arg-type]  # checked above
