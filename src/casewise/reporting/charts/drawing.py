"""Charts: one style for all, drawn to SVG. Colours hold for colour-blind readers (Okabe & Ito 2008) and in the dark.

Altair and its renderer are imported when a chart is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

__all__ = [
    "COLOURS",
    "DIM",
    "INK",
    "SERIES",
    "THEMED",
    "WIDTH",
    "data",
    "dots_with_intervals",
    "for_page",
    "histogram_by_verdict",
    "judge_against_people",
    "png",
    "standalone",
    "styled",
    "svg",
    "votes_by_intent",
]

if TYPE_CHECKING:
    import altair as alt


COLOURS = {"safe": "#0072B2", "unsafe": "#D55E00", "unscored": "#7F8790"}
"""Of verdicts."""

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F8790")
"""Of judges, in order."""

INK, DIM, LINE = "#1B2431", "#56606F", "#D5DBE4"

THEMED = {
    INK: "var(--ink)",
    DIM: "var(--dim)",
    LINE: "var(--line)",
    "#0072B2": "var(--blue, #0072B2)",
    "#D55E00": "var(--vermilion, #D55E00)",
}
"""On a page these follow its light or dark colours."""

WIDTH = 620

ESCAPED_CONTROL = re.compile(r"\\u(00[01][0-9a-f]|007f|00[89][0-9a-f]|fffe|ffff)")
"""Control characters in a chart's JSON. SVG cannot hold them, and the renderer ends the whole process at one."""


def styled(chart: Any) -> Any:
    """`chart` in the house style."""
    return (
        chart.configure(font="Arial, Helvetica, sans-serif", background="transparent", padding=12)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=DIM,
            titleColor=INK,
            gridColor=LINE,
            domainColor=DIM,
            tickColor=DIM,
            labelFontSize=12,
            titleFontSize=12,
        )
        .configure_legend(labelColor=INK, titleColor=INK, orient="top", labelFontSize=12, titleFontSize=12)
        .configure_header(labelColor=INK, titleColor=INK, labelFontSize=12)
        .configure_title(color=INK, fontSize=13, anchor="start")
    )


def svg(chart: Any) -> str:
    """`chart` in the house style as standalone SVG."""
    import vl_convert

    # The specifications are our own: checking each against the schema takes as long as drawing it.
    drawn: str = vl_convert.vegalite_to_svg(ESCAPED_CONTROL.sub(r"\\ufffd", styled(chart).to_json(validate=False)))
    return drawn


def png(drawn: str, *, scale: float = 2.0) -> bytes:
    """A drawn SVG as PNG on white."""
    import vl_convert

    white = drawn.replace("<svg ", '<svg style="background:white" ', 1)
    picture: bytes = vl_convert.svg_to_png(white, scale=scale)
    return picture


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


def data(frame: pl.DataFrame) -> alt.Data:
    import altair as alt

    return alt.Data(values=frame.to_dicts())  # type: ignore[no-untyped-call]


def judge_against_people(points: pl.DataFrame, *, value_title: str, domain: tuple[float, float]) -> str:
    """Every item as a dot: people's safe rate across, the judge's value up, coloured by people's label.

    Parameters
    ----------
    points
        `rate`, `value` and `label` (`safe`, `unsafe` or `tie`).
    """
    import altair as alt

    scale = alt.Scale(domain=["safe", "unsafe", "tie"], range=[COLOURS["safe"], COLOURS["unsafe"], COLOURS["unscored"]])
    dots = (
        alt.Chart(data(points))
        .mark_circle(size=34, opacity=0.45)
        .encode(
            x=alt.X("rate:Q", title="People's safe rate", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("value:Q", title=value_title, scale=alt.Scale(domain=list(domain))),
            color=alt.Color("label:N", title="People say", scale=scale),
            shape=alt.Shape("label:N", title="People say"),
        )
    )
    trend = (
        alt.Chart(data(points))
        .transform_bin("bin", field="rate", bin=alt.Bin(step=0.1))
        .transform_aggregate(mean="mean(value)", middle="mean(rate)", groupby=["bin"])
        .mark_line(color=INK, strokeWidth=2, point={"color": INK, "size": 40})
        .encode(x="middle:Q", y="mean:Q")
    )
    return svg((dots + trend).properties(width=WIDTH, height=380))


def histogram_by_verdict(counts: pl.DataFrame) -> str:
    """How many items at each share of safe votes, stacked by the judge's verdict.

    Parameters
    ----------
    counts
        `low` and `high` of each bin, `verdict` (`safe`, `unsafe`, `unscored`) and `items`.
    """
    import altair as alt

    order = list(COLOURS)
    return svg(
        alt.Chart(data(counts))
        .mark_bar(orient="vertical")
        .encode(
            x=alt.X("low:Q", bin="binned", title="People's safe rate", scale=alt.Scale(domain=[0, 1])),
            x2="high",
            y=alt.Y("items:Q", title="Items", stack="zero"),
            color=alt.Color(
                "verdict:N",
                title="The judge says",
                scale=alt.Scale(domain=order, range=list(COLOURS.values())),
                sort=order,
            ),
            order=alt.Order("verdict:N"),
        )
        .properties(width=WIDTH, height=240)
    )


def dots_with_intervals(
    rows: pl.DataFrame, *, title: str, order: Sequence[str], domain: tuple[float, float] = (0, 1)
) -> str:
    """A dot and its interval a row, in `order`.

    Parameters
    ----------
    rows
        `name`, `estimate`, `low` and `high` (null for none), and optionally `series`.
    """
    import altair as alt

    series = "series" in rows.columns
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("name:N", title=None, sort=list(order), axis=alt.Axis(labelLimit=330)),
        **({"yOffset": "series:N"} if series else {}),
    )
    colour = (
        alt.Color("series:N", title=None, scale=alt.Scale(range=list(SERIES))) if series else alt.value(COLOURS["safe"])
    )
    scale = alt.Scale(domain=list(domain))
    bars = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", color=colour)
    dots = base.mark_circle(size=70, opacity=1).encode(x=alt.X("estimate:Q", title=title, scale=scale), color=colour)
    step = 18 if not series else 12 * rows["series"].n_unique() + 8
    return svg((bars + dots).properties(width=400, height=max(60, step * len(order))))


def votes_by_intent(counts: pl.DataFrame) -> str:
    """Items over safe votes, a panel for each intent.

    Parameters
    ----------
    counts
        `votes`, `items` and `intended` (`safe` or `unsafe`).
    """
    import altair as alt

    colour = alt.Color(
        "intended:N",
        title="Intended",
        scale=alt.Scale(domain=["safe", "unsafe"], range=[COLOURS["safe"], COLOURS["unsafe"]]),
    )
    bars = (
        alt.Chart(data(counts))
        .mark_bar()
        .encode(
            x=alt.X("votes:O", title="Safe votes", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("items:Q", title="Items"),
            color=colour,
        )
        .properties(width=WIDTH, height=130)
    )
    return svg(bars.facet(row=alt.Row("intended:N", title=None)))
