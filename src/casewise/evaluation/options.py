"""How a report is made: the same options for one judge, for several, and for whoever computes their numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from casewise.stats.agreeing.labels import VOTES, LabelPolicy
from casewise.stats.agreeing.sample import UnscoredPolicy
from casewise.stats.core.bootstrap import Resampling

__all__ = ["ReportOptions"]


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made.

    Attributes
    ----------
    labels
        The label policy of every number but those that name another.
    unscored
        What items without a verdict are worth in label metrics.
    disagreements
        How many of the worst disagreements to lay out.
    items
        The subset of items that it is about, one of `casewise.auditing.subsets.SUBSETS`; all that were asked if None.
    fit_thresholds
        Give scalars verdicts, each item's by the threshold that makes the fewest errors on other queries.
    """

    labels: LabelPolicy = VOTES
    unscored: UnscoredPolicy = "miss"
    resampling: Resampling = field(default_factory=Resampling)
    disagreements: int = 10
    items: str | None = None
    fit_thresholds: bool = False
