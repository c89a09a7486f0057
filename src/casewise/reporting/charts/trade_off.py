"""Charts for who must choose a threshold: harm against over-refusal, errors against coverage."""

from __future__ import annotations

import polars as pl

from casewise.reporting.charts.drawing import SERIES, WIDTH
from casewise.reporting.charts.vega import DIM, field, layers, mark, svg

__all__ = ["banded_curves"]


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
