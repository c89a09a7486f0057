"""The headline of a report: what a reader quotes, and every estimate behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from casewise.evaluation.judge_numbers import JudgeNumbers
from casewise.records import Arm
from casewise.reporting.document import Block, Prose, Table, count, interval, interval_or, number, percent, table_of
from casewise.stats.agreeing.metrics import METRICS

__all__ = ["every_estimate", "headline", "series_name", "several_series"]

TITLES = {metric.name: metric.title for metric in METRICS}

SIDE_BY_SIDE = ("accuracy", "recall_safe", "recall_unsafe", "pearson")
"""What stands side by side where several judges, elicitations or arms are reported."""


def several_series(rows: pl.DataFrame) -> bool:
    """Whether the rows speak of more than one judge, elicitation or arm."""
    return bool(rows.select(pl.struct("judge", "elicitation", "arm").n_unique()).item() > 1) if len(rows) else False


def headline(report: JudgeNumbers) -> Iterator[Block]:
    """One table a label policy: every metric of one judge, or the main ones of several side by side."""
    for policy in report.metrics["label_policy"].unique(maintain_order=True):
        rows = report.metrics.filter(pl.col("label_policy") == policy)
        name, caption = f"headline-{policy.partition(',')[0]}", f"Labels: {policy_in_words(policy)}"
        yield (side_by_side if several_series(rows) else metric_table)(name, caption, rows)
    worth = "against the judge" if report.options.unscored == "miss" else report.options.unscored
    yield Prose(
        "Intervals are 95 % and over queries, because the two items of a query are not independent. An item without "
        f"a verdict counts {worth} in accuracy, recall and F1, and is left out of the metrics that need a value. A tie "
        "among people's votes is half safe and half unsafe."
    )


def every_estimate(report: JudgeNumbers) -> Iterator[Block]:
    """Every metric of every series, where the headline shows the main ones only."""
    for policy in report.metrics["label_policy"].unique(maintain_order=True):
        rows = report.metrics.filter(pl.col("label_policy") == policy)
        yield metric_table(f"every-{policy.partition(',')[0]}", f"Labels: {policy_in_words(policy)}", rows)


def side_by_side(name: str, caption: str, rows: pl.DataFrame) -> Table:
    """A row a series, its main metrics with their intervals across."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows.to_dicts():
        found.setdefault(series_name(row), {})[row["metric"]] = row
    cells = [
        (who, *(with_interval(metrics.get(metric)) for metric in SIDE_BY_SIDE), percent(share(metrics)))
        for who, metrics in found.items()
    ]
    head = ("Judge", *(TITLES[metric] for metric in SIDE_BY_SIDE), "Unscored")
    return table_of(name, caption, head, cells, frame=rows)


def with_interval(row: dict[str, Any] | None) -> str:
    if row is None or row["estimate"] is None:
        return "–"
    return f"{number(row['estimate'])} {interval(row['ci_low'], row['ci_high'])}"


def share(metrics: dict[str, dict[str, Any]]) -> float | None:
    return metrics["unscored_rate"]["estimate"] if "unscored_rate" in metrics else None


def policy_in_words(policy: str) -> str:
    words = {
        "votes": "votes (the majority of people's votes)",
        "published": "published (votes and the author's intent, as the paper counts them)",
        "intended": "intended (what the author of each context meant)",
    }
    base, _, rest = policy.partition(",")
    return words[base] + (f", {rest}" if rest else "")


def metric_table(name: str, caption: str, rows: pl.DataFrame) -> Table:
    several = several_series(rows)
    cells = []
    for row in rows.to_dicts():
        who = (series_name(row),) if several else ()
        title = TITLES.get(row["metric"], row["metric"])
        limits = interval_or(row["ci_low"], row["ci_high"], row["method"])
        cells.append((*who, title, number(row["estimate"]), limits, count(row["n"]), count(row["n_unscored"])))
    head = (*(("Judge",) if several else ()), "Metric", "Estimate", "95 % interval", "Items", "Unscored")
    return table_of(name, caption, head, cells, frame=rows)


def series_name(row: dict[str, Any]) -> str:
    arm = "" if Arm.named(row["arm"]).shows_all else f", {row['arm']}"
    return f"{row['judge']} ({row['elicitation']}{arm})"
