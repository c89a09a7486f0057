"""What the context is worth to a judge, laid out: a chart and a table for each way of asking."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from casewise.reporting.charts import drawing as charts
from casewise.reporting.document import Block, Figure, Prose, count, interval_or, number, table_by
from casewise.stats.agreeing.metrics import METRICS

__all__ = ["arms_blocks"]


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
    behind = table_by(
        name,
        caption,
        rows.to_dicts(),
        {
            "Part": lambda one: one["part"].replace("_", " "),
            "Metric": lambda one: TITLES.get(one["metric"], one["metric"]),
            "Worth": lambda one: number(one["estimate"]),
            "95 % interval": lambda one: interval_or(one["ci_low"], one["ci_high"], one["method"]),
            "Items": lambda one: count(one["n"]),
            "Unscored": lambda one: count(one["n_unscored"]),
        },
        frame=rows,
    )
    limit = reach(drawn)
    chart = charts.dots_with_intervals(
        drawn,
        title="Gain from showing the part (against full-context labels)",
        domain=(-limit, limit),
    )
    return Figure(
        name=name,
        caption=caption,
        alt=f"{caption}: dots with 95 % intervals, a row for each part; the table below has the numbers.",
        svg=charts.for_page(chart, name=name),
        behind=behind,
    )


def reach(drawn: pl.DataFrame) -> float:
    """Half the width of an axis around zero that holds everything, in tenths."""
    numbers = [abs(v) for column in ("estimate", "low", "high") for v in drawn[column].drop_nulls().to_list()]
    return max(0.1, float(np.ceil(max(numbers, default=0.1) * 10) / 10))
