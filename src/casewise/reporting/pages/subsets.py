"""Judges on the audit's subsets, laid out: where people agree, where they do not, and where words do not help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from casewise.auditing.subsets import SUBSETS
from casewise.evaluation.subsets import SubsetScore
from casewise.reporting.document import Block, Prose, interval, number, table_by

__all__ = ["subset_blocks"]


def subset_blocks(scores: Sequence[SubsetScore]) -> Iterator[Block]:
    """A table of every judge on every subset, and how to read it; nothing where no subset can be made."""
    if not scores:
        return
    columns: dict[str, Callable[[SubsetScore], str]] = {
        "Items": lambda score: score.subset,
        "Judge": lambda score: score.judge,
        "Number": lambda score: number(score.n, digits=0),
        "Accuracy": lambda score: number(score.accuracy.estimate),
        "95 % interval": lambda score: interval(score.accuracy.ci_low, score.accuracy.ci_high),
        "Words alone": lambda score: number(score.words),
        "Second study": lambda score: number(score.second_study),
        "Best": lambda score: number(score.best),
    }
    if len({score.judge for score in scores}) == 1:
        del columns["Judge"]
    yield table_by("subsets", "Accuracy on subsets (--items NAME judges only these)", scores, columns)
    told = "; ".join(f"{name}: {what}" for name, what in SUBSETS.items())
    yield Prose(
        f"{told[:1].upper()}{told[1:]}. Hard items are chosen by one half of the votes and scored by the other, averaged over "
        "all halves: chosen and scored by the same votes, every judge would look bad. Best is what the best verdict on "
        "each of them scores: no judge can do better. On the others stands how often a second study of this size would agree "
        "with this one: by a model, and no bound, for who knows people well can agree more often."
    )
