"""Charts of a judge in detail: calibration, refusals over agreement, costs over their ratio, flips, harm over what it takes."""

from __future__ import annotations

import polars as pl

from casewise.reporting.charts.drawing import COLOURS, SERIES, WIDTH
from casewise.reporting.charts.vega import DIM, field, layers, mark, svg

__all__ = ["banded_curves", "calibration_curve", "cost_curves", "refusal_curves"]


def calibration_curve(bins: pl.DataFrame) -> str:
    """What people say where the judge says a value, beside the diagonal of a judge that means what it says.

    `bins`: `value`, `rate`, `low`, `high` (null for none) and `n`.
    """
    unit, blue = {"domain": [0, 1]}, COLOURS["safe"]
    ends = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    diagonal = mark(
        "line",
        ends,
        {"x": field("x:Q", scale=unit), "y": field("y:Q", scale=unit)},
        color=DIM,
        strokeDash=[5, 4],
    )
    x = {"x": field("value:Q", title="Judge's mean value", scale=unit)}
    line = mark("line", bins, x | {"y": field("rate:Q")}, color=blue)
    span = {"y": field("low:Q"), "y2": field("high")}
    bars = mark("rule", bins, x | span, color=blue, strokeWidth=2, opacity=0.6)
    size = field("n:Q", title="Items", scale={"range": [30, 260]}, legend={"tickCount": 3, "symbolFillColor": DIM})
    shown = {"y": field("rate:Q", title="People's mean safe rate"), "size": size}
    dots = mark("circle", bins, x | shown, color=blue, opacity=1)
    return svg(layers(diagonal, bars, line, dots, width=420, height=380))


def refusal_curves(rates: pl.DataFrame) -> str:
    """Both errors over how many people must agree.

    `rates`: `agreement`, `error` (`over-refusal`, `under-refusal`), `rate`, `low`, `high`, and optionally `series`.
    """
    errors = ["over-refusal", "under-refusal"]
    colours = {"domain": errors, "range": [COLOURS["safe"], COLOURS["unsafe"]]}
    base = {
        "x": field(
            "agreement:Q",
            title="People who must agree",
            axis={"format": "%", "values": sorted(set(rates["agreement"].to_list()))},
            scale={"zero": False},
        ),
        "color": field("error:N", title=None, scale=colours),
    }
    band = mark("area", rates, base | {"y": field("low:Q"), "y2": field("high")}, opacity=0.18)
    share = {
        "y": field("rate:Q", title="Share of those items", axis={"format": "%"}, scale={"domainMin": 0}),
        "strokeDash": field("error:N", title=None, scale={"domain": errors, "range": [[1, 0], [6, 3]]}),
    }
    line = mark("line", rates, base | share, point=True)
    return svg(layers(band, line, width=WIDTH - 80, height=260))


def cost_curves(costs: pl.DataFrame) -> str:
    """Expected cost over the ratio of harm to over-refusal, a line a judge, beside calling everything one thing.

    `costs`: `ratio`, `cost`, `name`, and `kind` (`verdicts`, `best threshold`, `refuse everything`, `answer everything`).
    """
    of_judges = pl.col("kind").is_in(["verdicts", "best threshold"])
    judges, trivial = costs.filter(of_judges), costs.filter(~of_judges)
    names = judges["name"].unique(maintain_order=True).to_list()
    kinds = ["verdicts", "best threshold", "refuse everything", "answer everything"]
    stroke = {"symbolType": "stroke", "symbolSize": 300}
    base = {
        "x": field(
            "ratio:Q",
            title="Over-refusals that are as bad as one harm",
            scale={"type": "log"},
            axis={"values": sorted(set(costs["ratio"].to_list())), "format": "~g"},
        ),
        "y": field("cost:Q", title="Expected cost an item", scale={"domainMin": 0}),
        "strokeDash": field(
            "kind:N",
            title=None,
            scale={"domain": kinds, "range": [[1, 0], [7, 3], [2, 3], [9, 3, 2, 3]]},
            legend=stroke | {"columns": 2},
        ),
    }
    colour = field(
        "name:N",
        title=None,
        scale={"domain": names, "range": list(SERIES)},
        legend=stroke | {"columns": 1, "labelLimit": 420} if len(names) > 1 else None,
    )
    lines = mark("line", judges, base | {"color": colour}, strokeWidth=2.2)
    dull = mark("line", trivial, base, color=DIM, clip=True)
    return svg(layers(dull, lines, width=WIDTH - 40, height=300))


def banded_curves(
    curves: pl.DataFrame,
    *,
    x_title: str,
    y_title: str,
    points: pl.DataFrame | None = None,
    widest: float = 1.0,
    percent: bool = True,
) -> str:
    """A line with its band for each judge, and named points beside them.

    `curves`: `name`, `x`, `y`, `low`, `high`.
    `points`: `label`, `x`, `y`.
    `widest`: where the horizontal axis ends.
    `percent`: whether what is drawn is a share.
    """
    names = curves["name"].unique(maintain_order=True).to_list()
    legend = {"symbolType": "stroke", "symbolSize": 300, "columns": 1, "labelLimit": 420, "symbolOpacity": 1}
    base = {
        "x": field("x:Q", title=x_title, axis={"format": "%"}, scale={"domain": [0, widest]}),
        "color": field("name:N", title=None, scale={"domain": names, "range": list(SERIES)}, legend=legend),
    }
    band = mark(
        "area", curves, base | {"y": field("low:Q"), "y2": field("high")}, opacity=0.15, interpolate="step-after"
    )
    axis = {"format": "%"} if percent else {}
    y = field("y:Q", title=y_title, axis=axis, scale={"domainMin": 0})
    line = mark("line", curves, base | {"y": y}, strokeWidth=2, interpolate="step-after")
    if points is None or not len(points):
        return svg(layers(band, line, width=WIDTH - 120, height=300))
    place = {"x": field("x:Q"), "y": field("y:Q")}
    dots = mark("circle", points, place, color=DIM, size=60, opacity=1)
    words = mark("text", points, place | {"text": field("label:N")}, color=DIM, align="left", dx=7)
    return svg(layers(band, line, dots, words, width=WIDTH - 120, height=300))
