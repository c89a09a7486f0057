"""Charts of the human study, in the house style of `charts`."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from casewise.reporting.charts.drawing import COLOURS, DIM, INK, SERIES, WIDTH, data, svg

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
    import altair as alt

    base = alt.Chart(data(points)).encode(
        x=alt.X("n:Q", title=title, scale=alt.Scale(nice=False)),
        y=alt.Y("power:Q", title="Power", scale=alt.Scale(domain=[0, 1])),
    )
    line = base.mark_line(color=SERIES[0], strokeWidth=2.5)
    chosen = base.transform_filter(alt.datum.n == marked)
    dot = chosen.mark_point(color=SERIES[1], size=110, filled=True, opacity=1)
    text = chosen.mark_text(color=INK, align="left", dx=9, dy=12, fontSize=12).encode(text=alt.value(f"n = {marked:,}"))
    reached = alt.Chart(data(points.filter(pl.col("n") == marked).select("power")))
    rule = reached.mark_rule(color=DIM, strokeDash=[4, 4]).encode(y="power:Q")
    return svg((rule + line + dot + text).properties(width=WIDTH, height=260))


def rate_intervals(rows: pl.DataFrame, *, title: str, order: Sequence[str], zero: bool = False) -> str:
    """A dot and its interval a row: `name`, `estimate`, `low`, `high` and optionally `series`; a line at 0 if `zero`."""
    import altair as alt

    series = "series" in rows.columns
    kinds = rows["series"].unique(maintain_order=True).to_list() if series else []
    scale = alt.Scale(zero=False) if zero else alt.Scale(domain=[0, 1])
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("name:N", title=None, sort=list(order), axis=alt.Axis(labelLimit=330)),
        color=alt.Color(
            "series:N",
            title=None,
            scale=alt.Scale(domain=kinds, range=list(SERIES[: len(kinds)])),
            legend=alt.Legend(columns=2, labelLimit=300),
        )
        if series
        else alt.value(SERIES[0]),
    )
    if series:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=kinds))
    bars = base.mark_rule(strokeWidth=2.5, opacity=0.7).encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
    dots = base.mark_circle(size=75, opacity=1).encode(x=alt.X("estimate:Q", title=title, scale=scale))
    layers = [bars, dots]
    if zero:
        layers.insert(
            0, alt.Chart(data(pl.DataFrame({"x": [0.0]}))).mark_rule(color=DIM, strokeDash=[4, 4]).encode(x="x:Q")
        )
    step = 14 * len(kinds) + 10 if series else 30
    return svg(alt.layer(*layers).properties(width=400, height=max(70, step * len(order))))


def category_bars(rows: pl.DataFrame) -> str:
    """Mean H of each category, sorted, after the paper's Figure 3: `category`, `mean_h` and `significant` (a share)."""
    import altair as alt

    order = rows["category"].to_list()
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("category:N", title=None, sort=order, axis=alt.Axis(labelLimit=330)),
        x=alt.X("mean_h:Q", title="Mean Kruskal-Wallis H over the category's tasks"),
    )
    colour = alt.Color(
        "significant:Q",
        title="Share of significant tasks",
        scale=alt.Scale(domain=[0, 1], range=["#D5DBE4", SERIES[0]]),
        legend=alt.Legend(format=".0%", gradientLength=160),
    )
    bars = base.mark_bar(stroke=DIM, strokeWidth=0.4).encode(color=colour)
    share = base.mark_text(align="left", dx=4, fontSize=11, color=INK).encode(
        text=alt.Text("significant:Q", format=".0%")
    )
    return svg((bars + share).properties(width=360, height=max(80, 16 * len(order))))


def query_shares(rows: pl.DataFrame, *, conditions: Sequence[str]) -> str:
    """Each query's share of "respond" under each condition, after Figures 9 and 10.

    Parameters
    ----------
    rows
        `query` (a short label), `condition`, `share`, `ci_low` and `ci_high`.
    """
    import altair as alt

    colour = alt.Color(
        "condition:N",
        title=None,
        sort=list(conditions),
        scale=alt.Scale(domain=list(conditions), range=list(SERIES[: len(conditions)])),
        legend=alt.Legend(columns=3),
    )
    order = rows["query"].unique(maintain_order=True).to_list()
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("query:N", title=None, sort=order, axis=alt.Axis(labelLimit=200)),
        yOffset=alt.YOffset("condition:N", sort=list(conditions)),
        color=colour,
    )
    scale = alt.Scale(domain=[0, 1])
    bars = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("ci_low:Q", title='Share of "respond"', scale=scale), x2="ci_high:Q"
    )
    dots = base.mark_circle(size=50, opacity=1).encode(x=alt.X("share:Q", title='Share of "respond"', scale=scale))
    height = max(80, (9 * len(conditions) + 12) * len(order))
    return svg((bars + dots).properties(width=430, height=height))


def panel_chart(curve: pl.DataFrame) -> str:
    """Agreement against panel size: `people`, `agreement`, `low`, `high` and `modelled`."""
    import altair as alt

    base = alt.Chart(data(curve)).encode(x=alt.X("people:Q", title="People in the panel", scale=alt.Scale(nice=False)))
    band = base.mark_area(color=SERIES[0], opacity=0.18).encode(
        y=alt.Y("low:Q", title="Agreement with other people", scale=alt.Scale(zero=False)), y2="high:Q"
    )
    line = base.mark_line(color=SERIES[0], strokeWidth=2.5).encode(y="agreement:Q")
    dots = (
        base.transform_filter("!datum.modelled")
        .mark_point(color=SERIES[0], filled=True, size=55, opacity=1)
        .encode(y="agreement:Q")
    )
    rings = (
        base.transform_filter("datum.modelled")
        .mark_point(color=SERIES[0], filled=False, size=55, opacity=1)
        .encode(y="agreement:Q")
    )
    return svg((band + line + dots + rings).properties(width=WIDTH, height=280))


def safe_rate_histogram(counts: pl.DataFrame, *, conditions: Sequence[str]) -> str:
    """Items by their safe rate, a small panel a condition: `low`, `items` and `condition`."""
    import altair as alt

    return svg(
        alt.Chart(data(counts))
        .mark_bar(color=COLOURS["safe"])
        .encode(
            x=alt.X("low:Q", bin="binned", title="Safe rate", scale=alt.Scale(domain=[0, 1])),
            x2="high:Q",
            y=alt.Y("items:Q", title="Items"),
        )
        .properties(width=180, height=110)
        .facet(facet=alt.Facet("condition:N", title=None, sort=list(conditions)), columns=3)
    )
