"""The part of a judge's report that says what its numbers are worth: yardsticks, one sentence, people, subsets."""

from __future__ import annotations

from collections.abc import Iterator

from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.reporting.document import Block, Section
from casewise.reporting.pages.beside import Backdrop, Beside, beside_blocks
from casewise.reporting.pages.judge_beside_people import beside_people, beside_people_blocks
from casewise.reporting.pages.subsets import subset_blocks
from casewise.stats.agreeing.labels import LabelPolicy
from casewise.stats.agreeing.sample import UnscoredPolicy

__all__ = ["beside_sections", "besides"]


def besides(
    runs: JudgedRuns, backdrop: Backdrop, *, policy: LabelPolicy, unscored: UnscoredPolicy = "miss"
) -> dict[str, Beside]:
    """The yardsticks beside each series, by its name; those shown the whole context, or all where none was.

    A series without any verdict or label has nothing to be read beside, and is absent.
    """
    found = {}
    for series in main_series(runs):
        sample = runs.sample(series, policy=policy, unscored=unscored)
        if sample.in_label_metrics.any() and sample.scored.any():
            found[series.name] = backdrop.beside(sample, series.asked, policy=policy)
    return found


def main_series(runs: JudgedRuns) -> tuple[Series, ...]:
    whole = tuple(series for series in runs.series if series.arm == "full")
    return whole or runs.series


def beside_sections(runs: JudgedRuns, backdrop: Backdrop, found: dict[str, Beside]) -> Iterator[Section]:
    """What to read the headline beside, then the judges among people and on subsets; nothing without ratings."""
    if not found:
        return
    blocks: list[Block] = []
    for index, (name, one) in enumerate(found.items()):
        table, sentence = beside_blocks(one, name=f"beside-{index}", judge=name)
        blocks += [table, sentence]
    yield Section("beside", "What the number does and does not show", tuple(blocks), brief=len(found) == 1)
    yield Section("among-people", "The judge among people", tuple(beside_people_blocks(beside_people(runs))))
    if subsets := tuple(subset_blocks(runs, backdrop)):
        yield Section("subsets", "Where people agree, and where words do not help", subsets)
