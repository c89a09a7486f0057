"""What the context is worth to a judge: arms compared on the same items, and each group's Shapley value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.records import FULL, NO_CONTEXT, Arm
from casewise.stats.agreeing.estimates import ESTIMATE_COLUMNS, Estimate, difference_of, measure
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy
from casewise.stats.agreeing.metrics import metrics_named
from casewise.stats.agreeing.sample import UnscoredPolicy
from casewise.stats.agreeing.shapley import shapley_values
from casewise.stats.core.measured import Measured

__all__ = ["ARM_COLUMNS", "arm_table"]

COMPARED = ("accuracy", "recall_safe", "recall_unsafe")

ARM_COLUMNS: dict[str, pl.DataType] = {
    "judge": pl.String(),
    "elicitation": pl.String(),
    "part": pl.String(),
    "worth": pl.String(),
    "metric": pl.String(),
    **ESTIMATE_COLUMNS,
}

Row = tuple[object, ...]


def arm_table(
    runs: JudgedRuns,
    *,
    policy: LabelPolicy = VOTES,
    unscored: UnscoredPolicy = "miss",
) -> pl.DataFrame:
    """What the judges lose without parts of the context, against full-context labels.

    Returns a table: columns of `ARM_COLUMNS`. `worth` is `left out` (the metric with everything shown less the metric
    without `part`, over the items asked in both arms) or `shapley` (over all subsets of the groups, where all were
    asked).
    """
    rows: list[Row] = []
    for family in families(runs.series):
        measured = measure_arms(runs, family, policy, unscored)
        rows += left_out(family, measured)
        rows += shapley_rows(runs.benchmark.parameters.group_names, family, measured)
    return pl.DataFrame(rows, schema=ARM_COLUMNS, orient="row")


def families(series: Sequence[Series]) -> list[list[Series]]:
    """Series of one judge and one elicitation in several arms that only leave out, the full one among them."""
    found: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        if one.shown.only_omits:
            found.setdefault((one.judge, one.elicitation), []).append(one)
    return [family for family in found.values() if len(family) > 1 and any(one.shown.shows_all for one in family)]


ByArm = dict[str, dict[str, Measured]]
"""Arm to metric to what was measured, all on the same items."""


def measure_arms(runs: JudgedRuns, family: list[Series], policy: LabelPolicy, unscored: UnscoredPolicy) -> ByArm:
    everywhere = np.logical_and.reduce([one.asked for one in family])
    wanted = metrics_named(*COMPARED)
    found: ByArm = {}
    for one in family:
        sample = runs.whole_sample(one, policy=policy, unscored=unscored).where(everywhere)
        found[one.arm] = {each.name: each for each in measure(sample, metrics=wanted)}
    return found


def left_out(family: list[Series], measured: ByArm) -> Iterator[Row]:
    others = [one for one in family if not one.shown.shows_all]
    for one in sorted(others, key=lambda other: len(other.shown.omitted)):
        for metric in measured[FULL.name]:
            found = difference_of(measured[FULL.name][metric], measured[one.arm][metric])
            yield row(one, part_of(one.shown), "left out", found)


def part_of(arm: Arm) -> str:
    """What an arm leaves out, in words."""
    return "the whole context" if arm == NO_CONTEXT else ", ".join(arm.omitted)


def shapley_rows(groups: tuple[str, ...], family: list[Series], measured: ByArm) -> Iterator[Row]:
    omitted = {one.arm: set(groups if one.shown == NO_CONTEXT else one.shown.omitted) for one in family}
    shown = {frozenset(groups) - left_out: arm for arm, left_out in omitted.items() if left_out <= set(groups)}
    if len(shown) < 2 ** len(groups):
        return
    for metric in measured[FULL.name]:
        values = {parts: measured[arm][metric] for parts, arm in shown.items()}
        for group, found in shapley_values(values).items():
            yield row(family[0], group, "shapley", found)


def row(series: Series, part: str, worth: str, found: Estimate) -> Row:
    return (series.judge, series.elicitation, part, worth, *found.cells)
