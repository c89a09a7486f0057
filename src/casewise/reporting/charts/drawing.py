"""Charts: one style for all, drawn to SVG. Colours hold for colour-blind readers (Okabe & Ito 2008) and in the dark."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from casewise.reporting.charts.vega import DIM, INK, LINE, faceted, field, label_limit, layers, mark, svg

__all__ = [
    "COLOURS",
    "MOST_DOTS",
    "SERIES",
    "THEMED",
    "WIDTH",
    "dots_with_intervals",
    "for_page",
    "histogram_by_verdict",
    "judge_against_people",
    "png",
    "standalone",
    "votes_by_intent",
]

COLOURS = {"safe": "#0072B2", "unsafe": "#D55E00", "unscored": "#7F8790"}
"""Of verdicts."""

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F8790")
"""Of judges, in order."""

MOST_DOTS = 5_000
"""Of a scatter: more only hide each other, and each is 280 bytes of the page."""

THEMED = {
    INK: "var(--ink)",
    DIM: "var(--dim)",
    LINE: "var(--line)",
    "#0072B2": "var(--blue, #0072B2)",
    "#D55E00": "var(--vermilion, #D55E00)",
}
"""On a page these follow its light or dark colours."""

WIDTH = 620


def png(drawn: str) -> bytes:
    """A drawn SVG as PNG on white, twice the size."""
    import vl_convert

    white = re.sub("<svg[^>]*>", r'\g<0><rect width="100%" height="100%" fill="white"/>', drawn, count=1)
    return vl_convert.svg_to_png(white, scale=2.0)


def for_page(drawn: str, *, name: str) -> str:
    """Standalone SVG made fit for a page: its colours follow the page's, and its ids are its own.

    It is hidden from screen readers, which are told what it shows and given the table behind it.
    """
    drawn = drawn.replace("<svg ", '<svg aria-hidden="true" ', 1)
    for colour, variable in THEMED.items():
        drawn = re.sub(re.escape(colour), variable, drawn, flags=re.IGNORECASE)
    drawn = re.sub(r'id="([^"]+)"', rf'id="{name}-\1"', drawn)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", drawn)


def standalone(drawn: str) -> str:
    """SVG that was made fit for a page, with colours of its own again: to be a file."""
    for colour, variable in THEMED.items():
        drawn = drawn.replace(variable, colour)
    return drawn


def judge_against_people(points: pl.DataFrame, *, value_title: str, domain: tuple[float, float]) -> str:
    """Items as dots, `MOST_DOTS` of them at most: people's safe rate across, the judge's value up, coloured by people's label.

    `points`: `rate`, `value` and `label` (`safe`, `unsafe` or `tie`). The line is that of all of them.
    """
    colours = {
        "domain": ["safe", "unsafe", "tie"],
        "range": [*(COLOURS[name] for name in ("safe", "unsafe", "unscored"))],
    }
    dots = mark(
        "circle",
        points.sample(MOST_DOTS, seed=0) if len(points) > MOST_DOTS else points,
        {
            "x": field("rate:Q", title="People's safe rate", scale={"domain": [0, 1]}),
            "y": field("value:Q", title=value_title, scale={"domain": list(domain)}),
            "color": field("label:N", title="People say", scale=colours),
            "shape": field("label:N", title="People say"),
        },
        size=34,
        opacity=0.45,
    )
    tenths = points.group_by(bin=(pl.col("rate") * 10).floor().clip(0, 9), maintain_order=True)
    trend = mark(
        "line",
        tenths.agg(middle=pl.col("rate").mean(), mean=pl.col("value").mean()).sort("middle"),
        {"x": field("middle:Q"), "y": field("mean:Q")},
        color=INK,
        strokeWidth=2,
        point={"color": INK, "size": 40},
    )
    return svg(layers(dots, trend, width=WIDTH, height=380))


def histogram_by_verdict(counts: pl.DataFrame) -> str:
    """How many items at each share of safe votes, stacked by the judge's verdict.

    `counts`: `low` and `high` of each bin, `verdict` (`safe`, `unsafe`, `unscored`) and `items`.
    """
    order = list(COLOURS)
    colours = {"domain": order, "range": list(COLOURS.values())}
    bars = mark(
        "bar",
        counts,
        {
            "x": field("low:Q", bin="binned", title="People's safe rate", scale={"domain": [0, 1]}),
            "x2": field("high"),
            "y": field("items:Q", title="Items", stack="zero"),
            "color": field("verdict:N", title="The judge says", scale=colours, sort=order),
            "order": field("verdict:N"),
        },
        orient="vertical",
    )
    return svg(bars | {"width": WIDTH, "height": 240})


def dots_with_intervals(
    rows: pl.DataFrame,
    *,
    title: str,
    order: Sequence[str] | None = None,
    domain: tuple[float, float] = (0, 1),
    zero: bool = False,
) -> str:
    """A dot and its interval a row, in `order`, or as they come; with `zero` beside the line of no difference.

    `rows`: `name`, `estimate`, `low` and `high` (null for none), and optionally `series`.
    """
    names = list(order or rows["name"].unique(maintain_order=True))
    kinds = rows["series"].unique(maintain_order=True).to_list() if "series" in rows.columns else []
    y = field("name:N", title=None, sort=names, axis=label_limit(names, 420))
    base = {"y": y, "color": {"value": COLOURS["safe"]}}
    if kinds:
        scale = {"domain": kinds, "range": list(SERIES)}
        base["color"] = field("series:N", title=None, scale=scale, legend={"columns": 2, "labelLimit": 300})
        base["yOffset"] = field("series:N", sort=kinds)
    on = {"title": title, "scale": {"zero": False} if zero else {"domain": list(domain)}}
    at_zero = mark("rule", pl.DataFrame({"x": [0.0]}), {"x": field("x:Q")}, color=DIM, strokeDash=[5, 4])
    bars = mark("rule", rows, base | {"x": field("low:Q", **on), "x2": field("high")}, strokeWidth=2, opacity=0.6)
    dots = mark("circle", rows, base | {"x": field("estimate:Q", **on)}, size=70, opacity=1)
    step = 12 * len(kinds) + 8 if kinds else 22
    drawn = [at_zero, bars, dots] if zero else [bars, dots]
    return svg(layers(*drawn, width=400, height=max(60, step * len(names))))


def votes_by_intent(counts: pl.DataFrame) -> str:
    """Items over safe votes, a panel for each intent.

    `counts`: `votes`, `items` and `intended` (`safe` or `unsafe`).
    """
    colours = {"domain": ["safe", "unsafe"], "range": [COLOURS["safe"], COLOURS["unsafe"]]}
    bars = mark(
        "bar",
        counts,
        {
            "x": field("votes:O", title="Safe votes", axis={"labelAngle": 0}),
            "y": field("items:Q", title="Items"),
            "color": field("intended:N", title="Intended", scale=colours),
        },
    )
    return svg(faceted(bars | {"width": WIDTH, "height": 130}, {"row": field("intended:N", title=None)}))
