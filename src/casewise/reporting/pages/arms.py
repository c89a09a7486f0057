"""What the context is worth to a judge: arms compared on the same items, and each group's Shapley value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.records import GROUPS, Arm
from casewise.reporting.charts import drawing as charts
from casewise.reporting.document import Block, Figure, Prose, count, interval, number, table_of
from casewise.stats.agreeing.estimates import Estimate, Resampling, difference_of, measure
from casewise.stats.agreeing.judged import judged
from casewise.stats.agreeing.labels import VOTES, LabelPolicy
from casewise.stats.agreeing.metrics import METRICS
from casewise.stats.agreeing.sample import UnscoredPolicy
from casewise.stats.agreeing.shapley import shapley_values
from casewise.stats.core.measured import Measured

__all__ = ["ARM_COLUMNS", "arm_table", "arms_blocks"]

COMPARED = ("accuracy", "recall_safe", "recall_unsafe")

ARM_COLUMNS: dict[str, pl.DataType] = {
    "judge": pl.String(),
    "elicitation": pl.String(),
    "part": pl.String(),
    "worth": pl.String(),
    "metric": pl.String(),
    "estimate": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "n": pl.Float64(),
    "n_unscored": pl.Int64(),
    "method": pl.String(),
}

Row = tuple[object, ...]


def arm_table(
    runs: JudgedRuns,
    *,
    policy: LabelPolicy = VOTES,
    unscored: UnscoredPolicy = "miss",
    resampling: Resampling = Resampling(),
) -> pl.DataFrame:
    """What the judges lose without parts of the context, against full-context labels.

    Returns
    -------
    polars.DataFrame
        Columns of `ARM_COLUMNS`. `worth` is `left out` (the metric with everything shown less the metric without
        `part`, over the items asked in both arms) or `shapley` (over all eight subsets of the three groups, where all
        were asked).
    """
    rows: list[Row] = []
    for family in families(runs.series):
        measured = measure_arms(runs, family, policy, unscored, resampling)
        rows += left_out(family, measured, resampling)
        rows += shapley_rows(family, measured, resampling)
    return pl.DataFrame(rows, schema=ARM_COLUMNS, orient="row")


def families(series: Sequence[Series]) -> list[list[Series]]:
    """Series of one judge and one elicitation in several arms, the full one among them."""
    found: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        found.setdefault((one.judge, one.elicitation), []).append(one)
    return [family for family in found.values() if len(family) > 1 and any(one.arm == "full" for one in family)]


ByArm = dict[str, dict[str, Measured]]
"""Arm to metric to what was measured, all on the same items."""


def measure_arms(
    runs: JudgedRuns, family: list[Series], policy: LabelPolicy, unscored: UnscoredPolicy, how: Resampling
) -> ByArm:
    everywhere = np.logical_and.reduce([one.asked for one in family])
    wanted = [metric for metric in METRICS if metric.name in COMPARED]
    found: ByArm = {}
    for one in family:
        whole = judged(runs.items, one.values, elicitation=one.elicitation, policy=policy, unscored=unscored)
        sample = whole.where(everywhere)
        found[one.arm] = {each.name: each for each in measure(sample, metrics=wanted, resampling=how)}
    return found


def left_out(family: list[Series], measured: ByArm, how: Resampling) -> Iterator[Row]:
    others = [one for one in family if one.arm != "full"]
    for one in sorted(others, key=lambda other: len(Arm.named(other.arm).omitted)):
        for metric in measured["full"]:
            found = difference_of(measured["full"][metric], measured[one.arm][metric], how)
            yield row(one, part_of(one.arm), "left out", found)


def part_of(arm: str) -> str:
    """What an arm leaves out, in words."""
    return "the whole context" if arm == "none" else ", ".join(Arm.named(arm).omitted)


def shapley_rows(family: list[Series], measured: ByArm, how: Resampling) -> Iterator[Row]:
    shown = {frozenset(GROUPS) - set(Arm.named(one.arm).omitted): one.arm for one in family if of_groups(one.arm)}
    if len(shown) < 2 ** len(GROUPS):
        return
    for metric in measured["full"]:
        values = {parts: measured[arm][metric] for parts, arm in shown.items()}
        for group, found in shapley_values(values, how).items():
            yield row(family[0], group, "shapley", found)


def of_groups(arm: str) -> bool:
    return set(Arm.named(arm).omitted) <= set(GROUPS)


def row(series: Series, part: str, worth: str, found: Estimate) -> Row:
    return (
        series.judge,
        series.elicitation,
        part,
        worth,
        found.name,
        found.estimate,
        found.ci_low,
        found.ci_high,
        found.n,
        found.n_unscored,
        found.method,
    )


TITLES = {metric.name: metric.title for metric in METRICS}

HEADED = {
    "left out": "What is lost when a part of the context is left out, against full-context labels",
    "shapley": "What each group of the context is worth (Shapley value), against full-context labels",
}


def arms_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """A table and a chart for each way of asking what the context is worth."""
    yield Prose(
        "People saw the whole context; in these arms the judge did not. So every number here is against full-context "
        "labels: the metric with the part shown less the metric without it, on the same items. Above zero, the part "
        "helps the judge to agree with people. Intervals are 95 % and over queries."
    )
    for worth, caption in HEADED.items():
        for (judge, elicitation), rows in table.filter(pl.col("worth") == worth).group_by(
            "judge", "elicitation", maintain_order=True
        ):
            name = f"arms-{worth.replace(' ', '-')}-{elicitation}"
            yield arms_figure(rows, f"{caption}: {judge} ({elicitation})", name)


def arms_figure(rows: pl.DataFrame, caption: str, name: str) -> Figure:
    drawn = rows.select(
        name=pl.col("part").str.replace_all("_", " ", literal=True),
        estimate="estimate",
        low="ci_low",
        high="ci_high",
        series=pl.col("metric").replace_strict(TITLES, default=pl.col("metric")),
    ).filter(pl.col("estimate").is_not_null())
    behind = table_of(
        name,
        caption,
        ("Part", "Metric", "Worth", "95 % interval", "Items", "Unscored"),
        [
            (
                one["part"].replace("_", " "),
                TITLES.get(one["metric"], one["metric"]),
                number(one["estimate"]),
                interval(one["ci_low"], one["ci_high"]) if one["ci_low"] is not None else one["method"],
                count(one["n"]),
                count(one["n_unscored"]),
            )
            for one in rows.to_dicts()
        ],
        frame=rows,
    )
    limit = reach(drawn)
    return Figure(
        name=name,
        caption=caption,
        alt=f"{caption}: dots with 95 % intervals, a row for each part; the table below has the numbers.",
        svg=charts.dots_with_intervals(
            drawn,
            title="Gain from showing the part (against full-context labels)",
            order=drawn["name"].unique(maintain_order=True).to_list(),
            domain=(-limit, limit),
        ),
        behind=behind,
    )


def reach(drawn: pl.DataFrame) -> float:
    """Half the width of an axis around zero that holds everything, in tenths."""
    numbers = [abs(v) for column in ("estimate", "low", "high") for v in drawn[column].drop_nulls().to_list()]
    return max(0.1, float(np.ceil(max(numbers, default=0.1) * 10) / 10))
