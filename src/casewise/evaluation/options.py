"""How a report is made: the same options for one judge, for several, and for whoever computes their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy
from casewise.stats.agreeing.sample import UnscoredPolicy

__all__ = ["ReportOptions"]


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made."""

    labels: LabelPolicy = VOTES
    """The label policy of every number but those that name another."""
    unscored: UnscoredPolicy = "miss"
    """What items without a verdict are worth in label metrics."""
    seed: int = 0
    """Of what is drawn: folds of queries, reference votes, normal draws for ranks."""
    disagreements: int = 10
    """How many of the worst disagreements to lay out."""
    items: str | None = None
    """The subset of items that it is about, one of `casewise.auditing.subsets.SUBSETS`; all that were asked if None."""
    fit_thresholds: bool = False
    """Give scalars verdicts, each item's by the threshold that makes the fewest errors on other queries."""
    margin: float = 0.05
    """How much less than one more person a judge may agree with people and be no worse."""
    grader_labels: Path | None = None
    """A file, or an exported study, of people's labels of some of the replies that are reported, which say what the
    graders are worth."""
    with_replies: bool = False
    """Whether what a chatbot wrote stands with the worst disagreements; it may be what nobody should spread."""
