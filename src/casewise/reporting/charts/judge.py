"""Charts of a judge in detail: calibration, refusals over agreement, costs over their ratio, flips."""

from __future__ import annotations

import polars as pl

from casewise.reporting.charts.drawing import COLOURS, DIM, SERIES, WIDTH, data, svg

__all__ = ["calibration_curve", "cost_curves", "differences_chart", "refusal_curves"]


def calibration_curve(bins: pl.DataFrame) -> str:
    """What people say where the judge says a value, beside the diagonal of a judge that means what it says.

    Parameters
    ----------
    bins
        `value`, `rate`, `low`, `high` (null for none) and `n`.
    """
    import altair as alt

    unit = alt.Scale(domain=[0, 1])
    diagonal = (
        alt.Chart(data(pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})))
        .mark_line(color=DIM, strokeDash=[5, 4])
        .encode(x=alt.X("x:Q", scale=unit), y=alt.Y("y:Q", scale=unit))
    )
    base = alt.Chart(data(bins)).encode(x=alt.X("value:Q", title="Judge's mean value", scale=unit))
    line = base.mark_line(color=COLOURS["safe"]).encode(y="rate:Q")
    bars = base.mark_rule(color=COLOURS["safe"], strokeWidth=2, opacity=0.6).encode(y="low:Q", y2="high:Q")
    dots = base.mark_circle(color=COLOURS["safe"], opacity=1).encode(
        y=alt.Y("rate:Q", title="People's mean safe rate"),
        size=alt.Size(
            "n:Q", title="Items", scale=alt.Scale(range=[30, 260]), legend=alt.Legend(tickCount=3, symbolFillColor=DIM)
        ),
    )
    return svg((diagonal + bars + line + dots).properties(width=420, height=380))


def refusal_curves(rates: pl.DataFrame) -> str:
    """Both errors over how many people must agree.

    Parameters
    ----------
    rates
        `agreement`, `error` (`over-refusal`, `under-refusal`), `rate`, `low`, `high`, and optionally `series`.
    """
    import altair as alt

    errors = ["over-refusal", "under-refusal"]
    colour = alt.Color(
        "error:N", title=None, scale=alt.Scale(domain=errors, range=[COLOURS["safe"], COLOURS["unsafe"]])
    )
    base = alt.Chart(data(rates)).encode(
        x=alt.X(
            "agreement:Q",
            title="People who must agree",
            axis=alt.Axis(format="%", values=sorted(set(rates["agreement"].to_list()))),
            scale=alt.Scale(zero=False),
        )
    )
    band = base.mark_area(opacity=0.18).encode(y="low:Q", y2="high:Q", color=colour)
    line = base.mark_line(point=True).encode(
        y=alt.Y("rate:Q", title="Share of those items", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0)),
        color=colour,
        strokeDash=alt.StrokeDash("error:N", title=None, scale=alt.Scale(domain=errors, range=[[1, 0], [6, 3]])),
    )
    return svg((band + line).properties(width=WIDTH - 80, height=260))


def cost_curves(costs: pl.DataFrame) -> str:
    """Expected cost over the ratio of harm to over-refusal, a line a judge, beside calling everything one thing.

    Parameters
    ----------
    costs
        `ratio`, `cost`, `name`, and `kind` (`verdicts`, `best threshold`, `refuse everything`, `answer everything`).
    """
    import altair as alt

    judges = costs.filter(pl.col("kind").is_in(["verdicts", "best threshold"]))
    names = judges["name"].unique(maintain_order=True).to_list()
    kinds = ["verdicts", "best threshold", "refuse everything", "answer everything"]
    dashes = alt.StrokeDash(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=kinds, range=[[1, 0], [7, 3], [2, 3], [9, 3, 2, 3]]),
        legend=alt.Legend(symbolType="stroke", symbolSize=300, columns=2),
    )
    x = alt.X(
        "ratio:Q",
        title="Over-refusals that are as bad as one harm",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=sorted(set(costs["ratio"].to_list())), format="~g"),
    )
    y = alt.Y("cost:Q", title="Expected cost an item", scale=alt.Scale(domainMin=0))
    colour = alt.Color(
        "name:N",
        title=None,
        scale=alt.Scale(domain=names, range=list(SERIES)),
        legend=alt.Legend(columns=1, labelLimit=420, symbolType="stroke", symbolSize=300) if len(names) > 1 else None,
    )
    trivial = costs.filter(~pl.col("kind").is_in(["verdicts", "best threshold"]))
    lines = alt.Chart(data(judges)).mark_line(strokeWidth=2.2).encode(x=x, y=y, color=colour, strokeDash=dashes)
    dull = alt.Chart(data(trivial)).mark_line(color=DIM, clip=True).encode(x=x, y=y, strokeDash=dashes)
    return svg((dull + lines).properties(width=WIDTH - 40, height=300))


def differences_chart(rows: pl.DataFrame, *, title: str) -> str:
    """A difference and its interval a row, beside the line of no difference.

    Parameters
    ----------
    rows
        `name`, `estimate`, `low` and `high` (null for none).
    """
    import altair as alt

    base = alt.Chart(data(rows)).encode(
        y=alt.Y("name:N", title=None, sort=rows["name"].to_list(), axis=alt.Axis(labelLimit=420))
    )
    zero = alt.Chart(data(pl.DataFrame({"x": [0.0]}))).mark_rule(color=DIM, strokeDash=[5, 4]).encode(x="x:Q")
    bars = base.mark_rule(color=COLOURS["safe"], strokeWidth=2, opacity=0.6).encode(x="low:Q", x2="high:Q")
    dots = base.mark_circle(color=COLOURS["safe"], size=70, opacity=1).encode(x=alt.X("estimate:Q", title=title))
    return svg((zero + bars + dots).properties(width=360, height=max(60, 28 * len(rows))))
