"""Charts of the human study, in the house style of `charts`."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from casewise.reporting.charts.drawing import COLOURS, SERIES, WIDTH
from casewise.reporting.charts.vega import DIM, INK, LINE, faceted, field, layers, mark, svg

__all__ = [
    "category_bars",
    "panel_chart",
    "power_curve",
    "query_shares",
    "rate_intervals",
    "safe_rate_histogram",
]


def power_curve(points: pl.DataFrame, *, marked: int, title: str) -> str:
    """Power against n: `n` and `power`, with the answer marked."""
    base = {
        "x": field("n:Q", title=title, scale={"nice": False}),
        "y": field("power:Q", title="Power", scale={"domain": [0, 1]}),
    }
    chosen, words = points.filter(pl.col("n") == marked), {"text": {"value": f"n = {marked:,}"}}
    line = mark("line", points, base, color=SERIES[0], strokeWidth=2.5)
    dot = mark("point", chosen, base, color=SERIES[1], size=110, filled=True, opacity=1)
    text = mark("text", chosen, base | words, color=INK, align="left", dx=9, dy=12, fontSize=12)
    rule = mark("rule", chosen, {"y": field("power:Q")}, color=DIM, strokeDash=[4, 4])
    return svg(layers(rule, line, dot, text, width=WIDTH, height=260))


def rate_intervals(rows: pl.DataFrame, *, title: str, order: Sequence[str], zero: bool = False) -> str:
    """A dot and its interval a row: `name`, `estimate`, `low`, `high` and optionally `series`; a line at 0 if `zero`."""
    series = "series" in rows.columns
    kinds = rows["series"].unique(maintain_order=True).to_list() if series else []
    scale = {"zero": False} if zero else {"domain": [0, 1]}
    base = {"y": field("name:N", title=None, sort=list(order), axis={"labelLimit": 330}), "color": {"value": SERIES[0]}}
    if series:
        colours = {"domain": kinds, "range": list(SERIES[: len(kinds)])}
        legend = {"columns": 2, "labelLimit": 300}
        base["color"] = field("series:N", title=None, scale=colours, legend=legend)
        base["yOffset"] = field("series:N", sort=kinds)
    span = {"x": field("low:Q", title=title, scale=scale), "x2": field("high")}
    bars = mark("rule", rows, base | span, strokeWidth=2.5, opacity=0.7)
    dots = mark("circle", rows, base | {"x": field("estimate:Q", title=title, scale=scale)}, size=75, opacity=1)
    at_zero = mark("rule", pl.DataFrame({"x": [0.0]}), {"x": field("x:Q")}, color=DIM, strokeDash=[4, 4])
    step = 14 * len(kinds) + 10 if series else 30
    drawn = [at_zero, bars, dots] if zero else [bars, dots]
    return svg(layers(*drawn, width=400, height=max(70, step * len(order))))


def category_bars(rows: pl.DataFrame) -> str:
    """Mean H of each category, sorted, after the paper's Figure 3: `category`, `mean_h` and `significant` (a share)."""
    order = rows["category"].to_list()
    base = {
        "y": field("category:N", title=None, sort=order, axis={"labelLimit": 330}),
        "x": field("mean_h:Q", title="Mean Kruskal-Wallis H over the category's tasks"),
    }
    colour = field(
        "significant:Q",
        title="Share of significant tasks",
        scale={"domain": [0, 1], "range": [LINE, SERIES[0]]},
        legend={"format": ".0%", "gradientLength": 160},
    )
    share = {"text": field("significant:Q", format=".0%")}
    bars = mark("bar", rows, base | {"color": colour}, stroke=DIM, strokeWidth=0.4)
    text = mark("text", rows, base | share, align="left", dx=4, fontSize=11, color=INK)
    return svg(layers(bars, text, width=360, height=max(80, 16 * len(order))))


def query_shares(rows: pl.DataFrame, *, conditions: Sequence[str]) -> str:
    """Each query's share of "respond" under each condition, after Figures 9 and 10.

    `rows`: `query` (a short label), `condition`, `share`, `ci_low` and `ci_high`.
    """
    order = rows["query"].unique(maintain_order=True).to_list()
    colours = {"domain": list(conditions), "range": list(SERIES[: len(conditions)])}
    base = {
        "y": field("query:N", title=None, sort=order, axis={"labelLimit": 200}),
        "yOffset": field("condition:N", sort=list(conditions)),
        "color": field("condition:N", title=None, sort=list(conditions), scale=colours, legend={"columns": 3}),
    }
    on = {"title": 'Share of "respond"', "scale": {"domain": [0, 1]}}
    bars = mark(
        "rule", rows, base | {"x": field("ci_low:Q", **on), "x2": field("ci_high")}, strokeWidth=2, opacity=0.55
    )
    dots = mark("circle", rows, base | {"x": field("share:Q", **on)}, size=50, opacity=1)
    height = max(80, (9 * len(conditions) + 12) * len(order))
    return svg(layers(bars, dots, width=430, height=height))


def panel_chart(curve: pl.DataFrame) -> str:
    """Agreement against panel size: `people`, `agreement`, `low`, `high` and `modelled`."""
    x = {"x": field("people:Q", title="People in the panel", scale={"nice": False})}
    low = field("low:Q", title="Agreement with other people", scale={"zero": False})
    y = x | {"y": field("agreement:Q")}
    blue, modelled = SERIES[0], pl.col("modelled")
    band = mark("area", curve, x | {"y": low, "y2": field("high")}, color=blue, opacity=0.18)
    line = mark("line", curve, y, color=blue, strokeWidth=2.5)
    dots = mark("point", curve.filter(~modelled), y, color=blue, filled=True, size=55, opacity=1)
    rings = mark("point", curve.filter(modelled), y, color=blue, filled=False, size=55, opacity=1)
    return svg(layers(band, line, dots, rings, width=WIDTH, height=280))


def safe_rate_histogram(counts: pl.DataFrame, *, conditions: Sequence[str]) -> str:
    """Items by their safe rate, a small panel a condition: `low`, `items` and `condition`."""
    bars = mark(
        "bar",
        counts,
        {
            "x": field("low:Q", bin="binned", title="Safe rate", scale={"domain": [0, 1]}),
            "x2": field("high"),
            "y": field("items:Q", title="Items"),
        },
        color=COLOURS["safe"],
    )
    panels = field("condition:N", title=None, sort=list(conditions))
    return svg(faceted(bars | {"width": 180, "height": 110}, panels) | {"columns": 3})
